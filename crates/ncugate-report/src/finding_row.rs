//! Findings as readers and programs are given them.

use super::{number, text};
use crate::explain::{
    ChipMatch, EstimateSource, EvidenceValue, Finding, FindingLine, MeasuredPair, SavingEstimate, Severity,
    SignatureMatch,
};
use ncugate_model::{CleanText, ShapeName};
use ncugate_phase::config::{Confidence, RuleKind};
use schemars::JsonSchema;
use serde::Serialize;

/// What the numbers say about a variant.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindingRow {
    /// What other outputs cite it by: `bank_conflicts:v@large`.
    pub id: CleanText,
    /// The rule; `ncu` for what Nsight Compute's own rules say.
    pub rule: CleanText,
    /// What is wrong, in a few words.
    pub title: CleanText,
    /// With the numbers.
    pub sentence: CleanText,
    /// How much it matters.
    pub severity: Severity,
    /// What kind of statement it is.
    pub kind: RuleKind,
    /// How sure it is.
    pub confidence: Confidence,
    /// What to try first.
    pub advice: CleanText,
    /// What to try after that.
    pub further: Vec<CleanText>,
    /// The variant it is about.
    pub variant: CleanText,
    /// The shape it is about.
    pub shape: CleanText,
    /// What mending could save.
    pub saving: Option<SavingRow>,
    /// The numbers it rests on.
    pub evidence: Vec<EvidenceValue>,
    /// The report and the range in it that the numbers come from: `other-1.ncu-repz, v@large`.
    pub launch: Option<CleanText>,
    /// Where in the source: `file:line`, share of the samples, why warps wait there.
    pub lines: Vec<FindingLine>,
    /// The rule that it is a symptom of.
    pub symptom_of: Option<CleanText>,
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
    pub pair: Option<MeasuredPair>,
    /// In words.
    pub words: CleanText,
}

/// A defect that a variant looks like by its counters.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SignatureRow {
    /// The variant that has the defect on purpose.
    pub defect: CleanText,
    /// The phase that measured what it costs.
    pub family: CleanText,
    /// The chip that it was measured on.
    pub chip: CleanText,
    /// Whether that is the chip at hand.
    pub on: ChipMatch,
    /// How much more time it took there, in percent.
    pub cost_percent: f64,
    /// The interval of that at 95 %.
    pub cost_interval: [f64; 2],
    /// How alike the two are: from 0, the kernel without the defect, to 1, the kernel with it.
    pub likeness: f64,
    /// Its opposite: what to try.
    pub opposite: CleanText,
    /// In words.
    pub words: CleanText,
}

impl FindingRow {
    /// A finding; at another shape than `objective` it says which.
    pub fn of(finding: &Finding, objective: &ShapeName) -> Self {
        let said = text::line(&finding.sentence);
        let sentence = match &finding.shape == objective {
            true => said,
            false => format!("At shape {}: {}", finding.shape, text::inside(&said)),
        };
        let mut advice = finding.advice.iter().map(|advice| text::sentence(advice).into());
        let case = format!("{}@{}", finding.variant, finding.shape);
        Self {
            id: finding.id().into(),
            rule: (&finding.rule).into(),
            title: (&finding.cause).into(),
            sentence: sentence.into(),
            severity: finding.severity,
            kind: finding.kind,
            confidence: finding.confidence,
            advice: advice.next().unwrap_or_default(),
            further: advice.collect(),
            variant: finding.variant.0.clone(),
            shape: finding.shape.0.clone(),
            saving: finding.saving.as_ref().map(|saving| row(saving, finding.expected())),
            evidence: finding.evidence.clone(),
            launch: finding.report.as_ref().map(|report| format!("{report}, {case}").into()),
            lines: finding.lines.clone(),
            symptom_of: finding.symptom_of.as_ref().map(CleanText::from),
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
    let pair = saving.pair.clone();
    let measured = pair.as_ref().map(|pair| {
        format!(
            "measured: {}, which differs in {}, takes {:.0} % less time",
            pair.variant, pair.differs_in, pair.percent
        )
    });
    let modelled = format!("at most {:.0} % of the time, by the counters", saving.percent);
    let words = [Some(modelled), measured].into_iter().flatten().collect::<Vec<_>>().join("; ");
    SavingRow { percent: saving.percent, expected, source: saving.source, pair, words: words.into() }
}

fn signature(found: &SignatureMatch) -> SignatureRow {
    let [family, defect, chip] = [&found.family, &found.defect, &found.chip.name].map(CleanText::from);
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
        opposite: text::sentence(&found.opposite).into(),
        words: text::sentence(&words).into(),
    }
}
