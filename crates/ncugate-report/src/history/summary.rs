//! `final_summary.md`: the state of a set of phases, from the latest run of each.

use super::entry::{HistoryEntry, to_use};
use super::phases::{PhaseHistory, ReferenceEntry};
use super::shape_comparison::blocks;
use crate::code_diff::CodeDiff;
use crate::document::markdown_blocks;
use crate::finding_row::FindingRow;
use crate::markdown::{MarkdownTable, code as code_lines, escape};
use crate::model::{Conclusion, ObjectiveRow};
use crate::number::{self, Number};
use crate::provenance::quoted;
use crate::run_report::RunReport;
use crate::text;
use ncugate_judge::store::is_commit;
use ncugate_model::{CleanText, Verdict};
use std::fmt::Write as _;

/// Findings of a phase in the summary.
const FINDINGS: usize = 3;

/// The latest run of a phase, judged from its files.
#[derive(Debug)]
pub struct LatestRun<'a> {
    pub phase: &'a PhaseHistory,
    pub entry: &'a HistoryEntry,
    pub report: RunReport,
}

/// The file. `reports` is the folder of reports relative to the file; without it, the file has no links.
pub fn summary(latest: &[LatestRun<'_>], problems: &[CleanText], reports: Option<&str>) -> String {
    let held = latest.iter().filter(|run| run.report.headline.verdict == Verdict::Pass).count();
    let verb = if latest.len() == 1 { "passes" } else { "pass" };
    let fallbacks = latest.iter().filter(|run| run.report.headline.conclusion == Conclusion::Fallback).count();
    let by_fallback = match fallbacks {
        0 => String::new(),
        1 => ", 1 of them only by its fallback".to_owned(),
        many => format!(", {many} of them only by their fallbacks"),
    };
    let mut out = format!("# {held} of {} {verb}{by_fallback}\n\n", number::counted(latest.len(), "phase"));
    let head = ["phase", "verdict", "in use", "objective", "compared with the baseline", "tier", "measured"];
    let mut table = MarkdownTable::new(&head);
    for run in latest {
        let (report, entry) = (&run.report, run.entry);
        let objective = report.objective.as_ref();
        let best = objective.and_then(|o| Some(format!("{} {}", escape(&o.title), escape(&ObjectiveRow::text(o)?))));
        let note = objective.map_or("", |objective| objective.note.as_str());
        // without a variant in use, the numbers are of the selected one
        let note = match &report.headline.selected {
            Some(selected) if report.in_use.variant.is_none() && !note.is_empty() => format!("{selected}: {note}"),
            _ => note.to_owned(),
        };
        let commit = entry.commit();
        let measured = [&*entry.machine(), &entry.date(), commit.as_deref().unwrap_or("")].join(", ");
        table.row(vec![
            link(run, reports),
            report.headline.conclusion.label().to_uppercase(),
            escape(&to_use(&report.in_use)),
            best.unwrap_or_else(|| "not measured".to_owned()),
            escape(&note),
            report.headline.tier.as_deref().map_or_else(String::new, escape),
            escape(measured.trim_end_matches(", ")),
        ]);
    }
    let _ = writeln!(out, "{table}");
    latest.iter().for_each(|run| out.push_str(&details(run)));
    if !problems.is_empty() {
        out.push_str("## Not in this summary\n\n");
        problems.iter().for_each(|line| out.push_str(&format!("- {}\n", escape(line))));
    }
    out
}

fn link(run: &LatestRun<'_>, reports: Option<&str>) -> String {
    let title = escape(&run.report.title);
    match (&run.entry.page, reports) {
        (Some(page), Some(reports)) => format!("[{title}](<{}>)", format!("{reports}/{page}").replace(['<', '>'], "")),
        _ => title,
    }
}

fn details(run: &LatestRun<'_>) -> String {
    let report = &run.report;
    let (conclusion, reason) = (report.headline.conclusion, escape(&report.headline.reason));
    let mut out = format!("## {}: {conclusion}\n\n{reason}\n\n", escape(&report.title));
    if let Some(cost) = &report.in_use.cost {
        let _ = writeln!(out, "The fallback costs: {}.\n", escape(cost));
    }
    if !run.entry.is_complete() {
        out.push_str("The run did not finish.\n\n");
    }
    out.push_str(&markdown_blocks(&blocks(&report.times), 3));
    if !report.gates.is_empty() {
        out.push('\n');
        let mut table = MarkdownTable::new(&["gate", "verdict", "measured", "limit"]);
        for gate in &report.gates {
            let written = |number: &Option<Number>| {
                number.as_ref().map_or_else(String::new, |n| escape(&number::with_unit(n.value, &gate.unit)))
            };
            let verdict = gate.effective().word().to_owned();
            let cells = [escape(&gate.title()), verdict, written(&gate.summary.measured), written(&gate.summary.limit)];
            table.row(cells.into());
        }
        let _ = writeln!(out, "{table}");
    }
    out.push_str(&findings(&report.findings));
    out.push_str(&code(run.entry, run.phase.reference()));
    run.phase.diffs.iter().for_each(|diff| out.push_str(&difference(diff)));
    let _ = writeln!(out, "Run {} in {}.\n", escape(&report.run), escape(&run.entry.folder.display().to_string()));
    out
}

/// The costliest findings.
fn findings(findings: &[FindingRow]) -> String {
    let mut out = String::new();
    for (at, finding) in findings.iter().filter(|finding| finding.leading).take(FINDINGS).enumerate() {
        let _ = writeln!(out, "{}. **{}**: {}", at + 1, escape(&finding.title), escape(&finding.sentence));
        if !finding.advice.is_empty() {
            let _ = writeln!(out, "   Try: {}", escape(&finding.advice));
        }
    }
    if out.is_empty() { out } else { format!("Main findings:\n\n{out}\n") }
}

/// Changes in the kernel sources since the reference, and how to see them.
fn code(run: &HistoryEntry, reference: Option<ReferenceEntry<'_>>) -> String {
    let Some(reference) = reference else { return String::new() };
    let (id, earlier) = (escape(&reference.words()), reference.run);
    let changed: Vec<CleanText> = run.changed_since(earlier).into_iter().map(CleanText::from).collect();
    if changed.is_empty() {
        return format!("Kernel sources are the same as in {id}.\n\n");
    }
    let mut out = format!("Sources that changed since {id}: {}.\n\n", escape(&changed.join(", ")));
    let clean = |run: &HistoryEntry| {
        let git = run.manifest.git.as_ref().filter(|git| !git.dirty && is_commit(&git.commit))?;
        Some(git.commit.clone())
    };
    if let (Some(before), Some(after)) = (clean(earlier), clean(run)) {
        let files: Vec<String> = changed.iter().map(|file| quoted(file)).collect();
        let _ = writeln!(out, "{}", code_lines([format!("git diff {before} {after} -- {}", files.join(" ")).as_str()]));
    }
    out
}

/// Most lines of a difference in the summary.
const SHOWN_LINES: usize = 60;

/// A code difference in the format of `diff -u`; omitted lines are counted.
fn difference(diff: &CodeDiff) -> String {
    let mut lines = Vec::new();
    for hunk in &diff.hunks {
        lines.push(format!("@@ -{} +{} @@", hunk.before, hunk.after));
        lines.extend(hunk.lines.iter().map(|line| text::logged(&format!("{}{}", line.change.sign(), line.text))));
    }
    let left = lines.len().saturating_sub(SHOWN_LINES);
    lines.truncate(SHOWN_LINES);
    // The fence is longer than any fence in the text.
    let longest = lines.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let mut out =
        format!("{}: {}.\n\n{fence}diff\n{}\n{fence}\n\n", escape(&diff.title), diff.size(), lines.join("\n"));
    if left > 0 {
        let _ = writeln!(out, "{} omitted; the page of all runs has them.\n", number::counted(left, "line"));
    }
    out
}
