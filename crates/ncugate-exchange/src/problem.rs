//! A problem as a phase with its files.

use super::error::ImportError;
use ncugate_model::Dtype;
use ncugate_model::disk::{Durability, replace};
use ncugate_phase::config::{ImportFormat, Project, Ranking};
use ncugate_phase::draft::{MovedBuffer, moved_bytes};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Line length of the comment above a phase, in characters.
const LINE: usize = 120;

/// Where to write a phase; its files go to the folder of the same name next to it.
#[derive(Debug, Clone)]
pub struct ImportTarget {
    file: PathBuf,
    folder: PathBuf,
    /// The folder as paths of the phase name it.
    named: String,
}

impl ImportTarget {
    /// The target for a phase file.
    ///
    /// # Errors
    /// The file or the folder already exists, or paths of the project cannot name it.
    pub fn new(file: &Path) -> Result<Self, ImportError> {
        let unwritable = |source| ImportError::Write { path: file.to_owned(), source };
        let file = std::path::absolute(file).map_err(unwritable)?;
        let folder = file.with_extension("");
        if folder == file || file.extension().is_none_or(|extension| extension != "toml") {
            return Err(ImportError::format(&file, "the name of a phase must end with .toml"));
        }
        if let Some(there) = [&file, &folder].into_iter().find(|path| path.exists()) {
            return Err(ImportError::Exists(there.clone()));
        }
        let root = Project::of(&file).map_err(|errors| ImportError::format(&file, errors.to_string()))?.root;
        let root = std::path::absolute(&root).map_err(unwritable)?;
        let inner = folder.strip_prefix(&root).map_err(|_| ImportError::format(&file, "it is outside its project"))?;
        let named = inner.to_str().ok_or_else(|| ImportError::format(&file, "its path is not UTF-8"))?.to_owned();
        Ok(Self { file, folder, named })
    }

    /// The path of a file in the folder, as a phase names it.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.named)
    }

    /// The name of the phase: its file stem.
    pub(super) fn stem(&self) -> String {
        let stem = self.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        plain_name(&stem)
    }
}

/// A phase to write, with its files.
#[derive(Debug)]
pub struct NewPhase {
    /// The text of its file.
    pub text: String,
    /// Paths in its folder, and their content.
    pub files: Vec<(String, Vec<u8>)>,
    /// Parts of the problem that the phase changes or omits, a sentence each.
    pub notes: Vec<String>,
}

impl NewPhase {
    /// Writes the files, the phase last.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, target: &ImportTarget) -> Result<(), ImportError> {
        for (name, bytes) in &self.files {
            let path = target.folder.join(name);
            replace(&path, bytes, Durability::Cached).map_err(|source| ImportError::Write { path, source })?;
        }
        let failed = |source| ImportError::Write { path: target.file.clone(), source };
        replace(&target.file, self.text.as_bytes(), Durability::Synced).map_err(failed)
    }
}

/// The role of a buffer in other projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Input,
    Output,
}

#[derive(Debug, Clone)]
pub(super) struct Tensor {
    pub name: String,
    pub dtype: Dtype,
    /// Expressions over the dimensions; empty for a zero-dimensional tensor, which is one element.
    pub shape: Vec<String>,
    pub direction: Direction,
    /// In the notation of a phase.
    pub init: Option<Value>,
}

/// A number that a problem passes by value.
#[derive(Debug, Clone)]
pub(super) struct ScalarInput {
    pub name: String,
    pub dtype: Dtype,
    /// An expression over the dimensions.
    pub value: String,
}

/// A shape of a phase.
#[derive(Debug, Clone)]
pub(super) struct Size {
    pub name: String,
    pub dims: Vec<(String, i64)>,
}

/// The error bound of an output: `atol + rtol * |expected|` for all elements except a share.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputTolerance {
    pub atol: f64,
    pub rtol: f64,
    pub mismatches: f64,
}

/// A function that the phase calls: a file in its folder, and a name in it.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub file: String,
    pub function: String,
}

/// A solution of a problem.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub variant: String,
    /// Its name in the other project.
    pub solution: String,
    pub call: Call,
}

/// A parsed problem of another project.
#[derive(Debug)]
pub(super) struct ForeignProblem {
    pub format: ImportFormat,
    pub name: String,
    pub title: String,
    pub sizes: Vec<Size>,
    /// Names of the timed shapes.
    pub timed: Vec<String>,
    pub tensors: Vec<Tensor>,
    pub numbers: Vec<ScalarInput>,
    pub bound: OutputTolerance,
    pub reference: Call,
    /// The reference as a function on the GPU, as the baseline of candidates.
    pub eager: Call,
    pub candidates: Vec<Candidate>,
    /// Workload objects by shape.
    pub workloads: Vec<(String, String)>,
    /// The ranking of submissions, if the project defines one.
    pub ranking: Option<Ranking>,
    pub files: Vec<(String, Vec<u8>)>,
    pub notes: Vec<String>,
}

/// The name of the baseline that is the problem's own reference.
const REFERENCE: &str = "reference";
/// Time limit of a Python reference, in seconds.
const REFERENCE_LIMIT: u64 = 600;

impl ForeignProblem {
    pub(super) fn phase(self, target: &ImportTarget) -> Result<NewPhase, ImportError> {
        if self.candidates.is_empty() {
            let why = if self.notes.is_empty() { String::new() } else { format!(" ({})", self.notes.join("; ")) };
            return Err(ImportError::unmapped(self.name, format!("no solution can be a candidate{why}")));
        }
        let taken = self.tensors.iter().map(|t| &t.name).chain(self.numbers.iter().map(|n| &n.name));
        if let Some(name) = taken.into_iter().find(|name| !super::tensor::is_identifier(name)) {
            return Err(ImportError::unmapped(
                self.name.clone(),
                format!("`{name}` is not a valid name of a Python parameter"),
            ));
        }
        let call = |call: &Call| format!("{}:{}", target.path(&call.file), call.function);
        let named: Map<String, Value> =
            self.candidates.iter().map(|c| (c.variant.clone(), json!(c.solution))).collect();
        let workloads: Map<String, Value> =
            self.workloads.iter().map(|(shape, text)| (shape.clone(), json!(text))).collect();
        let mut imported = json!({ "format": self.format.word(), "problem": self.name, "solutions": named });
        if !workloads.is_empty() {
            imported["workloads"] = Value::Object(workloads);
        }
        if let Some(ranking) = self.ranking {
            imported["ranking"] = json!(ranking.word());
        }
        let variants: Vec<Value> =
            self.candidates.iter().map(|c| json!({ "name": c.variant, "python": call(&c.call) })).collect();
        let phase = json!({
            "phase": { "name": target.stem(), "title": self.title },
            "bench": { "shapes": self.timed, "timeout_s": 120 },
            "workload": self.workload(&call(&self.reference)),
            "variant": variants,
            "baseline": [{ "name": REFERENCE, "python": call(&self.eager) }],
            "gate": [
                { "name": "correct", "require": "correct == 1", "shapes": self.timed },
                { "name": "faster than the reference", "require": format!("speedup(\"{REFERENCE}\") > 1"), "shapes": self.timed },
            ],
            "imported": imported,
        });
        let text = format!("{}\n{}", self.heading(), toml::to_string(&phase)?);
        Ok(NewPhase { text, files: self.files, notes: self.notes })
    }

    fn workload(&self, reference: &str) -> Value {
        let scalars: Map<String, Value> =
            self.numbers.iter().map(|n| (n.name.clone(), json!({ "type": n.dtype, "value": n.value }))).collect();
        let shapes: Map<String, Value> = self
            .sizes
            .iter()
            .map(|size| {
                (size.name.clone(), size.dims.iter().map(|(dim, extent)| (dim.clone(), json!(extent))).collect())
            })
            .collect();
        let mut tolerance =
            json!({ "atol": self.bound.atol, "rtol": self.bound.rtol, "rel_l2": self.bound.atol.max(self.bound.rtol) });
        if self.bound.mismatches > 0.0 {
            tolerance["mismatches"] = json!(self.bound.mismatches);
        }
        let mut workload = json!({
            "seeds": [0, 1],
            "reference": { "python": reference, "timeout_s": REFERENCE_LIMIT },
            "tolerance": tolerance,
        });
        if !scalars.is_empty() {
            workload["scalars"] = Value::Object(scalars);
        }
        if let Some(bytes) = self.bytes() {
            workload["bytes"] = json!(bytes);
        }
        workload["shapes"] = Value::Object(shapes);
        workload["buffers"] = Value::Object(self.tensors.iter().map(|t| (t.name.clone(), buffer(t))).collect());
        workload
    }

    /// Least number of bytes that a launch moves: outputs written once and inputs read once. Integers may be indices
    /// into other inputs, which are then read in part: with such an input, only outputs count.
    fn bytes(&self) -> Option<String> {
        let is_indexed = self.tensors.iter().any(|t| t.direction == Direction::Input && !t.dtype.has_nan());
        let counted = self.tensors.iter().filter(|t| t.direction == Direction::Output || !is_indexed);
        moved_bytes(counted.map(|t| MovedBuffer { size: t.dtype.size(), shape: &t.shape, times: 1 }))
    }

    /// The comment above the phase: its origin and the differences.
    fn heading(&self) -> String {
        let made = format!(
            "Written by `ncugate problem import {}` from {}. Edit it freely; docs/problems.md explains the mapping.",
            self.format.word(),
            self.name
        );
        let mut text = comment("", &made);
        for note in &self.notes {
            text.push_str(&comment("- ", note));
        }
        if let Some(bytes) = self.bytes() {
            let note = format!(
                "CHECK: bytes = \"{bytes}\" is the minimum that a launch moves: every output written once and, if no input is an index, every input read once. A candidate that moves less is rejected, so lower it if less can be enough"
            );
            text.push_str(&comment("- ", &note));
        }
        text
    }
}

fn buffer(tensor: &Tensor) -> Value {
    let one = vec!["1".to_owned()];
    let shape = if tensor.shape.is_empty() { &one } else { &tensor.shape };
    let mut buffer = json!({ "dtype": tensor.dtype, "shape": shape });
    match tensor.direction {
        Direction::Input => {}
        Direction::Output => buffer["role"] = json!("output"),
    }
    if let Some(init) = &tensor.init {
        buffer["init"] = init.clone();
    }
    buffer
}

/// A comment with wrapped lines.
fn comment(mark: &str, text: &str) -> String {
    let mut lines = vec![format!("# {mark}")];
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last + word.chars().count() > LINE {
            lines.push(format!("# {}", " ".repeat(mark.len())));
        }
        if let Some(line) = lines.last_mut() {
            if !line.ends_with(' ') {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// A text as a name of a phase, variant or file: all characters except letters, digits, `_` and `-` become `_`.
pub(super) fn plain_name(text: &str) -> String {
    let plain: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect();
    match plain.chars().next() {
        Some(first) if first.is_ascii_alphanumeric() || first == '_' => plain,
        _ => format!("_{plain}"),
    }
}

/// Unique names for items, in their order: the plain name of each, with a number if it is taken.
pub(super) fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for name in names {
        let plain = plain_name(name);
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let free =
            std::iter::once(plain.clone()).chain(numbered).find(|name| !taken.contains(name) && name != REFERENCE);
        taken.extend(free);
    }
    taken
}
