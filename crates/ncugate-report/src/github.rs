//! Outputs for GitHub: annotations at the gate's line, the job's summary, and a comment within the size limit.

use super::error::RenderError;
use super::markdown::{Charts, sections};
use super::run_report::RunReport;
use super::text;
use super::trust::CheatRow;
use ncugate_judge::GateResult;
use ncugate_model::{Level, Verdict};
use std::fmt::Write as _;

/// Longest job summary in bytes; GitHub accepts 1 MiB.
pub const SUMMARY: usize = 1_000_000;

/// One workflow command line for every cheating variant and every gate that does not pass.
pub fn annotations(report: &RunReport) -> Result<String, RenderError> {
    let cheats = report.trust.cheats.iter().map(|cheat| accusation(report, cheat));
    Ok(cheats.chain(report.open_gates().map(|gate| annotation(report, gate))).collect())
}

fn accusation(report: &RunReport, cheat: &CheatRow) -> String {
    let title = property(&format!("{}: {} cheats", report.phase, cheat.variant));
    format!("::error file={},title={title}::{}\n", property(&report.file), data(&cheat.reason))
}

fn annotation(report: &RunReport, gate: &GateResult) -> String {
    let level = match (gate.verdict, gate.level, &gate.waived) {
        (_, _, Some(_)) => "notice",
        (_, Level::Advisory, None) => "warning",
        (_, Level::Required, None) if report.falls_back() => "warning",
        (Verdict::Fail | Verdict::Inconclusive | Verdict::Pass, Level::Required, None) => "error",
    };
    let title = property(&format!("{}: {}", report.phase, gate.name));
    let verdict = if gate.verdict == Verdict::Inconclusive { "inconclusive: " } else { "" };
    let message = data(&format!("{verdict}{} ({})", gate.reason, gate.require));
    format!("::{level} file={},line={},title={title}::{message}\n", property(&report.file), gate.line)
}

fn data(text: &str) -> String {
    text::clean_file(text).replace("##[", "## [").replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The job's summary.
pub fn summary(report: &RunReport) -> Result<String, RenderError> {
    Ok(fitting(&sections(report, Charts::Absent), SUMMARY))
}

/// Whole sections, then whole lines, while they fit; then a line with the amount left out.
fn fitting(sections: &[String], limit: usize) -> String {
    const NOTE: usize = 120;
    let budget = limit.saturating_sub(NOTE);
    let mut out = String::new();
    let (mut left_out, mut full) = (0, false);
    for line in sections.iter().flat_map(|section| section.split_inclusive('\n').chain(["\n"])) {
        full = full || out.len() + line.len() > budget;
        if full {
            left_out += 1;
        } else {
            out.push_str(line);
        }
    }
    if left_out > 0 {
        let _ = writeln!(out, "\n_{left_out} more lines are in report.md and results.json._");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflow_commands_in_names_are_escaped() {
        assert_eq!(data("a\n::error::b 5%"), "a%0A::error::b 5%25");
        assert_eq!(property("C:\\x,line=1"), "C%3A\\x%2Cline=1");
    }

    #[test]
    fn a_summary_counts_the_lines_that_do_not_fit() {
        let long: String = (0..500).map(|n| format!("line {n}\n")).collect();
        let text = fitting(&["# head\n".to_owned(), long], 1_000);
        assert!(text.len() < 1_000, "{}", text.len());
        assert!(text.starts_with("# head\n") && text.contains("more lines are in report.md"));
        assert_eq!(fitting(&["a\n".to_owned()], 1_000), "a\n\n");
    }
}
