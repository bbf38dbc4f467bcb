//! `final_summary.md`: the state of a set of phases, from the latest run of each.

use super::entry::{History, HistoryEntry, PhaseHistory};
use crate::code_diff::CodeDiff;
use crate::markdown::{MarkdownTable, code as code_lines, escape};
use crate::model::Conclusion;
use crate::number::{self, Number};
use crate::provenance::quoted;
use crate::text;
use ncugate_judge::store::is_commit;
use ncugate_model::Verdict;
use std::fmt::Write as _;

/// The file. `reports` is the folder of reports relative to the file; without it, the file has no links.
pub fn summary(history: &History, reports: Option<&str>) -> String {
    let latest: Vec<&HistoryEntry> = history.phases.iter().filter_map(|phase| phase.latest()).collect();
    let held = latest.iter().filter(|run| run.verdict == Verdict::Pass).count();
    let verb = if latest.len() == 1 { "passes" } else { "pass" };
    let fallbacks = latest.iter().filter(|run| run.conclusion == Conclusion::Fallback).count();
    let by_fallback = match fallbacks {
        0 => String::new(),
        1 => ", 1 of them only by its fallback".to_owned(),
        many => format!(", {many} of them only by their fallbacks"),
    };
    let mut out = format!("# {held} of {} {verb}{by_fallback}\n\n", number::counted(latest.len(), "phase"));
    let mut table =
        MarkdownTable::new(&["phase", "verdict", "in use", "objective", "beside the baseline", "tier", "measured"]);
    for run in &latest {
        let best = run.objective.as_ref().zip(run.best());
        let note = run.objective.as_ref().map_or("", |objective| objective.note.as_str());
        let measured =
            [run.gpu.as_deref().unwrap_or("an unknown GPU"), &run.date(), run.commit.as_deref().unwrap_or("")];
        table.row(vec![
            link(run, reports),
            run.conclusion.label().to_uppercase(),
            escape(&run.to_use),
            best.map_or_else(
                || "not measured".to_owned(),
                |(o, best)| format!("{} {}", escape(&o.title), escape(&best)),
            ),
            escape(note),
            run.tier.as_deref().map_or_else(String::new, escape),
            escape(measured.join(", ").trim_end_matches(", ")),
        ]);
    }
    let _ = writeln!(out, "{table}");
    for phase in &history.phases {
        let Some(run) = phase.latest() else { continue };
        out.push_str(&details(run, phase));
    }
    if !history.problems.is_empty() {
        out.push_str("## Not in this summary\n\n");
        history.problems.iter().for_each(|line| out.push_str(&format!("- {}\n", escape(line))));
    }
    out
}

fn link(run: &HistoryEntry, reports: Option<&str>) -> String {
    match (&run.page, reports) {
        (Some(page), Some(reports)) => {
            format!("[{}](<{reports}/{}>)", escape(&run.title), page.trim_start_matches("./").replace(['<', '>'], ""))
        }
        _ => escape(&run.title),
    }
}

fn details(run: &HistoryEntry, phase: &PhaseHistory) -> String {
    let mut out = format!("## {}: {}\n\n{}\n\n", escape(&run.title), run.conclusion, escape(&run.reason));
    if let Some(cost) = &run.cost {
        let _ = writeln!(out, "The fallback costs: {}.\n", escape(cost));
    }
    if !run.complete {
        out.push_str("The run did not finish.\n\n");
    }
    out.push_str(&shapes(run));
    if !run.gates.is_empty() {
        let mut table = MarkdownTable::new(&["gate", "verdict", "measured", "limit"]);
        for gate in &run.gates {
            let written = |number: &Option<Number>| {
                number.as_ref().map_or_else(String::new, |n| escape(&number::with_unit(n.value, &gate.unit)))
            };
            let verdict = gate.effective().word().to_owned();
            let cells = [escape(&gate.title()), verdict, written(&gate.summary.measured), written(&gate.summary.limit)];
            table.row(cells.into());
        }
        let _ = writeln!(out, "{table}");
    }
    out.push_str(&findings(run));
    out.push_str(&code(run, phase.before_latest()));
    phase.diffs.iter().for_each(|diff| out.push_str(&difference(diff)));
    let _ = writeln!(out, "Run {} in {}.\n", escape(&run.run), escape(&run.folder));
    out
}

/// Each shape: the fastest baseline, ours, and how much faster it is.
fn shapes(run: &HistoryEntry) -> String {
    if run.beside.is_empty() {
        return String::new();
    }
    let mut table = MarkdownTable::new(&["shape", "baseline", "its p50 / p90", "ours", "p50 / p90", "speedup"]);
    for row in &run.beside {
        let baseline = row.baseline.as_ref();
        table.row(vec![
            escape(&row.shape),
            baseline.map_or_else(|| "none".to_owned(), |timed| escape(&timed.name)),
            baseline.map_or_else(String::new, |timed| escape(&timed.times)),
            escape(&row.ours.name),
            escape(&row.ours.times),
            row.speedup.as_deref().map_or_else(String::new, escape),
        ]);
    }
    format!("{table}\n")
}

/// The costliest findings.
fn findings(run: &HistoryEntry) -> String {
    let mut out = String::new();
    for (at, finding) in run.findings.iter().enumerate() {
        let _ = writeln!(out, "{}. **{}**: {}", at + 1, escape(&finding.title), escape(&finding.sentence));
        if !finding.advice.is_empty() {
            let _ = writeln!(out, "   Try: {}", escape(&finding.advice));
        }
    }
    if out.is_empty() { out } else { format!("What costs most:\n\n{out}\n") }
}

/// Changes in the kernel sources since the previous run, and how to see them.
fn code(run: &HistoryEntry, earlier: Option<&HistoryEntry>) -> String {
    let Some(earlier) = earlier else { return String::new() };
    let changed = run.code.changed_since(&earlier.code);
    if changed.is_empty() {
        return format!("The kernel sources are those of run {}.\n\n", escape(&earlier.run));
    }
    let mut out =
        format!("Sources that changed since run {}: {}.\n\n", escape(&earlier.run), escape(&changed.join(", ")));
    if let (Some(before), Some(after)) = (&earlier.code.commit, &run.code.commit)
        && is_commit(before)
        && is_commit(after)
    {
        let files: Vec<String> = changed.iter().map(|file| quoted(&text::line(file))).collect();
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
        let _ = writeln!(
            out,
            "{} of the difference are left out; the page of all runs has them.\n",
            number::counted(left, "line")
        );
    }
    out
}
