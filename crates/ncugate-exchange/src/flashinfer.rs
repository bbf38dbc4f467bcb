//! FlashInfer-Trace: a definition, its workloads and its solutions.

use super::adapter::{literal, literals, names, number, types, without_axes};
use super::error::ImportError;
use super::problem::{
    Call, Candidate, Direction, ForeignProblem, ImportTarget, NewPhase, OutputTolerance, ScalarInput, Size, Tensor,
    distinct,
};
use super::safetensors;
use super::tensor::dtype_of;
use super::trace_set::{
    Axis, Binding, CompileOptions, InputSpec, LanguageFamily, Solution, TensorSpec, TraceDefinition, TraceSet,
    TraceWorkload, WorkloadTrace, parse,
};
use ncugate_model::Dtype;
use ncugate_phase::config::ImportFormat;
use serde_json::{Value, json};
use std::path::Path;

/// The parts of a FlashInfer-Trace folder to import.
#[derive(Debug, Clone, Default)]
pub struct FlashInferChoice {
    /// The definition; optional if the folder has only one.
    pub definition: Option<String>,
    /// Solutions; all of the definition if none is named.
    pub solutions: Vec<String>,
    /// Workloads by UUID; all of the definition if none is named.
    pub workloads: Vec<String>,
}

/// flashinfer-bench's default tolerance: its `ResolvedEvalConfig`.
const BOUND: OutputTolerance = OutputTolerance { atol: 1e-2, rtol: 1e-2, mismatches: 0.0 };
/// The same for definitions of the type `moe`: its `eval_config.yaml`.
const BOUND_OF_MOE: OutputTolerance = OutputTolerance { mismatches: 0.05, ..BOUND };
/// Extensions of compiled sources.
const COMPILED: [&str; 4] = [".cu", ".cpp", ".cc", ".c"];
/// Extensions of their headers.
const HEADERS: [&str; 3] = [".cuh", ".h", ".hpp"];
/// The dimension that distinguishes workloads with different numbers.
const WORKLOAD: &str = "WORKLOAD";

/// The phase of a definition in a FlashInfer-Trace folder.
///
/// # Errors
/// A file cannot be read or does not match the format, a name is unknown, or the problem has something that a phase
/// cannot express.
pub fn import_flashinfer(
    root: &Path,
    choice: &FlashInferChoice,
    target: &ImportTarget,
) -> Result<NewPhase, ImportError> {
    let set = TraceSet::read(root)?;
    let definition = chosen(&set, choice)?;
    let (mut notes, mut files) = (Vec::new(), Vec::new());
    let chosen = workloads(&set, definition, choice)?;
    let values: Vec<TraceWorkload> =
        chosen.iter().map(|trace| parse(root, &trace.workload.to_string())).collect::<Result<_, _>>()?;
    let numbers = numbers(definition, &values)?;
    let sizes = sizes(definition, &values, &numbers)?;
    let tensors = tensors(definition, &values, target)?;
    files.extend(stored_tensors(&set, &tensors, definition, &values, &sizes)?);
    files.push(("definition.py".to_owned(), definition.reference.clone().into_bytes()));
    files.push(("reference.py".to_owned(), reference(definition, &tensors, &numbers).into_bytes()));
    let candidates = candidates(&set, definition, choice, (&tensors, &numbers), (&mut files, &mut notes))?;
    notes.push(
        "errors up to atol + rtol * |expected| are allowed; flashinfer-bench allows the larger of the two. The phase also bounds rel_l2"
            .to_owned(),
    );
    for constraint in &definition.constraints {
        notes.push(format!("the constraint `{constraint}` is not checked; the workloads must satisfy it"));
    }
    if definition.op_type == "sampling" {
        let what = "it is a sampling operation with random outputs, but a phase compares every element with one expected value";
        return Err(ImportError::unmapped(&definition.name, what));
    }
    let workloads = sizes.iter().zip(&chosen).map(|(size, trace)| (size.name.clone(), trace.workload.to_string()));
    let problem = ForeignProblem {
        format: ImportFormat::FlashInfer,
        name: definition.name.clone(),
        title: definition
            .description
            .clone()
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| definition.name.clone()),
        timed: sizes.iter().map(|size| size.name.clone()).collect(),
        workloads: workloads.collect(),
        ranking: None,
        numbers: numbers.iter().map(|(number, _)| number.clone()).collect(),
        sizes,
        tensors,
        bound: if definition.op_type == "moe" { BOUND_OF_MOE } else { BOUND },
        reference: Call { file: "reference.py".to_owned(), function: "reference".to_owned() },
        eager: Call { file: "reference.py".to_owned(), function: "eager".to_owned() },
        candidates,
        files,
        notes,
    };
    problem.phase(target)
}

fn chosen<'s>(set: &'s TraceSet, choice: &FlashInferChoice) -> Result<&'s TraceDefinition, ImportError> {
    let known = || set.definitions.iter().map(|d| d.name.as_str()).collect::<Vec<_>>().join(", ");
    match (&choice.definition, set.definitions.as_slice()) {
        (Some(name), all) => all.iter().find(|definition| definition.name == *name).ok_or_else(|| {
            ImportError::format(&set.root, format!("it has no definition `{name}`; known: {}", known()))
        }),
        (None, [one]) => Ok(one),
        (None, _) => {
            Err(ImportError::format(&set.root, format!("select one of its definitions with --definition: {}", known())))
        }
    }
}

fn workloads<'s>(
    set: &'s TraceSet,
    definition: &TraceDefinition,
    choice: &FlashInferChoice,
) -> Result<Vec<&'s WorkloadTrace>, ImportError> {
    let own: Vec<&WorkloadTrace> = set.workloads.iter().filter(|trace| trace.definition == definition.name).collect();
    let uuid =
        |trace: &WorkloadTrace| trace.workload.get("uuid").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(absent) = choice.workloads.iter().find(|name| !own.iter().any(|trace| uuid(trace) == **name)) {
        return Err(ImportError::unmapped(&definition.name, format!("it has no workload {absent}")));
    }
    let kept: Vec<_> =
        own.into_iter().filter(|t| choice.workloads.is_empty() || choice.workloads.contains(&uuid(t))).collect();
    if kept.is_empty() {
        return Err(ImportError::unmapped(&definition.name, "it has no workload, but a phase needs a shape"));
    }
    Ok(kept)
}

/// Numbers passed by value, and whether they differ between workloads.
fn numbers(
    definition: &TraceDefinition,
    workloads: &[TraceWorkload],
) -> Result<Vec<(ScalarInput, Variation)>, ImportError> {
    let scalars = definition.inputs.iter().filter(|(_, spec)| spec.shape.is_none());
    scalars
        .map(|(name, spec)| {
            let dtype = dtype(definition, name, spec)?;
            let values: Vec<String> =
                workloads.iter().map(|workload| scalar(definition, workload, name)).collect::<Result<_, _>>()?;
            let (last, others) = values.split_last().map_or(("0", &[][..]), |(last, others)| (last.as_str(), others));
            if others.iter().all(|value| value == last) {
                return Ok((ScalarInput { name: name.clone(), dtype, value: last.to_owned() }, Variation::No));
            }
            let cases: String =
                others.iter().zip(1..).map(|(value, at)| format!("{value} if {WORKLOAD} == {at} else ")).collect();
            Ok((ScalarInput { name: name.clone(), dtype, value: cases + last }, Variation::Yes))
        })
        .collect()
}

/// Whether a number differs between workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variation {
    Yes,
    No,
}

fn scalar(definition: &TraceDefinition, workload: &TraceWorkload, name: &str) -> Result<String, ImportError> {
    let given = match workload.inputs.get(name) {
        Some(InputSpec::Scalar { value: Value::Number(number) }) => Some(number.to_string()),
        Some(InputSpec::Scalar { value: Value::Bool(truth) }) => Some(i32::from(*truth).to_string()),
        _ => None,
    };
    given.ok_or_else(|| {
        ImportError::unmapped(&definition.name, format!("workload {} has no value for `{name}`", workload.uuid))
    })
}

fn dtype(definition: &TraceDefinition, name: &str, spec: &TensorSpec) -> Result<Dtype, ImportError> {
    dtype_of(&spec.dtype).ok_or_else(|| {
        ImportError::unmapped(
            &definition.name,
            format!("`{name}` has the type {}, which a phase does not support", spec.dtype),
        )
    })
}

fn sizes(
    definition: &TraceDefinition,
    workloads: &[TraceWorkload],
    numbers: &[(ScalarInput, Variation)],
) -> Result<Vec<Size>, ImportError> {
    let differ = numbers.iter().any(|(_, differs)| *differs == Variation::Yes);
    let extent = |workload: &TraceWorkload, name: &str, axis: &Axis| {
        let extent = match axis {
            Axis::Const { value } => Some(*value),
            Axis::Var => workload.axes.get(name).copied(),
        };
        let problem = match extent {
            Some(extent) if extent >= 1 => return Ok((name.to_owned(), extent)),
            Some(extent) => {
                format!("axis `{name}` of workload {} is {extent}, but an extent must be at least 1", workload.uuid)
            }
            None => format!("workload {} has no value for axis `{name}`", workload.uuid),
        };
        Err(ImportError::unmapped(&definition.name, problem + "; choose others with --workload"))
    };
    let size = |(workload, at): (&TraceWorkload, i64)| {
        let axes = definition.axes.iter().map(|(name, axis)| extent(workload, name, axis));
        let mut dims = axes.collect::<Result<Vec<_>, _>>()?;
        dims.extend(differ.then(|| (WORKLOAD.to_owned(), at)));
        Ok(Size { name: format!("w{at}"), dims })
    };
    workloads.iter().zip(1..).map(size).collect()
}

fn tensors(
    definition: &TraceDefinition,
    workloads: &[TraceWorkload],
    target: &ImportTarget,
) -> Result<Vec<Tensor>, ImportError> {
    let tensor = |name: &String, spec: &TensorSpec, direction, init| {
        let Some(shape) = spec.shape.clone() else {
            let what = format!("output `{name}` is a returned number, but a phase compares buffers");
            return Err(ImportError::unmapped(&definition.name, what));
        };
        Ok(Tensor { name: name.clone(), dtype: dtype(definition, name, spec)?, shape, direction, init })
    };
    let mut found = Vec::new();
    for (name, spec) in definition.inputs.iter().filter(|(_, spec)| spec.shape.is_some()) {
        let init = input(definition, workloads, name, spec, target)?;
        found.push(tensor(name, spec, Direction::Input, init)?);
    }
    for (name, spec) in &definition.outputs {
        found.push(tensor(name, spec, Direction::Output, None)?);
    }
    Ok(found)
}

/// How an input is filled: the same way for all workloads.
fn input(
    definition: &TraceDefinition,
    workloads: &[TraceWorkload],
    name: &str,
    spec: &TensorSpec,
    target: &ImportTarget,
) -> Result<Option<Value>, ImportError> {
    let given: Vec<Option<&InputSpec>> = workloads.iter().map(|workload| workload.inputs.get(name)).collect();
    if given.iter().all(|input| matches!(input, Some(InputSpec::Random))) {
        return Ok(random(&spec.dtype));
    }
    if given.iter().all(|input| matches!(input, Some(InputSpec::Safetensors { .. }))) {
        return Ok(Some(json!({ "npy": target.path("{{ shape }}-{{ buffer }}.npy") })));
    }
    let what = format!(
        "input `{name}` is random in one workload and stored in another; select workloads of one kind with --workload"
    );
    Err(ImportError::unmapped(&definition.name, what))
}

/// flashinfer-bench's distribution for a type; `None` for the normal distribution, which is the default of a phase.
fn random(dtype: &str) -> Option<Value> {
    let whole = |low: f64, high: f64| Some(json!({ "uniform": { "low": low - 0.5, "high": high - 0.5 } }));
    match dtype {
        "bool" => Some(json!({ "mask": 0.5 })),
        "int8" => whole(-128.0, 128.0),
        "int16" | "int32" | "int64" => whole(-1024.0, 1024.0),
        _ => None,
    }
}

/// Tensors of safetensors files, as NumPy files for each shape.
fn stored_tensors(
    set: &TraceSet,
    tensors: &[Tensor],
    definition: &TraceDefinition,
    workloads: &[TraceWorkload],
    sizes: &[Size],
) -> Result<Vec<(String, Vec<u8>)>, ImportError> {
    let mut files = Vec::new();
    for (workload, size) in workloads.iter().zip(sizes) {
        for tensor in tensors.iter().filter(|tensor| tensor.direction == Direction::Input) {
            let Some(InputSpec::Safetensors { path, tensor_key }) = workload.inputs.get(&tensor.name) else { continue };
            let extent = |axis: &String| {
                let known = size.dims.iter().find(|(name, _)| name == axis).and_then(|(_, n)| usize::try_from(*n).ok());
                known.ok_or_else(|| {
                    ImportError::unmapped(
                        &definition.name,
                        format!("`{}` has an undeclared axis `{axis}`", tensor.name),
                    )
                })
            };
            let mut extents = tensor.shape.iter().map(extent).collect::<Result<Vec<_>, _>>()?;
            if extents.is_empty() {
                extents.push(1);
            }
            let bytes = safetensors::npy_of(&set.root.join(path), tensor_key, tensor.dtype, &extents)?;
            files.push((format!("{}-{}.npy", size.name, tensor.name), bytes));
        }
    }
    Ok(files)
}

/// Parameters and arguments of the definition's functions, in its order.
fn arguments(
    definition: &TraceDefinition,
    numbers: &[(ScalarInput, Variation)],
    tensor: impl Fn(&str) -> String,
) -> String {
    let argument = |name: &String| match numbers.iter().find(|(known, _)| known.name == *name) {
        Some((known, _)) => number(known),
        None => tensor(name),
    };
    definition.inputs.keys().map(argument).collect::<Vec<_>>().join(", ")
}

fn reference(definition: &TraceDefinition, tensors: &[Tensor], numbers: &[(ScalarInput, Variation)]) -> String {
    let parameters = definition.inputs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let given = arguments(definition, numbers, |name| format!("given({}, {name})", literal(name)));
    let direct = arguments(definition, numbers, |name| format!("with_axes({}, {name})", literal(name)));
    let head = "\"\"\"Calls `run` of definition.py, the reference of a definition of FlashInfer-Trace, with ncugate's inputs.\n\n\
        `reference` returns the expected outputs, on the CPU and in the types of the definition; `eager` is the baseline.\n\
        Inputs are tensors if the definition imports PyTorch, else NumPy arrays.\n\"\"\"\n\nimport sys\n\nimport definition\n\n";
    let body = concat!(include_str!("definition_calls.py"), "\n\n", include_str!("answers.py"));
    format!(
        "{head}{}{}OUTPUTS = {}\n\n\n{body}\n\ndef reference({parameters}):\n    return results(definition.run({given}))\n\n\n\
         def eager({parameters}):\n    return results(definition.run({direct}))\n",
        types(tensors),
        without_axes(tensors),
        literals(names(tensors, Direction::Output)),
    )
}

type Parts<'p> = (&'p [Tensor], &'p [(ScalarInput, Variation)]);
type FilesAndNotes<'p> = (&'p mut Vec<(String, Vec<u8>)>, &'p mut Vec<String>);

/// The solutions that a phase can call, with their files. An excluded solution becomes a note, or an error if it was
/// named.
fn candidates(
    set: &TraceSet,
    definition: &TraceDefinition,
    choice: &FlashInferChoice,
    (tensors, numbers): Parts<'_>,
    (files, notes): FilesAndNotes<'_>,
) -> Result<Vec<Candidate>, ImportError> {
    let own: Vec<&Solution> = set.solutions.iter().filter(|s| s.definition == definition.name).collect();
    if let Some(absent) = choice.solutions.iter().find(|name| !own.iter().any(|s| s.name == **name)) {
        return Err(ImportError::unmapped(&definition.name, format!("it has no solution `{absent}`")));
    }
    let asked: Vec<&Solution> =
        own.into_iter().filter(|s| choice.solutions.is_empty() || choice.solutions.contains(&s.name)).collect();
    let mut kept: Vec<&Solution> = Vec::new();
    for solution in asked {
        match refusal(solution, &kept) {
            None => kept.push(solution),
            Some(why) if choice.solutions.is_empty() => {
                notes.push(format!("solution `{}` is omitted: {why}", solution.name));
            }
            Some(why) => {
                return Err(ImportError::unmapped(&definition.name, format!("solution `{}`: {why}", solution.name)));
            }
        }
    }
    let variants = distinct(kept.iter().map(|solution| solution.name.as_str()));
    let mut found = Vec::new();
    for (solution, variant) in kept.iter().zip(variants) {
        if let Some(LanguageFamily::Compiled(binding)) = solution.spec.family() {
            let by = match binding {
                Binding::Torch => "PyTorch's extension loader",
                Binding::TvmFfi => "TVM-FFI",
            };
            notes.push(format!(
                "{by} compiles solution `{}` at its first call, which needs nvcc, ninja and a C++ compiler",
                solution.name
            ));
        }
        if !solution.spec.dependencies.is_empty() {
            let needs = solution.spec.dependencies.join(", ");
            notes.push(format!("solution `{}` needs {needs} in the Python of [build]", solution.name));
        }
        files
            .extend(solution.sources.iter().map(|s| (format!("{variant}/{}", s.path), s.content.clone().into_bytes())));
        let file = format!("{variant}/ncugate_{}.py", variant.replace('-', "_"));
        files.push((file.clone(), solution_calls(solution, &variant, definition, tensors, numbers).into_bytes()));
        let call = Call { file, function: "solution".to_owned() };
        found.push(Candidate { variant, solution: solution.name.clone(), call });
    }
    Ok(found)
}

/// Why a phase cannot call a solution in addition to the kept ones.
fn refusal(solution: &Solution, kept: &[&Solution]) -> Option<String> {
    let Some(family) = solution.spec.family() else {
        let written = solution.spec.written_in();
        return Some(format!("its language is `{written}`, which ncugate does not support (docs/problems.md)"));
    };
    let Some((file, function)) = solution.spec.entry_point.split_once("::") else {
        return Some(format!("its entry point `{}` is not FILE::FUNCTION", solution.spec.entry_point));
    };
    if !super::tensor::is_identifier(function) {
        return Some(format!("its entry `{function}` is not a function of a module"));
    }
    if !solution.sources.iter().any(|source| source.path == file) {
        return Some(format!("its entry file `{file}` is not among its sources"));
    }
    let plain = |path: &str| {
        !path.is_empty()
            && path.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
            && !path.starts_with('.')
    };
    if let Some(source) = solution.sources.iter().find(|source| !plain(&source.path)) {
        return Some(format!("its source `{}` is not in the same folder as the others", source.path));
    }
    if let LanguageFamily::Compiled(_) = family {
        let is_known = |path: &str| COMPILED.iter().chain(&HEADERS).any(|ending| path.ends_with(ending));
        let unknown = solution.sources.iter().find(|source| !is_known(&source.path));
        return unknown.map(|source| format!("its source `{}` is neither C++ nor CUDA", source.path));
    }
    // Python identifies modules by name alone: files of two solutions with the same import name would be one module.
    let python = kept.iter().filter(|other| other.spec.family() == Some(LanguageFamily::Python));
    let clash = python.filter(|other| other.sources.len() > 1 || solution.sources.len() > 1).find_map(|other| {
        let shared = solution.sources.iter().find(|s| other.sources.iter().any(|o| o.path == s.path))?;
        Some((other, shared))
    });
    clash.map(|(other, shared)| {
        format!("it and `{}` both have a module {}; import them one at a time with --solution", other.name, shared.path)
    })
}

/// A solution gets tensors if PyTorch is installed, whether or not it imports PyTorch.
const TENSORS: &str = "try:\n    import torch  # noqa: F401\nexcept ImportError:\n    pass\n\n";

fn solution_calls(
    solution: &Solution,
    variant: &str,
    definition: &TraceDefinition,
    tensors: &[Tensor],
    numbers: &[(ScalarInput, Variation)],
) -> String {
    let (file, function) = solution.spec.entry_point.split_once("::").unwrap_or_default();
    let outputs: Vec<&str> = match solution.spec.destination_passing_style {
        true => names(tensors, Direction::Output).collect(),
        false => Vec::new(),
    };
    let parameters: Vec<&str> = definition.inputs.keys().map(String::as_str).chain(outputs.iter().copied()).collect();
    let given = arguments(definition, numbers, |name| format!("with_axes({}, {name})", literal(name)));
    let given: Vec<String> = std::iter::once(given)
        .chain(outputs.iter().map(|name| format!("with_axes({}, {name})", literal(name))))
        .collect();
    let returned = match solution.spec.destination_passing_style {
        true => format!("    ENTRY({})\n", given.join(", ")),
        false => format!("    return results(ENTRY({}))\n", given.join(", ")),
    };
    let name = literal(&format!("ncugate_solution_{}", variant.replace('-', "_")));
    let (loader, entry) = match solution.spec.family() {
        Some(LanguageFamily::Compiled(binding)) => (
            include_str!("extension_calls.py"),
            format!(
                "extension({}, {}, {name}, {}, {})",
                literals(solution.sources.iter().map(|source| source.path.as_str())),
                literal(function),
                literal(match binding {
                    Binding::Torch => "torch",
                    Binding::TvmFfi => "tvm-ffi",
                }),
                flags(solution.spec.compile_options.as_ref()),
            ),
        ),
        Some(LanguageFamily::Python) | None => {
            (include_str!("solution_calls.py"), format!("entry({}, {}, {name})", literal(file), literal(function)))
        }
    };
    let imports = match solution.spec.family() {
        Some(LanguageFamily::Compiled(_)) => "import hashlib\nimport pathlib\n",
        Some(LanguageFamily::Python) | None => "import importlib.util\nimport pathlib\nimport sys\n",
    };
    format!(
        "\"\"\"Calls {} of {file}, a solution of FlashInfer-Trace, with ncugate's buffers.\"\"\"\n\n{}\n{TENSORS}{}OUTPUTS = {}\n\n\n{}\n\n\
         ENTRY = {entry}\n\n\ndef solution({}):\n{returned}",
        function,
        imports,
        without_axes(tensors),
        literals(names(tensors, Direction::Output)),
        [loader, "\n\n", include_str!("answers.py")].concat(),
        parameters.join(", "),
    )
}

/// Flags of a solution under the names of PyTorch's loader.
fn flags(options: Option<&CompileOptions>) -> String {
    let Some(CompileOptions { cflags, cuda_cflags, ld_flags }) = options else { return "{}".to_owned() };
    let list = |flags: &[String]| literals(flags.iter().map(String::as_str));
    format!(
        "{{\"extra_cflags\": {}, \"extra_cuda_cflags\": {}, \"extra_ldflags\": {}}}",
        list(cflags),
        list(cuda_cflags),
        list(ld_flags)
    )
}
