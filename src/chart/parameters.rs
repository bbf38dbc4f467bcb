//! Which knob matters: the objective over all correct variants, by value of each parameter.

use super::context::{Context, described};
use super::spec::{Axis, Chart, Marks, Scale, Series, Spread, Table, Tone, quartiles};
use crate::report::{Report, number};

/// Most values of one parameter that are told apart.
const VALUES: usize = 12;

/// The chart, when at least one parameter takes several values over the ranked variants.
pub fn chart(report: &Report, context: &Context) -> Option<Chart> {
    let mut groups: Vec<(String, usize, Vec<f64>)> = Vec::new();
    for effect in &context.effects {
        let name = &effect.parameter;
        let Some(at) = report.params.iter().position(|p| p == name) else { continue };
        let values = by_value(report, context, at);
        if (2..=VALUES).contains(&values.len()) {
            groups.extend(values.into_iter().map(|(value, latencies)| (format!("{name} = {value}"), at, latencies)));
        }
    }
    // Where every variant is a change of its own, its price is told by `sensitivity`.
    let named = report.variants.iter().filter(|v| v.rank.is_some()).all(|v| v.name.is_some());
    if groups.is_empty() || named {
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
    let strongest = context.effects.first()?;
    let knob = &strongest.parameter;
    Some(Chart {
        id: "parameter-effects".to_owned(),
        title: "Parameter effects".to_owned(),
        note: format!(
            "{knob} matters most: the medians of its values lie {} apart.",
            number::change(1.0 + strongest.effect_pct / 100.0).trim_start_matches('+')
        ),
        x: Axis::new(title, unit, Scale::Linear),
        y: Axis::new("parameter", "", Scale::Names(groups.iter().map(|g| g.0.clone()).collect())),
        series,
        limits: Vec::new(),
        alt: format!("{} by value of each parameter; {knob} moves it most.", title),
        table: Table::new(
            ["parameter", "variants", "least", "median", "greatest", "rank", "medians apart by"],
            groups.iter().filter_map(|(label, at, values)| {
                let [least, _, median, _, most] = quartiles(values)?;
                let effect = context.effects.iter().find(|e| report.params.get(*at) == Some(&e.parameter))?;
                let numbers = [least, median, most].map(number::plain);
                let ranking = [effect.rank.to_string(), number::change(1.0 + effect.effect_pct / 100.0)];
                let counted = [label.clone(), values.len().to_string()];
                Some(counted.into_iter().chain(numbers).chain(ranking).collect())
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
