//! Names that ncu displays on its details page, for the metrics whose names they are in every version.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Displayed name (with a unit where two metrics share one) and metric, one per line, sorted.
const TABLE: &str = include_str!("labels.tsv");

static METRICS: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| TABLE.lines().filter_map(|line| line.split_once('\t')).collect());

/// The metric with a displayed name and a printed unit; the name itself if it is not known.
pub(super) fn metric<'n>(name: &'n str, unit: &str) -> &'n str {
    let is_rate = name == "Memory Throughput" && unit.contains("byte/");
    METRICS.get(if is_rate { "Memory Throughput [byte/s]" } else { name }).copied().unwrap_or(name)
}
