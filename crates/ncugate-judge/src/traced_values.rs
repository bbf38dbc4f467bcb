//! Handles CUPTI durations in place of ncu's, for hosts without counter permission.

use crate::frame::traced_cases;

use crate::store::Run;
use ncugate_model::metric::id;
use ncugate_model::number::counted;
use ncugate_model::{Cell, ProfileOutcome, Quantities};

/// ncu's name for a duration, which a phase may also use.
const DURATION: &str = "gpu__time_duration.sum";

/// Whether durations of a run come from CUPTI.
pub fn is_traced(run: &Run) -> bool {
    run.profiles.iter().any(|record| matches!(record.outcome, ProfileOutcome::Traced { .. }))
}

/// A stored run's values without durations, because ncu's and CUPTI's durations are not comparable.
pub fn without_durations(quantities: &Quantities) -> Quantities {
    let mut quantities = quantities.clone();
    let absent =
        Cell::Missing("durations of one run are from ncu and of the other from CUPTI: they are not compared".into());
    let known: Vec<String> = quantities.metrics().map(str::to_owned).collect();
    for metric in known.iter().filter(|name| **name == *id::DURATION || *name == DURATION) {
        let rows = quantities.rows().len();
        quantities.set_column(metric, vec![absent.clone(); rows]);
    }
    quantities
}

/// A caution if durations come from CUPTI: their source and their limits.
pub fn caution(run: &Run) -> Option<String> {
    let cases = traced_cases(&run.profiles);
    let first = cases.first()?;
    let more = match cases.len() - 1 {
        0 => String::new(),
        more => format!(" and of {}", counted(more, "more case")),
    };
    Some(format!(
        "durations of {} at {}{more} are from CUPTI ({}), because ncu is not permitted to read counters; latencies are compared \
         with these durations, but not with bytes and operations",
        first.variant, first.shape, first.trace.cupti
    ))
}
