//! What a tolerance says to wrong answers.

use super::{Differences, ShapeName};

/// What a tolerance says to the mutants of its reference.
#[derive(Debug, Clone, PartialEq)]
pub struct MutantTable {
    /// Shapes that were tried.
    pub shapes: Vec<ShapeName>,
    /// Shapes that take too long on the host.
    pub left_out: Vec<ShapeName>,
    /// A row a mutant: its name, what accepting it means, and a cell a shape.
    pub rows: Vec<(&'static str, MutantKind, Vec<MutantOutcome>)>,
}

/// What accepting a mutant means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MutantKind {
    /// No fault at all: it should be accepted.
    Honest,
    /// The tolerance proves nothing.
    Null,
    /// The tolerance cannot see this fault.
    Fault,
}

/// What the tolerance says to a mutant.
#[derive(Debug, Clone, PartialEq)]
pub enum MutantOutcome {
    /// It is within the tolerance under every law.
    Accepted {
        /// How far it is.
        differences: Differences,
    },
    /// It is not.
    Rejected {
        /// How far it is.
        differences: Differences,
        /// Why, and under which law.
        reason: String,
    },
    /// It is the right answer here.
    Equivalent,
}
