//! Combines a gate's outcomes over all variants in its scope into a verdict.

use super::bound_gate::{BoundGate, VariantOutcome};
use super::case_outcome::CaseOutcome;
use super::context::EvalContext;
use super::gate_summary::GateSummary;
use super::messages::Messages;
use super::results::{Case, Correctness, GateResult, InconclusiveKind};
use super::scope::Combine;
use super::waiver::Waivers;
use ncugate_model::{Level, OnInconclusive, ShapeName, Verdict};
use ncugate_phase::config::{Gate, Waiver};
use std::sync::Arc;

/// A gate's result, and its effect on the phase, tier or stage.
pub struct GateVerdict {
    pub result: GateResult,
    /// The effective verdict: a waived failure, or noise that only warns, counts as a pass.
    pub effect: Verdict,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
}

/// The rows in a gate's scope, or why there are no rows.
pub enum ScopeRows {
    /// The rows; never empty.
    Rows(Vec<VariantOutcome>),
    /// No rows, with the resulting verdict and the reason.
    Nothing(Verdict, String),
}

impl GateVerdict {
    /// Whether the gate is required.
    pub fn is_required(&self) -> bool {
        self.result.level == Level::Required
    }
}

/// Combines rows into a result.
pub fn gate_verdict(
    bound: &BoundGate<'_>,
    context: &EvalContext<'_>,
    combine: Combine,
    picked: ScopeRows,
) -> GateVerdict {
    let gate = bound.gate;
    let waivers = Waivers::of(&gate.name, &context.phase.gate_plan.waivers, context.given.today);
    let only_noise = match &picked {
        ScopeRows::Rows(rows) => {
            rows.iter().flat_map(VariantOutcome::outcomes).all(|case| is_noise(case, bound.full()))
        }
        ScopeRows::Nothing(..) => false,
    };
    let mut judged = match picked {
        ScopeRows::Nothing(verdict, reason) => bare(bound, verdict, reason),
        ScopeRows::Rows(rows) => of_rows(bound, context, combine, &waivers, rows),
    };
    judged.result.expired_waiver = waivers.expired().cloned();
    if let Some(waiver) = waivers.expired() {
        judged
            .warnings
            .push(format!("the waiver of gate '{}' by {} expired on {}", gate.name, waiver.owner, waiver.expires));
    }
    settle(gate, &mut judged, only_noise);
    judged.result.summary = GateSummary::of(&judged.result);
    judged
}

/// Whether only noise leaves a case open that holds as measured, after all rounds that the phase allows.
fn is_noise(case: &CaseOutcome, full: usize) -> bool {
    let holds = case.inconclusive == Some(InconclusiveKind::Noise) && case.estimate == Some(Verdict::Pass);
    case.verdict != Verdict::Inconclusive || (holds && case.samples >= full)
}

/// Applies the gate's setting for inconclusive verdicts.
fn settle(gate: &Gate, judged: &mut GateVerdict, only_noise: bool) {
    if judged.result.verdict != Verdict::Inconclusive || judged.result.waived.is_some() {
        return;
    }
    match gate.inconclusive {
        OnInconclusive::Inconclusive => {}
        OnInconclusive::Fail => {
            judged.result.verdict = Verdict::Fail;
            judged.result.reason = format!("{}; this gate fails if it is inconclusive", judged.result.reason).into();
            judged.effect = Verdict::Fail;
        }
        OnInconclusive::Warn => {
            if only_noise {
                judged.effect = Verdict::Pass;
                judged.warnings.push(format!("gate '{}' is inconclusive: {}", gate.name, judged.result.reason));
            }
        }
    }
}

fn bare(bound: &BoundGate<'_>, verdict: Verdict, reason: String) -> GateVerdict {
    let gate = bound.gate;
    let result = GateResult {
        name: gate.name.clone(),
        require: gate.require.clone(),
        on: gate.on.clone(),
        level: gate.level,
        line: gate.line,
        metric: bound.metric().map(|m| (&m.name).into()),
        unit: bound.unit().into(),
        verdict,
        reason: reason.into(),
        summary: GateSummary::default(),
        waived: None,
        expired_waiver: None,
        deciding: None,
        cases: Arc::default(),
        at_least: gate.at_least.map(|needed| needed as usize),
        not_launched: 0,
    };
    GateVerdict { effect: verdict, result, warnings: Vec::new() }
}

fn of_rows(
    bound: &BoundGate<'_>,
    context: &EvalContext<'_>,
    combine: Combine,
    waivers: &Waivers<'_>,
    rows: Vec<VariantOutcome>,
) -> GateVerdict {
    let gate = bound.gate;
    let verdict = combine.verdict(rows.iter().map(|r| r.verdict));
    let deciding = deciding(&rows, verdict, combine);
    let mut judged = bare(bound, verdict, Messages::of(bound).reason(combine, &rows, verdict, deciding));
    let excused = |row: &VariantOutcome| match context.correctness(row.variant) {
        Correctness::Proven { .. } | Correctness::Unchecked { .. } => {
            waivers.excuse(row, &context.variant(row.variant).id)
        }
        Correctness::Wrong { .. } | Correctness::Cheats { .. } | Correctness::Unproven { .. } => None,
    };
    let counted = |row: &VariantOutcome| if excused(row).is_some() { Verdict::Pass } else { row.verdict };
    judged.effect = combine.verdict(rows.iter().map(counted));
    if verdict != Verdict::Pass && judged.effect == Verdict::Pass {
        let waiver: Option<&Waiver> = rows.iter().find_map(excused);
        judged.result.waived = waiver.cloned();
        judged.warnings.extend(
            waiver.map(|w| format!("gate '{}' is waived until {} by {}: {}", gate.name, w.expires, w.owner, w.reason)),
        );
    }
    judged.result.deciding =
        deciding.map(|(row, case)| rows.iter().take(row).map(|row| row.cases.len()).sum::<usize>() + case);
    judged.result.not_launched = rows.iter().map(|row| gate.shapes.len() - row.cases.len()).sum();
    let at_shapes = |row: VariantOutcome| {
        let variant = &context.variant(row.variant).id;
        let case = move |(shape, outcome): (usize, CaseOutcome)| {
            let shape: &ShapeName = &gate.shapes[shape];
            Case { variant: variant.clone(), shape: shape.clone(), outcome }
        };
        row.cases.into_iter().map(case)
    };
    judged.result.cases = Arc::new(rows.into_iter().flat_map(at_shapes).collect());
    for more in judged.result.undecided().into_iter().chain(judged.result.judged_pairs()) {
        judged.result.reason = format!("{}; {more}", judged.result.reason).into();
    }
    judged
}

/// The deciding case, by position of its row and in its row: the one farthest outside or closest to the limit; for `any`, the best one.
fn deciding(rows: &[VariantOutcome], verdict: Verdict, combine: Combine) -> Option<(usize, usize)> {
    let cases = rows.iter().enumerate().filter(|(_, row)| row.verdict == verdict).flat_map(|(at, row)| {
        let wanted = |case: &CaseOutcome| case.verdict == verdict;
        row.outcomes().enumerate().filter(move |(_, c)| wanted(c)).map(move |(place, case)| ((at, place), case))
    });
    let by_severity = |a: &((usize, usize), &CaseOutcome), b: &((usize, usize), &CaseOutcome)| {
        let order = a.1.severity().total_cmp(&b.1.severity());
        (if combine == Combine::Any { order } else { order.reverse() }).then(a.0.cmp(&b.0))
    };
    cases.min_by(by_severity).map(|(place, _)| place)
}
