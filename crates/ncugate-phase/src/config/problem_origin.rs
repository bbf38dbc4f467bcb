//! `[imported]`: the other project's names for the problem of a phase.

use ncugate_model::words;

words! {
    word;
    /// A format that problems are read from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ImportFormat {
        /// FlashInfer-Trace: definition, workloads and solutions as JSON.
        FlashInfer = "flashinfer",
        /// KernelBench: `Model`, `get_inputs` and `ModelNew` in Python.
        KernelBench = "kernelbench",
        /// gpu-mode's `task.yml` with its `reference.py`.
        GpuMode = "gpumode",
    }
}

words! {
    word;
    /// gpu-mode's ranking of the submissions of a task: means of its benchmarks.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Ranking {
        Last = "last",
        Mean = "mean",
        Geom = "geom",
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
