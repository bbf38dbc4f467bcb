//! What a phase may name as a metric. The catalogue answers; this room only asks.

use crate::metric::Better;

/// The metrics that gates and objectives may name.
pub trait Names {
    /// Whether there is a logical metric of that name.
    fn is_metric(&self, name: &str) -> bool;
    /// Every logical metric, for suggestions.
    fn all(&self) -> Vec<&str>;
    /// Which way the metric improves, if it is known.
    fn better(&self, name: &str) -> Option<Better>;
}

/// Whether `name` is written as ncu writes its metrics (`sm__warps_active.avg.pct_of_peak_sustained_active`):
/// a lower-case unit, two underscores, then parts joined by dots.
pub fn is_verbatim(name: &str) -> bool {
    let mut parts = name.split('.');
    let first = parts.next().unwrap_or_default();
    let Some((unit, counter)) = first.split_once("__") else { return false };
    let word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    !unit.is_empty()
        && unit.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && unit.starts_with(|c: char| c.is_ascii_lowercase())
        && word(counter)
        && parts.all(word)
}
