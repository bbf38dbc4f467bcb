//! Counters of profiled launches, by variant and shape, out of the frames of their reports.
//!
//! A launch belongs to the variant and shape that its NVTX range names (`<variant>@<shape>`), if its kernel is the one
//! that the plan launches; never to a position in the report.

use super::launches::{Capture, FrameError, LaunchFrames, Origin};
use super::schema;
use crate::metric::Definition;
use crate::model::{ShapeName, VariantId};
use crate::plan::{Method, Plan};
use ncu_rep::{MetricSelection, Report};
use polars::prelude::{DataFrame, PolarsError};
use std::collections::{BTreeMap, HashMap};

use crate::model::Cell;

/// ncu's name of the time a launch took, by which the kernel that counts is chosen among several.
const DURATION: &str = "gpu__time_duration.sum";

type Key = (VariantId, ShapeName);
/// Counters of one launch by ncu name.
type Counters = HashMap<String, f64>;

/// Launches of one variant and shape: for each report, in the order they ran.
type Launches = BTreeMap<String, Vec<Counters>>;

/// What ties a launch to a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership<'a> {
    /// Its NVTX range, and the kernel that the plan launches.
    Range,
    /// Every launch is a variant of its own, at this shape: reports that this program did not make.
    Launch(&'a ShapeName),
}

/// The variant that a launch of a report is by itself.
pub fn launch_variant(report: &str, launch: u32) -> VariantId {
    VariantId(format!("{report}#{launch}"))
}

/// Counters of every profiled case.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    cases: HashMap<Key, Launches>,
    /// Launches that belong to no variant of the plan, for a warning.
    pub strays: usize,
}

impl Counted {
    /// Reads `names` out of reports; `reports` gives each a name that is unique among them.
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
        let owners = Owners::of(&frames.launches, plan, ownership)?;
        let counters = counters(&frames.metrics)?;
        let mut cases: HashMap<Key, BTreeMap<String, BTreeMap<String, Vec<Counters>>>> = HashMap::new();
        for (launch, owner) in owners.launches {
            let values = counters.get(&launch).cloned().unwrap_or_default();
            let kernels = cases.entry(owner.key).or_default().entry(launch.0).or_default();
            kernels.entry(owner.kernel).or_default().push(values);
        }
        let cases = cases.into_iter().map(|(key, reports)| (key, dominant(reports))).collect();
        Ok(Self { cases, strays: owners.strays })
    }

    /// Whether any launch of the case was profiled.
    pub fn has(&self, variant: &VariantId, shape: &ShapeName) -> bool {
        self.cases.contains_key(&(variant.clone(), shape.clone()))
    }

    /// Value of a metric: the median over the case's launches. Missing where it is for one.
    pub fn evaluate(&self, variant: &VariantId, shape: &ShapeName, definition: &Definition) -> Option<Cell> {
        Some(match self.values(variant, shape, definition)? {
            Ok(values) => {
                crate::stats::median(&values).map_or_else(|e| Cell::Missing(e.to_string().into()), Cell::finite)
            }
            Err(missing) => missing,
        })
    }

    /// Value of a metric for each launch of a case, each computed by itself; an error where it is missing for one.
    pub fn values(
        &self,
        variant: &VariantId,
        shape: &ShapeName,
        definition: &Definition,
    ) -> Option<Result<Vec<f64>, Cell>> {
        let launches = self.cases.get(&(variant.clone(), shape.clone()))?;
        let repeats = launches.values().map(Vec::len).max().unwrap_or(0);
        let mut values = Vec::with_capacity(repeats);
        for repeat in 0..repeats {
            let read = |name: &str| launches.values().find_map(|l| l.get(repeat).and_then(|c| c.get(name)).copied());
            match definition.evaluate(&read) {
                Cell::Value(value) => values.push(value),
                missing @ Cell::Missing(_) => return Some(Err(missing)),
            }
        }
        Some(Ok(values))
    }
}

/// Which case each launch belongs to.
struct Owners {
    launches: Vec<((String, u32), Owner)>,
    strays: usize,
}

struct Owner {
    key: Key,
    kernel: String,
}

impl Owners {
    fn of(launches: &DataFrame, plan: &Plan, ownership: Ownership<'_>) -> Result<Self, PolarsError> {
        use schema::launches as l;
        let filters = Filters::of(plan);
        let reports = launches.column(l::REPORT)?.str()?;
        let ids = launches.column(l::LAUNCH)?.u32()?;
        let kernels = launches.column(l::KERNEL)?.str()?;
        let ranges = launches.column(l::NVTX)?.str()?;
        let mut owned = Self { launches: Vec::new(), strays: 0 };
        for row in 0..launches.height() {
            let (Some(report), Some(id), kernel) =
                (reports.get(row), ids.get(row), kernels.get(row).unwrap_or_default())
            else {
                continue;
            };
            let key = match ownership {
                Ownership::Range => ranges.get(row).and_then(case_of),
                Ownership::Launch(shape) => Some((launch_variant(report, id), shape.clone())),
            };
            match key.filter(|key| filters.accept(key, kernel)) {
                Some(key) => {
                    owned.launches.push(((report.to_owned(), id), Owner { key, kernel: kernel.to_owned() }));
                }
                None => owned.strays += 1,
            }
        }
        Ok(owned)
    }
}

/// The case that the innermost range of the form `<variant>@<shape>` names.
pub fn case_of(ranges: &str) -> Option<Key> {
    ranges.rsplit(" > ").find_map(|range| {
        // ncu keeps the terminating NUL of a wide string as part of the name.
        let (variant, shape) = range.trim_end_matches('\0').rsplit_once('@')?;
        Some((VariantId(variant.to_owned()), ShapeName(shape.to_owned())))
    })
}

/// Which kernels count for a variant.
struct Filters<'a> {
    methods: HashMap<&'a VariantId, Filter<'a>>,
}

enum Filter<'a> {
    Entry(&'a str),
    Any,
    Matching(regex::Regex),
    /// A filter that does not compile matches nothing.
    Nothing,
}

impl<'a> Filters<'a> {
    fn of(plan: &'a Plan) -> Self {
        let filter = |method: &'a Method| match method {
            Method::Kernel(kernel) => Filter::Entry(&kernel.entry),
            Method::Command(command) => match command.kernel_filter.as_deref().map(regex::Regex::new) {
                None => Filter::Any,
                Some(Ok(filter)) => Filter::Matching(filter),
                Some(Err(_)) => Filter::Nothing,
            },
        };
        Self { methods: plan.variants.iter().map(|v| (&v.id, filter(&v.method))).collect() }
    }

    fn accept(&self, key: &Key, kernel: &str) -> bool {
        match self.methods.get(&key.0) {
            None | Some(Filter::Nothing) => false,
            Some(Filter::Any) => true,
            Some(Filter::Entry(entry)) => kernel == *entry,
            Some(Filter::Matching(filter)) => filter.is_match(kernel),
        }
    }
}

/// Where a program launches several kernels in one range, the one that takes most of the time stands for it.
fn dominant(reports: BTreeMap<String, BTreeMap<String, Vec<Counters>>>) -> Launches {
    let mut totals: BTreeMap<String, f64> = BTreeMap::new();
    for kernels in reports.values() {
        for (kernel, launches) in kernels {
            let time: f64 = launches.iter().filter_map(|c| c.get(DURATION)).sum();
            *totals.entry(kernel.clone()).or_default() += time;
        }
    }
    let Some(longest) = totals.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(kernel, _)| kernel.clone()) else {
        return Launches::new();
    };
    reports
        .into_iter()
        .filter_map(|(report, mut kernels)| kernels.remove(&longest).map(|launches| (report, launches)))
        .collect()
}

/// Numbers of every launch by name; text and missing values are left out.
fn counters(metrics: &DataFrame) -> Result<HashMap<(String, u32), Counters>, PolarsError> {
    use schema::metrics as m;
    let reports = metrics.column(m::REPORT)?.str()?;
    let ids = metrics.column(m::LAUNCH)?.u32()?;
    let names = metrics.column(m::METRIC)?.str()?;
    let values = metrics.column(m::VALUE)?.f64()?;
    let mut out: HashMap<(String, u32), Counters> = HashMap::new();
    for row in 0..metrics.height() {
        if let (Some(report), Some(id), Some(name), Some(value)) =
            (reports.get(row), ids.get(row), names.get(row), values.get(row))
        {
            out.entry((report.to_owned(), id)).or_default().entry(name.to_owned()).or_insert(value);
        }
    }
    Ok(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_range_that_names_a_case_counts() {
        let (variant, shape) = case_of("step > REGCAP=64,T=128@mission").unwrap();
        assert_eq!((variant.0.as_str(), shape.0.as_str()), ("REGCAP=64,T=128", "mission"));
        assert_eq!(case_of("flash@small\0").unwrap().1.0, "small");
        assert_eq!(case_of("warm-up"), None);
    }

    #[test]
    fn the_longest_kernel_stands_for_a_program() {
        let launch = |time: f64| Counters::from([(DURATION.to_owned(), time)]);
        let kernels =
            BTreeMap::from([("split".to_owned(), vec![launch(9.0)]), ("merge".to_owned(), vec![launch(2.0)])]);
        let kept = dominant(BTreeMap::from([("a".to_owned(), kernels)]));
        assert_eq!(kept["a"], [launch(9.0)]);
    }
}
