//! What an engine that schedules can do.

use super::error::SubmitError;
use super::script::Script;
use super::stage::ClusterJob;
use ncugate_model::process::{self, ProcessExit};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

/// How long a command of an engine may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Jobs that have not ended, each with what the engine says of it.
pub type LiveJobs = BTreeMap<ClusterJob, String>;

/// An engine that schedules, spoken to by its own commands.
pub trait Engine {
    /// What people call it.
    fn name(&self) -> &'static str;

    /// Whether a job can be submitted before the one that it needs has ended.
    fn has_dependencies(&self) -> bool;

    /// The lines of a script that are the engine's own.
    fn directives(&self, script: &Script<'_>) -> Vec<String>;

    /// The name of the shell's variable with the number of a task in an array.
    fn task_variable(&self) -> &'static str;

    /// The name of the shell's variable with the number of a job.
    fn job_variable(&self) -> &'static str;

    /// Submits a script; an array for its shards. It starts when `after` has ended well.
    ///
    /// # Errors
    /// The engine refuses.
    fn submit(&self, script: &Script<'_>, after: Option<ClusterJob>) -> Result<ClusterJob, SubmitError>;

    /// The user's jobs that have not ended.
    ///
    /// # Errors
    /// The engine does not answer.
    fn alive(&self) -> Result<LiveJobs, SubmitError>;

    /// Cancels jobs.
    ///
    /// # Errors
    /// The engine refuses.
    fn cancel(&self, jobs: &[ClusterJob]) -> Result<(), SubmitError>;
}

/// Asks a command of an engine; gives what it printed.
pub(super) fn query(command: &mut Command) -> Result<String, SubmitError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |said: String| SubmitError::Engine { command: name.clone(), said };
    let output = process::run_apart(command, LIMIT).map_err(|error| failed(error.to_string()))?;
    match output.ending {
        ProcessExit::Completed => Ok(output.stdout),
        ending => {
            let said = if output.stderr.trim().is_empty() { &output.stdout } else { &output.stderr };
            Err(failed(format!("it {ending}: {}", said.trim())))
        }
    }
}

/// Numbers as ranges: `1-3,7`.
pub(super) fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => parts.push((number, number)),
        }
    }
    let written =
        parts.iter().map(|(start, end)| if start == end { start.to_string() } else { format!("{start}-{end}") });
    written.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_are_written_as_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[4]), "4");
    }
}
