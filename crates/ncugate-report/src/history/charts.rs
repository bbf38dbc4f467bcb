//! The objective and each gated metric of the selected variant, by run.

use super::entry::HistoryEntry;
use super::phases::PhaseHistory;
use crate::chart::{
    Chart, ChartAxis, ChartPoint, ChartTable, Glyph, LimitLine, LineAxis, Marks, Scale, Series, Stroke, Tone,
};
use crate::number;
use ncugate_model::Verdict;

/// Characters of a commit on an axis.
const COMMIT: usize = 7;

/// A value of one run: the run's place from 0, the run, the value, and its verdict.
type Dot<'a> = (usize, &'a HistoryEntry, f64, Verdict);

/// Charts of a phase. A metric needs two values, and those of a gate must differ.
pub fn charts(phase: &PhaseHistory) -> Vec<Chart> {
    let Some(latest) = phase.latest().map(|run| &run.summary) else { return Vec::new() };
    let mut charts: Vec<Chart> = Vec::new();
    if let Some(objective) = &latest.objective {
        let dots = dots(phase, |run| {
            let found = run.summary.objective.as_ref().filter(|o| o.metric == objective.metric)?;
            Some((found.value.as_ref()?.value, run.summary.headline.verdict))
        });
        let what = ChartLabels { id: "objective", title: &objective.title, unit: &objective.unit, limit: None };
        charts.extend(chart(phase, what, &dots));
    }
    for (at, gate) in latest.gates.iter().enumerate() {
        let Some(metric) = &gate.metric else { continue };
        let dots = dots(phase, |run| {
            let is_same =
                |other: &&super::GateValue| other.title == gate.title && other.metric.as_ref() == Some(metric);
            let found = run.summary.gates.iter().find(is_same)?;
            Some((found.measured.as_ref()?.value, found.verdict))
        });
        let limit = gate.limit.as_ref().map(|limit| LimitLine {
            across: LineAxis::Y,
            value: limit.value,
            label: format!("limit {}", number::with_unit(limit.value, &gate.unit)),
        });
        let what = ChartLabels { id: &format!("gate-{at}"), title: &gate.title, unit: &gate.unit, limit };
        if dots.iter().any(|dot| dot.2 != dots[0].2) {
            charts.extend(chart(phase, what, &dots));
        }
    }
    charts
}

struct ChartLabels<'a> {
    id: &'a str,
    title: &'a str,
    unit: &'a str,
    limit: Option<LimitLine>,
}

fn dots(phase: &PhaseHistory, value: impl Fn(&HistoryEntry) -> Option<(f64, Verdict)>) -> Vec<Dot<'_>> {
    let numbered = phase.runs.iter().enumerate();
    numbered.filter_map(|(at, run)| value(run).map(|(value, verdict)| (at, run, value, verdict))).collect()
}

/// `2026-11-21 0a1b2c3`; without a commit the day and the minute.
fn axis_name(run: &HistoryEntry) -> String {
    match &run.manifest.git {
        Some(git) => {
            let commit: String = git.commit.chars().take(COMMIT).collect();
            format!("{} {commit}", run.manifest.started.strftime("%Y-%m-%d"))
        }
        None => run.date(),
    }
}

fn chart(phase: &PhaseHistory, what: ChartLabels<'_>, dots: &[Dot<'_>]) -> Option<Chart> {
    let [(_, _, first, _), .., (_, _, last, _)] = dots else { return None };
    let commit = |run: &HistoryEntry| run.commit().map_or_else(|| "no commit".to_owned(), |commit| commit.to_string());
    let point = |(at, run, value, _): &Dot<'_>| ChartPoint {
        x: *at as f64,
        y: *value,
        label: format!(
            "run {} of {}, {}: {}",
            run.manifest.run,
            run.date(),
            commit(run),
            number::with_unit(*value, what.unit)
        ),
    };
    let of = |name: &str, tone, glyph, wanted: &dyn Fn(Verdict) -> bool| Series {
        name: name.to_owned(),
        tone,
        marks: Marks::Points(glyph, dots.iter().filter(|d| wanted(d.3)).map(point).collect()),
    };
    let mut series = vec![
        Series {
            name: String::new(),
            tone: Tone::Muted,
            marks: Marks::Line(Stroke::Solid, dots.iter().map(|d| (d.0 as f64, d.2)).collect()),
        },
        of("pass", Tone::Good, Glyph::Disc, &|v| v == Verdict::Pass),
        of("fail", Tone::Bad, Glyph::Cross, &|v| v == Verdict::Fail),
        of("inconclusive", Tone::Open, Glyph::Triangle, &|v| v == Verdict::Inconclusive),
    ];
    series.retain(|s| !matches!(&s.marks, Marks::Points(_, points) if points.is_empty()));
    let change = number::changed(*first, *last, what.unit);
    let (from, to) = (number::with_unit(*first, what.unit), number::with_unit(*last, what.unit));
    // Counts have no fractions, and so no ticks between whole numbers.
    let is_count = dots.iter().all(|dot| dot.2.fract() == 0.0);
    Some(Chart {
        id: format!("{}-{}", phase.name, what.id),
        title: what.title.to_owned(),
        note: format!("Selected variant: {from} in the first run, {to} in the last ({change})."),
        x: ChartAxis::new("run, oldest first", "", Scale::Names(phase.runs.iter().map(axis_name).collect())),
        y: ChartAxis::new(what.title, what.unit, if is_count { Scale::Count } else { Scale::Linear }),
        series,
        limits: what.limit.into_iter().collect(),
        alt: format!("{} over {} runs, from {from} to {to}.", what.title, dots.len()),
        // The newest first, because a long table is cut at its end.
        table: ChartTable::new(
            ["run", "started", "commit", what.title],
            dots.iter().rev().map(|(_, run, value, _)| {
                vec![run.manifest.run.clone(), run.date(), commit(run), number::with_unit(*value, what.unit)]
            }),
        ),
    })
}
