//! The first parts of a report, and the type of a value.

use super::number::{self, Number};
use ncugate_model::{Cell, CleanText, Verdict};
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    pub verdict: Verdict,
    /// The verdict, or that the fallback is used.
    pub conclusion: Conclusion,
    /// Why, in one sentence.
    pub reason: CleanText,
    /// Requirements that differ from those of the measured phase, or are weaker than at the base, a sentence each.
    pub changed_limits: Vec<CleanText>,
    /// Caveats of the verdict, one sentence each: gates that do not judge the selected variant, weakened gates, the cost
    /// of a fallback.
    pub cautions: Vec<CleanText>,
    /// How far a staged plan got.
    pub stages: Option<CleanText>,
    /// The best variant that passes every required gate, if the selected one does not.
    pub obstacle: Option<CleanText>,
    /// Extent of the judgement: gates, variants, baselines, correctness cases.
    pub scope: CleanText,
    /// Highest tier reached, with the obstacle to the next one.
    pub tier: Option<CleanText>,
    /// Id of the selected variant.
    pub selected: Option<CleanText>,
    /// Numbers of the selected variant.
    pub facts: Vec<Fact>,
}

/// How a phase ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Conclusion {
    /// Every required gate holds.
    Pass,
    /// A required gate failed, but the fallback holds its own gates: the phase passes with a warning.
    Fallback,
    /// A required gate cannot be decided.
    Inconclusive,
    /// A required gate failed.
    Fail,
}

impl Conclusion {
    /// The conclusion from the verdict of a phase and whether a fallback holds its gates.
    pub fn new(verdict: Verdict, fallback_holds: bool) -> Self {
        match verdict {
            Verdict::Pass if fallback_holds => Self::Fallback,
            Verdict::Pass => Self::Pass,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::Fail => Self::Fail,
        }
    }

    /// `Pass`, `Fallback`, `Inconclusive` or `Fail`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Pass => "Pass",
            Self::Fallback => "Fallback",
            Self::Inconclusive => "Inconclusive",
            Self::Fail => "Fail",
        }
    }

    /// The verdict that gives the colour: a fallback passes with a warning.
    pub const fn tone(self) -> Verdict {
        match self {
            Self::Pass => Verdict::Pass,
            Self::Fallback | Self::Inconclusive => Verdict::Inconclusive,
            Self::Fail => Verdict::Fail,
        }
    }
}

impl fmt::Display for Conclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.label().fmt(f)
    }
}

/// The objective of the selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveRow {
    pub metric: CleanText,
    pub title: CleanText,
    pub unit: CleanText,
    /// The selected variant's value at the objective's shape.
    pub value: Option<Number>,
    pub note: CleanText,
}

impl ObjectiveRow {
    /// The value with its unit: `12.31 µs`.
    pub fn text(&self) -> Option<String> {
        self.value.as_ref().map(|value| number::with_unit(value.value, &self.unit))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    pub label: CleanText,
    /// The number with its unit.
    pub text: CleanText,
    /// The comparison, or the spread.
    pub note: CleanText,
}

/// A value, or the reason why it is missing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    Number(Number),
    /// Not measured, and why.
    Missing(CleanText),
}

impl From<&Cell> for Measure {
    fn from(cell: &Cell) -> Self {
        match cell.known() {
            Ok(value) => Self::Number(Number::new(value)),
            Err(reason) => Self::Missing((&**reason).into()),
        }
    }
}

impl Measure {
    pub fn number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            Self::Missing(_) => None,
        }
    }
}
