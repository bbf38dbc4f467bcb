//! What a phase requires, as understood.

use crate::config::ShapeName;
use crate::expr::Expr;
use serde::{Deserialize, Serialize};

/// How two sides are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// `<`
    #[serde(rename = "<")]
    Less,
    /// `<=`
    #[serde(rename = "<=")]
    LessOrEqual,
    /// `>`
    #[serde(rename = ">")]
    Greater,
    /// `>=`
    #[serde(rename = ">=")]
    GreaterOrEqual,
    /// `==`
    #[serde(rename = "==")]
    Equal,
    /// `!=`
    #[serde(rename = "!=")]
    NotEqual,
}

/// The sentence that has to hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Requirement {
    /// Two numeric expressions and a comparison: `eligible_warps >= 2`.
    Compare {
        /// Left side.
        left: Expr,
        /// The comparison.
        comparison: Comparison,
        /// Right side.
        right: Expr,
        /// As written.
        text: String,
    },
    /// A truth value: `not (dram_pct > 80 and tensor_pct < 40)`.
    Condition {
        /// The expression.
        condition: Expr,
    },
}

impl Requirement {
    /// As written.
    pub fn text(&self) -> &str {
        match self {
            Self::Compare { text, .. } => text,
            Self::Condition { condition } => condition.text(),
        }
    }
}

/// Which variants a gate judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The one the objective selected.
    Selected,
    /// Every candidate.
    Each,
    /// At least one correct candidate.
    Any,
    /// Every candidate whose id matches the glob.
    Matching(String),
}

/// What a gate's failure means for the phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The phase fails.
    Required,
    /// The report says so.
    Advisory,
}

/// What an inconclusive verdict of a required gate counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnInconclusive {
    /// Inconclusive (status 4).
    #[default]
    Inconclusive,
    /// A failure (status 1).
    Fail,
    /// A warning; only where noise is the reason, never where something is missing.
    Warn,
}

/// One requirement of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// Its name.
    pub name: String,
    /// The sentence.
    pub require: Requirement,
    /// Which variants.
    pub on: Scope,
    /// What failing means.
    pub level: Level,
    /// Shapes it is judged at; never empty.
    pub shapes: Vec<ShapeName>,
    /// How many of the shapes must hold; all when absent.
    pub at_least: Option<u32>,
    /// What inconclusive counts as.
    pub inconclusive: OnInconclusive,
    /// Line in the file, from 1.
    pub line: usize,
}

/// A named group of gates; tiers are ordered from the easiest.
#[derive(Debug, Clone, PartialEq)]
pub struct Tier {
    /// Its name (`minimum`).
    pub name: String,
    /// What it asks; all must hold.
    pub gates: Vec<Gate>,
    /// Whether the phase must reach it.
    pub required: bool,
    /// Line in the file, from 1.
    pub line: usize,
}

/// What happens when a stage fails its exit gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnStageFailure {
    /// The change is taken back and the plan ends there.
    Revert,
    /// The stage is left out and the next is judged against the last accepted one.
    Skip,
}

/// A step of a staged plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Glob of the variants that implement it; the best correct one stands for the stage.
    pub variant: String,
    /// Expected speedup over the last accepted stage, from and to.
    pub expect: Option<(f64, f64)>,
    /// Exit gates; `previous.` names the last accepted stage.
    pub gates: Vec<Gate>,
    /// When they fail.
    pub on_failure: OnStageFailure,
    /// Line in the file, from 1.
    pub line: usize,
}

/// A variant to use when required gates fail.
#[derive(Debug, Clone, PartialEq)]
pub struct Fallback {
    /// Glob of the variants; the best correct one is taken.
    pub variant: String,
    /// What it must hold itself.
    pub gates: Vec<Gate>,
    /// Line in the file, from 1.
    pub line: usize,
}

/// A go/no-go condition over workload and chip, judged before anything is built.
#[derive(Debug, Clone, PartialEq)]
pub struct Precondition {
    /// Its name.
    pub name: String,
    /// Over shape dimensions, `dtype` (of the first input), and `cc`.
    pub condition: Expr,
    /// Line in the file, from 1.
    pub line: usize,
}

/// A gate that is let pass for a while, by somebody, for a reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// Name of the gate.
    pub gate: String,
    /// Glob of variants.
    pub variant: String,
    /// Why.
    pub reason: String,
    /// Who answers for it.
    pub owner: String,
    /// Last day it holds.
    pub expires: jiff::civil::Date,
    /// Line in the file, from 1.
    pub line: usize,
}

/// Everything about gates beyond the flat list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GatePlan {
    /// Tiers, easiest first.
    pub tiers: Vec<Tier>,
    /// Stages, in order.
    pub stages: Vec<Stage>,
    /// What to fall back to.
    pub fallback: Option<Fallback>,
    /// Go/no-go conditions.
    pub preconditions: Vec<Precondition>,
    /// Waivers.
    pub waivers: Vec<Waiver>,
}
