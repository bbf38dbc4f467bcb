//! Uses ncu's counters as the witness of every latency.
//!
//! A clock gives the duration of a launch but not the work done in it. ncu profiles the same launch in another
//! process, which allows three comparisons: the two durations ([`durations`]), the counted bytes and operations with
//! the declared useful work (`work`), and the time with the chip's peak rates (`floor`). A mismatch makes a latency
//! inconclusive. A mismatch by [`CLEAR`] or more shows that the timed program is not the proven one: the variant
//! cheats.

mod chip;
pub mod durations;
mod floor;
mod unrepeated;
mod work;

use self::durations::{Disagreement, DurationSource, Durations, WitnessBand, least_of};
use self::unrepeated::Repeats;
use super::results::Correctness;
use crate::frame::Quantities;
use crate::store::Run;
use ncugate_model::LaunchMode;
use ncugate_model::metric::id;
use ncugate_model::stats;
use ncugate_model::{
    Audit, BuildRecord, Cell, LatencyOutcome, LatencyRecord, MetricId, ShapeName, UnrepeatedSamples, VariantId,
};
use ncugate_phase::config::{Phase, Shape};
use ncugate_phase::plan::{Arg, KernelLaunch, Method, Plan, ShapeProgram, Variant, VariantRole};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

pub use chip::{ChipFacts, dense_half_operations};

/// An error that no honest measurement reaches, as a factor. In the recordings in `profiles/` the two durations
/// differ by at most 1.70; `cargo test --lib honest_variants -- --nocapture` prints the range.
pub const CLEAR: f64 = 20.0;
/// Why a program that measures its own latency cannot pass.
pub const SELF_REPORTED: &str =
    "self-reported latency: the program measures its own latency and checks its own results, so no gate can pass by it";

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
    bands: HashMap<VariantId, BTreeMap<ShapeName, WitnessBand>>,
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
    /// Cases with CUPTI durations, because ncu had no counter permission.
    pub traced: &'a HashSet<(VariantId, ShapeName)>,
}

/// A variant at a shape with a latency to check.
pub(super) struct CaseCounters<'a> {
    phase: &'a Phase,
    chip: &'a ChipFacts,
    shape: &'a Shape,
    variant: &'a VariantId,
    program: Option<&'a ShapeProgram>,
    counters: &'a Quantities,
    /// Median latency in microseconds.
    latency: f64,
    /// The shortest sample in microseconds.
    shortest: f64,
    /// Number of buffer sets that its launches rotate over.
    sets: f64,
    /// Whether its duration comes from CUPTI.
    is_traced: bool,
    /// Its samples without repeats.
    unrepeated: Vec<&'a UnrepeatedSamples>,
}

impl Witness {
    /// Checks every latency of a run.
    pub fn compare(input: &WitnessInput<'_>) -> Self {
        let launches = SampleLaunches::read(input.run);
        let mut agreements: HashMap<ShapeName, HashMap<VariantId, Agreement>> = HashMap::new();
        let mut bands: HashMap<VariantId, BTreeMap<ShapeName, WitnessBand>> = HashMap::new();
        for shape in &input.phase.workload.shapes {
            let at_shape = agreements.entry(shape.name.clone()).or_default();
            for variant in &input.plan.variants {
                let (agreement, band) = input.agreement(variant, shape, &launches);
                at_shape.insert(variant.id.clone(), agreement);
                if let Some(band) = band {
                    bands.entry(variant.id.clone()).or_default().insert(shape.name.clone(), band);
                }
            }
        }
        Self { agreements, bands }
    }

    /// A variant's durations by shape, if both are known.
    pub fn bands(&self, variant: &VariantId) -> BTreeMap<ShapeName, WitnessBand> {
        self.bands.get(variant).cloned().unwrap_or_default()
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
}

impl<'a> SampleLaunches<'a> {
    fn read(run: &'a Run) -> Self {
        let timed = |record: &'a LatencyRecord| match record.outcome {
            LatencyOutcome::Timed { launches, ref audit, .. } => {
                Some(((&record.variant, &record.shape), (launches, audit.as_ref())))
            }
            LatencyOutcome::Cheats { .. } | LatencyOutcome::Wrong { .. } | LatencyOutcome::Failed { .. } => None,
        };
        let shared = |build: &'a BuildRecord| Some((&build.variant, build.shares.as_ref()?));
        Self {
            of: run.latencies.iter().filter_map(timed).collect(),
            anew: run.confirmations.iter().filter_map(|record| timed(&record.timed)).collect(),
            shares: run.builds.iter().filter_map(shared).collect(),
        }
    }

    /// Launches per sample. An unknown number counts as 1, which gives the widest allowance.
    fn at(&self, variant: &VariantId, shape: &ShapeName) -> u32 {
        self.of(variant, shape).map_or(1, |(launches, _)| launches)
    }

    fn of(&self, variant: &VariantId, shape: &ShapeName) -> Option<(u32, Option<&'a Audit>)> {
        let measured_as = self.shares.get(variant).copied().unwrap_or(variant);
        self.of.get(&(measured_as, shape)).copied()
    }

    /// Samples without repeats of the sweep and of the confirmation; empty if one of them recorded none, because the
    /// other says nothing about its latencies.
    fn unrepeated(&self, variant: &VariantId, shape: &ShapeName) -> Vec<&'a UnrepeatedSamples> {
        let measured_as = self.shares.get(variant).copied().unwrap_or(variant);
        let timed = [self.of.get(&(measured_as, shape)), self.anew.get(&(measured_as, shape))];
        let audits = timed.into_iter().flatten().map(|(_, audit)| audit.map_or(&[][..], |audit| &audit.unrepeated));
        let each: Vec<&'a [UnrepeatedSamples]> = audits.collect();
        match each.iter().any(|samples| samples.is_empty()) {
            true => Vec::new(),
            false => each.into_iter().flatten().collect(),
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
    fn agreement(
        &self,
        variant: &Variant,
        shape: &Shape,
        launches: &SampleLaunches<'_>,
    ) -> (Agreement, Option<WitnessBand>) {
        let unwitnessed = |reason: &str| (Agreement::Unwitnessed(reason.into()), None);
        let latency = match self.latencies.read(&variant.id, &shape.name, &id::LATENCY_P50) {
            Cell::Value(latency) => latency,
            Cell::Missing(reason) => return unwitnessed(&reason),
        };
        match (&variant.method, variant.standing) {
            (Method::Captured(_), _) => unwitnessed("a launch of another program"),
            (Method::Command(_), VariantRole::Candidate) => unwitnessed(SELF_REPORTED),
            (Method::Command(_), VariantRole::Baseline) => (self.command_agreement(variant), None),
            (Method::Function(_), _) if self.is_traced(&variant.id, &shape.name) => {
                unwitnessed("its own code ran in the process that traced it")
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
                let unrepeated = launches.unrepeated(&variant.id, &shape.name);
                let launches = launches.at(&variant.id, &shape.name);
                let sets = f64::from(self.phase.bench.buffer_sets.min(launches).max(1));
                let Self { phase, counters, chip, .. } = *self;
                let program = match &variant.method {
                    Method::Kernel(kernel) => kernel.program(&shape.name),
                    Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
                };
                let variant = &variant.id;
                CaseCounters {
                    phase,
                    chip,
                    shape,
                    variant,
                    program,
                    counters,
                    latency: median.map_or(latency, |anew| anew.min(latency)),
                    shortest,
                    sets,
                    is_traced: self.is_traced(variant, &shape.name),
                    unrepeated,
                }
                .agreement()
            }
        }
    }

    /// Whether its duration comes from CUPTI.
    fn is_traced(&self, variant: &VariantId, shape: &ShapeName) -> bool {
        !self.traced.is_empty() && self.traced.contains(&(self.run.measured_as(variant).clone(), shape.clone()))
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

    fn agreement(&self) -> (Agreement, Option<WitnessBand>) {
        let duration = match self.counters.read(self.variant, &self.shape.name, &id::DURATION) {
            Cell::Value(ns) if ns > 0.0 => ns,
            Cell::Value(ns) => {
                return (Agreement::Doubtful(format!("the profiler gives a duration of {ns} ns").into()), None);
            }
            Cell::Missing(reason) => {
                return (Agreement::Unwitnessed(format!("no counter saw this kernel: {reason}").into()), None);
            }
        };
        let durations = self.durations(duration);
        let profiler = if self.is_traced { DurationSource::Cupti } else { DurationSource::Ncu };
        (self.agreement_of(&durations), Some(durations.band(profiler)))
    }

    fn agreement_of(&self, durations: &Durations) -> Agreement {
        let mut mismatches: Vec<WitnessMismatch> =
            durations.disagreement().into_iter().map(WitnessMismatch::from).collect();
        mismatches.extend(self.bytes());
        mismatches.extend(self.operations());
        mismatches.extend(self.floors());
        match self.repeats() {
            Repeats::Differ(mismatch) => mismatches.push(mismatch),
            Repeats::TooFew(reason) if mismatches.is_empty() => return Agreement::Unwitnessed(reason.into()),
            Repeats::TooFew(_) | Repeats::Agree => {}
        }
        verdict(&mismatches)
    }

    fn durations(&self, duration_ns: f64) -> Durations {
        Durations {
            latency_us: self.latency,
            counted_us: duration_ns / 1e3,
            least_us: self.least_duration_ns(duration_ns) / 1e3,
            cold_us: self.cold_us(),
            uncounted_us: self.uncounted_us(),
            clock: self.clock_share(),
            launches: self.launches(),
        }
    }

    /// Bytes of all buffers in one set.
    fn set_bytes(&self) -> Option<f64> {
        self.phase.workload.buffer_bytes(self.shape, |_| true)
    }

    /// The time in microseconds that DRAM reads add to a launch under ncu, which flushes the caches, if the timed
    /// launches find the buffers in L2.
    ///
    /// A launch of an evaluation finds buffers of the preceding launches in L2, whatever the number of sets. For the
    /// rest, the part of all sets that fits in L2 counts. CUPTI counts no bytes. Instead the size of all buffers is
    /// used, because a launch with flushed caches reads each from DRAM once.
    fn cold_us(&self) -> f64 {
        let set = self.set_bytes();
        let held = set.and_then(|set| self.chip.held_share(self.sets * set)).unwrap_or(0.0);
        // No cache holds more of a kernel's buffers than their total size. For a function the memory size is unknown.
        let most = set.filter(|_| self.program.is_some()).unwrap_or(f64::INFINITY);
        let again = self.bytes_again();
        let of_launches = self.counters.of_launches(self.variant, &self.shape.name, &id::DRAM_BYTES).value();
        let of_launches = of_launches.filter(|bytes| bytes.is_finite());
        let counted = of_launches.or_else(|| set.filter(|_| self.is_traced).map(|set| set + again));
        let moved = counted.zip(self.chip.dram_bytes_per_second());
        moved.map_or(0.0, |(bytes, peak)| {
            let again = again.min(bytes);
            (again + held * (bytes - again).min(most)) / peak * 1e6
        })
    }

    /// Bytes of buffers shared with an earlier launch of the same evaluation, as far as they fit in L2.
    fn bytes_again(&self) -> f64 {
        let mut before: HashSet<&str> = HashSet::new();
        let mut again = 0.0;
        for launch in self.program.iter().flat_map(|program| program.launches()) {
            let own: HashSet<&str> = launch.args.iter().flat_map(Arg::parts).filter_map(Arg::buffer).collect();
            let bytes = |name: &&str| self.phase.workload.bytes_of(self.shape, name).unwrap_or(f64::INFINITY);
            let shared: f64 = own.intersection(&before).map(bytes).sum();
            again += self.chip.l2_bytes.map_or(0.0, |l2| shared.min(l2));
            before.extend(own);
        }
        again
    }

    /// Number of launches in an evaluation.
    fn launches(&self) -> u32 {
        self.program.map_or(1, |program| program.launches().count() as u32)
    }

    /// The minimum part of the counted duration that an evaluation takes: all of it, unless launches may overlap. If
    /// the launches' durations are unknown, half of it.
    fn least_duration_ns(&self, duration_ns: f64) -> f64 {
        let overlaps = |launch: &KernelLaunch| launch.mode == LaunchMode::Programmatic;
        let modes: Vec<bool> = self.program.iter().flat_map(|program| program.launches()).map(overlaps).collect();
        if modes.len() < 2 || !modes.contains(&true) {
            return duration_ns;
        }
        let steps = self.counters.steps(self.variant, &self.shape.name, &id::DURATION);
        let each: Vec<f64> = steps.iter().filter_map(Cell::value).collect();
        match each.len() == modes.len() {
            true => least_of(&each.into_iter().zip(modes).collect::<Vec<_>>()),
            false => duration_ns / 2.0,
        }
    }

    /// Time allowed for fills and copies, which no counter covers: their bytes at a quarter of the DRAM peak.
    fn uncounted_us(&self) -> f64 {
        let bytes_of = |name: &str| self.phase.workload.bytes_of(self.shape, name);
        let traffic = self.program.and_then(|program| program.step_traffic(bytes_of));
        let moved = traffic.and_then(|traffic| traffic.moved()).unwrap_or(0.0);
        self.chip.dram_bytes_per_second().map_or(0.0, |peak| 4.0 * moved / peak * 1e6)
    }

    /// The clock under ncu divided by the chip's maximum, at most 1.
    fn clock_share(&self) -> f64 {
        let share = self.counted(id::SM_CLOCK).zip(self.chip.sm_hz).map(|(ran, highest)| ran / highest);
        share.filter(|share| *share > 0.0).map_or(1.0, |share| share.min(1.0))
    }
}

impl From<Disagreement> for WitnessMismatch {
    fn from(found: Disagreement) -> Self {
        let reason = format!("two durations disagree: {}", found.numbers);
        Self { factor: found.factor, clear: CLEAR, reason }
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
