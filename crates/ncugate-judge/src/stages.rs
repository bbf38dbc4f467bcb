//! Stages: an ordered plan in which each step is judged against the last accepted one.

use super::evaluator::{Candidates, GateEvaluator};
use super::gate_verdict::GateVerdict;
use super::results::{GateResult, StageResult};
use super::tally::VerdictTally;
use ncugate_model::expr::Requirement;
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
    /// The stage that ended the plan early.
    ended: Option<CleanText>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
}

/// Judges every stage in order.
pub fn judge(evaluator: &GateEvaluator<'_>) -> Stages {
    let mut walk = Walk { evaluator, first: None, accepted: None, ended: None, warnings: Vec::new() };
    let results = evaluator.context.phase.gate_plan.stages.iter().map(|stage| walk.stage(stage)).collect();
    Stages { results, kept: walk.accepted, ended: walk.ended, warnings: walk.warnings }
}

impl Stages {
    /// Required gates of the kept stage.
    pub fn required(&self) -> impl Iterator<Item = &GateResult> {
        let kept = self.results.iter().rfind(|stage| stage.accepted);
        kept.into_iter().flat_map(|stage| &stage.gates).filter(|gate| gate.level == Level::Required)
    }

    /// A staged plan fails if no stage is accepted; an inconclusive stage makes the phase inconclusive.
    ///
    /// A failed stage that is skipped does not fail the phase. A stage that ends the plan does, because the later
    /// stages and the phase's gates are not reached.
    pub fn count_in(&self, tally: &mut VerdictTally) {
        if self.results.is_empty() {
            return;
        }
        for stage in self.results.iter().filter(|s| s.verdict == Verdict::Inconclusive) {
            tally.count(Verdict::Inconclusive, || format!("stage '{}': {}", stage.name, stage.reason));
        }
        let any = self.results.iter().any(|s| s.accepted);
        tally.count(if any { Verdict::Pass } else { Verdict::Fail }, || {
            format!("no stage is accepted; '{}': {}", self.results[0].name, self.results[0].reason)
        });
        let ended = self.ended.iter().filter_map(|name| self.results.iter().find(|stage| stage.name == *name));
        for stage in ended {
            tally.count(stage.verdict, || {
                format!("the plan ended at stage '{}' and did not reach its final gates: {}", stage.name, stage.reason)
            });
        }
    }
}

struct Walk<'b, 'a> {
    evaluator: &'b GateEvaluator<'a>,
    first: Option<usize>,
    accepted: Option<usize>,
    ended: Option<CleanText>,
    warnings: Vec<String>,
}

impl Walk<'_, '_> {
    fn stage(&mut self, stage: &Stage) -> StageResult {
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
        if let Some(ended) = &self.ended {
            result.verdict = Verdict::Fail;
            result.reason = format!("not judged: stage '{ended}' failed and the plan ends there").into();
            return result;
        }
        match (best, &matching) {
            (Some(_), _) => self.gates(stage, variants, &mut result),
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
            OnStageFailure::Revert => {
                self.ended = Some(stage.name.clone());
                "reverted"
            }
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
