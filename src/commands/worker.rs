//! `ncugate worker`: launches kernels for a parent process.

use super::CommandError;
use crate::bench;
use crate::cli::WorkerArgs;
use crate::exit::Outcome;

/// Does the job, or says what GPU is here.
pub fn worker(args: &WorkerArgs) -> Result<Outcome, CommandError> {
    match &args.job {
        Some(job) if !args.probe => bench::work(job)?,
        Some(_) | None => bench::report_device(0)?,
    }
    Ok(Outcome::Passed)
}
