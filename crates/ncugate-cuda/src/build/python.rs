//! Kernels in Python, compiled by Triton, Numba or CuTe DSL. One process of the user's Python compiles all kernels that are not
//! in the cache, without a GPU. The program (`python/ncugate_compile.py`) selects the compiler of each function.

use super::build_work::PlannedKernel;
use super::cache::{Artifact, Cache, CacheInputs, CompilerOutput, MAX_SOURCE};
use super::compile::{Builder, CompileResult};
use super::error::{BuildError, CompileFault};
use super::message::unreadable;
use super::nvcc::CompileUnit;
use crate::python_environment::{IMPORTER, PythonEnvironment};
use ncugate_model::digest::{Digest, sha256};
use ncugate_model::disk::open;
use ncugate_model::expr::Value;
use ncugate_model::process::{self, ProcessExit};
use ncugate_model::{CompiledLaunch, EntrySymbols};
use ncugate_phase::config::{CodeForm, Phase};
use ncugate_phase::plan::{
    Arg, CompilationsByValue, EntryByValue, KernelCode, KernelLaunch, KernelPlan, LaunchKey, PythonKernel, ScalarValue,
    ShapeProgram, extents,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The program that calls the compilers, with a file for each of them.
const PROGRAM: [(&str, &str); 6] = [
    ("ncugate_compile.py", include_str!("python/ncugate_compile.py")),
    ("ncugate_triton.py", include_str!("python/ncugate_triton.py")),
    ("ncugate_numba.py", include_str!("python/ncugate_numba.py")),
    ("ncugate_cute.py", include_str!("python/ncugate_cute.py")),
    ("ncugate_sources.py", include_str!("python/ncugate_sources.py")),
    IMPORTER,
];
/// Python prints its version at once; on a cold disk that takes some seconds.
const VERSION_LIMIT: Duration = Duration::from_secs(60);
/// Time limit for all kernels of a phase.
const LIMIT: Duration = Duration::from_secs(3600);
/// Maximum number of lines of an error.
const LINES: usize = 20;
/// Prefixes of variables that change the compilers' behaviour; the last two tell Numba where NVVM is.
const ENVIRONMENT: [&str; 6] = ["TRITON_", "NUMBA_", "CUTE_DSL_", "CUTLASS_", "CUDA_HOME", "CUDA_PATH"];
/// First bytes of machine code; other code is PTX.
const ELF: &[u8] = b"\x7fELF";
/// Flags for assembling PTX. Line tables are kept if the compiler wrote them.
const PTX_FLAGS: [&str; 2] = ["-O3", "-lineinfo"];

/// A Python with at least one of the compilers.
struct Compilers<'a> {
    python: &'a PythonEnvironment,
    program: PathBuf,
    cache: PathBuf,
    versions: PythonVersions,
}

#[derive(Debug, Clone, Deserialize)]
struct PythonVersions {
    python: String,
    packages: BTreeMap<String, String>,
}

/// The request to the program.
#[derive(Serialize)]
struct Request<'a> {
    capability: u32,
    arch: String,
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
    launched: Vec<String>,
    given: Vec<LaunchKey>,
    /// Compilations of the function, if there are several in one cubin.
    entries: Vec<EntryRequest>,
    launches: Vec<LaunchRequest>,
    /// Path for the machine code or PTX.
    code: PathBuf,
}

/// A compilation of a function, and the name of its entry.
#[derive(Debug, Clone, Serialize)]
struct EntryRequest {
    entry: String,
    signature: Vec<String>,
    constants: Vec<(String, serde_json::Value)>,
}

/// A launch at a shape, as in the phase.
#[derive(Debug, Clone, Serialize)]
struct LaunchRequest {
    shape: String,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    args: Vec<ArgRequest>,
}

/// An argument at a shape.
#[derive(Debug, Clone, Serialize)]
struct ArgRequest {
    name: String,
    /// The extents of a whole buffer.
    extents: Option<Vec<u64>>,
    /// Bytes of an element of a buffer.
    element_bytes: u64,
    /// Bytes of a buffer from the argument's address to its end.
    bytes: u64,
    value: Option<serde_json::Value>,
}

/// The form of the code that the program wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    Cubin,
    Ptx,
}

/// The program's answer for a kernel.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Answer {
    Compiled {
        unit: usize,
        form: Form,
        launch: CompiledLaunch,
        symbol: Option<String>,
        files: Vec<PathBuf>,
        /// The extension modules among the files, with their times when they were loaded: an import can build one.
        #[serde(default)]
        loaded: BTreeMap<PathBuf, u64>,
    },
    Failed {
        unit: usize,
        error: String,
        /// Whether a module cannot be imported, which is no matter of the variant.
        #[serde(default)]
        import_failed: bool,
    },
}

/// A kernel that is not in the cache.
struct UncachedKernel<'p> {
    placed: PlannedKernel<'p>,
    inputs: CacheInputs,
    request: UnitRequest,
}

/// Receives the result of a kernel as soon as it is known.
type Sink<'s> = dyn FnMut(usize, &KernelPlan, &CompileResult) -> Result<(), BuildError> + 's;

impl Builder<'_> {
    /// Compiles kernels in Python, and passes each result to `done`.
    ///
    /// # Errors
    /// No compiler was found, the cache cannot be used, or `done` fails.
    pub(super) fn compile_by_python(
        &self,
        kernels: &[PlannedKernel<'_>],
        done: &mut Sink<'_>,
    ) -> Result<(), BuildError> {
        if kernels.is_empty() {
            return Ok(());
        }
        let compilers = Compilers::find(&self.python, self.cache)?;
        self.software.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(compilers.software());
        let mut missing = Vec::new();
        for &(index, kernel) in kernels {
            let KernelCode::Python(about) = &kernel.code else { continue };
            let launches = launches(self.phase, kernel, about);
            let key = match open::named(&kernel.source, MAX_SOURCE) {
                Ok(source) => compilers.key((kernel, about, &launches), &source, &self.arch.to_string()),
                Err(error) => {
                    done(index, kernel, &Err(unreadable(&kernel.source, &error)))?;
                    continue;
                }
            };
            match self.cache.lookup(&key) {
                Some(artifact) => {
                    self.note_read(&artifact);
                    done(index, kernel, &CompileFault::apart(self.assembled(artifact))?)?;
                }
                None => {
                    let request = UnitRequest {
                        unit: index,
                        source: kernel.source.clone(),
                        function: function(kernel).to_owned(),
                        signature: about.signature.clone(),
                        constants: constants(&about.constants),
                        entries: entries(about),
                        launched: about.launched.clone(),
                        given: about.given.clone(),
                        launches,
                        code: self.cache.temporary(),
                    };
                    missing.push(UncachedKernel { placed: (index, kernel), inputs: key, request });
                }
            }
        }
        self.compile_missing(&compilers, missing, done)
    }

    /// Compiles all kernels together first. Kernels without an answer, for example because the process crashed, are then
    /// compiled alone.
    fn compile_missing(
        &self,
        compilers: &Compilers<'_>,
        missing: Vec<UncachedKernel<'_>>,
        done: &mut Sink<'_>,
    ) -> Result<(), BuildError> {
        let mut left = self.compile_batch(compilers, missing, process::cores(), done)?.0;
        while let Some(one) = left.pop() {
            let (index, kernel) = one.placed;
            let (unanswered, said) = self.compile_batch(compilers, vec![one], 1, done)?;
            if !unanswered.is_empty() {
                done(index, kernel, &Err(said))?;
            }
        }
        Ok(())
    }

    /// Compiles in one process. Returns the kernels without an answer, and the last output of the process.
    fn compile_batch<'p>(
        &self,
        compilers: &Compilers<'_>,
        batch: Vec<UncachedKernel<'p>>,
        processes: usize,
        done: &mut Sink<'_>,
    ) -> Result<(Vec<UncachedKernel<'p>>, String), BuildError> {
        if batch.is_empty() {
            return Ok((batch, String::new()));
        }
        let capability = self.arch.capability();
        let units = batch.iter().map(|missing| &missing.request).collect();
        let capability = 10 * capability.major + capability.minor;
        let request = Request { capability, arch: self.arch.to_string(), processes, units };
        let started = SystemTime::now();
        let (answers, said) = compilers.run(&request, &self.cache.temporary())?;
        let mut answers: BTreeMap<usize, Answer> = answers.into_iter().map(|a| (a.unit(), a)).collect();
        let (mut unanswered, mut unimported) = (Vec::new(), None);
        for missing in batch {
            let (index, kernel) = missing.placed;
            match answers.remove(&index) {
                Some(Answer::Failed { error: reason, import_failed: true, .. }) => {
                    unimported.get_or_insert(BuildError::PythonImport { path: kernel.source.clone(), reason });
                }
                Some(answer) => {
                    done(index, kernel, &CompileFault::apart(self.cache_answer(&missing, answer, started))?)?
                }
                None => unanswered.push(missing),
            }
        }
        unimported.map_or(Ok((unanswered, said)), Err)
    }

    /// Stores an answer's code in the cache.
    fn cache_answer(
        &self,
        missing: &UncachedKernel<'_>,
        answer: Answer,
        started: SystemTime,
    ) -> Result<Artifact, CompileFault> {
        let (launch, symbol, files, loaded) = match answer {
            Answer::Failed { error, .. } => return Err(error.into()),
            Answer::Compiled { launch, symbol, files, form, loaded, .. } => {
                let mut head = [0; ELF.len()];
                let file = fs::File::open(&missing.request.code);
                let is_machine_code = file.and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *ELF;
                if is_machine_code != (form == Form::Cubin) {
                    return Err("the compiler wrote another kind of code than it reported".to_owned().into());
                }
                (launch, symbol, files, loaded)
            }
        };
        let entry = &missing.request.function;
        let symbol = symbol.filter(|symbol| symbol != entry).map(|symbol| (entry.clone(), symbol));
        check(&launch, missing.placed.1)?;
        let compiled = CompilerOutput {
            cubin: &missing.request.code,
            includes: files,
            absent: Some(BTreeSet::new()),
            loaded,
            log: String::new(),
            symbols: EntrySymbols(symbol.into_iter().collect()),
            started,
            launch: Some(launch),
        };
        let artifact = self.stored(&missing.inputs, compiled)?;
        self.note_read(&artifact);
        self.assembled(artifact)
    }

    /// The machine code. PTX is assembled by nvcc, like PTX from a phase.
    fn assembled(&self, artifact: Artifact) -> Result<Artifact, CompileFault> {
        if artifact.bytes.starts_with(ELF) {
            return Ok(artifact);
        }
        let unit = CompileUnit {
            source: self.cache.text(&artifact.bytes, "ptx")?,
            code: CodeForm::Ptx,
            flags: PTX_FLAGS.map(str::to_owned).to_vec(),
            ..CompileUnit::default()
        };
        let made = self.cached(&unit)?;
        Ok(Artifact {
            launch: artifact.launch,
            symbols: artifact.symbols,
            includes: artifact.includes,
            absent: artifact.absent,
            cached: made.cached && artifact.cached,
            ..made
        })
    }
}

/// Why the launches that a compiler reports for its kernel do not match the phase.
fn check(launch: &CompiledLaunch, kernel: &KernelPlan) -> Result<(), String> {
    let KernelCode::Python(about) = &kernel.code else { return Ok(()) };
    let lacks = |key| !about.given.contains(&key);
    match launch {
        CompiledLaunch::Everywhere { .. } | CompiledLaunch::ByEntry { .. } if lacks(LaunchKey::Grid) => {
            Err("the compiler does not determine the grid; hint: add `grid`".to_owned())
        }
        CompiledLaunch::Everywhere { .. } | CompiledLaunch::ByEntry { .. } | CompiledLaunch::Constants { .. } => Ok(()),
        CompiledLaunch::ByShape { shapes } => {
            let own = |program: &ShapeProgram| shapes.iter().find(|at| at.shape == program.shape);
            for program in kernel.programs.iter().filter(|program| program.left_out.is_none()) {
                let Some(at) = own(program) else {
                    return Err(format!("the compiler does not determine the launch at shape `{}`", program.shape));
                };
                if at.launched.is_none() && (lacks(LaunchKey::Grid) || lacks(LaunchKey::Block)) {
                    return Err("the compiler does not determine the launch; hint: add `grid` and `block`".to_owned());
                }
            }
            Ok(())
        }
    }
}

/// The launches of a kernel in the phase, with their arguments.
fn launches(phase: Option<&Phase>, kernel: &KernelPlan, about: &PythonKernel) -> Vec<LaunchRequest> {
    let launch = |program: &ShapeProgram, launch: &KernelLaunch| LaunchRequest {
        shape: program.shape.0.to_string(),
        grid: launch.grid,
        block: launch.block,
        dynamic_shared: launch.dynamic_shared,
        args: launch.args.iter().map(|arg| passed(phase, program, about, arg)).collect(),
    };
    kernel.programs.iter().filter_map(|program| Some(launch(program, program.launches().next()?))).collect()
}

/// An argument at a shape.
fn passed(phase: Option<&Phase>, program: &ShapeProgram, about: &PythonKernel, arg: &Arg) -> ArgRequest {
    let value = match arg {
        Arg::Scalar(value) => number(*value),
        _ => None,
    };
    let none = ArgRequest { name: arg.described(), extents: None, element_bytes: 0, bytes: 0, value };
    let known = || {
        let (phase, buffer) = (phase?, arg.buffer()?);
        let of = phase.workload.buffers.iter().find(|known| known.name == buffer)?;
        let extents = extents(phase, &program.shape, &about.constants, buffer)?;
        let shape = phase.workload.shapes.iter().find(|shape| shape.name == program.shape)?;
        Some((extents, of.dtype.at(shape).ok()?.size() as u64))
    };
    let Some((extents, element_bytes)) = known() else { return none };
    let bytes = extents.iter().product::<u64>().saturating_mul(element_bytes);
    match arg {
        Arg::Buffer(_) => ArgRequest { extents: Some(extents), element_bytes, bytes, ..none },
        Arg::Element(element) => ArgRequest { element_bytes, bytes: bytes.saturating_sub(element.bytes), ..none },
        _ => none,
    }
}

/// The number in its stored form (`{"i32": 7}`).
fn number(value: ScalarValue) -> Option<serde_json::Value> {
    serde_json::to_value(value).ok()?.as_object()?.values().next().cloned()
}

impl Answer {
    const fn unit(&self) -> usize {
        match self {
            Self::Compiled { unit, .. } | Self::Failed { unit, .. } => *unit,
        }
    }
}

impl<'a> Compilers<'a> {
    fn find(python: &'a PythonEnvironment, cache: &Cache) -> Result<Self, BuildError> {
        let none = |reason: String| BuildError::NoPythonCompiler { python: python.program.clone(), reason };
        let program = cache.program(&PROGRAM)?.join(PROGRAM[0].0);
        let output = process::run(python.command().arg(&program).arg("--version"), VERSION_LIMIT)
            .map_err(|error| none(format!("it does not start ({error})")))?;
        if output.ending == ProcessExit::Interrupted {
            return Err(BuildError::Interrupted);
        }
        let versions: PythonVersions = serde_json::from_str(&output.stdout)
            .map_err(|_| none(format!("it {} without printing its version", output.ending)))?;
        if versions.packages.is_empty() {
            return Err(none("it lacks Triton, numba-cuda and nvidia-cutlass-dsl".to_owned()));
        }
        Ok(Self { python, program, cache: cache.folder("triton"), versions })
    }

    /// Versions of the packages and of Python.
    fn software(&self) -> impl Iterator<Item = (String, String)> {
        self.versions.packages.clone().into_iter().chain([("python".to_owned(), self.versions.python.clone())])
    }

    /// The key of a kernel before the imports of its module are known.
    fn key(
        &self,
        (kernel, about, launches): (&KernelPlan, &PythonKernel, &[LaunchRequest]),
        source: &[u8],
        arch: &str,
    ) -> CacheInputs {
        let counts = |name: &str| {
            ENVIRONMENT.iter().any(|start| name.starts_with(start))
                && !["TRITON_CACHE_DIR", "NUMBA_CACHE_DIR"].contains(&name)
        };
        let mut environment: Vec<String> =
            env::vars().filter(|(name, _)| counts(name)).map(|(name, value)| format!("{name}={value}")).collect();
        environment.sort_unstable();
        let constants = constants(&about.constants).into_iter().map(|(name, value)| format!("{name}={value}"));
        // Imports are recorded by their absolute paths, so a copy of the folder has separate entries.
        let path = std::path::absolute(&kernel.source).unwrap_or_else(|_| kernel.source.clone());
        let digest = Digest::default()
            .part("python")
            .part(which::which(&self.python.program).unwrap_or_default().as_os_str().as_encoded_bytes())
            .list(PROGRAM.iter().map(|(_, text)| sha256(text.as_bytes())))
            .list(self.software().map(|(package, version)| format!("{package} {version}")).collect::<Vec<_>>().iter())
            .part(arch)
            .part(path.as_os_str().as_encoded_bytes())
            .part(source)
            .part(function(kernel))
            .list(about.signature.iter())
            .list(constants)
            .list(about.launched.iter())
            .part(format!("{:?}", about.given))
            .part(format!("{launches:?}"))
            .list(entries(about).iter().map(|entry| format!("{entry:?}")).collect::<Vec<_>>().iter())
            .list(environment.iter())
            .list(self.python.folders.iter().map(|folder| folder.as_os_str().as_encoded_bytes()));
        Cache::key(digest)
    }

    /// Runs the program. Returns its answers and its last output.
    fn run(&self, request: &Request<'_>, path: &Path) -> Result<(Vec<Answer>, String), BuildError> {
        let failed = |source| BuildError::Cache { path: path.to_owned(), source };
        let text = serde_json::to_vec(request).map_err(|error| failed(error.into()))?;
        fs::write(path, text).map_err(failed)?;
        let mut command = self.python.command();
        command.arg(&self.program).arg(path).env("TRITON_CACHE_DIR", &self.cache);
        // Its kernels have the phase's names, which are not part of its cache's keys.
        command.env("CUTE_DSL_DISABLE_FILE_CACHING", "1");
        let output = process::run_whole(&mut command, LIMIT)
            .map_err(|source| BuildError::Start { path: self.python.program.clone(), source })?;
        let _ = fs::remove_file(path);
        if output.ending == ProcessExit::Interrupted {
            return Err(BuildError::Interrupted);
        }
        let answers = output.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let lines: Vec<&str> = output.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        let said = format!("the Python compiler {}{}{last}", output.ending, if last.is_empty() { "" } else { "\n" });
        Ok((answers, said))
    }
}

/// Finds a Python with a compiler.
///
/// # Errors
/// It cannot be started, or has none.
pub(super) fn prove_compilers(python: &PythonEnvironment, cache: &Cache) -> Result<(), BuildError> {
    Compilers::find(python, cache).map(drop)
}

/// The function that is compiled.
fn function(kernel: &KernelPlan) -> &str {
    match &kernel.code {
        KernelCode::Python(PythonKernel { by_value: Some(CompilationsByValue { function, .. }), .. }) => function,
        _ => kernel.entries().first().copied().unwrap_or_default(),
    }
}

fn entries(kernel: &PythonKernel) -> Vec<EntryRequest> {
    let entry = |entry: &EntryByValue| EntryRequest {
        entry: entry.entry.clone(),
        signature: entry.signature.clone(),
        constants: constants(&entry.constants),
    };
    kernel.by_value.iter().flat_map(|by_value| &by_value.entries).map(entry).collect()
}

fn constants(values: &[(String, Value)]) -> Vec<(String, serde_json::Value)> {
    let json = |value: &Value| match value {
        Value::Int(value) => serde_json::Value::from(*value),
        Value::Float(value) => serde_json::Value::from(*value),
        Value::Bool(value) => serde_json::Value::from(*value),
        Value::Text(value) if value == "None" => serde_json::Value::Null,
        Value::Text(value) => serde_json::Value::from(value.as_str()),
    };
    values.iter().map(|(name, value)| (name.clone(), json(value))).collect()
}

#[cfg(test)]
mod tests;
