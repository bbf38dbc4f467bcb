//! Whom a gate judges, and what its verdict counts for.

use serde::{Deserialize, Serialize};

/// Which variants a gate judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The one the objective selected.
    Selected,
    /// Every candidate.
    Each,
    /// At least one correct candidate.
    Any,
    /// Every candidate whose id matches the glob.
    Matching(String),
}

/// What a gate's failure means for the phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The phase fails.
    Required,
    /// The report says so.
    Advisory,
}

/// What an inconclusive verdict of a required gate counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnInconclusive {
    /// Inconclusive (status 4).
    #[default]
    Inconclusive,
    /// A failure (status 1).
    Fail,
    /// A warning; only where noise is the reason, never where something is missing.
    Warn,
}
