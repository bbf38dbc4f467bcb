//! Upper bounds between metrics, as the catalogue lists them.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Metrics with another metric as their upper bound.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The parts; a name ending with `*` matches every metric with that prefix.
    pub(super) parts: Vec<String>,
    /// Their upper bound.
    pub(super) whole: String,
    /// Whether the sum of the parts has the same bound.
    #[serde(default)]
    disjoint: bool,
}

impl Order {
    /// Reduces every part to at most the whole.
    pub(super) fn settle(&self, values: &mut BTreeMap<&str, f64>) {
        let Some(whole) = values.get(self.whole.as_str()).copied() else { return };
        let is_part = |name: &str| {
            name != self.whole
                && self.parts.iter().any(|part| match part.strip_suffix('*') {
                    Some(stem) => name.starts_with(stem),
                    None => part == name,
                })
        };
        let mut parts: Vec<&mut f64> =
            values.iter_mut().filter(|(name, _)| is_part(name)).map(|(_, value)| value).collect();
        parts.iter_mut().for_each(|part| **part = part.min(whole));
        let sum: f64 = parts.iter().map(|part| **part).sum();
        if self.disjoint && sum > whole {
            parts.iter_mut().for_each(|part| **part *= whole / sum);
        }
    }
}
