//! Observations of Nsight Compute on a variant: its rules, and sampled locations of warps.

use crate::finding::{EstimateSource, Finding, Severity};
use crate::finding_row::{FindingRow, SavingRow};
use crate::launches::DiagnosedLaunch;
use crate::profiler::{NcuObservations, NcuRuleMessage};
use ncu_rep::SpeedupScope;
use ncugate_model::number::{Number, text};
use ncugate_model::rule::{Confidence, RuleKind};
use ncugate_model::{CleanText, Line};
use schemars::JsonSchema;
use serde::Serialize;

/// Observations of Nsight Compute on a variant at a shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NcuAdvice {
    pub shape: CleanText,
    /// Messages of its rules, the largest estimated speedup first.
    pub rules: Vec<RuleRow>,
    /// Instructions with the most samples.
    pub hot: Vec<HotRow>,
    /// Source lines with the most samples.
    pub lines: Vec<HotLineRow>,
    /// Missing information about its instructions, and why.
    pub missing: Vec<CleanText>,
}

/// A message of one of ncu's rules.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RuleRow {
    /// Title.
    pub title: CleanText,
    /// Message.
    pub text: CleanText,
    /// Estimated speedup in percent: a cap, no promise.
    pub speedup: Option<f64>,
    /// The same in words: `at most 41.5 %`, with `of the unit` where it is not of the whole time.
    pub estimate: Option<CleanText>,
}

/// An instruction that ncu's sampler found warps at.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HotRow {
    /// Bytes from the kernel's first instruction, in hexadecimal: `+0x1a0`.
    pub offset: CleanText,
    /// Samples.
    pub samples: Number,
    /// Percent of the launch's samples.
    pub share: Number,
    /// The most frequent stall reason of its warps.
    pub stall: CleanText,
    /// The instruction, where it is known.
    pub instruction: Option<CleanText>,
    /// Its source line as `file:line`, where it is known.
    pub line: Option<CleanText>,
    /// The text of that line, where it is known.
    pub source: Option<CleanText>,
    /// The line it was compiled from, where that is of a function inlined at `line`: `cuda_fp16.hpp:708`.
    pub inlined: Option<CleanText>,
}

/// A source line with samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HotLineRow {
    /// The line as `file:line`.
    pub line: CleanText,
    /// Its text, if known.
    pub source: Option<CleanText>,
    pub samples: Number,
    /// Percent of the launch's samples.
    pub share: Number,
    /// Why most of its warps waited.
    pub stall: CleanText,
}

/// Most source lines shown.
const HOTTEST: usize = 12;
/// Most rules of ncu among the findings.
const RULES: usize = 2;
/// Smallest estimate, in percent, that is worth a finding.
const WORTH: f64 = 5.0;
/// Longest text of a rule among the findings, in characters.
const LONGEST: usize = 260;
/// Longest instruction and source line shown, in characters.
const INSTRUCTION: usize = 160;

/// Observations of ncu, in the wording of the report.
pub fn advice(said: &NcuObservations) -> NcuAdvice {
    let rules = said.rules.iter().map(|rule| RuleRow {
        title: (&rule.title).into(),
        text: (&rule.text).into(),
        speedup: rule.speedup.map(|(_, percent)| percent).filter(|percent| percent.is_finite()),
        estimate: rule.speedup.as_ref().map(|(scope, percent)| estimate(scope, *percent).into()),
    });
    let hot = said.hot.iter().map(|spot| HotRow {
        offset: format!("+0x{:x}", spot.offset).into(),
        samples: Number::new(spot.samples as f64),
        share: Number::new(spot.share),
        stall: words(&spot.stall),
        instruction: spot.text.as_deref().map(clipped),
        line: spot.line.as_ref().map(place),
        source: spot.line.as_ref().and_then(|line| line.text.as_deref()).map(clipped),
        inlined: spot.inlined.as_ref().map(place),
    });
    let lines = said.lines.iter().take(HOTTEST).map(|hot| HotLineRow {
        line: place(&hot.line),
        source: hot.line.text.as_deref().map(clipped),
        samples: Number::new(hot.samples as f64),
        share: Number::new(hot.share),
        stall: words(&hot.stall),
    });
    NcuAdvice {
        shape: said.shape.0.clone(),
        rules: rules.collect(),
        hot: hot.collect(),
        lines: lines.collect(),
        missing: said.lacks.iter().map(CleanText::from).collect(),
    }
}

/// The largest estimates of ncu's rules for a variant at a shape, or a launch; those relative to the whole time precede those of
/// a unit. `launch` names the report.
pub fn estimates(
    rules: &[NcuRuleMessage],
    (variant, shape): (&CleanText, &CleanText),
    launch: &str,
) -> Vec<FindingRow> {
    let mut rules: Vec<(&NcuRuleMessage, bool, f64)> = rules
        .iter()
        .filter_map(|rule| rule.speedup.map(|(scope, percent)| (rule, scope == SpeedupScope::Global, percent)))
        .filter(|(_, _, percent)| percent.is_finite() && *percent >= WORTH)
        .collect();
    rules.sort_by(|a, b| b.1.cmp(&a.1).then(b.2.total_cmp(&a.2)));
    let finding = |(rule, whole, percent): (&NcuRuleMessage, bool, f64)| {
        let of = if whole { "of the time" } else { "of the unit's potential" };
        FindingRow {
            title: format!("Nsight Compute: {}", rule.title).into(),
            sentence: format!(
                "{} It estimates at most {percent:.1} % {of}, as if nothing else limited the kernel.",
                beginning(&rule.text)
            )
            .into(),
            severity: Severity::Advice,
            kind: RuleKind::Defect,
            confidence: Confidence::Low,
            advice: CleanText::default(),
            further: Vec::new(),
            variant: variant.clone(),
            shape: shape.clone(),
            launches: None,
            id: format!("ncu/{}:{variant}@{shape}", rule.rule).into(),
            rule: "ncu".into(),
            saving: Some(SavingRow {
                percent,
                modelled: percent,
                expected: if whole { percent } else { 0.0 },
                source: EstimateSource::NcuRule,
                pair: None,
                ablation: None,
                words: format!("at most {percent:.1} % {of}, by Nsight Compute's rule").into(),
            }),
            evidence: Vec::new(),
            launch: Some(launch.into()),
            lines: Vec::new(),
            symptom_of: None,
            leading: false,
        }
    };
    rules.into_iter().take(RULES).map(finding).collect()
}

/// The largest estimates of ncu's rules for a launch in which these rules found nothing or mostly lack counters.
pub fn quoted(launch: &DiagnosedLaunch) -> Vec<FindingRow> {
    let is_answered = launch.findings.iter().any(Finding::is_cause) && launch.unasked.is_mostly_asked();
    let said = launch.observations.as_ref().filter(|_| !is_answered);
    let shape = CleanText::from(format!("launch {}", launch.id));
    said.map_or_else(Vec::new, |said| estimates(&said.rules, (&(&launch.kernel).into(), &shape), shape.as_str()))
}

/// A first sentence of ncu that its estimate is not about.
const NOT_LIMITED: &str = "This kernel's theoretical occupancy is not impacted by any block limit. ";

/// The first sentences of a text within the length limit; at least one.
fn beginning(text: &str) -> String {
    let text = text.strip_prefix(NOT_LIMITED).unwrap_or(text);
    let mut end = 0;
    for (at, _) in text.match_indices(". ").chain([(text.len(), "")]) {
        let next = (at + 1).min(text.len());
        if end > 0 && text[..next].chars().count() > LONGEST {
            break;
        }
        end = next;
    }
    let kept = text::clip(text[..end].trim(), 2 * LONGEST);
    if kept.ends_with(['.', '!', '…']) { kept } else { format!("{kept}.") }
}

fn estimate(scope: &SpeedupScope, percent: f64) -> String {
    match scope {
        SpeedupScope::Global => format!("at most {percent:.1} %"),
        SpeedupScope::Local => format!("at most {percent:.1} % of the unit"),
        SpeedupScope::Other(_) => format!("at most {percent:.1} %, in a scope that ncu does not name"),
    }
}

fn clipped(code: &str) -> CleanText {
    text::clip(code, INSTRUCTION).into()
}

fn words(stall: &str) -> CleanText {
    stall.replace('_', " ").into()
}

fn place(line: &Line) -> CleanText {
    format!("{}:{}", line.file, line.line).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rules_text_is_cut_between_sentences() {
        let long = format!("One is 0.5 of it. {} end. Three.", "two ".repeat(80));
        assert_eq!(beginning(&long), "One is 0.5 of it.");
        assert_eq!(beginning("One. Two"), "One. Two.");
        assert_eq!(beginning(&format!("{NOT_LIMITED}{long}")), "One is 0.5 of it.");
    }
}
