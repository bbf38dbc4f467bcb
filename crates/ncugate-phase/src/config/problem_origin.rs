//! `[imported]`: what another project calls the problem that a phase was made of.

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
    /// All of them by the word that a phase uses.
    pub const WORDS: [(&'static str, Self); 3] =
        [Self::FlashInfer.entry(), Self::KernelBench.entry(), Self::GpuMode.entry()];

    /// As a phase writes it.
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

/// By what gpu-mode ranks the submissions of a task: means of its benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranking {
    Last,
    Mean,
    Geom,
}

impl Ranking {
    /// All of them by the word that a task and a phase use.
    pub const WORDS: [(&'static str, Self); 3] = [Self::Last.entry(), Self::Mean.entry(), Self::Geom.entry()];

    /// As a task and a phase write it.
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

/// Whose problem a phase was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemOrigin {
    /// The format it was read from.
    pub format: ImportFormat,
    pub problem: String,
    /// The workload behind each shape, by the name of the shape, as JSON.
    pub workloads: Vec<(String, String)>,
    /// The name of the solution behind each variant, by the id of the variant.
    pub solutions: Vec<(String, String)>,
    /// gpu-mode: by what submissions are ranked.
    pub ranking: Ranking,
}

impl ProblemOrigin {
    /// The workload behind a shape.
    pub fn workload(&self, shape: &str) -> Option<&str> {
        self.workloads.iter().find(|(name, _)| name == shape).map(|(_, workload)| workload.as_str())
    }

    /// The name of the solution behind a variant.
    pub fn solution(&self, variant: &str) -> Option<&str> {
        self.solutions.iter().find(|(id, _)| id == variant).map(|(_, name)| name.as_str())
    }
}
