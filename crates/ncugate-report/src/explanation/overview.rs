//! The kernels of a report on one screen: the longest first, with the findings that matter and the next command.

use super::report::{KernelTime, ReportExplanation};
use super::terminal::text;
use super::{Explanation, time};
use crate::diagnosis_row::{DiagnosisOutcome, RuleCoverage};
use crate::finding_row::FindingRow;
use crate::number;
use crate::provenance::quoted;
use crate::wrap::{paragraph, wrapped};
use std::fmt::Write as _;

/// Lines of a screen.
const LINES: usize = 40;
/// Blanks before the findings of a kernel.
const INDENT: usize = 4;

/// As many kernels as fit a screen, and the next commands; a single kernel in full. `path` is the report as the reader
/// names it.
pub fn overview(report: &ReportExplanation, path: &str, columns: usize) -> String {
    if let [only] = report.kernels.as_slice() {
        let page = format!("ncugate page {}", quoted(path));
        return format!("{}\nNext:\n  {page}\n", text(only, columns));
    }
    let mut out = String::new();
    paragraph(&mut out, 0, &head(report), columns);
    if let Some(row) = &report.together {
        paragraph(&mut out, 0, &format!("{}. Try: {}", cause(row, None), row.advice), columns);
    }
    let next = next(report, path, columns);
    // one line is blank, and one says how many kernels are left out
    let mut room = LINES.saturating_sub(height(&out, columns) + height(&next, columns) + 2);
    let mut shown = 0;
    for (at, kernel) in report.kernels.iter().enumerate() {
        let lines = block(at, kernel, columns);
        let needed = height(&lines, columns) + 1;
        if shown > 0 && needed > room {
            break;
        }
        room = room.saturating_sub(needed);
        shown += 1;
        out.push('\n');
        out += &lines;
    }
    let rest = report.kernels.get(shown..).unwrap_or_default();
    if !rest.is_empty() {
        let share: Option<f64> = rest.iter().map(|one| one.kernel.as_ref()?.percent).sum();
        let verb = if rest.len() == 1 { "takes" } else { "take" };
        let share =
            share.map_or_else(|| "less time".to_owned(), |share| format!("{} of the time", number::share(share)));
        let _ = writeln!(out, "\n{} more {verb} {share}: `--each` lists all", rest.len());
    }
    out + &next
}

/// `g12.ncu-rep: 12 launches of 1 kernel, 6.117 ms under ncu on NVIDIA H200`.
fn head(report: &ReportExplanation) -> String {
    let total = match (report.total_microseconds, report.timed) {
        (Some(us), _) => format!("{} under ncu", number::in_sentence(us, "us")),
        (None, (0, _)) => "durations not collected".to_owned(),
        (None, (timed, us)) => format!("{} under ncu in the {timed} with a duration", number::in_sentence(us, "us")),
    };
    let devices = report.devices.join(", ");
    let device = if devices.is_empty() { String::new() } else { format!(" on {devices}") };
    let launches = number::counted(report.launches, "launch");
    let kernels = number::counted(report.distinct_kernels, "kernel");
    let clocks = report.clocks.as_ref().map_or_else(String::new, |clocks| format!(", {clocks}"));
    format!("{}: {launches} of {kernels}, {total}{device}{clocks}", report.name)
}

fn block(at: usize, explanation: &Explanation, columns: usize) -> String {
    let mut out = String::new();
    let head = explanation.kernel.as_ref().map_or_else(String::new, kernel_head);
    for (line, text) in wrapped(&head, columns.saturating_sub(INDENT)).into_iter().enumerate() {
        let number = if line == 0 { format!("{:>2}. ", at + 1) } else { " ".repeat(INDENT) };
        let _ = writeln!(out, "{number}{text}");
    }
    let inner = |out: &mut String, text: &str| paragraph(out, INDENT, text, columns);
    let share = explanation.kernel.as_ref().and_then(|kernel| kernel.percent);
    match &explanation.bottleneck {
        Some(row) => {
            inner(&mut out, &cause(row, share));
            inner(&mut out, &row.sentence);
            if !row.advice.is_empty() {
                inner(&mut out, &format!("Try: {}", row.advice));
            }
        }
        None => inner(&mut out, &outcome(explanation)),
    }
    if let Some(row) = explanation.ncu.first() {
        inner(&mut out, &format!("{}: {}", row.title, row.sentence));
    }
    let is_own = |row: &&FindingRow| row.variant == explanation.variant;
    let mut more = explanation.insights.iter().filter(is_own);
    if let Some(second) = more.find(|row| row.is_cause() && row.saving.is_some()) {
        inner(&mut out, &format!("Also: {}", cause(second, share)));
    }
    out
}

/// `attn, grid 8×8: 2,095 µs in 2 launches, 34.2 % of the time`.
fn kernel_head(kernel: &KernelTime) -> String {
    let share = kernel.percent.map_or_else(String::new, |percent| format!(", {} of the time", number::share(percent)));
    let launches = number::counted(kernel.launches, "launch");
    format!("{}: {} in {launches}{share}", kernel.label, time(kernel.total_microseconds))
}

/// `Grid smaller than the chip: a fix saves at most 52 %, 17.8 % of all launches (high confidence)`. `share`
/// is the share of the kernel in that time, in percent.
fn cause(row: &FindingRow, share: Option<f64>) -> String {
    let Some(saving) = &row.saving else { return row.title.to_string() };
    let of_all = share.map(|share| format!(", {} of all launches", number::share(saving.percent * share / 100.0)));
    format!(
        "{}: a fix saves at most {} %{} ({} confidence)",
        row.title,
        number::short(saving.percent.round()),
        of_all.unwrap_or_default(),
        row.confidence.word()
    )
}

/// Why no cause is named.
fn outcome(explanation: &Explanation) -> String {
    match (explanation.outcome, &explanation.not_asked) {
        (DiagnosisOutcome::NotJudged, Some(lacks)) => {
            let said = lacks.outcome(explanation.is_mostly_asked());
            explanation.busiest.as_ref().map_or_else(|| said.clone(), |unit| format!("{said} {unit}"))
        }
        _ => explanation.says.to_string(),
    }
}

/// The commands that show more, and the one that collects missing counters. Commands are never wrapped.
fn next(report: &ReportExplanation, path: &str, columns: usize) -> String {
    let mut out = String::new();
    let lacks = report.kernels.iter().filter_map(|one| one.not_asked.as_ref()).max_by_key(|lacks| lacks.rules);
    if let Some(lacks) = lacks {
        out.push('\n');
        paragraph(&mut out, 0, &missing(report, lacks), columns);
        if let Some(command) = &lacks.command {
            let _ = writeln!(out, "  {command}");
        }
    }
    let path = quoted(path);
    let first = report.kernels.first().and_then(|one| one.kernel.as_ref());
    let named = |function: &str| function.chars().all(|c| c.is_alphanumeric() || c == '_') && !function.is_empty();
    let kernel = first.map(|kernel| kernel.function.as_str()).filter(|function| named(function)).unwrap_or("REGEX");
    out += "\nNext: one kernel in full, or all kernels with charts as an HTML page\n";
    let _ = writeln!(out, "  ncugate explain {path} --kernel {kernel}\n  ncugate page {path}");
    out
}

/// How many rules could not be evaluated; `up to` if kernels differ.
fn missing(report: &ReportExplanation, lacks: &RuleCoverage) -> String {
    let is_equal = report.kernels.iter().all(|one| one.not_asked.as_ref().is_some_and(|own| own.rules == lacks.rules));
    let most = if is_equal { "" } else { "Up to " };
    format!(
        "{most}{} of {} rules lack counters: their causes are not excluded. Collect them with",
        lacks.rules, lacks.of
    )
}

/// Columns of a narrow terminal, in which text for a wide one has to fit one screen too.
const NARROW: usize = 80;

/// Lines of a text on a terminal of that many columns, or on a narrow one.
fn height(text: &str, columns: usize) -> usize {
    text.lines().map(|line| line.chars().count().div_ceil(columns.clamp(1, NARROW)).max(1)).sum()
}
