//! Counters of profiled launches, by variant and shape, out of the frames of their reports.
//!
//! A launch belongs to the variant and shape that its NVTX range names (`<variant>@<shape>`), if its kernel is the one
//! that the plan launches; never to a position in the report.
//!
//! **Several kernels.** Of a program that is planned here, the launches of its steps count, in their order and by their names
//! ([`super::steps`]), and no other. A command launches what it likes inside its range: those of its kernels that
//! `kernel_filter` matches count (all without a filter). All launches of an evaluation count together
//! ([`super::evaluations`]); those of a program's steps are kept by step beside it.
//!
//! **Several evaluations.** ncu collects what does not fit one replay pass from reports of their own, so the n-th evaluation of a
//! case in one report and the n-th in another are one *repeat*: its counters are put together, and where reports have the
//! same counter that of the first by name counts. A metric is computed for each repeat and its median stands for the case;
//! where it is absent for one repeat it is absent for the case.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use polars::prelude::{
    BooleanChunked, Column, DataFrame, Float64Chunked, IdxCa, IdxSize, IntoColumn, NewChunkedArray, PolarsError,
    StringChunked, UInt32Chunked,
};

use super::captured::{CapturedLaunch, CapturedVariants};
use super::cells::MetricCells;
use super::evaluations::of_evaluations;
use super::groups::RowGroups;
use super::launches::{Capture, FrameError, LaunchFrames, Origin};
use super::nvtx::case_of;
use super::pivot::pivot;
use super::schema::counters::{REPEAT, ROW, SHAPE, STEP, VARIANT};
use super::schema::launches::{DEMANGLED, KERNEL, LAUNCH, NVTX, REPORT};
use super::schema::metrics::{METRIC, VALUE};
use super::steps::{Case, Misfit, SeenLaunch, owned as owned_launches};
use super::{formula, traced};
use crate::metric::Definition;
use crate::model::{Cell, ProfileOutcome, ShapeName, VariantId};
use crate::plan::Plan;
use crate::stats;
use ncu_rep::{MetricSelection, Report};

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
    /// Of records of profiles; those that failed have no report, and what CUPTI traced has one of its own.
    pub fn of<'a>(records: impl Iterator<Item = (&'a VariantId, &'a ShapeName, &'a ProfileOutcome)>) -> Self {
        let mut cases: HashMap<String, HashSet<Case>> = HashMap::new();
        for (variant, shape, outcome) in records {
            let report = match outcome {
                ProfileOutcome::Profiled { report } => report,
                ProfileOutcome::Traced { .. } => traced::REPORT,
                ProfileOutcome::Failed { .. } => continue,
            };
            cases.entry(report.to_owned()).or_default().insert((variant.clone(), shape.clone()));
        }
        Self(cases)
    }

    fn has(&self, report: &str, case: &Case) -> bool {
        self.0.get(report).is_some_and(|cases| cases.contains(case))
    }
}

/// Counters of every profiled case.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// Of whole evaluations.
    whole: CaseCounters,
    /// Of the launches of programs with several, by their place.
    steps: Vec<CaseCounters>,
    /// Launches that belong to no variant of the plan, for a warning.
    pub strays: usize,
    /// Launches in the range of a case that are not those of its program.
    pub misfits: Vec<Misfit>,
}

/// One wide frame, a row a case and repeat, a column a counter by ncu's name.
#[derive(Debug, Clone, Default)]
struct CaseCounters {
    counters: DataFrame,
    cases: Cases,
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
        let (owned, misfits) = owned(&frames.launches, plan, ownership)?;
        let owned = owned.hstack(counters.columns())?.filter_seq(&owned.column(VARIANT)?.is_not_null())?;
        let strays = frames.launches.height() - owned.height();
        let names: Vec<String> = counters.columns().iter().map(|column| column.name().to_string()).collect();
        let steps = by_step(&owned, &names)?;
        let together = match ownership {
            Ownership::Recorded(_) => of_evaluations(owned, plan)?,
            Ownership::Captured(_) => owned,
        };
        let alike: &[&str] = match ownership {
            Ownership::Recorded(_) => &[VARIANT, SHAPE, REPORT],
            // Each launch of another program is one of its own, whatever report it is in.
            Ownership::Captured(_) => &[VARIANT, SHAPE],
        };
        Ok(Self { whole: CaseCounters::of(&together, &names, alike)?, steps, strays, misfits })
    }

    /// Which of the cases each of these is; null for one that was not profiled.
    pub(super) fn places<'k>(&self, keys: impl Iterator<Item = (&'k VariantId, &'k ShapeName)>) -> IdxCa {
        let places: Vec<Option<u32>> =
            keys.map(|(variant, shape)| self.whole.place(variant, shape).map(|case| case as u32)).collect();
        IdxCa::from_slice_options(ROW.into(), &places)
    }

    /// A metric for every case.
    pub(super) fn evaluate(&self, definition: &Definition) -> CaseValues {
        self.whole.evaluate(definition)
    }

    /// A metric for the launches of each of these cases, by their place in the program; nothing for a case whose program is
    /// one launch, or that was not profiled.
    pub(super) fn evaluate_steps<'k>(
        &self,
        definition: &Definition,
        keys: impl Iterator<Item = (&'k VariantId, &'k ShapeName)>,
    ) -> Vec<Vec<Cell>> {
        let by_step: Vec<MetricCells> = self.steps.iter().map(|step| step.evaluate(definition).cells).collect();
        let of_case = |(variant, shape): (&VariantId, &ShapeName)| {
            let cell = |(step, cells): (&CaseCounters, &MetricCells)| cells.get(step.place(variant, shape)?);
            self.steps.iter().zip(&by_step).map_while(cell).collect()
        };
        keys.map(of_case).collect()
    }

    /// Why launches of a case do not count although they were seen.
    pub(super) fn misfit(&self, variant: &VariantId, shape: &ShapeName) -> Option<&Misfit> {
        self.misfits.iter().find(|misfit| &misfit.variant == variant && &misfit.shape == shape)
    }
}

impl CaseCounters {
    /// Puts the repeats of launches (or evaluations) together.
    fn of(launches: &DataFrame, names: &[String], alike: &[&str]) -> Result<Self, PolarsError> {
        let launches = numbered(launches, alike)?;
        let repeats = RowGroups::of(&launches, &[VARIANT, SHAPE, REPEAT])?;
        let cases = Cases::of(&repeats.keys)?;
        let counters = names.iter().map(|name| first(&launches, name, &repeats)).collect::<Result<_, _>>()?;
        Ok(Self { counters: DataFrame::new(repeats.len(), counters)?, cases })
    }

    fn place(&self, variant: &VariantId, shape: &ShapeName) -> Option<usize> {
        self.cases.index.get(&(variant.clone(), shape.clone())).copied()
    }

    /// A metric for every case.
    fn evaluate(&self, definition: &Definition) -> CaseValues {
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

/// The launches of programs with several, by their place in the program; none where no program has several.
fn by_step(owned: &DataFrame, names: &[String]) -> Result<Vec<CaseCounters>, PolarsError> {
    let steps = owned.column(STEP)?.u32()?;
    let Some(last) = steps.iter().flatten().max().filter(|last| *last > 0) else { return Ok(Vec::new()) };
    let variants = owned.column(VARIANT)?.str()?;
    let later = variants.iter().zip(steps.iter()).filter(|(_, step)| step.is_some_and(|step| step > 0));
    let several: HashSet<&str> = later.filter_map(|(variant, _)| variant).collect();
    let of = |step: u32| {
        let is_it = |(variant, at): (Option<&str>, Option<u32>)| {
            at == Some(step) && variant.is_some_and(|variant| several.contains(variant))
        };
        let rows: Vec<bool> = variants.iter().zip(steps.iter()).map(is_it).collect();
        CaseCounters::of(
            &owned.filter_seq(&BooleanChunked::from_slice("".into(), &rows))?,
            names,
            &[VARIANT, SHAPE, REPORT],
        )
    };
    (0..=last).map(of).collect()
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

/// Report, kernel, variant, shape and step of each launch, the last three null where it belongs to no case of the plan; and
/// what was seen in ranges of the plan without belonging to it.
fn owned(launches: &DataFrame, plan: &Plan, ownership: Ownership<'_>) -> Result<(DataFrame, Vec<Misfit>), PolarsError> {
    let kernels = launches.column(KERNEL)?.str()?;
    let demangled = launches.column(DEMANGLED)?.str()?;
    let reports = launches.column(REPORT)?.str()?;
    let cases: Vec<Option<Case>> = match ownership {
        Ownership::Recorded(profiled) => {
            let ranges = launches.column(NVTX)?.str()?;
            let case = |(report, ranges): (Option<&str>, Option<&str>)| {
                case_of(ranges?).filter(|case| profiled.has(report.unwrap_or_default(), case))
            };
            reports.iter().zip(ranges.iter()).map(case).collect()
        }
        Ownership::Captured(shape) => captured(launches, plan, shape)?,
    };
    let names = kernels.iter().zip(demangled.iter()).zip(reports.iter());
    let seen: Vec<SeenLaunch<'_>> = cases
        .into_iter()
        .zip(names)
        .map(|(case, ((kernel, demangled), report))| SeenLaunch {
            report: report.unwrap_or_default(),
            case,
            kernel: kernel.unwrap_or_default(),
            demangled: demangled.or(kernel).unwrap_or_default(),
        })
        .collect();
    let (owned, misfits) = owned_launches(plan, &seen);
    let variants = owned.iter().map(|launch| launch.as_ref().map(|launch| launch.case.0.0.as_str()));
    let shapes = owned.iter().map(|launch| launch.as_ref().map(|launch| launch.case.1.0.as_str()));
    let steps: Vec<Option<u32>> = owned.iter().map(|launch| launch.as_ref().map(|launch| launch.step)).collect();
    let columns = [
        StringChunked::from_iter_options(VARIANT.into(), variants).into_column(),
        StringChunked::from_iter_options(SHAPE.into(), shapes).into_column(),
        UInt32Chunked::from_slice_options(STEP.into(), &steps).into_column(),
    ];
    Ok((launches.select([REPORT, KERNEL])?.hstack(&columns)?, misfits))
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
mod tests {
    use super::super::evaluations::DURATION;
    use super::*;
    use crate::metric::Formula;
    use crate::plan::{CommandPlan, Method, Standing, Variant};

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
