//! Where the warps of the leading variants wait.

use super::context::leaders;
use super::spec::{Axis, Bar, Chart, Marks, Scale, Series, Table, Tone};
use crate::report::{Report, number};

/// Variants shown beside the baselines.
const LEADERS: usize = 6;
/// States told apart; the rest is added up.
const STATES: usize = 5;

/// The chart, when stall reasons were collected.
pub fn chart(report: &Report) -> Option<Chart> {
    let shape = report.objective_shape;
    let mut states: Vec<&str> =
        report.metrics.iter().map(|m| m.name.as_str()).filter(|name| name.starts_with("stall_")).collect();
    let value = |v, name: &str| report.value(v, shape, name).unwrap_or(0.0).max(0.0);
    let shown: Vec<_> =
        leaders(report, LEADERS).into_iter().filter(|v| states.iter().any(|s| value(v, s) > 0.0)).collect();
    let first = *shown.first()?;
    states.sort_by(|a, b| value(first, b).total_cmp(&value(first, a)));
    let (told, rest) = states.split_at(states.len().min(STATES));
    let mut levels = vec![0.0; shown.len()];
    let mut stack = |name: &str, tone: Tone, of: &dyn Fn(usize) -> f64| {
        let bars = (0..shown.len()).map(|row| {
            let from = levels[row];
            levels[row] += of(row);
            let label = format!("{}, {name}: {}", shown[row].label, number::plain(of(row)));
            Bar { row, from, to: levels[row], label }
        });
        Series { name: name.to_owned(), tone, marks: Marks::Bars(bars.collect()) }
    };
    let mut series: Vec<Series> = told
        .iter()
        .enumerate()
        .map(|(at, state)| stack(&words(state), Tone::Nth(at), &|row| value(shown[row], state)))
        .collect();
    if !rest.is_empty() {
        series.push(stack("other states", Tone::Muted, &|row| rest.iter().map(|s| value(shown[row], s)).sum()));
    }
    let unit = super::context::described(report, states[0]).1;
    Some(Chart {
        id: "stalls".to_owned(),
        title: "Warp states".to_owned(),
        note: states.iter().find(|s| **s != "stall_selected").map_or_else(String::new, |state| {
            format!("The warps of the best variant that do not issue wait most for {}.", words(state))
        }),
        x: Axis::new("warp state", unit, Scale::Zero),
        y: Axis::new(
            &super::context::variant_axis(report),
            "",
            Scale::Names(shown.iter().map(|v| v.short.clone()).collect()),
        ),
        series,
        limits: Vec::new(),
        alt: format!("{} states of {} variants, largest first.", states.len(), shown.len()),
        table: Table::new(
            ["variant", "state", "value"],
            shown.iter().flat_map(|v| {
                states.iter().map(move |s| {
                    let value = report.value(v, shape, s);
                    vec![v.label.clone(), words(s), value.map_or_else(|| "n/a".to_owned(), number::plain)]
                })
            }),
        ),
    })
}

fn words(state: &str) -> String {
    state.trim_start_matches("stall_").replace('_', " ")
}
