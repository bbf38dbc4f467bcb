//! The request that an external program reads.

use super::error::ExternalError;
use ncugate_model::Dtype;
use ncugate_model::REQUEST_VARIABLE;
use ncugate_model::{ShapeName, Tolerance, VariantId};
use ncugate_phase::config::{Phase, Shape};
use ncugate_phase::plan::CommandPlan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Version of the protocol.
pub const PROTOCOL: u32 = 1;
/// Launches per sample that are requested from a program.
const LAUNCHES: u32 = 20;

/// The task of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestMode {
    /// Check against its own reference, then time.
    Bench,
    /// Launch once per shape inside the NVTX push range `<variant>@<shape>`.
    Profile,
}

/// The request a program reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// [`PROTOCOL`].
    pub version: u32,
    pub mode: RequestMode,
    pub variant: VariantId,
    /// Element type of the first output.
    pub dtype: Dtype,
    pub shapes: Vec<RequestShape>,
    pub seeds: Vec<u64>,
    /// The workload's tolerance, for the program's information.
    pub tolerance: Tolerance,
    /// Samples per shape.
    pub rounds: u32,
    /// Launches per sample; the sample is their mean.
    pub launches: u32,
    /// Untimed samples before the first.
    pub warmup: u32,
    pub result: PathBuf,
}

/// A problem size in a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestShape {
    pub name: ShapeName,
    pub dims: BTreeMap<String, i64>,
}

impl Request {
    /// The request of a variant of `phase` at every shape; none if the workload has no output. A profiler keeps only the shapes
    /// that it launches.
    pub fn new(phase: &Phase, variant: &VariantId, mode: RequestMode, result: PathBuf) -> Option<Self> {
        let output = phase.workload.buffers.iter().find(|b| b.role.is_compared())?;
        // A phase with external commands has one type at all shapes.
        let dtype = output.dtype.at(phase.workload.shapes.first()?).ok()?;
        let shape =
            |shape: &Shape| RequestShape { name: shape.name.clone(), dims: shape.dims.iter().cloned().collect() };
        Some(Self {
            version: PROTOCOL,
            mode,
            variant: variant.clone(),
            dtype,
            shapes: phase.workload.shapes.iter().map(shape).collect(),
            seeds: phase.workload.seeds.clone(),
            tolerance: phase.workload.tolerance,
            rounds: phase.bench.rounds,
            launches: LAUNCHES.min(phase.bench.max_launches.max(1)),
            warmup: phase.bench.warmup,
            result,
        })
    }

    /// Writes the request to `path`, replacing any file there, and removes an earlier result. Returns the request's text.
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

/// The program of a plan, with the request's path in its environment. The profiler starts it the same way.
pub fn command(plan: &CommandPlan, request: &Path) -> Option<Command> {
    let (program, arguments) = plan.argv.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).env(REQUEST_VARIABLE, request);
    Some(command)
}

/// Path of the request of a program that measures in `folder`.
pub(super) fn request_path(folder: &Path) -> PathBuf {
    folder.join("request.json")
}
