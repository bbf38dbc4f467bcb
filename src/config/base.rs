//! `[base]`: the kernels of another commit, which a run times beside the phase's own.

use super::Phase;
use std::path::PathBuf;

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
    /// Its candidates.
    pub kernels: BaseKernels,
}

/// The candidates of a base.
#[derive(Debug, Clone, PartialEq)]
pub enum BaseKernels {
    /// Those of the phase as the commit has it.
    Of(Box<Phase>),
    /// None that could be measured.
    Absent {
        /// Why not.
        reason: String,
    },
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
