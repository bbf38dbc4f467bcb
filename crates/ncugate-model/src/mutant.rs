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
    /// `differences`: its distance from the reference.
    Accepted { differences: Differences },
    /// It is not.
    /// `differences`: its distance from the reference.
    /// `reason`: why, and under which law.
    Rejected { differences: Differences, reason: String },
    /// It equals the right answer here.
    Equivalent,
}
