//! Metric names of Nsight Compute.

/// Whether a name has the form of an ncu metric rather than a logical one: a lower-case unit, two underscores, then
/// words joined by dots (`sm__warps_active.avg.pct_of_peak_sustained_active`).
pub fn is_ncu_metric(name: &str) -> bool {
    let word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let Some((unit, rest)) = name.split_once("__") else { return false };
    unit.starts_with(|c: char| c.is_ascii_lowercase())
        && unit.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && rest.split('.').all(word)
}
