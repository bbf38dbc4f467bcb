//! Verdicts in `results.json`: gates, tiers, stages, the fallback, conditions, waivers.

use crate::model::Level;
use crate::number::Number;
use crate::report::markdown::word;
use crate::report::{GateRow, Report};
use schemars::JsonSchema;
use serde::Serialize;

/// A judged gate.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Gate<'a> {
    /// Its name.
    pub name: &'a str,
    /// The requirement as written.
    pub require: &'a str,
    /// `selected`, `each`, `any` or a glob.
    pub on: &'a str,
    /// `required` or `advisory`.
    pub level: &'a str,
    /// Line in the phase's file.
    pub line: usize,
    /// The metric on its left side.
    pub metric: Option<&'a str>,
    /// Unit of measured, limit, margin and interval.
    pub unit: &'a str,
    /// `pass`, `fail` or `inconclusive`.
    pub verdict: &'a str,
    /// Why.
    pub reason: &'a str,
    /// Measured value of the case that decided.
    pub measured: Option<f64>,
    /// Its limit.
    pub limit: Option<f64>,
    /// Distance inside the limit; negative outside.
    pub margin: Option<f64>,
    /// Confidence interval of the measured value.
    pub interval: Option<(f64, f64)>,
    /// Samples behind the measured value.
    pub samples: usize,
    /// Variant that decided.
    pub variant: Option<&'a str>,
    /// Shape that decided.
    pub shape: Option<&'a str>,
    /// Cases that pass.
    pub passing: usize,
    /// Cases that fail.
    pub failing: usize,
    /// Cases that cannot be told.
    pub inconclusive: usize,
    /// Reason of the waiver in force.
    pub waived: Option<&'a str>,
}

/// Gates judged together: a tier, or the fallback.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Group<'a> {
    /// Name of the tier, or variant of the fallback.
    pub name: &'a str,
    /// `pass`, `fail` or `inconclusive`.
    pub verdict: &'a str,
    /// Whether the phase must reach it.
    pub required: bool,
    /// Its gates.
    pub gates: Vec<Gate<'a>>,
}

/// A judged stage.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stage<'a> {
    /// Its name.
    pub name: &'a str,
    /// The variant that stands for it.
    pub variant: Option<&'a str>,
    /// Whether it was kept.
    pub accepted: bool,
    /// `pass`, `fail` or `inconclusive`.
    pub verdict: &'a str,
    /// Why it was kept or not.
    pub reason: &'a str,
    /// Expected speedup over the last accepted stage.
    pub expected: Option<(f64, f64)>,
    /// Measured speedup over the last accepted stage.
    pub measured: Option<f64>,
    /// Measured speedup over the first.
    pub cumulative: Option<f64>,
    /// The best three correct variants of the stage, best first.
    pub elite: &'a [String],
    /// Its gates.
    pub gates: Vec<Gate<'a>>,
}

/// A judged go/no-go condition.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Condition<'a> {
    /// Its name.
    pub name: &'a str,
    /// As written.
    pub condition: &'a str,
    /// `pass`, `fail` or `inconclusive`.
    pub verdict: &'a str,
    /// Why.
    pub reason: &'a str,
}

/// A waiver.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Waived<'a> {
    /// The gate it lets pass.
    pub gate: &'a str,
    /// For which variants.
    pub variant: &'a str,
    /// Why.
    pub reason: &'a str,
    /// Who answers for it.
    pub owner: &'a str,
    /// Last day it holds.
    pub expires: &'a str,
    /// Whether it has expired.
    pub expired: bool,
}

pub(super) fn tiers(report: &Report) -> Vec<Group<'_>> {
    report
        .tiers
        .iter()
        .map(|t| Group { name: &t.name, verdict: word(t.verdict), required: t.required, gates: gates(&t.gates) })
        .collect()
}

pub(super) fn fallback(report: &Report) -> Option<Group<'_>> {
    report.fallback.as_ref().map(|f| Group {
        name: f.variant.as_deref().unwrap_or_default(),
        verdict: word(f.verdict),
        required: true,
        gates: gates(&f.gates),
    })
}

pub(super) fn gates(rows: &[GateRow]) -> Vec<Gate<'_>> {
    let value = |n: &Option<Number>| n.as_ref().map(|n| n.value);
    rows.iter()
        .map(|row| Gate {
            name: &row.name,
            require: &row.require,
            on: &row.on,
            level: match row.level {
                Level::Required => "required",
                Level::Advisory => "advisory",
            },
            line: row.line,
            metric: row.metric.as_deref(),
            unit: &row.unit,
            verdict: word(row.verdict),
            reason: &row.reason,
            measured: value(&row.measured),
            limit: value(&row.limit),
            margin: value(&row.margin),
            interval: row.interval.as_ref().map(|(low, high)| (low.value, high.value)),
            samples: row.samples,
            variant: row.decided_by.as_ref().map(|d| d.variant.as_str()),
            shape: row.decided_by.as_ref().map(|d| d.shape.as_str()),
            passing: row.counts.pass,
            failing: row.counts.fail,
            inconclusive: row.counts.inconclusive,
            waived: row.waived.as_ref().map(|w| w.reason.as_str()),
        })
        .collect()
}

pub(super) fn stages(report: &Report) -> Vec<Stage<'_>> {
    report
        .stages
        .iter()
        .map(|s| Stage {
            name: &s.name,
            variant: s.variant.as_deref(),
            accepted: s.accepted,
            verdict: word(s.verdict),
            reason: &s.reason,
            expected: s.expected.as_ref().map(|(low, high)| (low.value, high.value)),
            measured: s.measured.as_ref().map(|n| n.value),
            cumulative: s.cumulative.as_ref().map(|n| n.value),
            elite: &s.elite,
            gates: gates(&s.gates),
        })
        .collect()
}

pub(super) fn conditions(report: &Report) -> Vec<Condition<'_>> {
    let row = |c: &'_ crate::report::PreconditionRow| word(c.verdict);
    report
        .preconditions
        .iter()
        .map(|c| Condition { name: &c.name, condition: &c.condition, verdict: row(c), reason: &c.reason })
        .collect()
}

pub(super) fn waivers(report: &Report) -> Vec<Waived<'_>> {
    report
        .waivers
        .iter()
        .map(|w| Waived {
            gate: &w.gate,
            variant: &w.variant,
            reason: &w.reason,
            owner: &w.owner,
            expires: &w.expires,
            expired: w.expired,
        })
        .collect()
}
