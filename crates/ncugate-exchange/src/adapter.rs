//! Python files that call other projects' functions with ncugate's inputs. They measure no time and compare nothing.

use super::problem::{Direction, ScalarInput, Tensor};
use super::tensor::torch_name;
use ncugate_model::Dtype;
use std::fmt::Write;

/// An argument of another project's function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Argument {
    Tensor(String),
    /// A Python literal.
    Literal(String),
}

impl Argument {
    /// Its text in a call; `tensor` renders tensors.
    pub(super) fn written(&self, tensor: impl Fn(&str) -> String) -> String {
        match self {
            Self::Tensor(name) => tensor(name),
            Self::Literal(text) => text.clone(),
        }
    }
}

/// A string as a Python literal. JSON strings are valid Python.
pub(super) fn literal(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// A tuple of literals.
pub(super) fn literals<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let texts: Vec<String> = texts.map(|text| literal(text) + ",").collect();
    format!("({})", texts.join(" "))
}

pub(super) fn names(tensors: &[Tensor], direction: Direction) -> impl Iterator<Item = &str> {
    tensors.iter().filter(move |t| t.direction == direction).map(|t| t.name.as_str())
}

/// `TYPES = {...}`: the type of each tensor, by PyTorch's name.
pub(super) fn types(tensors: &[Tensor]) -> String {
    let mut text = "TYPES = {\n".to_owned();
    for tensor in tensors {
        let name = torch_name(tensor.dtype).unwrap_or("float32");
        let _ = writeln!(text, "    {}: {},", literal(&tensor.name), literal(name));
    }
    text + "}\n"
}

/// `WITHOUT_AXES = (...)`: zero-dimensional tensors, which a phase has as one element.
pub(super) fn without_axes(tensors: &[Tensor]) -> String {
    let names = tensors.iter().filter(|t| t.shape.is_empty()).map(|t| t.name.as_str());
    format!("WITHOUT_AXES = {}\n", literals(names))
}

/// A number as an argument of the matching Python type.
pub(super) fn number(number: &ScalarInput) -> String {
    let kind = match number.dtype {
        Dtype::Bool => "bool",
        dtype if dtype.has_nan() => "float",
        _ => "int",
    };
    format!("{kind}({})", number.name)
}
