//! The result of testing a tolerance on wrong answers.

use serde::{Deserialize, Serialize};

/// The result of testing a phase's tolerance on wrong answers before the builds, if it accepted none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum NullTest {
    /// It rejected every wrong answer.
    Held,
    /// The test was not possible, with the reason; the worker tests the tolerance during the checks.
    NotMade { reason: String },
}

impl Default for NullTest {
    /// That of a record without a result: it proves no test.
    fn default() -> Self {
        Self::NotMade { reason: "the run does not record the test".to_owned() }
    }
}
