//! KernelBench: `Model`, `get_inputs` and `get_init_inputs` in one file, `ModelNew` in another.

use super::adapter::{Argument, literal, literals, names, types, without_axes};
use super::description::{Parser, of_command_line};
use super::error::ImportError;
use super::problem::{
    Call, Candidate, Direction, ForeignProblem, ImportTarget, NewPhase, OutputTolerance, Size, Tensor, distinct,
    plain_name,
};
use super::tensor::{GivenTensor, torch_name};
use super::trace_set::text;
use ncugate_model::Dtype;
use ncugate_phase::config::ImportFormat;
use std::path::PathBuf;

/// The type in which a problem is computed, with KernelBench's tolerance for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    Fp32,
    Fp16,
    Bf16,
}

impl Precision {
    const fn dtype(self) -> Dtype {
        match self {
            Self::Fp32 => Dtype::F32,
            Self::Fp16 => Dtype::F16,
            Self::Bf16 => Dtype::Bf16,
        }
    }

    const fn bound(self) -> OutputTolerance {
        let each = match self {
            Self::Fp32 => 1e-4,
            Self::Fp16 | Self::Bf16 => 1e-2,
        };
        OutputTolerance { atol: each, rtol: each, mismatches: 0.0 }
    }
}

/// A problem of KernelBench with its solutions.
#[derive(Debug, Clone)]
pub struct KernelBenchProblem {
    pub problem: PathBuf,
    /// Files with a `ModelNew`.
    pub solutions: Vec<PathBuf>,
    /// The type in which it is computed.
    pub precision: Precision,
    /// Inputs described on the command line.
    pub inputs: Vec<GivenTensor>,
    /// The return values of `forward`, in order, which the file does not declare.
    pub outputs: Vec<GivenTensor>,
}

/// The dimension of a problem with unnamed extents.
const UNNAMED: &str = "ONE";
const SHAPE: &str = "problem";

/// The phase of a problem.
///
/// # Errors
/// A file cannot be read or does not match the format, or it omits something that a phase needs.
pub fn import_kernelbench(
    given: &KernelBenchProblem,
    parser: &Parser,
    target: &ImportTarget,
) -> Result<NewPhase, ImportError> {
    let stem = |path: &PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = stem(&given.problem);
    let unmapped = |what: String| ImportError::unmapped(&name, what);
    let description = parser.describe(&given.problem, ("get_inputs", "Model"), &given.inputs)?;
    let absent = ["get_inputs", "get_init_inputs"].into_iter().find(|f| !description.functions.iter().any(|g| g == f));
    if let Some(needed) = absent {
        return Err(unmapped(format!("it is not a problem of KernelBench: it has no function `{needed}`")));
    }
    let forward =
        description.forward.clone().ok_or_else(|| unmapped("it has no class `Model` with `forward`".to_owned()))?;
    let (mut tensors, arguments) = description.inputs(Some(&forward), &given.inputs, &name, "get_inputs")?;
    if given.outputs.is_empty() {
        let what = "the outputs of forward are unknown without running it; describe each with --returns \"y=f32[EXTENT, ...]\"";
        return Err(unmapped(what.to_owned()));
    }
    for tensor in tensors
        .iter_mut()
        .filter(|tensor| tensor.dtype.has_nan() && !given.inputs.iter().any(|i| i.name == tensor.name))
    {
        tensor.dtype = given.precision.dtype();
    }
    tensors.extend(given.outputs.iter().map(|o| Tensor {
        direction: Direction::Output,
        init: None,
        ..of_command_line(o)
    }));
    let mut files = vec![("problem.py".to_owned(), text(&given.problem)?.into_bytes())];
    let mut candidates = Vec::new();
    let stems: Vec<String> = given.solutions.iter().map(stem).collect();
    for ((path, stem), variant) in given.solutions.iter().zip(&stems).zip(distinct(stems.iter().map(String::as_str))) {
        let classes = parser.describe(path, ("", ""), &[])?.classes;
        if !classes.iter().any(|class| class == "ModelNew") {
            return Err(ImportError::format(path, "it has no class `ModelNew`"));
        }
        let file = format!("solution_{}.py", variant.replace('-', "_"));
        files.push((file.clone(), text(path)?.into_bytes()));
        let call = Call { file: "calls.py".to_owned(), function: file.trim_end_matches(".py").to_owned() };
        candidates.push(Candidate { variant, solution: stem.clone(), call });
    }
    files.push(("calls.py".to_owned(), calls(&tensors, &arguments, given.precision, &candidates).into_bytes()));
    let mut notes = vec![
        "Model and ModelNew have the weights that PyTorch draws on the CPU after torch.manual_seed(42)".to_owned(),
        "the reference is Model in float32 on the CPU; integer inputs stay integers, but KernelBench converts them to floats"
            .to_owned(),
        "the phase also bounds rel_l2, because zeros can be within atol and rtol if the expected values are small".to_owned(),
    ];
    notes.extend(description.notes.iter().cloned());
    let problem = ForeignProblem {
        format: ImportFormat::KernelBench,
        title: plain_name(&name).replace('_', " ").trim().to_owned(),
        sizes: vec![Size { name: SHAPE.to_owned(), dims: dims(&tensors, &description.constants, &description.used) }],
        timed: vec![SHAPE.to_owned()],
        name,
        tensors,
        numbers: Vec::new(),
        bound: given.precision.bound(),
        reference: Call { file: "calls.py".to_owned(), function: "reference".to_owned() },
        eager: Call { file: "calls.py".to_owned(), function: "eager".to_owned() },
        candidates,
        workloads: Vec::new(),
        ranking: None,
        files,
        notes,
    };
    problem.phase(target)
}

/// The constants used in extents; a placeholder if there are no constants.
fn dims(tensors: &[Tensor], constants: &indexmap::IndexMap<String, i64>, used: &[String]) -> Vec<(String, i64)> {
    let word =
        |text: &str, name: &str| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name);
    let named = |name: &String| used.contains(name) || tensors.iter().any(|t| t.shape.iter().any(|e| word(e, name)));
    let found: Vec<(String, i64)> =
        constants.iter().filter(|(name, extent)| **extent >= 1 && named(name)).map(|(n, e)| (n.clone(), *e)).collect();
    if found.is_empty() { vec![(UNNAMED.to_owned(), 1)] } else { found }
}

fn calls(tensors: &[Tensor], arguments: &[Argument], precision: Precision, candidates: &[Candidate]) -> String {
    let inputs: Vec<&str> = names(tensors, Direction::Input).collect();
    let parameters = inputs.join(", ");
    let typed: Vec<String> = inputs.iter().map(|name| format!("{name}: torch.Tensor")).collect();
    let torch_type = torch_name(precision.dtype()).unwrap_or("float32");
    let passed = |how: &str| -> Vec<String> {
        arguments.iter().map(|argument| argument.written(|name| format!("{how}({}, {name})", literal(name)))).collect()
    };
    let (on_host, direct) = (passed("on_host"), passed("with_axes"));
    let mut text = format!(
        "\"\"\"Calls Model of problem.py and ModelNew of the solutions, of KernelBench, with ncugate's inputs.\n\n\
         `reference` returns the expected outputs, on the CPU; `eager` is the baseline.\n\"\"\"\n\n\
         import importlib.util\nimport pathlib\nimport sys\n\nimport torch\n\nPRECISION = torch.{torch_type}\n{}{}OUTPUTS = {}\n\n\n{}\n\n\
         def reference({}):\n    model = made(\"problem\", \"Model\", \"cpu\")\n    with torch.no_grad():\n        \
         return results(model.to(PRECISION).to(torch.float32)({}))\n\n\n\
         def eager({parameters}):\n    return results(on_gpu(\"problem\", \"Model\")({}))\n",
        types(tensors),
        without_axes(tensors),
        literals(names(tensors, Direction::Output)),
        concat!(include_str!("model_calls.py"), "\n\n", include_str!("answers.py")),
        typed.join(", "),
        on_host.join(", "),
        direct.join(", "),
    );
    for candidate in candidates {
        let function = &candidate.call.function;
        text.push_str(&format!(
            "\n\ndef {function}({parameters}):\n    return results(on_gpu({}, \"ModelNew\")({}))\n",
            literal(function),
            direct.join(", ")
        ));
    }
    text
}
