//! Gates, tiers, stages, fallback, preconditions and waivers as rows.

use super::number::{self, Number};
use super::text;
use crate::config::Waiver;
use crate::judge::{Case, FallbackResult, GateResult, Judgement, PreconditionResult, StageResult, TierResult};
use crate::model::{Level, Scope, Verdict};
use serde::Serialize;
use std::collections::HashSet;

/// A gate in the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateRow {
    /// Its name.
    pub name: String,
    /// The requirement as written.
    pub require: String,
    /// Which variants.
    pub on: String,
    /// Required or advisory.
    pub level: Level,
    /// Line in the phase's file.
    pub line: usize,
    /// The metric on its left side, when it is one.
    pub metric: Option<String>,
    /// Unit of measured, limit and margin.
    pub unit: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, as a sentence that stands alone.
    pub reason: String,
    /// Why, beside the numbers of the same row: `short by 1.311`.
    pub why: String,
    /// Measured value of the deciding case.
    pub measured: Option<Number>,
    /// Its limit.
    pub limit: Option<Number>,
    /// Limit at every shape that the deciding variant was judged at.
    pub limits: Vec<(String, Number)>,
    /// Distance inside the limit; negative outside.
    pub margin: Option<Number>,
    /// Margin over limit, -1 to 1, for the bar.
    pub margin_share: Option<f64>,
    /// Confidence interval of the measured value.
    pub interval: Option<(Number, Number)>,
    /// Samples behind the measured value.
    pub samples: usize,
    /// Variant and shape that decided.
    pub decided_by: Option<Decider>,
    /// Cases that pass, fail, and cannot be told.
    pub counts: Counts,
    /// The waiver in force.
    pub waived: Option<WaiverRow>,
}

/// The case that decided a gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decider {
    /// Variant.
    pub variant: String,
    /// Shape.
    pub shape: String,
}

/// Cases by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// That pass.
    pub pass: usize,
    /// That fail.
    pub fail: usize,
    /// That cannot be told.
    pub inconclusive: usize,
}

/// A tier.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TierRow {
    /// Its name.
    pub name: String,
    /// Whether the phase must reach it.
    pub required: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// Its gates.
    pub gates: Vec<GateRow>,
}

/// A stage of a staged plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageRow {
    /// Its name.
    pub name: String,
    /// The variant that stands for it.
    pub variant: Option<String>,
    /// Whether it was kept.
    pub accepted: bool,
    /// The verdict of its exit gates.
    pub verdict: Verdict,
    /// Why it was kept or not.
    pub reason: String,
    /// Expected speedup, from and to.
    pub expected: Option<(Number, Number)>,
    /// Measured speedup over the last accepted stage.
    pub measured: Option<Number>,
    /// Measured speedup over the first.
    pub cumulative: Option<Number>,
    /// The best three correct variants of the stage, best first.
    pub elite: Vec<String>,
    /// Its gates.
    pub gates: Vec<GateRow>,
}

/// The fallback.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FallbackRow {
    /// The variant taken.
    pub variant: Option<String>,
    /// The verdict of its own gates.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// Its gates.
    pub gates: Vec<GateRow>,
}

/// A go/no-go condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreconditionRow {
    /// Its name.
    pub name: String,
    /// As written.
    pub condition: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// A waiver.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaiverRow {
    /// The gate it lets pass.
    pub gate: String,
    /// For which variants.
    pub variant: String,
    /// Why.
    pub reason: String,
    /// Who answers for it.
    pub owner: String,
    /// Last day it holds.
    pub expires: String,
    /// Whether it has expired.
    pub expired: bool,
}

impl GateRow {
    /// How many cases were judged.
    pub fn cases(&self) -> usize {
        self.counts.pass + self.counts.fail + self.counts.inconclusive
    }
}

/// A gate as a row.
pub fn row(gate: &GateResult) -> GateRow {
    let deciding = gate.deciding.and_then(|at| gate.cases.get(at));
    let number = |value: Option<f64>| value.filter(|v| v.is_finite()).map(Number::new);
    let limit = deciding.and_then(|c| c.limit).filter(|v| v.is_finite());
    let margin = deciding.and_then(|c| c.margin).filter(|v| v.is_finite());
    GateRow {
        name: text::line(&gate.name),
        require: text::line(gate.require.text()),
        on: text::line(&gate.on.to_string()),
        level: gate.level,
        line: gate.line,
        metric: gate.metric.as_deref().map(text::line),
        unit: text::line(&gate.unit),
        verdict: gate.verdict,
        reason: text::line(&gate.reason),
        why: text::line(&why(gate, deciding)),
        measured: number(deciding.and_then(|c| c.measured)),
        limit: limit.map(Number::new),
        limits: limits(gate, deciding),
        margin: margin.map(Number::new),
        margin_share: margin.zip(limit).map(|(margin, limit)| share(margin, limit)),
        interval: deciding.and_then(|c| c.interval).map(|(low, high)| (Number::new(low), Number::new(high))),
        samples: deciding.map_or(0, |c| c.samples),
        decided_by: deciding.map(|c| Decider { variant: text::line(&c.variant.0), shape: text::line(&c.shape.0) }),
        counts: counts(gate),
        waived: gate.waived.as_ref().map(|w| waiver(w, false)),
    }
}

fn limits(gate: &GateResult, deciding: Option<&Case>) -> Vec<(String, Number)> {
    let same = |case: &&Case| deciding.is_some_and(|d| d.variant == case.variant);
    let limit = |case: &Case| Some((text::line(&case.shape.0), Number::new(case.limit.filter(|v| v.is_finite())?)));
    gate.cases.iter().filter(same).filter_map(limit).collect()
}

/// Why, where the row already tells variant, measured value and limit; the full reason where it does not.
fn why(gate: &GateResult, deciding: Option<&Case>) -> String {
    let Some(case) = deciding.filter(|c| gate.on != Scope::Any && c.verdict == gate.verdict) else {
        return gate.reason.clone();
    };
    if !gate.on.picks_one() {
        let variants: HashSet<_> = gate.cases.iter().map(|c| &c.variant).collect();
        return match gate.verdict {
            Verdict::Pass => format!("holds for {}", number::counted(variants.len(), "variant")),
            Verdict::Fail | Verdict::Inconclusive => gate.reason.clone(),
        };
    }
    let shapes = gate.cases.iter().filter(|c| c.variant == case.variant).count();
    match (case.verdict, case.measured, case.limit, case.margin) {
        (Verdict::Pass, ..) if shapes == 1 => format!("holds at shape {}", case.shape),
        (Verdict::Pass, ..) => format!("holds at {}", number::counted(shapes, "shape")),
        (Verdict::Fail, Some(measured), Some(limit), Some(margin)) => {
            let way = match measured.total_cmp(&limit) {
                std::cmp::Ordering::Less => "short by",
                std::cmp::Ordering::Equal => return format!("exactly at the limit, at shape {}", case.shape),
                std::cmp::Ordering::Greater => "over by",
            };
            format!("{way} {} at shape {}", number::distance(margin.abs(), &gate.unit), case.shape)
        }
        _ => case.reason.clone().unwrap_or_else(|| gate.reason.clone()),
    }
}

/// Margin over limit, held to -1 to 1; a limit of zero gives the sign of the margin.
fn share(margin: f64, limit: f64) -> f64 {
    if limit == 0.0 {
        return if margin == 0.0 { 0.0 } else { margin.signum() };
    }
    (margin / limit.abs()).clamp(-1.0, 1.0)
}

fn counts(gate: &GateResult) -> Counts {
    let mut counts = Counts::default();
    for case in &gate.cases {
        match case.verdict {
            Verdict::Pass => counts.pass += 1,
            Verdict::Fail => counts.fail += 1,
            Verdict::Inconclusive => counts.inconclusive += 1,
        }
    }
    counts
}

/// A tier as a row.
pub fn tier(tier: &TierResult) -> TierRow {
    TierRow {
        name: text::line(&tier.name),
        required: tier.required,
        verdict: tier.verdict,
        gates: tier.gates.iter().map(row).collect(),
    }
}

/// A stage as a row.
pub fn stage(stage: &StageResult) -> StageRow {
    StageRow {
        name: text::line(&stage.name),
        variant: stage.variant.as_ref().map(|v| text::line(&v.0)),
        accepted: stage.accepted,
        verdict: stage.verdict,
        reason: text::line(&stage.reason),
        expected: stage.expected.map(|(from, to)| (Number::new(from), Number::new(to))),
        measured: stage.measured.map(Number::new),
        cumulative: stage.cumulative.map(Number::new),
        elite: stage.elite.iter().map(|v| text::clip(&v.0, text::LABEL)).collect(),
        gates: stage.gates.iter().map(row).collect(),
    }
}

/// The fallback as a row.
pub fn fallback(fallback: &FallbackResult) -> FallbackRow {
    FallbackRow {
        variant: fallback.variant.as_ref().map(|v| text::line(&v.0)),
        verdict: fallback.verdict,
        reason: text::line(&fallback.reason),
        gates: fallback.gates.iter().map(row).collect(),
    }
}

/// A go/no-go condition as a row.
pub fn precondition(condition: &PreconditionResult) -> PreconditionRow {
    PreconditionRow {
        name: text::line(&condition.name),
        condition: text::line(&condition.condition),
        verdict: condition.verdict,
        reason: text::line(&condition.reason),
    }
}

/// Every waiver that met a gate, those in force first.
pub fn waivers(judgement: &Judgement) -> Vec<WaiverRow> {
    let nested = judgement
        .tiers
        .iter()
        .flat_map(|t| &t.gates)
        .chain(judgement.stages.iter().flat_map(|s| &s.gates))
        .chain(judgement.fallback.iter().flat_map(|f| &f.gates));
    let gates: Vec<&GateResult> = judgement.gates.iter().chain(nested).collect();
    let mut rows: Vec<WaiverRow> = Vec::new();
    let in_force = gates.iter().filter_map(|g| g.waived.as_ref()).map(|w| waiver(w, false));
    let expired = gates.iter().filter_map(|g| g.expired_waiver.as_ref()).map(|w| waiver(w, true));
    for row in in_force.chain(expired) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

fn waiver(waiver: &Waiver, expired: bool) -> WaiverRow {
    WaiverRow {
        gate: text::line(&waiver.gate),
        variant: text::line(&waiver.variant),
        reason: text::line(&waiver.reason),
        owner: text::line(&waiver.owner),
        expires: waiver.expires.to_string(),
        expired,
    }
}
