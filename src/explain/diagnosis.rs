//! Rules asked of variants: what each says, ranked by what mending it is expected to save.

use super::case_table::CaseTable;
use super::facts::{CaseFacts, ChipKnowledge, Compilation};
use super::finding::{EstimateSource, EvidenceValue, Finding, FindingLine, SEVERE, Saving, Severity, WORTH_TRYING};
use super::growth::{ShapeFacts, ShapeGrowth, growth};
use super::pair::Pairs;
use super::profiler::NcuObservations;
use super::rule_book::RuleBook;
use crate::config::{Confidence, Rule, RuleCase, RuleKind};
use crate::expr::{Expr, Value};
use crate::frame::Quantities;
use crate::judge::witness::durations::Durations;
use crate::metric::{Catalogue, id};
use crate::model::{ShapeName, VariantId};
use crate::number;
use crate::plan::{Method, Plan};
use std::collections::HashMap;

/// Everything that a diagnosis reads.
#[derive(Debug, Clone, Copy)]
pub struct Diagnosis<'a> {
    /// The rules.
    pub rules: &'a RuleBook,
    /// Everything measured, what deep profiles counted beside it.
    pub quantities: &'a Quantities,
    /// The variants with their flags and parameters, where there is a plan.
    pub plan: Option<&'a Plan>,
    /// How launches without a plan were compiled, where their cubin says.
    pub compilation: Compilation,
    /// The shapes, in the order of the phase.
    pub shapes: &'a [ShapeFacts],
    /// The chip.
    pub chip: &'a ChipKnowledge,
    /// What the sampler saw.
    pub observations: &'a [NcuObservations],
    /// The report that holds the launch of a variant and shape.
    pub reports: &'a HashMap<(VariantId, ShapeName), String>,
}

/// How busy a unit of the chip was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Utilisation {
    /// The unit, for people.
    pub unit: &'static str,
    /// Of the most it can do, in percent; none where it was not counted.
    pub percent: Option<f64>,
}

/// The units whose limits a kernel meets first, with what says how busy each is: the first that was counted.
const SPEED_OF_LIGHT: [(&str, &[&str]); 5] = [
    ("Tensor pipe", &["tensor_busy", "tensor_pct"]),
    ("FP32 pipe", &["fma_busy"]),
    ("DRAM", &["dram_busy"]),
    ("L2", &["l2_busy"]),
    ("Issue slots", &["issue_slot_utilisation"]),
];

/// A rule that holds, before it is tied to a variant.
struct Held<'r> {
    rule: &'r Rule,
    case: &'r RuleCase,
    percent: Option<f64>,
}

impl Diagnosis<'_> {
    /// What the rules say of these variants at every shape: of each variant and shape what matters most first.
    pub fn findings(&self, variants: &[VariantId]) -> Vec<Finding> {
        let table = CaseTable::new(self.quantities);
        let pairs = self.plan.map(Pairs::new);
        let mut found = Vec::new();
        for variant in variants {
            for shape in self.shapes {
                let mut of_case = self.of_case(&table, variant, shape);
                if let (Some(first), Some(pairs)) = (of_case.first_mut(), &pairs) {
                    self.measure(&table, pairs, first, shape);
                }
                found.extend(of_case);
            }
        }
        found
    }

    /// How busy each unit was in the launches of a variant, in percent of the most it can do; none where that was not counted.
    pub fn speed_of_light(&self, variant: &VariantId, shape: &ShapeName) -> Vec<Utilisation> {
        let table = CaseTable::new(self.quantities);
        let Some(shape) = self.shapes.iter().find(|known| &known.name == shape) else { return Vec::new() };
        let Some(facts) = self.facts(&table, variant, shape, None) else { return Vec::new() };
        let of = |(unit, names): &(&'static str, &[&str])| Utilisation {
            unit,
            percent: names.iter().find_map(|name| facts.number(name)).filter(|percent| *percent >= 0.0),
        };
        SPEED_OF_LIGHT.iter().map(of).collect()
    }

    fn of_case(&self, table: &CaseTable<'_>, variant: &VariantId, shape: &ShapeFacts) -> Vec<Finding> {
        let growth = growth(table, variant, shape, self.shapes);
        let Some(facts) = self.facts(table, variant, shape, growth.as_ref()) else { return Vec::new() };
        let mut found: Vec<Finding> = self
            .rules
            .rules()
            .iter()
            .filter_map(|rule| Some(self.finding(&held(rule, &facts)?, &facts, variant, &shape.name)))
            .collect();
        found.extend(self.doubt(&facts, variant, &shape.name));
        self.rank(&mut found);
        found
    }

    fn facts<'t>(
        &'t self,
        table: &'t CaseTable<'t>,
        variant: &VariantId,
        shape: &ShapeFacts,
        growth: Option<&'t ShapeGrowth>,
    ) -> Option<CaseFacts<'t>> {
        let baseline = self.plan.and_then(|plan| plan.baselines().next()).map(|baseline| &baseline.id);
        let row = table.row(variant, &shape.name)?;
        Some(CaseFacts {
            table,
            row,
            baseline: baseline.and_then(|id| table.row(id, &shape.name)),
            chip: self.chip,
            compilation: self.compiled(variant),
            work: shape.work,
            growth,
            known: table.known(row),
        })
    }

    fn compiled(&self, variant: &VariantId) -> Compilation {
        let planned = self.plan.and_then(|plan| plan.variant(variant)).map(|variant| &variant.method);
        match planned {
            Some(Method::Kernel(kernel)) => Compilation::of_flags(&kernel.flags),
            Some(Method::Function(_) | Method::Command(_) | Method::Captured(_)) => Compilation::default(),
            None => self.compilation,
        }
    }

    fn finding(&self, held: &Held<'_>, facts: &CaseFacts<'_>, variant: &VariantId, shape: &ShapeName) -> Finding {
        let Held { rule, case, percent } = held;
        let read = |name: &str| value(facts, name);
        let says = case.says.render_with(&read, &written).unwrap_or_else(|| rule.cause.clone());
        let evidence = rule.evidence.iter().filter_map(|name| Some(evidence(name, facts.number(name)?)));
        let saving = percent.map(|percent| Saving { percent, source: EstimateSource::Model, pair: None });
        let key = (variant.clone(), shape.clone());
        let mut finding = Finding {
            rule: rule.id.clone(),
            variant: key.0.clone(),
            shape: key.1.clone(),
            cause: rule.cause.clone(),
            kind: rule.kind,
            sentence: number::text::sentence(&says),
            severity: Severity::Note,
            confidence: case.confidence,
            saving,
            evidence: evidence.collect(),
            report: self.reports.get(&key).cloned(),
            lines: self.lines(rule, variant, shape),
            advice: rule.advice.iter().filter_map(|advice| advice.render_with(&read, &written)).collect(),
            symptom_of: None,
        };
        finding.severity = severity(&finding);
        finding
    }

    /// Source lines at which warps wait for what the rule is about.
    fn lines(&self, rule: &Rule, variant: &VariantId, shape: &ShapeName) -> Vec<FindingLine> {
        let seen = self.observations.iter().find(|seen| &seen.variant == variant && &seen.shape == shape);
        let lines = seen.into_iter().flat_map(|seen| &seen.lines);
        let of_rule = lines.filter(|line| rule.stalls.contains(&line.stall)).take(LINES);
        of_rule
            .map(|hot| FindingLine {
                place: format!("{}:{}", hot.line.file, hot.line.line),
                text: hot.line.text.clone(),
                share: hot.share,
                stall: hot.stall.clone(),
            })
            .collect()
    }

    /// Latency without the profiler and duration under it measure different things, within the band that verdicts demand.
    fn doubt(&self, facts: &CaseFacts<'_>, variant: &VariantId, shape: &ShapeName) -> Option<Finding> {
        let (latency, duration) = (facts.number("latency_p50")?, facts.number("duration")?);
        let launches = self.quantities.steps(variant, shape, &id::DURATION).len().max(1) as u32;
        let objection = Durations::plain(latency, duration / 1000.0, launches).disagreement()?;
        let key = (variant.clone(), shape.clone());
        Some(Finding {
            rule: "durations_disagree".to_owned(),
            report: self.reports.get(&key).cloned(),
            variant: key.0,
            shape: key.1,
            cause: "Two durations disagree".to_owned(),
            kind: RuleKind::Doubt,
            sentence: number::text::sentence(&objection.numbers),
            severity: Severity::Warning,
            confidence: Confidence::High,
            saving: None,
            evidence: vec![evidence("latency_p50", latency), evidence("duration", duration)],
            lines: Vec::new(),
            advice: vec![
                "counters may describe another state: cold caches, another clock, or more kernels than the one profiled"
                    .to_owned(),
            ],
            symptom_of: None,
        })
    }

    /// Orders the findings of one case, and says which are symptoms of others.
    fn rank(&self, found: &mut [Finding]) {
        let worth = |finding: &Finding| finding.kind == RuleKind::Defect && finding.severity > Severity::Note;
        let causes: Vec<(String, f64)> = found
            .iter()
            .filter(|finding| worth(finding))
            .map(|finding| (finding.rule.clone(), finding.expected()))
            .collect();
        for finding in found.iter_mut() {
            // the gravest of those that explain it
            let explains = causes.iter().filter(|(rule, _)| self.rules.explains(rule, &finding.rule));
            let cause = explains.max_by(|a, b| a.1.total_cmp(&b.1));
            finding.symptom_of = cause.map(|(rule, _)| rule.clone());
        }
        found.sort_by(|a, b| {
            let key = |f: &Finding| (f.symptom_of.is_some(), place(f));
            key(a).cmp(&key(b)).then(b.expected().total_cmp(&a.expected()))
        });
    }

    /// Sets a measured pair of variants beside the estimate of the first defect: another variant of the run in which its rule does
    /// not hold, and which is faster. Only the first, for one difference in time is the price of one thing.
    fn measure(&self, table: &CaseTable<'_>, pairs: &Pairs<'_>, first: &mut Finding, shape: &ShapeFacts) {
        let rule = self.rules.rules().iter().find(|rule| rule.id == first.rule && rule.kind == RuleKind::Defect);
        let (Some(rule), Some(saving)) = (rule, &mut first.saving) else { return };
        let lacks = |other: &VariantId| {
            let growth = growth(table, other, shape, self.shapes);
            self.facts(table, other, shape, growth.as_ref()).is_some_and(|facts| is_known_not_to_hold(rule, &facts))
        };
        if let Some(found) = pairs.pair(table, &first.variant, &shape.name, lacks) {
            saving.source = EstimateSource::MeasuredPair;
            saving.pair = Some(found);
        }
    }
}

/// Source lines kept of a finding.
const LINES: usize = 3;

/// Defects worth trying, then limits of the algorithm, then doubts about the numbers, then what is small, then remarks.
fn place(finding: &Finding) -> u8 {
    match (finding.kind, finding.severity) {
        (RuleKind::Defect, Severity::Advice | Severity::Warning) => 0,
        (RuleKind::Redesign, Severity::Advice | Severity::Warning) => 1,
        (RuleKind::Doubt, _) => 2,
        (RuleKind::Defect | RuleKind::Redesign, Severity::Note) => 3,
        (RuleKind::Remark, _) => 4,
    }
}

fn severity(finding: &Finding) -> Severity {
    match finding.expected() {
        _ if finding.kind == RuleKind::Remark => Severity::Note,
        // what other things fit as well is not called severe
        expected if expected >= SEVERE && finding.confidence > Confidence::Low => Severity::Warning,
        expected if expected >= WORTH_TRYING => Severity::Advice,
        _ => Severity::Note,
    }
}

/// The first case of which everything is known, if it holds.
fn held<'r>(rule: &'r Rule, facts: &CaseFacts<'_>) -> Option<Held<'r>> {
    let (case, holds) = decisive(rule, facts)?;
    let percents: Vec<f64> = case.saves.iter().filter_map(|saves| percent(saves, facts)).collect();
    let percent = percents.into_iter().reduce(f64::min).map(|least| least.clamp(0.0, 100.0));
    holds.then_some(Held { rule, case, percent })
}

fn is_known_not_to_hold(rule: &Rule, facts: &CaseFacts<'_>) -> bool {
    decisive(rule, facts).is_some_and(|(_, holds)| !holds)
}

/// The first case of which condition and first estimate are known, and whether it holds. A case that does not hold is decided
/// without an estimate.
fn decisive<'r>(rule: &'r Rule, facts: &CaseFacts<'_>) -> Option<(&'r RuleCase, bool)> {
    rule.cases.iter().find_map(|case| {
        let known = case.when.reads_only(&|name| facts.number(name).is_some());
        let holds = if known { truth(&case.when, facts)? } else { return None };
        let estimated = case.saves.first().is_none_or(|first| percent(first, facts).is_some());
        (!holds || estimated).then_some((case, holds))
    })
}

fn truth(when: &Expr, facts: &CaseFacts<'_>) -> Option<bool> {
    match when.eval_with(&|name| facts.number(name).map(Value::Float))? {
        Value::Bool(holds) => Some(holds),
        Value::Int(_) | Value::Float(_) | Value::Text(_) => None,
    }
}

fn percent(saves: &Expr, facts: &CaseFacts<'_>) -> Option<f64> {
    let value = saves.eval_with(&|name| facts.number(name).map(Value::Float))?;
    value.number().filter(|percent| percent.is_finite())
}

fn value(facts: &CaseFacts<'_>, name: &str) -> Option<Value> {
    facts.text(name).map(Value::Text).or_else(|| facts.number(name).map(Value::Float))
}

fn written(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => other.number().map_or_else(|| other.to_string(), number::short),
    }
}

fn evidence(name: &str, value: f64) -> EvidenceValue {
    let known = Catalogue::embedded().get(name).map(|metric| metric.unit.clone());
    let percent =
        || if name.ends_with("_pct") || name.ends_with("_busy") || name.starts_with("share_") { "%" } else { "" };
    EvidenceValue { name: name.to_owned(), value, unit: known.unwrap_or_else(|| percent().to_owned()) }
}

impl Compilation {
    /// What nvcc's flags say. Without a level, ptxas optimises as with 3.
    pub fn of_flags(flags: &[String]) -> Self {
        let words: Vec<&str> = flags.iter().flat_map(|flag| flag.split([' ', ',', '='])).collect();
        let debug = words.iter().any(|word| matches!(*word, "-G" | "--device-debug"));
        let of_ptxas = |word: &str| flags.iter().any(|flag| flag.contains("ptxas") && flag.contains(word));
        let after_ptxas = |at: usize| at > 0 && matches!(words[at - 1], "-Xptxas" | "--ptxas-options");
        let ptxas = |at: usize| of_ptxas(words[at]) || after_ptxas(at);
        let levels = ["-O0", "-O1", "-O2", "-O3"];
        let told = words.iter().enumerate().rev().find_map(|(at, word)| {
            let level = levels.iter().position(|known| known == word).filter(|_| ptxas(at))?;
            u32::try_from(level).ok()
        });
        Self { debug: Some(debug), optimisation: Some(told.unwrap_or(3)) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::print_stdout)]
mod tests;
