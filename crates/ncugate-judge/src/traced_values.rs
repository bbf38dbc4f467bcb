//! What is said of values that are CUPTI's, because ncu might not count.

use crate::frame::{Quantities, traced_cases};
use crate::store::Run;
use ncugate_model::metric::id;
use ncugate_model::number::counted;
use ncugate_model::{Cell, ProfileOutcome};

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
    let first = cases.first()?;
    let more = match cases.len() - 1 {
        0 => String::new(),
        more => format!(" and of {}", counted(more, "further case")),
    };
    Some(format!(
        "source: durations of {} at {}{more} are CUPTI's ({}), since ncu might not count; latencies are held against them, \
         and not against bytes and operations, which nobody counted",
        first.variant, first.shape, first.trace.cupti
    ))
}
