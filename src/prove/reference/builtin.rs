//! Right answers in float64, from the inputs as rounded to their dtypes.

mod dense;
mod gemm;
mod npy;
mod rows;
mod sdpa;

pub use npy::{NpyError, read as read_npy};

use super::job::{JobBuffer, JobShape};
use crate::config::Role;
use crate::model::ShapeName;
use crate::model::nearest;
use gemm::Gemm;
use rows::{Identity, Reduce, Softmax};
use sdpa::Sdpa;
use serde::{Deserialize, Serialize};

/// The values of every buffer of a shape, in its order; empty for outputs and scratch.
pub type Values = [Vec<f64>];

/// A reference that is built in, with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Builtin {
    /// Scaled dot-product attention: `q`, `k`, `v` -> `o`.
    Sdpa {
        /// Row `i` sees keys `0..=i` only.
        causal: bool,
    },
    /// Matrix product: `a`, `b` -> `c`.
    Gemm {
        /// `b` is `[N, K]`.
        transpose_b: bool,
    },
    /// Softmax over the last axis: `x` -> `y`.
    Softmax,
    /// Reduction over the last axis: `x` -> `y`.
    Reduce {
        /// Which.
        op: ReduceOp,
    },
    /// The same values: `x` -> `y`.
    Copy,
}

/// A reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReduceOp {
    /// Sum.
    Sum,
    /// Largest.
    Max,
    /// Smallest.
    Min,
    /// Arithmetic mean.
    Mean,
}

/// Why a built-in reference cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// No built-in has that name.
    #[error("reference '{name}' is not built in{hint}; built in are {}", Builtin::NAMES.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// `; did you mean ...?` or empty.
        hint: String,
    },
    /// An option it does not have, or a value the option cannot take.
    #[error("option {key} = '{value}' of reference '{builtin}': {allowed}")]
    Option {
        /// The built-in.
        builtin: &'static str,
        /// The option.
        key: String,
        /// Its value.
        value: String,
        /// What there is.
        allowed: &'static str,
    },
    /// A buffer it needs is not there.
    #[error("reference '{builtin}' needs an {role} buffer named '{buffer}' (or {needed} {role} buffers in its order)")]
    Missing {
        /// The built-in.
        builtin: &'static str,
        /// The buffer's name.
        buffer: &'static str,
        /// Input or output.
        role: &'static str,
        /// How many buffers of the role it takes.
        needed: usize,
    },
    /// It gives one output, and the workload has more.
    #[error("reference '{builtin}' gives '{given}' only; output '{other}' would stay unchecked")]
    MoreOutputs {
        /// The built-in.
        builtin: &'static str,
        /// What it gives.
        given: String,
        /// What it does not.
        other: String,
    },
    /// Extents do not fit each other.
    #[error("reference '{builtin}' at shape '{shape}': {what}")]
    Shape {
        /// The built-in.
        builtin: &'static str,
        /// The shape.
        shape: ShapeName,
        /// Which extents, and what they should be.
        what: String,
    },
    /// A scalar it uses differs between variants.
    #[error("reference '{builtin}' uses scalar '{scalar}', which depends on a variant's parameters")]
    Varying {
        /// The built-in.
        builtin: &'static str,
        /// The scalar.
        scalar: &'static str,
    },
}

/// A built-in fitted to the buffers of one shape.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// Attention.
    Sdpa(Sdpa),
    /// Matrix product.
    Gemm(Gemm),
    /// Softmax.
    Softmax(Softmax),
    /// Reduction.
    Reduce(Reduce),
    /// Copy.
    Copy(Identity),
}

impl Bound {
    /// The output it gives (an index into the shape's buffers) and its values.
    pub fn compute(&self, values: &Values) -> (usize, Vec<f64>) {
        match self {
            Self::Sdpa(sdpa) => (sdpa.o, sdpa.compute(values)),
            Self::Gemm(gemm) => (gemm.c, gemm.compute(values)),
            Self::Softmax(softmax) => (softmax.y, softmax.compute(values)),
            Self::Reduce(reduce) => (reduce.y, reduce.compute(values)),
            Self::Copy(copy) => (copy.y, values[copy.x].clone()),
        }
    }
}

impl Builtin {
    /// What can be named in a phase.
    pub const NAMES: [&str; 5] = ["sdpa", "gemm", "softmax", "reduce", "copy"];

    /// The built-in of that name with its options.
    pub fn parse(name: &str, options: &[(String, String)]) -> Result<Self, ReferenceError> {
        let mut builtin = match name {
            "sdpa" => Self::Sdpa { causal: false },
            "gemm" => Self::Gemm { transpose_b: false },
            "softmax" => Self::Softmax,
            "reduce" => Self::Reduce { op: ReduceOp::Sum },
            "copy" => Self::Copy,
            _ => {
                let hint = nearest(name, Self::NAMES.into_iter())
                    .map_or_else(String::new, |n| format!("; did you mean '{n}'?"));
                return Err(ReferenceError::Unknown { name: name.to_owned(), hint });
            }
        };
        options.iter().try_for_each(|(key, value)| builtin.set(key, value))?;
        Ok(builtin)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ReferenceError> {
        let (taken, allowed) = match self {
            Self::Sdpa { causal } => (key == "causal" && set_bool(causal, value), "only causal = true or false"),
            Self::Gemm { transpose_b } => {
                (key == "transpose_b" && set_bool(transpose_b, value), "only transpose_b = true or false")
            }
            Self::Reduce { op } => (key == "op" && set_op(op, value), "only op = sum, max, min or mean"),
            Self::Softmax | Self::Copy => (false, "it has no options"),
        };
        if taken {
            return Ok(());
        }
        let builtin = self.name();
        Err(ReferenceError::Option { builtin, key: key.to_owned(), value: value.to_owned(), allowed })
    }

    /// The name a phase uses.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sdpa { .. } => "sdpa",
            Self::Gemm { .. } => "gemm",
            Self::Softmax => "softmax",
            Self::Reduce { .. } => "reduce",
            Self::Copy => "copy",
        }
    }

    /// Fits it to a shape: finds its buffers and checks their extents.
    pub fn bind(&self, shape: &JobShape) -> Result<Bound, ReferenceError> {
        let fit = Fit { builtin: self.name(), shape };
        match *self {
            Self::Sdpa { causal } => Sdpa::bind(&fit, causal).map(Bound::Sdpa),
            Self::Gemm { transpose_b } => Gemm::bind(&fit, transpose_b).map(Bound::Gemm),
            Self::Softmax => Softmax::bind(&fit).map(Bound::Softmax),
            Self::Reduce { op } => Reduce::bind(&fit, op).map(Bound::Reduce),
            Self::Copy => Identity::bind(&fit).map(Bound::Copy),
        }
    }
}

fn set_bool(flag: &mut bool, value: &str) -> bool {
    match value {
        "true" => *flag = true,
        "false" => *flag = false,
        _ => return false,
    }
    true
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

/// A built-in being fitted to a shape.
struct Fit<'a> {
    builtin: &'static str,
    shape: &'a JobShape,
}

impl Fit<'_> {
    /// Indices of the inputs of these names; failing a name, of the inputs in their order that are not `apart`.
    fn inputs<const N: usize>(&self, names: [&'static str; N], apart: &[&str]) -> Result<[usize; N], ReferenceError> {
        self.find(names, apart, Role::Input, "input")
    }

    /// Index of the one output.
    fn output(&self, name: &'static str) -> Result<usize, ReferenceError> {
        let [found] = self.find([name], &[], Role::Output, "output")?;
        let other = (0..self.shape.buffers.len()).find(|&i| i != found && self.buffer(i).role == Role::Output);
        match other {
            None => Ok(found),
            Some(other) => Err(ReferenceError::MoreOutputs {
                builtin: self.builtin,
                given: self.buffer(found).name.clone(),
                other: self.buffer(other).name.clone(),
            }),
        }
    }

    /// Index of an input that need not be there.
    fn optional(&self, name: &str) -> Option<usize> {
        self.shape.buffers.iter().position(|b| b.name == name && b.role == Role::Input)
    }

    /// A scalar that need not be there, but must not differ between variants.
    fn scalar(&self, name: &'static str) -> Result<Option<f64>, ReferenceError> {
        if self.shape.varying.iter().any(|v| v == name) {
            return Err(ReferenceError::Varying { builtin: self.builtin, scalar: name });
        }
        Ok(self.shape.scalars.get(name).copied())
    }

    fn find<const N: usize>(
        &self,
        names: [&'static str; N],
        apart: &[&str],
        role: Role,
        role_name: &'static str,
    ) -> Result<[usize; N], ReferenceError> {
        let of_role: Vec<usize> = (0..self.shape.buffers.len())
            .filter(|&i| self.buffer(i).role == role && !apart.contains(&self.buffer(i).name.as_str()))
            .collect();
        let named = |name: &str| of_role.iter().copied().find(|&i| self.buffer(i).name == name);
        let all_named: Option<Vec<usize>> = names.iter().map(|n| named(n)).collect();
        let found = all_named.or_else(|| (of_role.len() == N).then(|| of_role.clone()));
        found.and_then(|f| f.try_into().ok()).ok_or_else(|| {
            let buffer = names.into_iter().find(|n| named(n).is_none()).unwrap_or(names[0]);
            ReferenceError::Missing { builtin: self.builtin, buffer, role: role_name, needed: N }
        })
    }

    fn buffer(&self, index: usize) -> &JobBuffer {
        &self.shape.buffers[index]
    }

    /// The extents of a buffer, which must have `N` axes.
    fn axes<const N: usize>(&self, index: usize, layout: &str) -> Result<[usize; N], ReferenceError> {
        let buffer = self.buffer(index);
        buffer
            .extents
            .as_slice()
            .try_into()
            .map_err(|_| self.wrong(format!("'{}' has extents {:?}, expected {layout}", buffer.name, buffer.extents)))
    }

    /// Requires the extents of a buffer.
    fn expect(&self, index: usize, extents: &[usize]) -> Result<(), ReferenceError> {
        let buffer = self.buffer(index);
        if buffer.extents == extents {
            return Ok(());
        }
        Err(self.wrong(format!("'{}' has extents {:?}, expected {extents:?}", buffer.name, buffer.extents)))
    }

    fn wrong(&self, what: String) -> ReferenceError {
        ReferenceError::Shape { builtin: self.builtin, shape: self.shape.name.clone(), what }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
