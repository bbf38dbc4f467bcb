//! What a Python file makes as inputs, found by Python's own parser: the file is not executed.

use super::error::ImportError;
use super::problem::{Direction, Tensor};
use super::tensor::{GivenTensor, dtype_of};
use crate::process;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The program that parses.
const PROGRAM: &str = include_str!("describe.py");
/// Parsing takes milliseconds, and Python some seconds to start on a cold disk.
const LIMIT: Duration = Duration::from_secs(60);

/// The Python whose parser reads files.
#[derive(Debug, Clone)]
pub struct Parser {
    /// The interpreter.
    pub python: PathBuf,
}

/// What a file says.
#[derive(Debug, Deserialize)]
pub(super) struct Description {
    pub functions: Vec<String>,
    pub classes: Vec<String>,
    /// Whole numbers that the module names.
    pub constants: IndexMap<String, i64>,
    /// Parameters of the model's `forward`.
    pub forward: Option<Vec<String>>,
    /// Parameters of the function.
    pub parameters: Vec<String>,
    /// What the function returns, in order.
    returned: Option<Vec<Part>>,
    /// Whether it returns one thing, not a sequence.
    pub single: bool,
    /// Why it is not known what the function returns.
    problem: Option<String>,
    /// Constants and parameters that extents are made of.
    pub used: Vec<String>,
    /// Bounds of the comparison that the file declares.
    pub bounds: Option<DeclaredBounds>,
}

/// `rtol` and `atol`, where they are given.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct DeclaredBounds {
    pub rtol: Option<f64>,
    pub atol: Option<f64>,
}

/// A thing that a function returns.
#[derive(Debug, Deserialize)]
struct Part {
    name: Option<String>,
    tensor: Option<Made>,
    number: Option<f64>,
    unknown: Option<String>,
}

/// A tensor that a function makes.
#[derive(Debug, Deserialize)]
struct Made {
    dtype: String,
    shape: Vec<String>,
    init: Option<Value>,
    empty: bool,
}

impl Parser {
    /// Describes a file: what `function` returns, and the parameters of `forward` of the class `model`.
    pub(super) fn describe(&self, path: &Path, function: &str, model: &str) -> Result<Description, ImportError> {
        let failed = |what: String| ImportError::Python {
            path: path.to_owned(),
            python: self.python.display().to_string(),
            what,
        };
        let mut command = Command::new(&self.python);
        command.args(["-I", "-c", PROGRAM]).arg(path).args([function, model]);
        let output = process::run(&mut command, LIMIT).map_err(|error| failed(error.to_string()))?;
        if !output.ending.completed() {
            let last = output.stderr.trim_end().lines().last().map_or_else(|| output.ending.to_string(), str::to_owned);
            return Err(failed(last));
        }
        serde_json::from_str(&output.stdout).map_err(|error| failed(error.to_string()))
    }
}

impl Description {
    /// The tensors that the function returns, under these names where they are given, else under their own. What the command line
    /// describes counts before what was parsed.
    pub(super) fn tensors(
        &self,
        names: Option<&[String]>,
        given: &[GivenTensor],
        problem: &str,
        function: &str,
    ) -> Result<Vec<Tensor>, ImportError> {
        let ask = |what: &str, name: &str| {
            let what = format!("{function}: {what}; say what it is with --input \"{name}=f32[EXTENT, ...]\"");
            ImportError::unmapped(problem, what)
        };
        let Some(parts) = &self.returned else {
            // all is said by the command line, or nothing is known
            let known =
                names.filter(|names| !names.is_empty() && names.iter().all(|n| given.iter().any(|g| g.name == *n)));
            let Some(known) = known else {
                return Err(ask(self.problem.as_deref().unwrap_or("it is not there"), "NAME"));
            };
            return Ok(known
                .iter()
                .filter_map(|name| given.iter().find(|g| g.name == *name))
                .map(of_command_line)
                .collect());
        };
        if let Some(names) = names.filter(|names| parts.len() > names.len()) {
            let what = format!(
                "{function} returns {} inputs, and forward takes {} ({})",
                parts.len(),
                names.len(),
                names.join(", ")
            );
            return Err(ImportError::unmapped(problem, what));
        }
        let mut found = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let own = part.name.clone().unwrap_or_else(|| format!("input{at}"));
            let name = names.and_then(|names| names.get(at).cloned()).unwrap_or(own);
            if let Some(tensor) = given.iter().find(|tensor| tensor.name == name) {
                found.push(of_command_line(tensor));
                continue;
            }
            let made = match (&part.tensor, part.number) {
                (Some(made), _) => made,
                (None, Some(_)) => {
                    return Err(ask(
                        &format!("`{name}` is a number, which a function gets as a constant of its own"),
                        &name,
                    ));
                }
                (None, None) => return Err(ask(part.unknown.as_deref().unwrap_or("it is not understood"), &name)),
            };
            let dtype =
                dtype_of(&made.dtype).ok_or_else(|| ask(&format!("`{name}` is of type {}", made.dtype), &name))?;
            let direction = if made.empty { Direction::Output } else { Direction::Input };
            found.push(Tensor {
                name,
                dtype: dtype.to_owned(),
                shape: made.shape.clone(),
                direction,
                init: made.init.clone(),
            });
        }
        Ok(found)
    }
}

/// A tensor that the command line describes, as an input.
pub(super) fn of_command_line(given: &GivenTensor) -> Tensor {
    Tensor {
        name: given.name.clone(),
        dtype: given.dtype.clone(),
        shape: given.shape.clone(),
        direction: Direction::Input,
        init: given.init.as_ref().and_then(|init| serde_json::to_value(init).ok()),
    }
}
