//! The stages of a campaign: build, check and time, profile.

use super::cubins::cubins;
use super::error::CampaignError;
use super::gpu_turn::GpuTurn;
use super::prestart::PrestartedProcesses;
use super::profile;
use super::progress::{Progress, begun};
use super::reference_cubin::reference_cubin;
use super::sanitizer::SanitizerJob;
use super::targets::{self, command_folder};
use super::tools::Tools;
use jiff::Timestamp;
use ncugate_cuda::build::{Builder, Cache, Deduplication};
use ncugate_cuda::host::external;
use ncugate_cuda::host::{JobKernel, JobPurpose, SinkError, WorkerEvent, WorkerJob, measure};
use ncugate_judge::SanitizerVerdict;
use ncugate_judge::store::{Run, RunState, RunWriter};
use ncugate_model::VariantId;
use ncugate_model::compiler_warnings;
use ncugate_model::number::counted;
use ncugate_model::process;
use ncugate_model::{
    BitwiseComparison, BitwiseOutcome, BitwiseRecord, BuildOutcome, BuildRecord, BuiltKernel, ShapeName,
};
use ncugate_model::{CheckRecord, LatencyOutcome, LatencyRecord, SanitizerOutcome, SanitizerRecord, unsound_samples};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{KernelCode, Method, Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

/// Least time in references that a run lists, in seconds.
const NOTICEABLE_S: f64 = 0.1;

/// One execution of a plan.
pub struct Campaign<'a> {
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    pub tools: &'a Tools,
    /// Metrics required for judging and reports.
    pub metrics: &'a [String],
    /// Whether equal variants are measured once.
    pub sharing: Deduplication,
    pub writer: RunWriter,
    pub progress: &'a (dyn Progress + Sync),
    /// The right to measure on the GPU.
    pub turn: &'a GpuTurn<'a>,
    pub early: &'a PrestartedProcesses<'a>,
    /// Called with the builds, before any launch.
    pub built: &'a dyn Fn(&[BuildRecord]),
}

impl Campaign<'_> {
    /// Measures the records that `earlier`, an unfinished run of the same plan, does not have.
    pub fn run(&mut self, earlier: Option<&Run>) -> Result<(), CampaignError> {
        let outcome = self.stages(earlier);
        let state = match &outcome {
            Ok(()) => RunState::Complete,
            Err(CampaignError::Interrupted) => RunState::Interrupted,
            Err(_) => RunState::Running,
        };
        let finished = self.writer.finish(state, Timestamp::now());
        outcome?;
        Ok(finished?)
    }

    fn stages(&mut self, earlier: Option<&Run>) -> Result<(), CampaignError> {
        let earlier_records = match earlier {
            Some(Run { checks, latencies, sanitizer, bitwise, .. }) => {
                EarlierRecords { checks, latencies, sanitizer, bitwise }
            }
            None => EarlierRecords { checks: &[], latencies: &[], sanitizer: &[], bitwise: &[] },
        };
        self.early.load_programs(|variant| !earlier_records.of(variant))?;
        let builds = self.timed("build", Self::build)?;
        (self.built)(&builds);
        let mut cubins = cubins(self.plan, &builds, |build| build.shares.is_none());
        let reference = reference_cubin(self.phase, self.plan, self.tools)?;
        self.writer.compiled_from(&self.phase.root, reference.files, reference.absent)?;
        cubins.extend(reference.cubin);
        self.turn.take()?;
        let verified = self.timed("bench", |campaign| campaign.bench(&builds, &cubins, &earlier_records))?;
        self.keep_unprofiled(&builds, &verified)?;
        let profiles = earlier.map_or(&[][..], |run| &run.profiles[..]);
        self.timed("profile", |campaign| {
            campaign.progress.stage("profile", verified.len());
            let Self { phase, plan, tools, metrics, early, ref mut writer, progress, .. } = *campaign;
            profile::profile((phase, plan, tools, early), metrics, writer, progress, &cubins, &verified, profiles)
        })
    }

    fn timed<T>(
        &mut self,
        stage: &'static str,
        work: impl FnOnce(&mut Self) -> Result<T, CampaignError>,
    ) -> Result<T, CampaignError> {
        let started = Instant::now();
        let outcome = work(self);
        let spent = self.writer.spent(stage, started.elapsed().as_secs_f64());
        match outcome {
            Err(cause) if process::interrupted() => Err(cause.interrupted()),
            Err(cause) => Err(cause),
            Ok(_) if process::interrupted() => Err(CampaignError::Interrupted),
            Ok(value) => spent.map(|()| value).map_err(CampaignError::from),
        }
    }

    fn build(&mut self) -> Result<Vec<BuildRecord>, CampaignError> {
        self.progress.stage("build", self.plan.variants.len());
        let arch = self.tools.arch(self.phase)?;
        let cache = Cache::of_user(self.phase.build.cache.as_deref())?;
        let builder = Builder::new(&self.tools.nvcc, &arch, &cache, self.sharing).with_python_of(self.phase)?;
        let Self { plan, early, progress, ref mut writer, .. } = *self;
        let builds = early.beside_builds(|built| {
            let mut sink = |record: &BuildRecord| {
                built();
                progress.step(&record.variant.0);
                writer.record(record).map_err(io::Error::other)
            };
            builder.build(plan, &|_| {}, &mut sink)
        })?;
        self.writer.compiled_from(&self.phase.root, builder.files_read(), builder.absent_files())?;
        let includes_packages = !self.phase.build.include.is_empty();
        let is_python =
            |method: &Method| matches!(method, Method::Kernel(kernel) if matches!(kernel.code, KernelCode::Python(_)));
        let is_user = |method: &Method| is_python(method) || (includes_packages && method.is_built());
        for variant in &self.plan.variants {
            let own = variant.toolchain().and_then(|name| builder.toolchain_software(name));
            if let Some(software) = own.or_else(|| is_user(&variant.method).then(|| builder.software())) {
                self.writer.used(&variant.id, software)?;
            }
        }
        for warning in compiler_warnings(&builds) {
            self.writer.warn(&warning)?;
        }
        Ok(builds)
    }

    /// Checks and times; returns the fully correct variants.
    fn bench(
        &mut self,
        builds: &[BuildRecord],
        cubins: &BTreeMap<VariantId, BuiltKernel>,
        earlier_records: &EarlierRecords<'_>,
    ) -> Result<BTreeSet<VariantId>, CampaignError> {
        let mut totals = BenchTotals::default();
        let tolerance = self.phase.workload.tolerance;
        let mut job = WorkerJob::new(self.phase, self.plan, cubins, JobPurpose::Bench)?;
        earlier_records.checks.iter().for_each(|record| job.settle_check(record));
        earlier_records.latencies.iter().for_each(|record| job.settle_latency(record));
        totals.wrong.extend(
            earlier_records.checks.iter().filter(|r| !r.outcome.is_correct(&tolerance)).map(|r| r.variant.clone()),
        );
        let cases: usize = job.kernels.iter().map(|kernel| kernel.cases.len()).sum();
        let shapes = |job: &WorkerJob| job.kernels.iter().map(|kernel| kernel.shapes.len()).sum::<usize>();
        let is_apart = !self.phase.check.sanitize.is_empty();
        if is_apart {
            self.progress.stage("check", cases);
            self.check_apart(&mut job, &mut totals)?;
            self.timed("bench: compute-sanitizer", |campaign| {
                campaign.sanitize(&mut job, cubins, earlier_records.sanitizer, &mut totals)
            })?;
            self.progress.stage("time", shapes(&job));
        } else {
            self.progress.stage("check and time", cases + shapes(&job));
        }
        self.timed("bench: kernels", |campaign| campaign.kernels(job, &mut totals))?;
        self.compare_bitwise(cubins, (earlier_records.bitwise, &totals.wrong))?;
        self.timed("bench: external commands", |campaign| campaign.commands(earlier_records, &mut totals))?;
        self.writer.spent("bench: samples on the GPU", totals.sampled_us * 1e-6)?;
        if totals.references_s >= NOTICEABLE_S {
            self.writer.spent("bench: references", totals.references_s)?;
        }
        let unbuilt = self.keep_unbuilt(builds)?;
        let shared: BTreeSet<&VariantId> = builds.iter().filter(|b| b.shares.is_some()).map(|b| &b.variant).collect();
        let ids = self.plan.variants.iter().map(|v| &v.id);
        Ok(ids
            .filter(|id| !totals.wrong.contains(id) && !unbuilt.contains(id) && !shared.contains(id))
            .cloned()
            .collect())
    }

    /// Checks kernels in a worker that times nothing, and removes the cases from the job.
    fn check_apart(&mut self, job: &mut WorkerJob, totals: &mut BenchTotals) -> Result<(), CampaignError> {
        let mut cases = job.clone();
        cases.kernels.retain(|kernel| !kernel.cases.is_empty());
        cases.kernels.iter_mut().for_each(|kernel| kernel.shapes.clear());
        if cases.kernels.is_empty() {
            return Ok(());
        }
        // Files of this worker have the same names as those of the timing worker.
        let (logs, timeout) = (self.writer.folder().join("logs/check"), self.phase.bench.timeout);
        std::fs::create_dir_all(&logs)
            .map_err(|source| CampaignError::Io { what: "create a folder for a worker", source })?;
        let ended = measure(cases, &self.tools.worker, None, timeout, &logs, &mut |event| {
            if let WorkerEvent::Checked(record) = &event {
                job.settle_check(record);
            }
            self.keep(event, totals)
        })?;
        CampaignError::unless_complete(ended)
    }

    /// Launches correct variants under compute-sanitizer. A variant with a finding, or without a result, is not timed.
    fn sanitize(
        &mut self,
        job: &mut WorkerJob,
        cubins: &BTreeMap<VariantId, BuiltKernel>,
        earlier: &[SanitizerRecord],
        totals: &mut BenchTotals,
    ) -> Result<(), CampaignError> {
        let settled = |tool, id: &VariantId| {
            let mut of = earlier.iter().filter(|record| record.tool == tool && &record.variant == id);
            of.find(|record| !matches!(record.outcome, SanitizerOutcome::Failed { .. }))
        };
        let logs = self.writer.folder().join("logs/sanitizer");
        std::fs::create_dir_all(&logs)
            .map_err(|source| CampaignError::Io { what: "create a folder for compute-sanitizer", source })?;
        for tool in self.phase.check.sanitize.clone() {
            let mut records: Vec<SanitizerRecord> = Vec::new();
            let mut apart = WorkerJob::new(self.phase, self.plan, cubins, JobPurpose::Sanitize)?;
            apart.kernels.retain(|kernel| {
                let id = &kernel.variant;
                records.extend(settled(tool, id).cloned());
                let is_correct = job.kernels.iter().any(|known| &known.variant == id && known.unverified.is_none());
                is_correct && settled(tool, id).is_none()
            });
            self.progress.stage(&format!("compute-sanitizer {tool}"), apart.kernels.len());
            if !apart.kernels.is_empty() {
                let timeout = self.phase.profile.timeout;
                SanitizerJob { tools: self.tools, job: apart, logs: &logs, timeout }.run(tool, &mut |record| {
                    self.progress.step(&record.variant.0);
                    self.writer.record(&record)?;
                    records.push(record);
                    Ok(())
                })?;
            }
            for record in records {
                let reason = match SanitizerVerdict::of(&record, &self.phase.check) {
                    SanitizerVerdict::Clean => continue,
                    SanitizerVerdict::Found { reason } | SanitizerVerdict::Unknown { reason } => reason,
                };
                if let Some(kernel) = job.kernel_mut(&record.variant) {
                    kernel.unverified.get_or_insert_with(|| format!("not timed: {reason}"));
                    totals.wrong.insert(record.variant);
                }
            }
        }
        Ok(())
    }

    /// Compares outputs of correct variants bit by bit in two processes, if a metric of the phase asks for it.
    fn compare_bitwise(
        &mut self,
        cubins: &BTreeMap<VariantId, BuiltKernel>,
        (earlier, wrong): (&[BitwiseRecord], &BTreeSet<VariantId>),
    ) -> Result<(), CampaignError> {
        let asked: Vec<BitwiseComparison> =
            self.metrics.iter().filter_map(|metric| BitwiseComparison::of_metric(metric)).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let mut job = WorkerJob::bitwise(self.phase, self.plan, cubins, &asked)?;
        let is_known = |kernel: &JobKernel, shape: &ShapeName, comparison: &BitwiseComparison| {
            let is_it = |record: &&BitwiseRecord| {
                (&record.variant, &record.shape, &record.comparison) == (&kernel.variant, shape, comparison)
            };
            earlier.iter().find(is_it).is_some_and(|r| !matches!(r.outcome, BitwiseOutcome::Unknown { .. }))
        };
        for kernel in &mut job.kernels {
            let shapes = std::mem::take(&mut kernel.shapes);
            let is_open = |shape: &ShapeName| !asked.iter().all(|comparison| is_known(kernel, shape, comparison));
            kernel.shapes = shapes.into_iter().filter(|shape| is_open(shape)).collect();
        }
        job.kernels.retain(|kernel| !kernel.shapes.is_empty() && !wrong.contains(&kernel.variant));
        if job.kernels.is_empty() {
            return Ok(());
        }
        self.progress.stage("compare bits", job.kernels.iter().map(|kernel| kernel.shapes.len()).sum());
        self.timed("bench: bitwise comparisons", |campaign| {
            let mut processes = [BTreeMap::new(), BTreeMap::new()];
            for (at, outcomes) in processes.iter_mut().enumerate() {
                let logs = campaign.writer.folder().join(format!("logs/bitwise-{at}"));
                std::fs::create_dir_all(&logs)
                    .map_err(|source| CampaignError::Io { what: "create a folder for a worker", source })?;
                let timeout = campaign.phase.bench.timeout;
                let ended = measure(job.clone(), &campaign.tools.worker, None, timeout, &logs, &mut |event| {
                    note_bits(event, &asked, outcomes);
                    Ok(())
                })?;
                CampaignError::unless_complete(ended)?;
            }
            let [first, mut second] = processes;
            let mut differing = Vec::new();
            for ((variant, shape, comparison), outcome) in first {
                let none = || BitwiseOutcome::Unknown { reason: "a second process has no result".to_owned() };
                let key = (variant, shape, comparison);
                let outcome = outcome.and(second.remove(&key).unwrap_or_else(none));
                let (variant, shape, comparison) = key;
                campaign.progress.step(&variant.0);
                if let BitwiseOutcome::Different { place } = &outcome {
                    differing.push(format!("`{variant}` at shape '{shape}': {place}"));
                }
                campaign.writer.record(&BitwiseRecord { variant, shape, comparison, outcome })?;
            }
            if let Some(first) = differing.first() {
                let more = counted(differing.len() - 1, "further case");
                campaign.writer.warn(&format!("outputs differ bit by bit: {first}, and {more} in bitwise.jsonl"))?;
            }
            Ok(())
        })
    }

    /// Checks kernels while external commands may still load, and times them once those are idle.
    fn kernels(&mut self, job: WorkerJob, totals: &mut BenchTotals) -> Result<(), CampaignError> {
        let (logs, timeout) = (self.writer.folder().join("logs"), self.phase.bench.timeout);
        let first = self.early.worker(&job);
        let mut waited = Duration::ZERO;
        let finish = measure(job, &self.tools.worker, first, timeout, &logs, &mut |event| {
            if event == WorkerEvent::Proven {
                let began = Instant::now();
                self.early.settle();
                waited += began.elapsed();
            }
            self.keep(event, totals)
        })?;
        self.writer.spent("bench: imports and ncu", waited.as_secs_f64())?;
        CampaignError::unless_complete(finish)
    }

    fn keep(&mut self, event: WorkerEvent, totals: &mut BenchTotals) -> Result<(), SinkError> {
        if let Some(task) = begun(&event, self.phase.bench.rounds) {
            self.progress.task(&task);
        }
        match event {
            WorkerEvent::Checked(record) => {
                if !record.outcome.is_correct(&self.phase.workload.tolerance) {
                    totals.wrong.insert(record.variant.clone());
                }
                self.progress.step(&record.variant.0);
                self.writer.record(&record)?;
            }
            WorkerEvent::Timed(record) => {
                if let LatencyOutcome::Timed { samples, launches, .. } = &record.outcome
                    && unsound_samples(samples).is_none()
                {
                    totals.sampled_us += samples.iter().sum::<f64>() * f64::from(*launches);
                }
                self.progress.step(&record.variant.0);
                self.writer.record(&record)?;
            }
            WorkerEvent::References { seconds } => totals.references_s += seconds,
            WorkerEvent::Weakened { reason } => self.writer.warn(&format!("weakened checks: {reason}"))?,
            WorkerEvent::Uses { variant, software } => self.writer.used(&variant, software)?,
            WorkerEvent::Device(_)
            | WorkerEvent::Traced { .. }
            | WorkerEvent::Ablated { .. }
            | WorkerEvent::Activity { .. }
            | WorkerEvent::DeviceLost { .. }
            | WorkerEvent::NoDevice { .. }
            | WorkerEvent::Preparing { .. }
            | WorkerEvent::Proven
            | WorkerEvent::Started { .. }
            | WorkerEvent::Launched { .. }
            | WorkerEvent::Sanitized { .. }
            | WorkerEvent::Compared { .. }
            | WorkerEvent::LaunchFailed { .. }
            | WorkerEvent::Failed { .. }
            | WorkerEvent::Refused { .. }
            | WorkerEvent::Done => {}
        }
        Ok(())
    }

    /// Runs external commands one after the other, and never while anything is timed.
    fn commands(
        &mut self,
        earlier_records: &EarlierRecords<'_>,
        totals: &mut BenchTotals,
    ) -> Result<(), CampaignError> {
        self.early.settle();
        let (phase, plan) = (self.phase, self.plan);
        for (variant, command) in plan.commands().filter(|(variant, _)| !earlier_records.of(variant)) {
            self.progress.note(&variant.0);
            let folder = command_folder(&self.writer.folder().join("logs"), variant)?;
            let waiting = self.early.command(&folder);
            let mut keep = |event| self.keep(event, totals);
            let measured = external::measure(phase, variant, command, &folder, waiting, &mut keep)?;
            self.writer.used(variant, measured.software)?;
        }
        Ok(())
    }

    /// Records that variants without a cubin were not measured; returns those variants.
    fn keep_unbuilt(&mut self, builds: &[BuildRecord]) -> Result<BTreeSet<VariantId>, CampaignError> {
        let mut unbuilt = BTreeSet::new();
        for build in builds {
            let reason = match &build.outcome {
                BuildOutcome::Built { .. } | BuildOutcome::NotNeeded => continue,
                BuildOutcome::Failed { .. } => "did not build",
                BuildOutcome::Refused { .. } => "cannot be launched on this chip",
            };
            unbuilt.insert(build.variant.clone());
            let measured = external::unmeasured(self.phase, &build.variant, reason);
            measured.checks.iter().try_for_each(|record| self.writer.record(record))?;
            measured.latencies.iter().try_for_each(|record| self.writer.record(record))?;
        }
        Ok(unbuilt)
    }

    fn keep_unprofiled(&mut self, builds: &[BuildRecord], verified: &BTreeSet<VariantId>) -> Result<(), CampaignError> {
        for build in builds.iter().filter(|b| b.shares.is_none() && !verified.contains(&b.variant)) {
            let reason = match &build.outcome {
                BuildOutcome::Failed { .. } => "did not build",
                BuildOutcome::Refused { .. } => "cannot be launched on this chip",
                BuildOutcome::Built { .. } | BuildOutcome::NotNeeded => "was not profiled: it is not proven correct",
            };
            for record in targets::unprofiled(&build.variant, &self.phase.profile.shapes, reason) {
                self.writer.record(&record)?;
            }
        }
        Ok(())
    }
}

/// Outcomes of bitwise comparisons in a process.
type BitwiseOutcomes = BTreeMap<(VariantId, ShapeName, BitwiseComparison), BitwiseOutcome>;

/// Notes the outcomes of a variant at a shape. A worker that did not come to its end compared nothing there.
fn note_bits(event: WorkerEvent, asked: &[BitwiseComparison], outcomes: &mut BitwiseOutcomes) {
    let unknown = |reason: &String| {
        let outcome = BitwiseOutcome::Unknown { reason: format!("was not compared bit by bit: {reason}") };
        asked.iter().map(|comparison| (comparison.clone(), outcome.clone())).collect()
    };
    let (variant, shape, all): (_, _, Vec<_>) = match event {
        WorkerEvent::Compared { variant, shape, outcomes } => (variant, shape, outcomes),
        WorkerEvent::LaunchFailed { variant, shape, reason } => (variant, shape, unknown(&reason)),
        WorkerEvent::Timed(LatencyRecord { variant, shape, outcome: LatencyOutcome::Failed { reason } }) => {
            (variant, shape, unknown(&reason))
        }
        _ => return,
    };
    outcomes
        .extend(all.into_iter().map(|(comparison, outcome)| ((variant.clone(), shape.clone(), comparison), outcome)));
}

/// Totals of the measurement.
#[derive(Default)]
struct BenchTotals {
    /// Variants with a case that is not correct.
    wrong: BTreeSet<VariantId>,
    /// GPU time of latency samples, in microseconds.
    sampled_us: f64,
    /// Wall time in references and checks of outputs, in seconds.
    references_s: f64,
}

/// Records that an unfinished run already has.
struct EarlierRecords<'a> {
    checks: &'a [CheckRecord],
    latencies: &'a [LatencyRecord],
    sanitizer: &'a [SanitizerRecord],
    bitwise: &'a [BitwiseRecord],
}

impl EarlierRecords<'_> {
    /// Whether an external command was measured: it returns all its records at once.
    fn of(&self, variant: &VariantId) -> bool {
        self.checks.iter().any(|r| &r.variant == variant) && self.latencies.iter().any(|r| &r.variant == variant)
    }
}
