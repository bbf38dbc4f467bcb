//! What each stage of a staged plan added, beside what was expected of it.

use super::spec::{Axis, Bar, Chart, Marks, Scale, Series, Spread, Table, Tone};
use crate::report::{Report, StageRow, number};

/// The chart, when the phase has measured stages.
pub fn chart(report: &Report) -> Option<Chart> {
    if !report.stages.iter().any(|s| s.measured.is_some()) {
        return None;
    }
    let (mut kept, mut lost, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    let mut level = 1.0;
    for (row, stage) in report.stages.iter().enumerate() {
        if let Some((low, high)) = &stage.expected {
            let label = format!("{}: expected {}× to {}×", stage.name, low.text, high.text);
            let (low, high) = (level * low.value, level * high.value);
            expected.push(Spread { row, quartiles: [low, low, (low + high) / 2.0, high, high], label });
        }
        let Some(gain) = &stage.measured else { continue };
        let to = level * gain.value;
        let bar = Bar { row, from: level, to, label: format!("{}: {}×", stage.name, gain.text) };
        if stage.accepted {
            kept.push(bar);
            level = stage.cumulative.as_ref().map_or(to, |c| c.value);
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
    let count = report.stages.iter().filter(|s| s.accepted).count();
    Some(Chart {
        id: "stages".to_owned(),
        title: "Stages".to_owned(),
        note: "Each bar starts where the last accepted stage ended; the outline is what was expected.".to_owned(),
        x: Axis::new("speedup over the first stage", "×", Scale::Linear),
        y: Axis::new("stage", "", Scale::Names(report.stages.iter().map(|s| s.name.clone()).collect())),
        series,
        limits: Vec::new(),
        alt: format!("{count} of {} stages kept, {}× in all.", report.stages.len(), number::plain(level)),
        table: Table::new(["stage", "expected", "measured", "cumulative", "kept"], report.stages.iter().map(row)),
    })
}

fn row(stage: &StageRow) -> Vec<String> {
    let text = |value: &Option<number::Number>| value.as_ref().map_or_else(|| "n/a".to_owned(), |n| n.text.clone());
    let expected =
        stage.expected.as_ref().map_or_else(|| "n/a".to_owned(), |(l, h)| format!("{} to {}", l.text, h.text));
    let kept = if stage.accepted { "yes" } else { "no" };
    vec![stage.name.clone(), expected, text(&stage.measured), text(&stage.cumulative), kept.to_owned()]
}
