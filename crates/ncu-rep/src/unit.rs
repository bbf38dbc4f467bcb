//! Units of metrics. Reports do not contain them, because ncu knows them. This module has a small table of base
//! metrics and a rule for suffixes.
//!
//! `units.tsv` is written by `tests/oracle/units.py` from NVIDIA's units of the metrics of seven chips, one of each
//! compute capability from 7.5 to 12.0. A name with suffixes in the table overrides the rule. A metric that is on no
//! listed chip has no unit, except `%` if its name implies it.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Base metric (or full name, if the rule does not hold) and unit, one per line, sorted.
const TABLE: &str = include_str!("units.tsv");

static UNITS: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| TABLE.lines().filter_map(|line| line.split_once('\t')).collect());

/// Units of counts and shares: the words of the table, and those of derived metrics and of metrics that the table lacks.
static COUNTED: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let words = units().flat_map(|unit| unit.split('/')).chain(["1", "hz", "Hz", "context", "launch", "GPC", "TPC"]);
    words.filter(|word| !matches!(*word, "" | "s" | "ns")).collect()
});

/// The effect of a suffix on a unit: `per_second`, then `per_cycle` and `peak_sustained`, which is a peak per cycle
/// (`peak_sustained_active` and similar suffixes are totals).
const DERIVED: [(&str, &str, &str); 15] = [
    ("", "1/s", "1/cycle"),
    ("1/cycle", "", "1/cycle"),
    ("block", "block/s", "block/cycle"),
    ("branches", "branches/s", "branches/cycle"),
    ("byte", "byte/s", "byte/cycle"),
    ("cycle", "hz", ""),
    ("inst", "inst/s", "inst/cycle"),
    ("ns", "ns/s", "ns/cycle"),
    ("ops", "ops/s", "ops/cycle"),
    ("register", "register/s", "register/cycle"),
    ("request", "request/s", "request/cycle"),
    ("sector", "sector/s", "sector/cycle"),
    ("tag", "tag/s", "tag/cycle"),
    ("thread", "thread/s", "thread/cycle"),
    ("warp", "warp/s", "warp"),
];

/// The base unit of a metric as ncu prints it (`ns`, `byte/s`, `%`, `inst/cycle`); empty for numbers without one and
/// for unknown metrics.
///
/// ```
/// assert_eq!(ncu_rep::unit_of("dram__bytes.sum.per_second"), "byte/s");
/// assert_eq!(ncu_rep::unit_of("launch__registers_per_thread"), "register/thread");
/// ```
#[must_use]
pub fn unit_of(metric: &str) -> &'static str {
    if let Some(unit) = UNITS.get(metric) {
        return unit;
    }
    let (base, suffixes) = split(metric);
    let Some(mut unit) = UNITS.get(base).copied() else {
        // For an unknown metric only percentages are certain.
        let is_percent = suffixes.rsplit('.').next().is_some_and(|last| last.starts_with("pct"));
        return if is_percent { "%" } else { "" };
    };
    for suffix in suffixes.split('.') {
        if suffix.starts_with("pct") {
            unit = "%";
        } else if suffix == "per_second" {
            unit = derived(unit).map_or(unit, |row| row.1);
        } else if suffix.starts_with("per_cycle") || suffix == "peak_sustained" {
            unit = derived(unit).map_or(unit, |row| row.2);
        }
    }
    unit
}

/// Every unit that [`unit_of`] gives.
pub(crate) fn units() -> impl Iterator<Item = &'static str> {
    UNITS.values().copied().chain(DERIVED.iter().flat_map(|row| [row.0, row.1, row.2]))
}

/// Whether a word is the unit of a count or a share: `byte`, `inst`, `%`. Units of time are not.
pub(crate) fn is_counted(word: &str) -> bool {
    COUNTED.contains(word)
}

/// Metrics of the table without suffixes.
pub(crate) fn bases() -> impl Iterator<Item = &'static str> {
    UNITS.keys().map(|name| split(name).0)
}

fn derived(unit: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    DERIVED.iter().find(|row| row.0 == unit)
}

/// Base and suffixes of a metric: the base ends before the first rollup or ratio.
fn split(metric: &str) -> (&str, &str) {
    for (at, _) in metric.match_indices('.') {
        let (base, rest) = (metric.get(..at).unwrap_or_default(), metric.get(at + 1..).unwrap_or_default());
        let first = rest.split('.').next().unwrap_or_default();
        if matches!(first, "sum" | "avg" | "min" | "max" | "pct" | "ratio" | "max_rate") {
            return (base, rest);
        }
    }
    (metric, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_no_name_twice() {
        let names: Vec<&str> = TABLE.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(names.len(), TABLE.lines().count());
        assert!(names.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn suffixes_change_the_unit_of_the_base() {
        assert_eq!(unit_of("gpu__time_duration.sum"), "ns");
        assert_eq!(unit_of("dram__bytes.sum"), "byte");
        assert_eq!(unit_of("dram__bytes.sum.per_second"), "byte/s");
        assert_eq!(unit_of("sm__cycles_elapsed.avg.per_second"), "hz");
        assert_eq!(unit_of("sm__warps_active.avg.per_cycle_active"), "warp");
        assert_eq!(unit_of("sm__warps_active.avg.pct_of_peak_sustained_active"), "%");
        assert_eq!(unit_of("dram__bytes.sum.peak_sustained"), "byte/cycle");
        assert_eq!(unit_of("dram__bytes.sum.peak_sustained_elapsed"), "byte");
        assert_eq!(unit_of("dram__bytes.sum.peak_sustained_elapsed.per_second"), "byte/s");
        assert_eq!(unit_of("launch__registers_per_thread"), "register/thread");
        assert_eq!(unit_of("no_such__metric.sum"), "");
        assert_eq!(unit_of("no_such__metric.avg.pct_of_peak_sustained_elapsed"), "%");
    }

    #[test]
    fn metrics_that_only_other_chips_have_have_units_too() {
        // A metric of Turing and Ampere, one of GB100, one of GB202.
        assert_eq!(unit_of("gcc__xbar2gcc_sectors.sum"), "");
        assert_eq!(unit_of("dram__bytes_op_read.sum.per_second"), "byte/s");
    }
}
