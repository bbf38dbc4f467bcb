//! A measured value, or the reason for its absence.

use std::sync::Arc;

/// A measured value, or the reason for its absence.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A finite number in the metric's unit.
    Value(f64),
    /// No measurement, with the reason.
    Missing(Arc<str>),
    /// Counted, but without a value, with the reason: a share of zero.
    Undefined(Arc<str>),
}

impl Cell {
    /// A value if it is finite, else missing: NaN and infinities never reach a gate as numbers.
    pub fn finite(value: f64) -> Self {
        if value.is_finite() { Self::Value(value) } else { Self::Missing(format!("measured as {value}").into()) }
    }

    /// The number, or the reason for its absence.
    pub const fn known(&self) -> Result<f64, &Arc<str>> {
        match self {
            Self::Value(value) => Ok(*value),
            Self::Missing(reason) | Self::Undefined(reason) => Err(reason),
        }
    }

    /// The number, if there is one.
    pub fn value(&self) -> Option<f64> {
        self.known().ok()
    }
}
