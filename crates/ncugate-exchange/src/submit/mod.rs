//! A phase on a cluster: scripts for an engine that schedules, jobs that follow one another, and what has become of them.
//!
//! Nothing is scheduled here. What is done is seen by files that the scripts leave in the folder of the submission, so that whoever
//! follows it can stop and go on, and no database of the engine has to be asked.

mod engine;
mod error;
mod folder;
mod follow;
mod hyperqueue;
mod script;
mod slurm;
mod stage;
mod text;

pub use engine::Engine;
pub use error::SubmitError;
pub use folder::SubmitFolder;
pub use follow::{Follower, Retries, SubmissionOutcome};
pub use hyperqueue::HyperQueue;
pub use script::Script;
pub use slurm::{Gres, Slurm};
pub use stage::Work;
pub use text::text;
