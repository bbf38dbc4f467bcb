//! The selected variant compared with others, in Markdown.

use super::escape::escape;
use super::table::MarkdownTable;
use crate::deltas::Delta;
use crate::metric_change::MetricChange;
use crate::run_report::RunReport;
use std::fmt::Write as _;

/// Most metrics shown.
const COMPARED: usize = 14;
/// Most baselines and stored runs shown.
const BESIDE: usize = 3;

/// The selected variant and its references: one column for each, with the change from it.
pub fn deltas(report: &RunReport) -> Option<String> {
    // Stored runs come last and are never left out.
    let stored = report.deltas.iter().filter(|d| d.about.is_some());
    let baselines = report.deltas.iter().filter(|d| d.about.is_none());
    let room = BESIDE.saturating_sub(stored.clone().count()).max(1);
    let shown: Vec<&Delta> = baselines.clone().take(room).chain(stored).collect();
    let first = shown.first()?;
    let mut heads = vec!["metric".to_owned(), "selected".to_owned()];
    heads.extend(shown.iter().flat_map(|d| [d.marked(), "change".to_owned()]));
    let mut table = MarkdownTable::new(&heads);
    let mut metrics: Vec<&MetricChange> = Vec::new();
    for row in shown.iter().flat_map(|d| &d.rows) {
        if metrics.iter().all(|known| known.metric != row.metric) {
            metrics.push(row);
        }
    }
    let of = |delta: &Delta, metric: &str| {
        let row = delta.rows.iter().find(|row| row.metric == metric);
        row.map_or_else(|| ["n/a".to_owned(), String::new()], |row| [row.before.text.clone(), row.words()])
    };
    let known = |row: &&MetricChange| report.metric(&row.metric).map_or(usize::MAX, |(at, _)| at);
    metrics.sort_by_key(known);
    for row in metrics.iter().take(COMPARED) {
        let cells = shown.iter().flat_map(|delta| of(delta, &row.metric));
        table.row([escape(&row.heading()), row.after.text.clone()].into_iter().chain(cells).collect());
    }
    if shown.iter().all(|delta| !delta.limited_by[0].is_empty()) {
        let cells = shown.iter().flat_map(|delta| [escape(&delta.limited_by[1]), String::new()]);
        let selected = ["Blocks per SM limited by".to_owned(), escape(&first.limited_by[0])];
        table.row(selected.into_iter().chain(cells).collect());
    }
    let mut out = format!("## Comparisons at shape {}\n\n{table}\n", escape(&first.shape));
    for delta in &shown {
        if let Some(interval) = delta.rows.iter().find_map(|row| row.interval) {
            let what = format!("Latency p50 against {}: {} (95 % interval)", delta.against, interval.text());
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
        let _ = writeln!(out, "- compared with {}: see `report.html` and `results.json`", left_out.join(", "));
    }
    Some(out)
}
