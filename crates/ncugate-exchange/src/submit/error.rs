//! Why a phase cannot be submitted or followed.

use super::stage::SubmissionStage;
use std::io;
use std::path::PathBuf;

/// Why a phase cannot be submitted or followed.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// A command of the engine cannot be started, or refuses.
    #[error("{command}: {said}")]
    Engine { command: String, said: String },
    /// The engine does not answer any more.
    #[error(
        "{command} has failed {times} times in a row: {said}; the jobs may go on, and the same command follows them again"
    )]
    Silent { command: String, times: u32, said: String },
    /// A file of the submission.
    #[error("cannot {what} {}", path.display())]
    File {
        /// What was being done.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A path or option cannot be written into a script.
    #[error("{what} '{value}' cannot be written into a script: {reason}")]
    Unwritable { what: &'static str, value: String, reason: &'static str },
    /// Another process follows the submission.
    #[error("{} is followed by {owner}", folder.display())]
    Held { folder: PathBuf, owner: String },
    /// A stage has failed too often, or for a reason that stays.
    #[error("{stage} failed: {reason}; its output is in {}", logs.display())]
    Failed { stage: SubmissionStage, reason: String, logs: PathBuf },
    /// The user asked to stop.
    #[error("interrupted: {cancelled} were cancelled; what was measured is kept, and the same command goes on")]
    Interrupted {
        /// The jobs, in words.
        cancelled: String,
    },
}
