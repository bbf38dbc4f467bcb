//! The name of a logical metric.

use std::fmt;
use std::ops::Deref;

/// The name of a metric of the catalogue. Metrics by ncu's own names have no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MetricId(&'static str);

impl MetricId {
    /// The metric of that name; the constants in [`crate::metric::id`] are the ones there are.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Its name, as a gate writes it.
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
