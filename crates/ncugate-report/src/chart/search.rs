//! Results of a search by trial, and the best so far.

use super::charted_run::ChartedRun;
use super::spec::{Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Scale, Series, Tone, mark_label};
use ncugate_model::number;

/// Most trials drawn; more are thinned out evenly.
const DRAWN: usize = 600;

/// The chart, if a search chose the candidates.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let search = run.search?;
    let (_, _, first) = *search.progress.first()?;
    let (_, _, best) = *search.progress.last()?;
    let step = search.trials.len().div_ceil(DRAWN).max(1);
    let label = |count: u32, us: f64| mark_label(&format!("variant {count}"), &[("latency", us, "us")]);
    let point = |count: &u32, us: &f64| ChartPoint { x: f64::from(*count), y: *us, label: label(*count, *us) };
    let trials = search.trials.iter().step_by(step).map(|(count, us)| point(count, us)).collect();
    let better = search.progress.iter().map(|(count, _, us)| point(count, us)).collect();
    let series =
        |name: &str, tone, glyph, points| Series { name: name.to_owned(), tone, marks: Marks::Points(glyph, points) };
    Some(Chart {
        id: "search".to_owned(),
        title: "How fast did the search improve?".to_owned(),
        note: "Every variant that was timed with few samples, in the order they were tried; no gate reads these times."
            .to_owned(),
        x: ChartAxis::new("variants tried", "", Scale::Count),
        y: ChartAxis::new("latency", "µs", Scale::Linear),
        series: vec![
            series("tried", Tone::Muted, Glyph::Cross, trials),
            series("best so far", Tone::Chosen, Glyph::Disc, better),
        ],
        limits: Vec::new(),
        alt: format!(
            "From {} to {} µs over {}.",
            number::plain(first),
            number::plain(best),
            number::counted(search.trials.len(), "timed variant")
        ),
        table: ChartTable::new(
            ["variants tried", "seconds", "best so far (µs)"],
            search
                .progress
                .iter()
                .map(|(count, seconds, us)| vec![count.to_string(), number::plain(*seconds), number::plain(*us)]),
        ),
    })
}
