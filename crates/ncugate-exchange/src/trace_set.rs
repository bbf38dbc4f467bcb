//! A FlashInfer-Trace folder: `definitions/**/*.json`, `workloads/**/*.jsonl`, `solutions/**/*.json`.
//!
//! Fields have the names of flashinfer-bench's documents; fields that an import does not need are skipped.

use super::error::ImportError;
use indexmap::IndexMap;
use ncugate_model::disk::open;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Size limit of a JSON file in bytes.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct TraceDefinition {
    pub name: String,
    #[serde(default)]
    pub op_type: String,
    #[serde(default)]
    pub description: Option<String>,
    pub axes: IndexMap<String, Axis>,
    pub inputs: IndexMap<String, TensorSpec>,
    pub outputs: IndexMap<String, TensorSpec>,
    pub reference: String,
    #[serde(default)]
    pub constraints: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Axis {
    Const {
        value: i64,
    },
    /// An extent given by the workload.
    Var,
}

/// A tensor, or a number passed by value if it has no shape.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct TensorSpec {
    pub shape: Option<Vec<String>>,
    pub dtype: String,
}

/// A workload with its envelope.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct WorkloadTrace {
    pub definition: String,
    /// The original JSON, to be returned in traces.
    pub workload: Value,
    #[serde(default)]
    pub solution: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct TraceWorkload {
    pub uuid: String,
    pub axes: IndexMap<String, i64>,
    pub inputs: IndexMap<String, InputSpec>,
}

/// Where an input comes from.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum InputSpec {
    /// Drawn.
    Random,
    Scalar {
        value: Value,
    },
    /// A tensor in a file; the path is relative to the root.
    Safetensors {
        path: String,
        tensor_key: String,
    },
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Solution {
    pub name: String,
    pub definition: String,
    pub spec: BuildSpec,
    pub sources: Vec<SolutionFile>,
}

/// The build and call settings of a solution.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct BuildSpec {
    /// flashinfer-bench: one language.
    #[serde(default)]
    pub language: Option<String>,
    /// SOL-ExecBench: several.
    #[serde(default)]
    pub languages: Vec<String>,
    /// The binding of C++ and CUDA.
    #[serde(default)]
    pub binding: Option<Binding>,
    /// SOL-ExecBench: flags of compilers and linker.
    #[serde(default)]
    pub compile_options: Option<CompileOptions>,
    pub entry_point: String,
    #[serde(default = "passes_destinations")]
    pub destination_passing_style: bool,
    #[serde(default)]
    pub dependencies: Vec<String>,
}

/// The interface that makes a C++ function callable with tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Binding {
    /// TVM's foreign function interface; flashinfer-bench's default.
    TvmFfi,
    /// PyTorch's extensions.
    Torch,
}

/// Flags of a C++ solution; the defaults are SOL-ExecBench's.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct CompileOptions {
    #[serde(default)]
    pub cflags: Vec<String>,
    #[serde(default = "cuda_flags")]
    pub cuda_cflags: Vec<String>,
    #[serde(default = "linker_flags")]
    pub ld_flags: Vec<String>,
}

fn cuda_flags() -> Vec<String> {
    ["-O3", "--use_fast_math"].map(str::to_owned).to_vec()
}

fn linker_flags() -> Vec<String> {
    vec!["-lcuda".to_owned()]
}

/// The language of a solution, by its way of being called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LanguageFamily {
    Python,
    /// Sources compiled with a binding.
    Compiled(Binding),
}

/// Languages that are Python modules.
const PYTHON: [&str; 8] =
    ["python", "pytorch", "triton", "tilelang", "cutedsl", "cute_dsl", "cutile", "cudnn_frontend"];
/// Compiled languages. The first two are flashinfer-bench's, bound with TVM-FFI by default; the others are
/// SOL-ExecBench's, bound with PyTorch.
const COMPILED: [(&str, Binding); 6] = [
    ("cuda", Binding::TvmFfi),
    ("cpp", Binding::TvmFfi),
    ("cuda_cpp", Binding::Torch),
    ("cutlass", Binding::Torch),
    ("cudnn", Binding::Torch),
    ("cublas", Binding::Torch),
];

impl BuildSpec {
    /// Its languages, for display.
    pub fn written_in(&self) -> String {
        let all: Vec<&str> = self.language.iter().chain(&self.languages).map(String::as_str).collect();
        all.join(", ")
    }

    /// Its language family; `None` if a language is unknown, missing, or incompatible with another.
    pub fn family(&self) -> Option<LanguageFamily> {
        let of = |language: &String| {
            let compiled = COMPILED.iter().find(|(name, _)| name == language);
            let compiled = compiled.map(|(_, usual)| LanguageFamily::Compiled(self.binding.unwrap_or(*usual)));
            compiled.or_else(|| PYTHON.contains(&language.as_str()).then_some(LanguageFamily::Python))
        };
        let mut families = self.language.iter().chain(&self.languages).map(of);
        let first = families.next()??;
        families.all(|family| family == Some(first)).then_some(first)
    }
}

const fn passes_destinations() -> bool {
    true
}

/// A file of a solution.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SolutionFile {
    pub path: String,
    pub content: String,
}

/// A FlashInfer-Trace folder.
#[derive(Debug)]
pub(super) struct TraceSet {
    pub root: PathBuf,
    pub definitions: Vec<TraceDefinition>,
    pub solutions: Vec<Solution>,
    pub workloads: Vec<WorkloadTrace>,
}

impl TraceSet {
    pub(super) fn read(root: &Path) -> Result<Self, ImportError> {
        let definitions = files(&root.join("definitions"), "json")?;
        let solutions = files(&root.join("solutions"), "json")?;
        let workloads = files(&root.join("workloads"), "jsonl")?;
        if definitions.is_empty() {
            return Err(ImportError::format(
                root,
                "it is not a folder of FlashInfer-Trace: it has no definitions/**/*.json",
            ));
        }
        let mut traces: Vec<WorkloadTrace> = Vec::new();
        for path in &workloads {
            for line in text(path)?.lines().filter(|line| !line.trim().is_empty()) {
                traces.push(parse(path, line)?);
            }
        }
        Ok(Self {
            root: root.to_owned(),
            definitions: definitions.iter().map(|path| parse(path, &text(path)?)).collect::<Result<_, _>>()?,
            solutions: solutions.iter().map(|path| parse(path, &text(path)?)).collect::<Result<_, _>>()?,
            // The format's first version wrote an empty name for a missing solution.
            workloads: traces.into_iter().filter(|trace| trace.solution.as_deref().is_none_or(str::is_empty)).collect(),
        })
    }
}

/// Parses JSON from a file.
pub(super) fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, ImportError> {
    serde_json::from_str(text).map_err(|error| ImportError::format(path, error.to_string()))
}

/// The text of a file within the size limit.
pub(super) fn text(path: &Path) -> Result<String, ImportError> {
    let bytes = path.canonicalize().and_then(|path| open::bytes(&path, MAX_BYTES));
    let bytes = bytes.map_err(|source| ImportError::Read { path: path.to_owned(), source })?;
    String::from_utf8(bytes).map_err(|_| ImportError::format(path, "it is not UTF-8 text"))
}

/// Files in a folder and its subfolders with this extension, sorted by path; empty if the folder does not exist.
/// Links to folders are not followed.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, ImportError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable = |source| ImportError::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        if entry.file_type().map_err(unreadable)?.is_dir() {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|known| known == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
