//! Limiters of the blocks per multiprocessor: registers, shared memory, warps, or the block limit.

use super::charted_run::ChartedRun;
use super::spec::{Bar, Chart, ChartAxis, ChartTable, Marks, Scale, Series, Tone, mark_label};
use ncugate_model::number;

/// Variants shown.
const LEADERS: usize = 3;
const PREFIX: &str = "occupancy_limit_";

/// The chart, if occupancy limits were collected.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let shape = run.objective_shape;
    let limits: Vec<&str> =
        run.metrics.iter().map(|m| m.name.as_str()).filter(|name| name.starts_with(PREFIX)).collect();
    let shown: Vec<_> = run
        .leaders(LEADERS)
        .into_iter()
        .filter(|v| v.rank.is_some())
        .filter(|v| limits.iter().any(|name| run.value(v, shape, name).is_some()))
        .collect();
    let first = *shown.first()?;
    let mut names = Vec::new();
    let mut rows = Vec::new();
    let (mut least, mut others) = (Vec::new(), Vec::new());
    for variant in &shown {
        let values: Vec<(&str, f64)> =
            limits.iter().filter_map(|name| Some((*name, run.value(variant, shape, name)?))).collect();
        let smallest = values.iter().map(|v| v.1).fold(f64::INFINITY, f64::min);
        for (name, value) in values {
            let label = mark_label(&variant.label, &[(&format!("limit by {}", words(name)), value, "block")]);
            let bar = Bar { row: names.len(), from: 0.0, to: value, label };
            if value <= smallest {
                least.push(bar)
            } else {
                others.push(bar)
            }
            names.push(format!("{}, {}", variant.short, words(name)));
            rows.push(vec![variant.label.to_string(), words(name), number::plain(value)]);
        }
    }
    let limiter = limits
        .iter()
        .filter_map(|name| Some((*name, run.value(first, shape, name)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let (name, value) = limiter?;
    Some(Chart {
        id: "occupancy-limiters".to_owned(),
        title: "What limits the blocks on a multiprocessor?".to_owned(),
        note: format!(
            "Blocks of the best variant that fit on a multiprocessor: {}, limited by {}.",
            number::plain(value),
            words(name)
        ),
        x: ChartAxis::new("blocks on a multiprocessor", "", Scale::Zero),
        y: ChartAxis::new(&run.variant_axis(), "", Scale::Names(names)),
        series: vec![
            Series { name: "binds".to_owned(), tone: Tone::Chosen, marks: Marks::Bars(least) },
            Series { name: "does not bind".to_owned(), tone: Tone::Muted, marks: Marks::Bars(others) },
        ],
        limits: Vec::new(),
        alt: format!("Limits of {} variants; the smallest binds.", shown.len()),
        table: ChartTable::new(["variant", "limit", "blocks"], rows),
    })
}

fn words(name: &str) -> String {
    name.trim_start_matches(PREFIX).replace('_', " ")
}
