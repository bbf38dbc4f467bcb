//! A phase judged.

use super::ground::{Context, Ground, Proof, capability, dtype, matcher};
use super::judgement::{Correctness, Judgement, PreconditionResult, Selection, Stop, VariantResult};
use super::panel::{Detail, Panel, Row};
use super::test::environment;
use super::verdict::{Judged, Picked, TOGETHER, Words, judged};
use super::{fallback, stages, tiers};
use crate::config::Gate;
use crate::config::Phase;
use crate::config::Precondition;
use crate::expr::Scope as Names;
use crate::expr::Value;
use crate::frame::Quantities;
use crate::metric::Catalogue;
use crate::model::ComputeCapability;
use crate::model::Level;
use crate::model::Scope;
use crate::model::VariantId;
use crate::model::Verdict;
use crate::plan::{Plan, Standing};
use minijinja::Environment;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Above this many cases intervals are worked out only where a verdict needs them.
const DETAILED_CASES: usize = 2000;

/// Judges a phase by what was measured. The same inputs give the same judgement, in whatever order variants come.
pub fn judge(
    phase: &Phase,
    plan: &Plan,
    quantities: &Quantities,
    correctness: &BTreeMap<VariantId, Correctness>,
    context: &Context<'_>,
) -> Judgement {
    let environment = environment();
    let ground = Ground::new(phase, plan, quantities, correctness, context, Proof::Demanded);
    let candidates = ground.candidates();
    let ranked = ground.ranked(&candidates);
    let bench = Bench { ground: &ground, environment: &environment };

    let mut sheet = Sheet::new(plan.variants.len());
    let chosen = Chosen { selected: ranked.first().copied(), variants: &candidates, previous: None };
    let gates: Vec<Judged> = phase.gates.iter().map(|gate| bench.gate(gate, &chosen, Some(&mut sheet))).collect();
    let tiers = tiers::judge(&bench, &chosen, &mut sheet);
    let stages = stages::judge(&bench);
    let preconditions = preconditions(phase, context.cc);

    let mut ballot = Ballot::default();
    // One that holds is no vote for a pass: it says that measuring is worth while, not that anything was measured.
    for precondition in preconditions.iter().filter(|p| p.verdict != Verdict::Pass) {
        ballot.count(precondition.verdict, || format!("precondition '{}': {}", precondition.name, precondition.reason));
    }
    for gate in gates.iter().filter(|g| g.is_required()) {
        ballot.count(gate.effect, || format!("gate '{}': {}", gate.result.name, gate.result.reason));
    }
    tiers.vote(&mut ballot);
    stages.vote(&mut ballot);

    let mut warnings = selection_warnings(&ground, &candidates);
    warnings.extend(gates.iter().flat_map(|g| g.warnings.clone()));
    warnings.extend(tiers.warnings);
    warnings.extend(stages.warnings);
    let (mut verdict, mut reason) = ballot.verdict();
    let go = preconditions.iter().all(|p| p.verdict == Verdict::Pass);
    let fallback = (verdict == Verdict::Fail && go).then(|| fallback::judge(&bench, &mut warnings)).flatten();
    if let Some(taken) = fallback.as_ref().filter(|f| f.verdict == Verdict::Pass) {
        warnings.push(format!("falling back: {reason}"));
        verdict = Verdict::Pass;
        reason = taken.reason.clone();
    }
    Judgement {
        verdict,
        reason,
        selected: ranked.first().and_then(|&at| selection(&ground, at, ranked.len())),
        variants: variants(&ground, &ranked, sheet),
        gates: gates.into_iter().map(|g| g.result).collect(),
        tiers: tiers.results,
        tier_reached: tiers.reached,
        stages: stages.results,
        fallback,
        preconditions,
        warnings,
    }
}

/// Judges the go/no-go conditions: over dimensions of every shape, `dtype` of the first input, and `cc`.
pub fn preconditions(phase: &Phase, cc: Option<ComputeCapability>) -> Vec<PreconditionResult> {
    let of = |precondition: &Precondition| {
        let (verdict, reason) = phase
            .workload
            .shapes
            .iter()
            .map(|shape| {
                let mut names: Names = shape.dims.iter().map(|(n, v)| (n.clone(), Value::Int(*v))).collect();
                names.extend(cc.map(|cc| ("cc".to_owned(), capability(cc))));
                names.extend(dtype(phase).map(|dtype| ("dtype".to_owned(), dtype)));
                match precondition.condition.eval_bool(&names) {
                    Ok(true) => (Verdict::Pass, String::new()),
                    Ok(false) => {
                        (Verdict::Fail, format!("'{}' is false at shape '{}'", precondition.condition, shape.name))
                    }
                    Err(error) => (Verdict::Inconclusive, format!("{error}, at shape '{}'", shape.name)),
                }
            })
            .max_by_key(|(verdict, _)| match verdict {
                Verdict::Pass => 0,
                Verdict::Inconclusive => 1,
                Verdict::Fail => 2,
            })
            .unwrap_or((Verdict::Inconclusive, "the phase has no shape".to_owned()));
        let held = || format!("held at {}", super::sentence::count(phase.workload.shapes.len(), "shape"));
        PreconditionResult {
            name: precondition.name.clone(),
            condition: precondition.condition.text().to_owned(),
            verdict,
            reason: if verdict == Verdict::Pass { held() } else { reason },
        }
    };
    phase.gate_plan.preconditions.iter().map(of).collect()
}

/// Who a gate's scope picks from.
pub struct Chosen<'c> {
    /// The selected variant.
    pub selected: Option<usize>,
    /// All that compete.
    pub variants: &'c [usize],
    /// The last accepted stage.
    pub previous: Option<usize>,
}

/// Where gates are judged.
pub struct Bench<'a> {
    /// What is judged.
    pub ground: &'a Ground<'a>,
    /// Where expressions are compiled.
    pub environment: &'a Environment<'static>,
}

impl<'a> Bench<'a> {
    /// Judges a gate; with a sheet, every candidate alone is judged too and what it lacks is noted there.
    pub fn gate(&self, gate: &Gate, chosen: &Chosen<'_>, sheet: Option<&mut Sheet>) -> Judged {
        let panel = Panel::new(gate, self.ground, self.environment, chosen.previous);
        let scope = self.scope(gate, chosen);
        let cases = |n: usize| n * gate.shapes.len();
        let detail = |n: usize| if cases(n) <= DETAILED_CASES { Detail::Intervals } else { Detail::Verdicts };
        let rows = match (sheet, &scope) {
            (Some(sheet), scope) => {
                let asked = self.asked(gate, chosen);
                let all = panel.judge(&asked, detail(asked.len()));
                sheet.note(&panel, &all);
                let picked = scope.as_deref().unwrap_or_default();
                if picked.len() == all.len() { all } else { pick(all, picked) }
            }
            (None, Ok(scope)) => panel.judge(scope, detail(scope.len())),
            (None, Err(_)) => Vec::new(),
        };
        let picked = match scope {
            Err((verdict, reason)) => Picked::Nothing(verdict, reason),
            Ok(_) => Picked::Rows(rows),
        };
        judged(&panel, self.ground, picked)
    }

    /// Variants that a gate is judged for when each is judged alone.
    fn asked(&self, gate: &Gate, chosen: &Chosen<'_>) -> Vec<usize> {
        match &gate.on {
            Scope::Matching(glob) => self.globbed(glob, chosen.variants).unwrap_or_default(),
            Scope::Selected | Scope::Each | Scope::Any => chosen.variants.to_vec(),
        }
    }

    fn globbed(&self, glob: &str, variants: &[usize]) -> Result<Vec<usize>, String> {
        let matcher = matcher(glob)?;
        Ok(variants.iter().copied().filter(|&at| matcher.is_match(&self.ground.variant(at).id.0)).collect())
    }

    fn scope(&self, gate: &Gate, chosen: &Chosen<'_>) -> Result<Vec<usize>, (Verdict, String)> {
        let nothing = |reason: &str| Err((Verdict::Inconclusive, reason.to_owned()));
        match &gate.on {
            Scope::Selected => chosen.selected.map(|at| vec![at]).ok_or_else(|| self.unselected(chosen.variants)),
            Scope::Matching(glob) => match self.globbed(glob, chosen.variants) {
                Ok(matching) if matching.is_empty() => nothing(&format!("no variant matches '{glob}'")),
                Ok(matching) => Ok(matching),
                Err(reason) => nothing(&reason),
            },
            Scope::Each | Scope::Any if chosen.variants.is_empty() => nothing("there is no variant to judge"),
            Scope::Each | Scope::Any => Ok(chosen.variants.to_vec()),
        }
    }

    /// Why nothing is selected: failed when every candidate is wrong, else it cannot be told.
    fn unselected(&self, variants: &[usize]) -> (Verdict, String) {
        let wrong = |at: &usize| match self.ground.correctness(*at) {
            Correctness::Wrong { reason } => Some(reason),
            Correctness::Proven { .. } | Correctness::Unproven { .. } => None,
        };
        let first = variants.iter().find_map(|at| Some((at, wrong(at)?)));
        match first {
            Some((at, reason)) if variants.iter().all(|at| wrong(at).is_some()) => {
                let id = &self.ground.variant(*at).id;
                (Verdict::Fail, format!("no variant is correct; {id}: {reason}"))
            }
            _ => {
                let metric = &self.ground.phase.objective.metric;
                (Verdict::Inconclusive, format!("no variant is both proven correct and measured by {metric}"))
            }
        }
    }
}

/// Rows of these variants, in the order they were judged.
fn pick(rows: Vec<Row>, variants: &[usize]) -> Vec<Row> {
    let wanted: std::collections::HashSet<usize> = variants.iter().copied().collect();
    rows.into_iter().filter(|row| wanted.contains(&row.variant)).collect()
}

/// How far a variant is outside a gate, and that in words.
type Lack = (f64, Stop);

/// What each variant lacks by itself.
pub struct Sheet {
    lacks: Vec<Vec<Lack>>,
    verdicts: Vec<Option<Verdict>>,
}

impl Sheet {
    fn new(variants: usize) -> Self {
        Self { lacks: vec![Vec::new(); variants], verdicts: vec![None; variants] }
    }

    /// Notes what a required gate found for each variant alone.
    fn note(&mut self, panel: &Panel<'_>, rows: &[Row]) {
        if panel.gate.level != Level::Required {
            return;
        }
        let words = Words { panel, unit: panel.unit() };
        let lack = |row: &Row| {
            let severity = row.cases.iter().map(|c| c.severity()).fold(f64::NEG_INFINITY, f64::max);
            let text = (row.verdict != Verdict::Pass).then(|| words.lack(row))??;
            Some((severity, Stop { line: Some(panel.gate.line), verdict: row.verdict, text }))
        };
        let lacks: Vec<Option<Lack>> = rows.par_iter().with_min_len(TOGETHER).map(lack).collect();
        for (row, lack) in rows.iter().zip(lacks) {
            let verdict = &mut self.verdicts[row.variant];
            *verdict = Some(verdict.map_or(row.verdict, |v| worse(v, row.verdict)));
            self.lacks[row.variant].extend(lack);
        }
    }
}

fn worse(a: Verdict, b: Verdict) -> Verdict {
    match (a, b) {
        (Verdict::Fail, _) | (_, Verdict::Fail) => Verdict::Fail,
        (Verdict::Inconclusive, _) | (_, Verdict::Inconclusive) => Verdict::Inconclusive,
        (Verdict::Pass, Verdict::Pass) => Verdict::Pass,
    }
}

/// Everything a phase's verdict is made of.
#[derive(Default)]
pub struct Ballot {
    passed: usize,
    failed: Vec<String>,
    open: Vec<String>,
}

impl Ballot {
    /// Counts one requirement.
    pub fn count(&mut self, verdict: Verdict, reason: impl FnOnce() -> String) {
        match verdict {
            Verdict::Pass => self.passed += 1,
            Verdict::Fail => self.failed.push(reason()),
            Verdict::Inconclusive => self.open.push(reason()),
        }
    }

    /// Fail over inconclusive over pass; nothing asked is no pass.
    fn verdict(&self) -> (Verdict, String) {
        let total = self.passed + self.failed.len() + self.open.len();
        let of = |list: &[String], what: &str| {
            let more = if list.len() > 1 { format!(" (and {} more)", list.len() - 1) } else { String::new() };
            format!("{} of {} {what}: {}{more}", list.len(), super::sentence::count(total, "requirement"), list[0])
        };
        if !self.failed.is_empty() {
            return (Verdict::Fail, of(&self.failed, "failed"));
        }
        if !self.open.is_empty() {
            return (Verdict::Inconclusive, of(&self.open, "cannot be told"));
        }
        match self.passed {
            0 => (Verdict::Inconclusive, "the phase has no required gate, so nothing was judged".to_owned()),
            1 => (Verdict::Pass, "the one requirement holds".to_owned()),
            n => (Verdict::Pass, format!("all {n} requirements hold")),
        }
    }
}

fn selection(ground: &Ground<'_>, at: usize, among: usize) -> Option<Selection> {
    let metric = &ground.phase.objective.metric;
    Some(Selection {
        variant: ground.variant(at).id.clone(),
        metric: metric.clone(),
        value: ground.objective(at)?,
        unit: Catalogue::embedded().get(metric).map_or_else(String::new, |m| m.unit.clone()),
        among,
    })
}

fn selection_warnings(ground: &Ground<'_>, candidates: &[usize]) -> Vec<String> {
    let proven = |at: &&usize| matches!(ground.correctness(**at), Correctness::Proven { .. });
    let unmeasured = candidates.iter().filter(proven).filter(|at| ground.objective(**at).is_none()).count();
    let metric = &ground.phase.objective.metric;
    let warning = || {
        let variants = super::sentence::count(unmeasured, "correct candidate");
        format!("{variants} without {metric} could not be selected")
    };
    (unmeasured > 0).then(warning).into_iter().collect()
}

fn variants(ground: &Ground<'_>, ranked: &[usize], sheet: Sheet) -> Vec<VariantResult> {
    let mut ranks = vec![None; ground.plan.variants.len()];
    for (place, &at) in ranked.iter().enumerate() {
        ranks[at] = Some(place + 1);
    }
    let Sheet { lacks, verdicts } = sheet;
    let of = |((at, mut lacks), verdict): ((usize, Vec<Lack>), Option<Verdict>)| {
        let variant = ground.variant(at);
        let correctness = ground.correctness(at).clone();
        let alone = verdict.unwrap_or(Verdict::Inconclusive);
        lacks.sort_by(|a, b| b.0.total_cmp(&a.0));
        let alone_by = |verdict, reason: &str| (verdict, vec![Stop { line: None, verdict, text: reason.to_owned() }]);
        let (verdict, stopped_by) = match (&correctness, variant.standing) {
            (Correctness::Wrong { reason }, _) => alone_by(Verdict::Fail, reason),
            (Correctness::Unproven { reason }, Standing::Baseline) => alone_by(Verdict::Inconclusive, reason),
            (Correctness::Proven { .. }, Standing::Baseline) => (Verdict::Pass, Vec::new()),
            (_, Standing::Candidate) => (alone, lacks.into_iter().map(|(_, lack)| lack).collect()),
        };
        VariantResult {
            variant: variant.id.clone(),
            objective: ground.objective(at),
            rank: ranks[at],
            correctness,
            verdict,
            stopped_by,
        }
    };
    lacks.into_iter().enumerate().zip(verdicts).map(of).collect()
}
