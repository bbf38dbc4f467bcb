//! Tables of a comparison, for Markdown and the terminal.

use super::comparison::{ComparedPair, RunComparison};
use super::times::ComparedTime;
use crate::metric_change::MetricChange;
use crate::number;
use ncugate_model::metric::Catalogue;

/// A head and its rows.
pub struct ComparedTable<const N: usize> {
    pub head: [&'static str; N],
    pub rows: Vec<[String; N]>,
    /// Number of rows left out.
    pub more: usize,
}

impl<const N: usize> ComparedTable<N> {
    /// The first `most` rows; none without rows.
    fn new(head: [&'static str; N], rows: impl Iterator<Item = [String; N]>, most: usize) -> Option<Self> {
        let mut rows: Vec<[String; N]> = rows.collect();
        let more = rows.len().saturating_sub(most);
        rows.truncate(most);
        (!rows.is_empty()).then_some(Self { head, rows, more })
    }
}

/// Latencies of variants, the largest change first.
pub fn latencies(comparison: &RunComparison, most: usize) -> Option<ComparedTable<7>> {
    let row = |pair: &ComparedPair| {
        let l = pair.latency?;
        let turned = pair.turned.map_or_else(String::new, |(a, b)| format!("{a}, then {b}"));
        let [before, after] = [l.before, l.after].map(number::plain);
        let change = [number::change(l.ratio), l.interval.text(), l.word().to_owned(), turned];
        let [change, interval, word, turned] = change;
        Some([pair.name.to_string(), before, after, change, interval, word, turned])
    };
    let head = ["latency p50", "A µs", "B µs", "change", "95 % interval", "", "verdict"];
    ComparedTable::new(head, comparison.pairs.iter().filter_map(row), most)
}

/// Kernels of reports by time. Variants of runs are in the table of latencies.
pub fn kernels(comparison: &RunComparison, most: usize) -> Option<ComparedTable<4>> {
    let row = |time: &ComparedTime| {
        let written = |nanos: Option<f64>| nanos.map_or_else(|| "-".to_owned(), |nanos| number::with_unit(nanos, "ns"));
        let [before, after] = time.medians.map(written);
        let change = time.change.as_ref().map_or_else(|| time.presence.words().to_owned(), MetricChange::words);
        [time.label.to_string(), before, after, change]
    };
    let launched = comparison.times.iter().filter(|time| time.launches.iter().any(Option::is_some));
    ComparedTable::new(["kernel", "median A", "median B", "change"], launched.map(row), most)
}

/// Metrics of the catalogue that differ in a pair.
pub fn metrics(pair: &ComparedPair, most: usize) -> Option<ComparedTable<5>> {
    let row = |row: &MetricChange| {
        let [before, after] = [&row.before, &row.after].map(|number| number.text.clone());
        [row.heading(), before, after, row.change.to_string(), row.judged.word().to_owned()]
    };
    let differ = pair.rows.iter().filter(|row| row.before != row.after && !is_raw(row));
    ComparedTable::new(["metric", "A", "B", "change", ""], differ.map(row), most)
}

/// Whether it is one of ncu's own metrics, which explain a change less than those of the catalogue.
pub fn is_raw(row: &MetricChange) -> bool {
    Catalogue::embedded().get(&row.metric).is_none()
}

/// `3 metrics are equal, 2 more and 218 of ncu's own differ (`--metric GLOB` shows them)`
pub fn others(pair: &ComparedPair, more: usize) -> String {
    let (same, differ): (Vec<_>, Vec<_>) = pair.rows.iter().partition(|row| row.before == row.after);
    let raw = differ.iter().filter(|row| is_raw(row)).count();
    let rest = match (more, raw) {
        (0, 0) => String::new(),
        (more, 0) => format!(", {more} more differ"),
        (0, raw) => format!(", {raw} of ncu's own differ (`--metric GLOB` shows them)"),
        (more, raw) => format!(", {more} more and {raw} of ncu's own differ (`--metric GLOB` shows them)"),
    };
    format!("{} metrics are equal{rest}", same.len())
}
