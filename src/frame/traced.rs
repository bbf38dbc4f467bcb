//! Launches that CUPTI traced where ncu could not count, as rows of the frames of launches and their metrics: from here on they are read,
//! put together and named as those of a report.

use super::launch_table::LaunchTable;
use super::launches::LaunchFrames;
use super::metric_table;
use crate::model::{ActivityTrace, ProfileOutcome, ProfileRecord, ShapeName, TracedLaunch, VariantId};
use ncu_rep::unit_of;
use polars::prelude::PolarsError;
use std::collections::HashMap;

/// What stands for the name of a report; no report of ncu can have it.
pub(super) const REPORT: &str = "CUPTI";

/// A case that was traced, and under which of ncu's names what CUPTI says of it counts.
#[derive(Debug, Clone, Copy)]
pub struct TracedCase<'a> {
    /// The launches.
    pub trace: &'a ActivityTrace,
    /// ncu's names of which ncu itself has no value.
    pub counters: &'a [String],
}

/// The cases of a run that were traced, the last trace of each, without what a report of ncu has.
pub fn traced_cases(profiles: &[ProfileRecord]) -> HashMap<(&VariantId, &ShapeName), TracedCase<'_>> {
    let mut cases = HashMap::new();
    for record in profiles {
        if let ProfileOutcome::Traced { trace } = &record.outcome {
            cases.insert((&record.variant, &record.shape), TracedCase { trace, counters: &record.metrics });
        }
    }
    for record in profiles {
        let key = (&record.variant, &record.shape);
        let is_counted = matches!(record.outcome, ProfileOutcome::Profiled { .. });
        // A run that went on where ncu may count has what was traced before counted: then nothing stands in for it.
        if is_counted
            && cases.get(&key).is_some_and(|case| case.counters.iter().any(|name| record.metrics.contains(name)))
        {
            cases.remove(&key);
        }
    }
    cases
}

impl LaunchFrames {
    /// Frames of the launches that CUPTI traced of these cases.
    ///
    /// # Errors
    /// polars refuses a column.
    pub fn of_traces(profiles: &[ProfileRecord]) -> Result<Self, PolarsError> {
        let cases = traced_cases(profiles);
        let mut ordered: Vec<_> = cases.into_iter().collect();
        ordered.sort_by_key(|(case, _)| *case);
        let mut launches = LaunchTable::default();
        let mut values = Vec::new();
        for (case, traced) in ordered {
            for launch in traced.trace.evaluations.iter().flatten() {
                launches.push_traced(REPORT, case, launch);
                let counter = |name: &&str| traced.counters.iter().any(|counter| counter == name);
                let known = TracedLaunch::COUNTERS.into_iter().filter(counter);
                values.push(known.filter_map(|name| Some((name, unit_of(name), launch.counter(name)?))).collect());
            }
        }
        let frame = launches.frame()?;
        let metrics = metric_table::of_values(REPORT, &values, &launches.into_kernels())?;
        Ok(Self { launches: frame, metrics })
    }
}
