//! The verdict of a phase.

use super::context::{Context, EvalContext, LatencyWitness, ProofPolicy, finite};
use super::evaluator::{Candidates, GateEvaluator};
use super::gate_verdict::GateVerdict;
use super::precondition::preconditions;
use super::requirement_changes::since_the_base;
use super::results::{Correctness, Judgement, SelectedVariant, Shortfall, VariantResult};
use super::selection_basis::{Choice, SelectionBasis};
use super::shortfall::Shortfalls;
use super::tally::VerdictTally;
use super::{cautions, fallback, stages, tiers, toolchains};
use ncugate_model::metric::Catalogue;
use ncugate_model::number::counted;
use ncugate_model::{Quantities, VariantId, Verdict};
use ncugate_phase::config::{Phase, Selection};
use ncugate_phase::plan::{Plan, VariantRole};
use std::collections::BTreeMap;

/// Judges a phase by its measurements. The same inputs give the same judgement, whatever the order of the variants.
pub fn judge(
    phase: &Phase,
    plan: &Plan,
    quantities: &Quantities,
    correctness: &BTreeMap<VariantId, Correctness>,
    given: &Context<'_>,
) -> Judgement {
    let context = EvalContext::new(phase, plan, quantities, correctness, given, ProofPolicy::Demanded);
    let all = context.candidates();
    let evaluator = GateEvaluator { context: &context };
    let stages = stages::judge(&evaluator);
    let mut candidates = Candidates::new(&context, &all);
    if phase.is_of_reports() {
        // different kernels do not compete
        candidates.selected = None;
    }
    if !phase.gate_plan.stages.is_empty() {
        // the staged plan decides: the step that it kept is selected, even if another step is faster
        candidates.selected = stages.kept;
    }

    let mut judged = GateJudgement::of(&evaluator, &candidates);
    if let Some(passing) = best_that_passes(phase, &candidates, &judged.shortfalls) {
        candidates.selected = Some(passing);
        judged = GateJudgement::of(&evaluator, &candidates);
    }
    let GateJudgement { gates, tiers, shortfalls } = judged;
    let preconditions = preconditions(phase, given.cc);

    let mut tally = VerdictTally::default();
    // A precondition that holds is not a reason to pass: it says that measuring is worthwhile, not that anything was
    // measured.
    for precondition in preconditions.iter().filter(|p| p.verdict != Verdict::Pass) {
        tally.count(precondition.verdict, || format!("precondition '{}': {}", precondition.name, precondition.reason));
    }
    for gate in gates.iter().filter(|g| g.is_required()) {
        tally.count(gate.effect, || format!("gate '{}': {}", gate.result.name, gate.result.reason));
        match (gate.effect, &gate.result.waived, gate.result.verdict) {
            (Verdict::Pass, Some(_), _) => tally.waived(),
            (Verdict::Pass, None, Verdict::Inconclusive) => tally.warned(),
            _ => {}
        }
    }
    tiers.count_in(&mut tally);
    stages.count_in(&mut tally);
    let toolchains = toolchains::requirement(&context);
    if let Some((verdict, reason)) = toolchains.clone() {
        tally.count(verdict, || reason);
    }

    let mut warnings = selection_warnings(&context, &all);
    warnings.extend(gates.iter().flat_map(|g| g.warnings.clone()));
    warnings.extend(tiers.warnings.iter().cloned());
    warnings.extend(stages.warnings.iter().cloned());
    let (mut verdict, mut reason) = tally.verdict();
    let selected = candidates.selected.map(|at| &context.variant(at).id);
    let required = gates.iter().filter(|g| g.is_required()).map(|g| &g.result);
    let grounds =
        SelectionBasis::new(Choice::of(phase, selected), required.chain(tiers.required()).chain(stages.required()));
    grounds.hold(&mut verdict, &mut reason);
    // No fallback stands in for a compiler that breaks kernels.
    let go = preconditions.iter().all(|p| p.verdict == Verdict::Pass)
        && toolchains.is_none_or(|(verdict, _)| verdict == Verdict::Pass);
    let fallback = || fallback::judge(&evaluator, candidates.selected, &mut warnings);
    let fallback = (verdict == Verdict::Fail && go).then(fallback).flatten();
    if let Some(taken) = fallback.as_ref().filter(|f| f.verdict == Verdict::Pass) {
        warnings.push(format!("falling back: {reason}"));
        verdict = Verdict::Pass;
        reason = taken.reason.to_string();
    }
    let mut cautions = cautions::of((phase, plan), given.today, &grounds, fallback.as_ref());
    cautions.splice(0..0, cautions::contradicted(&context, candidates.selected));
    let required = gates.iter().filter(|g| g.is_required()).map(|g| &g.result);
    cautions.extend(cautions::of_one_process(quantities, required.chain(tiers.required()).chain(stages.required())));
    if let LatencyWitness::Counters(witness) = given.witness {
        cautions.extend(witness.caution().map(str::to_owned));
    }
    Judgement {
        verdict,
        reason,
        changed_limits: phase.base.iter().filter_map(|base| since_the_base(base, phase, given.today)).collect(),
        cautions,
        selected: candidates.selected.and_then(|at| selection(&context, at, candidates.ranked.len())),
        variants: variants(&context, &candidates.ranked, shortfalls),
        gates: gates.into_iter().map(|g| g.result).collect(),
        tiers: tiers.results,
        tier_reached: tiers.reached,
        stages: stages.results,
        fallback,
        preconditions,
        warnings,
        withheld: None,
    }
}

/// Gates and tiers, and the shortfalls of each variant.
struct GateJudgement {
    gates: Vec<GateVerdict>,
    tiers: tiers::Tiers,
    shortfalls: Shortfalls,
}

impl GateJudgement {
    fn of(evaluator: &GateEvaluator<'_>, candidates: &Candidates<'_>) -> Self {
        let phase = evaluator.context.phase;
        let mut shortfalls = Shortfalls::new(evaluator.context.plan.variants.len());
        let gates = phase.gates.iter().map(|gate| evaluator.gate(gate, candidates, Some(&mut shortfalls))).collect();
        let tiers = tiers::judge(evaluator, candidates, &mut shortfalls);
        Self { gates, tiers, shortfalls }
    }
}

/// The best candidate that passes every required gate on its own, if the phase selects by that and it is not the best
/// overall; a staged plan selects itself. `None` if no candidate passes: then the best is judged.
fn best_that_passes(phase: &Phase, candidates: &Candidates<'_>, shortfalls: &Shortfalls) -> Option<usize> {
    let chosen = phase.select == Selection::BestThatPasses && phase.gate_plan.stages.is_empty();
    let best = candidates.selected.filter(|_| chosen)?;
    let passing = candidates.ranked.iter().copied().find(|at| shortfalls.verdict(*at) == Some(Verdict::Pass))?;
    (passing != best).then_some(passing)
}

fn selection(context: &EvalContext<'_>, at: usize, among: usize) -> Option<SelectedVariant> {
    let metric = &context.phase.objective.metric;
    Some(SelectedVariant {
        variant: context.variant(at).id.clone(),
        metric: metric.clone(),
        value: context.objective(at)?,
        unit: Catalogue::embedded().get(metric).map_or_else(String::new, |m| m.unit.clone()),
        among,
    })
}

fn selection_warnings(context: &EvalContext<'_>, candidates: &[usize]) -> Vec<String> {
    let objective = &context.phase.objective;
    let is_unmeasured = |at: &&usize| {
        let is_launched = context.variant(**at).left_out_at(&objective.shape).is_none();
        context.correctness(**at).may_hold() && context.objective(**at).is_none() && is_launched
    };
    let unmeasured: Vec<usize> = candidates.iter().filter(is_unmeasured).copied().collect();
    let warning = |first: &usize| {
        let variants = counted(unmeasured.len(), "correct candidate");
        let value = context.quantities.read(&context.variant(*first).id, &objective.shape, &objective.metric);
        let why = finite(&value).map_or_else(|reason| format!(": {reason}"), |_| String::new());
        format!("{variants} without {} could not be selected{why}", objective.metric)
    };
    unmeasured.first().map(warning).into_iter().collect()
}

fn variants(context: &EvalContext<'_>, ranked: &[usize], shortfalls: Shortfalls) -> Vec<VariantResult> {
    let mut ranks = vec![None; context.plan.variants.len()];
    for (place, &at) in ranked.iter().enumerate() {
        ranks[at] = Some(place + 1);
    }
    let of = |(at, (verdict, lacks)): (usize, (Option<Verdict>, Vec<Shortfall>))| {
        let variant = context.variant(at);
        let correctness = context.correctness(at).clone();
        let alone = verdict.unwrap_or(Verdict::Inconclusive);
        let alone_by = |verdict, reason: &str| {
            (verdict, vec![Shortfall { line: None, verdict, text: reason.into(), uncompared: false }])
        };
        let (verdict, stopped_by) = match (&correctness, variant.standing) {
            (Correctness::Wrong { reason }, _) => alone_by(Verdict::Fail, reason),
            (Correctness::Cheats { reason }, _) => alone_by(Verdict::Fail, &format!("cheats: {reason}")),
            (Correctness::Unproven { reason }, VariantRole::Baseline) => alone_by(Verdict::Inconclusive, reason),
            (Correctness::Proven { .. } | Correctness::Unchecked { .. }, VariantRole::Baseline) => {
                (Verdict::Pass, Vec::new())
            }
            (_, VariantRole::Candidate) => (alone, lacks),
        };
        VariantResult {
            variant: variant.id.clone(),
            objective: context.objective(at),
            doubt: context.objective(at).and(context.objective_doubt(at)).map(str::to_owned),
            durations: match context.given.witness {
                LatencyWitness::Counters(witness) => witness.durations(&variant.id),
                LatencyWitness::Absent | LatencyWitness::Assumed => BTreeMap::new(),
            },
            rank: ranks[at],
            correctness,
            verdict,
            stopped_by,
        }
    };
    shortfalls.into_variants().enumerate().map(of).collect()
}
