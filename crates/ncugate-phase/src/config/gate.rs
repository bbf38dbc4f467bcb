//! Parsed requirements of a phase.

use ncugate_model::expr::{Expr, Requirement};
use ncugate_model::{CleanText, Level, OnInconclusive, Scope, ShapeName, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One requirement of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    pub name: CleanText,
    pub require: Requirement,
    pub on: Scope,
    pub level: Level,
    /// Shapes at which it is judged; never empty.
    pub shapes: Vec<ShapeName>,
    /// Number of shapes at which it must hold; all when absent.
    pub at_least: Option<u32>,
    /// The effect of an inconclusive verdict.
    pub inconclusive: OnInconclusive,
    /// Line in the file, from 1.
    pub line: usize,
}

/// A named group of gates; tiers are ordered from the easiest.
#[derive(Debug, Clone, PartialEq)]
pub struct Tier {
    /// Its name (`minimum`).
    pub name: CleanText,
    /// Its gates; all must hold.
    pub gates: Vec<Gate>,
    /// Whether the phase must reach it.
    pub required: bool,
    /// Line in the file, from 1.
    pub line: usize,
}

words! {
    name;
    /// The effect of failed exit gates of a stage.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum OnStageFailure {
        /// The change is reverted, and the plan ends there.
        Revert = "revert",
        /// The stage is dropped, and the next is judged against the last accepted one.
        Skip = "skip",
    }
}

/// A step of a staged plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    pub name: CleanText,
    /// Glob of the variants that implement it; the best correct one represents the stage.
    pub variant: String,
    /// Expected speedup over the last accepted stage, from and to.
    pub expect: Option<(f64, f64)>,
    /// Exit gates; `previous.` names the last accepted stage.
    pub gates: Vec<Gate>,
    pub on_failure: OnStageFailure,
    /// Line in the file, from 1.
    pub line: usize,
}

/// A variant to use if required gates fail.
#[derive(Debug, Clone, PartialEq)]
pub struct Fallback {
    /// Glob of the variants; the best correct one is used.
    pub variant: String,
    /// Its own gates.
    pub gates: Vec<Gate>,
    /// Line in the file, from 1.
    pub line: usize,
}

/// A go/no-go condition over workload and chip, judged before anything is built.
#[derive(Debug, Clone, PartialEq)]
pub struct Precondition {
    pub name: CleanText,
    /// Over shape dimensions, `dtype` (of the first input), and `cc`.
    pub condition: Expr,
    /// Line in the file, from 1.
    pub line: usize,
}

/// Permission for a gate to fail for a limited time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waiver {
    /// Name of the gate.
    pub gate: CleanText,
    /// Glob of variant ids.
    pub variant: CleanText,
    /// Why the gate is allowed to fail.
    pub reason: CleanText,
    /// Who is responsible.
    pub owner: CleanText,
    /// Last valid day.
    #[schemars(with = "String")]
    pub expires: jiff::civil::Date,
    /// Line in the file, from 1.
    #[serde(skip)]
    pub line: usize,
}

impl Waiver {
    /// Maximum days from today to its last day: a year.
    pub const LONGEST: i32 = 366;
    /// Minimum number of words of a reason.
    pub const FEWEST_WORDS: usize = 3;

    /// Whether a text has enough words to say why.
    pub fn is_reason(text: &str) -> bool {
        let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
        words.count() >= Self::FEWEST_WORDS
    }

    /// The latest last day of a waiver, seen from `today`.
    pub fn latest(today: jiff::civil::Date) -> jiff::civil::Date {
        today.saturating_add(jiff::Span::new().days(Self::LONGEST))
    }

    /// Whether it excuses a failure on a day. A waiver without an end never does.
    pub fn holds_on(&self, today: jiff::civil::Date) -> bool {
        today <= self.expires && self.expires <= Self::latest(today)
    }
}

/// Everything about gates beyond the flat list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GatePlan {
    /// Tiers, easiest first.
    pub tiers: Vec<Tier>,
    /// Stages, in order.
    pub stages: Vec<Stage>,
    /// The fallback.
    pub fallback: Option<Fallback>,
    /// Go/no-go conditions.
    pub preconditions: Vec<Precondition>,
    pub waivers: Vec<Waiver>,
}

impl GatePlan {
    /// The gates of tiers, stages and the fallback.
    pub fn gates(&self) -> impl Iterator<Item = &Gate> {
        let tiers = self.tiers.iter().flat_map(|tier| &tier.gates);
        let stages = self.stages.iter().flat_map(|stage| &stage.gates);
        tiers.chain(stages).chain(self.fallback.iter().flat_map(|fallback| &fallback.gates))
    }
}
