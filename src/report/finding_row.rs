//! Findings as readers and programs are given them.

use super::number;
use super::text;
use crate::config::{Confidence, RuleKind};
use crate::explain::{EstimateSource, EvidenceValue, Finding, Saving, Severity};
use crate::model::ShapeName;
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
            leading: false,
        }
    }
}

fn row(saving: &Saving, expected: f64) -> SavingRow {
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

fn evidence(evidence: &EvidenceValue) -> EvidenceRow {
    EvidenceRow {
        name: text::line(&evidence.name),
        value: evidence.value,
        text: text::line(&number::said(evidence.value, &evidence.unit)),
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
