//! What is said of values that are CUPTI's, because ncu might not count.

use crate::frame::{Quantities, traced_cases};
use crate::metric::id;
use crate::model::{Cell, ProfileOutcome, ShapeName, VariantId};
use crate::number::counted;
use crate::store::Run;
use std::collections::BTreeSet;

/// Variants and shapes that are named.
const NAMED: usize = 3;

/// ncu's name of a duration, which a phase may name too.
const DURATION: &str = "gpu__time_duration.sum";

/// Whether durations of a run are CUPTI's.
pub fn is_traced(run: &Run) -> bool {
    run.profiles.iter().any(|record| matches!(record.outcome, ProfileOutcome::Traced { .. }))
}

/// A stored run's values without durations: one of ncu and one of CUPTI are not compared.
pub fn without_durations(quantities: &Quantities) -> Quantities {
    let mut quantities = quantities.clone();
    let absent = Cell::Missing("durations of one run are ncu's and of the other CUPTI's: they are not compared".into());
    let known: Vec<String> = quantities.metrics().map(str::to_owned).collect();
    for metric in known.iter().filter(|name| **name == *id::DURATION || *name == DURATION) {
        let rows = quantities.rows().len();
        quantities.set_column(metric, vec![absent.clone(); rows]);
    }
    quantities
}

/// A sentence where durations are CUPTI's: whose they are, and what they do not say.
pub fn caution(run: &Run) -> Option<String> {
    let cases = traced_cases(&run.profiles);
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
