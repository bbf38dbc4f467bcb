//! `report.md`: the same story as the page, readable as text and on GitHub.

use super::deltas::{Delta, DeltaRow};
use super::error::RenderError;
use super::gates::{GateRow, StageRow};
use super::model::{CloseLookRow, Measure, Report, VariantRow};
use super::number::{self, Number};
use super::text;
use crate::chart::Chart;
use crate::model::{Level, Verdict};
use std::fmt::Write as _;

/// Variants in the table.
const TOP: usize = 10;
/// Hot lines, instructions and rules of a close look.
const HOT: usize = 6;
/// Warp states of a close look.
const STATES: usize = 8;
/// Metrics in the variants table.
const COLUMNS: usize = 7;
/// Metrics in the table of deltas.
const COMPARED: usize = 14;
/// Baselines and stored runs in the table of deltas.
const BESIDE: usize = 3;

/// Whether the SVG files lie beside the Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charts {
    /// In `charts/`.
    Beside,
    /// Nowhere the reader can reach.
    Absent,
}

/// The whole of `report.md`.
pub fn markdown(report: &Report) -> Result<String, RenderError> {
    Ok(sections(report, Charts::Beside).join("\n"))
}

/// The sections, the most important first; each ends with a line break.
pub fn sections(report: &Report, charts: Charts) -> Vec<String> {
    let mut sections = vec![verdict(report)];
    sections.push(table_of_gates("Gates", &report.gates));
    sections.extend(
        report
            .tiers
            .iter()
            .map(|t| table_of_gates(&format!("Tier {}: {}", escape(&t.name), word(t.verdict)), &t.gates)),
    );
    sections.extend(stages(report));
    sections.extend(waivers(report));
    sections.push(variants(report));
    sections.extend(deltas(report));
    sections.extend(findings(report));
    sections.extend(report.closely.as_ref().map(closely));
    sections.extend(list("Missing", &report.missing));
    sections.extend(list("Warnings", &report.warnings));
    if charts == Charts::Beside {
        sections.extend(links(report));
    }
    sections.push(provenance(report));
    sections
}

fn verdict(report: &Report) -> String {
    let headline = &report.headline;
    let mut out = format!("# {}: {}\n\n", escape(&report.title), headline.label);
    let _ = writeln!(out, "**{}** {}\n", mark(headline.verdict), escape(&headline.reason));
    if let Some(obstacle) = &headline.obstacle {
        let _ = writeln!(out, "{}\n", escape(obstacle));
    }
    for sentence in [&headline.tier, &headline.stages].into_iter().flatten() {
        let _ = writeln!(out, "{}\n", escape(sentence));
    }
    if let Some(fallback) = &report.fallback {
        let variant = fallback.variant.as_deref().unwrap_or("none");
        let _ = writeln!(out, "Fallback: {}. {}\n", escape(variant), escape(&fallback.reason));
    }
    if let Some(selected) = &headline.selected {
        let facts: Vec<String> = headline
            .facts
            .iter()
            .map(|f| {
                let note = if f.note.is_empty() { String::new() } else { format!(" ({})", escape(&f.note)) };
                format!("{} **{}**{note}", escape(&f.label), escape(&f.text))
            })
            .collect();
        let _ = writeln!(out, "Selected: **{}**: {}\n", escape(selected), facts.join(", "));
    }
    for condition in &report.preconditions {
        let (name, reason) = (escape(&condition.name), escape(&condition.reason));
        let _ = writeln!(out, "- {} precondition {name}: {reason}", mark(condition.verdict));
    }
    if !report.preconditions.is_empty() {
        out.push('\n');
    }
    if let Some(unasked) = &report.source.unasked {
        let _ = writeln!(out, "**Not measured:** {}.\n", escape(unasked));
    }
    let (word, source) = (report.source.word(), report.source.words());
    let _ = writeln!(out, "_{word}: {}. {}._", escape(&source), escape(&headline.scope));
    out
}

fn table_of_gates(title: &str, gates: &[GateRow]) -> String {
    if gates.is_empty() {
        return format!("## {title}\n\nNone.\n");
    }
    let mut table = Table::new(&["", "gate", "requires", "measured", "limit", "margin", "why"]);
    for gate in gates {
        let name = match gate.level {
            Level::Required => escape(&gate.name),
            Level::Advisory => format!("{} (advisory)", escape(&gate.name)),
        };
        let state = if gate.waived.is_some() { "waived" } else { mark(gate.verdict) };
        table.row(vec![
            state.to_owned(),
            name,
            escape(&gate.require),
            measured(gate),
            with_unit(gate.limit.as_ref(), &gate.unit),
            gate.margin.as_ref().map_or_else(String::new, |n| escape(&number::distance(n.value, &gate.unit))),
            escape(&gate.why),
        ]);
    }
    format!("## {title}\n\n{table}")
}

/// Measured value with its interval and samples, where samples were judged.
fn measured(gate: &GateRow) -> String {
    if gate.measured.is_none() && gate.limit.is_none() {
        return String::new();
    }
    let value = with_unit(gate.measured.as_ref(), &gate.unit);
    match &gate.interval {
        Some((low, high)) => {
            format!("{value} \\[{}, {}\\], {}", low.text, high.text, number::counted(gate.samples, "sample"))
        }
        None => value,
    }
}

fn with_unit(value: Option<&Number>, unit: &str) -> String {
    value.map_or_else(String::new, |n| escape(&number::with_unit(n.value, unit)))
}

fn stages(report: &Report) -> Option<String> {
    if report.stages.is_empty() {
        return None;
    }
    let mut table = Table::new(&["stage", "variant", "expected", "measured", "cumulative", "kept", "elite", "why"]);
    let times = |n: &Option<Number>| n.as_ref().map_or_else(|| "n/a".to_owned(), |n| format!("{}×", n.text));
    let expected = |s: &StageRow| {
        s.expected.as_ref().map_or_else(|| "n/a".to_owned(), |(l, h)| format!("{}× to {}×", l.text, h.text))
    };
    for stage in &report.stages {
        table.row(vec![
            escape(&stage.name),
            escape(stage.variant.as_deref().unwrap_or("none")),
            expected(stage),
            times(&stage.measured),
            times(&stage.cumulative),
            if stage.accepted { "yes" } else { "no" }.to_owned(),
            escape(&stage.elite.join(", ")),
            escape(&stage.reason),
        ]);
    }
    Some(format!("## Stages\n\n{table}"))
}

/// Where time goes in the variant that was looked at closely: states of warps, hot lines and instructions, ncu's rules.
fn closely(look: &CloseLookRow) -> String {
    let names: Vec<String> = look.looked.iter().map(|looked| escape(&looked.label)).collect();
    let mut out = format!(
        "## Close look\n\n{} at shape {}. {}\n",
        names.join(" beside "),
        escape(&look.shape),
        escape(&look.note)
    );
    let head: Vec<&str> =
        std::iter::once("warp state").chain(look.looked.iter().map(|looked| looked.short.as_str())).collect();
    let mut states = Table::new(&head);
    for state in look.states().into_iter().take(STATES) {
        let cycles = |value: &Measure| value.number().map_or_else(|| "n/a".to_owned(), |n| n.text.clone());
        let title = escape(state.title.trim_start_matches("Stall: "));
        states.row(std::iter::once(title).chain(state.values.iter().map(cycles)).collect());
    }
    if !look.states().is_empty() {
        let _ = write!(out, "\nCycles for each issued instruction, the longest first:\n\n{states}");
    }
    let Some(said) = &look.said else { return out };
    if !said.lines.is_empty() {
        let mut lines = Table::new(&["share %", "line", "source", "mostly"]);
        for hot in said.lines.iter().take(HOT) {
            lines.row(vec![
                hot.share.text.clone(),
                escape(&hot.line.place),
                escape(&hot.line.text),
                escape(&hot.stall),
            ]);
        }
        let _ = write!(out, "\nHottest source lines:\n\n{lines}");
    }
    if !said.hot.is_empty() {
        let mut spots = Table::new(&["share %", "offset", "instruction", "line", "mostly"]);
        for hot in said.hot.iter().take(HOT) {
            let line = hot.line.as_ref().map_or_else(String::new, |line| escape(&line.place));
            spots.row(vec![hot.share.text.clone(), hot.offset.clone(), escape(&hot.text), line, escape(&hot.stall)]);
        }
        let _ = write!(out, "\nHottest instructions:\n\n{spots}");
    }
    let estimated = said.rules.iter().filter_map(|rule| Some((rule, rule.speedup.as_ref()?)));
    let rules: Vec<String> = estimated
        .take(HOT)
        .map(|(rule, speedup)| {
            format!("- {} (speedup {}): {}\n", escape(&rule.title), escape(speedup), escape(&rule.text))
        })
        .collect();
    if !rules.is_empty() {
        let _ = write!(out, "\nNsight Compute's rules with an estimate:\n\n{}", rules.concat());
    }
    for lack in &said.lacks {
        let _ = write!(out, "\n{}.\n", escape(lack));
    }
    out
}

fn waivers(report: &Report) -> Option<String> {
    if report.waivers.is_empty() {
        return None;
    }
    let mut table = Table::new(&["gate", "variant", "until", "owner", "reason"]);
    for waiver in &report.waivers {
        let until = if waiver.expired { format!("{} (expired)", waiver.expires) } else { waiver.expires.clone() };
        let cells = [&waiver.gate, &waiver.variant, &until, &waiver.owner, &waiver.reason];
        table.row(cells.into_iter().map(|c| escape(c)).collect());
    }
    Some(format!("## Waivers\n\n{table}"))
}

fn variants(report: &Report) -> String {
    let metrics: Vec<usize> = (0..report.metrics.len()).take(COLUMNS).collect();
    let heads = metrics.iter().map(|at| {
        let metric = &report.metrics[*at];
        match number::unit(&metric.unit) {
            "" => metric.title.clone(),
            unit => format!("{} ({unit})", metric.title),
        }
    });
    let heads: Vec<String> =
        ["", "rank", "variant"].map(str::to_owned).into_iter().chain(heads).chain(["stopped by".to_owned()]).collect();
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    let shown: Vec<&VariantRow> = report.variants.iter().filter(|v| v.rank.is_some()).take(TOP).collect();
    for variant in &shown {
        let values = metrics.iter().map(|at| {
            let values = variant.shapes.get(report.objective_shape).and_then(|s| s.values.get(*at));
            values.and_then(|m| m.number()).map_or_else(|| "n/a".to_owned(), |n| n.text.clone())
        });
        let stop = variant.stopped_by.first().map_or_else(String::new, |s| escape(s));
        let rank = variant.rank.map_or_else(String::new, |r| r.to_string());
        let name = if variant.selected { format!("**{}**", escape(&variant.label)) } else { escape(&variant.label) };
        let state = mark(variant.verdict).to_owned();
        table.row([state, rank, name].into_iter().chain(values).chain([stop]).collect());
    }
    let wrong = report.variants.iter().filter(|v| v.correctness.verdict == Verdict::Fail).count();
    let shared = report.variants.iter().filter(|v| v.shares.is_some()).count();
    let mut out = format!("## Best variants\n\n{table}");
    let _ = writeln!(
        out,
        "\n{} of {} shown; {} wrong; {} share the measurements of a variant with the same machine code. All are in `results.json`.",
        shown.len(),
        number::counted(report.variants.len(), "variant"),
        number::plain(wrong as f64),
        number::plain(shared as f64),
    );
    out
}

/// The selected variant beside what it is compared with: a column a reference, with the change from it.
fn deltas(report: &Report) -> Option<String> {
    // Stored runs come last and are never left out.
    let stored = report.deltas.iter().filter(|d| d.about.is_some());
    let baselines = report.deltas.iter().filter(|d| d.about.is_none());
    let room = BESIDE.saturating_sub(stored.clone().count()).max(1);
    let shown: Vec<&Delta> = baselines.clone().take(room).chain(stored).collect();
    let first = shown.first()?;
    let mut heads = vec!["metric".to_owned(), "selected".to_owned()];
    heads.extend(shown.iter().flat_map(|d| [text::clip(&d.against, 40), "change".to_owned()]));
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    let mut metrics: Vec<&DeltaRow> = Vec::new();
    for row in shown.iter().flat_map(|d| &d.rows) {
        if metrics.iter().all(|known| known.metric != row.metric) {
            metrics.push(row);
        }
    }
    let of = |delta: &Delta, metric: &str| {
        let row = delta.rows.iter().find(|row| row.metric == metric);
        let change = |row: &DeltaRow| match row.word() {
            "" => row.change.clone(),
            word => format!("{}, {word}", row.change),
        };
        row.map_or_else(|| ["n/a".to_owned(), String::new()], |row| [row.other.text.clone(), change(row)])
    };
    let known = |row: &&DeltaRow| report.metric(&row.metric).map_or(usize::MAX, |(at, _)| at);
    metrics.sort_by_key(known);
    for row in metrics.iter().take(COMPARED) {
        let title = match number::unit(&row.unit) {
            "" => escape(&row.title),
            unit => format!("{} ({})", escape(&row.title), escape(unit)),
        };
        let cells = shown.iter().flat_map(|delta| of(delta, &row.metric));
        table.row([title, row.selected.text.clone()].into_iter().chain(cells).collect());
    }
    let mut out = format!("## Deltas at shape {}\n\n{table}\n", escape(&first.shape));
    for delta in &shown {
        if let Some(interval) = delta.rows.iter().find_map(DeltaRow::interval) {
            let what = format!("Latency p50 against {}: {interval} (95 % interval)", delta.against);
            let _ = writeln!(out, "- {}", escape(&what));
        }
        if let Some(about) = &delta.about {
            let _ = writeln!(out, "- {}: {}", escape(&delta.against), escape(about));
        }
    }
    if report.deltas.iter().all(|d| d.about.is_none()) {
        out.push_str("- no earlier run of this phase was measured under the same conditions\n");
    }
    let left_out: Vec<String> = baselines.skip(room).map(|d| escape(&d.against)).collect();
    if !left_out.is_empty() {
        let _ = writeln!(out, "- beside the others ({}): in `report.html` and `results.json`", left_out.join(", "));
    }
    Some(out)
}

fn findings(report: &Report) -> Option<String> {
    if report.findings.is_empty() {
        return None;
    }
    let mut out = "## Findings\n\n".to_owned();
    for (at, finding) in report.findings.iter().enumerate() {
        let (title, about) = (escape(&finding.title), escape(&text::clip(&finding.variant, text::LABEL)));
        let _ = writeln!(out, "{}. **{title}** ({about}): {}", at + 1, escape(&finding.sentence));
        if !finding.advice.is_empty() {
            let _ = writeln!(out, "   Try: {}", escape(&finding.advice));
        }
    }
    Some(out)
}

fn list(title: &str, lines: &[String]) -> Option<String> {
    if lines.is_empty() {
        return None;
    }
    let lines: String = lines.iter().map(|line| format!("- {}\n", escape(line))).collect();
    Some(format!("## {title}\n\n{lines}"))
}

fn links(report: &Report) -> Option<String> {
    if report.charts.is_empty() {
        return None;
    }
    let link = |c: &Chart| {
        let ranking = if c.id == "sensitivity" { format!("{}\n", data(c)) } else { String::new() };
        format!("![{}](charts/{}.svg)\n\n{}\n\n{ranking}", escape(&c.title), c.id, escape(&c.note))
    };
    Some(format!("## Charts\n\n{}", report.charts.iter().map(link).collect::<String>().trim_end()) + "\n")
}

/// The numbers behind a chart.
fn data(chart: &Chart) -> Table {
    let mut table = Table::new(&chart.table.head.iter().map(String::as_str).collect::<Vec<_>>());
    for row in &chart.table.rows {
        table.row(row.iter().map(|cell| escape(cell)).collect());
    }
    table
}

fn provenance(report: &Report) -> String {
    let provenance = &report.provenance;
    let mut table = Table::new(&["what", "value"]);
    for (label, value) in &provenance.facts {
        table.row(vec![escape(label), escape(value)]);
    }
    for (stage, seconds) in &provenance.stages {
        table.row(vec![format!("{} took", escape(stage)), number::seconds(seconds.value)]);
    }
    for (path, hash) in &provenance.hashes {
        table.row(vec![format!("SHA-256 of {}", escape(path)), escape(hash)]);
    }
    table.row(vec!["command line".to_owned(), escape(&provenance.argv)]);
    let commands: String = report.reproduce.iter().map(|c| format!("    {c}\n")).collect();
    format!("## What was measured where\n\n{table}\nMake it again:\n\n{commands}")
}

/// A verdict as a word.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// A verdict as it leads a line.
pub(crate) fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "PASS",
        Verdict::Fail => "FAIL",
        Verdict::Inconclusive => "INCONCLUSIVE",
    }
}

/// Text that Markdown and the HTML within it leave as it is: no markup, no link, no mention.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        match c {
            '<' if !(next == '=' || next == ' ') => out.push_str("&lt;"),
            '>' if previous != ' ' || out.is_empty() => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            ':' if next == '/' => out.push_str("&#58;"),
            '\n' | '\r' | '\t' => out.push(' '),
            '_' if previous.is_alphanumeric() && next.is_alphanumeric() => out.push(c),
            '*' if previous == ' ' && next == ' ' => out.push(c),
            '!' if next != '[' => out.push(c),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '!' => {
                out.push('\\');
                out.push(c);
            }
            '#' if previous == ' ' => out.push_str("\\#"),
            c => out.push(c),
        }
        previous = c;
    }
    out
}

/// A Markdown table, its columns padded so that it reads as text.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|h| if h.is_empty() { String::new() } else { escape(h) }).collect()] }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const WIDEST: usize = 48;
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |at: usize| self.rows.iter().filter_map(|r| r.get(at)).map(|c| c.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0).clamp(3, WIDEST)).collect();
        for (at, row) in self.rows.iter().enumerate() {
            for (cell, width) in row.iter().zip(&widths) {
                write!(f, "| {cell:<width$} ")?;
            }
            writeln!(f, "|")?;
            if at == 0 {
                for width in &widths {
                    write!(f, "| {} ", "-".repeat(*width))?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_stays_text() {
        assert_eq!(escape("REGCAP=64,TILE_M=32"), "REGCAP=64,TILE_M=32");
        assert_eq!(escape("</script><img onerror=x>"), "&lt;/script&gt;&lt;img onerror=x&gt;");
        assert_eq!(escape("a|b `c` *d* [e](f)"), "a\\|b \\`c\\` \\*d\\* \\[e\\](f)");
        assert_eq!(escape("@someone https://x.y"), "&#64;someone https&#58;//x.y");
        assert_eq!(escape("registers <= 64"), "registers <= 64");
        assert_eq!(escape("a * b != c"), "a * b != c");
    }
}
