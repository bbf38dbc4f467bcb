//! Judges gates over the variants in their scope.

use super::bound_gate::{BoundGate, IntervalDetail, VariantOutcome};
use super::context::EvalContext;
use super::excused_pairs::ExcusedPairs;
use super::gate_verdict::{GateVerdict, ScopeRows, gate_verdict};
use super::results::Correctness;
use super::scope::{Picks, ScopeRule};
use super::shortfall::Shortfalls;
use ncugate_model::{Verdict, glob};
use ncugate_phase::config::Gate;
use ncugate_phase::plan::Variant;
use std::collections::HashSet;

/// Above this number of cases, intervals are computed only if a verdict needs them.
const DETAILED_CASES: usize = 2000;

/// The variants that a gate's scope picks from.
pub struct Candidates<'c> {
    pub variants: &'c [usize],
    /// Variants that are proven correct and have a measured objective, best first.
    pub ranked: Vec<usize>,
    pub selected: Option<usize>,
    /// The last accepted stage.
    pub previous: Option<usize>,
}

impl<'c> Candidates<'c> {
    /// Candidates with the best one selected and no accepted stage before.
    pub fn new(context: &EvalContext<'_>, variants: &'c [usize]) -> Self {
        let ranked = context.ranked(variants);
        Self { variants, selected: ranked.first().copied(), ranked, previous: None }
    }
}

pub struct GateEvaluator<'a> {
    pub context: &'a EvalContext<'a>,
}

impl<'a> GateEvaluator<'a> {
    /// Judges a gate by the rule of its scope. If shortfalls are collected, also judges every candidate separately
    /// and records its shortfall.
    pub fn gate(
        &self,
        gate: &'a Gate,
        candidates: &Candidates<'_>,
        shortfalls: Option<&mut Shortfalls>,
    ) -> GateVerdict {
        let bound = BoundGate::new(gate, self.context, candidates.previous);
        self.bound(&bound, ScopeRule::of(&gate.on), candidates, shortfalls)
    }

    /// Judges a bound gate by a rule.
    pub fn bound(
        &self,
        bound: &BoundGate<'_>,
        rule: ScopeRule<'_>,
        candidates: &Candidates<'_>,
        shortfalls: Option<&mut Shortfalls>,
    ) -> GateVerdict {
        let cases = |n: usize| n * bound.gate.shapes.len();
        let detail =
            |n: usize| if cases(n) <= DETAILED_CASES { IntervalDetail::Intervals } else { IntervalDetail::Verdicts };
        let picked = self.picked(rule, candidates);
        let rows = match (shortfalls, &picked) {
            (Some(shortfalls), picked) => {
                let alone = of_glob(rule, candidates.variants, self.context).unwrap_or_default();
                let all = self.judged(bound, &alone, detail(alone.len()));
                shortfalls.note(bound, &all);
                pick(all, picked.as_deref().unwrap_or_default())
            }
            (None, Ok(picked)) => self.judged(bound, picked, detail(picked.len())),
            (None, Err(_)) => Vec::new(),
        };
        let among = of_glob(rule, candidates.variants, self.context).map_or(0, |all| all.len());
        let picked = match picked {
            Err((verdict, reason)) => ScopeRows::Nothing(verdict, reason),
            Ok(_) if among > 1 => ScopeRows::Rows(rows.into_iter().map(|row| row.confirmed(bound.gate)).collect()),
            Ok(_) => ScopeRows::Rows(rows),
        };
        gate_verdict(bound, self.context, rule.combine, picked)
    }

    /// Judges variants without the pairs that the phase excuses.
    fn judged(&self, bound: &BoundGate<'_>, variants: &[usize], detail: IntervalDetail) -> Vec<VariantOutcome> {
        let rows = bound.judge(variants, detail);
        let judged: Vec<&Variant> = variants.iter().map(|at| self.context.variant(*at)).collect();
        let Some(excused) = ExcusedPairs::new(bound.gate, &judged) else { return rows };
        let without = |(at, row): (usize, VariantOutcome)| row.excused(bound.gate, |shape| excused.state(at, shape));
        rows.into_iter().enumerate().map(without).collect()
    }

    /// The judged variants, or a verdict and a reason if no variant can be judged.
    fn picked(&self, rule: ScopeRule<'_>, candidates: &Candidates<'_>) -> Result<Vec<usize>, (Verdict, String)> {
        let nothing = |reason: String| (Verdict::Inconclusive, reason);
        let variants = of_glob(rule, candidates.variants, self.context).map_err(nothing)?;
        match (rule.picks, variants.as_slice(), rule.glob) {
            (_, [], Some(glob)) => Err(nothing(format!("no variant matches '{glob}'"))),
            (Picks::All, [], None) => Err(nothing("no variant to judge".to_owned())),
            (Picks::All, ..) => Ok(variants),
            (Picks::Selected, ..) => {
                candidates.selected.map(|at| vec![at]).ok_or_else(|| match candidates.ranked.is_empty() {
                    true => self.nobody(&variants),
                    false => nothing("no variant is selected: the plan accepted no stage".to_owned()),
                })
            }
            (Picks::Best, ..) => {
                let known: HashSet<usize> = variants.iter().copied().collect();
                let best = candidates.ranked.iter().find(|at| known.contains(at));
                best.map(|at| vec![*at]).ok_or_else(|| self.nobody(&variants))
            }
        }
    }

    /// Why no candidate is the best: fail if every candidate is wrong, otherwise inconclusive.
    fn nobody(&self, variants: &[usize]) -> (Verdict, String) {
        let wrong = |at: &usize| self.context.correctness(*at).disqualified();
        let first = variants.iter().find_map(|at| Some((at, wrong(at)?)));
        match first {
            Some((at, reason)) if variants.iter().all(|at| wrong(at).is_some()) => {
                let id = &self.context.variant(*at).id;
                (Verdict::Fail, format!("no variant is correct; {id}: {reason}"))
            }
            _ => {
                let metric = &self.context.phase.objective.metric;
                let unproven = variants.iter().find_map(|at| match self.context.correctness(*at) {
                    Correctness::Unproven { reason } => Some(format!("; {}: {reason}", self.context.variant(*at).id)),
                    _ => None,
                });
                let why = unproven.unwrap_or_default();
                (Verdict::Inconclusive, format!("no variant is both proven correct and measured by {metric}{why}"))
            }
        }
    }
}

/// The variants that a rule covers.
fn of_glob(rule: ScopeRule<'_>, variants: &[usize], context: &EvalContext<'_>) -> Result<Vec<usize>, String> {
    let Some(pattern) = rule.glob else { return Ok(variants.to_vec()) };
    let matcher = glob(pattern).map_err(|e| e.to_string())?;
    Ok(variants.iter().copied().filter(|&at| matcher.is_match(&context.variant(at).id.0)).collect())
}

/// Rows of these variants, in the order they were judged.
fn pick(rows: Vec<VariantOutcome>, variants: &[usize]) -> Vec<VariantOutcome> {
    if rows.len() == variants.len() {
        return rows;
    }
    let wanted: HashSet<usize> = variants.iter().copied().collect();
    rows.into_iter().filter(|row| wanted.contains(&row.variant)).collect()
}
