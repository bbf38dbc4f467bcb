//! Findings in the form for readers and programs.

use crate::finding::{
    EstimateSource, EvidenceValue, Finding, FindingLaunches, FindingLine, MeasuredGain, MeasuredPair, SavingEstimate,
    Severity,
};
use ncugate_model::number::{self, text};
use ncugate_model::rule::{Confidence, RuleKind};
use ncugate_model::{CleanText, ShapeName};
use schemars::JsonSchema;
use serde::Serialize;

/// A finding about a variant.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindingRow {
    /// What other outputs cite it by: `bank_conflicts:v@large`.
    pub id: CleanText,
    /// The rule; `ncu` for what Nsight Compute's own rules say.
    pub rule: CleanText,
    /// The problem, in a few words.
    pub title: CleanText,
    /// With the numbers.
    pub sentence: CleanText,
    /// How much it matters.
    pub severity: Severity,
    /// The kind of statement.
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
    /// The launches it is about; null if it is about the whole evaluation or its only launch.
    pub launches: Option<FindingLaunches>,
    /// The possible saving of a fix.
    pub saving: Option<SavingRow>,
    /// The numbers it rests on.
    pub evidence: Vec<EvidenceValue>,
    /// The report and the range in it that the numbers come from: `other-1.ncu-repz, v@large`.
    pub launch: Option<CleanText>,
    /// Where in the source: `file:line`, share of the samples, why warps wait there.
    pub lines: Vec<FindingLine>,
    /// The rule that it is a symptom of.
    pub symptom_of: Option<CleanText>,
    /// Whether the page shows it at first sight.
    pub leading: bool,
}

/// The possible saving of a fix.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SavingRow {
    /// Upper bound in percent of the time.
    pub percent: f64,
    /// The estimate of the rule, from which the bound is made.
    pub modelled: f64,
    /// Findings are ranked by this: the estimate, or 0 if it is not of the whole time.
    pub expected: f64,
    /// Where it comes from.
    pub source: EstimateSource,
    /// A variant of the run without the trouble; one that is not faster speaks against the finding.
    pub pair: Option<MeasuredPair>,
    /// What a copy of the machine code without the cause gained, or without more than it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ablation: Option<MeasuredGain>,
    /// In words.
    pub words: CleanText,
}

impl FindingRow {
    /// A finding, with its shape if that is not `objective`.
    pub fn of(finding: &Finding, objective: &ShapeName) -> Self {
        let said = match &finding.launches {
            Some(launches) => format!("{}: {}", subject(launches), text::inside(&finding.sentence)).into(),
            None => CleanText::from(&finding.sentence),
        };
        let sentence = match &finding.shape == objective {
            true => said,
            false => format!("At shape {}: {}", finding.shape, text::inside(&said)).into(),
        };
        let mut advice = finding.advice.iter().map(|advice| text::sentence(advice).into());
        let launch = finding.launches.as_ref().map_or_else(String::new, |l| format!(", launch {}", l.number));
        let case = format!("{}@{}{launch}", finding.variant, finding.shape);
        Self {
            id: finding.id().into(),
            rule: (&finding.rule).into(),
            title: (&finding.cause).into(),
            sentence,
            severity: finding.severity,
            kind: finding.kind,
            confidence: finding.confidence,
            advice: advice.next().unwrap_or_default(),
            further: advice.collect(),
            variant: finding.variant.0.clone(),
            shape: finding.shape.0.clone(),
            launches: finding.launches.clone(),
            saving: finding.saving.as_ref().map(|saving| row(saving, finding.expected())),
            evidence: finding.evidence.clone(),
            launch: finding.report.as_ref().map(|report| format!("{report}, {case}").into()),
            lines: finding.lines.clone(),
            symptom_of: finding.symptom_of.as_ref().map(CleanText::from),
            leading: false,
        }
    }
}

impl FindingRow {
    /// The title without the sentence, with the kernel if it is one of several: `Few warps, in count_blocks`.
    pub fn heading(&self) -> CleanText {
        match &self.launches {
            Some(launches) => CleanText::whole(&format!("{}, in {}", self.title, launches.kernel)),
            None => self.title.clone(),
        }
    }

    /// Whether it is a cause that is worth fixing, not a symptom of another finding.
    pub fn is_cause(&self) -> bool {
        let is_cause = matches!(self.kind, RuleKind::Defect | RuleKind::Redesign);
        is_cause && self.symptom_of.is_none() && self.severity > Severity::Note
    }
}

/// `Launch 2, sum, 25 % of the time`, or `24 launches of scan, 80 % of the time, such as launch 3`.
fn subject(launches: &FindingLaunches) -> String {
    let FindingLaunches { kernel, count, number, percent } = launches;
    let share = format!("{} of the time", number::share(*percent));
    match count {
        1 => format!("Launch {number}, {kernel}, {share}"),
        many => format!("{many} launches of {kernel}, {share}, such as launch {number}"),
    }
}
fn row(saving: &SavingEstimate, expected: f64) -> SavingRow {
    let pair = saving.pair.clone();
    let measured = pair.as_ref().map(|pair| {
        let (variant, differs_in, percent) = (&pair.variant, &pair.differs_in, pair.percent);
        match saving.source {
            EstimateSource::MeasuredPair => {
                format!("measured: {variant}, which differs in {differs_in}, takes {percent:.0} % less time")
            }
            _ if percent <= -0.5 => {
                format!(
                    "but {variant}, which differs in {differs_in} and lacks this, takes {:.0} % more time",
                    -percent
                )
            }
            _ => format!("but {variant}, which differs in {differs_in} and lacks this, is not faster"),
        }
    });
    let modelled = format!("at most {:.0} % of the time, estimated from counters", saving.percent);
    let is_modelled = pair.as_ref().is_none_or(|pair| pair.percent < saving.percent);
    let bound = saving.ablation.as_ref().map(MeasuredGain::words);
    let words = match (saving.source, &saving.ablation) {
        (EstimateSource::Ablation, Some(gain)) => gain.words(),
        _ => [is_modelled.then_some(modelled), measured, bound].into_iter().flatten().collect::<Vec<_>>().join("; "),
    };
    SavingRow {
        percent: saving.percent,
        modelled: saving.modelled,
        expected,
        source: saving.source,
        pair,
        ablation: saving.ablation.clone(),
        words: words.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::VariantId;

    #[test]
    fn a_finding_of_a_launch_names_the_launch() {
        let finding = Finding {
            rule: "fixed_latency".to_owned(),
            variant: VariantId("v".into()),
            shape: ShapeName("s".into()),
            launches: Some(FindingLaunches { kernel: "scale".into(), count: 1, number: 1, percent: 25.0 }),
            cause: "Fixed latencies".to_owned(),
            kind: RuleKind::Defect,
            sentence: "Warps wait 75 % of the time.".to_owned(),
            severity: Severity::Advice,
            confidence: Confidence::Medium,
            saving: None,
            evidence: Vec::new(),
            report: None,
            lines: Vec::new(),
            advice: Vec::new(),
            symptom_of: None,
        };
        let row = FindingRow::of(&finding, &finding.shape);
        assert_eq!(row.sentence.to_string(), "Launch 1, scale, 25.0 % of the time: warps wait 75 % of the time.");
    }
}
