//! Measures what costs of a variant are worth: copies of its machine code without one cost each, timed against it in a
//! separate process. A copy is no variant: it is not checked, has no name, and no gate can read its time.

mod ptx_edits;

use super::cubins::cubins;
use super::error::CampaignError;
use super::tools::Tools;
use ncu_explain::{EditRisk, MachineCode};
use ncugate_cuda::build::{Arch, Cache};
use ncugate_cuda::gpu::GpuMonitor;
use ncugate_cuda::host::{AblationSettings, JobKernel, JobMode, JobPurpose, WorkerEvent, WorkerJob, measure};
use ncugate_judge::store::Run;
use ncugate_model::cubin::{LineTable, WordEdit, edited, machine_code, symbol};
use ncugate_model::disk::open;
use ncugate_model::stats::{median, order_limits};
use ncugate_model::{
    Ablation, AblationOutcome, AblationRecord, BuiltKernel, ComputeCapability, Gain, LatencyOutcome, LaunchMode,
    ShapeName, VariantId,
};
use ncugate_phase::config::{Phase, WorkloadReference};
use ncugate_phase::plan::{KernelLaunch, Plan, Step};
use ptx_edits::{PtxCopy, PtxText};
use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::{Duration, Instant};

/// The architecture on which edited code was tried; on others an instruction that is switched off may do something else.
const TRIED: ComputeCapability = ComputeCapability::new(9, 0);
/// Where the multi-process service listens by default.
const MPS_PIPES: &str = "/tmp/nvidia-mps/control";
/// Launches of an evaluation up to which several run side by side, and steps that are left out one at a time.
const MOST_STEPS: usize = 8;
/// Bytes of PTX that are assembled within a run; more takes too long.
const MOST_PTX: u64 = 1 << 20;
/// The program of the self-test: an instruction of each kind in a separate entry, and one without.
const SELF_TEST: &str = include_str!("ablation/self_test.ptx");

/// A run takes this part of its time for measured causes, and no more than [`MOST`].
const PART: f64 = 0.1;
const MOST: Duration = Duration::from_secs(2);
/// What a worker needs to start and to load copies.
const LEAST: Duration = Duration::from_millis(500);

/// How far the measurement goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AblationEffort {
    /// Within a run, for so long.
    Run(Duration),
    /// On request: also loads by source line and evaluations without a step.
    Whole,
}

impl AblationEffort {
    /// Within a run that has taken so many seconds; none if it was too short.
    pub fn within(seconds: f64) -> Option<Self> {
        let part = Duration::try_from_secs_f64(PART * seconds).unwrap_or_default().min(MOST);
        (part >= LEAST).then_some(Self::Run(part))
    }

    const fn budget(self) -> Duration {
        match self {
            Self::Run(_) => Duration::from_millis(300),
            Self::Whole => Duration::from_secs(3),
        }
    }

    const fn limit(self) -> Duration {
        match self {
            Self::Run(limit) => limit,
            Self::Whole => Duration::from_secs(120),
        }
    }

    /// A copy that does not end within this is stopped.
    const fn patience(self) -> Duration {
        match self {
            Self::Run(_) => Duration::from_millis(500),
            Self::Whole => Duration::from_secs(2),
        }
    }

    const fn takes(self, edit: &Ablation) -> bool {
        matches!(self, Self::Whole) || !matches!(edit, Ablation::LoadsAt { .. })
    }
}

/// A variant of a run at a shape, and where its copies are measured.
pub struct AblatedVariant<'a> {
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    pub tools: &'a Tools,
    pub run: &'a Run,
    pub variant: &'a VariantId,
    pub shape: &'a ShapeName,
}

/// A copy before it is measured.
struct Copy {
    edit: Ablation,
    changed: u32,
    left: u32,
    /// Its name in the job, or why it would prove nothing.
    name: Result<VariantId, &'static str>,
}

/// A change of a variant's kernels.
#[derive(Debug, Default)]
struct VariantEdit {
    /// By the symbol of the kernel.
    words: Vec<(String, Vec<(u64, WordEdit)>)>,
    left: u32,
    risk: EditRisk,
}

impl AblatedVariant<'_> {
    /// Makes and times the copies.
    ///
    /// # Errors
    /// The user asked to stop, or a file cannot be written.
    pub fn measure(&self, effort: AblationEffort) -> Result<Result<Vec<AblationRecord>, String>, CampaignError> {
        if let Some(reason) = self.obstacle() {
            return Ok(Err(reason));
        }
        let folder = self.run.folder.join("logs").join("ablation");
        let io = |source| CampaignError::Io { what: "write copies of machine code", source };
        std::fs::create_dir_all(&folder).map_err(io)?;
        let outcome = match self.copies(&folder, effort) {
            Ok((job, copies)) => Ok(self.time(job, copies, &folder, effort)?),
            Err(reason) => Err(reason),
        };
        // The copies are of no use to anybody else.
        for entry in std::fs::read_dir(&folder).map_err(io)?.flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "cubin" || extension == "ptx") {
                std::fs::remove_file(entry.path()).map_err(io)?;
            }
        }
        Ok(outcome)
    }

    /// Why this machine cannot measure it.
    fn obstacle(&self) -> Option<String> {
        let device = &self.tools.device;
        if device.compute_capability != TRIED {
            let own = device.compute_capability;
            return Some(format!(
                "copies of machine code were tried on compute capability {TRIED} alone, not on {own}"
            ));
        }
        let measured = self.run.manifest.fingerprint.gpu.as_ref().map(|gpu| &gpu.name);
        if measured.is_some_and(|name| *name != device.name) {
            return Some(format!("the run was measured on another GPU than the {} of this machine", device.name));
        }
        // Clients of a multi-process service fail together, and a container hides the others.
        let pipes = std::env::var_os("CUDA_MPS_PIPE_DIRECTORY");
        if pipes.is_some() || Path::new(MPS_PIPES).exists() {
            return Some("the GPU is shared by MPS, and a copy that fails would end its other clients".to_owned());
        }
        let monitor = device.uuid.as_deref().and_then(|uuid| GpuMonitor::open(uuid).ok());
        let others = monitor.and_then(|monitor| monitor.other_process());
        others.map(|name| format!("{name} uses the GPU too, and a copy that fails could take it along"))
    }

    /// The job with the variant and its copies, written to `folder`.
    fn copies(&self, folder: &Path, effort: AblationEffort) -> Result<(WorkerJob, Vec<Copy>), String> {
        let built = cubins(self.plan, &self.run.builds, |build| build.variant == *self.variant);
        let Some(kernel) = built.get(self.variant) else { return Err("it has no machine code".to_owned()) };
        let leads_out = kernel.cubin.components().any(|part| part == Component::ParentDir);
        let is_built = || !leads_out && Cache::of_user(None).is_ok_and(|cache| cache.holds(&kernel.cubin));
        if effort == AblationEffort::Whole && !is_built() {
            return Err("its machine code is not in your build cache; run the phase here first".to_owned());
        }
        let image = std::fs::read(&kernel.cubin);
        let image = image.map_err(|error| format!("its machine code is gone ({error}); run the phase again"))?;
        let mut phase = self.phase.clone();
        phase.workload.shapes.retain(|shape| shape.name == *self.shape);
        // Nothing is compared, so that no reference runs.
        phase.workload.reference = WorkloadReference::Absent;
        phase.workload.checks.clear();
        let mut job =
            WorkerJob::new(&phase, self.plan, &built, JobPurpose::Sanitize).map_err(|error| error.to_string())?;
        job.kernels.retain(|own| own.variant == *self.variant);
        let Some(own) = job.kernels.first().filter(|own| own.function.is_none()).cloned() else {
            return Err("it is a function, which has no machine code here".to_owned());
        };
        let Some(program) = own.program(self.shape).cloned() else { return Err("it is not launched there".to_owned()) };
        job.kernels[0].shapes = vec![self.shape.clone()];
        let launches = |edit, name| Copy { edit, changed: 0, left: 0, name: Ok(name) };
        let mut copies = vec![launches(Ablation::Nothing, self.variant.clone())];
        let mut add = |kernel: JobKernel| {
            let variant = copy_name(job.kernels.len());
            job.kernels.push(JobKernel { variant: variant.clone(), shapes: vec![self.shape.clone()], ..kernel });
            variant
        };
        let mut block_starts = None;
        for (number, (edit, VariantEdit { words, left, risk })) in
            self.edits(folder, &image, kernel, &own, effort)?.into_iter().enumerate()
        {
            let changed = words.iter().map(|(_, words)| words.len() as u32).sum();
            let name = match risk {
                EditRisk::Loop => Err("what it leaves in registers decides how often a loop runs"),
                EditRisk::Address => Err("what it leaves in registers is used as an address"),
                EditRisk::None => {
                    let edit = |image: Vec<u8>, (entry, words): &(String, Vec<_>)| edited(&image, entry, words);
                    let copy = words.iter().try_fold(image.clone(), edit).map_err(|error| error.to_string())?;
                    let cubin = folder.join(format!("{number}.cubin"));
                    std::fs::write(&cubin, copy)
                        .map_err(|error| format!("cannot write {}: {error}", cubin.display()))?;
                    Ok(add(JobKernel { cubin, ..own.clone() }))
                }
            };
            if edit == Ablation::BlockStarts {
                block_starts = name.clone().ok();
            }
            copies.push(Copy { edit, changed, left, name });
        }
        for PtxCopy { edit, cubin } in self.ptx_copies(folder, &image, kernel, program.launches(), effort)? {
            let name = cubin.map(|cubin| add(JobKernel { cubin, ..own.clone() }));
            copies.push(Copy { edit: edit.kind, changed: edit.changed, left: edit.left, name });
        }
        let is_short = (1..=MOST_STEPS).contains(&program.steps.len());
        let mut side_by_side = None;
        if is_short && program.launches().all(|launch| launch.mode == LaunchMode::Ordinary) {
            let name = add(own.clone());
            copies.push(launches(Ablation::IdleHardware, name.clone()));
            side_by_side = Some(name);
        }
        // What a later step reads is then older, perhaps how often it loops.
        if is_short && program.steps.len() > 1 && effort == AblationEffort::Whole {
            for at in 0..program.steps.len() {
                let mut rest = program.clone();
                rest.steps.remove(at);
                if rest.steps.iter().any(|step| matches!(step, Step::Launch(_))) {
                    let name = add(JobKernel { programs: vec![rest], ..own.clone() });
                    copies.push(launches(Ablation::Step(at + 1), name));
                }
            }
        }
        let seed = self.phase.workload.seeds.first().copied().unwrap_or_default();
        let budget_us = effort.budget().as_secs_f64() * 1e6;
        let settings = AblationSettings { seed, budget_us, side_by_side, block_starts };
        job.mode = JobMode::Ablate(settings);
        Ok((job, copies))
    }

    /// The changes of each kernel of the variant, by cost.
    fn edits(
        &self,
        folder: &Path,
        image: &[u8],
        kernel: &BuiltKernel,
        own: &JobKernel,
        effort: AblationEffort,
    ) -> Result<BTreeMap<Ablation, VariantEdit>, String> {
        let major = TRIED.major;
        self.self_test(folder)?;
        let mut all: BTreeMap<Ablation, VariantEdit> = BTreeMap::new();
        for entry in own.entries() {
            let unread = |error: ncugate_model::cubin::CubinError| error.to_string();
            let symbol = symbol(image, kernel.symbols.of(entry)).map_err(unread)?;
            let code = machine_code(image, &symbol).map_err(unread)?.ok_or("a kernel without machine code")?;
            let lines = LineTable::read(image, &symbol).map_err(unread)?;
            let decoded = MachineCode::of_words(code, 0, major).ok_or("unknown machine code")?;
            for edit in decoded.edits(code, major, &lines) {
                let of_kind = all.entry(edit.kind).or_default();
                of_kind.words.push((symbol.clone(), edit.words));
                of_kind.left += edit.left;
                of_kind.risk = edit.risk.max(of_kind.risk);
            }
        }
        all.retain(|edit, _| effort.takes(edit));
        Ok(all)
    }

    /// Copies of changed PTX.
    fn ptx_copies<'l>(
        &self,
        folder: &Path,
        image: &[u8],
        kernel: &BuiltKernel,
        launches: impl Iterator<Item = &'l KernelLaunch>,
        effort: AblationEffort,
    ) -> Result<Vec<PtxCopy>, String> {
        let most = if effort == AblationEffort::Whole { 64 * MOST_PTX } else { MOST_PTX };
        let text = open::text_if_there(&kernel.cubin.with_extension("ptx"), most);
        let Ok(Some(text)) = text else { return Ok(Vec::new()) };
        let launches = launches.map(|launch| Ok((symbol(image, kernel.symbols.of(&launch.entry))?, launch)));
        let launches = launches.collect::<Result<Vec<_>, ncugate_model::cubin::CubinError>>();
        let launches = launches.map_err(|error| error.to_string())?;
        Ok(PtxText { nvcc: &self.tools.nvcc, folder, image, text: &text }.edited(&launches))
    }

    /// Assembles known PTX with this toolkit, and reads every kind of instruction back.
    fn self_test(&self, folder: &Path) -> Result<(), String> {
        let failed = |reason: String| format!("the self-test of machine code failed: {reason}");
        let path = folder.join("self_test");
        let cubin = self.tools.nvcc.assemble_text(SELF_TEST, &Arch::of(TRIED), &[], &path).map_err(failed)?;
        self_test(&cubin).map_err(failed)
    }

    fn time(
        &self,
        job: WorkerJob,
        copies: Vec<Copy>,
        folder: &Path,
        effort: AblationEffort,
    ) -> Result<Vec<AblationRecord>, CampaignError> {
        let begun = Instant::now();
        let mut outcomes: BTreeMap<VariantId, AblationOutcome> = BTreeMap::new();
        let worker = &self.tools.worker;
        let ended = measure(job, worker, None, effort.patience(), folder, &mut |event| {
            match event {
                WorkerEvent::Ablated { variant, ratios, .. } => drop(outcomes.insert(variant, outcome(&ratios))),
                WorkerEvent::LaunchFailed { variant, reason, .. } => {
                    drop(outcomes.insert(variant, AblationOutcome::NotMeasured { reason }));
                }
                WorkerEvent::Timed(record) => {
                    if let LatencyOutcome::Failed { reason } = record.outcome {
                        outcomes.entry(record.variant).or_insert(AblationOutcome::NotMeasured { reason });
                    }
                }
                _ => {}
            }
            match begun.elapsed() < effort.limit() {
                true => Ok(()),
                false => Err(format!("the time of {:.1} s is over", effort.limit().as_secs_f64()).into()),
            }
        });
        if ncugate_model::process::interrupted() {
            return Err(CampaignError::Interrupted);
        }
        let why = ended
            .err()
            .map_or_else(|| "it was not reached".to_owned(), |error| ncugate_cuda::host::error_chain(&error));
        let mut taken = |name: Result<VariantId, &'static str>| {
            let name = match name {
                Ok(name) => name,
                Err(reason) => return AblationOutcome::NotMeasured { reason: reason.to_owned() },
            };
            outcomes.remove(&name).unwrap_or_else(|| AblationOutcome::NotMeasured { reason: why.clone() })
        };
        let record = |Copy { edit, changed, left, name }| {
            let mut outcome = taken(name);
            // It shows the time that its blocks take; others show what they save.
            if let (Ablation::BlockStarts, AblationOutcome::Measured(Gain { percent, low, high })) =
                (&edit, &mut outcome)
            {
                (*percent, *low, *high) = (100.0 - *percent, 100.0 - *high, 100.0 - *low);
            }
            AblationRecord { variant: self.variant.clone(), shape: self.shape.clone(), edit, changed, left, outcome }
        };
        Ok(copies.into_iter().map(record).collect())
    }
}

/// The name of a copy in the worker's job; no variant has a name with `~`.
fn copy_name(number: usize) -> VariantId {
    VariantId(format!("~{number}").into())
}

fn outcome(ratios: &[f64]) -> AblationOutcome {
    let percent = |ratio: f64| 100.0 * (1.0 - ratio);
    match (median(ratios), order_limits(ratios, 0.5, 0.95)) {
        (Ok(middle), Ok((low, high))) => {
            AblationOutcome::Measured(Gain { percent: percent(middle), low: percent(high), high: percent(low) })
        }
        (Err(error), _) | (_, Err(error)) => AblationOutcome::NotMeasured { reason: error.to_string() },
    }
}

/// Whether each kind of instruction is found in its own kernel of the self-test, and in no other one where it should not be,
/// and whether guards are where they are expected.
fn self_test(cubin: &[u8]) -> Result<(), String> {
    let decoded = |entry: &str| {
        let code = machine_code(cubin, entry).map_err(|error| error.to_string())?;
        let code = code.ok_or_else(|| format!("no kernel `{entry}`"))?;
        let read = MachineCode::of_words(code, 0, TRIED.major).ok_or("unknown machine code")?;
        let edits = read.edits(code, TRIED.major, &LineTable::default());
        Ok::<_, String>((code.to_vec(), edits))
    };
    let kinds = [
        ("barriers", Ablation::Barriers),
        ("local_memory", Ablation::LocalMemory),
        ("shared_memory", Ablation::SharedMemory),
        ("shared_memory", Ablation::BankConflicts),
        ("atomics", Ablation::Atomics),
        ("special_functions", Ablation::SpecialFunctions),
        ("double_precision", Ablation::DoublePrecision),
        ("float", Ablation::SingleAndHalfPrecision),
        ("matrix_products", Ablation::MatrixProducts),
        ("shuffles", Ablation::Shuffles),
        ("indexed_constants", Ablation::IndexedConstants),
        ("uncached_loads", Ablation::UncachedLoads),
    ];
    let (_, plain) = decoded("plain")?;
    for kind in [Ablation::GlobalLoads, Ablation::GlobalStores, Ablation::BlockStarts] {
        if !plain.iter().any(|edit| edit.kind == kind) {
            return Err(format!("nothing was found to run {kind}"));
        }
    }
    for (entry, kind) in kinds {
        let is_there = |edits: &[ncu_explain::CodeEdit]| edits.iter().any(|edit| edit.kind == kind);
        if !is_there(&decoded(entry)?.1) || is_there(&plain) {
            return Err(format!("what to change was not told from other instructions, to run {kind}"));
        }
    }
    // The store of `guarded` runs if a predicate holds, that of `negated` if it does not: one bit of the guard.
    let (guarded, negated) = (decoded("guarded")?, decoded("negated")?);
    let store = |(code, edits): &(Vec<u8>, Vec<ncu_explain::CodeEdit>)| {
        let found = edits.iter().find(|edit| edit.kind == Ablation::GlobalStores)?;
        code.get(found.words.last()?.0 as usize + 1).map(|byte| byte >> 4)
    };
    match (store(&guarded), store(&negated)) {
        (Some(guard), Some(other)) if guard ^ other == 8 && guard & 7 != 7 => Ok(()),
        _ => Err("guards are not where they were expected".to_owned()),
    }
}

#[cfg(test)]
mod tests;
