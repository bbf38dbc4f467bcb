//! Element bounds of single outputs and shapes.

use ncugate_model::{AllClose, BoundUnit, ShapeName};
use serde::Serialize;
use std::fmt;

/// An element bound of one output, or of all outputs at one shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnBound {
    pub of: BoundOf,
    /// Permitted absolute difference of an element.
    pub atol: f64,
    /// Permitted difference relative to the expected value.
    pub rtol: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub unit: BoundUnit,
}

fn is_default(unit: &BoundUnit) -> bool {
    *unit == BoundUnit::default()
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundOf {
    /// An output, at every shape.
    Output(String),
    /// A shape, for every output without a separate bound.
    Shape(ShapeName),
}

impl fmt::Display for BoundOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(name) => write!(f, "output `{name}`"),
            Self::Shape(name) => write!(f, "shape `{name}`"),
        }
    }
}

impl OwnBound {
    /// The bound in `own` that replaces `all` for a buffer at a shape, if any.
    pub fn of(own: &[Self], all: Option<AllClose>, buffer: &str, shape: &ShapeName) -> Option<AllClose> {
        let of_output = |bound: &&Self| matches!(&bound.of, BoundOf::Output(name) if name == buffer);
        let of_shape = |bound: &&Self| matches!(&bound.of, BoundOf::Shape(name) if name == shape);
        let own = own.iter().find(of_output).or_else(|| own.iter().find(of_shape))?;
        Some(AllClose { atol: own.atol, rtol: own.rtol, unit: own.unit, ..all? })
    }
}
