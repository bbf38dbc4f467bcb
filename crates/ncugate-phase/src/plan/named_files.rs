//! The files that a phase names, each with the key that names it.

use super::program::KernelCode;
use super::variants::{FunctionPlan, Method, Plan, Variant};
use crate::config::{CodeForm, Init, Phase, ProgramKind, VariantSpec, WorkloadReference};
use ncugate_model::expr::{Names, Value, render};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// A required file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// Key paths that can name it; the first one present in the phase does.
    pub keys: Vec<String>,
    /// The file, relative to the root of the project.
    pub path: PathBuf,
    /// Its variant, shape or seed; empty if the key identifies it.
    pub of: String,
}

impl NamedFile {
    fn new(key: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { keys: vec![key.into()], path: path.into(), of: String::new() }
    }
}

/// Extensions of command arguments that are treated as files.
const SCRIPTS: [&str; 4] = ["py", "sh", "cu", "cpp"];

/// Every file that the phase names and that must exist before the builds, each once. A search has no variants before
/// it has chosen some; only a source without parameters is known.
pub fn named_files(phase: &Phase, plan: &Plan) -> Vec<NamedFile> {
    let mut files = Vec::new();
    let named = |list: &'static str, specs: &'_ [VariantSpec]| -> Vec<(String, String)> {
        specs.iter().enumerate().map(|(at, spec)| (spec.name.clone(), format!("{list}[{at}]"))).collect()
    };
    let tables: HashMap<String, String> =
        named("variant", &phase.variants).into_iter().chain(named("baseline", &phase.baselines)).collect();
    let mut seen = HashSet::new();
    // a path shared by all variants belongs to none
    let is_templated = phase.kernel.as_ref().is_some_and(|kernel| kernel.source.text().contains("{{"));
    for variant in &plan.variants {
        match tables.get(variant.id.0.as_str()) {
            Some(table) => of_named(variant, table, &mut files),
            None => {
                let (key, sources): (String, Vec<&PathBuf>) = match &variant.method {
                    Method::Kernel(kernel) => (kernel_key(&kernel.code), kernel.sources().collect()),
                    Method::Function(function) => (host_key(), vec![&function.file]),
                    Method::Command(_) | Method::Captured(_) => continue,
                };
                for source in sources.into_iter().filter(|source| seen.insert(*source)) {
                    let of = if is_templated { format!("variant {}", variant.id) } else { String::new() };
                    files.push(NamedFile { of, ..NamedFile::new(key.clone(), source) });
                }
            }
        }
    }
    if let (true, Some(kernel)) = (phase.search.is_some(), &phase.kernel)
        && let Ok(source) = kernel.source.render(&Names::new())
        && let source = match kernel.code {
            CodeForm::Python => phase.build.python_file(&source),
            CodeForm::Cuda | CodeForm::Ptx | CodeForm::Cubin | CodeForm::Host => PathBuf::from(source),
        }
        && !seen.contains(&source)
    {
        files.push(NamedFile::new(format!("kernel.{}", kernel.code.key().name), source));
    }
    of_reference(phase, &mut files);
    files.extend(array_files(phase));
    files
}

fn host_key() -> String {
    format!("kernel.{}", CodeForm::Host.key().name)
}

fn kernel_key(code: &KernelCode) -> String {
    let form = match code {
        KernelCode::Cuda => CodeForm::Cuda,
        KernelCode::Ptx => CodeForm::Ptx,
        KernelCode::Cubin => CodeForm::Cubin,
        KernelCode::Python(_) => CodeForm::Python,
    };
    format!("kernel.{}", form.key().name)
}

fn of_named(variant: &Variant, table: &str, files: &mut Vec<NamedFile>) {
    match &variant.method {
        Method::Kernel(kernel) => {
            let key = kernel_key(&kernel.code);
            let of = format!("variant {}", variant.id);
            let keys = vec![format!("{table}.{key}"), key];
            let file = |path: &PathBuf| NamedFile { keys: keys.clone(), path: path.clone(), of: of.clone() };
            files.extend(kernel.sources().map(file));
        }
        Method::Function(FunctionPlan { file, host: None, .. }) => {
            files.push(NamedFile::new(format!("{table}.python"), file));
        }
        Method::Function(FunctionPlan { file, host: Some(_), .. }) => {
            let of = format!("variant {}", variant.id);
            files.push(NamedFile { keys: vec![format!("{table}.{}", host_key()), host_key()], path: file.clone(), of });
        }
        Method::Command(command) => of_command(&command.argv, &format!("{table}.command"), files),
        Method::Captured(_) => {}
    }
}

/// A program given by a path, and its script arguments.
fn of_command(argv: &[String], key: &str, files: &mut Vec<NamedFile>) {
    let is_script = |word: &str| {
        let extension = std::path::Path::new(word).extension();
        extension.is_some_and(|extension| SCRIPTS.iter().any(|script| extension == *script))
    };
    for (at, word) in argv.iter().enumerate() {
        // the word after `-c` is code, whatever its ending
        let is_text = at > 0 && argv[at - 1] == "-c";
        if (at == 0 && word.contains('/')) || (at > 0 && is_script(word) && !word.starts_with('-') && !is_text) {
            files.push(NamedFile::new(format!("{key}[{at}]"), word));
        }
    }
}

fn of_reference(phase: &Phase, files: &mut Vec<NamedFile>) {
    match &phase.workload.reference {
        WorkloadReference::Entry { source, .. } => {
            files.extend(source.iter().map(|source| NamedFile::new("workload.reference.source", source)));
        }
        WorkloadReference::Program(reference) => match &reference.program {
            ProgramKind::Python { file, .. } => files.push(NamedFile::new("workload.reference.python", file)),
            ProgramKind::Command { argv } => of_command(argv, "workload.reference.command", files),
        },
        WorkloadReference::Builtin { .. } | WorkloadReference::Npy { .. } | WorkloadReference::Absent => {}
    }
    for check in &phase.workload.checks {
        if let ProgramKind::Python { file, .. } = &check.program.program {
            let own = check.outputs.iter().map(|name| format!("workload.tolerance.outputs.{name}.check"));
            let keys = own.chain(["workload.tolerance.check".to_owned()]).collect();
            files.push(NamedFile { keys, path: file.clone(), of: String::new() });
        }
    }
}

/// The NumPy files of a phase: expected outputs and inputs, at every shape and seed.
pub fn array_files(phase: &Phase) -> Vec<NamedFile> {
    let mut files = Vec::new();
    for buffer in &phase.workload.buffers {
        if let (WorkloadReference::Npy { path }, true) = (&phase.workload.reference, buffer.role.is_compared()) {
            of_array(phase, "workload.reference.npy", &path.to_string_lossy(), &buffer.name, &mut files);
        }
        let array = match &buffer.init {
            Some(Init::Npy { path }) => Some(("npy", path)),
            Some(Init::Redrawn { path }) => Some(("redrawn", path)),
            _ => None,
        };
        if let Some((kind, path)) = array {
            of_array(phase, &format!("workload.buffers.{}.init.{kind}", buffer.name), path, &buffer.name, &mut files);
        }
    }
    files
}

/// A NumPy file at every shape and seed.
fn of_array(phase: &Phase, key: &str, template: &str, buffer: &str, files: &mut Vec<NamedFile>) {
    let mut seen = HashSet::new();
    for shape in &phase.workload.shapes {
        for seed in &phase.workload.seeds {
            let mut names = shape.scope();
            names.insert("shape".to_owned(), Value::Text(shape.name.0.to_string()));
            names.insert("seed".to_owned(), Value::Int(seed.cast_signed()));
            names.insert("buffer".to_owned(), Value::Text(buffer.to_owned()));
            // A template that cannot be rendered is reported when the array is read.
            let Ok(path) = render(template, &names) else { continue };
            if seen.insert(path.clone()) {
                let of = format!("shape {}, seed {seed}", shape.name);
                files.push(NamedFile { of, ..NamedFile::new(key, path) });
            }
            if !template.contains("{{") {
                return;
            }
        }
    }
}
