//! The result of checking and timing a variant.

use super::audit::Audit;
use super::gpu_state::GpuStates;
use super::id::{ShapeName, VariantId};
use super::law::Law;
use super::tolerance::{Differences, Tolerance};
use crate::number;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A defect in the output of a launch that no tolerance excuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "defect", rename_all = "snake_case")]
pub enum Defect {
    /// The launch wrote to an input or a guard band.
    /// `place`: the buffer, and the first wrong place in it.
    #[error("{place}")]
    OutOfBoundsWrite { place: String },
    /// Output elements still hold their content from before the launch.
    #[error("{elements} of {compared} output elements were never written")]
    Unwritten { elements: u64, compared: u64 },
    /// A function of the phase refuses the outputs.
    /// `reason`: what is wrong, by the function; or why it could not tell.
    #[error("{check}: {reason}")]
    Refused { check: String, reason: String },
    /// The reference and the output have no element that is finite in both.
    #[error("no finite element could be compared")]
    NothingFinite,
}

/// The element of an output with the largest error, or the first that is NaN or infinite and should not be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WrongElement {
    /// The output.
    pub buffer: String,
    /// Its index in each dimension, the outermost first: row, column.
    pub index: Vec<u64>,
    #[serde(with = "number_text")]
    pub actual: f64,
    #[serde(with = "number_text")]
    pub expected: f64,
}

impl fmt::Display for WrongElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index: Vec<String> = self.index.iter().map(u64::to_string).collect();
        let values = number::related(self.actual, ", expected ", self.expected, "");
        write!(f, "largest error at `{}[{}]`: {values}", self.buffer, index.join(", "))
    }
}

/// JSON has no NaN and no infinity.
mod number_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{value:?}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The result of one correctness case (variant, shape, seed).
///
/// `Correct` and `Wrong` follow the tolerance of the phase when the case ran. The verdict follows the tolerance when
/// the run is judged: [`CheckOutcome::judged_by`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Within the tolerance and without a defect.
    Correct { differences: Differences },
    /// Beyond the tolerance, or with a defect.
    Wrong {
        differences: Differences,
        /// Why it counted as wrong when it ran: every defect and every exceeded bound.
        reason: String,
        /// Defects that no tolerance excuses.
        defects: Vec<Defect>,
        /// The element with the largest error, if one was compared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        element: Option<WrongElement>,
    },
    /// The launch failed, the worker died, or the case timed out.
    Crashed {
        /// The message of the driver or the system.
        reason: String,
    },
    /// Not run (a failed build, a missing external program), or it proves nothing (an ill-conditioned reference).
    Skipped { reason: String },
}

impl CheckOutcome {
    /// The outcome of a comparison under a tolerance, with every reason if it is wrong.
    pub fn of(differences: Differences, defects: Vec<Defect>, tolerance: &Tolerance) -> Self {
        let violations = tolerance.violations(&differences);
        if defects.is_empty() && violations.is_empty() {
            return Self::Correct { differences };
        }
        let reasons = defects.iter().map(ToString::to_string).chain(violations.iter().map(ToString::to_string));
        let under = differences.law.filter(|law| *law != Law::Declared).map(|law| format!("under {law} inputs: "));
        let reason = under.unwrap_or_default() + &reasons.collect::<Vec<_>>().join("; ");
        Self::Wrong { differences, reason, defects, element: None }
    }

    /// The same, with the element that is most wrong if it is wrong.
    #[must_use]
    pub fn with_element(self, element: Option<WrongElement>) -> Self {
        match (self, element) {
            (Self::Wrong { differences, reason, defects, .. }, Some(element)) => {
                Self::Wrong { differences, reason: format!("{reason}; {element}"), defects, element: Some(element) }
            }
            (other, _) => other,
        }
    }

    /// The outcome of the same measurement under another tolerance. A case with a defect stays wrong; an ill-conditioned
    /// one without proves nothing.
    #[must_use]
    pub fn judged_by(&self, tolerance: &Tolerance) -> Self {
        let of = |differences: &Differences, defects: &[Defect]| match tolerance.conditioning(differences) {
            Some(reason) if defects.is_empty() => Self::Skipped { reason },
            _ => Self::of(*differences, defects.to_vec(), tolerance),
        };
        match self {
            Self::Correct { differences } => of(differences, &[]),
            Self::Wrong { differences, defects, element, .. } => of(differences, defects).with_element(element.clone()),
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
    /// Wrong answers that the tolerance was tested on, and rejected, with the inputs of this case. 0 if another
    /// record of the shape has them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nulls: u32,
}

const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The result of timing a variant at a shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum LatencyOutcome {
    /// Samples in measurement order; sample `i` of every variant is from the same round.
    Timed {
        /// Microseconds per launch, one sample per graph launch.
        samples: Vec<f64>,
        /// Launches per graph: a sample is the mean over them.
        launches: u32,
        /// Verification of the timed launches. None if their outputs were not compared: for a program with a
        /// self-reported latency.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        audit: Option<Audit>,
        /// The GPU's clocks in the round of each sample; `None` if they were not read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gpu: Option<GpuStates>,
    },
    /// Its checks were right, but timed launches gave wrong outputs or none: the timed code is not the proven code.
    /// Its samples are meaningless and are not kept.
    Cheats {
        /// Which launch, and the error in its output.
        reason: String,
        /// The verification up to that launch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        audit: Option<Audit>,
    },
    /// Its checks were right, but timed launches gave wrong outputs or none, and so do launches of a freshly loaded
    /// module on the same inputs, outside of any sample: it is wrong there, and hides nothing.
    Wrong {
        /// Which launch, and the error in its output.
        reason: String,
        /// The verification up to that launch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        audit: Option<Audit>,
    },
    /// No samples, with the reason (never timed because it was not correct, crashed while timed, missing).
    Failed { reason: String },
}

impl LatencyOutcome {
    /// The samples, or why there are none.
    pub fn samples(&self) -> Result<&[f64], String> {
        match self {
            Self::Timed { samples, .. } => Ok(samples),
            Self::Cheats { reason, .. } => Err(format!("cheats: {reason}")),
            Self::Wrong { reason, .. } | Self::Failed { reason } => Err(reason.clone()),
        }
    }

    /// Launches of a sample; 1 without samples.
    pub const fn launches(&self) -> u32 {
        match self {
            Self::Timed { launches, .. } => *launches,
            Self::Cheats { .. } | Self::Wrong { .. } | Self::Failed { .. } => 1,
        }
    }
}

/// A line of `confirmations.jsonl`: new samples, taken after variants were selected by those of `latencies.jsonl`.
/// They took no part in the selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfirmationRecord {
    /// The samples of all looks so far, in measurement order; sample `i` of every variant is from the same round.
    #[serde(flatten)]
    pub timed: LatencyRecord,
    /// Looks at these samples so far, from 1.
    pub looks: u32,
    /// Number of samples of each process, in the order of the processes.
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
    use crate::{ConditioningRule, NanRule};

    const NO_BOUND: Tolerance = Tolerance {
        max_abs: None,
        rel_l2: None,
        allclose: None,
        times_error: None,
        nan: NanRule::Refused,
        ill_conditioned: ConditioningRule::Judged,
    };
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
        moved: None,
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
    fn an_ill_conditioned_case_is_neither_right_nor_wrong_unless_it_has_a_defect() {
        let tolerance = Tolerance { ill_conditioned: ConditioningRule::Inconclusive, ..TIGHT };
        let moved = |max_abs| Some(Differences { max_abs, ..DIFFERENCES }.into());
        let case = |max_abs, by| Differences { max_abs, moved: moved(by), ..DIFFERENCES };
        let judged = |differences, defects| CheckOutcome::of(differences, defects, &tolerance).judged_by(&tolerance);
        for max_abs in [0.0, 0.5] {
            let ill = judged(case(max_abs, 0.2), Vec::new());
            assert!(matches!(&ill, CheckOutcome::Skipped { reason } if reason.contains("ill-conditioned")), "{ill:?}");
        }
        assert!(matches!(judged(case(0.0, 0.2), vec![Defect::NothingFinite]), CheckOutcome::Wrong { .. }));
        assert!(matches!(judged(case(0.0, 0.1), Vec::new()), CheckOutcome::Correct { .. }));
        assert!(matches!(judged(case(0.5, 0.1), Vec::new()), CheckOutcome::Wrong { .. }));
        assert!(matches!(judged(DIFFERENCES, Vec::new()), CheckOutcome::Skipped { .. }), "it was not perturbed");
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
