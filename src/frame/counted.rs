//! Counters of profiled launches, by variant and shape, out of the frames of their reports.
//!
//! A launch belongs to the variant and shape that its NVTX range names (`<variant>@<shape>`), if its kernel is the one
//! that the plan launches; never to a position in the report.
//!
//! **Several kernels.** Of a kernel that this program builds, launches of its entry count and no other. A command launches
//! what it likes inside its range: those of its kernels that `kernel_filter` matches count (all without a filter), all of
//! them together ([`super::program_counters`]).
//!
//! **Several launches.** ncu collects what does not fit one replay pass from reports of their own, so the n-th launch of a
//! case in one report and the n-th in another are one *repeat*: its counters are put together, and where reports have the
//! same counter that of the first by name counts. A metric is computed for each repeat and its median stands for the case;
//! where it is absent for one repeat it is absent for the case.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use polars::prelude::{
    Column, DataFrame, Float64Chunked, IdxCa, IdxSize, IntoColumn, NewChunkedArray, PolarsError, StringChunked,
};

use super::captured::{CapturedLaunch, CapturedVariants};
use super::cells::MetricCells;
use super::formula;
use super::groups::RowGroups;
use super::launches::{Capture, FrameError, LaunchFrames, Origin};
use super::nvtx::case_of;
use super::pivot::pivot;
use super::program_counters::of_programs;
use super::schema::counters::{REPEAT, ROW, SHAPE, VARIANT};
use super::schema::launches::{DEMANGLED, KERNEL, LAUNCH, NVTX, REPORT};
use super::schema::metrics::{METRIC, VALUE};
use crate::metric::Definition;
use crate::model::{Cell, KernelName, ProfileOutcome, ShapeName, VariantId};
use crate::plan::{Method, Plan};
use crate::stats;
use ncu_rep::{MetricSelection, Report};

type Case = (VariantId, ShapeName);

/// What ties a launch to a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership<'a> {
    /// Its NVTX range, where a record says that this report has the case, and the kernel that the plan launches.
    Recorded(&'a ProfiledCases),
    /// The patterns of the plan, at this shape: reports that this program did not make.
    Captured(&'a ShapeName),
}

/// Which report each case was profiled into, by the records of a run: what else a report holds is not a measurement of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfiledCases(HashMap<String, HashSet<Case>>);

impl ProfiledCases {
    /// Of records of profiles; those that failed have no report.
    pub fn of<'a>(records: impl Iterator<Item = (&'a VariantId, &'a ShapeName, &'a ProfileOutcome)>) -> Self {
        let mut cases: HashMap<String, HashSet<Case>> = HashMap::new();
        for (variant, shape, outcome) in records {
            if let ProfileOutcome::Profiled { report } = outcome {
                cases.entry(report.clone()).or_default().insert((variant.clone(), shape.clone()));
            }
        }
        Self(cases)
    }

    fn has(&self, report: &str, case: &Case) -> bool {
        self.0.get(report).is_some_and(|cases| cases.contains(case))
    }
}

/// Counters of every profiled case: one wide frame, a row a case and repeat, a column a counter by ncu's name.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    counters: DataFrame,
    cases: Cases,
    /// Launches that belong to no variant of the plan, for a warning.
    pub strays: usize,
}

/// Rows of each case in a frame; they follow each other.
#[derive(Debug, Clone, Default)]
struct Cases {
    rows: Vec<Range<usize>>,
    index: HashMap<Case, usize>,
}

/// A metric by case.
#[derive(Debug, Default)]
pub(super) struct CaseValues {
    /// The value of each case: the median over its repeats.
    pub cells: MetricCells,
    /// The value of each repeat, for cases with more than one.
    pub repeats: HashMap<usize, Arc<[f64]>>,
}

impl Counted {
    /// Reads `names` out of reports; `reports` gives each a name that is unique among them.
    ///
    /// # Errors
    /// A damaged report.
    pub fn read(
        reports: &[(String, Report)],
        plan: &Plan,
        ownership: Ownership<'_>,
        names: &[String],
    ) -> Result<Self, FrameError> {
        let captures: Vec<Capture<'_>> =
            reports.iter().map(|(name, report)| Capture { name, origin: Origin::Report(report) }).collect();
        let frames = LaunchFrames::read(&captures, MetricSelection::Named(names))?;
        Self::of_frames(&frames, plan, ownership).map_err(FrameError::from)
    }

    /// Counters out of frames that are read already.
    pub fn of_frames(frames: &LaunchFrames, plan: &Plan, ownership: Ownership<'_>) -> Result<Self, PolarsError> {
        let counters = by_launch(frames)?;
        let owned = owned(&frames.launches, plan, ownership)?;
        let owned = owned.hstack(counters.columns())?.filter_seq(&owned.column(VARIANT)?.is_not_null())?;
        let strays = frames.launches.height() - owned.height();
        let together = match ownership {
            Ownership::Recorded(_) => of_programs(owned, plan)?,
            Ownership::Captured(_) => owned,
        };
        let alike: &[&str] = match ownership {
            Ownership::Recorded(_) => &[VARIANT, SHAPE, REPORT],
            // Each launch of another program is one of its own, whatever report it is in.
            Ownership::Captured(_) => &[VARIANT, SHAPE],
        };
        let launches = numbered(&together, alike)?;
        let repeats = RowGroups::of(&launches, &[VARIANT, SHAPE, REPEAT])?;
        let cases = Cases::of(&repeats.keys)?;
        let names = counters.columns().iter().map(|column| column.name().as_str());
        let counters = names.map(|name| first(&launches, name, &repeats)).collect::<Result<_, _>>()?;
        Ok(Self { counters: DataFrame::new(repeats.len(), counters)?, cases, strays })
    }

    /// Which of the cases each of these is; null for one that was not profiled.
    pub(super) fn places<'k>(&self, keys: impl Iterator<Item = (&'k VariantId, &'k ShapeName)>) -> IdxCa {
        let place = |(variant, shape): (&VariantId, &ShapeName)| {
            self.cases.index.get(&(variant.clone(), shape.clone())).map(|&case| case as u32)
        };
        let places: Vec<Option<u32>> = keys.map(place).collect();
        IdxCa::from_slice_options(ROW.into(), &places)
    }

    /// A metric for every case.
    pub(super) fn evaluate(&self, definition: &Definition) -> CaseValues {
        let by_repeat = formula::evaluate(definition, &self.counters);
        let mut repeats = HashMap::new();
        let value = |(case, rows): (usize, &Range<usize>)| match values(&by_repeat, rows) {
            Ok(values) => {
                let median = stats::median(&values).map_or_else(|e| Cell::Missing(e.to_string().into()), Cell::finite);
                if values.len() > 1 {
                    repeats.insert(case, values.into());
                }
                median
            }
            Err(missing) => missing,
        };
        let cells = self.cases.rows.iter().enumerate().map(value).collect();
        CaseValues { cells, repeats }
    }
}

/// The values of these rows, or the first that is absent.
fn values(cells: &MetricCells, rows: &Range<usize>) -> Result<Vec<f64>, Cell> {
    let value = |cell: Cell| cell.value().ok_or(cell);
    rows.clone().filter_map(|row| cells.get(row)).map(value).collect()
}

/// The counters of every launch: a row a launch, in the order of the launches, and a column a counter.
fn by_launch(frames: &LaunchFrames) -> Result<DataFrame, PolarsError> {
    let places: HashMap<(&str, u32), IdxSize> = ids(&frames.launches)?.flatten().zip(0..).collect();
    let of_launch = RowGroups::of(&frames.metrics, &[REPORT, LAUNCH])?;
    let mut rows = vec![None; frames.metrics.height()];
    for (id, group) in ids(&of_launch.keys)?.zip(of_launch.iter()) {
        let place = id.and_then(|id| places.get(&id).copied());
        group.into_iter().for_each(|row| rows[row] = place);
    }
    let mut long = frames.metrics.select([METRIC, VALUE])?;
    long.with_column(IdxCa::from_slice_options(ROW.into(), &rows).into_column())?;
    pivot(&long, frames.launches.height())
}

/// Report and id of each row.
fn ids(frame: &DataFrame) -> Result<impl Iterator<Item = Option<(&str, u32)>>, PolarsError> {
    let (reports, launches) = (frame.column(REPORT)?.str()?, frame.column(LAUNCH)?.u32()?);
    Ok(reports.iter().zip(launches.iter()).map(|(report, launch)| report.zip(launch)))
}

/// Report, kernel, variant and shape of each launch; the last two null where it belongs to no case of the plan.
fn owned(launches: &DataFrame, plan: &Plan, ownership: Ownership<'_>) -> Result<DataFrame, PolarsError> {
    let filters = Filters::of(plan);
    let kernels = launches.column(KERNEL)?.str()?;
    let cases: Vec<Option<Case>> = match ownership {
        Ownership::Recorded(profiled) => {
            let reports = launches.column(REPORT)?.str()?;
            let ranges = launches.column(NVTX)?.str()?;
            let case = |(report, ranges): (Option<&str>, Option<&str>)| {
                case_of(ranges?).filter(|case| profiled.has(report.unwrap_or_default(), case))
            };
            reports.iter().zip(ranges.iter()).map(case).collect()
        }
        Ownership::Captured(shape) => captured(launches, plan, shape)?,
    };
    let demangled = launches.column(DEMANGLED)?.str()?;
    let accepted = |((case, kernel), demangled): ((Option<Case>, Option<&str>), Option<&str>)| {
        case.filter(|case| {
            filters.accept(&case.0, kernel.unwrap_or_default(), demangled.or(kernel).unwrap_or_default())
        })
    };
    let cases: Vec<Option<Case>> = cases.into_iter().zip(kernels.iter()).zip(demangled.iter()).map(accepted).collect();
    let variants = cases.iter().map(|case| case.as_ref().map(|case| case.0.0.as_str()));
    let shapes = cases.iter().map(|case| case.as_ref().map(|case| case.1.0.as_str()));
    let columns = [
        StringChunked::from_iter_options(VARIANT.into(), variants).into_column(),
        StringChunked::from_iter_options(SHAPE.into(), shapes).into_column(),
    ];
    launches.select([REPORT, KERNEL])?.hstack(&columns)
}

/// The case of each launch by the patterns of the plan; none where no pattern or more than one fits.
fn captured(launches: &DataFrame, plan: &Plan, shape: &ShapeName) -> Result<Vec<Option<Case>>, PolarsError> {
    let variants = CapturedVariants::of(plan);
    let texts = [launches.column(KERNEL)?.str()?, launches.column(DEMANGLED)?.str()?, launches.column(NVTX)?.str()?];
    let case = |(row, id): (usize, Option<(&str, u32)>)| {
        let (report, launch) = id?;
        let [kernel, demangled, nvtx] = texts.map(|column| column.get(row));
        let kernel = kernel.unwrap_or_default();
        let demangled = demangled.unwrap_or(kernel);
        let found = CapturedLaunch { report, launch, kernel, demangled, nvtx: nvtx.unwrap_or_default() };
        match variants.owners(&found).as_slice() {
            [owner] => Some(((*owner).clone(), shape.clone())),
            _ => None,
        }
    };
    Ok(ids(launches)?.enumerate().map(case).collect())
}

/// Which kernels count for a variant.
struct Filters<'a> {
    methods: HashMap<&'a VariantId, Filter>,
}

enum Filter {
    Entry(KernelName),
    Any,
    Matching(regex::Regex),
    /// A filter that does not compile matches nothing.
    Nothing,
}

impl Filter {
    fn matching(pattern: Option<&str>) -> Self {
        match pattern.map(regex::Regex::new) {
            None => Self::Any,
            Some(Ok(filter)) => Self::Matching(filter),
            Some(Err(_)) => Self::Nothing,
        }
    }
}

impl<'a> Filters<'a> {
    fn of(plan: &'a Plan) -> Self {
        let filter = |method: &'a Method| match method {
            Method::Kernel(kernel) => Filter::Entry(KernelName::parse(&kernel.entry)),
            Method::Function(function) => Filter::matching(function.kernel_filter.as_deref()),
            Method::Command(command) => Filter::matching(command.kernel_filter.as_deref()),
            Method::Captured(_) => Filter::Any,
        };
        Self { methods: plan.variants.iter().map(|v| (&v.id, filter(&v.method))).collect() }
    }

    fn accept(&self, variant: &VariantId, kernel: &str, demangled: &str) -> bool {
        match self.methods.get(variant) {
            None | Some(Filter::Nothing) => false,
            Some(Filter::Any) => true,
            Some(Filter::Entry(entry)) => entry.launched_as(kernel, demangled),
            Some(Filter::Matching(filter)) => filter.is_match(kernel),
        }
    }
}

/// The launches by variant, shape and report, in the order they ran; the n-th of those that have the columns of `alike`
/// in common is repeat n.
fn numbered(launches: &DataFrame, alike: &[&str]) -> Result<DataFrame, PolarsError> {
    let texts = [launches.column(VARIANT)?.str()?, launches.column(SHAPE)?.str()?, launches.column(REPORT)?.str()?];
    let mut order: Vec<usize> = (0..launches.height()).collect();
    order.sort_by_key(|&row| texts.map(|text| text.get(row)));
    let order: Vec<IdxSize> = order.into_iter().map(|row| row as IdxSize).collect();
    let order = IdxCa::from_vec("".into(), order);
    let columns = launches.columns().iter().map(|column| column.take(&order)).collect::<Result<_, _>>()?;
    let mut launches = DataFrame::new(order.len(), columns)?;
    let mut repeats = vec![0; launches.height()];
    for group in RowGroups::of(&launches, alike)?.iter() {
        for (repeat, row) in group.into_iter().enumerate() {
            repeats[row] = repeat as IdxSize;
        }
    }
    launches.with_column(IdxCa::from_vec(REPEAT.into(), repeats).into_column())?;
    Ok(launches)
}

/// The first value of a counter in each group of launches.
fn first(launches: &DataFrame, counter: &str, groups: &RowGroups) -> Result<Column, PolarsError> {
    let values = launches.column(counter)?.f64()?;
    let value = |group: Vec<usize>| group.into_iter().find_map(|row| values.get(row));
    let values: Vec<Option<f64>> = groups.iter().map(value).collect();
    Ok(Float64Chunked::from_slice_options(counter.into(), &values).into_column())
}

impl Cases {
    /// The cases of a frame that is sorted by variant and shape.
    fn of(frame: &DataFrame) -> Result<Self, PolarsError> {
        let mut cases = Self::default();
        let keys = frame.column(VARIANT)?.str()?.iter().zip(frame.column(SHAPE)?.str()?.iter()).enumerate();
        for (row, (variant, shape)) in keys {
            let (Some(variant), Some(shape)) = (variant, shape) else { continue };
            let next = cases.rows.len();
            let key = (VariantId(variant.to_owned()), ShapeName(shape.to_owned()));
            match cases.rows.get_mut(*cases.index.entry(key).or_insert(next)) {
                Some(rows) => rows.end = row + 1,
                None => cases.rows.push(row..row + 1),
            }
        }
        Ok(cases)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::program_counters::DURATION;
    use super::*;
    use crate::metric::Formula;
    use crate::plan::{CommandPlan, Standing, Variant};
    use polars::prelude::UInt32Chunked;

    /// A launch: report, id, kernel, NVTX range, counters by name.
    type Profiled<'a> = (&'a str, u32, &'a str, &'a str, &'a [(&'a str, f64)]);

    fn text<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> Column {
        StringChunked::from_iter_values(name.into(), values).into_column()
    }

    fn ids(values: impl Iterator<Item = u32>) -> Column {
        UInt32Chunked::from_iter_values(LAUNCH.into(), values).into_column()
    }

    fn frames(launches: &[Profiled<'_>]) -> LaunchFrames {
        let long: Vec<_> = launches.iter().flat_map(|l| l.4.iter().map(move |m| (l.0, l.1, m.0, m.1))).collect();
        let launch_columns = vec![
            text(REPORT, launches.iter().map(|l| l.0)),
            ids(launches.iter().map(|l| l.1)),
            text(KERNEL, launches.iter().map(|l| l.2)),
            text(DEMANGLED, launches.iter().map(|l| l.2)),
            text(NVTX, launches.iter().map(|l| l.3)),
        ];
        let metric_columns = vec![
            text(REPORT, long.iter().map(|m| m.0)),
            ids(long.iter().map(|m| m.1)),
            text(METRIC, long.iter().map(|m| m.2)),
            Float64Chunked::from_iter_values(VALUE.into(), long.iter().map(|m| m.3)).into_column(),
        ];
        LaunchFrames {
            launches: DataFrame::new(launches.len(), launch_columns).unwrap(),
            metrics: DataFrame::new(long.len(), metric_columns).unwrap(),
        }
    }

    fn plan(filter: Option<&str>) -> Plan {
        let command = CommandPlan { argv: vec!["true".into()], kernel_filter: filter.map(str::to_owned) };
        let variant = |id: &str| Variant {
            id: VariantId(id.into()),
            standing: Standing::Candidate,
            params: Vec::new(),
            method: Method::Command(command.clone()),
        };
        Plan { variants: vec![variant("a"), variant("b")] }
    }

    fn counted(launches: &[Profiled<'_>], filter: Option<&str>) -> Counted {
        let cases = launches.iter().filter_map(|launch| Some((launch.0, case_of(launch.3)?)));
        let records: Vec<_> = cases
            .map(|(report, (variant, shape))| (variant, shape, ProfileOutcome::Profiled { report: report.to_owned() }))
            .collect();
        let profiled = ProfiledCases::of(records.iter().map(|(variant, shape, outcome)| (variant, shape, outcome)));
        Counted::of_frames(&frames(launches), &plan(filter), Ownership::Recorded(&profiled)).unwrap()
    }

    /// The sum of these counters for a variant at shape `s`, and its values by repeat.
    fn of(counted: &Counted, variant: &str, names: &[&str]) -> Option<(Cell, Option<Vec<f64>>)> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let values = counted.evaluate(&Definition { formula: Formula::Sum(names), unit: String::new() });
        let key = (VariantId(variant.into()), ShapeName("s".into()));
        let case = counted.places([(&key.0, &key.1)].into_iter()).get(0)? as usize;
        Some((values.cells.get(case)?, values.repeats.get(&case).map(|v| v.to_vec())))
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
        assert_eq!((of(&found, "b", &["x.sum"]), found.strays), (Some((Cell::Value(7.0), None)), 0));
        let merge = counted(&launches, Some("^merge"));
        assert_eq!((of(&merge, "a", &["x.sum"]), merge.strays), (Some((Cell::Value(2.0), None)), 4));
    }

    #[test]
    fn a_launch_outside_the_plan_is_a_stray_and_a_bad_filter_matches_nothing() {
        let launches: [Profiled<'_>; 3] =
            [("1", 0, "k", "a@s", &[("x", 1.0)]), ("1", 1, "k", "c@s", &[]), ("1", 2, "k", "warm-up", &[])];
        assert_eq!(counted(&launches, None).strays, 2);
        assert_eq!(counted(&launches, Some("(")).strays, 3);
        assert_eq!(counted(&[], None).strays, 0);
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
        let absent = Cell::Missing("'x' has no value".into());
        assert_eq!(of(&found, "b", &["y", "x"]), Some((absent.clone(), None)));
    }

    #[test]
    fn a_counter_that_one_repeat_lacks_is_absent() {
        let launches: [Profiled<'_>; 2] =
            [("1", 0, "k", "a@s", &[("x.sum", 1.0)]), ("1", 1, "k", "a@s", &[("x.sum", f64::NAN)])];
        let absent = Cell::Missing("'x.sum' was counted as NaN".into());
        assert_eq!(of(&counted(&launches, None), "a", &["x.sum"]), Some((absent, None)));
    }
}
