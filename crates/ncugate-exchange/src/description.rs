//! Inputs that a Python file creates, found by Python's own parser. The file is not executed.

use super::adapter::Argument;
use super::error::ImportError;
use super::problem::{Direction, Tensor};
use super::task_file;
use super::tensor::{GivenTensor, dtype_of, torch_name};
use indexmap::{IndexMap, IndexSet};
use ncugate_model::process;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The parsing program.
const PROGRAM: &str = concat!(include_str!("scope.py"), "\n", include_str!("describe.py"));
/// Parsing takes milliseconds, but Python may need some seconds to start from a cold disk.
const LIMIT: Duration = Duration::from_secs(60);

/// The Python whose parser reads files.
#[derive(Debug, Clone)]
pub struct Parser {
    pub python: PathBuf,
}

/// The description of a file.
#[derive(Debug, Deserialize)]
pub(super) struct Description {
    pub functions: Vec<String>,
    pub classes: Vec<String>,
    /// Integer constants of the module.
    pub constants: IndexMap<String, i64>,
    /// Parameters of the model's `forward`.
    pub forward: Option<Vec<String>>,
    pub parameters: Vec<String>,
    /// Optional parameters with their default, if it is an integer.
    pub defaults: IndexMap<String, Option<i64>>,
    /// Return values of the function, in order.
    returned: Option<Vec<Part>>,
    /// Whether it returns one value and not a sequence.
    pub single: bool,
    /// Why the return values are unknown.
    problem: Option<String>,
    /// Constants and parameters used in extents.
    pub used: Vec<String>,
    /// Names that the function assigns.
    set: Vec<String>,
    /// Constructs whose meaning in the phase differs from the text.
    pub notes: Vec<String>,
    /// Comparison bounds declared in the file.
    pub bounds: Option<DeclaredBounds>,
}

/// `rtol` and `atol`, if given.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct DeclaredBounds {
    pub rtol: Option<f64>,
    pub atol: Option<f64>,
}

/// One return value.
#[derive(Debug, Deserialize)]
struct Part {
    name: Option<String>,
    tensor: Option<TensorDescription>,
    /// A Python literal.
    number: Option<String>,
    unknown: Option<String>,
    /// The unresolved name in the function that it depends on.
    asked: Option<String>,
}

/// A tensor that a function creates.
#[derive(Debug, Deserialize)]
struct TensorDescription {
    dtype: String,
    shape: Vec<String>,
    init: Option<Value>,
    empty: bool,
}

impl Parser {
    /// Describes a file: the return values of `function`, some of whose tensors `given` may describe, and the
    /// parameters of `forward` of the class `model`.
    pub(super) fn describe(
        &self,
        path: &Path,
        (function, model): (&str, &str),
        given: &[GivenTensor],
    ) -> Result<Description, ImportError> {
        let failed = |what: String| ImportError::Python {
            path: path.to_owned(),
            python: self.python.display().to_string(),
            what,
        };
        task_file::readable(path)?;
        let mut command = Command::new(&self.python);
        let tensor =
            |one: &GivenTensor| json!({ "dtype": torch_name(one.dtype), "shape": one.shape, "init": one.init });
        let given: Map<String, Value> = given.iter().map(|one| (one.name.clone(), tensor(one))).collect();
        command.args(["-I", "-c", PROGRAM]).arg(path).args([function, model, &Value::Object(given).to_string()]);
        let output = process::run(&mut command, LIMIT).map_err(|error| failed(error.to_string()))?;
        if !output.ending.completed() {
            let last = output.stderr.trim_end().lines().last().map_or_else(|| output.ending.to_string(), str::to_owned);
            return Err(failed(last));
        }
        serde_json::from_str(&output.stdout).map_err(|error| failed(error.to_string()))
    }
}

impl Description {
    /// The tensors that the function returns, under the given names or else their own, and the order of arguments.
    /// Descriptions on the command line override the parsed ones.
    pub(super) fn inputs(
        &self,
        names: Option<&[String]>,
        given: &[GivenTensor],
        problem: &str,
        function: &str,
    ) -> Result<(Vec<Tensor>, Vec<Argument>), ImportError> {
        let given_as = |name: &str| given.iter().find(|tensor| tensor.name == name).map(of_command_line);
        let Some(parts) = &self.returned else {
            // either the command line describes everything, or nothing is known
            let all = |names: &[String]| names.iter().map(|name| given_as(name)).collect::<Option<Vec<Tensor>>>();
            let why = self.problem.as_deref().unwrap_or("it is missing").to_owned();
            let unknown = || unknown_inputs(problem, function, vec![(why, "NAME".to_owned())]);
            let all = match names {
                Some(names) => all(names),
                None => Some(given.iter().map(of_command_line).collect()),
            };
            let tensors = all.filter(|tensors: &Vec<Tensor>| !tensors.is_empty()).ok_or_else(unknown)?;
            let arguments = tensors.iter().map(|tensor| Argument::Tensor(tensor.name.clone())).collect();
            return Ok((tensors, arguments));
        };
        if let Some(names) = names.filter(|names| parts.len() > names.len()) {
            let what = format!(
                "{function} returns {} inputs, but forward takes {} ({})",
                parts.len(),
                names.len(),
                names.join(", ")
            );
            return Err(ImportError::unmapped(problem, what));
        }
        let (mut tensors, mut arguments, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for (at, part) in parts.iter().enumerate() {
            let is_new = |name: &String| !tensors.iter().any(|known: &Tensor| known.name == *name);
            let own = part.name.clone().filter(is_new);
            let own = own.unwrap_or_else(|| format!("input{at}"));
            let name = names.and_then(|names| names.get(at).cloned()).unwrap_or(own);
            match given_as(&name).map_or_else(|| part.tensor(&name), |given| Ok(Some(given))) {
                Ok(Some(tensor)) => {
                    arguments.push(Argument::Tensor(name));
                    tensors.push(tensor);
                }
                Ok(None) => arguments.extend(part.number.clone().map(Argument::Literal)),
                Err(why) => {
                    let is_of_forward = |asked: &String| names.is_some_and(|names| names.contains(asked));
                    let asked = part.asked.clone().filter(|asked| part.name != part.asked && !is_of_forward(asked));
                    unknown.push((why, asked.unwrap_or(name)));
                }
            }
        }
        if !unknown.is_empty() {
            return Err(unknown_inputs(problem, function, unknown));
        }
        let is_there =
            |given: &GivenTensor| self.set.contains(&given.name) || tensors.iter().any(|t| t.name == given.name);
        match given.iter().find(|given| !is_there(given)) {
            Some(GivenTensor { name, .. }) => Err(ImportError::unmapped(
                problem,
                format!("--input describes `{name}`, which {function} does not create"),
            )),
            None => Ok((tensors, arguments)),
        }
    }
}

impl Part {
    /// The tensor under a name; `None` for a number. The error says why it is unknown.
    fn tensor(&self, name: &str) -> Result<Option<Tensor>, String> {
        let Some(made) = &self.tensor else {
            let why = self.unknown.as_deref().unwrap_or("its expression is not supported");
            return if self.number.is_some() { Ok(None) } else { Err(why.to_owned()) };
        };
        let dtype = dtype_of(&made.dtype).ok_or_else(|| format!("`{name}` has the type {}", made.dtype))?;
        Ok(Some(Tensor {
            name: name.to_owned(),
            dtype,
            shape: made.shape.clone(),
            direction: if made.empty { Direction::Output } else { Direction::Input },
            init: made.init.clone(),
        }))
    }
}

/// The error that asks for all unknown inputs, each with its name.
fn unknown_inputs(problem: &str, function: &str, unknown: Vec<(String, String)>) -> ImportError {
    let (why, asked): (IndexSet<String>, IndexSet<String>) =
        unknown.into_iter().map(|(why, name)| (why, format!("--input \"{name}=f32[EXTENT, ...]\""))).unzip();
    let joined = |texts: IndexSet<String>, by: &str| texts.into_iter().collect::<Vec<_>>().join(by);
    let what = if asked.len() == 1 { "it" } else { "them" };
    ImportError::unmapped(
        problem,
        format!("{function}: {}; describe {what} with {}", joined(why, "; "), joined(asked, " ")),
    )
}

/// A tensor described on the command line, as an input.
pub(super) fn of_command_line(given: &GivenTensor) -> Tensor {
    Tensor {
        name: given.name.clone(),
        dtype: given.dtype,
        shape: given.shape.clone(),
        direction: Direction::Input,
        init: given.init.as_ref().and_then(|init| serde_json::to_value(init).ok()),
    }
}
