//! Limits with units, converted to the unit of the compared metric. A limit without a unit is already in it.

use super::ast::{Node, NodeKind, Reference, Span};
use super::unit::Unit;

/// A limit whose unit does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    pub reason: String,
    pub span: Span,
}

/// The units of the values that a comparison reads, each once.
fn units<'u>(node: &Node<Reference>, unit_of: &dyn Fn(&Reference) -> Option<&'u str>) -> Vec<&'u str> {
    let mut found: Vec<&str> = node.reads().filter_map(|(reference, _)| unit_of(reference)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Converts every limit of a tree to the unit of the values that its comparison reads.
pub fn resolve<'u>(
    node: &mut Node<Reference>,
    units_here: &[&str],
    unit_of: &dyn Fn(&Reference) -> Option<&'u str>,
) -> Result<(), UnitError> {
    let own = matches!(node.kind, NodeKind::Compare(..) | NodeKind::In { .. }).then(|| units(node, unit_of));
    let units_here = own.as_deref().unwrap_or(units_here);
    if let NodeKind::Measure { number, unit, resolved } = &mut node.kind {
        let number = converted(*number, *unit, units_here).map_err(|reason| UnitError { reason, span: node.span })?;
        *resolved = Some(number);
    }
    node.children_mut().into_iter().try_for_each(|child| resolve(child, units_here, unit_of))
}

fn converted(number: f64, unit: Unit, metrics: &[&str]) -> Result<f64, String> {
    let word = unit.word;
    match metrics {
        [metric] => match unit.factor(metric) {
            Some(factor) => Ok(number * factor),
            None if metric.is_empty() => {
                Err(format!("the limit has the unit `{word}`, but its metric has no unit; remove the unit"))
            }
            None => Err(format!("the limit has the unit `{word}`, but its metric is in {metric}")),
        },
        [] => Err(format!("the limit has the unit `{word}`, but is not compared with a metric")),
        several => Err(format!(
            "the limit has the unit `{word}`, but its metrics have different units ({})",
            several.join(", ")
        )),
    }
}
