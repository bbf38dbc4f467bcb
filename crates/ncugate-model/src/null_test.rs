//! What came of trying a tolerance on wrong answers.

use serde::{Deserialize, Serialize};

/// What came of trying a phase's tolerance on wrong answers before anything was built, where it did not accept one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum NullTest {
    /// Every wrong answer is rejected.
    Held,
    /// It was not made, and why; the worker tries the tolerance where it checks.
    NotMade { reason: String },
}
