//! Findings beside what copies of the machine code have shown: a measured gain replaces an estimate or bounds it, a cause
//! without a gain is no finding, and a cost that no rule names becomes one.

use super::finding::{EstimateSource, Finding, MeasuredGain, SavingEstimate, Severity, WORTH_TRYING};
use super::rule_book::RuleBook;
use ncugate_model::rule::{Confidence, RuleKind};
use ncugate_model::{Ablation, AblationRecord, ShapeName, VariantId, number};

/// A gain below this, in percent of the time, is none.
const NOTHING: f64 = 1.0;

/// What an ablation says about the cause of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// It removes the cause and nothing else.
    Gain,
    /// It removes more than the cause.
    AtMost,
    /// It removes a little more than the cause: its gain bounds the finding from above even where a rule estimates less.
    Bound,
    /// It removes less: instructions that are switched off still take their places in the schedule.
    AtLeast,
}

/// The ablation for the cause of a rule.
const RULES: [(&str, Ablation, Evidence); 28] = [
    ("barriers", Ablation::Barriers, Evidence::Gain),
    ("spills", Ablation::LocalMemory, Evidence::Gain),
    ("local_memory", Ablation::LocalMemory, Evidence::Gain),
    ("bank_conflicts", Ablation::BankConflicts, Evidence::Gain),
    ("divergent_constants", Ablation::IndexedConstants, Evidence::Gain),
    ("uncached_loads", Ablation::UncachedLoads, Evidence::Gain),
    ("integer_division", Ablation::KnownDivisors, Evidence::AtLeast),
    ("unfused_multiply_add", Ablation::FusedMultiplyAdd, Evidence::Gain),
    ("slow_math", Ablation::ApproximateDivision, Evidence::AtLeast),
    ("special_functions", Ablation::SpecialFunctions, Evidence::AtLeast),
    ("double_precision", Ablation::DoublePrecision, Evidence::AtLeast),
    ("double_by_accident", Ablation::DoublePrecision, Evidence::AtLeast),
    ("shuffles", Ablation::Shuffles, Evidence::AtLeast),
    ("atomics", Ablation::Atomics, Evidence::Bound),
    ("shared_atomics", Ablation::Atomics, Evidence::Bound),
    ("compare_and_swap", Ablation::Atomics, Evidence::Bound),
    ("uncoalesced", Ablation::GlobalMemory, Evidence::AtMost),
    ("gather", Ablation::GlobalMemory, Evidence::AtMost),
    ("reread", Ablation::GlobalMemory, Evidence::AtMost),
    ("load_latency", Ablation::GlobalMemory, Evidence::AtMost),
    ("too_many_loads", Ablation::GlobalMemory, Evidence::AtMost),
    ("uncoalesced_stores", Ablation::GlobalMemory, Evidence::AtMost),
    ("drain", Ablation::GlobalMemory, Evidence::AtMost),
    ("small_grid", Ablation::IdleHardware, Evidence::AtMost),
    ("few_warps", Ablation::IdleHardware, Evidence::AtMost),
    ("tail", Ablation::IdleHardware, Evidence::AtMost),
    ("imbalance", Ablation::IdleHardware, Evidence::AtMost),
    ("tiny_blocks", Ablation::BlockStarts, Evidence::AtMost),
];

/// A cost that is a finding if it is measured.
struct MeasuredCost {
    kind: Ablation,
    /// The rule that advises.
    rule: &'static str,
    /// Title and advice, if no rule has them.
    own: Option<[&'static str; 2]>,
}

const fn cost(kind: Ablation, rule: &'static str) -> MeasuredCost {
    MeasuredCost { kind, rule, own: None }
}

/// Idle hardware is none: between two evaluations every kernel leaves some.
const COSTS: [MeasuredCost; 13] = [
    cost(Ablation::Barriers, "barriers"),
    cost(Ablation::LocalMemory, "local_memory"),
    cost(Ablation::Atomics, "atomics"),
    cost(Ablation::SpecialFunctions, "special_functions"),
    cost(Ablation::DoublePrecision, "double_precision"),
    cost(Ablation::BankConflicts, "bank_conflicts"),
    cost(Ablation::IndexedConstants, "divergent_constants"),
    cost(Ablation::KnownDivisors, "integer_division"),
    cost(Ablation::FusedMultiplyAdd, "unfused_multiply_add"),
    cost(Ablation::ApproximateDivision, "slow_math"),
    cost(Ablation::BlockStarts, "tiny_blocks"),
    MeasuredCost {
        kind: Ablation::Shuffles,
        rule: "shuffles",
        own: Some([
            "Shuffles between lanes",
            "combine several values a lane before the first shuffle, or reduce through shared memory or matrix products",
        ]),
    },
    MeasuredCost {
        kind: Ablation::UncachedLoads,
        rule: "uncached_loads",
        own: Some([
            "Loads go past L1",
            "use ordinary loads (`ld.global`, no `volatile`, `__ldcg`) where no other block writes the data",
        ]),
    },
];

/// Brings the findings of a case in line with its ablations.
pub(super) fn apply(
    found: &mut Vec<Finding>,
    case: (&VariantId, &ShapeName),
    records: &[AblationRecord],
    rules: &RuleBook,
) {
    let records: Vec<_> = records.iter().filter(|record| (&record.variant, &record.shape) == case).collect();
    let by = |kind: &Ablation| records.iter().find(|record| record.edit == *kind).copied();
    found.retain_mut(|finding| {
        let Some((_, kind, evidence)) = RULES.iter().find(|(rule, ..)| *rule == finding.rule) else { return true };
        let Some((record, gain)) = by(kind).and_then(|record| Some((record, record.gain()?))) else { return true };
        // What could not be changed may be the cause.
        if record.left > 0 {
            return true;
        }
        let Some(saving) = &mut finding.saving else { return true };
        let measured = MeasuredGain::of(record, gain);
        match evidence {
            Evidence::Gain | Evidence::AtLeast if *evidence == Evidence::Gain || gain.low > saving.percent => {
                finding.confidence = Confidence::High;
                *saving = SavingEstimate {
                    percent: gain.percent,
                    modelled: gain.percent,
                    source: EstimateSource::Ablation,
                    pair: None,
                    ablation: Some(measured),
                };
            }
            Evidence::AtMost | Evidence::Bound if *evidence == Evidence::Bound || gain.high < saving.percent => {
                let most = gain.high.max(0.0);
                // Nearly all of what was removed is the cause.
                if *evidence == Evidence::Bound {
                    finding.confidence = Confidence::High;
                }
                saving.percent = most;
                saving.modelled = saving.modelled.min(most);
                saving.source = EstimateSource::AblationBound;
                saving.ablation = Some(measured);
            }
            Evidence::Gain | Evidence::AtMost | Evidence::Bound | Evidence::AtLeast => {}
        }
        saving.percent >= NOTHING
    });
    let named = |finding: &Finding| RULES.iter().find(|(rule, ..)| *rule == finding.rule).map(|(_, kind, _)| kind);
    let is_other = |record: &&&AblationRecord| !matches!(record.edit, Ablation::Nothing | Ablation::BlockStarts);
    // Unknown if a copy could not be measured: its cost may hide the start of blocks.
    let gains: Option<Vec<f64>> =
        records.iter().filter(is_other).map(|record| record.gain().map(|gain| gain.high)).collect();
    let others = gains.and_then(|gains| gains.into_iter().reduce(f64::max));
    for MeasuredCost { kind, rule, own } in &COSTS {
        let Some((record, gain)) = by(kind).and_then(|record| Some((record, record.gain()?))) else { continue };
        // Blocks start while others compute: only what no other cost could hide is a cost.
        let is_start = *kind == Ablation::BlockStarts;
        let Some(hidden) = (if is_start { others } else { Some(0.0) }) else { continue };
        if gain.low - hidden.max(0.0) < WORTH_TRYING || found.iter().any(|finding| named(finding) == Some(kind)) {
            continue;
        }
        let known = rules.rules().iter().find(|known| known.id == *rule);
        let (cause, advice) = match (known, own) {
            (Some(rule), _) => {
                let texts = rule.advice.iter().filter_map(|advice| advice.render_with(&|_| None, &|_| String::new()));
                (rule.cause.clone(), texts.collect())
            }
            (None, Some([cause, advice])) => ((*cause).to_owned(), vec![(*advice).to_owned()]),
            (None, None) => continue,
        };
        let measured = MeasuredGain::of(record, gain);
        let percent = |value: f64| number::short(value.max(0.0));
        let most = if is_start { "at most " } else { "" };
        let sentence = number::text::sentence(&format!(
            "{kind}, an evaluation takes {most}{} % less time ({} to {} %); no rule names this",
            percent(gain.percent),
            percent(gain.low),
            percent(gain.high)
        ));
        found.push(Finding {
            rule: (*rule).to_owned(),
            variant: case.0.clone(),
            shape: case.1.clone(),
            launches: None,
            cause,
            kind: known.map_or(RuleKind::Defect, |rule| rule.kind),
            sentence,
            severity: Severity::Advice,
            confidence: Confidence::High,
            saving: Some(SavingEstimate {
                percent: gain.percent,
                modelled: gain.percent,
                source: if is_start { EstimateSource::AblationBound } else { EstimateSource::Ablation },
                pair: None,
                ablation: Some(measured),
            }),
            evidence: Vec::new(),
            report: None,
            lines: Vec::new(),
            advice,
            symptom_of: None,
        });
    }
}
