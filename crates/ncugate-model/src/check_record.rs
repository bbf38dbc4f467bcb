//! What checking and timing a variant gave.

use super::audit::Audit;
use super::id::{ShapeName, VariantId};
use super::law::Law;
use super::tolerance::{Differences, Tolerance};
use serde::{Deserialize, Serialize};

/// What is wrong with the output of a launch whatever the tolerance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "defect", rename_all = "snake_case")]
pub enum Defect {
    /// The launch wrote to an input or a guard band.
    #[error("{place}")]
    OutOfBoundsWrite {
        /// Which, and where in it first.
        place: String,
    },
    /// Elements of outputs still hold what they held before the launch.
    #[error("{elements} of {compared} output elements were never written")]
    Unwritten {
        elements: u64,
        /// Output elements.
        compared: u64,
    },
    /// The reference and the output have no element that is finite in both.
    #[error("no finite element could be compared")]
    NothingFinite,
}

/// How one correctness case (variant, shape, seed) ended.
///
/// `Correct` and `Wrong` are by the tolerance that the phase had when the case ran. What counts is what the phase has when
/// the run is judged: [`CheckOutcome::judged_by`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Within the tolerance and without a defect.
    Correct { differences: Differences },
    /// Beyond the tolerance, or with a defect.
    Wrong {
        differences: Differences,
        /// Why it counted as wrong when it ran: every defect and every bound that it broke.
        reason: String,
        /// What is wrong with it whatever the tolerance.
        defects: Vec<Defect>,
    },
    /// The launch failed, the worker died, or it ran past its time.
    Crashed {
        /// What the driver or the system said.
        reason: String,
    },
    /// Not run (a build that failed, an external program that is absent).
    Skipped { reason: String },
}

impl CheckOutcome {
    /// The outcome of a comparison under a tolerance, with every reason where it is wrong.
    pub fn of(differences: Differences, defects: Vec<Defect>, tolerance: &Tolerance) -> Self {
        let violations = tolerance.violations(&differences);
        if defects.is_empty() && violations.is_empty() {
            return Self::Correct { differences };
        }
        let reasons = defects.iter().map(ToString::to_string).chain(violations.iter().map(ToString::to_string));
        let under = differences.law.filter(|law| *law != Law::Declared).map(|law| format!("under {law} inputs: "));
        let reason = under.unwrap_or_default() + &reasons.collect::<Vec<_>>().join("; ");
        Self::Wrong { differences, reason, defects }
    }

    /// The outcome of the same measurement under another tolerance. What is wrong for another reason stays wrong.
    #[must_use]
    pub fn judged_by(&self, tolerance: &Tolerance) -> Self {
        match self {
            Self::Correct { differences } => Self::of(*differences, Vec::new(), tolerance),
            Self::Wrong { differences, defects, .. } => Self::of(*differences, defects.clone(), tolerance),
            Self::Crashed { .. } | Self::Skipped { .. } => self.clone(),
        }
    }

    /// Whether it is correct under a tolerance.
    pub fn is_correct(&self, tolerance: &Tolerance) -> bool {
        matches!(self.judged_by(tolerance), Self::Correct { .. })
    }
}

/// A line of `checks.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckRecord {
    pub variant: VariantId,
    pub shape: ShapeName,
    pub seed: u64,
    pub outcome: CheckOutcome,
    /// Wrong answers that the tolerance was tried on with the inputs of this case, and rejected. 0 where another record of the shape has
    /// them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nulls: u32,
}

const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What timing a variant at a shape gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum LatencyOutcome {
    /// Samples in the order they were taken; sample `i` of every variant is of the same round.
    Timed {
        /// Microseconds a launch, one sample a graph launch.
        samples: Vec<f64>,
        /// Launches in the graph each sample is the mean of.
        launches: u32,
        /// What was verified of the launches that were timed. None where the outputs of timed launches were not looked at:
        /// of a program that times itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        audit: Option<Audit>,
    },
    /// Its checks were right, and launches that were timed gave wrong outputs or none: what was timed is not what was
    /// proven. Samples of it mean nothing and are not kept.
    Cheats {
        /// Which launch, and what is wrong with its output.
        reason: String,
        /// What had been verified until then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        audit: Option<Audit>,
    },
    /// Its checks were right, launches that were timed gave wrong outputs or none, and so do launches of a module that was loaded anew, on
    /// the same inputs and outside of any sample: it is wrong there, and hides nothing.
    Wrong {
        /// Which launch, and what is wrong with its output.
        reason: String,
        /// What had been verified until then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        audit: Option<Audit>,
    },
    /// No samples, and why (never timed because it was not correct, crashed while timed, absent).
    Failed { reason: String },
}

/// A line of `confirmations.jsonl`: samples that were taken anew, after variants had been selected by those of
/// `latencies.jsonl`, and that took no part in the selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfirmationRecord {
    /// The samples of all looks so far, in the order they were taken; sample `i` of every variant is of the same round.
    #[serde(flatten)]
    pub timed: LatencyRecord,
    /// Looks at these samples so far, from 1.
    pub looks: u32,
    /// Samples of each process that took them, in their order.
    pub processes: Vec<u32>,
}

/// A line of `latencies.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyRecord {
    pub variant: VariantId,
    pub shape: ShapeName,
    pub outcome: LatencyOutcome,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NanRule;

    const NO_BOUND: Tolerance =
        Tolerance { max_abs: None, rel_l2: None, allclose: None, times_error: None, nan: NanRule::Refused };
    const TIGHT: Tolerance = Tolerance { max_abs: Some(0.1), ..NO_BOUND };
    const LOOSE: Tolerance = Tolerance { max_abs: Some(1.0), ..NO_BOUND };
    const DIFFERENCES: Differences = Differences {
        max_abs: 0.5,
        rel_l2: 0.25,
        nonfinite: 0,
        compared: 8,
        allclose: None,
        times_error: None,
        law: None,
    };

    fn reason(outcome: &CheckOutcome) -> &str {
        match outcome {
            CheckOutcome::Wrong { reason, .. } => reason,
            CheckOutcome::Correct { .. } | CheckOutcome::Crashed { .. } | CheckOutcome::Skipped { .. } => "",
        }
    }

    #[test]
    fn stored_differences_are_judged_by_the_tolerance_of_today() {
        let wrong = CheckOutcome::of(DIFFERENCES, Vec::new(), &TIGHT);
        assert_eq!(reason(&wrong), "max_abs 5.000e-1 exceeds the tolerance 1e-1");
        let correct = CheckOutcome::of(DIFFERENCES, Vec::new(), &LOOSE);
        assert_eq!(wrong.judged_by(&LOOSE), correct);
        assert_eq!(correct.judged_by(&TIGHT), wrong);
        assert!(wrong.is_correct(&LOOSE) && !wrong.is_correct(&TIGHT));
    }

    #[test]
    fn a_wrong_case_names_the_law_of_its_inputs() {
        let growing = Differences { law: Some(Law::Growing), ..DIFFERENCES };
        let expected = "under growing inputs: max_abs 5.000e-1 exceeds the tolerance 1e-1";
        assert_eq!(reason(&CheckOutcome::of(growing, Vec::new(), &TIGHT)), expected);
    }

    #[test]
    fn a_defect_is_wrong_under_every_tolerance() {
        let defects = vec![
            Defect::OutOfBoundsWrite { place: "input 'q' was written".to_owned() },
            Defect::Unwritten { elements: 1, compared: 8 },
        ];
        let wrong = CheckOutcome::of(DIFFERENCES, defects, &TIGHT);
        let expected = "input 'q' was written; 1 of 8 output elements were never written";
        assert_eq!(reason(&wrong.judged_by(&LOOSE)), expected);
        assert!(reason(&wrong).starts_with(expected), "and beyond its bound: {wrong:?}");
    }

    #[test]
    fn a_wrong_case_without_its_defects_is_refused() {
        let kept = CheckOutcome::of(DIFFERENCES, vec![Defect::NothingFinite], &LOOSE);
        let mut text = serde_json::to_value(&kept).unwrap();
        assert_eq!(serde_json::from_value::<CheckOutcome>(text.clone()).unwrap(), kept);
        text.as_object_mut().unwrap().remove("defects");
        assert!(serde_json::from_value::<CheckOutcome>(text).unwrap_err().to_string().contains("defects"));
    }

    #[test]
    fn crashed_and_skipped_cases_are_not_judged_by_a_tolerance() {
        let crashed = CheckOutcome::Crashed { reason: "hang".to_owned() };
        let skipped = CheckOutcome::Skipped { reason: "absent".to_owned() };
        assert_eq!((crashed.judged_by(&LOOSE), skipped.judged_by(&LOOSE)), (crashed, skipped));
    }
}
