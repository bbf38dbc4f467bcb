//! Known metric names: those of twelve chips, and additional ones in reports.
//!
//! `names.tsv` is written by `tests/oracle/kinds.py`: the names that are neither in `units.tsv` nor counters.

use crate::unit;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Kind and name, one per line, sorted by name.
const TABLE: &str = include_str!("names.tsv");

/// The kind of a base name, which determines its suffixes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Rollups, and submetrics of them.
    Counter,
    /// One of three forms.
    Ratio,
    /// A rollup and a percentage of the peak.
    Throughput,
    /// No suffix: the name is complete.
    Name,
}

/// In order of preference for suggestions, the last one first.
const ROLLUPS: [&str; 4] = ["max", "min", "avg", "sum"];
const RATIOS: [&str; 3] = ["max_rate", "pct", "ratio"];
const SHARES: [&str; 4] = [
    "pct_of_peak_sustained_frame",
    "pct_of_peak_sustained_region",
    "pct_of_peak_sustained_active",
    "pct_of_peak_sustained_elapsed",
];
const FORMS: [&str; 14] = [
    "peak_sustained",
    "peak_sustained_active",
    "peak_sustained_active.per_second",
    "peak_sustained_elapsed",
    "peak_sustained_elapsed.per_second",
    "peak_sustained_frame",
    "peak_sustained_frame.per_second",
    "peak_sustained_region",
    "peak_sustained_region.per_second",
    "per_cycle_active",
    "per_cycle_elapsed",
    "per_cycle_in_frame",
    "per_cycle_in_region",
    "per_second",
];

static KINDS: LazyLock<BTreeMap<&'static str, Kind>> = LazyLock::new(|| {
    // A name without a unit before `__` is one of a launch's own instances.
    let counters = unit::bases().filter(|base| base.contains("__")).map(|base| (base, Kind::Counter));
    let others = TABLE.lines().filter_map(|line| {
        let (kind, name) = line.split_once('\t')?;
        let kind = match kind {
            "ratio" => Kind::Ratio,
            "throughput" => Kind::Throughput,
            "name" => Kind::Name,
            _ => Kind::Counter,
        };
        Some((name, kind))
    });
    counters.chain(others).collect()
});

/// Whether a metric exists on one of the listed chips (compute capability 7.5 to 12.1), or is one that ncu adds to
/// the counters of all chips. Chips and ncu versions newer than the list can have others.
///
/// ```
/// assert!(ncu_rep::is_listed_metric("sm__warps_active.avg.pct_of_peak_sustained_active"));
/// assert!(!ncu_rep::is_listed_metric("sm__warps_activ.avg.pct_of_peak_sustained_active"));
/// ```
#[must_use]
pub fn is_listed_metric(metric: &str) -> bool {
    let is_whole = KINDS.get(metric) == Some(&Kind::Name);
    is_whole || metric.split_once('.').is_some_and(|(base, form)| KINDS.get(base).is_some_and(|kind| kind.has(form)))
}

/// Base names of listed metrics, up to the first dot, sorted.
pub fn listed_bases() -> impl Iterator<Item = &'static str> {
    KINDS.keys().copied().filter(|base| !base.contains('.'))
}

/// Every metric of a listed base, the most common one last. Empty for an unlisted base.
#[must_use]
pub fn listed_forms(base: &str) -> Vec<String> {
    let rolled = |forms: &[&str]| -> Vec<String> {
        forms.iter().flat_map(|form| ROLLUPS.map(|rollup| format!("{base}.{rollup}.{form}"))).collect()
    };
    match KINDS.get(base) {
        None => Vec::new(),
        Some(Kind::Name) => vec![base.to_owned()],
        Some(Kind::Ratio) => RATIOS.iter().map(|form| format!("{base}.{form}")).collect(),
        Some(Kind::Throughput) => rolled(&SHARES),
        Some(Kind::Counter) => {
            let plain = ROLLUPS.map(|rollup| format!("{base}.{rollup}"));
            rolled(&FORMS).into_iter().chain(rolled(&SHARES)).chain(plain).collect()
        }
    }
}

impl Kind {
    /// Whether the base supports the suffix `form`.
    fn has(self, form: &str) -> bool {
        let (rollup, rest) = form.split_once('.').map_or((form, None), |(rollup, rest)| (rollup, Some(rest)));
        let is_rollup = ROLLUPS.contains(&rollup);
        match (self, rest) {
            (Self::Counter, None) => is_rollup,
            (Self::Counter, Some(rest)) => is_rollup && (FORMS.contains(&rest) || SHARES.contains(&rest)),
            (Self::Throughput, Some(rest)) => is_rollup && SHARES.contains(&rest),
            (Self::Ratio, None) => RATIOS.contains(&form),
            (Self::Throughput, None) | (Self::Ratio, Some(_)) | (Self::Name, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_no_name_twice() {
        let names: Vec<&str> = TABLE.lines().filter_map(|line| Some(line.split_once('\t')?.1)).collect();
        assert_eq!(names.len(), TABLE.lines().count());
        assert!(names.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn names_are_listed_with_the_forms_that_they_have() {
        for name in [
            "sm__warps_active.avg.pct_of_peak_sustained_active",
            "dram__bytes.sum",
            "dram__bytes.sum.peak_sustained_elapsed.per_second",
            "lts__t_sector_hit_rate.pct",
            "sm__throughput.avg.pct_of_peak_sustained_elapsed",
            "launch__registers_per_thread",
            "device__attribute_clock_rate",
            "gcc__xbar2gcc_sectors.sum",
            "smsp__pcsamp_sample_count",
        ] {
            assert!(is_listed_metric(name), "{name}");
        }
        for name in [
            "sm__warps_activ.avg",
            "sm__warps_active",
            "sm__warps_active.mean",
            "sm__warps_active.avg.pct",
            "lts__t_sector_hit_rate.sum",
            "sm__throughput.avg",
            "launch__registers_per_thread.sum",
            "launch__register_per_thread",
            "",
        ] {
            assert!(!is_listed_metric(name), "{name}");
        }
    }

    #[test]
    fn every_form_of_every_base_is_listed() {
        for base in listed_bases() {
            let forms = listed_forms(base);
            assert!(!forms.is_empty() && forms.iter().all(|form| is_listed_metric(form)), "{base}");
        }
        assert_eq!(listed_forms("dram__bytes").last().map(String::as_str), Some("dram__bytes.sum"));
        assert!(listed_forms("dram__byte").is_empty());
    }
}
