//! External programs as variants: a request in a file, a result in a file, and nothing taken on trust.
//!
//! The program finds the request's path in `NCUGATE_REQUEST`. It reports differences and samples; whether those are
//! within tolerance, and whether they are all there, is judged here.

mod early;

pub use early::Early;

use super::campaign::{SinkError, tail};
use super::compare::broken_bounds;
use super::event::Event;
use super::job::{Case, cases};
use crate::config::{Dtype, Phase, Role, Shape};
use crate::model::VariantId;
use crate::model::{CheckOutcome, CheckRecord, Differences, LatencyOutcome, LatencyRecord};
use crate::model::{ShapeName, Tolerance};
use crate::plan::CommandPlan;
use crate::process::{self, Ending, Output};
use crate::store::open;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Version of the protocol.
pub const PROTOCOL: u32 = 1;
/// The variable that names the request.
pub const REQUEST_VARIABLE: &str = "NCUGATE_REQUEST";
/// What a program may take beside its cases and samples (an interpreter and its libraries starting).
const START_UP: Duration = Duration::from_secs(120);
/// Most bytes of a result.
const RESULT: u64 = 64 << 20;
/// Launches a sample that a program is asked for.
const LAUNCHES: u32 = 20;

/// What Python's `json` writes and JSON does not have.
const NOT_JSON: &str =
    " (NaN and Infinity are not JSON: give differences over finite elements, and count the others as nonfinite)";

/// What a program is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestMode {
    /// Check against its own reference, then time.
    Bench,
    /// Launch once a shape inside the NVTX push range `<variant>@<shape>`.
    Profile,
}

/// The request a program reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// [`PROTOCOL`].
    pub version: u32,
    /// What to do.
    pub mode: RequestMode,
    /// The variant's id.
    pub variant: VariantId,
    /// Element type of the first output.
    pub dtype: Dtype,
    /// Problem sizes.
    pub shapes: Vec<RequestShape>,
    /// Seeds of the inputs.
    pub seeds: Vec<u64>,
    /// The workload's tolerance, for the program's information.
    pub tolerance: Tolerance,
    /// Samples a shape.
    pub rounds: u32,
    /// Launches a sample is to be the mean of.
    pub launches: u32,
    /// Untimed samples before the first.
    pub warmup: u32,
    /// Where to write the result.
    pub result: PathBuf,
}

/// A problem size in a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestShape {
    /// Its name.
    pub name: ShapeName,
    /// Dimensions by name.
    pub dims: BTreeMap<String, i64>,
}

impl Request {
    /// The request of a variant of `phase`: every shape to bench, or those that are profiled; none where the workload
    /// has no output.
    pub fn new(phase: &Phase, variant: &VariantId, mode: RequestMode, result: PathBuf) -> Option<Self> {
        let output = phase.workload.buffers.iter().find(|b| b.role == Role::Output)?;
        let asked = |shape: &&Shape| match mode {
            RequestMode::Bench => true,
            RequestMode::Profile => phase.profile.shapes.contains(&shape.name),
        };
        let shape =
            |shape: &Shape| RequestShape { name: shape.name.clone(), dims: shape.dims.iter().cloned().collect() };
        Some(Self {
            version: PROTOCOL,
            mode,
            variant: variant.clone(),
            dtype: output.dtype,
            shapes: phase.workload.shapes.iter().filter(asked).map(shape).collect(),
            seeds: phase.workload.seeds.clone(),
            tolerance: phase.workload.tolerance,
            rounds: phase.bench.rounds,
            launches: LAUNCHES.min(phase.bench.max_launches.max(1)),
            warmup: phase.bench.warmup,
            result,
        })
    }

    /// Writes the request to `path`, whatever was there, and takes away a result of an earlier one; gives its text.
    pub fn write(&self, path: &Path) -> Result<Vec<u8>, ExternalError> {
        let failed = |source| ExternalError::Request { path: path.to_owned(), source };
        match std::fs::remove_file(&self.result) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        let text = serde_json::to_vec_pretty(self).map_err(|e| failed(e.into()))?;
        let unfinished = path.with_extension("part");
        std::fs::write(&unfinished, &text).and_then(|()| std::fs::rename(&unfinished, path)).map_err(failed)?;
        Ok(text)
    }
}

/// The program of a plan with the request's path in its environment; the profiler starts it the same way.
pub fn command(plan: &CommandPlan, request: &Path) -> Option<Command> {
    let (program, arguments) = plan.argv.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).env(REQUEST_VARIABLE, request);
    Some(command)
}

/// What a program gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
    /// A record a case, all of them.
    pub checks: Vec<CheckRecord>,
    /// A record a timed shape, all of them.
    pub latencies: Vec<LatencyRecord>,
    /// Names and versions of what it used.
    pub software: BTreeMap<String, String>,
}

/// Why a program could not be asked; whatever the program itself does is a result, not an error.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The request cannot be written, or the folder not used.
    #[error("cannot write request {}", path.display())]
    Request {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The workload has no output, so there is nothing to ask for.
    #[error("the workload has no output buffer; give one `role = \"output\"`")]
    NoOutput,
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// What was measured could not be kept.
    #[error("cannot keep what was measured")]
    Sink(#[source] SinkError),
}

/// Runs the program of `plan`, or the one that `early` has waiting for it, and hands its records to `sink`; request and
/// result go into `folder`.
pub fn measure(
    phase: &Phase,
    variant: &VariantId,
    plan: &CommandPlan,
    folder: &Path,
    early: &mut Early,
    sink: &mut dyn FnMut(Event) -> Result<(), SinkError>,
) -> Result<Measured, ExternalError> {
    let request = bench_request(phase, variant, folder)?;
    let ended = match early.take(variant) {
        Some(waiting) => waiting.go(&request, limit(phase))?,
        None => start(plan, &request, &request_path(folder), limit(phase))?,
    };
    let expected = Expected::new(phase, variant);
    let measured = match answer(plan, &request, ended)? {
        Ok(text) => expected.judge(&text),
        Err(reason) => expected.crashed(&reason),
    };
    let checks = measured.checks.iter().cloned().map(Event::Checked);
    let latencies = measured.latencies.iter().cloned().map(Event::Timed);
    checks.chain(latencies).try_for_each(sink).map_err(ExternalError::Sink)?;
    Ok(measured)
}

/// Records that a variant was not measured at all, and why (its build failed, say).
pub fn unmeasured(phase: &Phase, variant: &VariantId, reason: &str) -> Measured {
    Expected::new(phase, variant).skipped(reason)
}

fn limit(phase: &Phase) -> Duration {
    let units = cases(phase).len() + phase.bench.shapes.len();
    START_UP + phase.bench.timeout.saturating_mul(u32::try_from(units).unwrap_or(u32::MAX))
}

fn request_path(folder: &Path) -> PathBuf {
    folder.join("request.json")
}

fn bench_request(phase: &Phase, variant: &VariantId, folder: &Path) -> Result<Request, ExternalError> {
    Request::new(phase, variant, RequestMode::Bench, folder.join("result.json")).ok_or(ExternalError::NoOutput)
}

/// Runs the program of `plan` to its end; none where the command is empty.
fn start(
    plan: &CommandPlan,
    request: &Request,
    path: &Path,
    limit: Duration,
) -> Result<Option<io::Result<Output>>, ExternalError> {
    request.write(path)?;
    Ok(command(plan, path).map(|mut command| process::run(&mut command, limit)))
}

/// The text of the result, or why there is none.
fn answer(
    plan: &CommandPlan,
    request: &Request,
    ended: Option<io::Result<Output>>,
) -> Result<Result<String, String>, ExternalError> {
    let output = match ended {
        None => return Ok(Err("the command is empty".to_owned())),
        Some(Err(error)) => return Ok(Err(format!("cannot start '{}': {error}", plan.argv.join(" ")))),
        Some(Ok(output)) => output,
    };
    let said = tail(&output.stderr);
    let because = if said.is_empty() { String::new() } else { format!("; it said: {said}") };
    Ok(match output.ending {
        Ending::Completed => {
            result(&request.result).map_err(|e| format!("the program left no readable result ({e}){because}"))
        }
        Ending::Interrupted => return Err(ExternalError::Interrupted),
        Ending::NonZero(_) | Ending::Signaled(_) | Ending::TimedOut => {
            Err(format!("the program {}{because}", output.ending))
        }
    })
}

/// Text of a result, which is whatever the program left there.
fn result(path: &Path) -> io::Result<String> {
    String::from_utf8(open::bytes(path, RESULT)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// A program's result as it wrote it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawResult {
    version: u32,
    status: RawStatus,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    software: BTreeMap<String, String>,
    #[serde(default)]
    checks: Vec<RawCheck>,
    #[serde(default)]
    latency: Vec<RawLatency>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawStatus {
    Ok,
    Absent,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCheck {
    shape: ShapeName,
    seed: u64,
    max_abs: f64,
    rel_l2: f64,
    nonfinite: u64,
    compared: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLatency {
    shape: ShapeName,
    unit: String,
    launches: u32,
    samples: Vec<f64>,
}

/// What a variant owes: every case and every timed shape.
struct Expected<'a> {
    variant: &'a VariantId,
    cases: Vec<Case>,
    timed: &'a [ShapeName],
    tolerance: Tolerance,
}

impl<'a> Expected<'a> {
    fn new(phase: &'a Phase, variant: &'a VariantId) -> Self {
        let tolerance = phase.workload.tolerance;
        Self { variant, cases: cases(phase), timed: &phase.bench.shapes, tolerance }
    }

    fn judge(&self, text: &str) -> Measured {
        let raw: RawResult = match serde_json::from_str(text) {
            Ok(raw) => raw,
            Err(error) => {
                let hint = if text.contains("NaN") || text.contains("Infinity") { NOT_JSON } else { "" };
                return self.crashed(&format!("the program's result is not valid: {error}{hint}"));
            }
        };
        if raw.version != PROTOCOL {
            return self.crashed(&format!("the program's result has version {}, expected {PROTOCOL}", raw.version));
        }
        if raw.status == RawStatus::Absent {
            return self
                .skipped(&format!("absent: {}", raw.reason.as_deref().unwrap_or("the program does not say why")));
        }
        if let Some(reason) = self.unknown(&raw) {
            return self.crashed(&format!("the program's result is not valid: {reason}"));
        }
        let checks: Vec<CheckRecord> =
            self.cases.iter().map(|case| self.check(case, self.check_outcome(case, &raw.checks))).collect();
        let unsound = checks.iter().find(|c| !matches!(c.outcome, CheckOutcome::Correct { .. }));
        let unsound = unsound.map(|c| format!("not timed: not correct at {}, seed {}", c.shape, c.seed));
        let latencies = self.timed.iter().map(|shape| {
            let outcome = match &unsound {
                Some(reason) => LatencyOutcome::Failed { reason: reason.clone() },
                None => latency_outcome(shape, &raw.latency),
            };
            self.latency(shape, outcome)
        });
        Measured { latencies: latencies.collect(), checks, software: raw.software }
    }

    /// A shape, seed or repetition in the result that was not asked for.
    fn unknown(&self, raw: &RawResult) -> Option<String> {
        let asked = |c: &RawCheck| self.cases.iter().any(|case| case.shape == c.shape && case.seed == c.seed);
        let check = raw.checks.iter().find(|c| !asked(c));
        let latency = raw.latency.iter().find(|l| !self.cases.iter().any(|case| case.shape == l.shape));
        check
            .map(|c| format!("a check of shape '{}', seed {} was not asked for", c.shape, c.seed))
            .or_else(|| latency.map(|l| format!("a latency of shape '{}' was not asked for", l.shape)))
    }

    fn check_outcome(&self, case: &Case, raw: &[RawCheck]) -> CheckOutcome {
        let mut found = raw.iter().filter(|c| c.shape == case.shape && c.seed == case.seed);
        let crashed = |reason: &str| CheckOutcome::Crashed { reason: format!("the program's result {reason}") };
        let (Some(check), None) = (found.next(), found.next()) else {
            return crashed("does not have this case exactly once");
        };
        let sane = |v: f64| v.is_finite() && v >= 0.0;
        if !sane(check.max_abs) || !sane(check.rel_l2) {
            return crashed("has a difference that is not finite or negative");
        }
        let differences = Differences {
            max_abs: check.max_abs,
            rel_l2: check.rel_l2,
            nonfinite: check.nonfinite,
            compared: check.compared,
        };
        let reasons = broken_bounds(&differences, &self.tolerance);
        if reasons.is_empty() {
            return CheckOutcome::Correct { differences };
        }
        CheckOutcome::Wrong { differences, reason: reasons.join("; ") }
    }

    fn crashed(&self, reason: &str) -> Measured {
        self.all(|| CheckOutcome::Crashed { reason: reason.to_owned() }, reason)
    }

    fn skipped(&self, reason: &str) -> Measured {
        self.all(|| CheckOutcome::Skipped { reason: reason.to_owned() }, reason)
    }

    fn all(&self, outcome: impl Fn() -> CheckOutcome, reason: &str) -> Measured {
        let failed = |shape| self.latency(shape, LatencyOutcome::Failed { reason: reason.to_owned() });
        Measured {
            checks: self.cases.iter().map(|case| self.check(case, outcome())).collect(),
            latencies: self.timed.iter().map(failed).collect(),
            software: BTreeMap::new(),
        }
    }

    fn check(&self, case: &Case, outcome: CheckOutcome) -> CheckRecord {
        CheckRecord { variant: self.variant.clone(), shape: case.shape.clone(), seed: case.seed, outcome }
    }

    fn latency(&self, shape: &ShapeName, outcome: LatencyOutcome) -> LatencyRecord {
        LatencyRecord { variant: self.variant.clone(), shape: shape.clone(), outcome }
    }
}

fn latency_outcome(shape: &ShapeName, raw: &[RawLatency]) -> LatencyOutcome {
    let failed = |reason: &str| LatencyOutcome::Failed { reason: format!("the program's result {reason}") };
    let mut found = raw.iter().filter(|l| &l.shape == shape);
    let (Some(latency), None) = (found.next(), found.next()) else {
        return failed("does not have this latency exactly once");
    };
    if latency.unit != "us" {
        return failed(&format!("gives latency in '{}', expected 'us'", latency.unit));
    }
    if latency.launches == 0 || latency.samples.is_empty() {
        return failed("has no samples");
    }
    if !latency.samples.iter().all(|s| s.is_finite() && *s > 0.0) {
        return failed("has a sample that is not finite and positive");
    }
    LatencyOutcome::Timed { samples: latency.samples.clone(), launches: latency.launches }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
