//! Values of names and expressions.

use std::collections::BTreeMap;
use std::fmt;

/// A value of a parameter or of a name that an expression uses.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

/// Names for an expression, with their values.
pub type Names = BTreeMap<String, Value>;

impl Value {
    /// The value as a number; true is 1 and false 0. A text is not a number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Bool(v) => Some(f64::from(u8::from(*v))),
            Self::Int(v) => Some(*v as f64),
            Self::Float(v) => Some(*v),
            Self::Text(_) => None,
        }
    }

    /// The value as an integer; true is 1 and false 0.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Self::Bool(v) => Some(i64::from(*v)),
            Self::Int(v) => Some(*v),
            Self::Float(_) | Self::Text(_) => None,
        }
    }

    /// Whether a condition treats it as true: a number other than 0, a text that is not empty.
    pub(super) fn is_truthy(&self) -> bool {
        match self {
            Self::Bool(v) => *v,
            Self::Int(v) => *v != 0,
            Self::Float(v) => *v != 0.0,
            Self::Text(v) => !v.is_empty(),
        }
    }

    /// The value as a whole number: an integer, or a real number without a fraction below 9e15.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Int(v) => Some(*v),
            Self::Float(v) if v.fract() == 0.0 && v.abs() < 9e15 => Some(*v as i64),
            Self::Bool(_) | Self::Float(_) | Self::Text(_) => None,
        }
    }

    /// As an expression would write it.
    pub(super) fn written(&self) -> String {
        match self {
            Self::Bool(v) => v.to_string(),
            Self::Int(v) => v.to_string(),
            Self::Float(v) => v.to_string(),
            Self::Text(v) => format!("'{v}'"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(v) => write!(f, "{}", i32::from(*v)),
            Self::Int(v) => v.fmt(f),
            Self::Float(v) => v.fmt(f),
            Self::Text(v) => v.fmt(f),
        }
    }
}
