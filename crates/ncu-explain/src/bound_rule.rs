//! Conditions and estimates of rules with every name replaced by its index in one list, so that a thousand variants are
//! evaluated in milliseconds.

use super::facts::{CaseFacts, scope_of};
use indexmap::IndexSet;
use ncugate_model::expr::{Expr, Node, NodeKind, Value};
use ncugate_model::rule::{HEADROOM, IDLE, OUTSIDE, Rule, RuleCase, RuleScope};

/// The rule of kernels at the bandwidth of DRAM: what explains it lowers the bytes of DRAM.
const DRAM_LIMIT: &str = "memory_bound";

/// The cases of a rule, in their order.
#[derive(Debug, Clone)]
pub struct BoundRule {
    cases: Vec<BoundCase>,
    /// The evaluation if every case reads a number of it.
    pub scope: RuleScope,
}

#[derive(Debug, Clone)]
struct BoundCase {
    when: Node<usize>,
    /// Indices of the names that `when` reads.
    reads: Vec<usize>,
    saves: Vec<Node<usize>>,
    /// Whether `headroom` is one of the estimates.
    has_headroom: bool,
    /// Estimates behind the first that say what DRAM leaves after the fix: they read `dram_busy`.
    of_dram: Vec<usize>,
    /// Whether the fix may lower the bytes of DRAM by an unknown amount, or saves time without any: then DRAM limits nothing.
    is_free_of_dram: bool,
    /// What the first estimate counts.
    counts: CountedTime,
}

/// What an estimate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedTime {
    /// Time in which multiprocessors or warp slots are idle, or in which the GPU runs no kernel.
    Idle,
    /// Time in which warps wait or execute.
    Busy,
}

/// A rule that holds for a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldCase {
    pub case: usize,
    /// Largest saving of a fix, in percent of the time, if known.
    pub percent: Option<f64>,
    /// What DRAM leaves, unless the fix lowers its bytes, and what the tensor pipe and L2 leave if `headroom` is one of the
    /// estimates: the fix saves neither products nor traffic.
    pub most: f64,
    pub counts: CountedTime,
}

impl BoundRule {
    /// The rule with its names looked up in `names`; new names are added.
    pub fn new(rule: &Rule, names: &mut IndexSet<String>) -> Self {
        let cases: Vec<BoundCase> = rule.cases.iter().map(|case| BoundCase::new(rule, case, names)).collect();
        let of_evaluation =
            |place: usize| names.get_index(place).is_some_and(|name| scope_of(name) == RuleScope::Evaluation);
        let scope = match cases.iter().all(|case| case.all_reads().any(of_evaluation)) {
            true => RuleScope::Evaluation,
            false => RuleScope::Launch,
        };
        Self { cases, scope }
    }

    /// The first case with known inputs, if it holds.
    pub fn held(&self, facts: &CaseFacts<'_>) -> Option<HeldCase> {
        let (at, holds) = self.decisive(facts)?;
        let case = self.cases.get(at).filter(|_| holds)?;
        let percents = case.saves.iter().filter_map(|saves| percent_of(saves, facts));
        let percent = percents.reduce(f64::min).map(|least| least.clamp(0.0, 100.0));
        let most = if case.has_headroom { facts.traffic_headroom() } else { 100.0 };
        let after_fix = case.of_dram.iter().filter_map(|at| percent_of(case.saves.get(*at)?, facts));
        let as_before = facts.number("dram_busy").filter(|_| !case.is_free_of_dram).map(|busy| (100.0 - busy).max(0.0));
        let most = after_fix.chain(as_before).fold(most, f64::min);
        Some(HeldCase { case: at, percent, most, counts: case.counts })
    }

    /// Whether it holds; none if a deciding input is unknown.
    pub fn answer(&self, facts: &CaseFacts<'_>) -> Option<bool> {
        self.decisive(facts).map(|(_, holds)| holds)
    }

    /// For each case, the indices of the names that it needs for a decision.
    pub fn reads(&self) -> impl Iterator<Item = Vec<usize>> {
        self.cases.iter().map(|case| {
            let estimate = case.saves.first().into_iter().flat_map(|saves| saves.reads().map(|(place, _)| *place));
            case.reads.iter().copied().chain(estimate).collect()
        })
    }

    /// The first case with a known condition and first estimate, and whether it holds. A case that does not hold is
    /// decided without an estimate.
    fn decisive(&self, facts: &CaseFacts<'_>) -> Option<(usize, bool)> {
        self.cases.iter().enumerate().find_map(|(at, case)| {
            let known = case.reads.iter().all(|place| facts.number_at(*place).is_some());
            let holds = if known { truth(&case.when, facts)? } else { return None };
            let estimated = case.saves.first().is_none_or(|first| percent_of(first, facts).is_some());
            (!holds || estimated).then_some((at, holds))
        })
    }
}

impl BoundCase {
    fn new(rule: &Rule, case: &RuleCase, names: &mut IndexSet<String>) -> Self {
        let mut bound = |expr: &Expr| expr.bound(&mut |name| names.insert_full(name.to_owned()).0);
        let when = bound(&case.when);
        let saves: Vec<Node<usize>> = case.saves.iter().map(bound).collect();
        let reads = when.reads().map(|(place, _)| *place).collect();
        let name = |place: usize| names.get_index(place).map_or("", String::as_str);
        let is_headroom = |node: &Node<usize>| matches!(node.kind, NodeKind::Read(place) if name(place) == HEADROOM);
        let has_headroom = saves.iter().any(is_headroom);
        let reads_any =
            |saves: &Node<usize>, wanted: &[&str]| saves.reads().any(|(place, _)| wanted.contains(&name(*place)));
        let of_dram: Vec<usize> = (1..saves.len()).filter(|at| reads_any(&saves[*at], &["dram_busy"])).collect();
        let first_reads = |wanted: &[&str]| saves.first().is_some_and(|first| reads_any(first, wanted));
        let is_outside = first_reads(&OUTSIDE);
        let counts = if is_outside || first_reads(&IDLE) { CountedTime::Idle } else { CountedTime::Busy };
        let lowers_bytes = rule.explains.iter().any(|symptom| symptom == DRAM_LIMIT);
        let is_free_of_dram = is_outside || lowers_bytes || !of_dram.is_empty();
        Self { when, reads, saves, has_headroom, of_dram, is_free_of_dram, counts }
    }

    /// Indices of the names that its condition and estimates read.
    fn all_reads(&self) -> impl Iterator<Item = usize> {
        let saves = self.saves.iter().flat_map(|saves| saves.reads().map(|(place, _)| *place));
        self.reads.iter().copied().chain(saves)
    }
}

fn eval(node: &Node<usize>, facts: &CaseFacts<'_>) -> Option<Value> {
    let read = |place: &usize| facts.number_at(*place).map(Value::Float).ok_or("it is not known");
    node.eval(&read).ok()
}

fn truth(when: &Node<usize>, facts: &CaseFacts<'_>) -> Option<bool> {
    match eval(when, facts)? {
        Value::Bool(holds) => Some(holds),
        Value::Int(_) | Value::Float(_) | Value::Text(_) => None,
    }
}

fn percent_of(saves: &Node<usize>, facts: &CaseFacts<'_>) -> Option<f64> {
    eval(saves, facts)?.number().filter(|percent| percent.is_finite())
}
