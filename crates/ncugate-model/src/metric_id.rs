//! The name of a logical metric.

use std::fmt;
use std::ops::Deref;

/// The name of a metric of the catalogue. ncu's own metric names have no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetricId(&'static str);

impl MetricId {
    /// The metric with that name; [`crate::metric::id`] has a constant for each.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Its name, as in a gate.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl Deref for MetricId {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl fmt::Display for MetricId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
