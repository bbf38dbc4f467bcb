//! The results of testing a tolerance on wrong answers.

use super::{Differences, ShapeName};

/// The results of testing a tolerance on mutants of its reference.
#[derive(Debug, Clone, PartialEq)]
pub struct MutantTable {
    /// Tested shapes.
    pub shapes: Vec<ShapeName>,
    /// Shapes that take too long on the host.
    pub left_out: Vec<ShapeName>,
    /// One row per mutant: its name, the meaning of accepting it, and one cell per shape.
    pub rows: Vec<(&'static str, MutantKind, Vec<MutantOutcome>)>,
}

/// The meaning of accepting a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MutantKind {
    /// Not a fault: it should be accepted.
    Honest,
    /// The tolerance proves nothing.
    Null,
    /// The tolerance cannot see this fault.
    Fault,
}

/// The result of testing a tolerance on a mutant.
#[derive(Debug, Clone, PartialEq)]
pub enum MutantOutcome {
    /// It is within the tolerance under every law.
    Accepted {
        /// Its distance from the reference.
        differences: Differences,
    },
    /// It is not.
    Rejected {
        /// Its distance from the reference.
        differences: Differences,
        /// Why, and under which law.
        reason: String,
    },
    /// It equals the right answer here.
    Equivalent,
}
