//! Counters of profiled launches by variant and shape, from the frames of their reports.
//!
//! The NVTX range (`<variant>@<shape>`) assigns a launch to a variant and shape if its kernel is the planned one. The
//! position in the report is never used.
//!
//! **Several kernels.** For a planned program, only the launches of its steps count, matched by order and name
//! ([`super::steps`]). For a command, the kernels in its range that match `kernel_filter` count (all kernels without
//! a filter). All launches of an evaluation are combined ([`super::evaluations`]); they are also kept one by one, if
//! every evaluation launches the same kernels in the same order.
//!
//! **Several evaluations.** If metrics do not fit one replay pass, ncu collects them into separate reports. The n-th
//! evaluations of a case in all reports are therefore one *repeat*, and their counters are merged. If several reports
//! have the same counter, the first report by name is used. A metric is computed for each repeat, and the median is
//! the value of the case. If the metric is absent for one repeat, it is absent for the case.

use super::captured_launches::{CapturedLaunch, CapturedVariants};
use super::case::{CaseId, CaseKey};
use super::evaluations::{CounterColumn, DURATION, Evaluation, WeightedLaunches, Weights, length};
use super::launches::{FrameError, counted_launches, rounding_of};
use super::nvtx::cases_of;
use super::schema::launches::{DEMANGLED, KERNEL, LAUNCH, NVTX, REPORT, SYMBOL};
use super::steps::{Misfit, OwnedLaunch, SeenLaunch, owned};
use super::traced_launches;
use indexmap::IndexMap;
use ncu_rep::Report;
use ncugate_model::metric::Definition;
use ncugate_model::{
    BuildOutcome, BuildRecord, Cell, EMPTY_RANGE, EntrySymbols, ProfileOutcome, ShapeName, VariantId, stats,
};
use ncugate_phase::plan::{Plan, Variant};
use polars::prelude::{DataFrame, Float64Chunked, IntoColumn, NewChunkedArray, PolarsError};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// How launches are assigned to cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership<'a> {
    /// By the NVTX range, if a record lists the case for this report, and the planned kernel.
    Recorded(&'a ProfiledCases),
    /// By the patterns of the plan, at this shape: for reports of other programs.
    Captured(&'a ShapeName),
}

/// The report of each profiled case, from the records of a run. Other launches in a report are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfiledCases {
    reports: HashMap<String, HashSet<CaseId>>,
    symbols: HashMap<VariantId, EntrySymbols>,
}

impl ProfiledCases {
    /// From profile records. Failed profiles have no report, and CUPTI traces count as a separate report.
    pub fn of<'a>(
        records: impl Iterator<Item = (&'a VariantId, &'a ShapeName, &'a ProfileOutcome)>,
        builds: &[BuildRecord],
    ) -> Self {
        let mut cases: HashMap<String, HashSet<CaseId>> = HashMap::new();
        for (variant, shape, outcome) in records {
            let report = match outcome {
                ProfileOutcome::Profiled { report } => report,
                ProfileOutcome::Traced { .. } => traced_launches::REPORT,
                ProfileOutcome::Failed { .. } => continue,
            };
            cases.entry(report.to_owned()).or_default().insert((variant.clone(), shape.clone()));
        }
        let symbols = builds.iter().filter_map(|build| match &build.outcome {
            BuildOutcome::Built { symbols, .. } => Some((build.variant.clone(), symbols.clone())),
            BuildOutcome::Failed { .. } | BuildOutcome::Refused { .. } | BuildOutcome::NotNeeded => None,
        });
        Self { reports: cases, symbols: symbols.collect() }
    }

    fn has(&self, report: &str, case: &CaseId) -> bool {
        self.reports.get(report).is_some_and(|cases| cases.contains(case))
    }
}

/// Counters of every profiled case.
#[derive(Debug, Clone, Default)]
pub struct ProfileCounters {
    /// A column per counter, by ncu's name; a row per repeat of a case, and per launch of a repeat with several.
    counters: DataFrame,
    cases: IndexMap<CaseId, CaseRows>,
    /// Launches in the range of a case that do not belong to its program.
    misfits: Vec<Misfit>,
    /// The shortest duration of an empty kernel in nanoseconds.
    empty_ns: Option<f64>,
}

/// Rows of the counters of a case.
#[derive(Debug, Clone, Default)]
struct CaseRows {
    /// Of whole evaluations, by repeat.
    repeats: Vec<usize>,
    /// Of each launch by repeat, if an evaluation has several launches.
    steps: Vec<Vec<usize>>,
    launches: EvaluationLaunches,
    /// Symbols of the launched kernels; `None` for one without a symbol in its report.
    kernels: BTreeSet<Option<String>>,
}

/// The kernels that an evaluation launches.
#[derive(Debug, Clone, Default)]
enum EvaluationLaunches {
    #[default]
    NotSeen,
    /// In every evaluation, in order.
    Same(Arc<[Arc<str>]>),
    /// Evaluations launch different kernels, so that counters belong to no launch.
    Different,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct CaseValue {
    /// The median over its repeats.
    pub cell: Cell,
    /// The value of each repeat, if there are several.
    pub repeats: Option<Arc<[f64]>>,
    /// The value at each launch, if an evaluation has several launches.
    pub steps: Vec<Cell>,
    /// The largest error of the value, if it is of CSV, which has rounded values; 0 if it is exact.
    pub rounding: f64,
}

impl ProfileCounters {
    /// Reads the counters `names` from reports; `reports` gives each report a unique name.
    ///
    /// # Errors
    /// A report is damaged.
    pub fn read(
        reports: &[(String, Report)],
        plan: &Plan,
        ownership: Ownership<'_>,
        names: &[String],
    ) -> Result<Self, FrameError> {
        Ok(Self::of_launches(&counted_launches(reports, names)?, plan, ownership)?)
    }

    /// Takes counters from a frame of launches, as by [`counted_launches`].
    ///
    /// # Errors
    /// The frame lacks a column.
    pub fn of_launches(launches: &DataFrame, plan: &Plan, ownership: Ownership<'_>) -> Result<Self, PolarsError> {
        let seen = seen(launches, plan, ownership)?;
        let (owned, misfits) = match ownership {
            Ownership::Recorded(profiled) => owned(plan, &profiled.symbols, &seen),
            Ownership::Captured(_) => owned(plan, &HashMap::new(), &seen),
        };
        let mut ranges: IndexMap<(&CaseId, &str), Vec<usize>> = IndexMap::new();
        for (row, (launch, seen)) in owned.iter().zip(&seen).enumerate() {
            if let Some(OwnedLaunch { case, .. }) = launch {
                ranges.entry((case, seen.report)).or_default().push(row);
            }
        }
        let is_later = |row: &usize| owned[*row].as_ref().is_some_and(|launch| launch.step > 0);
        let mut evaluations = evaluations(&ranges, plan, ownership);
        let counters = CounterColumn::all(launches);
        let weights = Weights::new(&counters, &evaluations);
        evaluations.sort_by_key(|evaluation| (evaluation.case, evaluation.report));
        // Each row has its launches in every report that counted it, in the order of the reports.
        let mut rows: Vec<Vec<WeightedLaunches<'_>>> = Vec::new();
        let mut add = |repeats: &mut Vec<usize>, repeat: usize, launches| match repeats.get(repeat) {
            Some(row) => rows[*row].push(launches),
            None => {
                repeats.push(rows.len());
                rows.push(vec![launches]);
            }
        };
        let mut cases: IndexMap<CaseId, CaseRows> = IndexMap::new();
        for of_report in evaluations.chunk_by(|a, b| (a.case, a.report) == (b.case, b.report)) {
            let Some(Evaluation { case, .. }) = of_report.first() else { continue };
            let case = cases.entry((*case).clone()).or_default();
            let symbols = of_report.iter().flat_map(|evaluation| evaluation.rows).map(|row| seen[*row].symbol);
            case.kernels.extend(symbols.map(|symbol| symbol.map(str::to_owned)));
            let first = match ownership {
                Ownership::Recorded(_) => 0,
                // Each launch of another program is a separate evaluation, in any report.
                Ownership::Captured(_) => case.repeats.len(),
            };
            for (repeat, evaluation) in (first..).zip(of_report) {
                case.launches.add(evaluation.rows.iter().map(|row| seen[*row].demangled));
                add(&mut case.repeats, repeat, weights.of(evaluation));
                if evaluation.rows.iter().any(is_later) {
                    case.steps.resize_with(case.steps.len().max(evaluation.rows.len()), Vec::new);
                    for (step, row) in case.steps.iter_mut().zip(evaluation.rows) {
                        add(step, repeat, WeightedLaunches::of_launch(row));
                    }
                }
            }
        }
        for case in cases.values_mut().filter(|case| case.launches().is_none()) {
            case.steps.clear();
        }
        let combined = counters.iter().map(|counter| {
            let values = rows.iter().map(|reports| reports.iter().find_map(|launches| counter.value(launches)));
            Float64Chunked::from_iter_options(counter.name.into(), values).into_column()
        });
        let counters = DataFrame::new(rows.len(), combined.collect())?;
        Ok(Self { counters, cases, misfits, empty_ns: empty_ns(launches)? })
    }

    /// What ncu adds to the work of every launch: the shortest duration of an empty kernel in nanoseconds; `None` if no
    /// report has one.
    pub const fn empty_ns(&self) -> Option<f64> {
        self.empty_ns
    }

    /// The index of a case in the result of [`Self::evaluate`]; `None` if the case was not profiled.
    pub(super) fn place(&self, variant: &VariantId, shape: &ShapeName) -> Option<usize> {
        self.cases.get_index_of(&CaseKey(variant, shape))
    }

    /// Names of the kernels that every evaluation of the case at an index of [`Self::place`] launches, in order; `None`
    /// if evaluations differ.
    pub(super) fn launches(&self, place: usize) -> Option<Arc<[Arc<str>]>> {
        self.cases.get_index(place)?.1.launches().cloned()
    }

    /// Symbols of the kernels launched for the case at an index of [`Self::place`]; `None` if a report lacks one.
    pub(super) fn launched(&self, place: usize) -> Option<Vec<&str>> {
        let (_, case) = self.cases.get_index(place)?;
        case.kernels.iter().map(Option::as_deref).collect()
    }

    /// Evaluates a metric for every case.
    pub(super) fn evaluate(&self, definition: &Definition) -> Vec<CaseValue> {
        let column = |name: &str| self.counters.columns()[self.counters.get_column_index(name)?].f64().ok();
        let value = |row: &usize| definition.evaluate(&|name| column(name)?.get(*row));
        let counters = definition.metrics().into_iter();
        let rounded: Vec<_> = counters.filter_map(|name| Some((name, column(&rounding_of(name))?))).collect();
        // Each counter alone moves by its rounding; a value that then does not exist has no bounds.
        let rounding = |row: &usize| -> f64 {
            let moved = |moved: &str, by: f64| {
                let by = |name: &str| if name == moved { by } else { 0.0 };
                definition.evaluate(&|name| Some(column(name)?.get(*row)? + by(name))).value()
            };
            let half = |(name, halves): &(&str, &Float64Chunked)| {
                let half = halves.get(*row)?;
                let ends = moved(name, half).zip(moved(name, -half));
                Some(ends.map_or(f64::INFINITY, |(high, low)| (high - low).abs() / 2.0))
            };
            rounded.iter().filter_map(half).sum()
        };
        let of_case = |case: &CaseRows| {
            let (cell, repeats) = median(case.repeats.iter().map(value));
            let steps = case.steps.iter().map(|step| median(step.iter().map(value)).0).collect();
            let rounding = case.repeats.iter().map(rounding).fold(0.0, f64::max);
            CaseValue { cell, repeats, steps, rounding }
        };
        self.cases.values().map(of_case).collect()
    }

    /// Why the launches seen for a case are rejected.
    pub(super) fn misfit(&self, variant: &VariantId, shape: &ShapeName) -> Option<&Misfit> {
        self.misfits.iter().find(|misfit| &misfit.variant == variant && &misfit.shape == shape)
    }
}

impl EvaluationLaunches {
    fn add<'k>(&mut self, kernels: impl ExactSizeIterator<Item = &'k str> + Clone) {
        *self = match std::mem::take(self) {
            Self::NotSeen => Self::Same(kernels.map(Arc::from).collect()),
            Self::Same(known) if known.len() == kernels.len() && known.iter().map(|name| &**name).eq(kernels) => {
                Self::Same(known)
            }
            Self::Same(_) | Self::Different => Self::Different,
        };
    }
}

impl CaseRows {
    fn launches(&self) -> Option<&Arc<[Arc<str>]>> {
        match &self.launches {
            EvaluationLaunches::Same(kernels) => Some(kernels),
            EvaluationLaunches::NotSeen | EvaluationLaunches::Different => None,
        }
    }
}

/// The shortest duration in the range of empty launches. No variant has a part in that range: its kernels are launched in
/// other ranges.
fn empty_ns(launches: &DataFrame) -> Result<Option<f64>, PolarsError> {
    let Ok(durations) = launches.column(DURATION) else { return Ok(None) };
    let ranges = launches.column(NVTX)?.str()?.iter().zip(durations.f64()?.iter());
    let is_empty = |range: &str| range.trim_end_matches('\0').as_bytes() == EMPTY_RANGE.to_bytes();
    let times = ranges.filter(|(range, _)| range.is_some_and(is_empty)).filter_map(|(_, ns)| ns);
    Ok(times.filter(|ns| *ns > 0.0).reduce(f64::min))
}

/// The evaluations of each case in each report, by the rows of their launches.
fn evaluations<'l>(
    ranges: &'l IndexMap<(&'l CaseId, &'l str), Vec<usize>>,
    plan: &Plan,
    ownership: Ownership<'_>,
) -> Vec<Evaluation<'l>> {
    let variants: HashMap<&VariantId, &Variant> = match ownership {
        Ownership::Recorded(_) => plan.variants.iter().map(|variant| (&variant.id, variant)).collect(),
        Ownership::Captured(_) => HashMap::new(),
    };
    let of_range = |((case, report), rows): (&(&'l CaseId, &'l str), &'l Vec<usize>)| {
        let (case, report) = (*case, *report);
        let rows = rows.chunks(variants.get(&case.0).map_or(1, |variant| length(variant, &case.1)));
        rows.map(move |rows| Evaluation { case, report, rows })
    };
    ranges.iter().flat_map(of_range).collect()
}

/// The median of the values, and all values if there are several. The first absent value makes the median absent.
fn median(values: impl Iterator<Item = Cell>) -> (Cell, Option<Arc<[f64]>>) {
    let values: Result<Vec<f64>, Cell> = values.map(|cell| cell.value().ok_or(cell)).collect();
    match values {
        Ok(values) => {
            let median = stats::median(&values).map_or_else(|e| Cell::Missing(e.to_string().into()), Cell::finite);
            (median, (values.len() > 1).then(|| values.into()))
        }
        Err(missing) => (missing, None),
    }
}

/// The launches of a frame, with the case whose range or pattern fits: of patterns, only one may.
fn seen<'f>(
    launches: &'f DataFrame,
    plan: &Plan,
    ownership: Ownership<'_>,
) -> Result<Vec<SeenLaunch<'f>>, PolarsError> {
    let text = |name: &str| launches.column(name)?.str();
    let (reports, kernels, symbols) = (text(REPORT)?, text(KERNEL)?, text(SYMBOL)?);
    let (demangled, ranges, ids) = (text(DEMANGLED)?, text(NVTX)?, launches.column(LAUNCH)?.u32()?);
    let captured = CapturedVariants::of(plan);
    let seen = |row: usize| {
        let [report, kernel, nvtx] = [reports, kernels, ranges].map(|column| column.get(row).unwrap_or_default());
        let (symbol, demangled) = (symbols.get(row), demangled.get(row).unwrap_or(kernel));
        let case = match ownership {
            Ownership::Recorded(profiled) => cases_of(nvtx).find(|case| profiled.has(report, case)),
            Ownership::Captured(shape) => {
                let launch = ids.get(row).unwrap_or_default();
                match captured.owners(&CapturedLaunch { report, launch, kernel, demangled, nvtx }).as_slice() {
                    [owner] => Some(((*owner).clone(), shape.clone())),
                    _ => None,
                }
            }
        };
        SeenLaunch { report, case, kernel, symbol, demangled }
    };
    Ok((0..launches.height()).map(seen).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::decode::Piece;
    use crate::frame::metric_table;
    use indexmap::IndexSet;
    use ncu_rep::MetricValue;
    use ncugate_model::metric::Formula;
    use ncugate_phase::plan::{CommandPlan, Method, Variant, VariantRole};
    use polars::prelude::{ChunkFullNull as _, Column, StringChunked, UInt32Chunked};

    /// A launch: report, id, kernel, NVTX range, counters by name.
    type Profiled<'a> = (&'a str, u32, &'a str, &'a str, &'a [(&'a str, f64)]);

    fn text<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> Column {
        StringChunked::from_iter_values(name.into(), values).into_column()
    }

    fn frame(launches: &[Profiled<'_>]) -> DataFrame {
        let mut names: IndexSet<&str> = IndexSet::new();
        let mut piece = Piece::default();
        for launch in launches {
            for (name, value) in launch.4 {
                piece.push(names.insert_full(*name).0 as u32, &MetricValue::Double(*value));
            }
            piece.counts.push(launch.4.len());
        }
        let mut columns = vec![
            text(REPORT, launches.iter().map(|l| l.0)),
            UInt32Chunked::from_iter_values(LAUNCH.into(), launches.iter().map(|l| l.1)).into_column(),
            text(KERNEL, launches.iter().map(|l| l.2)),
            StringChunked::full_null(SYMBOL.into(), launches.len()).into_column(),
            text(DEMANGLED, launches.iter().map(|l| l.2)),
            text(NVTX, launches.iter().map(|l| l.3)),
        ];
        let slots: Vec<Option<usize>> = (0..names.len()).map(Some).collect();
        columns.extend(metric_table::by_launch(names.iter().copied(), &slots, &[piece]));
        DataFrame::new(launches.len(), columns).unwrap()
    }

    fn plan(filter: Option<&str>) -> Plan {
        let command = CommandPlan { argv: vec!["true".into()], kernel_filter: filter.map(str::to_owned) };
        let variant = |id: &str| Variant {
            id: VariantId(id.into()),
            standing: VariantRole::Candidate,
            params: Vec::new(),
            method: Method::Command(command.clone()),
        };
        Plan { variants: vec![variant("a"), variant("b")] }
    }

    fn counted(launches: &[Profiled<'_>], filter: Option<&str>) -> ProfileCounters {
        let cases = launches.iter().filter_map(|launch| Some((launch.0, cases_of(launch.3).next()?)));
        let records: Vec<_> = cases
            .map(|(report, (variant, shape))| (variant, shape, ProfileOutcome::Profiled { report: report.to_owned() }))
            .collect();
        let profiled =
            ProfiledCases::of(records.iter().map(|(variant, shape, outcome)| (variant, shape, outcome)), &[]);
        ProfileCounters::of_launches(&frame(launches), &plan(filter), Ownership::Recorded(&profiled)).unwrap()
    }

    /// The sum of these counters for a variant at shape `s`, and its value in each repeat.
    fn of(counted: &ProfileCounters, variant: &str, names: &[&str]) -> Option<(Cell, Option<Vec<f64>>)> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let mut values = counted.evaluate(&Definition { formula: Formula::Sum(names), unit: String::new() });
        let value = values.swap_remove(counted.place(&VariantId(variant.into()), &ShapeName("s".into()))?);
        Some((value.cell, value.repeats.map(|repeats| repeats.to_vec())))
    }

    #[test]
    fn all_kernels_of_a_command_count_together() {
        let launches: [Profiled<'_>; 6] = [
            ("1", 0, "split", "a@s", &[(DURATION, 5.0), ("x.sum", 1.0), ("p.avg", 10.0)]),
            ("1", 1, "merge", "a@s", &[(DURATION, 15.0), ("x.sum", 2.0), ("p.avg", 30.0)]),
            ("2", 0, "split", "a@s", &[("y.sum", 10.0), ("q.avg", 4.0)]),
            ("2", 1, "merge", "a@s", &[("y.sum", 20.0), ("q.avg", 8.0)]),
            ("3", 0, "split", "a@s", &[("z.avg", 1.0)]),
            ("3", 1, "split", "b@s", &[("x.sum", 7.0)]),
        ];
        let found = counted(&launches, None);
        assert_eq!(of(&found, "a", &["x.sum", "y.sum", DURATION]), Some((Cell::Value(3.0 + 30.0 + 20.0), None)));
        assert_eq!(of(&found, "a", &["p.avg"]), Some((Cell::Value(25.0), None)));
        assert_eq!(of(&found, "a", &["q.avg"]), Some((Cell::Value(7.0), None)), "weighted by the times of report 1");
        assert_eq!(of(&found, "b", &["x.sum"]), Some((Cell::Value(7.0), None)));
        let merge = counted(&launches, Some("^merge"));
        assert_eq!((of(&merge, "a", &["x.sum"]), of(&merge, "b", &["x.sum"])), (Some((Cell::Value(2.0), None)), None));
    }

    /// CUB opens a range for each algorithm.
    #[test]
    fn launches_in_a_library_s_own_range_belong_to_the_variant_that_calls_it() {
        let launches: [Profiled<'_>; 3] = [
            ("1", 0, "histogram", "a@s > CCCL@cub::DeviceRadixSort::SortKeys", &[("x.sum", 1.0)]),
            ("1", 1, "onesweep", "a@s > CCCL@cub::DeviceRadixSort::SortKeys", &[("x.sum", 2.0)]),
            ("1", 2, "onesweep", "b@s > a@s", &[("x.sum", 4.0)]),
        ];
        let found = counted(&launches, None);
        assert_eq!(of(&found, "a", &["x.sum"]), Some((Cell::Value(3.0), None)));
        assert_eq!(of(&found, "b", &["x.sum"]), Some((Cell::Value(4.0), None)), "a range inside its own");
    }

    #[test]
    fn the_shared_memory_of_a_program_is_that_of_one_launch() {
        const STATIC: &str = "launch__shared_mem_per_block_static";
        const DYNAMIC: &str = "launch__shared_mem_per_block_dynamic";
        let launches: [Profiled<'_>; 3] = [
            ("1", 0, "bulk", "a@s", &[(DURATION, 5.0), (STATIC, 0.0), (DYNAMIC, 73_728.0)]),
            ("1", 1, "merge", "a@s", &[(DURATION, 15.0), (STATIC, 80.0), (DYNAMIC, 0.0)]),
            ("1", 2, "fill", "a@s", &[(DURATION, 20.0), (STATIC, 0.0), (DYNAMIC, 0.0)]),
        ];
        let found = counted(&launches, None);
        assert_eq!(of(&found, "a", &[STATIC, DYNAMIC]), Some((Cell::Value(73_728.0), None)));
        assert_eq!(of(&found, "a", &[STATIC]), Some((Cell::Value(0.0), None)));
    }

    #[test]
    fn a_launch_outside_the_plan_is_of_no_case_and_a_bad_filter_matches_nothing() {
        let launches: [Profiled<'_>; 3] =
            [("1", 0, "k", "a@s", &[("x", 1.0)]), ("1", 1, "k", "c@s", &[]), ("1", 2, "k", "warm-up", &[])];
        let cases = |found: ProfileCounters| {
            found.cases.into_keys().map(|(variant, _)| variant.0.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(cases(counted(&launches, None)), ["a"]);
        assert!(cases(counted(&launches, Some("("))).is_empty() && cases(counted(&[], None)).is_empty());
    }

    #[test]
    fn the_report_that_comes_first_by_name_gives_a_counter_that_several_have() {
        let launches: [Profiled<'_>; 3] = [
            ("2", 7, "k", "a@s", &[("x", 2.0), ("y", 5.0)]),
            ("1", 7, "k", "a@s", &[("x", 1.0)]),
            ("1", 8, "k", "b@s", &[("y", 9.0)]),
        ];
        let found = counted(&launches, None);
        assert_eq!(of(&found, "a", &["x", "y"]), Some((Cell::Value(6.0), None)));
        let absent = Cell::Missing("`x` has no value".into());
        assert_eq!(of(&found, "b", &["y", "x"]), Some((absent.clone(), None)));
    }

    #[test]
    fn the_first_value_of_a_counter_that_occurs_twice_counts() {
        let twice: [Profiled<'_>; 1] = [("1", 0, "k", "a@s", &[("x", 1.0), ("x", 2.0), ("y", f64::NAN), ("y", 3.0)])];
        let found = counted(&twice, None);
        assert_eq!(of(&found, "a", &["x"]), Some((Cell::Value(1.0), None)));
        assert_eq!(of(&found, "a", &["y"]), Some((Cell::Missing("`y` has the value NaN".into()), None)));
    }

    #[test]
    fn a_counter_that_one_repeat_lacks_is_absent() {
        let launches: [Profiled<'_>; 2] =
            [("1", 0, "k", "a@s", &[("x.sum", 1.0)]), ("1", 1, "k", "a@s", &[("x.sum", f64::NAN)])];
        let absent = Cell::Missing("`x.sum` has the value NaN".into());
        assert_eq!(of(&counted(&launches, None), "a", &["x.sum"]), Some((absent, None)));
    }
}
