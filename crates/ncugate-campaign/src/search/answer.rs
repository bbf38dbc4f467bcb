//! Answers for an agent, in less than two kilobytes.

use super::next::NextPoint;
use ncu_explain::{ChangeDirection, DiagnosisOutcome, FindingRow};
use ncugate_model::{ShapeName, Verdict};
use ncugate_report::{RunReport, ShapeDelta, text};
use serde::Serialize;
use std::collections::BTreeMap;

/// Size limit of an answer in bytes.
pub const ANSWER_BYTES: usize = 2000;

/// Length limit of a sentence in characters.
const SENTENCE: usize = 260;

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptAnswer {
    /// Its number in the history.
    pub attempt: usize,
    /// Whether it becomes the new best: every required gate holds, and it is faster at two of three shapes.
    pub accepted: bool,
    /// The verdict of the required gates.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
    /// Confirmed speedup over the best so far, by shape; `None` if it was not timed.
    pub speedup: BTreeMap<String, Option<f64>>,
    /// Whether it is faster by at least the limit, by shape.
    pub faster: BTreeMap<String, Verdict>,
    /// The objective by shape, compared with the best so far.
    pub times: BTreeMap<String, AgentTime>,
    /// Other changes against the best, largest first: metric, before, after, change.
    pub changes: Vec<[String; 4]>,
    /// The leading finding from its counters.
    pub finding: Option<AgentFinding>,
    /// Whether the rules had their counters.
    pub diagnosis: Option<AgentDiagnosis>,
    /// Points of the sweep that differ from the best in one parameter and were not tried with its source.
    pub proposals: Vec<NextPoint>,
    /// Gates of the phase on comparisons that an attempt does not measure.
    pub not_judged: Vec<String>,
    pub run: String,
}

/// The objective at a shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentTime {
    /// With its unit.
    pub value: String,
    /// The variant or run that it is compared with, if any.
    pub against: Option<String>,
    /// The change against it, such as `-25.0 %`.
    pub change: Option<String>,
}

impl AgentTime {
    /// The objective in a report, by shape.
    pub fn by_shape(report: &RunReport) -> BTreeMap<String, Self> {
        let time = |delta: &ShapeDelta| Self {
            value: delta.value.to_string(),
            against: delta.against.as_ref().map(ToString::to_string),
            change: delta.change.as_ref().map(|change| change.change.to_string()),
        };
        report.shape_deltas.iter().map(|delta| (delta.shape.to_string(), time(delta))).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentFinding {
    /// Short title.
    pub title: String,
    pub evidence: String,
    pub next: String,
}

impl AgentFinding {
    /// A finding of a report.
    pub fn of(row: &FindingRow) -> Self {
        let clip = |words: &str| text::clip(words, SENTENCE);
        Self { title: clip(&row.title), evidence: clip(&row.sentence), next: clip(&row.advice) }
    }
}

/// Whether the rules had their counters for the variant in use at the objective's shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentDiagnosis {
    pub outcome: DiagnosisOutcome,
    /// Number of rules with missing counters.
    pub not_asked: usize,
    /// Total number of rules; `None` if no counter is missing.
    pub of: Option<usize>,
    /// The missing counters and how to collect them; `None` if no counter is missing.
    pub says: Option<String>,
}

impl AgentDiagnosis {
    /// The diagnosis in a report at the objective's shape.
    pub fn of(report: &RunReport) -> Option<Self> {
        let row = report.diagnosis.first()?;
        let lacks = row.not_asked.as_ref();
        Some(Self {
            outcome: row.outcome,
            not_asked: lacks.map_or(0, |lacks| lacks.rules),
            of: lacks.map(|lacks| lacks.of),
            says: Some(text::clip(&row.sentence, 2 * SENTENCE)).filter(|says| !says.is_empty()),
        })
    }
}

impl AttemptAnswer {
    /// The answer for the report of an attempt.
    pub fn new(
        attempt: usize,
        report: &RunReport,
        faster: &[(ShapeName, String)],
        left_out: &[String],
        run: String,
    ) -> Self {
        let gate = |name: &String| report.gates.iter().find(|gate| gate.name == *name);
        let verdict = |name: &String| gate(name).map_or(Verdict::Inconclusive, |gate| gate.verdict);
        let shown = faster.iter().filter(|(_, name)| verdict(name) == Verdict::Pass).count();
        let verdicts = faster.iter().map(|(shape, name)| (shape.0.to_string(), verdict(name))).collect();
        let speedup =
            |name: &String| gate(name).and_then(|gate| gate.summary.measured.as_ref()).map(|number| number.value);
        Self {
            attempt,
            // Two of three shapes; the only one if there is one. Without shapes, not accepted.
            accepted: report.headline.verdict == Verdict::Pass && shown > 0 && 3 * shown >= 2 * faster.len(),
            verdict: report.headline.verdict,
            reason: text::clip(&report.headline.reason, SENTENCE),
            speedup: faster.iter().map(|(shape, name)| (shape.0.to_string(), speedup(name))).collect(),
            faster: verdicts,
            times: AgentTime::by_shape(report),
            changes: changes(report),
            finding: report.findings.iter().find(|row| row.leading).map(AgentFinding::of),
            diagnosis: AgentDiagnosis::of(report),
            proposals: Vec::new(),
            not_judged: left_out.iter().take(4).map(|name| text::clip(name, 60)).collect(),
            run,
        }
    }
}

/// Changes against the best, largest ratio first.
fn changes(report: &RunReport) -> Vec<[String; 4]> {
    let rows = report.deltas.first().map_or(&[][..], |delta| &delta.rows[..]);
    let mut changed: Vec<(f64, [String; 4])> = rows
        .iter()
        .filter(|row| matches!(row.judged, ChangeDirection::Better | ChangeDirection::Worse))
        .map(|row| {
            let ratio = (row.after.value / row.before.value).abs().ln().abs();
            let words = [row.metric.as_str(), row.before.text.as_str(), row.after.text.as_str(), row.change.as_str()]
                .map(str::to_owned);
            (if ratio.is_finite() { ratio } else { f64::MAX }, words)
        })
        .collect();
    changed.sort_by(|a, b| b.0.total_cmp(&a.0));
    changed.into_iter().take(8).map(|(_, words)| words).collect()
}

/// An answer as one line of JSON of at most [`ANSWER_BYTES`]. While it is longer, calls `shorten`, which drops
/// something and returns whether it could.
pub fn line<T: Serialize>(answer: &mut T, shorten: impl Fn(&mut T) -> bool) -> Result<String, serde_json::Error> {
    loop {
        let text = serde_json::to_string(answer)?;
        if text.len() <= ANSWER_BYTES || !shorten(answer) {
            return Ok(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_loses_its_last_changes_until_it_is_short() {
        let mut answer: Vec<String> = vec!["x".repeat(300); 10];
        let text = line(&mut answer, |answer| answer.pop().is_some()).unwrap();
        assert!(text.len() <= ANSWER_BYTES && text.len() > 1500, "{}", text.len());
    }
}
