//! The objective by value of each parameter: a panel for each parameter, with every correct variant as a point.

use super::charted_run::{ChartedRun, VariantRow, marked};
use super::spec::{
    Chart, ChartAxis, ChartPoint, ChartTable, Marks, Panel, Scale, Series, Stroke, Tone, five_numbers, mark_label,
};
use ncugate_model::number;
use ncugate_model::number::text::inside;

/// Most values of one parameter that are shown separately.
const VALUES: usize = 12;
/// Most points of a panel; more are thinned out evenly by rank.
const DRAWN: usize = 300;
/// Above this number, points are small dots.
const MANY: usize = 150;
/// Width over which the points of a value are spread by rank, which keeps them distinguishable.
const SPREAD: f64 = 0.5;

/// A parameter with its values, in the order of the sweep.
struct Parameter<'r> {
    name: &'r str,
    /// Distance of the medians of its values, in percent.
    effect: f64,
    /// Its place by effect, from 1.
    rank: usize,
    values: Vec<ParameterValue<'r>>,
}

/// A value with the variants that have it, best first, and their objective.
struct ParameterValue<'r> {
    text: &'r str,
    variants: Vec<(&'r VariantRow, f64)>,
}

impl ParameterValue<'_> {
    fn numbers(&self) -> Option<[f64; 5]> {
        five_numbers(&self.variants.iter().map(|(_, objective)| *objective).collect::<Vec<f64>>())
    }
}

/// The panels, strongest parameter first, if at least one parameter takes several values over the ranked variants.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    // If every variant is a separate change, `sensitivity` shows its cost.
    if run.variants.iter().filter(|v| v.rank.is_some()).all(|v| v.name.is_some()) {
        return None;
    }
    let mut all: Vec<Parameter<'_>> = (0..run.params.len()).filter_map(|at| parameter(run, at)).collect();
    all.sort_by(|a, b| b.effect.total_cmp(&a.effect));
    (1..).zip(&mut all).for_each(|(rank, parameter)| parameter.rank = rank);
    let (shown, crowded): (Vec<_>, Vec<_>) = all.iter().partition(|parameter| parameter.values.len() <= VALUES);
    let strongest = shown.first()?;
    let (title, unit) = run.described(run.objective);
    let crowded: String = crowded
        .iter()
        .map(|parameter| format!(" {} has {} values, too many to draw.", parameter.name, parameter.values.len()))
        .collect();
    let matters = format!(
        "{} matters most: the medians of its values are {} apart",
        strongest.name,
        number::change(1.0 + strongest.effect / 100.0).trim_start_matches('+')
    );
    let rows = shown.iter().flat_map(|parameter| {
        parameter.values.iter().filter_map(|value| {
            let [least, _, median, _, most] = value.numbers()?;
            let counted = [format!("{} = {}", parameter.name, value.text), value.variants.len().to_string()];
            let ranking = [parameter.rank.to_string(), number::change(1.0 + parameter.effect / 100.0)];
            Some(counted.into_iter().chain([least, median, most].map(number::plain)).chain(ranking).collect())
        })
    });
    Some(Chart {
        id: "parameter-effects".to_owned(),
        title: format!("Which parameter values change {}?", inside(title)),
        note: format!("{matters}. The line joins the medians.{crowded}"),
        alt: format!("{matters}."),
        table: ChartTable::new(
            ["parameter", "variants", "least", "median", "greatest", "rank", "medians apart by"],
            rows,
        ),
        panels: shown.into_iter().map(|parameter| panel(parameter, title, unit)).collect(),
    })
}

fn panel(parameter: &Parameter<'_>, title: &str, unit: &str) -> Panel {
    let values = &parameter.values;
    let count: usize = values.iter().map(|value| value.variants.len()).sum();
    let step = count.div_ceil(DRAWN).max(1);
    let points: Vec<(&VariantRow, ChartPoint)> = values
        .iter()
        .enumerate()
        .flat_map(|(column, value)| {
            let most = value.variants.len().saturating_sub(1).max(1) as f64;
            value.variants.iter().enumerate().step_by(step).map(move |(at, (variant, objective))| {
                let x = column as f64 + SPREAD * (at as f64 / most - 0.5);
                (
                    *variant,
                    ChartPoint { x, y: *objective, label: mark_label(&variant.label, &[(title, *objective, unit)]) },
                )
            })
        })
        .collect();
    let medians = values.iter().enumerate().filter_map(|(at, value)| Some((at as f64, value.numbers()?[2])));
    let mut series = marked(&points, MANY);
    series.push(Series::new("median", Tone::Muted, Marks::Line(Stroke::Solid, medians.collect())));
    let x = ChartAxis::named(parameter.name, values.iter().map(|value| value.text));
    Panel::new(x, ChartAxis::new(title, unit, Scale::Linear), series)
}

/// A parameter with several values over the ranked variants: numbers by size, words by their letters.
fn parameter<'r>(run: &'r ChartedRun<'_>, at: usize) -> Option<Parameter<'r>> {
    let mut values: Vec<ParameterValue<'r>> = Vec::new();
    for variant in run.variants.iter().filter(|v| v.rank.is_some()) {
        let Some(Some(text)) = variant.params.get(at) else { continue };
        let Some(objective) = run.objective_of(variant).filter(|objective| objective.is_finite()) else { continue };
        match values.iter_mut().find(|known| known.text == text.as_str()) {
            Some(known) => known.variants.push((variant, objective)),
            None => values.push(ParameterValue { text, variants: vec![(variant, objective)] }),
        }
    }
    let key = |text: &str| text.parse::<f64>().unwrap_or(f64::INFINITY);
    values.sort_by(|a, b| key(a.text).total_cmp(&key(b.text)).then_with(|| a.text.cmp(b.text)));
    let medians = || values.iter().filter_map(|value| Some(value.numbers()?[2]));
    let (low, high) = (medians().min_by(f64::total_cmp)?, medians().max_by(f64::total_cmp)?);
    let effect = 100.0 * (high / low - 1.0);
    let name = run.params.get(at)?.as_str();
    (values.len() > 1 && effect.is_finite()).then_some(Parameter { name, effect, rank: 0, values })
}
