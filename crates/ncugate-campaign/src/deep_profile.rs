//! The deep profile: profiles the selected variant again with ncu's sections, instruction samples and sources.
//!
//! It runs after everything that gates judge and has separate records; its counters replace none of theirs. Failures
//! become warnings of the run and do not end it.

use super::cubins::cubins;
use super::error::CampaignError;
use super::prestart::PrestartedProcesses;
use super::profile::expected;
use super::progress::Progress;
use super::reference_cubin::reference_cubin;
use super::targets::{CommandTarget, NvtxReader, ProfilingFolders, WorkerTarget, launches_of_kernels};
use super::tools::Tools;
use ncu_explain::listing::{Code, Disassembler, ListingError, UserSources, listing};
use ncu_explain::{InstructionSamples, source_of, texts};
use ncu_rep::{Launch, Report, ReportError};
use ncugate_cuda::host::{JobMode, JobPurpose, WorkerJob};
use ncugate_judge::frame::{cases_of, required_metrics};
use ncugate_judge::store::{Run, RunWriter, StoreError};
use ncugate_model::digest::sha256;
use ncugate_model::disk::scratch_folder;
use ncugate_model::{
    BuiltKernel, DeepProfile, Listing, ProfileOutcome, ProfiledOutputs, ShapeName, VariantId, nvtx_text,
};
use ncugate_ncu::{
    Contents, Job, LifeSampling, Ncu, NcuFailure, Processes, ProfileDetail, ProfiledCase, ReportReader, Runner,
    SessionOutcome, Subject,
};
use ncugate_phase::config::{DeepProfileTarget, Phase};
use ncugate_phase::plan::{Method, Plan, VariantRole};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

/// Name prefix of its reports and logs.
const STEM: &str = "deep";
/// Name prefix if it was started before its turn.
pub(super) const EARLY_STEM: &str = "deep-early";
/// Unknown metrics to drop before the deep profile fails.
const MAX_UNKNOWN: usize = 8;
/// Most kernels of an evaluation whose instructions are listed: a disassembler runs for each.
const LISTED: usize = 4;

/// Takes deep profiles of variants of a measured run.
pub struct DeepProfiler<'a> {
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    pub tools: &'a Tools,
    pub early: &'a PrestartedProcesses<'a>,
    pub writer: &'a mut RunWriter,
    pub progress: &'a (dyn Progress + Sync),
}

/// A kernel of a case, with its most sampled launch.
struct SampledKernel<'r> {
    /// Its demangled name.
    kernel: String,
    launch: Launch<'r>,
    samples: InstructionSamples,
}

/// The parsed output of one ncu process.
struct DeepProfileSession {
    ran: SessionOutcome,
    metrics: Vec<String>,
    contents: Contents,
    seconds: f64,
}

/// The shape at which a variant has its deep profile: the objective's, or the first profiled shape at which it is launched.
fn shape_of<'a>(phase: &'a Phase, plan: &Plan, id: &VariantId) -> &'a ShapeName {
    let objective = &phase.objective.shape;
    let is_launched = |shape: &&ShapeName| plan.variant(id).is_some_and(|variant| variant.left_out_at(shape).is_none());
    std::iter::once(objective).chain(&phase.profile.shapes).find(is_launched).unwrap_or(objective)
}

impl DeepProfiler<'_> {
    /// Profiles the selected variant (unless the phase disables deep profiles), the requested variants, and the first
    /// baseline that is a kernel, at the objective's shape or, if `where` excludes that, at the first profiled shape at which
    /// the variant is launched. Variants with a deep profile are skipped.
    ///
    /// # Errors
    /// The run cannot be written. Any other failure is a warning of the run.
    pub fn run(&mut self, selected: Option<&VariantId>, asked: &[VariantId]) -> Result<(), StoreError> {
        let wanted = self.profiled_variants(selected, asked);
        let Some(first) = wanted.first() else { return Ok(()) };
        let started = Instant::now();
        self.progress.stage("deep profile", 1);
        self.progress.step(&first.0);
        match self.profile(&wanted) {
            Ok(()) => {}
            Err(CampaignError::Store(error)) => return Err(error),
            Err(error) => self.writer.warn(&format!("no deep profile: {error}"))?,
        }
        self.writer.spent("deep profile", started.elapsed().as_secs_f64())
    }

    fn profiled_variants(&self, selected: Option<&VariantId>, asked: &[VariantId]) -> Vec<VariantId> {
        let selected = match self.phase.profile.deep_profile {
            DeepProfileTarget::None => None,
            DeepProfileTarget::Selected => selected,
        };
        let mut wanted: Vec<VariantId> = Vec::new();
        for id in selected.into_iter().chain(asked) {
            if !wanted.contains(id) {
                wanted.push(id.clone());
            }
        }
        wanted
    }

    fn metrics(&self) -> Vec<String> {
        required_metrics::deep_counters(Some(self.tools.device.compute_capability))
    }

    /// The sampling settings for the launches of some cases.
    fn sampling(&self, run: &Run, cases: &[ProfiledCase], ncu: &Ncu) -> LifeSampling {
        LifeSampling::for_launches(longest(run, cases), ncu.version, self.tools.device.compute_capability)
    }

    /// The kernels among some cases, with their builds. Launches of a function are counted together and have no
    /// source here, so functions have no deep profile.
    fn kernels(&self, run: &Run, cases: &[ProfiledCase]) -> (BTreeMap<VariantId, BuiltKernel>, Vec<ProfiledCase>) {
        let is_kernel = |id: &VariantId| matches!(self.plan.variant(id).map(|v| &v.method), Some(Method::Kernel(_)));
        let is_wanted = |id: &VariantId| is_kernel(id) && cases.iter().any(|(case, _)| case == id);
        let cubins = cubins(self.plan, &run.builds, |build| is_wanted(&build.variant));
        let kernels = cases.iter().filter(|(id, _)| cubins.contains_key(id)).cloned().collect();
        (cubins, kernels)
    }

    fn profile(&mut self, wanted: &[VariantId]) -> Result<(), CampaignError> {
        let run = Run::load(self.writer.folder())?;
        let io = |what| move |source| CampaignError::Io { what, source };
        let cases = self.cases(&run, wanted);
        let logs = run.folder.join("logs").join("deep-profile");
        std::fs::create_dir_all(&logs).map_err(io("create a folder for a deep profile"))?;
        let scratch =
            scratch_folder(self.tools.device.uuid.as_deref()).map_err(io("create a folder for ncu's locks"))?;
        let folders = ProfilingFolders { reports: run.folder.join("reports"), logs, scratch };
        let ncu = self.tools.ncu.as_ref().map_err(Clone::clone)?;
        let runner = Runner { prestarted: Some(self.early.sessions()), ..folders.runner(ncu, self.phase) };
        let phase = self.once(&cases);
        let commands: Vec<CommandTarget> = self
            .plan
            .variants
            .iter()
            .filter(|variant| cases.iter().any(|(id, _)| *id == variant.id))
            .filter_map(|variant| CommandTarget::of(&phase, variant, &folders.logs))
            .collect();
        let (_, kernels) = self.kernels(&run, &cases);
        // The reference may be in the cubin of another variant.
        let mut cubins = cubins(self.plan, &run.builds, |build| build.shares.is_none());
        cubins.extend(reference_cubin(&phase, self.plan, self.tools)?.cubin);
        let mut job = WorkerJob::new(&phase, self.plan, &cubins, JobPurpose::Profile)?;
        if let JobMode::Profile(inputs) = &mut job.mode {
            inputs.empty_launches = 0;
        }
        let worker = WorkerTarget::new(job, folders.logs.clone(), self.tools.worker.clone());
        let of_worker = Subject {
            selection: launches_of_kernels(&phase, &kernels),
            cases: kernels,
            target: &worker,
            processes: Processes::Application,
            expect: expected(self.plan, 1),
        };
        let by_command = commands.iter().flat_map(|target| {
            let own = cases.iter().filter(|(id, _)| *id == target.variant);
            own.map(|(_, shape)| target.subject(std::slice::from_ref(shape)))
        });
        let subjects: Vec<Subject<'_>> = std::iter::once(of_worker).chain(by_command).collect();
        subjects.iter().try_for_each(|subject| self.profile_cases(&run, &runner, subject, &subject.cases))
    }

    /// The phase with a single launch at each shape of these cases.
    fn once(&self, cases: &[ProfiledCase]) -> Phase {
        let mut phase = self.phase.clone();
        phase.profile.shapes = BTreeSet::from_iter(cases.iter().map(|(_, shape)| shape.clone())).into_iter().collect();
        phase.profile.repeat = 1;
        phase
    }

    /// Variants without a deep profile: the representatives of the wanted ones if they are correct, and the first
    /// baseline that is a correct kernel.
    fn cases(&self, run: &Run, wanted: &[VariantId]) -> Vec<ProfiledCase> {
        let tolerance = self.phase.workload.tolerance;
        let correct = |id: &VariantId| {
            let mut checks = run.checks.iter().filter(|check| &check.variant == run.measured_as(id)).peekable();
            checks.peek().is_some() && checks.all(|check| check.outcome.is_correct(&tolerance))
        };
        let baseline = self.plan.variants.iter().find(|variant| {
            variant.standing == VariantRole::Baseline
                && matches!(variant.method, Method::Kernel(_))
                && correct(&variant.id)
        });
        let mut cases: Vec<ProfiledCase> = Vec::new();
        for id in wanted.iter().filter(|id| correct(id)).chain(baseline.map(|variant| &variant.id)) {
            let case = (run.measured_as(id).clone(), shape_of(self.phase, self.plan, id).clone());
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        let known = |case: &ProfiledCase| {
            run.deep_profiles.iter().any(|known| {
                (&known.variant, &known.shape) == (&case.0, &case.1)
                    && matches!(known.outcome, ProfileOutcome::Profiled { .. })
            })
        };
        cases.retain(|case| !known(case));
        cases
    }

    /// Profiles cases of one program; cases missing from a process are retried alone.
    fn profile_cases(
        &mut self,
        run: &Run,
        runner: &Runner<'_>,
        subject: &Subject<'_>,
        cases: &[ProfiledCase],
    ) -> Result<(), CampaignError> {
        if cases.is_empty() {
            return Ok(());
        }
        let profiled = self.process(run, runner, subject, cases)?;
        let file = profiled.ran.report.as_deref().and_then(Path::file_name);
        let file = file.map(|name| name.to_string_lossy().into_owned());
        let outputs: Vec<_> = cases.iter().map(|case| subject.outputs(&profiled.contents, case)).collect();
        let listed = self.all_listings(run, &profiled, cases, &outputs, runner.logs);
        for ((case, outputs), (listing, other_listings)) in cases.iter().zip(outputs).zip(listed) {
            let outcome = match (&file, profiled.contents.launches.contains_key(case)) {
                (Some(report), true) if outputs.is_some() => ProfileOutcome::Profiled { report: report.clone() },
                _ if cases.len() > 1 => {
                    self.profile_cases(run, runner, subject, std::slice::from_ref(case))?;
                    continue;
                }
                (_, launched) => ProfileOutcome::Failed { reason: reason(&profiled.ran, launched) },
            };
            if let Some(wrong) = outputs.as_ref().and_then(ProfiledOutputs::wrong) {
                self.writer.warn(&format!("the deep profile of {} has a wrong output: {wrong}", case.0))?;
            }
            let outputs = outputs.filter(|_| matches!(outcome, ProfileOutcome::Profiled { .. }));
            if let ProfileOutcome::Failed { reason } = &outcome {
                self.writer.warn(&format!("no deep profile of {}: {reason}", case.0))?;
            }
            self.writer.record(&DeepProfile {
                variant: case.0.clone(),
                shape: case.1.clone(),
                metrics: profiled.metrics.clone(),
                sections: ProfileDetail::SECTIONS.map(str::to_owned).to_vec(),
                passes: profiled.contents.passes,
                seconds: profiled.seconds,
                listing,
                other_listings,
                outcome,
                outputs,
            })?;
        }
        Ok(())
    }

    /// Runs one ncu process; drops metrics that this ncu does not know.
    fn process(
        &self,
        run: &Run,
        runner: &Runner<'_>,
        subject: &Subject<'_>,
        cases: &[ProfiledCase],
    ) -> Result<DeepProfileSession, CampaignError> {
        let io = |source| CampaignError::Io { what: "take a deep profile", source };
        let mut metrics = self.metrics();
        let sampling = self.sampling(run, cases, runner.ncu);
        let started = Instant::now();
        for _ in 0..MAX_UNKNOWN {
            let target = subject.target.command(cases).map_err(io)?;
            let ran = runner
                .run(&Job {
                    stem: STEM,
                    metrics: &metrics,
                    detail: ProfileDetail::Deep(sampling),
                    target: &target,
                    selection: &subject.selection,
                    processes: subject.processes,
                })
                .map_err(io)?;
            let before = metrics.len();
            if let Some(NcuFailure::UnknownMetric { name }) = &ran.failure {
                metrics.retain(|metric| metric != name && !metric.starts_with(&format!("{name}.")));
            }
            if metrics.len() < before {
                continue;
            }
            let seconds = started.elapsed().as_secs_f64();
            let read = ran.report.as_deref().map(|path| NvtxReader.read(path, &ran.told, cases));
            let (ran, contents) = match read.transpose() {
                Ok(contents) => (ran, contents.unwrap_or_default()),
                Err(reason) => (
                    SessionOutcome { failure: Some(NcuFailure::UnreadableReport { reason }), ..ran },
                    Contents::default(),
                ),
            };
            return Ok(DeepProfileSession { ran, metrics, contents, seconds });
        }
        Err(io(std::io::Error::other("this ncu does not know too many of the metrics")))
    }

    /// The listings of each case, at once: a disassembler runs for each kernel. Empty for a case without a deep profile.
    fn all_listings(
        &self,
        run: &Run,
        profiled: &DeepProfileSession,
        cases: &[ProfiledCase],
        outputs: &[Option<ProfiledOutputs>],
        logs: &Path,
    ) -> Vec<(Listing, BTreeMap<String, Listing>)> {
        let of_case = |(number, (case, outputs)): (usize, (&ProfiledCase, &Option<ProfiledOutputs>))| {
            let is_profiled = outputs.is_some() && profiled.contents.launches.contains_key(case);
            let place = logs.join(format!("module-{number}.cubin"));
            let report = profiled.ran.report.as_ref().filter(|_| is_profiled);
            report.map(|report| self.listings(run, report, case, &place)).unwrap_or_default()
        };
        cases.par_iter().zip(outputs).enumerate().map(of_case).collect()
    }

    /// The listing with the sampled instructions of the hottest kernel of a case, or why it cannot be made, and those of
    /// the other kernels. Machine code is written to `place` for the disassembler.
    fn listings(
        &self,
        run: &Run,
        report: &Path,
        case: &ProfiledCase,
        place: &Path,
    ) -> (Listing, BTreeMap<String, Listing>) {
        let lacking = |reason: String| Listing { lacks: vec![reason], ..Listing::default() };
        let listings = Report::open(report).and_then(|report| {
            let kernels = self.kernels_of(&report, case)?.into_iter().take(LISTED);
            let listed = kernels.map(|SampledKernel { kernel, launch, samples }| {
                Ok((kernel, self.listing_of(run, &report, &launch, &samples, place)?))
            });
            listed.collect::<Result<Vec<_>, ReportError>>()
        });
        let mut listings = match listings {
            Ok(listings) => listings.into_iter(),
            Err(error) => return (lacking(error.to_string()), BTreeMap::new()),
        };
        let first = listings.next().and_then(|(_, listing)| listing);
        let first = first.unwrap_or_else(|| lacking("the report has no machine code".to_owned()));
        (first, listings.filter_map(|(kernel, listing)| Some((kernel, listing?))).collect())
    }

    /// The sampled kernels of a case, the one with the most samples first; of each the launch with the most samples.
    fn kernels_of<'r>(&self, report: &'r Report, case: &ProfiledCase) -> Result<Vec<SampledKernel<'r>>, ReportError> {
        let mut kernels: Vec<SampledKernel<'_>> = Vec::new();
        for launch in report.launches() {
            let samples = InstructionSamples::of(&launch)?;
            let ranges = nvtx_text(&launch.nvtx()?);
            let planned = cases_of(&ranges).find(|(variant, _)| self.plan.variant(variant).is_some());
            let is_of_case = planned.as_ref() == Some(case) && !samples.places.is_empty();
            let (kernel, demangled) = (launch.kernel_name(), launch.demangled_name());
            let kernel = if demangled.is_empty() { kernel } else { demangled }.into_owned();
            if !is_of_case {
                continue;
            }
            // the launches that the report describes (`explain::observations`)
            let next = SampledKernel { kernel, launch, samples };
            match kernels.iter_mut().find(|known| known.kernel == next.kernel) {
                Some(known) if next.samples.total() > known.samples.total() => *known = next,
                Some(_) => {}
                None => kernels.push(next),
            }
        }
        kernels.sort_by_key(|kernel| Reverse(kernel.samples.total()));
        Ok(kernels)
    }

    fn listing_of(
        &self,
        run: &Run,
        report: &Report,
        launch: &Launch<'_>,
        samples: &InstructionSamples,
        place: &Path,
    ) -> Result<Option<Listing>, ReportError> {
        let Some(source) = source_of(report, launch)? else { return Ok(None) };
        let entry = launch.mangled_name();
        let mut texts = texts(&source);
        let here = std::env::current_dir().ok().map(|folder| folder.display().to_string());
        let own = UserSources::new(run.manifest.sources.iter().map(|(path, _)| path.clone()), here.as_deref());
        own_texts(run, |path, content| texts.add(path, content));
        let disassembly = self.disassembly(source.binary, &entry, place);
        let code = Code { cubin: source.binary, entry: &entry, functions: &samples.functions };
        Ok(Some(listing(code, samples.counted().into_iter(), &texts, &own, disassembly)))
    }

    fn disassembly(&self, cubin: &[u8], entry: &str, place: &Path) -> Result<BTreeMap<u64, String>, ListingError> {
        let disassembler = Disassembler::find(Some(self.tools.nvcc.path()))?;
        let unwritten = |error: std::io::Error| ListingError::Disassembler { reason: format!("has no input: {error}") };
        std::fs::write(place, cubin).map_err(unwritten)?;
        let instructions = disassembler.instructions(place, cubin, entry);
        // The report contains the cubin; a leftover copy does no harm.
        let _ = std::fs::remove_file(place);
        instructions
    }
}

/// The longest latency sample of some cases in microseconds; `None` if one of them was not timed.
fn longest(run: &Run, cases: &[ProfiledCase]) -> Option<f64> {
    let latency = |(variant, shape): &ProfiledCase| {
        let found = run.latencies.iter().find(|record| &record.variant == variant && &record.shape == shape)?;
        found.outcome.samples().ok()?.iter().copied().reduce(f64::max)
    };
    cases.iter().map(latency).try_fold(0.0, |most: f64, us| Some(most.max(us?)))
}

/// The kernel sources that the run hashed, if they have not changed since.
fn own_texts(run: &Run, mut add: impl FnMut(&str, &[u8])) {
    for (path, hash) in &run.manifest.sources {
        if let Ok(content) = std::fs::read(path)
            && sha256(&content) == *hash
        {
            add(path, &content);
        }
    }
}

fn reason(ran: &SessionOutcome, launched: bool) -> String {
    let missing = || match ran.report {
        Some(_) if launched => NcuFailure::Unverified { ending: ran.ending.to_string() },
        Some(_) => NcuFailure::Missing { ending: ran.ending.to_string() },
        None => NcuFailure::no_kernels(&ran.log),
    };
    ran.explain(&ran.failure.clone().unwrap_or_else(missing))
}

#[cfg(test)]
mod tests;
