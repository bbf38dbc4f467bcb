//! Which knob matters: the objective over all correct variants, by value of each parameter.

use super::context::{Context, described};
use super::spec::{Axis, Chart, Marks, Scale, Series, Spread, Table, Tone, quartiles};
use crate::report::{Report, number};

/// Most values of one parameter that are told apart.
const VALUES: usize = 12;

/// The chart, when at least one parameter takes several values over the ranked variants.
pub fn chart(report: &Report, context: &Context) -> Option<Chart> {
    let mut groups: Vec<(String, usize, Vec<f64>)> = Vec::new();
    for (at, name) in report.params.iter().enumerate() {
        let values = by_value(report, context, at);
        if (2..=VALUES).contains(&values.len()) {
            groups.extend(values.into_iter().map(|(value, latencies)| (format!("{name} = {value}"), at, latencies)));
        }
    }
    if groups.is_empty() {
        return None;
    }
    let (title, unit) = described(report, &context.objective);
    let mut series: Vec<Series> = Vec::new();
    for (row, (label, parameter, values)) in groups.iter().enumerate() {
        let Some(quartiles) = quartiles(values) else { continue };
        let label = format!("{label}: median {} of {}", number::with_unit(quartiles[2], unit), values.len());
        let spread = Spread { row, quartiles, label };
        let tone = Tone::Nth(*parameter);
        match series.iter_mut().find(|s| s.tone == tone) {
            Some(Series { marks: Marks::Boxes(boxes), .. }) => boxes.push(spread),
            _ => series.push(Series { name: String::new(), tone, marks: Marks::Boxes(vec![spread]) }),
        }
    }
    let (knob, reach) = widest(report, &groups);
    Some(Chart {
        id: "parameter-effects".to_owned(),
        title: "Parameter effects".to_owned(),
        note: format!("{knob} matters most: its medians lie {} apart.", number::change(reach).trim_start_matches('+')),
        x: Axis::new(title, unit, Scale::Linear),
        y: Axis::new("parameter", "", Scale::Names(groups.iter().map(|g| g.0.clone()).collect())),
        series,
        limits: Vec::new(),
        alt: format!("{} by value of each parameter; {knob} moves it most.", title),
        table: Table::new(
            ["parameter", "variants", "least", "median", "greatest"],
            groups.iter().filter_map(|(label, _, values)| {
                let [least, _, median, _, most] = quartiles(values)?;
                let counted = values.len().to_string();
                Some(vec![label.clone(), counted, number::plain(least), number::plain(median), number::plain(most)])
            }),
        ),
    })
}

/// Objective values by value of a parameter, values in the order of the sweep (as numbers where they are).
fn by_value(report: &Report, context: &Context, parameter: usize) -> Vec<(String, Vec<f64>)> {
    let mut values: Vec<(String, Vec<f64>)> = Vec::new();
    for variant in report.variants.iter().filter(|v| v.rank.is_some()) {
        let Some(Some(value)) = variant.params.get(parameter) else { continue };
        let Some(y) = report.value(variant, report.objective_shape, &context.objective) else { continue };
        match values.iter_mut().find(|(known, _)| known == value) {
            Some((_, list)) => list.push(y),
            None => values.push((value.clone(), vec![y])),
        }
    }
    let key = |text: &str| text.parse::<f64>().unwrap_or(f64::INFINITY);
    values.sort_by(|a, b| key(&a.0).total_cmp(&key(&b.0)).then_with(|| a.0.cmp(&b.0)));
    values
}

/// The parameter whose medians lie farthest apart, and by what ratio.
fn widest(report: &Report, groups: &[(String, usize, Vec<f64>)]) -> (String, f64) {
    let reach = |parameter: usize| {
        let medians = groups.iter().filter(|g| g.1 == parameter).filter_map(|g| quartiles(&g.2)).map(|q| q[2]);
        let (low, high) = medians.fold((f64::INFINITY, 0.0f64), |(low, high), m| (low.min(m), high.max(m)));
        if low > 0.0 && low.is_finite() { high / low } else { 1.0 }
    };
    let reaches = report.params.iter().enumerate().map(|(at, name)| (name.clone(), reach(at)));
    reaches.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
}
