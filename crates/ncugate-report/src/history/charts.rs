//! The objective and each gated metric of the selected variant, by run.

use super::entry::{HistoryEntry, PhaseHistory};
use crate::chart::{
    Chart, ChartAxis, ChartPoint, ChartTable, Glyph, LimitLine, LineAxis, Marks, Scale, Series, Stroke, Tone,
};
use crate::number;
use ncugate_model::Verdict;

/// A value of one run: the run's number from 1, the run, the value, and its verdict.
type Dot<'a> = (usize, &'a HistoryEntry, f64, Verdict);

/// Charts of a phase; none if fewer than two runs have a value.
pub fn charts(phase: &PhaseHistory) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    let objective = phase.latest().and_then(|run| run.objective.clone());
    if let Some(objective) = &objective {
        let dots = dots(phase, |run| {
            let value = run.objective.as_ref().filter(|o| o.metric == objective.metric)?.value.as_ref()?;
            Some((value.value, run.verdict))
        });
        let what = ChartLabels { id: "objective", title: &objective.title, unit: &objective.unit, limit: None };
        charts.extend(chart(phase, what, dots));
    }
    for (at, gate) in phase.gates().iter().enumerate() {
        let Some(metric) = &gate.metric else { continue };
        let same = |run: &HistoryEntry| {
            let found = run.gates.iter().find(|g| g.name == gate.name && g.metric.as_ref() == Some(metric))?;
            Some((found.summary.measured.as_ref()?.value, found.effective()))
        };
        let limit = gate.summary.limit.as_ref().map(|limit| LimitLine {
            across: LineAxis::Y,
            value: limit.value,
            label: format!("limit {}", number::with_unit(limit.value, &gate.unit)),
        });
        let what = ChartLabels { id: &format!("gate-{at}"), title: &gate.name, unit: &gate.unit, limit };
        charts.extend(chart(phase, what, dots(phase, same)));
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
    numbered.filter_map(|(at, run)| value(run).map(|(value, verdict)| (at + 1, run, value, verdict))).collect()
}

fn chart(phase: &PhaseHistory, what: ChartLabels<'_>, dots: Vec<Dot<'_>>) -> Option<Chart> {
    let ((_, _, first, _), (_, _, last, _)) = (dots.first()?, dots.last()?);
    if dots.len() < 2 {
        return None;
    }
    let point = |(at, run, value, _): &Dot<'_>| ChartPoint {
        x: *at as f64,
        y: *value,
        label: format!("{}: {}", run.run, number::with_unit(*value, what.unit)),
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
    let change = number::change(last / first);
    Some(Chart {
        id: format!("{}-{}", phase.name, what.id),
        title: what.title.to_owned(),
        note: format!("Of the selected variant, run after run: {change} from the first to the last."),
        x: ChartAxis::new("run, the oldest first", "", Scale::Count),
        y: ChartAxis::new(what.title, what.unit, Scale::Linear),
        series,
        limits: what.limit.into_iter().collect(),
        alt: format!("{} over {} runs, {change}.", what.title, dots.len()),
        table: ChartTable::new(
            ["run", "started", "commit", what.title],
            dots.iter().map(|(_, run, value, _)| {
                let commit = run.commit.as_deref().unwrap_or_default().to_owned();
                vec![run.run.to_string(), run.date(), commit, number::plain(*value)]
            }),
        ),
    })
}
