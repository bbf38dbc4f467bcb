//! Results for other projects, the Python package that holds the formats of their problems, and jobs of Slurm.
//!
//! Deliberately absent: rules of judging, scheduling.

mod evaluation;
mod exported_run;
mod kernel_results;
mod package;
mod slurm;

pub use evaluation::evaluations;
pub use exported_run::{ExportRefusal, ExportedRun};
pub use kernel_results::{kernel_results, problem_number};
pub use package::{PackageError, PackageOutput, run_package};
pub use slurm::{Gres, SlurmError, SlurmJobs, Submission, SubmissionOutcome};
