//! Throughput over the duration of the profiled launch: its phases, and its tail.

use super::charted_run::{ChartedRun, ChartedTimeline, Timeline, TimelineSeries};
use super::spec::{Chart, ChartAxis, ChartTable, LimitLine, LineAxis, Marks, Panel, Scale, Series, Stroke, Tone};
use ncugate_model::number;

/// Most points drawn of one series; more are averaged with their neighbours.
const DRAWN: usize = 300;

/// The chart, if a deep profile sampled the selected variant.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let ChartedTimeline { variant, timeline } = run.timeline.as_ref()?;
    Some(launch_timeline("timeline", &format!("PM sampling of the deep profile of {variant}"), timeline))
}

/// The chart of one launch, under an id of its page.
pub fn launch_timeline(id: &str, source: &str, timeline: &Timeline) -> Chart {
    let line = |(at, series): (usize, &TimelineSeries)| {
        let (tone, stroke) = if at == 0 { (Tone::Muted, Stroke::Dashed) } else { (Tone::Nth(at - 1), Stroke::Solid) };
        Series::new(&series.name, tone, Marks::Line(stroke, thinned(&series.points)))
    };
    let tail = 100.0 * timeline.tail_fraction;
    let tail_begins = timeline.duration * (1.0 - timeline.tail_fraction);
    let limit = LimitLine { across: LineAxis::X, value: tail_begins, label: "tail".to_owned() };
    let mean = |points: &[(f64, f64)]| points.iter().map(|(_, y)| y).sum::<f64>() / points.len().max(1) as f64;
    let most = |points: &[(f64, f64)]| points.iter().map(|(_, y)| *y).fold(0.0, f64::max);
    let rows = timeline.series.iter().map(|series| {
        vec![series.name.clone(), number::plain(mean(&series.points)), number::plain(most(&series.points))]
    });
    let said = format!(
        "{} µs in samples of {} µs; the tail, in which fewer than 90 % of the multiprocessors that are active at most \
         are active, is {} % of it",
        number::plain(timeline.duration),
        number::short(timeline.interval),
        number::plain(tail)
    );
    Chart {
        id: id.to_owned(),
        title: "How busy is the chip over the launch?".to_owned(),
        note: format!("{said} (source: {source}). Multiprocessors are shown against their most active sample."),
        panels: vec![Panel {
            x: ChartAxis::new("time", "us", Scale::Linear),
            y: ChartAxis::new("share of the peak", "%", Scale::Zero),
            series: timeline.series.iter().enumerate().map(line).collect(),
            limits: if timeline.tail_fraction > 0.0 { vec![limit] } else { Vec::new() },
        }],
        alt: said,
        table: ChartTable::new(["unit", "mean %", "most %"], rows),
    }
}

/// At most [`DRAWN`] points, each the mean of its neighbours.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let together = points.len().div_ceil(DRAWN).max(1);
    let mean = |part: &[(f64, f64)]| {
        let n = part.len() as f64;
        (part.iter().map(|(x, _)| x).sum::<f64>() / n, part.iter().map(|(_, y)| y).sum::<f64>() / n)
    };
    points.chunks(together).map(mean).collect()
}
