//! A phase from a PyTorch function: the function is the baseline on the GPU and, in float64, the reference on the CPU.

use super::error::ImportError;
use super::tensor::{dtype_of, is_identifier, torch_name};
use ncugate_model::{Dtype, process};
use ncugate_phase::draft::{MovedBuffer, moved_bytes};
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

/// The program that calls the function.
const PROGRAM: &str = include_str!("torch_function.py");
/// The import of PyTorch, and the function in float64 on the CPU.
const LIMIT: Duration = Duration::from_secs(600);
/// Names of dimensions, in the order in which extents appear.
const DIMENSIONS: [&str; 8] = ["M", "N", "K", "L", "P", "Q", "R", "S"];
/// Extents of the small shape, in the same order: primes, so that every tile has a tail.
const SMALL: [usize; 8] = [37, 53, 29, 43, 31, 47, 23, 41];
/// Names of the shapes.
const GIVEN: &str = "given";
const RAGGED: &str = "ragged";

/// Functions of an element, by PyTorch's names, as CUDA C++ over the float `v`.
const ELEMENTWISE: [(&str, &str); 17] = [
    ("abs", "fabsf(v)"),
    ("cos", "cosf(v)"),
    ("elu", "v > 0.0f ? v : expm1f(v)"),
    ("erf", "erff(v)"),
    ("exp", "expf(v)"),
    ("gelu", "0.5f * v * (1.0f + erff(v * 0.70710678f))"),
    ("leaky_relu", "v > 0.0f ? v : 0.01f * v"),
    ("log", "logf(v)"),
    ("neg", "-v"),
    ("relu", "fmaxf(v, 0.0f)"),
    ("rsqrt", "rsqrtf(v)"),
    ("sigmoid", "1.0f / (1.0f + expf(-v))"),
    ("silu", "v / (1.0f + expf(-v))"),
    ("sin", "sinf(v)"),
    ("sqrt", "sqrtf(v)"),
    ("square", "v * v"),
    ("tanh", "tanhf(v)"),
];

/// An input on the command line: `4096x8192`, or `weight=8192`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputShape {
    /// The parameter; by position without one.
    pub name: Option<String>,
    pub extents: Vec<usize>,
}

impl FromStr for InputShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, extents) = text.split_once('=').map_or((None, text), |(name, extents)| (Some(name), extents));
        let extents: Result<Vec<usize>, _> = extents.split('x').map(str::parse).collect();
        match extents {
            Ok(extents) if !extents.contains(&0) && name.is_none_or(is_identifier) => {
                Ok(Self { name: name.map(str::to_owned), extents })
            }
            _ => Err(format!("`{text}` is not a shape; write extents such as 4096x8192, or weight=8192")),
        }
    }
}

/// An argument on the command line that is not a tensor: `dim=-1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiteralArgument {
    pub name: String,
    /// A Python literal.
    pub value: String,
}

impl FromStr for LiteralArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let given = text.split_once('=').filter(|(name, value)| is_identifier(name) && !value.is_empty());
        let (name, value) =
            given.ok_or_else(|| format!("`{text}` is not an argument; write NAME=LITERAL, such as dim=-1"))?;
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

/// What a phase from a function verifies and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    Forward,
    /// The results, and the gradients of all inputs.
    Training,
}

/// A function to make a phase of.
#[derive(Debug, Clone)]
pub struct TorchFunction {
    /// The Python that calls it.
    pub python: PathBuf,
    /// The folder of its file, if it is not in an installed module.
    pub folder: Option<PathBuf>,
    pub module: String,
    pub function: String,
    pub shapes: Vec<InputShape>,
    pub arguments: Vec<LiteralArgument>,
    pub dtype: Dtype,
    pub pass: Pass,
}

/// Names of the files of a phase, as the phase and its reader name them.
#[derive(Debug, Clone, Copy)]
pub struct TorchNames<'a> {
    pub phase: &'a str,
    /// The phase's file, for the reader.
    pub file: &'a str,
    /// The Python file and the kernel, relative to the project.
    pub python: &'a str,
    pub kernel: &'a str,
    /// The folder of the function's file, relative to the project.
    pub folder: Option<&'a str>,
    /// The Python in `[build]`, if it is not the default.
    pub interpreter: Option<&'a str>,
}

/// The texts of the files.
#[derive(Debug)]
pub struct TorchPhase {
    pub phase: String,
    pub python: String,
    pub kernel: String,
}

/// What the program prints.
#[derive(Debug, Deserialize)]
struct CallResult {
    names: Vec<String>,
    by_position: usize,
    content: Content,
    /// At the given extents, and at the small ones if the function works there.
    sizes: Vec<Option<Results>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    Normal,
    Positive,
}

#[derive(Debug, Deserialize)]
struct Results {
    /// Whether the function returns a tensor and not a tuple.
    single: bool,
    outputs: Vec<ResultTensor>,
    gradients: Vec<ResultTensor>,
}

impl Results {
    fn outputs(&self) -> &[ResultTensor] {
        &self.outputs
    }

    fn gradients(&self) -> &[ResultTensor] {
        &self.gradients
    }
}

#[derive(Debug, Deserialize)]
struct ResultTensor {
    extents: Vec<usize>,
    dtype: String,
    /// The root mean square.
    scale: f64,
}

/// A buffer of the phase.
struct TorchBuffer {
    name: String,
    dtype: Dtype,
    shape: Vec<String>,
    /// Of an output the root mean square, the smallest over the shapes.
    output: Option<f64>,
}

impl TorchFunction {
    /// Calls the function and writes its phase.
    ///
    /// # Errors
    /// Python or PyTorch is missing, the function fails, or it returns something else than tensors of known types.
    pub fn phase(mut self, names: TorchNames<'_>) -> Result<TorchPhase, ImportError> {
        // arguments by position come first in a call
        self.shapes.sort_by_key(|shape| shape.name.is_some());
        let dimensions = Dimensions::of(&self.shapes);
        let called = self.call(&dimensions)?;
        let failed = |what: String| ImportError::unmapped(self.named(), what);
        let given =
            called.sizes.first().and_then(Option::as_ref).ok_or_else(|| failed("it has no result".to_owned()))?;
        let small = called.sizes.get(1).and_then(Option::as_ref);
        let small = small.filter(|small| dimensions.hold_at_small(given, small));
        let outputs = number_names("output", given.outputs.len());
        let mut buffers = Vec::new();
        for (name, shape) in called.names.iter().zip(&self.shapes) {
            let shape = dimensions.named(&shape.extents);
            buffers.push(TorchBuffer { name: name.clone(), dtype: self.dtype, shape, output: None });
        }
        let made = |name: String, at: usize, of: fn(&Results) -> &[ResultTensor]| -> Result<TorchBuffer, ImportError> {
            let result = &of(given)[at];
            let dtype =
                dtype_of(&result.dtype).ok_or_else(|| failed(format!("`{name}` has the type {}", result.dtype)))?;
            let scale = small.map_or(result.scale, |small| result.scale.min(of(small)[at].scale));
            Ok(TorchBuffer { name, dtype, shape: dimensions.named(&result.extents), output: Some(scale) })
        };
        if self.pass == Pass::Training {
            for (at, name) in outputs.iter().enumerate() {
                let upstream = made(format!("grad_{name}"), at, Results::outputs)?;
                buffers.push(TorchBuffer { output: None, ..upstream });
            }
        }
        for (at, name) in outputs.iter().enumerate() {
            buffers.push(made(name.clone(), at, Results::outputs)?);
        }
        for (at, name) in called.names.iter().enumerate().take(given.gradients.len()) {
            buffers.push(made(format!("grad_{name}"), at, Results::gradients)?);
        }
        let taken = |name: &str| dimensions.extents.iter().any(|(dimension, _)| *dimension == name);
        let twice = |at: usize| buffers[..at].iter().any(|other| other.name == buffers[at].name);
        if let Some(at) = (0..buffers.len()).find(|&at| taken(&buffers[at].name) || twice(at)) {
            let what =
                format!("`{}` cannot be the name of a buffer here; wrap the function in another one", buffers[at].name);
            return Err(failed(what));
        }
        let formula = self.formula(&buffers);
        Ok(TorchPhase {
            phase: self.phase_text(names, &dimensions, (&buffers, called.content, small.is_some()), formula),
            python: self.python_text(&called, given, &outputs),
            kernel: self.kernel_text(names, &dimensions, &buffers, formula),
        })
    }

    /// `torch.nn.functional:gelu`
    fn named(&self) -> String {
        format!("{}:{}", self.module, self.function)
    }

    /// The kernel's function.
    fn entry(&self) -> String {
        // without the suffix, `tanh` would be the function of CUDA
        format!("{}_kernel", self.function.replace('.', "_"))
    }

    fn call(&self, dimensions: &Dimensions) -> Result<CallResult, ImportError> {
        let failed = |what: String| ImportError::unmapped(self.named(), what);
        let extents = |of: &dyn Fn(&[usize]) -> Vec<usize>| -> Vec<Vec<usize>> {
            self.shapes.iter().map(|shape| of(&shape.extents)).collect()
        };
        let request = json!({
            "folder": self.folder,
            "module": self.module,
            "function": self.function,
            "names": self.shapes.iter().map(|shape| &shape.name).collect::<Vec<_>>(),
            "arguments": self.arguments.iter().map(|one| (&one.name, &one.value)).collect::<Vec<_>>(),
            "dtype": torch_name(self.dtype),
            "backward": self.pass == Pass::Training,
            "sizes": [extents(&|own| own.to_vec()), extents(&|own| dimensions.small(own))],
        });
        let mut command = Command::new(&self.python);
        command.args(["-c", PROGRAM]).arg(request.to_string());
        let python = self.python.display();
        let output = process::run(&mut command, LIMIT)
            .map_err(|error| failed(format!("cannot run `{python}`: {error}; use --python")))?;
        if !output.ending.completed() {
            let last = output.stderr.trim_end().lines().last().map_or_else(|| output.ending.to_string(), str::to_owned);
            return Err(failed(format!("{last} (called by `{python}`)")));
        }
        serde_json::from_str(&output.stdout)
            .map_err(|error| failed(format!("unexpected output of `{python}`: {error}")))
    }

    /// The formula of an element, if the function has one and is called with its input alone.
    fn formula(&self, buffers: &[TorchBuffer]) -> Option<&'static str> {
        let plain = self.arguments.is_empty() && self.pass == Pass::Forward && self.module.starts_with("torch");
        let [input, output] = buffers else { return None };
        let same = input.shape == output.shape && input.dtype == output.dtype;
        let narrow = matches!(self.dtype, Dtype::F32 | Dtype::F16 | Dtype::Bf16);
        let known = ELEMENTWISE.iter().find(|(name, _)| *name == self.function)?;
        (plain && same && narrow).then_some(known.1)
    }

    fn phase_text(
        &self,
        names: TorchNames<'_>,
        dimensions: &Dimensions,
        (buffers, content, has_small): (&[TorchBuffer], Content, bool),
        formula: Option<&str>,
    ) -> String {
        let mut text = format!(
            "# Written by `ncugate init {}`. Lines with CHECK are guesses: compare them with your application.\n#\n\
             #     ncugate check {file} --arch sm_90\n#     ncugate run {file}\n\n[phase]\nname = \"{}\"\n",
            self.named(),
            names.phase,
            file = names.file
        );
        if names.interpreter.is_some() || names.folder.is_some() {
            text.push_str("\n[build]\n");
        }
        // Writing to a string does not fail.
        if let Some(python) = names.interpreter {
            let _ = writeln!(text, "python = {}", quoted(python));
        }
        if let Some(folder) = names.folder {
            let _ = writeln!(text, "pythonpath = [{}]", quoted(folder));
        }
        let python = quoted(&format!("{}:call", names.python));
        let _ = write!(
            text,
            "\n[workload]\nseeds = [0, 1, 2]\n# In float64 on the CPU.\nreference = {{ python = {python}, timeout_s = 600 }}\n{}",
            tolerance(buffers)
        );
        let moved =
            buffers.iter().map(|buffer| MovedBuffer { size: buffer.dtype.size(), shape: &buffer.shape, times: 1 });
        if let Some(bytes) = moved_bytes(moved) {
            let _ = writeln!(
                text,
                "# CHECK: minimum bytes that a launch moves: every input read once, every output written once.\nbytes = {bytes:?}"
            );
        }
        let shape = |of: &dyn Fn(usize) -> usize| {
            let pairs = dimensions.extents.iter().map(|(name, extent)| format!("{name} = {}", of(*extent)));
            pairs.collect::<Vec<_>>().join(", ")
        };
        text.push_str("\n[workload.shapes]\n");
        if has_small {
            let small = shape(&|extent| dimensions.small(&[extent])[0]);
            let _ = writeln!(text, "# Sizes with tails: checked, never timed.\n{RAGGED} = {{ {small} }}");
        }
        let _ = write!(
            text,
            "{GIVEN} = {{ {} }}\n\n[bench]\nshapes = [\"{GIVEN}\"]\n\n[profile]\nshapes = [\"{GIVEN}\"]\n\n[workload.buffers]\n",
            shape(&|extent| extent)
        );
        for buffer in buffers {
            let shape: Vec<String> = buffer.shape.iter().map(|extent| format!("\"{extent}\"")).collect();
            let shape = if shape.is_empty() { "1".to_owned() } else { shape.join(", ") };
            let rest = match (buffer.output, content) {
                (Some(_), _) => ", role = \"output\"",
                (None, Content::Positive) => ", init = { uniform = { low = 0.5, high = 3 } }",
                (None, Content::Normal) => "",
            };
            let _ =
                writeln!(text, "{} = {{ dtype = \"{}\", shape = [{shape}]{rest} }}", buffer.name, buffer.dtype.name());
        }
        let (grid, args) = match formula {
            Some(_) => {
                let elements = dimensions.product(&buffers[0].shape);
                (
                    format!("({elements} + 255) // 256"),
                    format!(
                        "\"{}\", \"{}\", {{ value = \"{elements}\", type = \"i64\" }}",
                        buffers[0].name, buffers[1].name
                    ),
                )
            }
            None => {
                let names = buffers.iter().map(|buffer| buffer.name.as_str());
                let names = names.chain(dimensions.extents.iter().map(|(name, _)| *name));
                ("1".to_owned(), names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "))
            }
        };
        let _ = write!(
            text,
            "\n[kernel]\nsource = {}\nentry = \"{}\"\n# {mark}: blocks of the grid, and threads of a block.\ngrid = [\"{grid}\"]\nblock = [256]\nargs = [{args}]\n\n\
             # The function on the GPU, timed in the same rounds.\n[[baseline]]\nname = \"torch\"\npython = {python}\n\n\
             [[gate]]\nrequire = \"correct == 1\"\n\n[[gate]]\nrequire = 'speedup(\"torch\") > 1'\n",
            quoted(names.kernel),
            self.entry(),
            mark = if formula.is_some() { "CHECK" } else { "FILL" },
        );
        text
    }

    fn python_text(&self, called: &CallResult, given: &Results, outputs: &[String]) -> String {
        let module = match self.function.rsplit_once('.') {
            // a method or an attribute is found at the call
            Some(_) => format!("import {}\n\nfunction = {}.{}", self.module, self.module, self.function),
            None => format!("from {} import {} as function", self.module, self.function),
        };
        let inputs = &called.names;
        let upstream: Vec<String> = match self.pass {
            Pass::Forward => Vec::new(),
            Pass::Training => outputs.iter().map(|name| format!("grad_{name}")).collect(),
        };
        let parameters: Vec<String> =
            inputs.iter().chain(&upstream).map(|name| format!("{name}: torch.Tensor")).collect();
        let by_name = inputs[called.by_position..].iter().map(|name| format!("{name}={name}"));
        let literals = self.arguments.iter().map(|one| format!("{}={}", one.name, one.value));
        let arguments: Vec<String> =
            inputs[..called.by_position].iter().cloned().chain(by_name).chain(literals).collect();
        let call = format!("function({})", arguments.join(", "));
        let tuple = |names: &[String]| match names {
            [only] => format!("({only},)"),
            names => format!("({})", names.join(", ")),
        };
        // A phase has a tensor without axes as one element.
        let result = |name: &String, result: &ResultTensor| match result.extents.is_empty() {
            true => format!("{name}.reshape(1)"),
            false => name.clone(),
        };
        let body = match self.pass {
            Pass::Forward if given.single => format!("    return {}\n", result(&call, &given.outputs[0])),
            Pass::Forward => format!("    return {call}\n"),
            Pass::Training => {
                let assigned = if given.single { outputs[0].clone() } else { tuple(outputs) };
                let shaped: Vec<String> = upstream
                    .iter()
                    .zip(outputs)
                    .map(|(grad, output)| format!("{grad}.reshape({output}.shape)"))
                    .collect();
                let returned: Vec<String> = outputs
                    .iter()
                    .zip(&given.outputs)
                    .map(|(name, of)| format!("{}.detach()", result(name, of)))
                    .collect();
                format!(
                    "    {inputs} = (one.detach().requires_grad_() for one in {inputs})\n    # One thread: allocations of another would not belong to a graph.\n    with torch.enable_grad(), torch.autograd.set_multithreading_enabled(False):\n        {assigned} = {call}\n        \
                     gradients = torch.autograd.grad({outputs}, {inputs}, {shaped})\n    return ({returned}, *gradients)\n",
                    inputs = tuple(inputs),
                    outputs = tuple(outputs),
                    shaped = tuple(&shaped),
                    returned = returned.join(", "),
                )
            }
        };
        format!(
            "\"\"\"{}, as the phase calls it: the baseline on the GPU, and in float64 on the CPU the reference.\"\"\"\n\nimport torch\n{module}\n\n\n\
             def call({}):\n{body}",
            self.named(),
            parameters.join(", "),
        )
    }

    fn kernel_text(
        &self,
        names: TorchNames<'_>,
        dimensions: &Dimensions,
        buffers: &[TorchBuffer],
        formula: Option<&str>,
    ) -> String {
        let has = |dtype| buffers.iter().any(|buffer| buffer.dtype == dtype);
        let mut text = format!("// The candidate of {}.\n#include <cstdint>\n", names.file);
        for (dtype, header) in [(Dtype::F16, "cuda_fp16.h"), (Dtype::Bf16, "cuda_bf16.h")] {
            if has(dtype) {
                let _ = writeln!(text, "#include <{header}>");
            }
        }
        if has(Dtype::Fp8E4m3) || has(Dtype::Fp8E5m2) {
            text.push_str("#include <cuda_fp8.h>\n");
        }
        let pointer = |buffer: &TorchBuffer| {
            let of = if buffer.output.is_some() { "" } else { "const " };
            format!("{of}{}* __restrict__ {}", c_type(buffer.dtype), buffer.name)
        };
        let pointers = buffers.iter().map(pointer);
        let entry = self.entry();
        match formula {
            Some(formula) => {
                let parameters: Vec<String> = pointers.chain(["long long elements".to_owned()]).collect();
                let [input, output] = [&buffers[0].name, &buffers[1].name];
                let _ = write!(
                    text,
                    "\nextern \"C\" __global__ void {entry}({})\n{{\n    const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;\n    \
                     if (at < elements) {{\n        const float v = static_cast<float>({input}[at]);\n        \
                     {output}[at] = static_cast<{}>({formula});\n    }}\n}}\n",
                    parameters.join(", "),
                    c_type(self.dtype),
                );
            }
            None => {
                let extents = dimensions.extents.iter().map(|(name, _)| format!("int {name}"));
                let parameters: Vec<String> = pointers.chain(extents).collect();
                let _ = write!(
                    text,
                    "\n// FILL: write the outputs. Until then, the check finds elements that were never written.\n\
                     extern \"C\" __global__ void {entry}({})\n{{\n}}\n",
                    parameters.join(", ")
                );
            }
        }
        text
    }
}

/// The distinct extents of the inputs, with the names of their dimensions.
struct Dimensions {
    extents: Vec<(&'static str, usize)>,
}

impl Dimensions {
    /// Further distinct extents stay numbers.
    fn of(shapes: &[InputShape]) -> Self {
        let mut extents: Vec<(&'static str, usize)> = Vec::new();
        for &extent in shapes.iter().flat_map(|shape| &shape.extents).filter(|extent| **extent > 1) {
            if let (false, Some(name)) =
                (extents.iter().any(|(_, known)| *known == extent), DIMENSIONS.get(extents.len()))
            {
                extents.push((name, extent));
            }
        }
        if extents.is_empty() {
            extents.push((DIMENSIONS[0], 1));
        }
        Self { extents }
    }

    /// The same extents at the small shape.
    fn small(&self, extents: &[usize]) -> Vec<usize> {
        let small = |extent: &usize| {
            let at = self.extents.iter().position(|(_, known)| known == extent);
            at.map_or(*extent, |at| SMALL[at].min(*extent))
        };
        extents.iter().map(small).collect()
    }

    fn named(&self, extents: &[usize]) -> Vec<String> {
        let named = |extent: &usize| {
            let known = self.extents.iter().find(|(_, known)| known == extent && *extent > 1);
            known.map_or_else(|| extent.to_string(), |(name, _)| (*name).to_owned())
        };
        extents.iter().map(named).collect()
    }

    fn product(&self, extents: &[String]) -> String {
        if extents.is_empty() { "1".to_owned() } else { extents.join(" * ") }
    }

    /// Whether the named extents of all results are those of the small shape too.
    fn hold_at_small(&self, given: &Results, small: &Results) -> bool {
        let all =
            |of: &Results| of.outputs.iter().chain(&of.gradients).map(|one| one.extents.clone()).collect::<Vec<_>>();
        let expected: Vec<Vec<usize>> = all(given).iter().map(|extents| self.small(extents)).collect();
        self.extents.iter().any(|(_, extent)| self.small(&[*extent])[0] != *extent) && expected == all(small)
    }
}

/// A relative error that a correct kernel stays below: some roundings of the type, and more of f32 for sums in another order.
const fn relative(dtype: Dtype) -> Option<f64> {
    match dtype {
        Dtype::F64 => Some(1e-10),
        Dtype::F32 => Some(1e-4),
        Dtype::F16 => Some(4e-3),
        Dtype::Bf16 => Some(1.6e-2),
        Dtype::Fp8E4m3 => Some(0.125),
        Dtype::Fp8E5m2 => Some(0.25),
        _ => None,
    }
}

/// The multiple of the drafted `atol` that a sum of products needs, if one rounding moves each of its inputs: for normal inputs
/// the largest of a million elements moves by five standard deviations, and the deviation is `sqrt(2)` unit roundoffs of the
/// root mean square, whatever the length of the sum is. `None` for types whose bound has room for it.
const fn multiple_of_sums(dtype: Dtype) -> Option<(&'static str, u32)> {
    match dtype {
        Dtype::F16 => Some(("f16", 2)),
        Dtype::Bf16 => Some(("bf16", 4)),
        _ => None,
    }
}

/// `atol` and `rtol` of the outputs; integers are equal.
fn tolerance(buffers: &[TorchBuffer]) -> String {
    // Half of the root mean square: a larger bound would accept an output that is off by twice `rtol`.
    let bound = |buffer: &TorchBuffer| {
        let (rtol, scale) = (relative(buffer.dtype)?, buffer.output?);
        Some(format!("atol = {:.0e}, rtol = {rtol:?}", rtol * scale / 2.0))
    };
    let bounds: Vec<(&str, String)> =
        buffers.iter().filter_map(|buffer| Some((buffer.name.as_str(), bound(buffer)?))).collect();
    let Some(((_, first), others)) = bounds.split_first() else { return "tolerance = { max_abs = 0 }\n".to_owned() };
    let others: Vec<String> = others
        .iter()
        .filter(|(_, bound)| bound != first)
        .map(|(name, bound)| format!("{name} = {{ {bound} }}"))
        .collect();
    let others = if others.is_empty() { String::new() } else { format!(", outputs = {{ {} }}", others.join(", ")) };
    let outputs = buffers.iter().filter(|buffer| buffer.output.is_some());
    let sums = outputs.filter_map(|buffer| multiple_of_sums(buffer.dtype)).next().map_or_else(String::new, |(name, times)| {
        format!(
            "# Sums of {name} products, such as gradients of weights, move further with one rounding of their inputs: if\n\
             # `ncugate check` or a run calls one ill-conditioned, give it {times} times the atol.\n"
        )
    });
    format!(
        "# CHECK: a relative bound for the type, and half of it times the root mean square of the output.\n{sums}\
         tolerance = {{ {first}, ill_conditioned = \"inconclusive\"{others} }}\n"
    )
}

/// `output`, or `output0` and `output1`.
fn number_names(name: &str, count: usize) -> Vec<String> {
    if count == 1 { vec![name.to_owned()] } else { (0..count).map(|at| format!("{name}{at}")).collect() }
}

const fn c_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F64 => "double",
        Dtype::F32 => "float",
        Dtype::F16 => "__half",
        Dtype::Bf16 => "__nv_bfloat16",
        Dtype::Fp8E4m3 => "__nv_fp8_e4m3",
        Dtype::Fp8E5m2 => "__nv_fp8_e5m2",
        Dtype::I64 => "int64_t",
        Dtype::U64 => "uint64_t",
        Dtype::I32 => "int32_t",
        Dtype::U32 => "uint32_t",
        Dtype::I16 => "int16_t",
        Dtype::U16 => "uint16_t",
        Dtype::I8 => "int8_t",
        Dtype::U8 => "uint8_t",
        Dtype::Bool => "bool",
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_extents_and_maybe_a_name() {
        let shape = |text: &str| text.parse::<InputShape>();
        assert_eq!(shape("4096x8192").unwrap(), InputShape { name: None, extents: vec![4096, 8192] });
        assert_eq!(shape("weight=8").unwrap(), InputShape { name: Some("weight".to_owned()), extents: vec![8] });
        for wrong in ["", "8x", "0x4", "8,4", "a b=4", "-1"] {
            assert!(shape(wrong).unwrap_err().contains("is not a shape"), "{wrong}");
        }
        let argument = |text: &str| text.parse::<LiteralArgument>();
        assert_eq!(argument("dim=-1").unwrap().value, "-1");
        assert!(argument("dim").is_err() && argument("=1").is_err() && argument("dim=").is_err());
    }

    #[test]
    fn equal_extents_are_one_dimension_and_ones_stay_numbers() {
        let shapes = ["4096x1x512", "256x512", "30"].map(|text| text.parse().unwrap());
        let dimensions = Dimensions::of(&shapes);
        assert_eq!(dimensions.extents, [("M", 4096), ("N", 512), ("K", 256), ("L", 30)]);
        assert_eq!(dimensions.named(&[4096, 1, 256, 7]), ["M", "1", "K", "7"]);
        assert_eq!(dimensions.small(&[4096, 1, 256, 30, 7]), [37, 1, 29, 30, 7]);
    }

    #[test]
    fn outputs_that_are_smaller_or_of_another_type_have_their_own_bounds() {
        let buffer =
            |name: &str, dtype, scale| TorchBuffer { name: name.to_owned(), dtype, shape: Vec::new(), output: scale };
        let x = buffer("x", Dtype::Bf16, None);
        let y = buffer("y", Dtype::Bf16, Some(2.0));
        let of = |buffers: &[TorchBuffer]| tolerance(buffers).lines().last().unwrap().to_owned();
        let both = [x, y];
        assert!(tolerance(&both).contains("# Sums of bf16 products") && tolerance(&both).contains("4 times the atol"));
        assert_eq!(of(&both), "tolerance = { atol = 2e-2, rtol = 0.016, ill_conditioned = \"inconclusive\" }");
        let both = [buffer("y", Dtype::F32, Some(2.0)), buffer("z", Dtype::F32, Some(0.02))];
        assert!(!tolerance(&both).contains("Sums of"), "{}", tolerance(&both));
        assert!(of(&both).contains("outputs = { z = { atol = 1e-6, rtol = 0.0001 } }"), "{}", of(&both));
        assert_eq!(of(&[buffer("at", Dtype::I64, Some(3.0))]), "tolerance = { max_abs = 0 }");
    }
}
