//! Samples in time order: drift, modes and single slow rounds, which a distribution hides.

use super::charted_run::{ChartedRun, VariantRole, VariantRow};
use super::spec::{
    Chart, ChartAxis, ChartPoint, ChartTable, Glyph, LimitLine, LineAxis, Marks, Scale, Series, Tone, mark_label,
};
use ncugate_model::number;
use ncugate_model::stats;

/// Fewer rounds show nothing over time.
const FEWEST: usize = 10;
/// Most rounds drawn of one variant; more are thinned out evenly over time.
const DRAWN: usize = 200;

/// The chart, if the selected variant has enough samples at the objective's shape.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let selected = run.variants.iter().find(|v| v.selected)?;
    let baseline = run.variants.iter().find(|v| v.standing == VariantRole::Baseline && run.samples(v).len() >= FEWEST);
    let shown: Vec<VariantSamples<'_>> =
        [Some(selected), baseline].into_iter().flatten().filter_map(|v| timed(run, v)).collect();
    let first = shown.first().filter(|timed| timed.variant.selected)?;
    let series = shown.iter().zip([(Tone::Chosen, Glyph::Disc), (Tone::Baseline, Glyph::Cross)]);
    let series = series.map(|(timed, (tone, glyph))| Series {
        name: timed.variant.short.to_string(),
        tone,
        marks: Marks::Points(glyph, timed.points()),
    });
    Some(Chart {
        id: "latency-rounds".to_owned(),
        title: "Does the latency drift from round to round?".to_owned(),
        note: format!(
            "Each variant against its own median, at shape {}; rounds interleave the variants.",
            run.shape_name(run.objective_shape)
        ),
        x: ChartAxis::new("round", "", Scale::Count),
        y: ChartAxis::new("off the median", "%", Scale::Linear),
        series: series.collect(),
        limits: vec![LimitLine { across: LineAxis::Y, value: 0.0, label: "median".to_owned() }],
        alt: format!(
            "{} over {}, between {} and {} % off its median.",
            first.variant.label,
            number::counted(first.samples.len(), "round"),
            number::plain(first.least()),
            number::plain(first.greatest())
        ),
        table: ChartTable::new(
            ["variant", "rounds", "median (µs)", "least off it (%)", "greatest off it (%)"],
            shown.iter().map(|timed| {
                let numbers = [timed.median, timed.least(), timed.greatest()].map(number::plain);
                [timed.variant.label.to_string(), timed.samples.len().to_string()].into_iter().chain(numbers).collect()
            }),
        ),
    })
}

/// A variant with its samples in microseconds, in the order of the rounds.
struct VariantSamples<'r> {
    variant: &'r VariantRow,
    samples: &'r [f64],
    median: f64,
}

fn timed<'r>(run: &ChartedRun<'_>, variant: &'r VariantRow) -> Option<VariantSamples<'r>> {
    let samples = run.samples(variant);
    let median = stats::median(samples).ok().filter(|median| *median > 0.0 && samples.len() >= FEWEST)?;
    Some(VariantSamples { variant, samples, median })
}

impl VariantSamples<'_> {
    /// Deviations from the median, in percent of it.
    fn off(&self) -> impl Iterator<Item = f64> {
        self.samples.iter().map(|sample| 100.0 * (sample / self.median - 1.0))
    }

    fn points(&self) -> Vec<ChartPoint> {
        let step = self.samples.len().div_ceil(DRAWN).max(1);
        let rounds = self.off().enumerate().step_by(step);
        let label =
            |round: f64, y: f64| mark_label(&self.variant.label, &[("round", round, ""), ("off the median", y, "pct")]);
        let point = |(at, y): (usize, f64)| ((at + 1) as f64, y);
        rounds.map(point).map(|(x, y)| ChartPoint { x, y, label: label(x, y) }).collect()
    }

    fn least(&self) -> f64 {
        self.off().fold(f64::INFINITY, f64::min)
    }

    fn greatest(&self) -> f64 {
        self.off().fold(f64::NEG_INFINITY, f64::max)
    }
}
