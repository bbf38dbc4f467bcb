//! gpu-mode: `task.yml` with shapes, tests and ranking, and next to it `reference.py` with `generate_input` and
//! `ref_kernel`.

use super::adapter::{Argument, literal, literals, names, types, without_axes};
use super::description::{DeclaredBounds, Description, Parser, of_command_line};
use super::error::ImportError;
use super::problem::{
    Call, Candidate, Direction, ForeignProblem, ImportTarget, NewPhase, OutputTolerance, Size, Tensor, distinct,
};
use super::task_file;
use super::tensor::GivenTensor;
use super::trace_set::text;
use ncugate_phase::config::{ImportFormat, Ranking};
use std::path::{Component, Path, PathBuf};
use yaml_rust2::Yaml;

/// A task with its submissions.
#[derive(Debug, Clone)]
pub struct GpuModeProblem {
    pub task: PathBuf,
    /// Files with a `custom_kernel`; defaults to `submission.py` next to the task.
    pub submissions: Vec<PathBuf>,
    /// Inputs described on the command line.
    pub inputs: Vec<GivenTensor>,
    /// The return values of `ref_kernel`, if `generate_input` does not allocate them.
    pub outputs: Vec<GivenTensor>,
    /// The bound, if `reference.py` does not declare one.
    pub bound: Option<(f64, f64)>,
}

/// The placeholder of a task for the submitted file.
const SUBMISSION: &str = "@SUBMISSION@";
/// The file with the reference.
const REFERENCE: &str = "reference.py";
/// The parameter of `generate_input` that is not a dimension of the phase: the phase's inputs have separate seeds.
const SEED: &str = "seed";
/// The default bounds of `make_match_reference`.
const DEFAULT_BOUNDS: (f64, f64) = (1e-5, 1e-8);

/// The phase of a task.
///
/// # Errors
/// A file cannot be read or does not match the format, or it omits something that a phase needs.
pub fn import_gpumode(given: &GpuModeProblem, parser: &Parser, target: &ImportTarget) -> Result<NewPhase, ImportError> {
    let path = &given.task;
    let task = &task_file::task(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let name = path.canonicalize().ok().and_then(|p| Some(p.parent()?.file_name()?.to_string_lossy().into_owned()));
    let name = name.unwrap_or_else(|| "task".to_owned());
    if let Some(language) = task["lang"].as_str().filter(|language| *language != "py") {
        let what = format!("its language is `{language}`; only `py` is supported");
        return Err(ImportError::unmapped(name, what));
    }
    let mut notes = Vec::new();
    let mut files = own_files(task, path, folder, &mut notes)?;
    let reference = source_of(task, REFERENCE).unwrap_or_else(|| REFERENCE.to_owned());
    let reference = task_file::source(path, folder, &reference)?;
    let description = parser.describe(&reference, ("generate_input", ""), &given.inputs)?;
    let absent = ["generate_input", "ref_kernel"].into_iter().find(|f| !description.functions.iter().any(|g| g == f));
    if let Some(needed) = absent {
        return Err(ImportError::format(&reference, format!("it has no function `{needed}`")));
    }
    let (sizes, timed) = sizes(task, &description, &name, &mut notes)?;
    let (tensors, arguments, room) = tensors(given, &description, &name)?;
    let candidates = submissions(given, folder, &name, parser, (&mut files, &mut notes))?;
    files.push((
        "calls.py".to_owned(),
        calls(&tensors, (&arguments, description.single), room, &candidates).into_bytes(),
    ));
    notes.push("ncugate draws the inputs with its own seeds, from the distributions of `generate_input`".to_owned());
    notes.extend(description.notes.iter().cloned());
    let ranking = ranking(task, &name)?;
    if let Some(ranking) = ranking {
        notes.push(format!(
            "ranking_by = {}: `ncugate problem export gpumode` ranks by it; the phase selects at the last benchmark and judges the gate at all",
            ranking.word()
        ));
    }
    for key in ["test_timeout", "benchmark_timeout", "ranked_timeout", "gpus", "milestones"] {
        if !task[key].is_badvalue() {
            notes.push(format!("`{key}` has no counterpart in the phase"));
        }
    }
    let problem = ForeignProblem {
        format: ImportFormat::GpuMode,
        title: name.clone(),
        bound: bound(given, description.bounds, &name)?,
        name,
        sizes,
        timed,
        tensors,
        numbers: Vec::new(),
        reference: Call { file: "calls.py".to_owned(), function: "reference_answer".to_owned() },
        eager: Call { file: "calls.py".to_owned(), function: "eager".to_owned() },
        candidates,
        workloads: Vec::new(),
        ranking,
        files,
        notes,
    };
    problem.phase(target)
}

/// The task's ranking of submissions.
fn ranking(task: &Yaml, problem: &str) -> Result<Option<Ranking>, ImportError> {
    let given = &task["ranking_by"];
    if given.is_badvalue() {
        return Ok(None);
    }
    let found = Ranking::WORDS.into_iter().find(|(word, _)| given.as_str() == Some(word)).map(|(_, ranking)| ranking);
    let unknown = || {
        ImportError::unmapped(problem, format!("its `ranking_by` is {}, expected last, mean or geom", yaml_text(given)))
    };
    found.map(Some).ok_or_else(unknown)
}

/// The bound from the command line or `reference.py`.
fn bound(
    given: &GpuModeProblem,
    declared: Option<DeclaredBounds>,
    problem: &str,
) -> Result<OutputTolerance, ImportError> {
    let bounds = given.bound.or_else(|| {
        let declared = declared?;
        Some((declared.rtol.unwrap_or(DEFAULT_BOUNDS.0), declared.atol.unwrap_or(DEFAULT_BOUNDS.1)))
    });
    let (rtol, atol) = bounds.ok_or_else(|| {
        let what = "reference.py does not compare with make_match_reference; set --rtol and --atol";
        ImportError::unmapped(problem, what)
    })?;
    Ok(OutputTolerance { atol, rtol, mismatches: 0.0 })
}

/// The source path of a file of the task.
fn source_of(task: &Yaml, name: &str) -> Option<String> {
    let files = task["files"].as_vec()?;
    let entry = files.iter().find(|file| file["name"].as_str() == Some(name))?;
    entry["source"].as_str().map(str::to_owned)
}

/// The files listed in the task, under their import names, without the submission and the measuring program.
fn own_files(
    task: &Yaml,
    path: &Path,
    folder: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<(String, Vec<u8>)>, ImportError> {
    let main = task["config"]["main"].as_str().unwrap_or("eval.py");
    let mut found = Vec::new();
    let mut copied = |source: &str| {
        notes.push(format!("{source} is copied"));
        Ok::<_, ImportError>(text(&task_file::source(path, folder, source)?)?.into_bytes())
    };
    for file in task["files"].as_vec().into_iter().flatten() {
        let (Some(name), Some(source)) = (file["name"].as_str(), file["source"].as_str()) else {
            return Err(ImportError::format(path, "an entry of `files` has no `name` or no `source`"));
        };
        if source == SUBMISSION || name == main {
            continue;
        }
        let plain =
            Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) && !name.contains('/');
        if !plain || name == "calls.py" {
            return Err(ImportError::format(
                path,
                format!("the name of file `{name}` conflicts with the phase's own files"),
            ));
        }
        found.push((name.to_owned(), copied(source)?));
    }
    if !found.iter().any(|(name, _)| name == REFERENCE) {
        found.push((REFERENCE.to_owned(), copied(REFERENCE)?));
    }
    Ok(found)
}

/// Shapes of the tests, which are checked, and of the benchmarks, which are also timed.
fn sizes(
    task: &Yaml,
    description: &Description,
    problem: &str,
    notes: &mut Vec<String>,
) -> Result<(Vec<Size>, Vec<String>), ImportError> {
    let (mut sizes, mut timed): (Vec<Size>, Vec<String>) = (Vec::new(), Vec::new());
    for (list, word) in [("tests", "test"), ("benchmarks", "benchmark")] {
        for (at, case) in task[list].as_vec().into_iter().flatten().enumerate() {
            let name = format!("{word}{}", at + 1);
            match dims(case, description) {
                Ok(dims) => {
                    // a problem size that was already listed is timed under its first name
                    let known = sizes.iter().find(|size| size.dims == dims).map(|size| size.name.clone());
                    let shape = known.unwrap_or_else(|| {
                        sizes.push(Size { name: name.clone(), dims });
                        name
                    });
                    if list == "benchmarks" && !timed.contains(&shape) {
                        timed.push(shape);
                    }
                }
                Err(why) => notes.push(format!("{name} is omitted: {why}")),
            }
        }
    }
    if timed.is_empty() {
        let what = format!("no benchmark can be a shape ({})", notes.join("; "));
        return Err(ImportError::unmapped(problem, what));
    }
    // the objective is read at the last shape
    if let Some(at) = timed.last().and_then(|last| sizes.iter().position(|size| size.name == *last)) {
        let last = sizes.remove(at);
        sizes.push(last);
    }
    Ok((sizes, timed))
}

/// The dimensions of a case: every parameter of `generate_input` except the seed.
fn dims(case: &Yaml, description: &Description) -> Result<Vec<(String, i64)>, String> {
    let table = case.as_hash().ok_or("it is not a table")?;
    let mut dims = Vec::new();
    for name in description.parameters.iter().filter(|name| *name != SEED) {
        match &case[name.as_str()] {
            Yaml::Integer(extent) if *extent >= 1 => dims.push((name.clone(), *extent)),
            Yaml::BadValue if description.defaults.contains_key(name) => {
                dims.extend(description.defaults[name].filter(|extent| *extent >= 1).map(|e| (name.clone(), e)));
            }
            Yaml::BadValue => return Err(format!("it has no `{name}`, which generate_input needs")),
            other => {
                return Err(format!(
                    "its {name} is {}, but a dimension must be a whole number above 0",
                    yaml_text(other)
                ));
            }
        }
    }
    let unknown = table
        .keys()
        .filter_map(Yaml::as_str)
        .find(|key| *key != SEED && !description.parameters.iter().any(|p| p == key));
    match unknown {
        Some(key) => Err(format!("it has `{key}`, which generate_input does not take")),
        None if dims.is_empty() => Err("it has no whole number that could be a dimension".to_owned()),
        None => Ok(dims),
    }
}

fn yaml_text(value: &Yaml) -> String {
    match value {
        Yaml::String(text) => format!("`{text}`"),
        Yaml::Integer(number) => number.to_string(),
        Yaml::Real(number) => number.clone(),
        Yaml::Boolean(truth) => truth.to_string(),
        _ => "of another kind".to_owned(),
    }
}

/// Who allocates the outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputAllocation {
    /// `generate_input`, by `torch.empty`: outputs are passed with the inputs.
    Passed,
    /// The kernel, which returns them.
    Returned,
}

/// Tensors in the order of `generate_input`, then returned outputs; and the kernel's arguments.
fn tensors(
    given: &GpuModeProblem,
    description: &Description,
    problem: &str,
) -> Result<(Vec<Tensor>, Vec<Argument>, OutputAllocation), ImportError> {
    let (mut tensors, arguments) = description.inputs(None, &given.inputs, problem, "generate_input")?;
    if let Some(name) = description.used.iter().find(|name| !description.parameters.contains(name)) {
        let what =
            format!("an extent of generate_input is the constant `{name}` of reference.py; use --input with its value");
        return Err(ImportError::unmapped(problem, what));
    }
    match (tensors.iter().any(|tensor| tensor.direction == Direction::Output), given.outputs.is_empty()) {
        (true, true) => Ok((tensors, arguments, OutputAllocation::Passed)),
        (true, false) => {
            let what = "generate_input allocates the outputs (torch.empty); remove --returns";
            Err(ImportError::unmapped(problem, what))
        }
        (false, true) => {
            let what = "the outputs of ref_kernel are unknown without running it; describe them with --returns \"y=f32[EXTENT, ...]\"";
            Err(ImportError::unmapped(problem, what))
        }
        (false, false) => {
            tensors.extend(given.outputs.iter().map(|o| Tensor {
                direction: Direction::Output,
                init: None,
                ..of_command_line(o)
            }));
            Ok((tensors, arguments, OutputAllocation::Returned))
        }
    }
}

/// The submissions as candidates, each in a separate file next to the task's.
fn submissions(
    given: &GpuModeProblem,
    folder: &Path,
    problem: &str,
    parser: &Parser,
    (files, notes): (&mut Vec<(String, Vec<u8>)>, &mut Vec<String>),
) -> Result<Vec<Candidate>, ImportError> {
    let default = folder.join("submission.py");
    let paths = match given.submissions.as_slice() {
        [] if default.is_file() => vec![default],
        [] => {
            return Err(ImportError::unmapped(
                problem,
                "submission.py is missing next to it; give the submission with --solution",
            ));
        }
        paths => paths.to_vec(),
    };
    notes.extend(paths.iter().map(|path| format!("{} is copied", path.display())));
    let stems: Vec<String> = paths
        .iter()
        .map(|p| p.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default())
        .collect();
    let mut found = Vec::new();
    for ((path, stem), variant) in paths.iter().zip(&stems).zip(distinct(stems.iter().map(String::as_str))) {
        if !parser.describe(path, ("", ""), &[])?.functions.iter().any(|function| function == "custom_kernel") {
            return Err(ImportError::format(path, "it has no function `custom_kernel`"));
        }
        let module = format!("submitted_{}", variant.replace('-', "_"));
        files.push((format!("{module}.py"), text(path)?.into_bytes()));
        let call = Call { file: "calls.py".to_owned(), function: module };
        found.push(Candidate { variant, solution: stem.clone(), call });
    }
    Ok(found)
}

fn calls(
    tensors: &[Tensor],
    (arguments, single): (&[Argument], bool),
    room: OutputAllocation,
    candidates: &[Candidate],
) -> String {
    let inputs: Vec<&str> = names(tensors, Direction::Input).collect();
    let passed: Vec<&str> = match room {
        OutputAllocation::Passed => tensors.iter().map(|tensor| tensor.name.as_str()).collect(),
        OutputAllocation::Returned => inputs.clone(),
    };
    let data = |item: &dyn Fn(&str) -> String| match (single, arguments) {
        (true, [one]) => one.written(item),
        _ => format!("({})", arguments.iter().map(|one| one.written(item) + ",").collect::<Vec<_>>().join(" ")),
    };
    let extents = |name: &str| {
        tensors.iter().find(|t| t.name == name && t.direction == Direction::Output).map(|t| t.shape.join(", "))
    };
    let on_host = |name: &str| match extents(name) {
        Some(shape) => format!("room({}, ({shape},))", literal(name)),
        None => format!("typed({}, {name})", literal(name)),
    };
    let mut dims: Vec<&str> = Vec::new();
    let words = tensors
        .iter()
        .filter(|t| t.direction == Direction::Output && room == OutputAllocation::Passed)
        .flat_map(|t| &t.shape);
    for word in words.flat_map(|extent| extent.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')) {
        if super::tensor::is_identifier(word) && !dims.contains(&word) {
            dims.push(word);
        }
    }
    let typed: Vec<String> = inputs
        .iter()
        .map(|name| format!("{name}: torch.Tensor"))
        .chain(dims.iter().map(|dim| (*dim).to_owned()))
        .collect();
    let parameters = passed.join(", ");
    let direct = data(&|name| format!("with_axes({}, {name})", literal(name)));
    let mut text = format!(
        "\"\"\"Calls ref_kernel of reference.py and custom_kernel of the submissions, of gpu-mode, with ncugate's inputs.\n\n\
         `reference_answer` returns the expected outputs, on the CPU; `eager` is the baseline.\n\"\"\"\n\n\
         import importlib\nimport pathlib\nimport sys\n\nimport torch\n\n{}{}OUTPUTS = {}\n\n\n{}\n\n\
         def reference_answer({}):\n    with torch.no_grad():\n        return results(module(\"reference\").ref_kernel({}))\n\n\n\
         def eager({parameters}):\n    return results(module(\"reference\").ref_kernel({direct}))\n",
        types(tensors),
        without_axes(tensors),
        literals(names(tensors, Direction::Output)),
        concat!(include_str!("kernel_calls.py"), "\n\n", include_str!("answers.py")),
        typed.join(", "),
        data(&on_host),
    );
    for candidate in candidates {
        let function = &candidate.call.function;
        text.push_str(&format!(
            "\n\ndef {function}({parameters}):\n    return results(module({}).custom_kernel({direct}))\n",
            literal(function)
        ));
    }
    text
}
