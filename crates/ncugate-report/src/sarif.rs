//! `results.sarif` (OASIS SARIF 2.1.0), for code views: obstacles to passing at their lines of the phase's file, and
//! findings at the lines of the kernel at which warps wait.

use super::error::RenderError;
use super::run_report::RunReport;
use ncu_explain::{FindingLine, FindingRow};
use ncugate_judge::GateResult;
use ncugate_model::number::text::escaped_json;
use ncugate_model::{Level, Verdict};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Most lines shown for a finding.
const LINES: usize = 3;

/// The file.
///
/// # Errors
/// It cannot be written as JSON.
pub fn sarif(report: &RunReport) -> Result<String, RenderError> {
    let cheats = report.trust.cheats.iter().map(|cheat| {
        let text = format!("{} cheats: {}", cheat.variant, cheat.reason);
        result("cheats", "error", &text, &[place(&report.file, 1)])
    });
    let results: Vec<Value> = phase(report)
        .into_iter()
        .chain(cheats)
        .chain(report.open_gates().map(|gate| of_gate(report, gate)))
        .chain(report.findings.iter().filter(|finding| finding.leading).filter_map(of_finding))
        .collect();
    let rule = |(id, text): (&str, &str)| json!({ "id": id, "shortDescription": { "text": text } });
    let rules = [
        ("phase", "The phase does not pass"),
        ("cheats", "The timed program is not the checked program"),
        ("gate", "A gate fails"),
        ("inconclusive", "A gate is inconclusive"),
        ("finding", "A bottleneck, with an experiment to try"),
    ];
    let driver = json!({
        "name": "ncugate",
        "version": env!("CARGO_PKG_VERSION"),
        "rules": rules.map(rule),
    });
    let file = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "results": results }],
    });
    Ok(escaped_json(&serde_json::to_string_pretty(&file)?) + "\n")
}

/// The verdict of a phase that does not pass. The obstacle need not be a gate, and a file without a result would read
/// as a pass.
fn phase(report: &RunReport) -> Option<Value> {
    let passes = report.headline.verdict == Verdict::Pass;
    let text = format!("{}: {}: {}", report.phase, report.headline.conclusion, report.headline.reason);
    (!passes || report.falls_back()).then(|| {
        let level = if passes { "warning" } else { "error" };
        result("phase", level, &text, &[place(&report.file, 1)])
    })
}

fn of_gate(report: &RunReport, gate: &GateResult) -> Value {
    let level = match (gate.level, &gate.waived) {
        (_, Some(_)) => "note",
        (Level::Advisory, None) => "warning",
        (Level::Required, None) if report.falls_back() => "warning",
        (Level::Required, None) => "error",
    };
    let (rule, verdict) = match gate.verdict {
        Verdict::Inconclusive => ("inconclusive", "inconclusive: "),
        Verdict::Pass | Verdict::Fail => ("gate", ""),
    };
    let text = format!("{}: {verdict}{} ({})", gate.name, gate.reason, gate.require);
    result(rule, level, &text, &[place(&report.file, gate.line)])
}

/// A finding at its lines; none without a known line in the project.
fn of_finding(finding: &FindingRow) -> Option<Value> {
    let places: Vec<Value> = finding.lines.iter().filter_map(line).take(LINES).collect();
    let advice = if finding.advice.is_empty() { String::new() } else { format!(" Try: {}", finding.advice) };
    let text = format!("{} ({}): {}{advice}", finding.title, finding.variant, finding.sentence);
    (!places.is_empty()).then(|| result("finding", "note", &text, &places))
}

/// A line of a file inside the project.
fn line(row: &FindingLine) -> Option<Value> {
    let (file, number) = row.place.rsplit_once(':')?;
    let inside = !file.starts_with('/') && file.split('/').all(|part| part != "..");
    Some(place(file, number.parse().ok()?)).filter(|_| inside)
}

fn result(rule: &str, level: &str, text: &str, places: &[Value]) -> Value {
    json!({ "ruleId": rule, "level": level, "message": { "text": text }, "locations": places })
}

fn place(file: &str, line: usize) -> Value {
    let artifact = json!({ "uri": uri(file) });
    json!({ "physicalLocation": { "artifactLocation": artifact, "region": { "startLine": line.max(1) } } })
}

/// A path as a relative reference of RFC 3986: every byte that is not unreserved or a slash is percent-encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use ncugate_model::CleanText;

    #[test]
    fn what_does_not_hold_is_at_its_line_and_a_phase_that_fails_has_a_result() {
        let report = Fixture::new(6).report();
        let file: Value = serde_json::from_str(&sarif(&report).unwrap()).unwrap();
        assert_eq!(file["version"], "2.1.0");
        let run = &file["runs"][0];
        let results = run["results"].as_array().unwrap();
        let rules: Vec<&str> = run["tool"]["driver"]["rules"]
            .as_array()
            .unwrap()
            .iter()
            .map(|rule| rule["id"].as_str().unwrap())
            .collect();
        assert!(results.iter().all(|result| rules.contains(&result["ruleId"].as_str().unwrap())));
        assert!(results.iter().any(|result| result["ruleId"] == "phase" && result["level"] == "error"), "{results:?}");
        // A waived gate also fails, but is only a note.
        let failing = |g: &&GateResult| g.verdict == Verdict::Fail && g.level == Level::Required && g.waived.is_none();
        let failing = report.gates.iter().find(failing).unwrap();
        let line = |result: &Value| result["locations"][0]["physicalLocation"]["region"]["startLine"].as_u64();
        let at_line = |result: &&Value| result["ruleId"] == "gate" && line(result) == Some(failing.line as u64);
        assert!(results.iter().filter(at_line).any(|result| result["level"] == "error"), "{results:?}");
    }

    #[test]
    fn files_outside_of_the_project_are_not_named_and_names_are_encoded() {
        let row = |place: &str| FindingLine {
            place: place.into(),
            source: None,
            share: 1.0,
            stall: CleanText::default(),
            awaited: None,
        };
        assert!(line(&row("/opt/x.cuh:3")).is_none() && line(&row("../x.cu:3")).is_none() && line(&row("x")).is_none());
        assert!(line(&row("kernels/a b.cu:3")).unwrap().to_string().contains("kernels/a%20b.cu"));
    }
}
