//! Converts launches traced by CUPTI to rows of the launches and metrics frames, for hosts where ncu has no counter
//! permission. From here on they are processed like launches of a report.

use super::case::CaseId;
use super::launch_table::LaunchTable;
use super::launches::LaunchFrames;
use super::metric_table;
use ncu_rep::unit_of;
use ncugate_model::{ActivityTrace, ProfileOutcome, ProfileRecord, ShapeName, TracedLaunch, VariantId};
use polars::prelude::PolarsError;
use std::collections::HashMap;

/// The report name of traced launches; no ncu report can have this name.
pub(super) const REPORT: &str = "CUPTI";

#[derive(Debug, Clone, Copy)]
pub struct TracedCase<'a> {
    pub variant: &'a VariantId,
    pub shape: &'a ShapeName,
    pub trace: &'a ActivityTrace,
    /// ncu names of the metrics that only CUPTI measured.
    pub counters: &'a [String],
}

/// The traced cases of a run, each with its last trace, except those that an ncu report covers.
pub fn traced_cases(profiles: &[ProfileRecord]) -> Vec<TracedCase<'_>> {
    let mut places: HashMap<CaseId, usize> = HashMap::new();
    let mut cases: Vec<Option<TracedCase<'_>>> = Vec::new();
    for record in profiles {
        if let ProfileOutcome::Traced { trace } = &record.outcome {
            let ProfileRecord { variant, shape, metrics: counters, .. } = record;
            let next = cases.len();
            let place = *places.entry((variant.clone(), shape.clone())).or_insert(next);
            let case = Some(TracedCase { variant, shape, trace, counters });
            match cases.get_mut(place) {
                Some(known) => *known = case,
                None => cases.push(case),
            }
        }
    }
    if cases.is_empty() {
        return Vec::new();
    }
    for record in profiles {
        // If ncu has counter permission when a run continues, it profiles the traced cases, and the traces are no
        // longer used.
        if matches!(record.outcome, ProfileOutcome::Profiled { .. })
            && let Some(&place) = places.get(&(record.variant.clone(), record.shape.clone()))
            && let Some(known) = cases.get_mut(place)
            && known.is_some_and(|case| case.counters.iter().any(|name| record.metrics.contains(name)))
        {
            *known = None;
        }
    }
    cases.into_iter().flatten().collect()
}

impl LaunchFrames {
    /// Frames of the launches that CUPTI traced for these cases.
    ///
    /// # Errors
    /// polars rejects a column.
    pub fn of_traces(profiles: &[ProfileRecord]) -> Result<Self, PolarsError> {
        let mut launches = LaunchTable::default();
        let mut values = Vec::new();
        for case in traced_cases(profiles) {
            for launch in case.trace.evaluations.iter().flatten() {
                launches.push_traced(REPORT, (case.variant, case.shape), launch);
                let mut known = Vec::new();
                for name in TracedLaunch::COUNTERS {
                    if let Some(value) = launch.counter(name)
                        && case.counters.iter().any(|counter| counter == name)
                    {
                        known.push((name, unit_of(name), value));
                    }
                }
                values.push(known);
            }
        }
        let frame = launches.frame()?;
        let metrics = metric_table::of_values(REPORT, &values, &launches.into_kernels())?;
        Ok(Self { launches: frame, metrics })
    }
}

#[cfg(test)]
mod tests {
    use super::super::profile_counters::{Ownership, ProfileCounters, ProfiledCases};
    use super::*;
    use ncugate_model::metric::Definition;
    use ncugate_model::{Cell, TracedChip};
    use ncugate_phase::plan::Plan;

    fn launch(kernel: &str, duration_ns: u64) -> TracedLaunch {
        TracedLaunch {
            kernel: kernel.to_owned(),
            start_ns: 1_000,
            end_ns: 1_000 + duration_ns,
            registers: 32,
            grid: [4, 1, 1],
            block: [128, 1, 1],
            ..TracedLaunch::default()
        }
    }

    fn record(variant: &str, metrics: &[&str], outcome: ProfileOutcome) -> ProfileRecord {
        let metrics = metrics.iter().map(|name| (*name).to_owned()).collect();
        ProfileRecord {
            variant: VariantId(variant.into()),
            shape: ShapeName("only".into()),
            metrics,
            outcome,
            outputs: None,
        }
    }

    fn traced(evaluations: Vec<Vec<TracedLaunch>>) -> ProfileOutcome {
        let chip = TracedChip::default();
        ProfileOutcome::Traced {
            trace: ActivityTrace { cupti: "13.0".to_owned(), chip, evaluations, empty_ns: Some(1000) },
        }
    }

    /// A plan of the kernel `copy`.
    fn plan() -> Plan {
        let text = include_str!("../../../../tests/data/copy.toml").to_owned() + "[sweep]\nTHREADS = [64]\n";
        let phase = ncugate_phase::config::parse(std::path::Path::new("copy.toml"), &text).unwrap();
        ncugate_phase::plan::unroll(&phase).unwrap()
    }

    fn duration(records: &[ProfileRecord]) -> Vec<Cell> {
        let plan = plan();
        let cases = ProfiledCases::of(records.iter().map(|r| (&r.variant, &r.shape, &r.outcome)), &[]);
        let frames = LaunchFrames::of_traces(records).unwrap();
        let counted = ProfileCounters::of_frames(&frames, &plan, Ownership::Recorded(&cases)).unwrap();
        let values = counted.evaluate(&Definition::verbatim(DURATION, "ns".to_owned()));
        values.into_iter().map(|value| value.cell).collect()
    }

    const DURATION: &str = "gpu__time_duration.sum";

    #[test]
    fn a_duration_is_the_median_over_evaluations_of_the_planned_kernel() {
        let id = &plan().variants[0].id.0.clone();
        let of = |evaluations| duration(&[record(id, &[DURATION], traced(evaluations))]);
        let three = [30, 10, 20].map(|ns| vec![launch("copy", ns)]).to_vec();
        assert_eq!(of(three), [Cell::Value(20.0)]);
        assert_eq!(of(vec![vec![launch("another", 10)]]), [], "a kernel that the plan does not launch");
        assert_eq!(of(Vec::new()), []);
        assert!(of(vec![vec![launch("copy", 0)]]).iter().all(|cell| cell.value().is_none()));
    }

    #[test]
    fn only_what_ncu_lacks_counts_and_nothing_where_ncu_has_counted_since() {
        let trace = || traced(vec![vec![launch("copy", 10)]]);
        let id = &plan().variants[0].id.0.clone();
        let frames = LaunchFrames::of_traces(&[record(id, &[DURATION], trace())]).unwrap();
        assert_eq!((frames.launches.height(), frames.metrics.height()), (1, 1));
        let counted = |name| record(id, &[name], ProfileOutcome::Profiled { report: "a.ncu-rep".to_owned() });
        let cases = |name| traced_cases(&[record(id, &[DURATION], trace()), counted(name)]).len();
        assert_eq!((cases("launch__waves_per_multiprocessor"), cases(DURATION)), (1, 0));
    }

    #[test]
    fn frames_of_traces_have_the_columns_of_reports() {
        let schema = |frames: &LaunchFrames| (frames.launches.schema().clone(), frames.metrics.schema().clone());
        let none = LaunchFrames::of_traces(&[]).unwrap();
        let one = LaunchFrames::of_traces(&[record("v", &[DURATION], traced(vec![vec![launch("copy", 10)]]))]).unwrap();
        assert_eq!(schema(&none), schema(&one));
        let mut all = LaunchFrames::read(&[], ncu_rep::MetricSelection::All).unwrap();
        all.append(&one).unwrap();
        assert_eq!(all.launches.height(), 1);
    }
}
