//! What is said of values that are CUPTI's, because ncu might not count.

use super::measurements::Measurements;
use crate::frame::traced_cases;
use crate::model::{ShapeName, VariantId};
use crate::number::counted;
use std::collections::BTreeSet;

/// Variants and shapes that are named.
const NAMED: usize = 3;

/// A sentence where durations are CUPTI's: whose they are, and what they do not say.
pub fn caution(measurements: &Measurements<'_>) -> Option<String> {
    let cases = traced_cases(&measurements.run().profiles);
    let releases: BTreeSet<&str> = cases.values().map(|case| case.trace.cupti.as_str()).collect();
    let variants: BTreeSet<&VariantId> = cases.keys().map(|(variant, _)| *variant).collect();
    let shapes: BTreeSet<&ShapeName> = cases.keys().map(|(_, shape)| *shape).collect();
    let named =
        |names: Vec<&str>, what: &str| if names.len() > NAMED { counted(names.len(), what) } else { names.join(", ") };
    let releases: Vec<&str> = releases.into_iter().collect();
    (!cases.is_empty()).then(|| {
        format!(
            "source: durations of {} at {} are CUPTI's ({}), since ncu might not count; latencies are held against them, \
             and not against bytes and operations, which nobody counted",
            named(variants.iter().map(|id| id.0.as_str()).collect(), "variant"),
            named(shapes.iter().map(|shape| shape.0.as_str()).collect(), "shape"),
            releases.join(", ")
        )
    })
}
