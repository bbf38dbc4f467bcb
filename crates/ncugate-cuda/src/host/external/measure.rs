//! Running an external program: its request in a file, its result in a file.

use super::error::ExternalError;
use super::prestarted::PrestartedCommand;
use super::request::{Request, RequestMode, command, request_path};
use super::result::{ExpectedRecords, ExternalRecords};
use crate::host::event::WorkerEvent;
use crate::host::phase_job::cases;
use crate::host::supervisor::SinkError;
use crate::host::tail::tail;
use ncugate_model::VariantId;
use ncugate_model::disk::open;
use ncugate_model::process::{self, ProcessExit, ProcessOutput};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::CommandPlan;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Maximum size of a result, in bytes.
const MAX_RESULT_BYTES: u64 = 64 << 20;
/// Time for a program's start (an interpreter and its libraries), in addition to its cases and samples.
const START_UP_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs the program of `plan`, or its idle prestarted process, and passes its records to `sink`. Request and result are written
/// to `folder`.
pub fn measure(
    phase: &Phase,
    variant: &VariantId,
    plan: &CommandPlan,
    folder: &Path,
    prestarted: Option<PrestartedCommand>,
    sink: &mut dyn FnMut(WorkerEvent) -> Result<(), SinkError>,
) -> Result<ExternalRecords, ExternalError> {
    let request = bench_request(phase, variant, folder)?;
    let ended = match prestarted.and_then(|mut waiting| waiting.settle(Instant::now()).then_some(waiting)) {
        Some(waiting) => Some(waiting.release(&request, limit(phase))?),
        None => start(plan, &request, &request_path(folder), limit(phase))?,
    };
    let expected = ExpectedRecords::new(phase, variant);
    let measured = match result_text(plan, &request, ended)? {
        Ok(text) => expected.records(&text),
        Err(reason) => expected.crashed(&reason),
    };
    let checks = measured.checks.iter().cloned().map(WorkerEvent::Checked);
    let latencies = measured.latencies.iter().cloned().map(WorkerEvent::Timed);
    checks.chain(latencies).try_for_each(sink).map_err(ExternalError::Sink)?;
    Ok(measured)
}

fn limit(phase: &Phase) -> Duration {
    let units = cases(phase).len() + phase.bench.shapes.len();
    START_UP_TIMEOUT + phase.bench.timeout.saturating_mul(u32::try_from(units).unwrap_or(u32::MAX))
}

fn bench_request(phase: &Phase, variant: &VariantId, folder: &Path) -> Result<Request, ExternalError> {
    Request::new(phase, variant, RequestMode::Bench, folder.join("result.json")).ok_or(ExternalError::NoOutput)
}

/// Runs the program of `plan` to its end; none if the command is empty.
fn start(
    plan: &CommandPlan,
    request: &Request,
    path: &Path,
    limit: Duration,
) -> Result<Option<io::Result<ProcessOutput>>, ExternalError> {
    request.write(path)?;
    Ok(command(plan, path).map(|mut command| process::run(&mut command, limit)))
}

/// The text of the result, or why it is missing.
fn result_text(
    plan: &CommandPlan,
    request: &Request,
    ended: Option<io::Result<ProcessOutput>>,
) -> Result<Result<String, String>, ExternalError> {
    let output = match ended {
        None => return Ok(Err("the command is empty".to_owned())),
        Some(Err(error)) => return Ok(Err(format!("cannot start `{}`: {error}", plan.argv.join(" ")))),
        Some(Ok(output)) => output,
    };
    let said = tail(&output.stderr);
    let because = if said.is_empty() { String::new() } else { format!("; its output: {said}") };
    Ok(match output.ending {
        ProcessExit::Completed => {
            result(&request.result).map_err(|e| format!("the program wrote no valid result ({e}){because}"))
        }
        ProcessExit::Interrupted => return Err(ExternalError::Interrupted),
        ProcessExit::NonZero(_) | ProcessExit::Signaled(_) | ProcessExit::TimedOut => {
            Err(format!("the program {}{because}", output.ending))
        }
    })
}

/// Reads the result, which can be any kind of file. A file that is too large for a result is removed.
fn result(path: &Path) -> io::Result<String> {
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() > MAX_RESULT_BYTES) {
        std::fs::remove_file(path)?;
        return Err(io::Error::other(format!("it has more than {MAX_RESULT_BYTES} bytes")));
    }
    String::from_utf8(open::bytes(path, MAX_RESULT_BYTES)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests;
