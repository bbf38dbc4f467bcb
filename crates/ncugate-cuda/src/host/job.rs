//! A worker's job: everything it needs, evaluated, in one JSON file. The worker reads no config.
//!
//! A job also lists the remaining work, so that the worker that replaces a crashed one does the rest.

use super::hidden_draws::{HiddenCases, HiddenJob};
use super::shared_outputs::SharedFile;
use crate::gpu::VariantExtents;
use crate::prove::{ReferenceServer, ReferenceSpec, ShapeSpec};
use crate::python_environment::PythonEnvironment;
use crate::time::TimingSettings;
use ncugate_model::expr::Value;
use ncugate_model::{
    BitwiseComparison, CheckOutcome, CheckRecord, EntrySymbols, LatencyOutcome, LatencyRecord, Law, ShapeName,
    Tolerance, VariantId,
};
use ncugate_phase::config::Workload;
use ncugate_phase::plan::ShapeProgram;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

/// The job of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerJob {
    /// Ordinal of the CUDA device.
    pub device: u32,
    /// Measure, or launch under a profiler.
    pub mode: JobMode,
    /// Seeds of the inputs that are checked.
    pub seeds: Vec<u64>,
    /// Laws of the inputs in correctness cases.
    pub laws: CaseLaws,
    pub reference: ReferenceSpec,
    /// Maximum difference between an output and the expected output.
    pub tolerance: Tolerance,
    /// Problem sizes, evaluated.
    pub shapes: Vec<ShapeSpec>,
    /// Variants, in the order of the plan.
    pub kernels: Vec<JobKernel>,
    /// The Python that functions run in. It is not started for a job without functions.
    pub python: PythonEnvironment,
    /// Interpreters that have imported the reference and the checks of outputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ReferenceServer>,
    /// Files of expected outputs that other workers of the same stage share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedFile>,
}

/// The worker's task with each variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum JobMode {
    Bench(TimingSettings),
    /// Launch inside NVTX ranges only; a reference that needs the device is the exception.
    Profile(ProfiledInputs),
    /// Launch while CUPTI records each launch.
    Activity {
        inputs: ProfiledInputs,
        /// Path of the CUPTI library.
        library: PathBuf,
    },
    /// Time copies of the first variant, from which one cost each is removed, against it. Their outputs are wrong.
    Ablate(AblationSettings),
    /// Launch once under compute-sanitizer, with the declared inputs of a seed.
    Sanitize {
        seed: u64,
    },
    /// Launch and compare outputs bit by bit, on the inputs of a hidden seed.
    Bitwise {
        seed: u64,
        comparisons: Vec<BitwiseComparison>,
    },
}

/// How copies without a cost are timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AblationSettings {
    /// Seed of the inputs.
    pub seed: u64,
    /// Microseconds of samples in all.
    pub budget_us: f64,
    /// The copy of which four evaluations run at once; the code is the first variant's.
    pub side_by_side: Option<VariantId>,
    /// The copy whose blocks end at once.
    pub block_starts: Option<VariantId>,
}

/// Seeds of the inputs of profiled launches: hidden, like those of timed launches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfiledInputs {
    /// A seed for each repeat.
    pub repeats: Vec<u64>,
    /// The seed for the call of a function before the profiled one: another one, unless files give the inputs of a single
    /// seed.
    pub warm_up: u64,
    /// Launches of an empty kernel before all others: what the profiler adds to the duration of every launch. The first
    /// of them loads the kernel. None for a deep profile, whose durations are not judged.
    pub empty_launches: u32,
}

/// A correctness case of one variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckCase {
    pub shape: ShapeName,
    pub seed: u64,
}

/// The laws of every case. A case that is not listed has declared inputs only.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CaseLaws {
    cases: Vec<(CheckCase, Vec<Law>)>,
    /// Whether the phase gives none, so that a law is left out at a shape where the reference has no right answer to it.
    are_suited: bool,
}

impl CaseLaws {
    /// The laws of a workload's cases.
    pub fn new(workload: &Workload) -> Self {
        let cases = workload.shapes.iter().flat_map(|s| workload.seeds.iter().map(|seed| (s.name.clone(), *seed)));
        let laws = cases.map(|(shape, seed)| {
            let laws = workload.laws_of(&shape, seed);
            (CheckCase { shape, seed }, laws)
        });
        Self { cases: laws.collect(), are_suited: workload.laws.are_suited() }
    }

    pub const fn are_suited(&self) -> bool {
        self.are_suited
    }

    /// The laws of a case, at least one.
    pub fn of(&self, shape: &ShapeName, seed: u64) -> Vec<Law> {
        let case = self.cases.iter().find(|(case, laws)| &case.shape == shape && case.seed == seed && !laws.is_empty());
        case.map_or_else(|| vec![Law::Declared], |(_, laws)| laws.clone())
    }
}

/// A variant and its remaining work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobKernel {
    pub variant: VariantId,
    pub cubin: PathBuf,
    pub symbols: EntrySymbols,
    /// The function that replaces the cubin.
    pub function: Option<JobFunction>,
    /// Its program at every shape.
    pub programs: Vec<ShapeProgram>,
    /// Extents of the buffers that differ between variants, by shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extents: Vec<(ShapeName, VariantExtents)>,
    /// Correctness cases to run.
    pub cases: Vec<CheckCase>,
    /// Shapes to time or to profile.
    pub shapes: Vec<ShapeName>,
    /// Why it is not timed, once a case was incorrect by the job's tolerance.
    pub unverified: Option<String>,
}

/// A function over the buffers of a shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobFunction {
    /// A Python file, or a shared object.
    pub file: PathBuf,
    pub name: String,
    /// Values that a Python function receives besides buffers, dimensions and scalars.
    pub params: Vec<(String, Value)>,
    pub language: FunctionLanguage,
    /// The seed under a profiler of a candidate, which could find in its process what another function left.
    #[serde(default)]
    pub profiled: Option<u64>,
}

/// The language of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FunctionLanguage {
    Python,
    /// Host code in a shared object.
    Cpp,
}

impl JobKernel {
    /// Its program at a shape.
    pub fn program(&self, shape: &ShapeName) -> Option<&ShapeProgram> {
        self.programs.iter().find(|program| &program.shape == shape)
    }

    /// The entries that it launches, without duplicates.
    pub fn entries(&self) -> Vec<&str> {
        let all = self.programs.iter().flat_map(ShapeProgram::launches).map(|launch| launch.entry.as_str());
        all.collect::<BTreeSet<&str>>().into_iter().collect()
    }

    /// The extents at a shape of the buffers that differ between variants.
    pub fn extents_at(&self, shape: &ShapeName) -> VariantExtents {
        self.extents.iter().find(|(name, _)| name == shape).map(|(_, own)| own.clone()).unwrap_or_default()
    }

    /// Notes a settled case.
    pub fn note_check(&mut self, record: &CheckRecord, tolerance: &Tolerance) {
        self.cases.retain(|c| c.shape != record.shape || c.seed != record.seed);
        let what = match record.outcome.judged_by(tolerance) {
            CheckOutcome::Correct { .. } => return,
            CheckOutcome::Wrong { reason, .. } => format!("wrong ({reason})"),
            CheckOutcome::Crashed { reason } => format!("crashed ({reason})"),
            CheckOutcome::Skipped { reason } => format!("not checked ({reason})"),
        };
        if self.unverified.is_none() {
            self.unverified = Some(format!("not timed: {what} at {}, seed {}", record.shape, record.seed));
        }
    }
}

impl WorkerJob {
    /// The sources of the cases of its hidden seeds, for the shapes that it times, without those whose cases are known.
    pub(super) fn hidden(
        &self,
        settings: &TimingSettings,
        l2_bytes: u64,
        known: &HashMap<ShapeName, HiddenCases>,
    ) -> HiddenJob {
        let timed = |shape: &&ShapeSpec| {
            let mut kernels = self.kernels.iter();
            kernels.any(|kernel| kernel.unverified.is_none() && kernel.shapes.contains(&shape.name))
        };
        let shapes = self.shapes.iter().filter(timed).filter(|shape| !known.contains_key(&shape.name));
        HiddenJob::new(&self.reference, self.tolerance, shapes, settings.clone(), l2_bytes).sharing(&self.shared)
    }

    /// The functions in a language, by the index of their variant.
    pub fn functions(&self, language: FunctionLanguage) -> impl Iterator<Item = (usize, &JobFunction)> {
        let all = self.kernels.iter().enumerate();
        let functions = all.filter_map(|(index, kernel)| Some((index, kernel.function.as_ref()?)));
        functions.filter(move |(_, function)| function.language == language)
    }

    /// Whether a variant is a Python function.
    pub fn has_functions(&self) -> bool {
        self.functions(FunctionLanguage::Python).next().is_some()
    }

    /// Whether the worker runs host code of a variant.
    pub fn has_host_code(&self) -> bool {
        self.kernels.iter().any(|kernel| kernel.function.is_some())
    }

    pub fn shape(&self, name: &ShapeName) -> Option<&ShapeSpec> {
        self.shapes.iter().find(|s| &s.name == name)
    }

    /// The variant's part of the job.
    pub fn kernel_mut(&mut self, variant: &VariantId) -> Option<&mut JobKernel> {
        self.kernels.iter_mut().find(|k| &k.variant == variant)
    }

    /// Removes a case with a known result from the remaining work; a continued run starts with this.
    pub fn settle_check(&mut self, record: &CheckRecord) {
        let tolerance = self.tolerance;
        if let Some(kernel) = self.kernel_mut(&record.variant) {
            kernel.note_check(record, &tolerance);
        }
    }

    /// Removes a latency with a known result from the remaining work.
    pub fn settle_latency(&mut self, record: &LatencyRecord) {
        if let Some(kernel) = self.kernel_mut(&record.variant) {
            kernel.shapes.retain(|s| s != &record.shape);
            let disqualified = match &record.outcome {
                LatencyOutcome::Cheats { reason, .. } => Some(("cheats", reason)),
                LatencyOutcome::Wrong { reason, .. } => Some(("wrong", reason)),
                LatencyOutcome::Timed { .. } | LatencyOutcome::Failed { .. } => None,
            };
            if let Some((what, reason)) = disqualified
                && kernel.unverified.is_none()
            {
                kernel.unverified = Some(format!("not timed: {what} at {} ({reason})", record.shape));
            }
        }
    }

    /// Removes a traced case from the remaining work.
    pub fn settle_trace(&mut self, variant: &VariantId, shape: &ShapeName) {
        if let Some(kernel) = self.kernel_mut(variant) {
            kernel.shapes.retain(|other| other != shape);
        }
    }

    /// Whether nothing is left to do.
    pub fn is_settled(&self) -> bool {
        self.kernels.iter().all(|k| k.cases.is_empty() && k.shapes.is_empty())
    }
}
