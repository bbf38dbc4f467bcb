//! Kernels in Python, compiled by Triton: one process of the user's Python compiles all that the cache does not have. It
//! needs neither a GPU nor PyTorch.

use super::cache::{Artifact, Cache, CacheError, CacheInputs, Compiled, MAX_SOURCE};
use super::compile::{Attempt, Builder};
use super::digest::{Digest, sha256};
use super::error::BuildError;
use super::message::unreadable;
use super::sorted::PlannedKernel;
use crate::disk::open;
use crate::model::CompiledLaunch;
use crate::plan::{KernelCode, KernelPlan, TritonKernel};
use crate::process::{self, Ending};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// The program that calls Triton.
const PROGRAM: &str = include_str!("triton_compiler.py");
/// Python says its version at once; on a cold disk that takes some seconds.
const VERSION_LIMIT: Duration = Duration::from_secs(60);
/// All kernels of a phase may take this long.
const LIMIT: Duration = Duration::from_secs(3600);
/// Most lines of an error that are kept.
const LINES: usize = 20;

/// A Python with Triton.
struct Triton<'a> {
    python: &'a Path,
    program: PathBuf,
    cache: PathBuf,
    versions: Versions,
}

#[derive(Debug, Clone, Deserialize)]
struct Versions {
    python: String,
    triton: Option<String>,
}

/// What the program is asked to do.
#[derive(Serialize)]
struct Request<'a> {
    capability: u32,
    processes: usize,
    units: Vec<&'a UnitRequest>,
}

/// A kernel to compile.
#[derive(Debug, Clone, Serialize)]
struct UnitRequest {
    unit: usize,
    source: PathBuf,
    function: String,
    signature: Vec<String>,
    constants: Vec<(String, serde_json::Value)>,
    cubin: PathBuf,
}

/// What the program says of a kernel.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Answer {
    Compiled { unit: usize, threads: u32, dynamic_shared: u32, workspace: Vec<u64>, files: Vec<PathBuf> },
    Failed { unit: usize, error: String },
}

/// A kernel that the cache does not have.
struct Missing<'p> {
    placed: PlannedKernel<'p>,
    inputs: CacheInputs,
    request: UnitRequest,
}

/// What takes the result of a kernel as soon as it is known.
type Sink<'s> = dyn FnMut(usize, &KernelPlan, &Attempt) -> Result<(), BuildError> + 's;

impl Builder<'_> {
    /// Compiles kernels of Triton, and hands each result to `done`.
    ///
    /// # Errors
    /// There is no Triton, the cache cannot be used, or `done` fails.
    pub(super) fn compile_by_triton(
        &self,
        kernels: &[PlannedKernel<'_>],
        done: &mut Sink<'_>,
    ) -> Result<(), BuildError> {
        if kernels.is_empty() {
            return Ok(());
        }
        let triton = Triton::find(&self.python, self.cache)?;
        self.software.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(triton.software());
        let mut missing = Vec::new();
        for &(index, kernel) in kernels {
            let KernelCode::Triton(about) = &kernel.code else { continue };
            let key = match open::named(&kernel.source, MAX_SOURCE) {
                Ok(source) => triton.key(kernel, about, &source, &self.arch.to_string()),
                Err(error) => {
                    done(index, kernel, &Err(unreadable(&kernel.source, &error)))?;
                    continue;
                }
            };
            match self.cache.lookup(&key) {
                Some(artifact) => {
                    self.note_read(&artifact);
                    done(index, kernel, &Ok(artifact))?;
                }
                None => {
                    let request = UnitRequest {
                        unit: index,
                        source: kernel.source.clone(),
                        function: function(kernel).to_owned(),
                        signature: about.signature.clone(),
                        constants: constants(about),
                        cubin: self.cache.temporary(),
                    };
                    missing.push(Missing { placed: (index, kernel), inputs: key, request });
                }
            }
        }
        self.compile_missing(&triton, missing, done)
    }

    /// All together first; what then has no answer (its process crashed, and took others along) by itself.
    fn compile_missing(
        &self,
        triton: &Triton<'_>,
        missing: Vec<Missing<'_>>,
        done: &mut Sink<'_>,
    ) -> Result<(), BuildError> {
        let processes = std::thread::available_parallelism().map_or(1, usize::from);
        let mut left = self.compile_batch(triton, missing, processes, done)?.0;
        while let Some(one) = left.pop() {
            let (index, kernel) = one.placed;
            let (unanswered, said) = self.compile_batch(triton, vec![one], 1, done)?;
            if !unanswered.is_empty() {
                done(index, kernel, &Err(said))?;
            }
        }
        Ok(())
    }

    /// Compiles in one process; gives what it did not answer for, and what it said at its end.
    fn compile_batch<'p>(
        &self,
        triton: &Triton<'_>,
        batch: Vec<Missing<'p>>,
        processes: usize,
        done: &mut Sink<'_>,
    ) -> Result<(Vec<Missing<'p>>, String), BuildError> {
        if batch.is_empty() {
            return Ok((batch, String::new()));
        }
        let capability = self.arch.capability();
        let units = batch.iter().map(|missing| &missing.request).collect();
        let capability = 10 * capability.major + capability.minor;
        let request = Request { capability, processes, units };
        let started = SystemTime::now();
        let (answers, said) = triton.run(&request, &self.cache.temporary())?;
        let mut answers: BTreeMap<usize, Answer> = answers.into_iter().map(|a| (a.unit(), a)).collect();
        let mut unanswered = Vec::new();
        for missing in batch {
            let (index, kernel) = missing.placed;
            match answers.remove(&index) {
                Some(answer) => done(index, kernel, &self.taken(&missing, answer, started)?)?,
                None => unanswered.push(missing),
            }
        }
        Ok((unanswered, said))
    }

    /// An answer's cubin in the cache.
    fn taken(&self, missing: &Missing<'_>, answer: Answer, started: SystemTime) -> Result<Attempt, BuildError> {
        let (launch, files) = match answer {
            Answer::Failed { error, .. } => return Ok(Err(error)),
            Answer::Compiled { threads, dynamic_shared, workspace, files, .. } => {
                (CompiledLaunch { threads, dynamic_shared, workspace }, files)
            }
        };
        let compiled = Compiled {
            cubin: &missing.request.cubin,
            includes: files,
            log: String::new(),
            started,
            launch: Some(launch),
        };
        match self.cache.store(&missing.inputs, compiled) {
            Ok(artifact) => {
                self.note_read(&artifact);
                Ok(Ok::<Artifact, String>(artifact))
            }
            Err(CacheError::Cache(error)) => Err(error),
            Err(changed @ CacheError::Changed(_)) => Ok(Err(changed.to_string())),
        }
    }
}

impl Answer {
    const fn unit(&self) -> usize {
        match self {
            Self::Compiled { unit, .. } | Self::Failed { unit, .. } => *unit,
        }
    }
}

impl<'a> Triton<'a> {
    fn find(python: &'a Path, cache: &Cache) -> Result<Self, BuildError> {
        let none = |reason: String| BuildError::NoTriton { python: python.to_owned(), reason };
        let program = cache.program(PROGRAM)?;
        let output = process::run(Command::new(python).arg(&program).arg("--version"), VERSION_LIMIT)
            .map_err(|error| none(format!("it cannot be started ({error})")))?;
        if output.ending == Ending::Interrupted {
            return Err(BuildError::Interrupted);
        }
        let versions: Versions = serde_json::from_str(&output.stdout)
            .map_err(|_| none(format!("it {} and did not say its version", output.ending)))?;
        if versions.triton.is_none() {
            return Err(none("it has no Triton".to_owned()));
        }
        Ok(Self { python, program, cache: cache.folder("triton"), versions })
    }

    fn software(&self) -> [(String, String); 2] {
        let triton = self.versions.triton.clone().unwrap_or_default();
        [("triton".to_owned(), triton), ("python".to_owned(), self.versions.python.clone())]
    }

    /// The key of a kernel before it is known what its module imports.
    fn key(&self, kernel: &KernelPlan, about: &TritonKernel, source: &[u8], arch: &str) -> CacheInputs {
        let mut environment: Vec<String> = env::vars()
            .filter(|(name, _)| name.starts_with("TRITON_") && name != "TRITON_CACHE_DIR")
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        environment.sort_unstable();
        let constants = constants(about).into_iter().map(|(name, value)| format!("{name}={value}"));
        let digest = Digest::default()
            .part("triton")
            .part(sha256(PROGRAM.as_bytes()))
            .list(self.software().iter().map(|(_, version)| version))
            .part(arch)
            .part(kernel.source.as_os_str().as_encoded_bytes())
            .part(source)
            .part(function(kernel))
            .list(about.signature.iter())
            .list(constants.collect::<Vec<_>>().iter())
            .list(environment.iter());
        Cache::key(digest)
    }

    /// Runs the program; gives its answers, and what it said at its end.
    fn run(&self, request: &Request<'_>, path: &Path) -> Result<(Vec<Answer>, String), BuildError> {
        let failed = |source| BuildError::Cache { path: path.to_owned(), source };
        let text = serde_json::to_vec(request).map_err(|error| failed(error.into()))?;
        fs::write(path, text).map_err(failed)?;
        let mut command = Command::new(self.python);
        command.arg(&self.program).arg(path).env("TRITON_CACHE_DIR", &self.cache);
        let output = process::run_whole(&mut command, LIMIT)
            .map_err(|source| BuildError::Start { path: self.python.to_owned(), source })?;
        let _ = fs::remove_file(path);
        if output.ending == Ending::Interrupted {
            return Err(BuildError::Interrupted);
        }
        let answers = output.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let lines: Vec<&str> = output.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        let said = format!("Triton's compiler {}{}{last}", output.ending, if last.is_empty() { "" } else { "\n" });
        Ok((answers, said))
    }
}

/// The function that is compiled.
fn function(kernel: &KernelPlan) -> &str {
    kernel.entries().first().copied().unwrap_or_default()
}

/// The constants as JSON has them.
fn constants(kernel: &TritonKernel) -> Vec<(String, serde_json::Value)> {
    let json = |value: &crate::expr::Value| match value {
        crate::expr::Value::Int(value) => serde_json::Value::from(*value),
        crate::expr::Value::Float(value) => serde_json::Value::from(*value),
        crate::expr::Value::Bool(value) => serde_json::Value::from(*value),
        crate::expr::Value::Text(value) => serde_json::Value::from(value.as_str()),
    };
    kernel.constants.iter().map(|(name, value)| (name.clone(), json(value))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
