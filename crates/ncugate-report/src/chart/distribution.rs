//! All latency samples of the leading variants and the baselines, not a bar of means.

use super::charted_run::{ChartedRun, VariantRole, within};
use super::spec::{
    Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Panel, Scale, Series, Spread, Tone, five_numbers,
    mark_label,
};
use ncugate_model::number;

/// Variants shown in addition to the baselines.
const LEADERS: usize = 10;
/// Most samples drawn of one variant; more are thinned out evenly over time.
const DRAWN: usize = 250;

/// The chart, if there are samples at the objective's shape.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let leaders = run.leaders(LEADERS).into_iter();
    let timed = leaders.filter_map(|v| Some((v, (run.samples(v), five_numbers(run.samples(v))?)))).collect();
    let (shown, off_the_scale) = within(timed, |(_, quartiles)| quartiles[2]);
    if shown.is_empty() {
        return None;
    }
    let boxes = |standing: VariantRole| {
        let rows = shown.iter().enumerate().filter(|(_, (v, _))| v.standing == standing);
        let spread = rows.map(|(row, (v, (_, quartiles)))| {
            let [_, first, median, third, _] = *quartiles;
            let values = [("latency median", median, "us"), ("quartiles", first, "us"), ("to", third, "us")];
            Spread { row, quartiles: *quartiles, label: mark_label(&v.label, &values) }
        });
        Marks::Boxes(spread.collect())
    };
    let strips = shown.iter().enumerate().flat_map(|(row, (_, (samples, _)))| strip(row, samples)).collect();
    let series = vec![
        Series::new("sample", Tone::Muted, Marks::Points(Glyph::Dot, strips)),
        Series::new("quartiles", Tone::Chosen, boxes(VariantRole::Candidate)),
        Series::new("baseline", Tone::Baseline, boxes(VariantRole::Baseline)),
    ];
    let samples: usize = shown.iter().map(|(_, (samples, _))| samples.len()).sum();
    let rows = shown.iter().map(|(v, (samples, quartiles))| {
        [v.label.to_string(), samples.len().to_string()].into_iter().chain(quartiles.map(number::plain)).collect()
    });
    Some(Chart {
        id: "latency-distribution".to_owned(),
        title: "How far do the latency samples spread?".to_owned(),
        note: format!(
            "{} at shape {}; boxes span the quartiles, whiskers all samples.{off_the_scale}",
            number::counted(samples, "sample"),
            run.shape_name(run.objective_shape),
        ),
        alt: format!("Distributions of {} variants and baselines.", shown.len()),
        table: ChartTable::new(
            ["variant", "samples", "least", "first quartile", "median", "third quartile", "greatest"],
            rows,
        ),
        panels: vec![Panel::new(
            ChartAxis::new("latency of a launch", "us", Scale::Linear),
            ChartAxis::named(&run.variant_axis(), shown.iter().map(|(v, _)| &v.short)),
            series,
        )],
    })
}

/// Samples spread over the height of a row by their order, so that equal ones do not overlap.
fn strip(row: usize, samples: &[f64]) -> Vec<ChartPoint> {
    let step = samples.len().div_ceil(DRAWN).max(1);
    let offset = |at: usize| ((at * 7) % 11) as f64 / 11.0 - 0.5;
    let kept = samples.iter().copied().step_by(step).enumerate().filter(|(_, v)| v.is_finite());
    kept.map(|(at, x)| ChartPoint { x, y: row as f64 + offset(at) * 0.62, label: String::new() }).collect()
}
