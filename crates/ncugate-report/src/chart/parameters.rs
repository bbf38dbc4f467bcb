//! The objective by value of each parameter: a panel for each parameter, with every correct variant as a point.

use super::charted_run::{ChartedRun, VariantMark, VariantRow};
use super::spec::{
    Chart, ChartAxis, ChartGrid, ChartPoint, ChartTable, Glyph, Marks, Scale, Series, Stroke, Tone, five_numbers,
    mark_label,
};
use ncugate_model::number;
use ncugate_model::number::text::inside;

/// Most values of one parameter that are shown separately.
const VALUES: usize = 12;
/// Most points of a panel; more are thinned out evenly by rank.
const DRAWN: usize = 300;
/// Above this number, points are small dots.
const DOTS: usize = 150;
/// Width over which the points of a value are spread by rank, which keeps them distinguishable.
const SPREAD: f64 = 0.5;

/// A parameter with its values, in the order of the sweep.
struct Parameter<'r> {
    name: &'r str,
    values: Vec<ParameterValue<'r>>,
    /// Greatest median of a value over the least.
    apart: f64,
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
pub fn grid(run: &ChartedRun<'_>) -> Option<ChartGrid> {
    // If every variant is a separate change, `sensitivity` shows its cost.
    if run.variants.iter().filter(|v| v.rank.is_some()).all(|v| v.name.is_some()) {
        return None;
    }
    let mut all: Vec<Parameter<'_>> = (0..run.params.len()).filter_map(|at| parameter(run, at)).collect();
    all.sort_by(|a, b| b.apart.total_cmp(&a.apart));
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
        number::change(strongest.apart).trim_start_matches('+')
    );
    let ranked = all.iter().zip(1_usize..).filter(|(parameter, _)| parameter.values.len() <= VALUES);
    let rows = ranked.flat_map(|(parameter, rank)| {
        parameter.values.iter().filter_map(move |value| {
            let [least, _, median, _, most] = value.numbers()?;
            let counted = [format!("{} = {}", parameter.name, value.text), value.variants.len().to_string()];
            let ranking = [rank.to_string(), number::change(parameter.apart)];
            Some(counted.into_iter().chain([least, median, most].map(number::plain)).chain(ranking).collect())
        })
    });
    Some(ChartGrid {
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

fn panel(parameter: &Parameter<'_>, title: &str, unit: &str) -> Chart {
    let values = &parameter.values;
    let name = parameter.name;
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
    let kept = |keep: &dyn Fn(&VariantRow) -> bool| -> Vec<ChartPoint> {
        points.iter().filter(|(variant, _)| keep(variant)).map(|(_, point)| point.clone()).collect()
    };
    let of =
        |name: &str, tone, glyph, points| Series { name: name.to_owned(), tone, marks: Marks::Points(glyph, points) };
    let drawn = |glyph| if count > DOTS { Glyph::Dot } else { glyph };
    let mut series: Vec<Series> = VariantMark::ALL
        .iter()
        .map(|(mark, name, tone, glyph)| of(name, *tone, drawn(*glyph), kept(&|v| v.mark() == *mark)))
        .collect();
    series.push(of("selected", Tone::Chosen, Glyph::Ring, kept(&|v| v.selected)));
    series.retain(|s| !matches!(&s.marks, Marks::Points(_, points) if points.is_empty()));
    let medians = values.iter().enumerate().filter_map(|(at, value)| Some((at as f64, value.numbers()?[2])));
    let marks = Marks::Line(Stroke::Solid, medians.collect());
    series.push(Series { name: "median".to_owned(), tone: Tone::Muted, marks });
    Chart {
        id: String::new(),
        title: name.to_string(),
        note: String::new(),
        x: ChartAxis::new(name, "", Scale::Names(values.iter().map(|value| value.text.to_owned()).collect())),
        y: ChartAxis::new(title, unit, Scale::Linear),
        series,
        limits: Vec::new(),
        alt: String::new(),
        table: ChartTable::default(),
    }
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
    let medians = values.iter().filter_map(|value| Some(value.numbers()?[2]));
    let apart = medians.clone().max_by(f64::total_cmp)? / medians.min_by(f64::total_cmp)?;
    (values.len() > 1 && apart.is_finite()).then_some(Parameter { name: run.params[at].as_str(), values, apart })
}
