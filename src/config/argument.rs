//! Arguments of a kernel as a phase writes them.

use super::workload::ScalarType;
use crate::expr::Expr;

/// An argument of a kernel; expressions see dimensions and the variant's parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgTemplate {
    /// A buffer, tensor map, scalar or dimension (passed as `int`).
    Named(String),
    /// `nullptr`.
    Null,
    /// A buffer from an element on.
    Element {
        /// The buffer.
        buffer: String,
        /// Elements before it.
        offset: Expr,
    },
    /// A value.
    Value {
        /// C type that it is passed as.
        dtype: ScalarType,
        /// The value.
        value: Expr,
    },
    /// A struct by value, its fields in order.
    Struct(Vec<ArgTemplate>),
    /// A device array of pointers: buffers, elements of buffers, and `nullptr`.
    Pointers(Vec<ArgTemplate>),
}

impl ArgTemplate {
    /// Every argument in it that has no parts, itself where it has none.
    pub fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Struct(parts) | Self::Pointers(parts) => parts.iter().flat_map(Self::parts).collect(),
            Self::Named(_) | Self::Null | Self::Element { .. } | Self::Value { .. } => vec![self],
        }
    }

    /// The name that it is written by, of a buffer, tensor map, scalar or dimension.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) | Self::Element { buffer: name, .. } => Some(name),
            Self::Null | Self::Value { .. } | Self::Struct(_) | Self::Pointers(_) => None,
        }
    }

    /// Whether it, or a part of it, is written by that name.
    pub fn names(&self, name: &str) -> bool {
        self.parts().into_iter().any(|part| part.name() == Some(name))
    }

    /// Its expression, where it has one.
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            Self::Element { offset: expr, .. } | Self::Value { value: expr, .. } => Some(expr),
            Self::Named(_) | Self::Null | Self::Struct(_) | Self::Pointers(_) => None,
        }
    }
}
