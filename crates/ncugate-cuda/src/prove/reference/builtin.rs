//! The built-in references, by name.

use super::error::{BUILT_IN, ReferenceError};
use super::fit::{BufferValues, Fit};
use super::gemm::Gemm;
use super::rows::{Identity, Reduce, ReduceOp, Softmax};
use super::sdpa::Sdpa;
use crate::prove::shape::ShapeSpec;
use ncugate_array::arithmetic::{SoftmaxArithmetic, SumArithmetic};
use ncugate_model::expr::Expr;
use ncugate_model::{Dtype, nearest};
use ncugate_phase::config::Init;
use serde::{Deserialize, Serialize};

/// A built-in reference with its options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Builtin {
    /// Scaled dot-product attention: `q`, `k`, `v` -> `o`.
    Sdpa {
        /// Row `i` sees keys `0..=i` only.
        causal: BuiltinOption,
    },
    /// Matrix product: `a`, `b` -> `c`.
    Gemm {
        /// `b` is `[N, K]`.
        transpose_b: BuiltinOption,
    },
    /// Softmax over the last axis: `x` -> `y`.
    Softmax,
    /// Reduction over the last axis: `x` -> `y`.
    Reduce { op: ReduceOp },
    /// The identity: `x` -> `y`.
    Copy,
}

/// An option that is true or false.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BuiltinOption {
    /// The same at every shape.
    Fixed(bool),
    /// A condition on the dimensions.
    ByShape(Expr),
}

impl BuiltinOption {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "true" => Some(Self::Fixed(true)),
            "false" => Some(Self::Fixed(false)),
            _ => Expr::parse(text).ok().map(Self::ByShape),
        }
    }

    fn at(&self, fit: &Fit<'_>) -> Result<bool, ReferenceError> {
        match self {
            Self::Fixed(value) => Ok(*value),
            Self::ByShape(expr) => expr.eval_bool(&fit.shape.scope()).map_err(|error| ReferenceError::Shape {
                builtin: fit.builtin,
                shape: fit.shape.name.clone(),
                what: error.to_string(),
            }),
        }
    }
}

/// A built-in fitted to the buffers of one shape.
#[derive(Debug, Clone, PartialEq)]
pub enum BoundBuiltin {
    Sdpa(Sdpa),
    Gemm(Gemm),
    Softmax(Softmax),
    Reduce(Reduce),
    Copy(Identity),
}

impl BoundBuiltin {
    /// The output (an index into the shape's buffers) and its values.
    pub fn compute(&self, values: &BufferValues) -> (usize, Vec<f64>) {
        self.compute_by(values, None, &SoftmaxArithmetic::default())
    }

    /// The same as a plain kernel with an output of `dtype` computes it.
    pub fn compute_plainly(&self, values: &BufferValues, dtype: Dtype) -> (usize, Vec<f64>) {
        self.compute_by(values, Some(SumArithmetic::plain(dtype)), &SoftmaxArithmetic::plain(dtype))
    }

    /// The same with an arithmetic of sums, in order if one is given, and of softmax.
    pub fn compute_by(
        &self,
        values: &BufferValues,
        sum: Option<SumArithmetic>,
        softmax: &SoftmaxArithmetic,
    ) -> (usize, Vec<f64>) {
        let output = match self {
            Self::Sdpa(sdpa) => sdpa.compute_by(values, softmax),
            Self::Gemm(gemm) => gemm.compute_by(values, sum),
            Self::Softmax(own) => own.compute_by(values, softmax),
            Self::Reduce(reduce) => reduce.compute_by(values, sum),
            Self::Copy(copy) => values[copy.x].clone(),
        };
        (self.output(), output)
    }

    /// The output, as an index into the shape's buffers.
    pub const fn output(&self) -> usize {
        match self {
            Self::Sdpa(sdpa) => sdpa.o,
            Self::Gemm(gemm) => gemm.c,
            Self::Softmax(softmax) => softmax.y,
            Self::Reduce(reduce) => reduce.y,
            Self::Copy(copy) => copy.y,
        }
    }

    /// Approximate multiplications and additions, or exponentials, of one evaluation.
    pub fn work(&self, shape: &ShapeSpec) -> f64 {
        let elements = |index: usize| shape.buffers[index].elements() as f64;
        match self {
            Self::Sdpa(sdpa) => elements(sdpa.q) * sdpa.keys as f64 + elements(sdpa.o) * sdpa.keys as f64,
            Self::Gemm(gemm) => elements(gemm.c) * gemm.inner as f64,
            Self::Softmax(softmax) => 8.0 * elements(softmax.y),
            Self::Reduce(_) | Self::Copy(_) => shape.buffers.iter().map(|b| b.elements() as f64).sum(),
        }
    }
}

impl Builtin {
    /// The names that a phase can use.
    pub const NAMES: [&str; 5] = BUILT_IN;

    /// Whether its outputs are elements of its inputs.
    pub const fn is_selection(&self) -> bool {
        matches!(self, Self::Copy | Self::Reduce { op: ReduceOp::Max | ReduceOp::Min })
    }

    pub fn parse(name: &str, options: &[(String, String)]) -> Result<Self, ReferenceError> {
        let mut builtin = match name {
            "sdpa" => Self::Sdpa { causal: BuiltinOption::Fixed(false) },
            "gemm" => Self::Gemm { transpose_b: BuiltinOption::Fixed(false) },
            "softmax" => Self::Softmax,
            "reduce" => Self::Reduce { op: ReduceOp::Sum },
            "copy" => Self::Copy,
            _ => {
                let hint = nearest(name, Self::NAMES.into_iter())
                    .map_or_else(String::new, |n| format!("; did you mean `{n}`?"));
                return Err(ReferenceError::Unknown { name: name.to_owned(), hint });
            }
        };
        options.iter().try_for_each(|(key, value)| builtin.set(key, value))?;
        Ok(builtin)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ReferenceError> {
        let (taken, allowed) = match self {
            Self::Sdpa { causal } => {
                (key == "causal" && set_option(causal, value), "expected causal = true or false, or a condition")
            }
            Self::Gemm { transpose_b } => (
                key == "transpose_b" && set_option(transpose_b, value),
                "expected transpose_b = true or false, or a condition",
            ),
            Self::Reduce { op } => (key == "op" && set_op(op, value), "expected op = sum, max, min or mean"),
            Self::Softmax | Self::Copy => (false, "it has no options"),
        };
        if taken {
            return Ok(());
        }
        let builtin = self.name();
        Err(ReferenceError::Option { builtin, key: key.to_owned(), value: value.to_owned(), allowed })
    }

    /// Its name in a phase.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sdpa { .. } => "sdpa",
            Self::Gemm { .. } => "gemm",
            Self::Softmax => "softmax",
            Self::Reduce { .. } => "reduce",
            Self::Copy => "copy",
        }
    }

    /// The shape of the first head alone, if the built-in has several heads and a seed gives the first one the same inputs
    /// as in the whole shape.
    pub fn first_head(&self, shape: &ShapeSpec) -> Option<ShapeSpec> {
        let Self::Sdpa { .. } = self else { return None };
        let mut head = shape.clone();
        for buffer in &mut head.buffers {
            let is_drawn = matches!(buffer.init, None | Some(Init::Normal { .. } | Init::Uniform { .. }));
            if !is_drawn || buffer.is_state() || buffer.partial.is_some() || !buffer.is_compared_in_place() {
                return None;
            }
            match (buffer.name.as_str(), buffer.extents.as_mut_slice()) {
                ("q" | "k" | "v" | "o", [batch, heads, ..]) => (*batch, *heads) = (1, 1),
                ("k_scale" | "v_scale", [heads]) => *heads = 1,
                _ => {}
            }
        }
        (head != *shape).then_some(head)
    }

    /// Fits it to a shape: finds its buffers and checks their extents.
    pub fn bind(&self, shape: &ShapeSpec) -> Result<BoundBuiltin, ReferenceError> {
        let fit = Fit { builtin: self.name(), shape };
        match self {
            Self::Sdpa { causal } => Sdpa::bind(&fit, causal.at(&fit)?).map(BoundBuiltin::Sdpa),
            Self::Gemm { transpose_b } => Gemm::bind(&fit, transpose_b.at(&fit)?).map(BoundBuiltin::Gemm),
            Self::Softmax => Softmax::bind(&fit).map(BoundBuiltin::Softmax),
            Self::Reduce { op } => Reduce::bind(&fit, *op).map(BoundBuiltin::Reduce),
            Self::Copy => Identity::bind(&fit).map(BoundBuiltin::Copy),
        }
    }
}

fn set_option(option: &mut BuiltinOption, value: &str) -> bool {
    BuiltinOption::parse(value).map(|value| *option = value).is_some()
}

fn set_op(op: &mut ReduceOp, value: &str) -> bool {
    *op = match value {
        "sum" => ReduceOp::Sum,
        "max" => ReduceOp::Max,
        "min" => ReduceOp::Min,
        "mean" => ReduceOp::Mean,
        _ => return false,
    };
    true
}

#[cfg(test)]
mod tests;
