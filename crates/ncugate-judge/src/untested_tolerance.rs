//! Reports a tolerance that was not tested on wrong answers: it may accept any result.

use crate::store::Run;
use ncugate_model::{CheckOutcome, NullTest, ShapeName};
use ncugate_phase::config::{Phase, UntestedTolerance};
use std::collections::BTreeSet;
use std::fmt;

/// The setting with which a phase accepts an untested tolerance.
pub const ACCEPTED: &str =
    "weakened checks: `untested_tolerance = \"accept\"` accepts a tolerance that was not tested on wrong answers";

/// Shapes with an untested tolerance, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntriedTolerance {
    shapes: Vec<ShapeName>,
    reason: String,
    untested: UntestedTolerance,
}

impl fmt::Display for UntriedTolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shapes: Vec<String> = self.shapes.iter().map(|shape| format!("'{shape}'")).collect();
        write!(f, "the tolerance was not tested on wrong answers at {}: {}", shapes.join(", "), self.reason)
    }
}

impl UntriedTolerance {
    /// The caution on the first screen.
    pub fn caution(&self) -> String {
        match self.untested {
            UntestedTolerance::Refused => {
                format!(
                    "{self}; the phase does not pass (`tolerance = {{ ..., untested_tolerance = \"accept\" }}` accepts it)"
                )
            }
            UntestedTolerance::Accepted => format!("weakened checks: {self}, which `untested_tolerance` accepts"),
        }
    }
}

/// The shapes of a run whose tolerance was tested neither before the run nor with the checks of variants.
pub fn tolerance(phase: &Phase, run: &Run) -> Option<UntriedTolerance> {
    let NullTest::NotMade { reason } = &run.manifest.null_test else { return None };
    let tried: BTreeSet<&ShapeName> =
        run.checks.iter().filter(|check| check.nulls > 0).map(|check| &check.shape).collect();
    let checked = run.checks.iter().filter(|check| !matches!(check.outcome, CheckOutcome::Skipped { .. }));
    let checked: BTreeSet<&ShapeName> = checked.map(|check| &check.shape).collect();
    let shapes: Vec<ShapeName> = checked.difference(&tried).map(|shape| (*shape).clone()).collect();
    let untested = phase.workload.untested_tolerance;
    (!shapes.is_empty()).then(|| UntriedTolerance { shapes, reason: reason.clone(), untested })
}
