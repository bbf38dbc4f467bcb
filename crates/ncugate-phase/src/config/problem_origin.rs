//! `[imported]`: the other project's names for the problem of a phase.

/// A format that problems are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    /// FlashInfer-Trace: definition, workloads and solutions as JSON.
    FlashInfer,
    /// KernelBench: `Model`, `get_inputs` and `ModelNew` in Python.
    KernelBench,
    /// gpu-mode's `task.yml` with its `reference.py`.
    GpuMode,
}

impl ImportFormat {
    /// All values by their keyword in a phase.
    pub const WORDS: [(&'static str, Self); 3] =
        [Self::FlashInfer.entry(), Self::KernelBench.entry(), Self::GpuMode.entry()];

    /// The keyword in a phase.
    pub const fn word(self) -> &'static str {
        match self {
            Self::FlashInfer => "flashinfer",
            Self::KernelBench => "kernelbench",
            Self::GpuMode => "gpumode",
        }
    }

    const fn entry(self) -> (&'static str, Self) {
        (self.word(), self)
    }
}

/// gpu-mode's ranking of the submissions of a task: means of its benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranking {
    Last,
    Mean,
    Geom,
}

impl Ranking {
    /// All values by their keyword in a task and in a phase.
    pub const WORDS: [(&'static str, Self); 3] = [Self::Last.entry(), Self::Mean.entry(), Self::Geom.entry()];

    /// The keyword in a task and in a phase.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::Mean => "mean",
            Self::Geom => "geom",
        }
    }

    const fn entry(self) -> (&'static str, Self) {
        (self.word(), self)
    }
}

/// The origin of an imported phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemOrigin {
    /// Its original format.
    pub format: ImportFormat,
    pub problem: String,
    /// The workload behind each shape, by the name of the shape, as JSON.
    pub workloads: Vec<(String, String)>,
    /// The name of the solution behind each variant, by the id of the variant.
    pub solutions: Vec<(String, String)>,
    /// gpu-mode: the ranking of submissions.
    pub ranking: Ranking,
}

impl ProblemOrigin {
    /// The name of the solution behind a variant.
    pub fn solution(&self, variant: &str) -> Option<&str> {
        self.solutions.iter().find(|(id, _)| id == variant).map(|(_, name)| name.as_str())
    }
}
