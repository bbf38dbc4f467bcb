//! All latency samples of the leading variants and the baselines, not a bar of means.

use super::charted_run::{ChartedRun, VariantRole, VariantRow};
use super::outliers::{FAR, off_the_scale};
use super::spec::{
    Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Scale, Series, Spread, Tone, five_numbers, mark_label,
};
use ncugate_model::number;

/// Variants shown in addition to the baselines.
const LEADERS: usize = 10;
/// Most samples drawn of one variant; more are thinned out evenly over time.
const DRAWN: usize = 250;

/// The chart, if there are samples at the objective's shape.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let shown: Vec<(&VariantRow, &[f64])> = run
        .leaders(LEADERS)
        .into_iter()
        .map(|v| (v, run.samples(v)))
        .filter(|(_, samples)| !samples.is_empty())
        .collect();
    let median = |samples: &[f64]| five_numbers(samples).map_or(0.0, |q| q[2]);
    let leaders = shown.iter().filter(|(v, _)| v.standing == VariantRole::Candidate);
    let slowest = leaders.map(|(_, s)| median(s)).fold(0.0, f64::max);
    let far = |samples: &[f64]| slowest > 0.0 && median(samples) > slowest * FAR;
    let beyond: Vec<_> = shown.iter().filter(|(_, s)| far(s)).map(|(v, s)| (*v, median(s))).collect();
    let shown: Vec<_> = shown.iter().copied().filter(|(_, s)| !far(s)).collect();
    if shown.is_empty() {
        return None;
    }
    let spread = |row: usize, samples: &[f64], v: &VariantRow| {
        let quartiles = five_numbers(samples)?;
        let [_, first, median, third, _] = quartiles;
        let label =
            mark_label(&v.label, &[("latency median", median, "us"), ("quartiles", first, "us"), ("to", third, "us")]);
        Some(Spread { row, quartiles, label })
    };
    let boxes = |standing: VariantRole| -> Vec<Spread> {
        let of = |(row, (v, samples)): (usize, &(&VariantRow, &[f64]))| {
            (v.standing == standing).then(|| spread(row, samples, v)).flatten()
        };
        shown.iter().enumerate().filter_map(of).collect()
    };
    let strips = shown.iter().enumerate().flat_map(|(row, (_, samples))| strip(row, samples)).collect();
    let mut series = vec![
        Series { name: "sample".to_owned(), tone: Tone::Muted, marks: Marks::Points(Glyph::Dot, strips) },
        Series { name: "quartiles".to_owned(), tone: Tone::Chosen, marks: Marks::Boxes(boxes(VariantRole::Candidate)) },
        Series { name: "baseline".to_owned(), tone: Tone::Baseline, marks: Marks::Boxes(boxes(VariantRole::Baseline)) },
    ];
    series.retain(|s| !matches!(&s.marks, Marks::Boxes(boxes) if boxes.is_empty()));
    let samples: usize = shown.iter().map(|(_, s)| s.len()).sum();
    Some(Chart {
        id: "latency-distribution".to_owned(),
        title: "How far do the latency samples spread?".to_owned(),
        note: format!(
            "{} at shape {}; boxes span the quartiles, whiskers all samples.{}",
            number::counted(samples, "sample"),
            run.shape_name(run.objective_shape),
            off_the_scale(&beyond)
        ),
        x: ChartAxis::new("latency of a launch", "us", Scale::Linear),
        y: ChartAxis::new(
            &run.variant_axis(),
            "",
            Scale::Names(shown.iter().map(|(v, _)| v.short.to_string()).collect()),
        ),
        series,
        limits: Vec::new(),
        alt: format!("Distributions of {} variants and baselines.", shown.len()),
        table: ChartTable::new(
            ["variant", "samples", "least", "first quartile", "median", "third quartile", "greatest"],
            shown.iter().filter_map(|(v, samples)| {
                let cells = five_numbers(samples)?.map(number::plain);
                Some([v.label.to_string(), samples.len().to_string()].into_iter().chain(cells).collect())
            }),
        ),
    })
}

/// Samples spread over the height of a row by their order, so that equal ones do not overlap.
fn strip(row: usize, samples: &[f64]) -> Vec<ChartPoint> {
    let step = samples.len().div_ceil(DRAWN).max(1);
    let offset = |at: usize| ((at * 7) % 11) as f64 / 11.0 - 0.5;
    let kept = samples.iter().copied().step_by(step).enumerate().filter(|(_, v)| v.is_finite());
    kept.map(|(at, x)| ChartPoint { x, y: row as f64 + offset(at) * 0.62, label: String::new() }).collect()
}
