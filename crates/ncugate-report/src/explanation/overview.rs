//! The kernels of a report on one screen: the longest first, with the findings that matter and the next command.

use super::report::{KernelTime, ReportExplanation};
use super::{Explanation, time};
use crate::document::{CodeLine, Document, DocumentBlock, Section, terminal_blocks};
use crate::number;
use crate::provenance::quoted;
use ncu_explain::{DiagnosisOutcome, FindingRow, RuleCoverage};

/// Lines of a screen.
const LINES: usize = 40;

/// As many kernels as fit a screen of that many columns, and the next commands; a single kernel in full. `path` is the
/// report as the reader names it.
pub fn overview(report: &ReportExplanation, path: &str, columns: usize) -> Document {
    if let [only] = report.kernels.as_slice() {
        let page = format!("ncugate page {}", quoted(path));
        let mut document = only.document();
        document.push(commands("Next:", &[page]));
        return document;
    }
    let mut blocks = vec![DocumentBlock::Text(head(report))];
    let together = |row: &FindingRow| DocumentBlock::Text(format!("{}. Try: {}", cause(row, None), row.advice));
    blocks.extend(report.together.as_ref().map(together));
    let next = next(report, path);
    let height = |blocks: &[DocumentBlock]| height(&terminal_blocks(blocks, Some(columns)), columns);
    // one line is blank, and one says how many kernels are left out
    let mut room = LINES.saturating_sub(height(&blocks) + height(&next) + 2);
    let kernels = report.kernels.iter().enumerate().map(|(at, kernel)| block(at, kernel));
    let shown = kernels.enumerate().take_while(|(at, kernel)| {
        let needed = height(std::slice::from_ref(kernel));
        let fits = *at == 0 || needed <= room;
        room = room.saturating_sub(needed);
        fits
    });
    let shown: Vec<DocumentBlock> = shown.map(|(_, kernel)| kernel).collect();
    let rest = report.kernels.get(shown.len()..).unwrap_or_default();
    blocks.extend(shown);
    if !rest.is_empty() {
        let share: Option<f64> = rest.iter().map(|one| one.kernel.as_ref()?.percent).sum();
        let verb = if rest.len() == 1 { "takes" } else { "take" };
        let share =
            share.map_or_else(|| "less time".to_owned(), |share| format!("{} of the time", number::share(share)));
        blocks.push(Section::new("", format!("{} more {verb} {share}: `--each` lists all", rest.len()), vec![]).into());
    }
    blocks.extend(next);
    Document { title: report.name.clone(), sentence: String::new(), blocks }
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

fn block(at: usize, explanation: &Explanation) -> DocumentBlock {
    let head = explanation.kernel.as_ref().map_or_else(String::new, kernel_head);
    let share = explanation.kernel.as_ref().and_then(|kernel| kernel.percent);
    let mut lines = match &explanation.bottleneck {
        Some(row) => {
            let advice = (!row.advice.is_empty()).then(|| format!("Try: {}", row.advice));
            [cause(row, share), row.sentence.to_string()].into_iter().chain(advice).collect()
        }
        None => vec![outcome(explanation)],
    };
    lines.extend(explanation.ncu.first().map(|row| format!("{}: {}", row.title, row.sentence)));
    let mut more = explanation.insights.iter().filter(|row| row.variant == explanation.variant);
    let second = more.find(|row| row.is_cause() && row.saving.is_some());
    lines.extend(second.map(|second| format!("Also: {}", cause(second, share))));
    let lines = lines.into_iter().map(DocumentBlock::Text).collect();
    Section::new("", format!("{}. {head}", at + 1), lines).into()
}

/// Commands, which are never wrapped, under a title.
fn commands(title: &str, commands: &[String]) -> DocumentBlock {
    let lines = commands.iter().map(CodeLine::plain).collect();
    Section::new("", title, vec![DocumentBlock::Code(lines)]).into()
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

/// The commands that show more, and the one that collects missing counters.
fn next(report: &ReportExplanation, path: &str) -> Vec<DocumentBlock> {
    let lacks = report.kernels.iter().filter_map(|one| one.not_asked.as_ref()).max_by_key(|lacks| lacks.rules);
    let collect = lacks.map(|lacks| {
        let command = lacks.command.iter().map(ToString::to_string).collect::<Vec<_>>();
        commands(&missing(report, lacks), &command)
    });
    let path = quoted(path);
    let first = report.kernels.first().and_then(|one| one.kernel.as_ref());
    let named = |function: &str| function.chars().all(|c| c.is_alphanumeric() || c == '_') && !function.is_empty();
    let kernel = first.map(|kernel| kernel.function.as_str()).filter(|function| named(function)).unwrap_or("REGEX");
    let more = [format!("ncugate explain {path} --kernel {kernel}"), format!("ncugate page {path}")];
    let next = commands("Next: one kernel in full, or all kernels with charts as an HTML page", &more);
    collect.into_iter().chain([next]).collect()
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
