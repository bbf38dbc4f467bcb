//! Parallel coordinates of a sweep: each variant is a line through its parameters and the objective.

use super::charted_run::{Better, ChartedRun, VariantRow};
use super::front::{axes, row_of};
use super::spec::{Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Scale, Series, Stroke, Tone};
use ncugate_model::CleanText;
use ncugate_model::number;
use ncugate_model::number::text::inside;

/// Fewer variants are not worth a chart.
const FEWEST: usize = 6;
/// Most lines drawn; beyond that, the best and an even sample of the rest.
const MOST: usize = 90;
/// Number of highlighted best lines: a tenth of the variants, within these bounds.
const BEST: (usize, usize) = (2, 10);
/// Spread of lines with the same value, as a share of the axis, which keeps them distinguishable.
const SPREAD: f64 = 0.05;

/// A parameter and its values in the order of the axis.
struct Parameter<'a> {
    at: usize,
    name: &'a str,
    values: Vec<&'a str>,
}

/// A variant, its objective, and the point at which its line crosses each row.
struct Line<'v> {
    variant: &'v VariantRow,
    value: f64,
    points: Vec<(f64, f64)>,
}

/// The chart of a sweep over at least two parameters.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let ranked: Vec<(&VariantRow, f64)> = run
        .variants
        .iter()
        .filter(|variant| variant.rank.is_some() && variant.params.len() == run.params.len())
        .filter_map(|variant| Some((variant, run.objective_of(variant).filter(|value| value.is_finite())?)))
        .collect();
    let parameters = parameters(run, &ranked);
    if ranked.len() < FEWEST || parameters.len() < 2 {
        return None;
    }
    let lines = lines(run, &parameters, &ranked);
    let best = (lines.len() / 10).clamp(BEST.0, BEST.1).min(lines.len());
    let (title, unit) = run.described(run.objective);
    let (first, last) = (lines.first()?, lines.last()?);
    let axis = |parameter: &Parameter<'_>| (parameter.name.to_owned(), ends(&parameter.values));
    let objective = (
        title.to_owned(),
        format!("{} to {}", number::in_sentence(first.value, unit), number::in_sentence(last.value, unit)),
    );
    let rows = parameters.iter().map(axis).chain([objective]);
    let shared: Vec<String> = parameters.iter().filter_map(|parameter| shared(parameter, &lines[..best])).collect();
    let said = match shared.as_slice() {
        [] => format!("the best {best} share no value of a parameter"),
        shared => format!("the best {best} all have {}", shared.join(", ")),
    };
    Some(Chart {
        id: "parallel-coordinates".to_owned(),
        title: "The sweep in parallel coordinates".to_owned(),
        note: format!("Each line is a variant; {said}. Lines of one value are spread a little."),
        x: ChartAxis::new("place in the order of the sweep, and from best to worst", "", Scale::Zero),
        y: ChartAxis::new("parameter", "", axes(rows)),
        series: line_series(&lines, best, unit, title),
        limits: Vec::new(),
        alt: format!(
            "{} variants as lines through {} parameters and {}. {said}.",
            lines.len(),
            parameters.len(),
            inside(title)
        ),
        table: ChartTable::new(
            ["rank", "variant", title],
            lines.iter().enumerate().map(|(at, line)| {
                vec![(at + 1).to_string(), line.variant.label.to_string(), number::plain(line.value)]
            }),
        ),
    })
}

/// Parameters that every variant has and that have several values: the strongest first, if effects are known.
fn parameters<'a>(run: &'a ChartedRun<'_>, ranked: &[(&'a VariantRow, f64)]) -> Vec<Parameter<'a>> {
    let of = |(at, name): (usize, &'a CleanText)| {
        let mut values: Vec<&str> = Vec::new();
        for (variant, _) in ranked {
            let value = variant.params.get(at)?.as_deref()?;
            if !values.contains(&value) {
                values.push(value);
            }
        }
        // numbers by size; words in the order of rank
        let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
        if let Some(numbers) = numbers {
            let mut both: Vec<(f64, &str)> = numbers.into_iter().zip(values).collect();
            both.sort_by(|a, b| a.0.total_cmp(&b.0));
            values = both.into_iter().map(|(_, value)| value).collect();
        }
        (values.len() > 1).then_some(Parameter { at, name, values })
    };
    let mut found: Vec<Parameter<'a>> = run.params.iter().enumerate().filter_map(of).collect();
    let strength = |name: &str| run.effects.iter().position(|effect| effect.parameter == name).unwrap_or(usize::MAX);
    found.sort_by_key(|parameter| strength(parameter.name));
    found
}

/// Lines by the objective, the best first.
fn lines<'v>(run: &ChartedRun<'_>, parameters: &[Parameter<'_>], ranked: &[(&'v VariantRow, f64)]) -> Vec<Line<'v>> {
    let better = run.metric(run.objective).map_or(Better::Lower, |metric| metric.better);
    let mut ranked = ranked.to_vec();
    ranked.sort_by(|a, b| if better == Better::Higher { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
    let (best, worst) = (ranked.first().map_or(0.0, |v| v.1), ranked.last().map_or(0.0, |v| v.1));
    let count = ranked.len();
    let place = |value: f64| if best == worst { 0.0 } else { (value - best) / (worst - best) };
    let of = |(at, (variant, value)): (usize, (&'v VariantRow, f64))| {
        let aside = SPREAD * at as f64 / count as f64;
        let crossing = |(row, parameter): (usize, &Parameter<'_>)| {
            let value = variant.params.get(parameter.at)?.as_deref()?;
            let level = parameter.values.iter().position(|known| *known == value)?;
            let last = (parameter.values.len() - 1) as f64;
            Some(((1.0 - SPREAD) * level as f64 / last + aside, row_of(row)))
        };
        let crossings: Option<Vec<(f64, f64)>> = parameters.iter().enumerate().map(crossing).collect();
        let mut points = crossings?;
        points.push((place(value), row_of(parameters.len())));
        Some(Line { variant, value, points })
    };
    ranked.into_iter().enumerate().filter_map(of).collect()
}

fn line_series(lines: &[Line<'_>], best: usize, unit: &str, title: &str) -> Vec<Series> {
    let (leading, rest) = lines.split_at(best.min(lines.len()));
    let step = rest.len().div_ceil(MOST.saturating_sub(leading.len()).max(1)).max(1);
    let line = |tone: Tone, stroke: Stroke| {
        move |line: &Line<'_>| Series { name: String::new(), tone, marks: Marks::Line(stroke, line.points.clone()) }
    };
    let label = |line: &Line<'_>| format!("{}: {}", line.variant.label, number::with_unit(line.value, unit));
    let ends = |lines: &[Line<'_>]| -> Vec<ChartPoint> {
        let end = |line: &Line<'_>| {
            let (x, y) = line.points.last().copied()?;
            Some(ChartPoint { x, y, label: label(line) })
        };
        lines.iter().filter_map(end).collect()
    };
    let mut series: Vec<Series> = rest.iter().step_by(step).map(line(Tone::Muted, Stroke::Thin)).collect();
    series.extend(leading.iter().map(line(Tone::Good, Stroke::Solid)));
    let points = |name: String, tone, glyph, points| Series { name, tone, marks: Marks::Points(glyph, points) };
    series.push(points("the others".to_owned(), Tone::Muted, Glyph::Cross, ends(rest)));
    series.push(points(format!("the best by {}", inside(title)), Tone::Good, Glyph::Disc, ends(leading)));
    series
}

/// The value of a parameter that all given variants share.
fn shared(parameter: &Parameter<'_>, lines: &[Line<'_>]) -> Option<String> {
    let value = |line: &Line<'_>| line.variant.params.get(parameter.at).cloned().flatten();
    let first = value(lines.first()?)?;
    let all = lines.iter().all(|line| value(line).as_ref() == Some(&first));
    all.then(|| format!("{} = {first}", parameter.name))
}

/// `16, 32, 64`, or only both ends of a long list.
fn ends(values: &[&str]) -> String {
    match values {
        [first, .., last] if values.len() > 4 => format!("{first} to {last}"),
        values => values.join(", "),
    }
}
