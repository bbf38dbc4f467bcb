//! Uses ncu's counters as the witness of every latency.
//!
//! A clock gives the duration of a launch but not the work done in it. ncu profiles the same launch in another
//! process, which allows three comparisons: its duration with launches under the same conditions (`isolated`), the counted bytes
//! and operations with the declared useful work (`work`), and the time with the chip's peak rates (`floor`). The samples
//! themselves are compared with launches that could not reuse a result (`unrepeated`). A mismatch makes a latency
//! inconclusive. A mismatch by [`CLEAR`] or more shows that the timed program is not the proven one: the variant
//! cheats.

mod floor;
mod isolated;
mod unrepeated;
mod work;

use self::isolated::{DurationComparison, ProfiledEvaluation};
use self::unrepeated::Repeats;
use super::results::Correctness;
use crate::store::{Run, RunForm};
use ncugate_model::metric::id;
use ncugate_model::{
    Audit, BuildRecord, Cell, ChipFacts, IsolatedSamples, LatencyOutcome, LatencyRecord, MetricId, Quantities,
    ShapeName, UnrepeatedSamples, VariantId, stats,
};
use ncugate_phase::config::{Phase, Shape};
use ncugate_phase::plan::{Method, Plan, Variant, VariantRole};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

pub use isolated::{DurationSource, WorkDurations};

/// An error that no honest measurement reaches, as a factor.
pub const CLEAR: f64 = 20.0;
/// Why a program that measures its own latency cannot pass.
pub const SELF_REPORTED: &str =
    "self-reported latency: the program measures its own latency and checks its own results, so no gate can pass by it";

/// What a recording lacks that came with this program in an older form.
const SHIPPED: &str = "the recording has an older form: no latency was compared with the profiler's duration";

/// The counters' judgement of a variant's latency at a shape.
#[derive(Debug, Clone, PartialEq)]
pub enum Agreement {
    /// Every possible comparison matches.
    Agrees,
    /// The latency is rejected, with the reason: there is nothing to compare it with. Counters count.
    Unwitnessed(Arc<str>),
    /// Every measurement of the case is rejected, with the reason: a comparison does not match.
    Doubtful(Arc<str>),
    /// A comparison is off by [`CLEAR`] or more, with the reason.
    Cheats(Arc<str>),
}

/// A comparison that does not match.
#[derive(Debug, Clone, PartialEq)]
pub struct WitnessMismatch {
    /// The mismatch as a factor above 1.
    pub factor: f64,
    /// A factor that no honest measurement reaches in this comparison.
    pub clear: f64,
    /// The numbers, for messages.
    pub reason: String,
}

/// The counters' judgement of every latency of a run.
#[derive(Debug, Clone, Default)]
pub struct Witness {
    agreements: HashMap<ShapeName, HashMap<VariantId, Agreement>>,
    durations: HashMap<VariantId, BTreeMap<ShapeName, WorkDurations>>,
    differing: Vec<(VariantId, ShapeName)>,
    caution: Option<&'static str>,
}

/// The counters' judgement of a case, and its durations.
#[derive(Debug, Clone, PartialEq)]
struct CaseWitness {
    agreement: Agreement,
    durations: Option<(WorkDurations, DurationMatch)>,
}

/// Whether the durations of a case agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DurationMatch {
    Agree,
    Differ,
}

impl From<Agreement> for CaseWitness {
    fn from(agreement: Agreement) -> Self {
        Self { agreement, durations: None }
    }
}

/// The inputs of the comparisons.
#[derive(Debug, Clone, Copy)]
pub struct WitnessInput<'a> {
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    /// The run, for the launches per sample and the profiled kernels.
    pub run: &'a Run,
    pub latencies: &'a Quantities,
    /// Counters: the columns of [`witness_metrics`](crate::frame::required_metrics::witness_metrics).
    pub counters: &'a Quantities,
    /// The chip's peak rates.
    pub chip: &'a ChipFacts,
    /// Shortest duration of an empty kernel under ncu, in nanoseconds.
    pub empty_ns: Option<f64>,
    /// Cases with CUPTI durations, because ncu had no counter permission, with CUPTI's duration of an empty kernel in
    /// nanoseconds.
    pub traced: &'a HashMap<(VariantId, ShapeName), Option<u64>>,
}

/// A variant at a shape with a latency to check.
pub(super) struct CaseCounters<'a> {
    phase: &'a Phase,
    chip: &'a ChipFacts,
    shape: &'a Shape,
    variant: &'a VariantId,
    counters: &'a Quantities,
    /// Median latency in microseconds.
    latency: f64,
    /// The shortest sample in microseconds.
    shortest: f64,
    /// Number of buffer sets that its launches rotate over.
    sets: f64,
    profiler: DurationSource,
    /// Nanoseconds of an empty kernel under the profiler.
    empty_ns: Option<f64>,
    /// Launches of an evaluation that are planned.
    planned: Option<u32>,
    /// Its samples without repeats: those of the sweep, and those of the confirmation.
    unrepeated: Vec<&'a [UnrepeatedSamples]>,
    /// Its evaluations under the conditions of the profiler; `None` for a recording of a form without them.
    isolated: Option<Vec<&'a IsolatedSamples>>,
}

impl Witness {
    /// Checks every latency of a run.
    pub fn compare(input: &WitnessInput<'_>) -> Self {
        let launches = SampleLaunches::read(input.run);
        let mut agreements: HashMap<ShapeName, HashMap<VariantId, Agreement>> = HashMap::new();
        let mut durations: HashMap<VariantId, BTreeMap<ShapeName, WorkDurations>> = HashMap::new();
        let mut differing = Vec::new();
        for shape in &input.phase.workload.shapes {
            let at_shape = agreements.entry(shape.name.clone()).or_default();
            for variant in &input.plan.variants {
                let CaseWitness { agreement, durations: work } = input.witness(variant, shape, &launches);
                at_shape.insert(variant.id.clone(), agreement);
                if let Some((work, compared)) = work {
                    durations.entry(variant.id.clone()).or_default().insert(shape.name.clone(), work);
                    if compared == DurationMatch::Differ {
                        differing.push((variant.id.clone(), shape.name.clone()));
                    }
                }
            }
        }
        let caution = (input.run.form() == RunForm::Shipped).then_some(SHIPPED);
        Self { agreements, durations, differing, caution }
    }

    /// A variant's durations alone and under the profiler by shape, if both are known.
    pub fn durations(&self, variant: &VariantId) -> BTreeMap<ShapeName, WorkDurations> {
        self.durations.get(variant).cloned().unwrap_or_default()
    }

    /// Cases whose duration under the profiler is another one than that of their launches alone.
    pub fn differing(&self) -> &[(VariantId, ShapeName)] {
        &self.differing
    }

    /// What the comparison lacks as a whole.
    pub const fn caution(&self) -> Option<&'static str> {
        self.caution
    }

    /// Why a variant's latency at a shape is rejected; `None` if the counters agree with it.
    pub fn doubt(&self, variant: &VariantId, shape: &ShapeName) -> Option<&str> {
        match self.agreements.get(shape).and_then(|at_shape| at_shape.get(variant)) {
            Some(Agreement::Agrees) => None,
            Some(Agreement::Unwitnessed(reason) | Agreement::Doubtful(reason) | Agreement::Cheats(reason)) => {
                Some(reason)
            }
            None => Some("its counters were not compared with it"),
        }
    }

    /// Why every measurement of a variant at a shape is rejected, counters too: two of them contradict each other.
    pub fn contradiction(&self, variant: &VariantId, shape: &ShapeName) -> Option<&str> {
        match self.agreements.get(shape)?.get(variant)? {
            Agreement::Agrees | Agreement::Unwitnessed(_) => None,
            Agreement::Doubtful(reason) | Agreement::Cheats(reason) => Some(reason),
        }
    }

    /// Marks variants that their checks prove, but whose counters show that other launches were timed.
    pub fn name_cheats(&self, proofs: &mut BTreeMap<VariantId, Correctness>) {
        for (shape, agreements) in &self.agreements {
            for (variant, agreement) in agreements {
                if let (Agreement::Cheats(reason), Some(proof)) = (agreement, proofs.get_mut(variant)) {
                    proof.replace_by(Correctness::Cheats { reason: format!("at shape '{shape}' {reason}") });
                }
            }
        }
    }
}

/// Launches per sample.
struct SampleLaunches<'a> {
    of: HashMap<(&'a VariantId, &'a ShapeName), (u32, Option<&'a Audit>)>,
    /// The same for the confirmation.
    anew: HashMap<(&'a VariantId, &'a ShapeName), (u32, Option<&'a Audit>)>,
    shares: HashMap<&'a VariantId, &'a VariantId>,
    failed: HashSet<(&'a VariantId, &'a ShapeName)>,
}

impl<'a> SampleLaunches<'a> {
    fn read(run: &'a Run) -> Self {
        let timed = |record: &'a LatencyRecord| match record.outcome {
            LatencyOutcome::Timed { launches, ref audit, .. } => {
                Some(((&record.variant, &record.shape), (launches, audit.as_ref())))
            }
            LatencyOutcome::Cheats { .. } | LatencyOutcome::Wrong { .. } | LatencyOutcome::Failed { .. } => None,
        };
        let is_failed = |record: &&'a LatencyRecord| matches!(record.outcome, LatencyOutcome::Failed { .. });
        let shared = |build: &'a BuildRecord| Some((&build.variant, build.shares.as_ref()?));
        Self {
            of: run.latencies.iter().filter_map(timed).collect(),
            anew: run.confirmations.iter().filter_map(|record| timed(&record.timed)).collect(),
            shares: run.builds.iter().filter_map(shared).collect(),
            failed: run.latencies.iter().filter(is_failed).map(|record| (&record.variant, &record.shape)).collect(),
        }
    }

    /// Whether timing it failed.
    fn failed(&self, variant: &VariantId, shape: &ShapeName) -> bool {
        let measured_as = self.shares.get(variant).copied().unwrap_or(variant);
        self.failed.contains(&(measured_as, shape))
    }

    /// Launches per sample. An unknown number counts as 1, which gives the widest allowance.
    fn at(&self, variant: &VariantId, shape: &ShapeName) -> u32 {
        self.of(variant, shape).map_or(1, |(launches, _)| launches)
    }

    fn of(&self, variant: &VariantId, shape: &ShapeName) -> Option<(u32, Option<&'a Audit>)> {
        let measured_as = self.shares.get(variant).copied().unwrap_or(variant);
        self.of.get(&(measured_as, shape)).copied()
    }

    /// What the audits of the sweep and of the confirmation recorded, each by itself; empty if one of them recorded nothing, because the
    /// other says nothing about its latencies.
    fn recorded<T>(&self, variant: &VariantId, shape: &ShapeName, part: impl Fn(&'a Audit) -> &'a [T]) -> Vec<&'a [T]> {
        let measured_as = self.shares.get(variant).copied().unwrap_or(variant);
        let timed = [self.of.get(&(measured_as, shape)), self.anew.get(&(measured_as, shape))];
        let each: Vec<&'a [T]> = timed.into_iter().flatten().map(|(_, audit)| audit.map_or(&[][..], &part)).collect();
        match each.iter().any(|recorded| recorded.is_empty()) {
            true => Vec::new(),
            false => each,
        }
    }

    /// Whether outputs of its timed launches were not verified, in the sweep or in the confirmation.
    fn unverified(&self, variant: &VariantId, shape: &ShapeName) -> bool {
        let verified = |audit: Option<&Audit>| audit.is_some_and(|audit| audit.launches > 0);
        let measured_as = self.shares.get(variant).copied().unwrap_or(variant);
        let anew = self.anew.get(&(measured_as, shape)).is_none_or(|(_, audit)| verified(*audit));
        !(anew && self.of(variant, shape).is_some_and(|(_, audit)| verified(audit)))
    }
}

impl WitnessInput<'_> {
    fn witness(&self, variant: &Variant, shape: &Shape, launches: &SampleLaunches<'_>) -> CaseWitness {
        let unwitnessed = |reason: &str| Agreement::Unwitnessed(reason.into()).into();
        let latency = match self.latencies.read(&variant.id, &shape.name, &id::LATENCY_P50) {
            Cell::Value(latency) => latency,
            // A kernel that fails only while it is timed has counters that no latency supports.
            Cell::Missing(reason) | Cell::Undefined(reason) if launches.failed(&variant.id, &shape.name) => {
                return Agreement::Doubtful(reason).into();
            }
            Cell::Missing(reason) | Cell::Undefined(reason) => return unwitnessed(&reason),
        };
        match (&variant.method, variant.standing) {
            (Method::Captured(_), _) => unwitnessed("a launch of another program"),
            (Method::Command(_), VariantRole::Candidate) => unwitnessed(SELF_REPORTED),
            (Method::Command(_), VariantRole::Baseline) => self.command_agreement(variant).into(),
            (Method::Function(_), _) if self.traced_empty(&variant.id, &shape.name).is_some() => {
                Agreement::Doubtful("its own code ran in the process that traced it".into()).into()
            }
            (Method::Kernel(_) | Method::Function(_), _) if let RunForm::Older(form) = self.run.form() => {
                unwitnessed(&format!(
                    "the run has form {form}, in which no launch was timed under the conditions of the profiler; measure again with --fresh"
                ))
            }
            (Method::Kernel(_) | Method::Function(_), _) if launches.unverified(&variant.id, &shape.name) => {
                unwitnessed("outputs of its timed launches were not verified")
            }
            (Method::Kernel(_) | Method::Function(_), _) => {
                let confirmed = self.confirmed(&variant.id, &shape.name);
                let median = confirmed.and_then(|samples| stats::median(samples).ok());
                let samples = self.latencies.samples(&variant.id, &shape.name).map_or(&[][..], |samples| samples);
                let all = samples.iter().chain(confirmed.unwrap_or_default());
                let shortest = all.copied().fold(latency, f64::min);
                let unrepeated = launches.recorded(&variant.id, &shape.name, |audit| &audit.unrepeated);
                let isolated = launches.recorded(&variant.id, &shape.name, |audit| &audit.isolated).into_iter();
                let launches = launches.at(&variant.id, &shape.name);
                let sets = f64::from(self.phase.bench.buffer_sets.min(launches).max(1));
                let Self { phase, counters, chip, .. } = *self;
                let planned = variant
                    .method
                    .kernel()
                    .and_then(|kernel| Some(kernel.program(&shape.name)?.launches().count() as u32));
                let (profiler, empty_ns) = match self.traced_empty(&variant.id, &shape.name) {
                    Some(empty_ns) => (DurationSource::Cupti, empty_ns.map(|ns| ns as f64)),
                    None => (DurationSource::Ncu, self.empty_ns),
                };
                let isolated = (self.run.form() == RunForm::Present).then(|| isolated.flatten().collect());
                let variant = &variant.id;
                CaseCounters {
                    phase,
                    chip,
                    shape,
                    variant,
                    counters,
                    latency: median.map_or(latency, |median| latency.min(median)),
                    shortest,
                    sets,
                    profiler,
                    empty_ns,
                    planned,
                    unrepeated,
                    isolated,
                }
                .witness()
            }
        }
    }

    /// CUPTI's duration of an empty kernel, if the duration of the case comes from CUPTI.
    fn traced_empty(&self, variant: &VariantId, shape: &ShapeName) -> Option<Option<u64>> {
        self.traced.get(&(self.run.measured_as(variant).clone(), shape.clone())).copied()
    }

    /// The confirmation samples. They decide gates, so the counters must agree with them too.
    fn confirmed(&self, variant: &VariantId, shape: &ShapeName) -> Option<&[f64]> {
        let fresh = self.latencies.sampling_at(self.latencies.row(variant, shape)?)?.fresh.as_ref()?;
        fresh.samples.as_deref().ok()
    }

    /// A comparison program reports its own latency, so ncu must have seen one of its kernels, at any shape.
    fn command_agreement(&self, variant: &Variant) -> Agreement {
        let duration = |shape: &Shape| self.counters.read(&variant.id, &shape.name, &id::DURATION);
        let cells: Vec<Cell> = self.phase.workload.shapes.iter().map(duration).collect();
        if cells.iter().any(|cell| cell.value().is_some_and(|ns| ns > 0.0)) {
            return Agreement::Agrees;
        }
        let asked = self.run.profiles.iter().any(|record| record.variant == variant.id);
        let why = if asked { "the profiler saw no kernel of it" } else { "it was never profiled" };
        Agreement::Unwitnessed(format!("the compared program reports its own latency, and {why}").into())
    }
}

impl CaseCounters<'_> {
    /// A counter that is a finite number.
    fn counted(&self, metric: MetricId) -> Option<f64> {
        self.named(&metric)
    }

    fn named(&self, metric: &str) -> Option<f64> {
        self.counters.read(self.variant, &self.shape.name, metric).value().filter(|v| v.is_finite())
    }

    fn witness(&self) -> CaseWitness {
        let duration = match self.counters.read(self.variant, &self.shape.name, &id::DURATION) {
            Cell::Value(ns) if ns > 0.0 => ns,
            Cell::Value(ns) => {
                return Agreement::Doubtful(format!("the profiler gives a duration of {ns} ns").into()).into();
            }
            Cell::Missing(reason) | Cell::Undefined(reason) => {
                return Agreement::Unwitnessed(format!("no counter saw this kernel: {reason}").into()).into();
            }
        };
        let mut mismatches: Vec<WitnessMismatch> = Vec::new();
        let mut open: Option<Agreement> = None;
        let compared = self.isolated.as_ref().map(|samples| isolated::compare(samples, &self.profiled(duration)));
        let durations = match compared {
            None => None,
            Some(DurationComparison::Agree(durations)) => Some((durations, DurationMatch::Agree)),
            Some(DurationComparison::Differ(durations, mismatch)) => {
                mismatches.push(mismatch);
                Some((durations, DurationMatch::Differ))
            }
            Some(DurationComparison::Unknown(reason)) => {
                open = Some(Agreement::Unwitnessed(reason.into()));
                None
            }
            Some(DurationComparison::Unsteady(reason)) => {
                open = Some(Agreement::Doubtful(reason.into()));
                None
            }
        };
        mismatches.extend(self.isolated.as_ref().and_then(|samples| isolated::slower(samples, self.latency)));
        mismatches.extend(self.bytes());
        mismatches.extend(self.operations());
        mismatches.extend(self.floors());
        match self.repeats() {
            Repeats::Differ(mismatch) => mismatches.push(mismatch),
            Repeats::TooFew(reason) => open = open.or_else(|| Some(Agreement::Unwitnessed(reason.into()))),
            Repeats::Agree => {}
        }
        let agreement = open.filter(|_| mismatches.is_empty()).unwrap_or_else(|| verdict(&mismatches));
        CaseWitness { agreement, durations }
    }

    fn profiled(&self, duration_ns: f64) -> ProfiledEvaluation {
        let clock = self.counted(id::SM_CLOCK).filter(|_| self.profiler == DurationSource::Ncu);
        ProfiledEvaluation {
            us: duration_ns / 1e3,
            kernels: self.launches(),
            empty_us: self.empty_ns.map_or(f64::NAN, |ns| ns / 1e3),
            clock_mhz: clock.map(|hz| hz / 1e6),
            profiler: self.profiler,
        }
    }

    /// Launches of an evaluation under the profiler.
    fn launches(&self) -> u32 {
        let counted = self.counters.launches(self.variant, &self.shape.name).map(|kernels| kernels.len() as u32);
        counted.or(self.planned).unwrap_or(1)
    }

    /// Bytes of all buffers in one set.
    fn set_bytes(&self) -> Option<f64> {
        self.phase.workload.buffer_bytes(self.shape, |_| true)
    }
}

impl WitnessMismatch {
    /// The factor relative to the one that no honest measurement reaches.
    fn gravity(&self) -> f64 {
        self.factor / self.clear
    }
}

/// Combines mismatches into a judgement; the most serious leads.
fn verdict(mismatches: &[WitnessMismatch]) -> Agreement {
    let Some(gravest) = mismatches.iter().max_by(|a, b| a.gravity().total_cmp(&b.gravity())) else {
        return Agreement::Agrees;
    };
    let others = mismatches.iter().filter(|other| *other != gravest).map(|other| other.reason.as_str());
    let reason: Arc<str> = std::iter::once(gravest.reason.as_str()).chain(others).collect::<Vec<_>>().join("; ").into();
    if gravest.gravity() >= 1.0 { Agreement::Cheats(reason) } else { Agreement::Doubtful(reason) }
}

#[cfg(test)]
mod tests;
