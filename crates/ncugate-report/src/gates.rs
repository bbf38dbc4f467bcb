//! Rows of gates, tiers, stages, fallback, preconditions and waivers from what was judged.

use super::gate_row::{Counts, Decider, FallbackRow, GateRow, PreconditionRow, StageRow, TierRow, WaiverRow};
use super::number::{self, Number};
use super::text;
use ncugate_judge::{
    Case, FallbackResult, GateResult, Judgement, PreconditionResult, SampleOrigin, StageResult, TierResult,
};
use ncugate_model::{Scope, Verdict};
use ncugate_phase::config::Waiver;
use std::collections::HashSet;

pub fn row(gate: &GateResult) -> GateRow {
    let deciding = gate.deciding.and_then(|at| gate.cases.get(at));
    let number = |value: Option<f64>| value.filter(|v| v.is_finite()).map(Number::new);
    let limit = deciding.and_then(|c| c.limit).filter(|v| v.is_finite());
    let margin = deciding.and_then(|c| c.margin).filter(|v| v.is_finite());
    let counts = Counts::of(gate.cases.iter().map(|case| case.verdict));
    GateRow {
        name: text::line(&gate.name),
        require: text::line(gate.require.text()),
        comparison: gate.require.comparison(),
        on: gate.on.clone(),
        level: gate.level,
        line: gate.line,
        metric: gate.metric.as_deref().map(text::line),
        unit: text::line(&gate.unit),
        verdict: gate.verdict,
        reason: text::line(&gate.reason),
        why: text::line(&why(gate, deciding)),
        undecided: gate.undecided().as_deref().map(text::line),
        scope_note: notes(scope_note(gate, counts, deciding), deciding),
        measured: number(deciding.and_then(|c| c.measured)),
        limit: limit.map(Number::new),
        limits: limits(gate, deciding),
        margin: margin.map(Number::new),
        margin_share: margin.zip(limit).map(|(margin, limit)| share(margin, limit)),
        interval: deciding.and_then(|c| c.interval).map(|(low, high)| (Number::new(low), Number::new(high))),
        samples: deciding.map_or(0, |c| c.samples),
        judged_by: deciding.and_then(|c| c.origin),
        decided_by: deciding.map(|c| Decider { variant: text::line(&c.variant.0), shape: text::line(&c.shape.0) }),
        counts,
        waived: gate.waived.as_ref().map(|w| waiver(w, false)),
    }
}

fn limits(gate: &GateResult, deciding: Option<&Case>) -> Vec<(String, Number)> {
    let same = |case: &&Case| deciding.is_some_and(|d| d.variant == case.variant);
    let limit = |case: &Case| Some((text::line(&case.shape.0), Number::new(case.limit.filter(|v| v.is_finite())?)));
    gate.cases.iter().filter(same).filter_map(limit).collect()
}

/// `on each, decided at mission; 88 pass, 2 fail`; nothing where the selected variant alone is judged.
fn scope_note(gate: &GateResult, counts: Counts, deciding: Option<&Case>) -> Option<String> {
    let scope = match &gate.on {
        Scope::Selected => return None,
        scope @ (Scope::Each | Scope::Any | Scope::Matching(_) | Scope::Best(_)) => text::line(&scope.to_string()),
    };
    let decided = deciding.map_or_else(String::new, |case| format!(", decided at {}", text::line(&case.shape.0)));
    let open = match counts.inconclusive {
        0 => String::new(),
        open => format!(", {open} inconclusive"),
    };
    Some(format!("on {scope}{decided}; {} pass, {} fail{open}", counts.pass, counts.fail))
}

/// A note of the scope, and which samples judged.
fn notes(scope: Option<String>, deciding: Option<&Case>) -> Option<String> {
    let samples = deciding.and_then(|case| case.origin).map(|origin| match origin {
        SampleOrigin::Sweep => "judged by the sweep's samples".to_owned(),
        SampleOrigin::Confirmation => "judged by samples taken anew".to_owned(),
    });
    let notes: Vec<String> = scope.into_iter().chain(samples).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Why, where the row already has variant, measured value and limit; the full reason where it does not.
fn why(gate: &GateResult, deciding: Option<&Case>) -> String {
    let decided = deciding.filter(|case| case.verdict == gate.verdict);
    match (decided, &gate.on) {
        (Some(case), Scope::Selected | Scope::Best(_)) => {
            let undecided = gate.undecided().map_or_else(String::new, |undecided| format!("; {undecided}"));
            why_selected(gate, case) + &undecided
        }
        (Some(_), Scope::Each | Scope::Matching(_)) if gate.verdict == Verdict::Pass => {
            let variants: HashSet<_> = gate.cases.iter().map(|c| &c.variant).collect();
            format!("holds for {}", number::counted(variants.len(), "variant"))
        }
        _ => gate.reason.clone(),
    }
}

fn why_selected(gate: &GateResult, case: &Case) -> String {
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

pub fn tier(tier: &TierResult) -> TierRow {
    TierRow {
        name: text::line(&tier.name),
        required: tier.required,
        verdict: tier.verdict,
        gates: tier.gates.iter().map(row).collect(),
    }
}

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
