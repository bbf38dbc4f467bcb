//! Stages: an ordered plan in which each step is judged against the last accepted one.

use super::evaluator::{Candidates, GateEvaluator};
use super::gate_verdict::GateVerdict;
use super::results::{GateResult, StageResult};
use super::tally::VerdictTally;
use ncugate_model::expr::{Owner, Requirement};
use ncugate_model::number::{counted, short};
use ncugate_model::{Better, CleanText, Level, OnInconclusive, Scope, Verdict};
use ncugate_phase::config::{Gate, OnStageFailure, Stage};

/// Number of variants kept per stage.
const ELITE: usize = 3;

pub struct Stages {
    /// In order.
    pub results: Vec<StageResult>,
    /// The variant of the last accepted stage, which the plan selects.
    pub kept: Option<usize>,
    /// Position of the stage that ended the plan early.
    ended: Option<usize>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
}

/// Judges every stage in order.
pub fn judge(evaluator: &GateEvaluator<'_>) -> Stages {
    let mut walk = Walk { evaluator, first: None, accepted: None, ended: None, warnings: Vec::new() };
    let mut results: Vec<StageResult> = Vec::new();
    for stage in &evaluator.context.phase.gate_plan.stages {
        let result = walk.stage(stage, &results);
        if walk.ended.is_none() && !result.accepted && stage.on_failure == OnStageFailure::Revert {
            walk.ended = Some(results.len());
        }
        results.push(result);
    }
    Stages { results, kept: walk.accepted, ended: walk.ended, warnings: walk.warnings }
}

impl Stages {
    /// Required gates of the kept stage.
    pub fn required(&self) -> impl Iterator<Item = &GateResult> {
        let kept = self.results.iter().rfind(|stage| stage.accepted);
        kept.into_iter().flat_map(|stage| &stage.gates).filter(|gate| gate.level == Level::Required)
    }

    /// A staged plan fails if every stage fails; an inconclusive stage makes the phase inconclusive.
    ///
    /// A failed stage that is skipped does not fail the phase. A stage that ends the plan does, because the later
    /// stages and the phase's gates are not reached.
    pub fn count_in(&self, tally: &mut VerdictTally) {
        let any = Verdict::any(self.results.iter().map(|stage| stage.verdict));
        match (self.results.first(), any) {
            (None, _) => return,
            // counted stage by stage
            (Some(_), Verdict::Inconclusive) => {}
            (Some(first), _) => {
                tally.count(any, || format!("no stage is accepted; '{}': {}", first.name, first.reason))
            }
        }
        let reached = self.ended.map_or(self.results.len(), |ended| ended + 1);
        for (at, stage) in self.results.iter().enumerate().take(reached) {
            let StageResult { name, reason, .. } = stage;
            match (stage.verdict, self.ended == Some(at)) {
                (Verdict::Pass, _) | (Verdict::Fail, false) => {}
                (Verdict::Inconclusive, false) => {
                    tally.count(stage.verdict, || format!("stage '{name}': {reason}"));
                }
                (Verdict::Fail | Verdict::Inconclusive, true) => tally.count(stage.verdict, || {
                    format!("the plan ended at stage '{name}' and did not reach its final gates: {reason}")
                }),
            }
        }
    }
}

/// Whether an open exit gate compares with the last accepted stage, and every stage before failed.
fn has_no_predecessor(result: &StageResult, before: &[StageResult]) -> bool {
    let compares = |gate: &GateResult| gate.require.reads().owners().any(|owner| *owner == Owner::Previous);
    let mut open = result.gates.iter().filter(|gate| gate.level == Level::Required && gate.verdict != Verdict::Pass);
    !before.is_empty() && before.iter().all(|stage| stage.verdict == Verdict::Fail) && open.any(compares)
}

struct Walk<'b, 'a> {
    evaluator: &'b GateEvaluator<'a>,
    first: Option<usize>,
    accepted: Option<usize>,
    ended: Option<usize>,
    warnings: Vec<String>,
}

impl Walk<'_, '_> {
    /// Judges a stage after those before it.
    fn stage(&mut self, stage: &Stage, before: &[StageResult]) -> StageResult {
        let context = self.evaluator.context;
        let matching = context.matching(&stage.variant);
        let variants = matching.as_deref().unwrap_or_default();
        let ranked = context.ranked(variants);
        let best = ranked.first().copied();
        let mut result = StageResult {
            name: stage.name.clone(),
            variant: best.map(|at| context.variant(at).id.clone()),
            accepted: false,
            verdict: Verdict::Inconclusive,
            reason: CleanText::default(),
            elite: ranked.iter().take(ELITE).map(|&at| context.variant(at).id.clone()).collect(),
            expected: stage.expect,
            measured: best.and_then(|at| self.speedup(self.accepted, at)),
            cumulative: None,
            gates: Vec::new(),
        };
        if let Some(ended) = self.ended.and_then(|at| before.get(at)) {
            let what = if ended.verdict == Verdict::Fail { "failed" } else { "is inconclusive" };
            result.verdict = ended.verdict;
            result.reason = format!("not judged: stage '{}' {what} and the plan ends there", ended.name).into();
            return result;
        }
        match (best, &matching) {
            (Some(_), _) => {
                self.gates(stage, variants, &mut result);
                if result.verdict == Verdict::Inconclusive && has_no_predecessor(&result, before) {
                    result.verdict = Verdict::Fail;
                }
            }
            (None, Err(error)) => result.reason = error.to_string().into(),
            (None, Ok(none)) if none.is_empty() => {
                result.reason = format!("no variant matches '{}'", stage.variant).into();
            }
            (None, Ok(wrong)) => {
                let all_wrong = wrong.iter().all(|&at| context.correctness(at).disqualified().is_some());
                result.verdict = if all_wrong { Verdict::Fail } else { Verdict::Inconclusive };
                result.reason = "none of its variants is both correct and measured".into();
            }
        }
        self.settle(stage, best, &mut result);
        result
    }

    /// Judges the stage's exit gates; without any, it must not be slower than the last accepted stage.
    fn gates(&mut self, stage: &Stage, variants: &[usize], result: &mut StageResult) {
        let candidates = Candidates { previous: self.accepted, ..Candidates::new(self.evaluator.context, variants) };
        let implied = (stage.gates.is_empty() && self.accepted.is_some()).then(|| self.no_slower(stage));
        // an implied gate lives only for this call, and so must the evaluator that judges it
        let evaluator = GateEvaluator { context: self.evaluator.context };
        let gates: Vec<GateVerdict> =
            stage.gates.iter().chain(implied.as_ref()).map(|gate| evaluator.gate(gate, &candidates, None)).collect();
        let required = gates.iter().filter(|g| g.is_required());
        let no_gates = gates.iter().all(|g| !g.is_required());
        let effect = Verdict::all(required.map(|g| g.effect));
        // the first stage has no predecessor: it is accepted if it is correct and measured
        result.verdict = if no_gates && self.accepted.is_none() { Verdict::Pass } else { effect };
        let stops = gates.iter().find(|g| g.is_required() && g.effect == result.verdict);
        result.reason = match (result.verdict, stops) {
            (Verdict::Pass, None) => "correct, and the first stage of the plan".into(),
            (Verdict::Pass, Some(_)) => format!("{} held", counted(gates.len(), "exit gate")).into(),
            (_, Some(gate)) => format!("gate '{}': {}", gate.result.name, gate.result.reason).into(),
            (_, None) => "it has no required exit gate".into(),
        };
        self.warnings.extend(gates.iter().flat_map(|g| g.warnings.clone()));
        result.gates = gates.into_iter().map(|g| g.result).collect();
    }

    fn settle(&mut self, stage: &Stage, best: Option<usize>, result: &mut StageResult) {
        result.accepted = result.verdict == Verdict::Pass;
        if result.accepted {
            self.first = self.first.or(best);
            self.accepted = best;
            result.cumulative = best.and_then(|at| self.speedup(self.first, at));
            self.warn_unexpected(stage, result);
            return;
        }
        let then = match stage.on_failure {
            OnStageFailure::Skip => "skipped",
            OnStageFailure::Revert => "reverted",
        };
        result.reason = format!("{then}: {}", result.reason).into();
        result.cumulative = self.accepted.and_then(|at| self.speedup(self.first, at));
    }

    fn warn_unexpected(&mut self, stage: &Stage, result: &StageResult) {
        let (Some((low, high)), Some(gain)) = (stage.expect, result.measured) else { return };
        if gain < low || gain > high {
            self.warnings.push(format!(
                "stage '{}' gained {}x, expected {}x to {}x",
                stage.name,
                short(gain),
                short(low),
                short(high)
            ));
        }
    }

    /// Ratio of the objective before and after, above 1 when it improved.
    fn speedup(&self, before: Option<usize>, after: usize) -> Option<f64> {
        let context = self.evaluator.context;
        let (before, after) = (context.objective(before?)?, context.objective(after)?);
        let ratio = match context.phase.objective.better {
            Better::Higher => after / before,
            Better::Lower | Better::Context => before / after,
        };
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }

    fn no_slower(&self, stage: &Stage) -> Gate {
        Gate {
            name: "no slower than the stage before".into(),
            require: Requirement::no_slower_than_previous(),
            on: Scope::Selected,
            level: Level::Required,
            shapes: vec![self.evaluator.context.phase.objective.shape.clone()],
            at_least: None,
            inconclusive: OnInconclusive::Inconclusive,
            line: stage.line,
        }
    }
}
