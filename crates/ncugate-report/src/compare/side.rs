//! One side of a comparison, by name: from a judged run or from the launches of an ncu report.

use crate::model::{Conclusion, Measure};
use crate::provenance::{NO_REPOSITORY, commit};
use crate::run_report::RunReport;
use crate::variant_row::VariantRow;
use crate::{number, text};
use indexmap::{IndexMap, IndexSet};
use ncu_explain::{KernelFilter, KernelsError, LaunchShape, clock_control, named, short_names};
use ncu_rep::{Launch, ReportError};
use ncugate_judge::GateResult;
use ncugate_judge::frame::cases_of;
use ncugate_judge::store::Fingerprint;
use ncugate_model::metric::id;
use ncugate_model::{CleanText, LaunchMetrics, Verdict, nvtx_text};
use ncugate_phase::config::Workload;
use ncugate_phase::plan::VariantRole;
use serde::Serialize;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ComparedSide {
    pub summary: SideSummary,
    pub gates: Vec<GateResult>,
    /// Conditions that must be equal for numbers to be comparable.
    pub measured_with: MeasurementSetup,
    /// The workload of a run.
    pub workload: Option<Box<Workload>>,
    /// Variants at shapes, or kernels, by the name that pairs them.
    pub subjects: IndexMap<CleanText, ComparedSubject>,
}

/// Title of a side.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SideSummary {
    /// The name given by the reader: a folder or a file.
    pub name: CleanText,
    /// Its description: `Phase D: occupancy attack, run 20261121T012344Z`.
    pub about: CleanText,
    /// The conclusion of a judged run.
    pub conclusion: Option<Conclusion>,
    pub reason: Option<CleanText>,
}

/// Known measurement conditions of a side.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum MeasurementSetup {
    #[default]
    Unknown,
    /// Machine and tools of a run.
    Run(Box<Fingerprint>),
    /// Devices of an ncu report's launches.
    Devices(IndexSet<CleanText>),
}

/// A variant at a shape, or a kernel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ComparedSubject {
    /// The case (`variant@shape`), or the kernel without its launch shape.
    pub name: CleanText,
    /// Short enough for a table.
    pub label: CleanText,
    /// Whether every required gate holds for it; none for baselines and kernels.
    pub verdict: Option<Verdict>,
    /// Values of each metric: one for a run, one for each launch of a report.
    pub values: IndexMap<CleanText, Vec<f64>>,
    /// Latency samples in microseconds.
    pub samples: Vec<f64>,
    /// The launch configuration, for launches of a report.
    pub launched: Option<LaunchedKernel>,
}

/// Launches of a report in one configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchedKernel {
    pub shape: LaunchShape,
    /// The launch that came first.
    pub first: u32,
    pub launches: usize,
    /// Their total time in nanoseconds, if each one has a duration.
    pub nanos: Option<f64>,
}

impl ComparedSide {
    pub fn of_run(name: &str, report: &RunReport) -> Self {
        let git = report.provenance.git.as_ref();
        let commit = git.map_or_else(|| NO_REPOSITORY.to_owned(), |git| format!("commit {}", commit(git)));
        Self {
            summary: SideSummary {
                name: name.into(),
                about: format!("{}, run {}, {}, {commit}", report.title, report.run, report.source.sentence).into(),
                conclusion: Some(report.headline.conclusion),
                reason: Some(report.headline.reason.clone()),
            },
            gates: report.gates.clone(),
            measured_with: MeasurementSetup::Run(Box::new(report.provenance.fingerprint.clone())),
            workload: None,
            subjects: report.variants.iter().flat_map(|variant| at_shapes(report, variant)).collect(),
        }
    }

    /// The matching launches of a report: launches of a profiled case under the name of the case, others under that of
    /// their kernel.
    ///
    /// # Errors
    /// A damaged report, or one without a matching launch.
    pub fn of_report(name: &str, report: &ncu_rep::Report, filter: &KernelFilter) -> Result<Self, KernelsError> {
        let damaged = |source| KernelsError::Damaged { name: name.into(), source };
        let mut subjects: IndexMap<CleanText, ComparedSubject> = IndexMap::new();
        let mut devices = IndexSet::new();
        let mut launches = 0;
        for launch in report.launches() {
            let nvtx = nvtx_text(&launch.nvtx().map_err(damaged)?);
            if !filter.accepts(&launch, &nvtx) {
                continue;
            }
            launches += 1;
            let (name, label) = called(&launch, &nvtx);
            let shape = LaunchShape::of(&launch).map_err(damaged)?;
            let key = CleanText::whole(&format!("{name} {} {shape:?}", launch.demangled_name()));
            let subject = subjects.entry(key).or_insert_with(|| ComparedSubject {
                name,
                label,
                launched: Some(LaunchedKernel { shape, first: launch.id(), launches: 0, nanos: None }),
                ..ComparedSubject::default()
            });
            if let Some(launched) = &mut subject.launched {
                launched.launches += 1;
            }
            for (metric, value) in values(&launch).map_err(damaged)? {
                subject.values.entry(metric).or_default().push(value);
            }
            devices.extend(launch.device_name().map_err(damaged)?.map(|device| CleanText::from(&*device)));
        }
        if subjects.is_empty() {
            return Err(KernelsError::NoLaunch { name: name.into(), launches: report.launches().len() });
        }
        for subject in subjects.values_mut() {
            let Some(launched) = &mut subject.launched else { continue };
            let durations = subject.values.get(&*id::DURATION).filter(|values| values.len() == launched.launches);
            launched.nanos = durations.map(|values| values.iter().sum());
        }
        set_labels(&mut subjects);
        subjects.sort_by(|_, a, _, b| nanos(b).total_cmp(&nanos(a)));
        let on: Vec<&str> = devices.iter().map(CleanText::as_str).collect();
        let on = if on.is_empty() { "an unknown device".to_owned() } else { on.join(", ") };
        let clocks =
            clock_control(&report.session().map_err(damaged)?).map_or_else(String::new, |clocks| format!(", {clocks}"));
        let about = format!("{} on {on}{clocks}", number::counted(launches, "launch")).into();
        Ok(Self {
            summary: SideSummary { name: name.into(), about, ..SideSummary::default() },
            measured_with: MeasurementSetup::Devices(devices),
            subjects,
            ..Self::default()
        })
    }

    /// Whether it consists of launches of a report.
    pub fn is_report(&self) -> bool {
        self.subjects.values().any(|subject| subject.launched.is_some())
    }
}

fn nanos(subject: &ComparedSubject) -> f64 {
    subject.launched.as_ref().and_then(|launched| launched.nanos).unwrap_or(-1.0)
}

/// Sets labels: the short name of a kernel, and the differences between groups of one kernel: `attn, grid 64`.
fn set_labels(subjects: &mut IndexMap<CleanText, ComparedSubject>) {
    let mut shapes: IndexMap<CleanText, Vec<LaunchShape>> = IndexMap::new();
    for subject in subjects.values() {
        let shape = subject.launched.iter().map(|launched| launched.shape.clone());
        shapes.entry(subject.name.clone()).or_default().extend(shape);
    }
    let names: Vec<&str> = subjects.values().map(|subject| subject.name.as_str()).collect();
    let shorts = short_names(&names);
    for (subject, short) in subjects.values_mut().zip(shorts) {
        let Some(launched) = &subject.launched else { continue };
        let label = if subject.label.is_empty() { short } else { subject.label.to_string() };
        let apart = launched.shape.distinction(shapes.get(&subject.name).into_iter().flatten());
        let apart = if apart.is_empty() { apart } else { format!(", {apart}") };
        subject.label = CleanText::whole(&format!("{label}{apart}"));
    }
}

/// A variant at every shape with a measurement.
fn at_shapes<'r>(
    report: &'r RunReport,
    variant: &'r VariantRow,
) -> impl Iterator<Item = (CleanText, ComparedSubject)> + 'r {
    let candidate = variant.standing == VariantRole::Candidate;
    report.shapes.iter().zip(&variant.shapes).filter_map(move |(shape, measured)| {
        let number = |value: &Measure| value.number().map(|n| vec![n.value]);
        let values = report.metrics.iter().zip(&measured.values);
        let values: IndexMap<CleanText, Vec<f64>> =
            values.filter_map(|(metric, value)| Some((metric.name.as_str().into(), number(value)?))).collect();
        let name = CleanText::whole(&format!("{}@{shape}", variant.id));
        let subject = ComparedSubject {
            name: name.clone(),
            label: CleanText::whole(&format!("{} @ {shape}", variant.label)),
            verdict: candidate.then_some(variant.verdict),
            values,
            samples: measured.samples.clone(),
            launched: None,
        };
        (!subject.values.is_empty()).then_some((name, subject))
    })
}

/// The name of a launch, and its label if it is that of a case.
fn called(launch: &Launch<'_>, nvtx: &str) -> (CleanText, CleanText) {
    if let Some((variant, shape)) = cases_of(nvtx).next() {
        let label = format!("{} @ {shape}", text::clip(&variant.0, text::LABEL));
        return (CleanText::whole(&format!("{variant}@{shape}")), CleanText::whole(&label));
    }
    (named(launch), CleanText::default())
}

/// Numbers of a launch: catalogue metrics first, then ncu's by name.
fn values(launch: &Launch<'_>) -> Result<Vec<(CleanText, f64)>, ReportError> {
    let metrics = LaunchMetrics::of(launch)?;
    // Counters of the profiler itself, and by-products of its evaluation, do not describe the kernel.
    let is_own = |name: &str| name.starts_with("profiler__") || name.starts_with("derived_tempMetric");
    let counters = metrics.counters().filter(|(name, _)| !is_own(name));
    let values = metrics.values().map(|(name, value)| (name.into(), value));
    Ok(values.chain(counters.map(|(name, value)| (name.into(), value))).collect())
}
