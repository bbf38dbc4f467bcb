//! Converts launches traced by CUPTI to rows of the launches frame, for hosts where ncu has no counter permission. From here on they are processed like launches of a report.

use super::launch_table::{self, LaunchRow};
use ncugate_model::{ActivityTrace, CaseId, ProfileOutcome, ProfileRecord, ShapeName, VariantId};
use polars::prelude::{DataFrame, Float64Chunked, IntoColumn, NewChunkedArray, PolarsError};
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

/// The launches that CUPTI traced for the cases of a run, with a column for each counter in `names`.
///
/// # Errors
/// polars rejects a column.
pub fn traced_launches(profiles: &[ProfileRecord], names: &[String]) -> Result<DataFrame, PolarsError> {
    let cases = traced_cases(profiles);
    let launches = || cases.iter().flat_map(|case| case.trace.evaluations.iter().flatten().map(move |of| (case, of)));
    let row = |(id, (case, launch))| LaunchRow::of_traced(id, case, launch);
    let rows: Vec<LaunchRow<'_>> = (0..).zip(launches()).map(row).collect();
    let columns = names.iter().map(|name| {
        let values = launches().map(|(case, launch)| launch.counter(name).filter(|_| case.counters.contains(name)));
        Float64Chunked::from_iter_options(name.as_str().into(), values).into_column()
    });
    launch_table::frame(REPORT, &rows)?.hstack(&columns.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::launches::counted_launches;
    use super::super::profile_counters::{Ownership, ProfileCounters, ProfiledCases};
    use super::*;
    use ncugate_model::metric::Definition;
    use ncugate_model::{Cell, TracedChip, TracedLaunch};
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
        let launches = traced_launches(records, &[DURATION.to_owned()]).unwrap();
        let counted = ProfileCounters::of_launches(&launches, &plan, Ownership::Recorded(&cases)).unwrap();
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
        let names = [DURATION, "launch__grid_size"].map(str::to_owned);
        let launches = traced_launches(&[record(id, &[DURATION], trace())], &names).unwrap();
        let values = names.map(|name| launches.column(&name).unwrap().f64().unwrap().get(0));
        assert_eq!((launches.height(), values), (1, [Some(10.0), None]));
        let counted = |name| record(id, &[name], ProfileOutcome::Profiled { report: "a.ncu-rep".to_owned() });
        let cases = |name| traced_cases(&[record(id, &[DURATION], trace()), counted(name)]).len();
        assert_eq!((cases("launch__waves_per_multiprocessor"), cases(DURATION)), (1, 0));
    }

    #[test]
    fn frames_of_traces_have_the_columns_of_reports() {
        let names = [DURATION.to_owned()];
        let none = traced_launches(&[], &names).unwrap();
        let one = [record("v", &[DURATION], traced(vec![vec![launch("copy", 10)]]))];
        let one = traced_launches(&one, &names).unwrap();
        assert_eq!(none.schema(), one.schema());
        let mut all = counted_launches(&[], &names).unwrap();
        all.vstack_mut(&one).unwrap();
        assert_eq!(all.height(), 1);
    }
}
