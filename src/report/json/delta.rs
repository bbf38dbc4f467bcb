//! The selected variant beside others, in `results.json`.

use crate::report::Report;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

/// The selected variant beside a baseline or a stored run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Delta<'a> {
    /// Id of a baseline, or what a stored run is to this one (`previous run`).
    pub against: &'a str,
    /// Where a stored run comes from; null for a baseline of the phase.
    pub about: Option<&'a str>,
    /// Shape.
    pub shape: &'a str,
    /// Values by metric.
    #[schemars(with = "std::collections::BTreeMap<String, Both<'static>>")]
    pub metrics: IndexMap<&'a str, Both<'a>>,
}

/// A metric of both.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Both<'a> {
    /// Of the selected variant.
    pub selected: f64,
    /// Of the other.
    pub other: f64,
    /// Change from the other to the selected: percent, percentage points, or a factor.
    pub change: &'a str,
    /// 95 % interval of the selected over the other; null where there are no samples.
    pub ratio: Option<(f64, f64)>,
    /// `better`, `worse`, `within noise`, or empty.
    pub judged: &'a str,
}

pub(super) fn deltas(report: &Report) -> Vec<Delta<'_>> {
    let both = |row: &'_ crate::report::DeltaRow| (row.selected.value, row.other.value, row.word());
    report
        .deltas
        .iter()
        .map(|delta| Delta {
            against: &delta.against,
            about: delta.about.as_deref(),
            shape: &delta.shape,
            metrics: delta
                .rows
                .iter()
                .map(|row| {
                    let (selected, other, judged) = both(row);
                    (row.metric.as_str(), Both { selected, other, change: &row.change, ratio: row.ratio, judged })
                })
                .collect(),
        })
        .collect()
}
