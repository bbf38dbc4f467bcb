//! The gain of each stage of a staged plan, compared with the expected gain.

use super::charted_run::{ChartedRun, StageResult};
use super::spec::{Bar, Chart, ChartAxis, ChartTable, Marks, Scale, Series, Spread, Tone};
use ncugate_model::number;

/// The chart, if the phase has measured stages.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    if !run.stages.iter().any(|s| s.measured.is_some()) {
        return None;
    }
    let (mut kept, mut lost, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    let mut level = 1.0;
    for (row, stage) in run.stages.iter().enumerate() {
        if let Some((low, high)) = stage.expected {
            let label = format!("{}: expected {}× to {}×", stage.name, number::plain(low), number::plain(high));
            let (low, high) = (level * low, level * high);
            expected.push(Spread { row, quartiles: [low, low, (low + high) / 2.0, high, high], label });
        }
        let Some(gain) = stage.measured else { continue };
        let to = level * gain;
        let bar = Bar { row, from: level, to, label: format!("{}: {}×", stage.name, number::plain(gain)) };
        if stage.accepted {
            kept.push(bar);
            level = stage.cumulative.unwrap_or(to);
        } else {
            lost.push(bar);
        }
    }
    let of = |name: &str, tone, bars: Vec<Bar>| Series { name: name.to_owned(), tone, marks: Marks::Bars(bars) };
    let mut series = vec![of("kept", Tone::Good, kept), of("not kept", Tone::Bad, lost)];
    series.retain(|s| !matches!(&s.marks, Marks::Bars(bars) if bars.is_empty()));
    if !expected.is_empty() {
        let marks = Marks::Boxes(expected);
        series.push(Series { name: "expected".to_owned(), tone: Tone::Chosen, marks });
    }
    let count = run.stages.iter().filter(|s| s.accepted).count();
    Some(Chart {
        id: "stages".to_owned(),
        title: "What did each stage gain?".to_owned(),
        note: "Each bar starts where the last accepted stage ended; the outline is the expected gain.".to_owned(),
        x: ChartAxis::new("speedup over the first kept stage", "×", Scale::Linear),
        y: ChartAxis::new("stage", "", Scale::Names(run.stages.iter().map(|s| s.name.to_string()).collect())),
        series,
        limits: Vec::new(),
        alt: format!("{count} of {} stages kept, {}× in all.", run.stages.len(), number::plain(level)),
        table: ChartTable::new(["stage", "expected", "measured", "cumulative", "kept"], run.stages.iter().map(row)),
    })
}

fn row(stage: &StageResult) -> Vec<String> {
    let text = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), number::plain);
    let range = |(low, high)| format!("{} to {}", number::plain(low), number::plain(high));
    let expected = stage.expected.map_or_else(|| "n/a".to_owned(), range);
    let kept = if stage.accepted { "yes" } else { "no" };
    vec![stage.name.to_string(), expected, text(stage.measured), text(stage.cumulative), kept.to_owned()]
}
