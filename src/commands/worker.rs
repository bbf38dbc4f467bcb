//! `ncugate worker`: launches kernels for a parent process.

use super::CommandError;
use crate::cli::WorkerArgs;
use crate::exit::Outcome;
use ncugate_cuda::host;

/// Runs the job, or describes the GPU.
pub fn worker(args: &WorkerArgs) -> Result<Outcome, CommandError> {
    if let Some(python) = &args.activity {
        host::report_activity(python, args.launch)?;
        return Ok(Outcome::Passed);
    }
    match &args.job {
        _ if args.launch => host::launch_once()?,
        Some(job) if !args.probe => match &args.preload {
            Some(preload) => host::work_ahead(preload, job)?,
            None => host::work(job)?,
        },
        Some(_) | None => host::report_devices()?,
    }
    Ok(Outcome::Passed)
}
