//! A phase as understood: every default filled in, every name checked.

use super::{KernelTemplate, SearchSettings, Sweep, VariantSpec, Workload};
use crate::config::{Gate, GatePlan, ProblemOrigin, Rule};
use ncugate_model::expr::Value;
use ncugate_model::{Better, ShapeName};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// What the best variant is best at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objective {
    /// A metric of the catalogue (`latency_p50`).
    pub metric: String,
    pub better: Better,
    /// The shape it is read at.
    pub shape: ShapeName,
}

/// Which correct candidate is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// The best by the objective.
    Best,
    /// The best by the objective of those that hold every required gate; the best where none does.
    BestThatPasses,
}

impl Selection {
    /// All of them by the word that a phase uses.
    pub const WORDS: [(&'static str, Self); 2] = [("best", Self::Best), ("best that passes", Self::BestThatPasses)];
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
    /// Folder that keeps what was built, instead of the user's. It decides nothing that is measured.
    #[serde(skip)]
    pub cache: Option<PathBuf>,
}

/// How latency is measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchSettings {
    /// Untimed graph launches before the first sample.
    pub warmup: u32,
    /// Samples a variant and shape; rounds are interleaved over variants.
    pub rounds: u32,
    /// Samples at most of a confirmation, while noise leaves a required latency gate open.
    pub max_rounds: u32,
    /// Processes that an external command is started as for a confirmation; its rounds are split over them.
    pub processes: u32,
    /// A sample lasts at least this long: a graph holds as many launches as that takes.
    pub min_sample: Duration,
    /// Most launches in one graph.
    pub max_launches: u32,
    /// Sets of buffers a graph rotates over.
    pub buffer_sets: u32,
    /// What the L2 cache holds when a launch starts.
    pub l2: L2State,
    /// Whether outputs of timed launches are verified.
    #[serde(skip_serializing_if = "Verification::is_audited")]
    pub verify: Verification,
    /// A correctness case or a sample that takes longer is a hang, and its worker is ended.
    pub timeout: Duration,
    pub shapes: Vec<ShapeName>,
}

/// Whether outputs of timed launches are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    Audited,
    /// They are not, and no latency counts.
    None,
}

impl Verification {
    /// All of them by the word that a phase uses.
    pub const WORDS: [(&'static str, Self); 2] = [("audited", Self::Audited), ("none", Self::None)];

    /// Whether it is what every phase asks for that says nothing else.
    pub const fn is_audited(&self) -> bool {
        matches!(self, Self::Audited)
    }
}

/// What the L2 cache holds when a timed launch starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum L2State {
    /// Nothing of the launch: it was written over, and every launch is a sample of its own.
    Cold,
    /// What launches on the other sets of buffers have left of it.
    Rotate,
    /// What the launch before it has left on the same buffers.
    Warm,
}

impl L2State {
    /// All of them by the word that a phase uses.
    pub const WORDS: [(&'static str, Self); 3] = [("cold", Self::Cold), ("rotate", Self::Rotate), ("warm", Self::Warm)];
}

/// How counters are collected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileSettings {
    /// ncu to use instead of the one on `PATH`.
    pub ncu: Option<PathBuf>,
    pub shapes: Vec<ShapeName>,
    /// Metrics to collect beside those that gates and report use: catalogue names or ncu names.
    pub metrics: Vec<String>,
    /// One ncu process may take this long.
    pub timeout: Duration,
    /// Launches of each variant and shape (spread of counters).
    pub repeat: u32,
    /// What is profiled once more when the selected variant is known.
    pub deep_profile: DeepProfileTarget,
}

/// What happens where no counters can be collected: no ncu, no permission, a driver that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterPolicy {
    /// Everything else is measured; gates on counters, and on latencies that no counter saw, are inconclusive.
    IfPossible,
    /// The run ends there.
    Required,
}

/// What a deep profile is taken of, after everything that gates judge has been measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum DeepProfileTarget {
    /// The selected variant, and the first baseline that is a kernel of this program.
    Selected,
    None,
}

impl DeepProfileTarget {
    /// All of them by the word that a phase uses.
    pub const WORDS: [(&'static str, Self); 2] = [("selected", Self::Selected), ("none", Self::None)];
}

impl Phase {
    /// Whether it judges launches of ncu reports that another program made, and nothing is built or run for it.
    pub fn is_of_reports(&self) -> bool {
        self.workload.is_of_reports()
    }
}

/// A phase: one experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// The file it was read from.
    pub file: PathBuf,
    /// The folder that its paths are relative to; empty for a text that belongs to no project.
    pub root: PathBuf,
    /// The file's text, as run.
    pub text: String,
    /// The text of the project's `ncugate.toml`, whose settings are those of the phase where it has none of its own.
    pub project: Option<String>,
    /// Short name, used for folders.
    pub name: String,
    pub title: String,
    /// What the selected variant is best at.
    pub objective: Objective,
    /// Which of the correct candidates it is.
    pub select: Selection,
    /// Where the run kept in the repository is.
    pub recording: Option<PathBuf>,
    /// How variants are compiled.
    pub build: BuildSettings,
    /// How latency is measured.
    pub bench: BenchSettings,
    /// How counters are collected.
    pub profile: ProfileSettings,
    /// What happens where they cannot be collected.
    pub counting: CounterPolicy,
    /// Parts of the names of GPUs that one call measures, each kind by itself; none: they have to be of one kind.
    pub groups: Vec<String>,
    pub workload: Workload,
    /// The swept kernel, if the phase has one.
    pub kernel: Option<KernelTemplate>,
    pub sweep: Sweep,
    /// How it is searched, where not every combination is built.
    pub search: Option<SearchSettings>,
    /// Variants named one by one.
    pub variants: Vec<VariantSpec>,
    /// What candidates are compared with; the first is the default.
    pub baselines: Vec<VariantSpec>,
    /// Requirements, in the order of the file.
    pub gates: Vec<Gate>,
    /// Tiers, stages, fallback, waivers, preconditions.
    pub gate_plan: GatePlan,
    /// Rules of the diagnosis that the phase adds or replaces.
    pub rules: Vec<Rule>,
    /// Whose problem it was made of, where it was imported. Nothing that is measured or judged depends on it.
    pub imported: Option<ProblemOrigin>,
    /// The kernels of another commit that a run compares with.
    pub base: Option<Base>,
}

impl Phase {
    /// Its own gates, and those of tiers, stages and the fallback.
    pub fn every_gate(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter().chain(self.gate_plan.gates())
    }

    /// The phase with these combinations of its sweep as candidates, whatever else the sweep has.
    pub fn with_points(self, points: Vec<Vec<(String, Value)>>) -> Self {
        Self { sweep: Sweep { points: Some(points), ..self.sweep }, ..self }
    }
}

/// How requirements name the base, and how ids of its variants begin.
pub const BASE: &str = "base";

/// What a change is compared with: the candidates of the same phase at another commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    /// What was asked for (`origin/main`).
    pub reference: String,
    /// The commit, which is the last one that both have in common.
    pub commit: String,
    /// Where its files are while the run measures.
    pub folder: PathBuf,
    pub kernels: BaseKernels,
}

/// The candidates of a base.
#[derive(Debug, Clone, PartialEq)]
pub enum BaseKernels {
    /// Those of the phase as the commit has it.
    Of(Box<Phase>),
    /// None that could be measured.
    Absent { reason: String },
}

impl Base {
    /// What people are told: `origin/main (3f2a91c0b1d2)`.
    pub fn label(&self) -> String {
        format!("{} ({})", self.reference, self.short())
    }

    /// The commit's first twelve digits.
    pub fn short(&self) -> &str {
        self.commit.get(..12).unwrap_or(&self.commit)
    }

    /// Why nothing of it is measured, where that is so.
    pub fn absent(&self) -> Option<String> {
        match &self.kernels {
            BaseKernels::Of(_) => None,
            BaseKernels::Absent { reason } => Some(format!("the base {} was not measured: {reason}", self.label())),
        }
    }
}
