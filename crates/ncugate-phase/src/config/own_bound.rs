//! Bounds of elements that single outputs and shapes have.

use ncugate_model::{AllClose, ShapeName};
use serde::Serialize;

/// A bound of elements that one output has, or all outputs at one shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnBound {
    pub of: BoundOf,
    /// What an element may be off by.
    pub atol: f64,
    /// What it may be off by for each unit of its answer.
    pub rtol: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundOf {
    /// An output, at every shape.
    Output(String),
    /// A shape, for every output without a bound of its own.
    Shape(ShapeName),
}

impl OwnBound {
    /// The bound of `own` that elements of a buffer have at a shape in place of `all`; none where it has none.
    pub fn of(own: &[Self], all: Option<AllClose>, buffer: &str, shape: &ShapeName) -> Option<AllClose> {
        let of_output = |bound: &&Self| matches!(&bound.of, BoundOf::Output(name) if name == buffer);
        let of_shape = |bound: &&Self| matches!(&bound.of, BoundOf::Shape(name) if name == shape);
        let own = own.iter().find(of_output).or_else(|| own.iter().find(of_shape))?;
        Some(AllClose { atol: own.atol, rtol: own.rtol, ..all? })
    }
}
