//! A metric as a column of a table: title, unit and direction.

use ncugate_model::Better;
use ncugate_model::metric::Catalogue;
use ncugate_model::number::{self, text};
use schemars::JsonSchema;
use serde::Serialize;

/// A measured metric.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricColumn {
    /// Its name in gates and results.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its unit (`us`, `bytes`, `%`, or empty).
    pub unit: String,
    /// Direction of improvement.
    pub better: Better,
    /// Whether a gate judges it.
    pub gated: bool,
}

/// A title with the unit of its values: `Latency p50 (µs)`.
pub fn titled(title: &str, unit: &str) -> String {
    match number::unit(unit) {
        "" => title.to_owned(),
        unit => format!("{title} ({unit})"),
    }
}

impl MetricColumn {
    /// Its title with its unit: `Latency p50 (µs)`.
    pub fn heading(&self) -> String {
        titled(&self.title, &self.unit)
    }

    /// A metric by its name in gates, with title, unit and direction of the catalogue; not gated.
    pub fn known(name: &str) -> Self {
        let known = Catalogue::embedded().get(name);
        Self {
            name: text::line(name),
            title: text::line(known.map_or(name, |m| m.title.as_str())),
            unit: known.map_or_else(String::new, |m| text::clip(&m.unit, 16)),
            better: known.map_or(Better::Context, |m| m.better),
            gated: false,
        }
    }
}
