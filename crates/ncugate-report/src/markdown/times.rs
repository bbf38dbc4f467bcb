//! Times by shape: ours, the first baseline and the fastest one.

use super::{MarkdownTable, escape};
use crate::history::shape_comparison::{ShapeComparison, TimedVariant, has_other_fastest};

/// One row for each shape. Throughput has columns if the phase declares its operations, and the fastest baseline if it
/// is another one than the first at some shape.
pub fn table_of_times(rows: &[ShapeComparison]) -> String {
    let Some(ShapeComparison { first, .. }) = rows.first() else { return String::new() };
    let has_rate = rows.iter().any(|row| row.ours.rate.is_some());
    let has_fastest = has_other_fastest(rows);
    let rate_of = |name: &str| has_rate.then(|| format!("{name}TFLOP/s"));
    let mut heads = vec!["shape".to_owned(), "ours".to_owned(), "p50 / p90".to_owned()];
    heads.extend(rate_of(""));
    if let Some(first) = first {
        heads.push(format!("{} p50 / p90", first.name));
        heads.extend(rate_of("its "));
        heads.push("speedup".to_owned());
        if has_fastest {
            heads.extend(["fastest baseline", "its p50 / p90", "speedup"].map(str::to_owned));
        }
    }
    let mut table = MarkdownTable::new(&heads);
    let rate = |timed: &TimedVariant| {
        has_rate
            .then(|| timed.rate.as_deref().map_or_else(String::new, |rate| escape(rate.trim_end_matches(" TFLOP/s"))))
    };
    for row in rows {
        let ShapeComparison { shape, ours, first, fastest } = row;
        let mut cells = vec![escape(shape), escape(&ours.name), escape(&ours.times_text())];
        cells.extend(rate(ours));
        if let Some(first) = first {
            cells.push(escape(&first.times_text()));
            cells.extend(rate(first));
            cells.push(escape(&first.speedup_text()));
            if has_fastest {
                let none = || ["none timed".to_owned(), String::new(), String::new()];
                let named = |one: &TimedVariant| [one.name.to_string(), one.times_text(), one.speedup_text()];
                cells.extend(fastest.as_ref().map_or_else(none, named).map(|cell: String| escape(&cell)));
            }
        }
        table.row(cells);
    }
    match rows.iter().any(ShapeComparison::has_sweep) {
        true => format!("{table}\n(sweep): not re-timed; these samples also selected the variant.\n"),
        false => table.to_string(),
    }
}
