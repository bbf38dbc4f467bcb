//! Units that limits are written with: `30 us`, `20 %`, `64 KiB`.
//!
//! A limit with a unit is turned into the unit of the metric that it is compared with; one without stays in it.

use super::ast::{Node, NodeKind, Reference, Span};
use super::value::Value;

/// A unit as a limit writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// As written.
    pub word: &'static str,
    kind: Kind,
    /// How many of its kind's smallest unit it is.
    size: f64,
}

/// What is measured in a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Share,
    Memory,
    Frequency,
    /// Things that are counted.
    Count(&'static str),
}

/// A limit whose unit does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    /// What is wrong.
    pub reason: String,
    /// The limit.
    pub span: Span,
}

const KIBI: f64 = 1024.0;

/// Every unit, those that are one another's names side by side.
const UNITS: [(&str, Kind, f64); 27] = [
    ("ns", Kind::Time, 1.0),
    ("us", Kind::Time, 1e3),
    ("µs", Kind::Time, 1e3),
    ("ms", Kind::Time, 1e6),
    ("s", Kind::Time, 1e9),
    ("%", Kind::Share, 1.0),
    ("B", Kind::Memory, 1.0),
    ("bytes", Kind::Memory, 1.0),
    ("KiB", Kind::Memory, KIBI),
    ("MiB", Kind::Memory, KIBI * KIBI),
    ("GiB", Kind::Memory, KIBI * KIBI * KIBI),
    ("KB", Kind::Memory, 1e3),
    ("MB", Kind::Memory, 1e6),
    ("GB", Kind::Memory, 1e9),
    ("Hz", Kind::Frequency, 1.0),
    ("kHz", Kind::Frequency, 1e3),
    ("MHz", Kind::Frequency, 1e6),
    ("GHz", Kind::Frequency, 1e9),
    ("registers", Kind::Count("register/thread"), 1.0),
    ("warps", Kind::Count("warp"), 1.0),
    ("blocks", Kind::Count("block"), 1.0),
    ("threads", Kind::Count("thread"), 1.0),
    ("cycles", Kind::Count("cycle"), 1.0),
    ("instructions", Kind::Count("inst"), 1.0),
    ("sectors", Kind::Count("sector"), 1.0),
    ("inst", Kind::Count("inst"), 1.0),
    ("cycle", Kind::Count("cycle"), 1.0),
];

impl Unit {
    /// The unit of that word.
    pub fn of_word(word: &str) -> Option<Self> {
        let found = UNITS.into_iter().find(|(known, ..)| *known == word);
        found.map(|(word, kind, size)| Self { word, kind, size })
    }

    /// The factor that turns a number in this unit into one in the unit of a metric.
    fn factor(self, metric: &str) -> Option<f64> {
        let size = match (self.kind, metric) {
            (Kind::Time, "ns") => 1.0,
            (Kind::Time, "us") => 1e3,
            (Kind::Share, "%") => 1.0,
            (Kind::Memory, "byte" | "byte/block" | "byte/thread") => 1.0,
            (Kind::Frequency, "hz") => 1.0,
            (Kind::Count(name), metric) if name == metric => 1.0,
            _ => return None,
        };
        Some(self.size / size)
    }
}

/// The units of what a comparison reads, each once.
fn units<'u>(node: &Node<Reference>, unit_of: &dyn Fn(&Reference) -> Option<&'u str>) -> Vec<&'u str> {
    let mut found: Vec<&str> = node.reads().filter_map(|(reference, _)| unit_of(reference)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Turns every limit of a tree into the unit of what its comparison reads.
pub fn resolve<'u>(
    node: &mut Node<Reference>,
    units_here: &[&str],
    unit_of: &dyn Fn(&Reference) -> Option<&'u str>,
) -> Result<(), UnitError> {
    let own = matches!(node.kind, NodeKind::Compare(..) | NodeKind::In { .. }).then(|| units(node, unit_of));
    let units_here = own.as_deref().unwrap_or(units_here);
    if let NodeKind::Measure(number, unit) = &node.kind {
        let number = converted(*number, *unit, units_here).map_err(|reason| UnitError { reason, span: node.span })?;
        node.kind = NodeKind::Literal(Value::Float(number));
    }
    node.children_mut().into_iter().try_for_each(|child| resolve(child, units_here, unit_of))
}

fn converted(number: f64, unit: Unit, metrics: &[&str]) -> Result<f64, String> {
    let word = unit.word;
    match metrics {
        [metric] => match unit.factor(metric) {
            Some(factor) => Ok(number * factor),
            None if metric.is_empty() => Err(format!("`{word}` is a unit, and what it is compared with has none")),
            None => Err(format!("the unit `{word}` does not fit what it is compared with, which is in {metric}")),
        },
        [] => Err(format!("`{word}` is a unit, and nothing that is measured is compared with it")),
        several => Err(format!("the unit `{word}` stands beside quantities of several units ({})", several.join(", "))),
    }
}
