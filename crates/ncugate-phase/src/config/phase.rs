//! A resolved phase: every default filled in, every name checked.

use super::{KernelTemplate, SearchSettings, Shape, Sweep, VariantSpec, Workload};
use crate::config::{CheckSettings, Gate, GatePlan, ProblemOrigin};
use ncugate_model::expr::{Names, Value};
use ncugate_model::rule::Rule;
use ncugate_model::{Better, ShapeName, words};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The metric that ranks variants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objective {
    /// A metric of the catalogue (`latency_p50`).
    pub metric: String,
    pub better: Better,
    /// The shape at which it is read.
    pub shape: ShapeName,
}

words! {
    name;
    /// Which correct candidate is selected.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Selection {
        /// The best by the objective.
        Best = "best",
        /// The best by the objective among those that pass every required gate; the best of all if none does.
        BestThatPasses = "best that passes",
    }
}

/// How variants are compiled.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct BuildSettings {
    /// nvcc to use instead of the one on `PATH`.
    pub nvcc: Option<PathBuf>,
    /// Architecture (`sm_90`) instead of the GPU's own.
    pub arch: Option<String>,
    /// Python instead of `python3` on `PATH`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<PathBuf>,
    /// Folders in which this Python finds modules ahead of its packages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pythonpath: Vec<PathBuf>,
    /// Packages of this Python with headers for kernels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Folder for build results, instead of the user's. No measurement depends on it.
    #[serde(skip)]
    pub cache: Option<PathBuf>,
}

impl BuildSettings {
    /// The same with the programs of a toolchain.
    #[must_use]
    pub fn of(&self, toolchain: &Toolchain) -> Self {
        let named = |own: &Option<PathBuf>, other: &Option<PathBuf>| own.as_ref().or(other.as_ref()).cloned();
        let (nvcc, python) = (named(&toolchain.nvcc, &self.nvcc), named(&toolchain.python, &self.python));
        Self { nvcc, python, ..self.clone() }
    }

    /// The file of `FILE.py` or of a module (`pkg.mod`), which is in the first folder of `pythonpath`.
    pub fn python_file(&self, named: &str) -> PathBuf {
        let is_module =
            named.split('.').all(|part| part.chars().all(|c| c.is_alphanumeric() || c == '_') && !part.is_empty())
                && Path::new(named).extension().is_none_or(|ending| ending != "py");
        match self.pythonpath.first() {
            Some(folder) if is_module => folder.join(named.replace('.', "/")).with_extension("py"),
            _ => PathBuf::from(named),
        }
    }
}

/// The compilers of one column of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    pub name: String,
    /// nvcc instead of the first toolchain's.
    pub nvcc: Option<PathBuf>,
    /// Python instead of the first toolchain's.
    pub python: Option<PathBuf>,
}

/// The parameter whose value is the toolchain of a variant.
pub const TOOLCHAIN_PARAM: &str = "toolchain";

/// How latency is measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchSettings {
    /// Untimed graph launches before the first sample.
    pub warmup: u32,
    /// Samples per variant and shape; rounds are interleaved over variants.
    pub rounds: u32,
    /// Maximum samples of a confirmation, while noise keeps a required latency gate inconclusive.
    pub max_rounds: u32,
    /// Number of processes of each look of a confirmation; its rounds are split over them.
    pub processes: u32,
    /// Minimum duration of a sample; it determines the number of launches in a graph.
    pub min_sample: Duration,
    /// Maximum launches per graph.
    pub max_launches: u32,
    /// Number of sets of buffers that a graph rotates over.
    pub buffer_sets: u32,
    /// The state of the L2 cache when a launch starts.
    pub l2: L2State,
    /// Whether outputs of timed launches are verified.
    #[serde(skip_serializing_if = "Verification::is_audited")]
    pub verify: Verification,
    /// Time limit of a correctness case or a sample. A slower one is a hang, and its worker is ended.
    pub timeout: Duration,
    pub shapes: Vec<ShapeName>,
}

words! {
    name;
    /// Whether outputs of timed launches are verified.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Verification {
        Audited = "audited",
        /// They are not, and every latency is rejected.
        None = "none",
    }
}

impl Verification {
    /// Whether it is the default.
    pub const fn is_audited(&self) -> bool {
        matches!(self, Self::Audited)
    }
}

words! {
    name;
    /// The state of the L2 cache when a timed launch starts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum L2State {
        /// No data of the launch: the cache was overwritten, and every launch is a separate sample.
        Cold = "cold",
        /// The data that launches on the other sets of buffers left in it.
        Rotate = "rotate",
        /// The data that the previous launch left on the same buffers.
        Warm = "warm",
    }
}

/// Settings of the counter collection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileSettings {
    /// ncu to use instead of the one on `PATH`.
    pub ncu: Option<PathBuf>,
    pub shapes: Vec<ShapeName>,
    /// Metrics to collect in addition to those of gates and report: catalogue names or ncu names.
    pub metrics: Vec<String>,
    /// Time limit of one ncu process.
    pub timeout: Duration,
    /// Launches of each variant and shape (for the spread of counters).
    pub repeat: u32,
    /// The variants to profile again after the selection.
    pub deep_profile: DeepProfileTarget,
}

/// The effect of missing counters: no ncu, no permission, an incompatible driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterPolicy {
    /// Everything else is measured; gates on counters, and on latencies without counters, are inconclusive.
    IfPossible,
    /// The run ends there.
    Required,
}

words! {
    name;
    /// The variants with a deep profile, taken after all measurements for gates.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    pub enum DeepProfileTarget {
        /// The selected variant, and the first baseline that is a kernel of this program.
        Selected = "selected",
        None = "none",
    }
}

impl Phase {
    /// Whether it judges launches of ncu reports from another program, without building or running anything.
    pub fn is_of_reports(&self) -> bool {
        self.workload.is_of_reports()
    }
}

/// A phase: one experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// Its file.
    pub file: PathBuf,
    /// The folder that its paths are relative to; empty for a text without a project.
    pub root: PathBuf,
    /// The file's text, as run.
    pub text: String,
    /// The text of the project's `ncugate.toml`, which provides the settings that the phase omits.
    pub project: Option<String>,
    /// Short name, used for folders.
    pub name: String,
    pub title: String,
    /// The objective of the selection.
    pub objective: Objective,
    /// The rule of the selection among correct candidates.
    pub select: Selection,
    /// Path of the recording: the run in the repository.
    pub recording: Option<PathBuf>,
    /// How variants are compiled.
    pub build: BuildSettings,
    /// The toolchains that build every candidate, the first with the programs of `build`; empty without a comparison.
    pub toolchains: Vec<Toolchain>,
    /// How latency is measured.
    pub bench: BenchSettings,
    /// Settings of the latency measurement.
    pub profile: ProfileSettings,
    /// The effect of missing counters.
    pub counting: CounterPolicy,
    /// Parts of GPU names. One call measures all matching GPUs, each kind separately; empty requires a single kind.
    pub groups: Vec<String>,
    /// Checks in addition to the comparison with the reference.
    pub check: CheckSettings,
    pub workload: Workload,
    /// The swept kernel, if the phase has one.
    pub kernel: Option<KernelTemplate>,
    pub sweep: Sweep,
    /// Its search, if not every combination is built.
    pub search: Option<SearchSettings>,
    /// Variants named one by one.
    pub variants: Vec<VariantSpec>,
    /// The baselines for candidates; the first is the default.
    pub baselines: Vec<VariantSpec>,
    /// Requirements, in the order of the file.
    pub gates: Vec<Gate>,
    /// Tiers, stages, fallback, waivers, preconditions.
    pub gate_plan: GatePlan,
    /// Rules of the diagnosis that the phase adds or replaces.
    pub rules: Vec<Rule>,
    /// The origin of an imported phase. No measurement or verdict depends on it.
    pub imported: Option<ProblemOrigin>,
    /// The base commit with the kernels to compare with.
    pub base: Option<Base>,
    /// Number of SMs of the GPU, once it is known: the value of `sms` in launches.
    pub sms: Option<u32>,
}

impl Phase {
    /// Its flat gates, and those of tiers, stages and the fallback.
    pub fn every_gate(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter().chain(self.gate_plan.gates())
    }

    /// The phase on a GPU with this number of SMs.
    pub fn on_gpu(self, sms: Option<u32>) -> Self {
        Self { sms, ..self }
    }

    /// The names that a launch of a variant with these parameters sees at a shape.
    pub fn launch_scope<'p>(&self, shape: &Shape, params: impl IntoIterator<Item = &'p (String, Value)>) -> Names {
        let sms = (SMS.to_owned(), Value::Int(self.sms.unwrap_or(USUAL_SMS).into()));
        params.into_iter().cloned().chain([sms]).chain(shape.scope()).collect()
    }

    /// Whether a launch, or the size of a buffer in a variant, depends on the number of SMs.
    pub fn names_sms(&self) -> bool {
        let mut extents = self.workload.buffers.iter().flat_map(|buffer| &buffer.shape);
        let sized = extents.any(|extent| extent.names().iter().any(|(name, _)| name == SMS));
        let own = self.variants.iter().chain(&self.baselines).filter_map(|spec| spec.kind.kernel());
        let names = self.kernel.iter().chain(own).any(|kernel| kernel.names(SMS));
        let of_base = self.base.as_ref().is_some_and(|base| match &base.kernels {
            BaseKernels::Of(there) => there.names_sms(),
            BaseKernels::Absent { .. } => false,
        });
        sized || names || of_base
    }

    /// The phase with only these combinations of its sweep as candidates.
    pub fn with_points(self, points: Vec<Vec<(String, Value)>>) -> Self {
        Self { sweep: Sweep { points: Some(points), ..self.sweep }, ..self }
    }
}

/// The number of SMs of the GPU, as launches name it.
pub const SMS: &str = "sms";
/// Its value before the GPU is known: that of an H100 or H200. A measurement needs the GPU's own.
pub const USUAL_SMS: u32 = 132;

/// The name of the base in requirements, and the prefix of its variant ids.
pub const BASE: &str = "base";

/// The base of a change: the candidates of the same phase at another commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    /// The requested reference (`origin/main`).
    pub reference: String,
    /// The commit: the merge base of both.
    pub commit: String,
    /// The folder of its files during the run.
    pub folder: PathBuf,
    pub kernels: BaseKernels,
}

/// The candidates of a base.
#[derive(Debug, Clone, PartialEq)]
pub enum BaseKernels {
    /// Those of the phase at that commit.
    Of(Box<Phase>),
    /// No measurable candidates.
    Absent { reason: String },
}

impl Base {
    /// The label for readers: `origin/main (3f2a91c0b1d2)`.
    pub fn label(&self) -> String {
        format!("{} ({})", self.reference, self.short())
    }

    /// The commit's first twelve digits.
    pub fn short(&self) -> &str {
        self.commit.get(..12).unwrap_or(&self.commit)
    }

    /// Why nothing of it is measured, if so.
    pub fn absent(&self) -> Option<String> {
        match &self.kernels {
            BaseKernels::Of(_) => None,
            BaseKernels::Absent { reason } => Some(format!("the base {} was not measured: {reason}", self.label())),
        }
    }
}
