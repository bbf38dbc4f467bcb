//! Findings as readers and programs are given them.

use super::{number, text};
use crate::explain::{ChipMatch, EstimateSource, EvidenceValue, Finding, SavingEstimate, Severity, SignatureMatch};
use ncugate_model::ShapeName;
use ncugate_phase::config::{Confidence, RuleKind};
use schemars::JsonSchema;
use serde::Serialize;

/// What the numbers say about a variant.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindingRow {
    /// What other outputs cite it by: `bank_conflicts:v@large`.
    pub id: String,
    /// The rule; `ncu` for what Nsight Compute's own rules say.
    pub rule: String,
    /// What is wrong, in a few words.
    pub title: String,
    /// With the numbers.
    pub sentence: String,
    /// How much it matters.
    pub severity: Severity,
    /// What kind of statement it is.
    pub kind: RuleKind,
    /// How sure it is.
    pub confidence: Confidence,
    /// What to try first.
    pub advice: String,
    /// What to try after that.
    pub further: Vec<String>,
    /// The variant it is about.
    pub variant: String,
    /// The shape it is about.
    pub shape: String,
    /// What mending could save.
    pub saving: Option<SavingRow>,
    /// The numbers it rests on.
    pub evidence: Vec<EvidenceRow>,
    /// The report and the range in it that the numbers come from: `other-1.ncu-repz, v@large`.
    pub launch: Option<String>,
    /// Where in the source: `file:line`, share of the samples, why warps wait there.
    pub lines: Vec<FindingLineRow>,
    /// The rule that it is a symptom of.
    pub symptom_of: Option<String>,
    /// A defect, measured on purpose in another kernel, that this one looks like.
    pub signature: Option<SignatureRow>,
    /// Whether the page shows it at first sight.
    pub leading: bool,
}

/// What mending could save.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SavingRow {
    /// Upper bound in percent of the time.
    pub percent: f64,
    /// Weighted by confidence: what findings are ranked by.
    pub expected: f64,
    /// Where it comes from.
    pub source: EstimateSource,
    /// A variant of the run without the trouble.
    pub pair: Option<PairRow>,
    /// In words.
    pub words: String,
}

/// A variant of the run without the trouble.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PairRow {
    /// The variant.
    pub variant: String,
    /// How much less time it takes, in percent.
    pub percent: f64,
    /// The parameter in which the two differ.
    pub differs_in: String,
}

/// A number that a finding rests on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EvidenceRow {
    /// Metric or fact.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The value with its unit.
    pub text: String,
}

/// A source line that belongs to a finding.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindingLineRow {
    /// `file:line`.
    pub place: String,
    /// Its text, where it is known.
    pub source: Option<String>,
    /// Percent of the launch's samples.
    pub share: f64,
    /// Why most of its warps waited.
    pub stall: String,
}

/// A defect that a variant looks like by its counters.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SignatureRow {
    /// The variant that has the defect on purpose.
    pub defect: String,
    /// The phase that measured what it costs.
    pub family: String,
    /// The chip that it was measured on.
    pub chip: String,
    /// Whether that is the chip at hand.
    pub on: ChipMatch,
    /// How much more time it took there, in percent.
    pub cost_percent: f64,
    /// The interval of that at 95 %.
    pub cost_interval: [f64; 2],
    /// How alike the two are: from 0, the kernel without the defect, to 1, the kernel with it.
    pub likeness: f64,
    /// Its opposite: what to try.
    pub opposite: String,
    /// In words.
    pub words: String,
}

/// Longest source line shown, in characters.
const SOURCE: usize = 120;

impl FindingRow {
    /// A finding; at another shape than `objective` it says which.
    pub fn of(finding: &Finding, objective: &ShapeName) -> Self {
        let said = text::line(&finding.sentence);
        let sentence = match &finding.shape == objective {
            true => said,
            false => format!("At shape {}: {}", text::line(&finding.shape.0), text::inside(&said)),
        };
        let mut advice = finding.advice.iter().map(|advice| text::sentence(&text::line(advice)));
        let case = format!("{}@{}", finding.variant, finding.shape);
        Self {
            id: text::line(&finding.id()),
            rule: text::line(&finding.rule),
            title: text::line(&finding.cause),
            sentence,
            severity: finding.severity,
            kind: finding.kind,
            confidence: finding.confidence,
            advice: advice.next().unwrap_or_default(),
            further: advice.collect(),
            variant: text::line(&finding.variant.0),
            shape: text::line(&finding.shape.0),
            saving: finding.saving.as_ref().map(|saving| row(saving, finding.expected())),
            evidence: finding.evidence.iter().map(evidence).collect(),
            launch: finding.report.as_ref().map(|report| text::line(&format!("{report}, {case}"))),
            lines: finding.lines.iter().map(line).collect(),
            symptom_of: finding.symptom_of.clone(),
            signature: finding.signature.as_ref().map(signature),
            leading: false,
        }
    }
}

impl FindingRow {
    /// Whether it is a cause that is worth mending, and no symptom of another.
    pub fn is_cause(&self) -> bool {
        let is_cause = matches!(self.kind, RuleKind::Defect | RuleKind::Redesign);
        is_cause && self.symptom_of.is_none() && self.severity > Severity::Note
    }
}

fn row(saving: &SavingEstimate, expected: f64) -> SavingRow {
    let pair = saving.pair.as_ref().map(|pair| PairRow {
        variant: text::line(&pair.variant.0),
        percent: pair.percent,
        differs_in: text::line(&pair.differs_in),
    });
    let measured = pair.as_ref().map(|pair| {
        format!(
            "measured: {}, which differs in {}, takes {:.0} % less time",
            pair.variant, pair.differs_in, pair.percent
        )
    });
    let modelled = format!("at most {:.0} % of the time, by the counters", saving.percent);
    let words = [Some(modelled), measured].into_iter().flatten().collect::<Vec<_>>().join("; ");
    SavingRow { percent: saving.percent, expected, source: saving.source, pair, words }
}

fn signature(found: &SignatureMatch) -> SignatureRow {
    let (family, defect, chip) = (text::line(&found.family), text::line(&found.defect), text::line(&found.chip.name));
    let percent = |percent: f64| number::change(1.0 + percent / 100.0);
    let there = match found.on {
        ChipMatch::Same => format!("on this chip, {chip}"),
        ChipMatch::Other => format!("on {chip}, which is another chip"),
        ChipMatch::Unknown => format!("on {chip}; which chip this is, is not known"),
    };
    let words = format!(
        "it has the signature of the defect {defect} of {family} ({} of {} counters), which cost {} ({} to {}) in that family {there}",
        found.alike,
        found.compared,
        percent(found.cost.percent),
        percent(found.cost.low),
        percent(found.cost.high)
    );
    SignatureRow {
        defect,
        family,
        chip,
        on: found.on,
        cost_percent: found.cost.percent,
        cost_interval: [found.cost.low, found.cost.high],
        likeness: found.likeness,
        opposite: text::sentence(&text::line(&found.opposite)),
        words: text::sentence(&words),
    }
}

fn evidence(evidence: &EvidenceValue) -> EvidenceRow {
    EvidenceRow {
        name: text::line(&evidence.name),
        value: evidence.value,
        text: text::line(&number::in_sentence(evidence.value, &evidence.unit)),
    }
}

fn line(line: &crate::explain::FindingLine) -> FindingLineRow {
    FindingLineRow {
        place: text::line(&line.place),
        source: line.text.as_deref().map(|source| text::clip(source.trim(), SOURCE)),
        share: line.share,
        stall: text::line(&line.stall.replace('_', " ")),
    }
}
