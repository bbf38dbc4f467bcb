//! Importance of parameters: the objective over all correct variants, by value of each parameter.

use super::charted_run::ChartedRun;
use super::spec::{Chart, ChartAxis, ChartTable, Marks, Scale, Series, Spread, Tone, five_numbers};
use ncugate_model::number;

/// Most values of one parameter that are shown separately.
const VALUES: usize = 12;

/// The chart, if at least one parameter takes several values over the ranked variants.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let mut groups: Vec<(String, usize, Vec<f64>)> = Vec::new();
    for effect in &run.effects {
        let name = &effect.parameter;
        let Some(at) = run.params.iter().position(|p| p == name) else { continue };
        let values = by_value(run, at);
        if (2..=VALUES).contains(&values.len()) {
            groups.extend(values.into_iter().map(|(value, latencies)| (format!("{name} = {value}"), at, latencies)));
        }
    }
    // If every variant is a separate change, `sensitivity` shows its cost.
    let named = run.variants.iter().filter(|v| v.rank.is_some()).all(|v| v.name.is_some());
    if groups.is_empty() || named {
        return None;
    }
    let (title, unit) = run.described(run.objective);
    let mut series: Vec<Series> = Vec::new();
    for (row, (label, parameter, values)) in groups.iter().enumerate() {
        let Some(quartiles) = five_numbers(values) else { continue };
        let label = format!("{label}: median {} of {}", number::with_unit(quartiles[2], unit), values.len());
        let spread = Spread { row, quartiles, label };
        let tone = Tone::Nth(*parameter);
        match series.iter_mut().find(|s| s.tone == tone) {
            Some(Series { marks: Marks::Boxes(boxes), .. }) => boxes.push(spread),
            _ => series.push(Series { name: String::new(), tone, marks: Marks::Boxes(vec![spread]) }),
        }
    }
    let strongest = run.effects.first()?;
    let knob = &strongest.parameter;
    Some(Chart {
        id: "parameter-effects".to_owned(),
        title: "Parameter effects".to_owned(),
        note: format!(
            "{knob} matters most: the medians of its values lie {} apart.",
            number::change(1.0 + strongest.effect_pct / 100.0).trim_start_matches('+')
        ),
        x: ChartAxis::new(title, unit, Scale::Linear),
        y: ChartAxis::new("parameter", "", Scale::Names(groups.iter().map(|g| g.0.clone()).collect())),
        series,
        limits: Vec::new(),
        alt: format!("{} by value of each parameter; {knob} moves it most.", title),
        table: ChartTable::new(
            ["parameter", "variants", "least", "median", "greatest", "rank", "medians apart by"],
            groups.iter().filter_map(|(label, at, values)| {
                let [least, _, median, _, most] = five_numbers(values)?;
                let effect =
                    run.effects.iter().find(|e| run.params.get(*at).is_some_and(|name| *name == e.parameter))?;
                let numbers = [least, median, most].map(number::plain);
                let ranking = [effect.rank.to_string(), number::change(1.0 + effect.effect_pct / 100.0)];
                let counted = [label.to_owned(), values.len().to_string()];
                Some(counted.into_iter().chain(numbers).chain(ranking).collect())
            }),
        ),
    })
}

/// Objective values by value of a parameter, in the order of the sweep (numeric if possible).
fn by_value(run: &ChartedRun<'_>, parameter: usize) -> Vec<(String, Vec<f64>)> {
    let mut values: Vec<(String, Vec<f64>)> = Vec::new();
    for variant in run.variants.iter().filter(|v| v.rank.is_some()) {
        let Some(Some(value)) = variant.params.get(parameter) else { continue };
        let Some(y) = run.objective_of(variant) else { continue };
        match values.iter_mut().find(|(known, _)| value == known) {
            Some((_, list)) => list.push(y),
            None => values.push((value.to_string(), vec![y])),
        }
    }
    let key = |text: &str| text.parse::<f64>().unwrap_or(f64::INFINITY);
    values.sort_by(|a, b| key(&a.0).total_cmp(&key(&b.0)).then_with(|| a.0.cmp(&b.0)));
    values
}
