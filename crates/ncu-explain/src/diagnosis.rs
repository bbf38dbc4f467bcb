//! Applies rules to variants and ranks their findings by the expected saving of a fix.

use super::bound_rule::CountedTime;
use super::case_table::{CaseColumns, CaseTable};
use super::evaluation_facts::{EvaluationFacts, HeldRule, LaunchName};
use super::facts::{CaseFacts, ChipKnowledge, Compilation};
use super::finding::{
    AwaitedResult, EstimateSource, EvidenceValue, Finding, FindingLine, MeasuredPair, SEVERE, SavingEstimate, Severity,
    WORTH_TRYING,
};
use super::growth::{DeclaredWork, ShapeFacts, ShapeGrowth, growth};
use super::kernel_names::short_names;
use super::measured_causes;
use super::pair::{FASTER, Pairs, fastest_without};
use super::planned_variant::{PlannedEvaluation, PlannedVariant};
use super::profiler::{Dependency, NcuObservations};
use super::rule_book::RuleBook;
use ncugate_model::expr::Value;
use ncugate_model::metric::{Catalogue, id};
use ncugate_model::number::{self, text};
use ncugate_model::rule::{Confidence, Rule, RuleKind};
use ncugate_model::{AblationRecord, CleanText, Line, Quantities, ShapeName, VariantId, demangled};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Everything that a diagnosis reads.
#[derive(Debug, Clone, Copy)]
pub struct Diagnosis<'a> {
    pub rules: &'a RuleBook,
    /// All measurements, including the counters of deep profiles.
    pub quantities: &'a Quantities,
    /// The variants of a run with their code; empty without a plan.
    pub variants: &'a [PlannedVariant<'a>],
    /// The first baseline.
    pub baseline: Option<&'a VariantId>,
    /// How launches without a plan were compiled, as far as their cubin shows.
    pub compilation: Compilation,
    /// The shapes, in the order of the phase.
    pub shapes: &'a [ShapeFacts],
    pub chip: &'a ChipKnowledge,
    /// Observations of the sampler.
    pub observations: &'a [NcuObservations],
    /// The report that holds the launch of a variant and shape, if known.
    pub reports: Option<&'a HashMap<(VariantId, ShapeName), String>>,
    /// What copies of the machine code without one cost gained.
    pub ablations: &'a [AblationRecord],
}

/// Utilisation of a unit of the chip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Utilisation {
    /// The unit, for people.
    pub unit: &'static str,
    /// Percent of its peak; none if it was not counted.
    pub percent: Option<f64>,
}

/// The units whose limits a kernel meets first, each with its metrics of utilisation. The first counted metric is used.
const SPEED_OF_LIGHT: [(&str, &[&str]); 5] = [
    ("Tensor pipe", &["tensor_busy", "tensor_pct"]),
    ("FP32 pipe", &["fma_busy"]),
    ("DRAM", &["dram_busy"]),
    ("L2", &["l2_busy"]),
    ("Issue slots", &["issue_slot_utilisation"]),
];

/// How often a rule holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct RuleAnswers {
    pub rule: String,
    /// Variants and shapes, or launches, for which it holds.
    pub holds: usize,
    /// Those with known inputs for which it does not hold.
    pub does_not_hold: usize,
    /// Those with an unmeasured input.
    pub not_known: usize,
}

/// Facts shared by all variants, computed once.
struct SharedFacts<'d> {
    columns: CaseColumns<'d>,
    planned: HashMap<&'d VariantId, &'d PlannedVariant<'d>>,
    pairs: Pairs<'d>,
}

/// One thread's view of the diagnosis.
struct DiagnosisWorker<'c> {
    common: &'c SharedFacts<'c>,
    table: CaseTable<'c>,
}

impl SharedFacts<'_> {
    /// What is planned of a variant at a shape.
    fn evaluation(&self, variant: &VariantId, shape: &ShapeName) -> Option<&PlannedEvaluation<'_>> {
        self.planned.get(variant)?.evaluations.iter().find(|evaluation| evaluation.shape == shape)
    }
}

impl<'a> Diagnosis<'a> {
    /// A diagnosis of measurements alone.
    pub const fn of(
        rules: &'a RuleBook,
        quantities: &'a Quantities,
        shapes: &'a [ShapeFacts],
        chip: &'a ChipKnowledge,
    ) -> Self {
        let compilation = Compilation { debug: None, optimisation: None };
        let (variants, observations, ablations): (&[PlannedVariant<'_>], &[NcuObservations], &[AblationRecord]) =
            (&[], &[], &[]);
        let (baseline, reports) = (None, None);
        Self { rules, quantities, variants, baseline, compilation, shapes, chip, observations, reports, ablations }
    }

    /// Findings for these variants at every shape, by variant and shape, the most important first.
    pub fn findings(&self, variants: &[VariantId]) -> Vec<Finding> {
        let common = self.common();
        let share = variants.len().div_ceil(SHARES * rayon::current_num_threads()).max(1);
        let found = variants.par_chunks(share).flat_map_iter(|variants| {
            let asked = DiagnosisWorker { common: &common, table: CaseTable::new(&common.columns) };
            let found = variants.iter().flat_map(|variant| self.of_variant(&asked, variant));
            found.collect::<Vec<Finding>>()
        });
        found.collect()
    }

    /// How often each rule holds among these variants at every shape, in the order of the rules.
    pub fn answers(&self, variants: &[VariantId]) -> Vec<RuleAnswers> {
        let common = self.common();
        let asked = DiagnosisWorker { common: &common, table: CaseTable::new(&common.columns) };
        let mut answers: Vec<RuleAnswers> = self
            .rules
            .rules()
            .iter()
            .map(|rule| RuleAnswers { rule: rule.id.clone(), ..RuleAnswers::default() })
            .collect();
        for (variant, shape) in variants.iter().flat_map(|v| self.shapes.iter().map(move |shape| (v, shape))) {
            let growth = growth(&asked.table, variant, shape, self.shapes);
            let Some(facts) = self.evaluation(&asked, variant, shape, growth.as_ref()) else { continue };
            for ((_, bound), answer) in self.rules.bound().zip(&mut answers) {
                match facts.answer(bound) {
                    Some(true) => answer.holds += 1,
                    Some(false) => answer.does_not_hold += 1,
                    None => answer.not_known += 1,
                }
            }
        }
        answers
    }

    /// Utilisation of each unit in the launches of a variant, in percent of its peak; none if it was not counted.
    pub fn speed_of_light(&self, variant: &VariantId, shape: &ShapeName) -> Vec<Utilisation> {
        self.with_facts(variant, shape, |facts| {
            let Some(facts) = facts else { return Vec::new() };
            let of = |(unit, names): &(&'static str, &[&str])| Utilisation {
                unit,
                percent: names.iter().find_map(|name| facts.whole.number(name)).filter(|percent| *percent >= 0.0),
            };
            SPEED_OF_LIGHT.iter().map(of).collect()
        })
    }

    /// The busiest unit in the launches of a variant, in words; none if no utilisation is known.
    pub fn busiest(&self, variant: &VariantId, shape: &ShapeName) -> Option<String> {
        self.with_facts(variant, shape, |facts| facts?.whole.busiest_words())
    }

    /// Calls a function with the facts of a variant at a shape, unless the variant was not measured there.
    pub(super) fn with_facts<T>(
        &self,
        variant: &VariantId,
        shape: &ShapeName,
        ask: impl FnOnce(Option<&EvaluationFacts<'_>>) -> T,
    ) -> T {
        let common = self.common();
        let asked = DiagnosisWorker { common: &common, table: CaseTable::new(&common.columns) };
        let Some(shape) = self.shapes.iter().find(|known| &known.name == shape) else { return ask(None) };
        let growth = growth(&asked.table, variant, shape, self.shapes);
        ask(self.evaluation(&asked, variant, shape, growth.as_ref()).as_ref())
    }

    fn common(&self) -> SharedFacts<'_> {
        SharedFacts {
            columns: CaseColumns::new(self.quantities, self.rules.names()),
            planned: self.variants.iter().map(|variant| (variant.id, variant)).collect(),
            pairs: Pairs::new(self.variants),
        }
    }

    fn of_variant(&self, asked: &DiagnosisWorker<'_>, variant: &VariantId) -> Vec<Finding> {
        let mut found = Vec::new();
        for shape in self.shapes {
            let mut of_case = self.of_case(asked, variant, shape);
            self.measure(asked, &mut of_case, shape);
            if !self.ablations.is_empty() {
                measured_causes::apply(&mut of_case, (variant, &shape.name), self.ablations, self.rules);
                of_case.iter_mut().for_each(|finding| finding.severity = severity(finding));
                self.rank(&mut of_case);
            }
            found.extend(of_case);
        }
        found
    }

    fn of_case(&self, asked: &DiagnosisWorker<'_>, variant: &VariantId, shape: &ShapeFacts) -> Vec<Finding> {
        let growth = growth(&asked.table, variant, shape, self.shapes);
        let Some(facts) = self.evaluation(asked, variant, shape, growth.as_ref()) else { return Vec::new() };
        let held =
            self.rules.bound().flat_map(|(rule, bound)| facts.held(bound).into_iter().map(move |held| (rule, held)));
        let mut found: Vec<Finding> = held
            .filter_map(|(rule, mut held)| {
                let limit = limit(rule.kind, &facts.whole).lower(Limit(held.held.most, "DRAM or a pipe leaves"));
                let (estimate, counts) = (held.held.percent, held.held.counts);
                held.held.percent = estimate.map(|percent| percent.min(limit.0));
                let mut finding = self.finding(rule, held, variant, &shape.name)?;
                if let Some(saving) = &mut finding.saving {
                    let share = finding.launches.as_ref().map_or(100.0, |launches| launches.percent);
                    saving.percent = bound(saving.modelled, share, counts).min(limit.0);
                }
                let lowers = estimate.is_some_and(|percent| percent > limit.0) && !limit.1.is_empty();
                if lowers && finding.launches.is_none() {
                    let told = finding.sentence.trim_end_matches('.');
                    finding.sentence = format!("{told}; {} {} %.", limit.1, number::short(limit.0));
                }
                let is_worth = finding.saving.as_ref().is_none_or(|saving| saving.percent >= LEAST_BOUND);
                is_worth.then_some(finding)
            })
            .collect();
        self.rank(&mut found);
        found
    }

    fn facts<'t>(
        &'t self,
        asked: &'t DiagnosisWorker<'_>,
        variant: &VariantId,
        shape: &ShapeFacts,
        growth: Option<&'t ShapeGrowth>,
    ) -> Option<CaseFacts<'t>> {
        let table = &asked.table;
        let row = table.row(variant, &shape.name)?;
        let planned = asked.common.evaluation(variant, &shape.name);
        let code = asked.common.planned.get(variant).and_then(|planned| planned.code.as_ref());
        Some(CaseFacts {
            table,
            row,
            baseline: self.baseline.and_then(|id| table.row(id, &shape.name)),
            chip: self.chip,
            compilation: code.map_or(self.compilation, |code| Compilation::of_flags(code.flags)),
            work: DeclaredWork { copied_bytes: planned.and_then(|planned| planned.copied_bytes), ..shape.work },
            growth,
            launches: self.launches(planned, variant, &shape.name),
            known: table.cached(row),
            names: self.rules.names(),
        })
    }

    /// The facts of a variant at a shape, and those of each launch if an evaluation has several.
    fn evaluation<'t>(
        &'t self,
        asked: &'t DiagnosisWorker<'_>,
        variant: &VariantId,
        shape: &ShapeFacts,
        growth: Option<&'t ShapeGrowth>,
    ) -> Option<EvaluationFacts<'t>> {
        let whole = self.facts(asked, variant, shape, growth)?;
        let rows = asked.table.launches(whole.row);
        let alone = EvaluationFacts { whole, launches: Vec::new() };
        if rows.is_empty() || rows.len() > MOST_LAUNCHES {
            return Some(alone);
        }
        let planned = asked.common.evaluation(variant, &shape.name);
        let names = self.launch_names(planned, variant, &shape.name);
        if names.len() != rows.len() {
            return Some(alone);
        }
        let launch = |(row, name): (usize, LaunchName)| {
            let known = asked.table.cached(row);
            // the types of the buffers hold for each launch, the amount of work does not
            let has_f64_buffers = whole.work.has_f64_buffers;
            let (work, baseline) = (DeclaredWork { has_f64_buffers, ..DeclaredWork::default() }, None);
            let facts = CaseFacts { row, baseline, work, growth: None, launches: None, known, ..whole };
            let duration = facts.number(&id::DURATION)?;
            Some((facts, name, duration))
        };
        let launches: Option<Vec<_>> = rows.zip(names).map(launch).collect();
        Some(match launches {
            Some(launches) => alone.with_launches(launches),
            None => alone,
        })
    }

    /// The number of launches of an evaluation, if known.
    fn launches(
        &self,
        planned: Option<&PlannedEvaluation<'_>>,
        variant: &VariantId,
        shape: &ShapeName,
    ) -> Option<usize> {
        let planned = planned.map(|planned| planned.launches);
        let launches = planned.or_else(|| self.quantities.launches(variant, shape).map(|kernels| kernels.len()));
        launches.filter(|launches| *launches > 0)
    }

    /// The launches of an evaluation as reports name them; empty if they are unknown.
    fn launch_names(
        &self,
        planned: Option<&PlannedEvaluation<'_>>,
        variant: &VariantId,
        shape: &ShapeName,
    ) -> Vec<LaunchName> {
        let kernels = self.quantities.launches(variant, shape).map_or(&[][..], |kernels| kernels);
        if let Some(planned) = planned.filter(|planned| !planned.entries.is_empty()) {
            let name = |(at, (number, entry)): (usize, &(usize, &str))| LaunchName {
                number: *number,
                kernel: text::line(&demangled(entry)),
                demangled: kernels.get(at).cloned(),
            };
            return planned.entries.iter().enumerate().map(name).collect();
        }
        let full: Vec<&str> = kernels.iter().map(|kernel| &**kernel).collect();
        let names = short_names(&full).into_iter().zip(kernels).zip(1..);
        names.map(|((kernel, full), number)| LaunchName { number, kernel, demangled: Some(Arc::clone(full)) }).collect()
    }

    fn finding(&self, rule: &Rule, holds: HeldRule<'_, '_>, variant: &VariantId, shape: &ShapeName) -> Option<Finding> {
        let HeldRule { held, facts, launch, launches } = holds;
        let case = rule.cases.get(held.case)?;
        let read = |name: &str| value(facts, name);
        let says = case.says.render_with(&read, &written).unwrap_or_else(|| rule.cause.clone());
        let evidence = rule.evidence.iter().filter_map(|name| Some(evidence(name, facts.number(name)?)));
        let advice = if case.advice.is_empty() { &rule.advice } else { &case.advice };
        let saving = held.percent.map(|percent| SavingEstimate {
            percent,
            modelled: percent,
            source: EstimateSource::Model,
            pair: None,
            ablation: None,
        });
        let key = (variant.clone(), shape.clone());
        let mut finding = Finding {
            rule: rule.id.clone(),
            variant: key.0.clone(),
            shape: key.1.clone(),
            launches,
            cause: rule.cause.clone(),
            kind: rule.kind,
            sentence: number::text::sentence(&says),
            severity: Severity::Note,
            confidence: case.confidence,
            saving,
            evidence: evidence.collect(),
            report: self.reports.and_then(|reports| reports.get(&key)).cloned(),
            lines: self.lines(rule, variant, shape, launch),
            advice: advice.iter().filter_map(|advice| advice.render_with(&read, &written)).collect(),
            symptom_of: None,
        };
        finding.severity = severity(&finding);
        Some(finding)
    }

    /// Source lines at which warps wait for the resource of the rule: those of the launch, if it is one of several.
    fn lines(
        &self,
        rule: &Rule,
        variant: &VariantId,
        shape: &ShapeName,
        launch: Option<&LaunchName>,
    ) -> Vec<FindingLine> {
        let is_of_launch = |seen: &NcuObservations| match launch {
            Some(launch) => launch.demangled.as_deref() == Some(seen.kernel.as_str()),
            None => true,
        };
        let mut of_case = self.observations.iter().filter(|seen| &seen.variant == variant && &seen.shape == shape);
        let seen = of_case.find(|seen| is_of_launch(seen));
        let lines = seen.into_iter().flat_map(|seen| &seen.lines).filter(|line| line.share >= LEAST_SHARE);
        let of_rule = lines.filter(|line| rule.stalls.contains(&line.stall)).take(LINES);
        of_rule
            .map(|hot| FindingLine {
                place: format!("{}:{}", hot.line.file, hot.line.line).into(),
                source: hot.line.text.as_deref().map(|source| source.trim().into()),
                share: hot.share,
                stall: hot.stall.replace('_', " ").into(),
                awaited: hot.dependency.as_ref().map(|dependency| awaited(dependency, &hot.line)),
            })
            .collect()
    }

    /// Orders the findings of one case and marks symptoms of others.
    fn rank(&self, found: &mut [Finding]) {
        let worth = |finding: &Finding| {
            matches!(finding.kind, RuleKind::Defect | RuleKind::Redesign) && finding.severity > Severity::Note
        };
        let kernel = |finding: &Finding| finding.launches.as_ref().map(|launches| launches.kernel.clone());
        let causes: Vec<(String, Option<CleanText>, f64)> = found
            .iter()
            .filter(|finding| worth(finding))
            // a limit has no estimate, so that symptoms of any cost fold
            .map(|finding| {
                let stake = if finding.saving.is_some() { finding.expected() } else { f64::INFINITY };
                (finding.rule.clone(), kernel(finding), stake)
            })
            .collect();
        for finding in found.iter_mut() {
            // the most severe of the findings that explain it, about the same kernel or the whole evaluation; what costs far
            // more than its cause has another cause too
            let (own, costs) = (kernel(finding), finding.expected());
            let explains = causes.iter().filter(|(rule, kernel, stake)| {
                let fits = (kernel.is_none() || kernel == &own) && stake * MOST_TIMES >= costs;
                fits && self.rules.explains(rule, &finding.rule)
            });
            let cause = explains.max_by(|a, b| a.2.total_cmp(&b.2));
            finding.symptom_of = cause.map(|(rule, ..)| rule.clone());
        }
        found.sort_by(|a, b| {
            let key = |f: &Finding| (f.symptom_of.is_some(), place(f));
            let tens = |f: &Finding| (f.expected() / TIE).floor();
            let by_gain = key(a).cmp(&key(b)).then(tens(b).total_cmp(&tens(a)));
            by_gain.then(b.confidence.cmp(&a.confidence)).then(b.expected().total_cmp(&a.expected()))
        });
    }

    /// Compares the estimate of the costliest defect with another variant of the run in which its rule does not hold. One that
    /// is faster measures the saving. One that is not, or that is faster by much less than the estimate, speaks against the
    /// finding, and the next defect is compared. Only one is measured, because one difference in time can price only one defect.
    fn measure(&self, asked: &DiagnosisWorker<'_>, found: &mut [Finding], shape: &ShapeFacts) {
        let mut compared: Vec<String> = Vec::new();
        let Some(variant) = found.first().map(|finding| finding.variant.clone()) else { return };
        let siblings = asked.common.pairs.siblings(&asked.table, &variant, &shape.name);
        while compared.len() < MOST_COMPARED && !siblings.is_empty() {
            let is_next = |f: &Finding| f.kind == RuleKind::Defect && f.is_leading() && !compared.contains(&f.rule);
            let Some(at) = found.iter().position(is_next) else { return };
            let Some(first) = found.get_mut(at) else { return };
            let pair = self.pair(asked, &siblings, &first.rule, shape);
            compared.push(first.rule.clone());
            let (Some(pair), Some(saving)) = (pair, &mut first.saving) else { continue };
            let (gain, bound) = (pair.percent, saving.percent);
            saving.pair = Some(pair);
            if gain >= FASTER {
                saving.source = EstimateSource::MeasuredPair;
                saving.percent = bound.max(gain);
            }
            if gain < bound / 3.0 {
                first.confidence = Confidence::Low;
                first.severity = severity(first);
            }
            self.rank(found);
            if gain >= FASTER {
                return;
            }
        }
    }

    /// The fastest sibling for which the rule does not hold.
    fn pair(
        &self,
        asked: &DiagnosisWorker<'_>,
        siblings: &[MeasuredPair],
        rule: &str,
        shape: &ShapeFacts,
    ) -> Option<MeasuredPair> {
        let (_, bound) = self.rules.bound().find(|(known, _)| known.id == rule)?;
        let answer = |other: &MeasuredPair| {
            let growth = growth(&asked.table, &other.variant, shape, self.shapes);
            self.evaluation(asked, &other.variant, shape, growth.as_ref())?.answer(bound)
        };
        fastest_without(siblings, answer).cloned()
    }
}

/// Gains in the same ten points are a tie, which confidence breaks: no estimate is more exact.
const TIE: f64 = 10.0;
/// How many times more than its cause a symptom costs at most.
const MOST_TIMES: f64 = 3.0;
/// Most defects of a variant that are compared with other variants.
const MOST_COMPARED: usize = 3;

/// The result that the instruction of a line waits for.
fn awaited(dependency: &Dependency, waiting: &Line) -> AwaitedResult {
    let opcode =
        |text: &str| text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default().to_owned();
    let place = dependency.line.as_ref().map(|line| format!("{}:{}", line.file, line.line));
    let source = dependency.line.as_ref().and_then(|line| line.text.as_deref()).map(str::trim);
    let mut words =
        format!("{} waits for {}, {}", opcode(&dependency.waiting), opcode(&dependency.producer), dependency.kind);
    if let (Some(place), false) = (&place, dependency.line.as_ref() == Some(waiting)) {
        words.push_str(&format!(" at {place}"));
    }
    AwaitedResult {
        waiting: (&dependency.waiting).into(),
        instruction: (&dependency.producer).into(),
        kind: dependency.kind.into(),
        place: place.map(CleanText::from),
        source: source.map(CleanText::from),
        words: words.into(),
    }
}

/// Findings with a lower bound are left out.
const LEAST_BOUND: f64 = 1.0;
/// Chunks of the variants for each thread.
const SHARES: usize = 4;
/// Evaluations with more launches are diagnosed only as a whole.
const MOST_LAUNCHES: usize = 1_000;
/// Lines below this percentage of the samples are not named.
const LEAST_SHARE: f64 = 1.0;
/// Source lines kept of a finding.
const LINES: usize = 3;

/// No fix saves all of the time.
const NEARLY_ALL: f64 = 99.4;

/// The bound of an estimate, both in percent of the time, of launches that take `share` percent of it: mending a defect
/// also saves instructions and conflicts that no counter books to it, so that the rest of the time shrinks too. With this
/// power most gains of measured pairs lie inside (docs/diagnosis.md). Idle time is counted as it is.
fn bound(estimate: f64, share: f64, counts: CountedTime) -> f64 {
    match counts {
        CountedTime::Idle => estimate.min(share),
        CountedTime::Busy => share * (1.0 - (1.0 - (estimate / share).clamp(0.0, 1.0)).powf(1.6)),
    }
}

/// The most that a fix saves, in percent of the time, and what leaves that much, in words; none for any fix.
#[derive(Debug, Clone, Copy)]
struct Limit(f64, &'static str);

impl Limit {
    fn lower(self, other: Self) -> Self {
        if other.0 < self.0 { other } else { self }
    }
}

/// The most that any fix saves of an evaluation: what the declared work leaves at the roofline and, without a redesign,
/// what the tensor pipe leaves. Mending a defect changes other instructions than matrix products.
fn limit(kind: RuleKind, whole: &CaseFacts<'_>) -> Limit {
    let is_declared = whole.work.flops.or(whole.work.bytes).is_some();
    let roofline = if is_declared { "the declared work leaves" } else { "the launch itself takes 1 µs, which leaves" };
    let needs: &[(&str, &str)] = match kind {
        RuleKind::Redesign => &[("tensor_roofline_pct", roofline)],
        RuleKind::Defect | RuleKind::Doubt | RuleKind::Remark => {
            &[("roofline_pct", roofline), ("tensor_pct", "the tensor pipe leaves")]
        }
    };
    let limits = needs.iter().filter_map(|(name, words)| Some(Limit((100.0 - whole.number(name)?).max(0.0), words)));
    limits.fold(Limit(NEARLY_ALL, ""), Limit::lower)
}

/// Order: the defect that another variant of the run was measured without, other causes worth trying, doubts about the
/// numbers, small findings, remarks.
fn place(finding: &Finding) -> u8 {
    let measured = finding.saving.as_ref().is_some_and(|saving| saving.source == EstimateSource::MeasuredPair);
    match (finding.kind, finding.severity) {
        (RuleKind::Defect | RuleKind::Redesign, Severity::Advice | Severity::Warning) => u8::from(!measured),
        (RuleKind::Doubt, _) => 2,
        (RuleKind::Defect | RuleKind::Redesign, Severity::Note) => 3,
        (RuleKind::Remark, _) => 4,
    }
}

fn severity(finding: &Finding) -> Severity {
    match finding.expected() {
        _ if finding.kind == RuleKind::Remark => Severity::Note,
        // a limit has no estimate, and is what to know if nothing else costs much
        _ if finding.kind == RuleKind::Redesign && finding.saving.is_none() => Severity::Advice,
        // a finding with plausible alternatives is not severe
        expected if expected >= SEVERE && finding.confidence > Confidence::Low => Severity::Warning,
        expected if expected >= WORTH_TRYING => Severity::Advice,
        _ => Severity::Note,
    }
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
    let percent =
        || if name.ends_with("_pct") || name.ends_with("_busy") || name.starts_with("share_") { "%" } else { "" };
    let unit = Catalogue::embedded().get(name).map_or_else(percent, |metric| metric.unit.as_str());
    EvidenceValue { name: name.into(), value, text: number::in_sentence(value, unit).into() }
}

impl Compilation {
    /// Reads the flags of nvcc. Without a level, ptxas uses 3.
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
mod tests;
