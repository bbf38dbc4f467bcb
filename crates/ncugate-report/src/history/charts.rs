//! The objective and each gated metric of the selected variant, by run.

use super::entry::HistoryEntry;
use super::phases::PhaseHistory;
use crate::chart::{
    Chart, ChartAxis, ChartPoint, ChartTable, Glyph, LimitLine, LineAxis, Marks, Panel, Scale, Series, Stroke, Tone,
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

/// Runs whose times compare: equal GPU, tools, problem and timing settings.
struct RunSeries<'d, 'a> {
    name: String,
    dots: Vec<&'d Dot<'a>>,
}

impl RunSeries<'_, '_> {
    /// `33.2 µs in the first run, 36.3 µs in the last (+9.5 %)`; for one run the value alone.
    fn change(&self, unit: &str) -> String {
        let written = |dot: &Dot<'_>| number::with_unit(dot.2, unit);
        match self.dots.as_slice() {
            [first, .., last] => {
                let change = number::changed(first.2, last.2, unit);
                format!("{} in the first run, {} in the last ({change})", written(first), written(last))
            }
            [only] => format!("{} in one run", written(only)),
            [] => String::new(),
        }
    }

    fn is_of(&self, run: &HistoryEntry) -> bool {
        self.dots.iter().any(|dot| std::ptr::eq(dot.1, run))
    }
}

/// The dots by conditions, in the order of their first runs. A name is that of the GPU, with a number if several
/// series have it.
fn by_conditions<'d, 'a>(dots: &'d [Dot<'a>]) -> Vec<RunSeries<'d, 'a>> {
    let mut series: Vec<RunSeries<'d, 'a>> = Vec::new();
    for dot in dots {
        let conditions = |dot: &Dot<'a>| &dot.1.summary.conditions;
        let is_same = |known: &&mut RunSeries<'_, 'a>| {
            known.dots.first().is_some_and(|first| conditions(first).is_same_series(conditions(dot)))
        };
        match series.iter_mut().find(is_same) {
            Some(known) => known.dots.push(dot),
            None => series.push(RunSeries { name: dot.1.machine().to_string(), dots: vec![dot] }),
        }
    }
    let gpus: Vec<String> = series.iter().map(|one| one.name.clone()).collect();
    for (at, one) in series.iter_mut().enumerate() {
        let count = |of: &[String]| of.iter().filter(|gpu| **gpu == gpus[at]).count();
        if count(&gpus) > 1 {
            one.name = format!("{} ({})", gpus[at], count(&gpus[..=at]));
        }
    }
    series
}

/// What a chart says of its runs. Runs under unlike conditions are never compared.
fn note(series: &[RunSeries<'_, '_>], unit: &str) -> String {
    if let [one] = series {
        return format!("Selected variant: {}.", one.change(unit));
    }
    let each = series.iter().map(|one| format!("{}: {}", one.name, one.change(unit)));
    let each = each.collect::<Vec<_>>().join("; ");
    let conditions = |one: &RunSeries<'_, '_>| one.dots.first().map(|dot| dot.1.summary.conditions.clone());
    let of_one_gpu = series.windows(2).find_map(|two| {
        let (then, now) = conditions(&two[0]).zip(conditions(&two[1]))?;
        (then.fingerprint.gpu == now.fingerprint.gpu).then(|| now.differences(&then).into_iter().next()).flatten()
    });
    let why = of_one_gpu.map_or_else(String::new, |difference| format!(" ({difference})"));
    format!("Selected variant, by conditions: {each}. Runs under other conditions are not compared{why}.")
}

fn chart(phase: &PhaseHistory, what: ChartLabels<'_>, dots: &[Dot<'_>]) -> Option<Chart> {
    let [_, .., _] = dots else { return None };
    let runs = by_conditions(dots);
    let name = |run: &HistoryEntry| runs.iter().find(|one| one.is_of(run)).map_or("", |one| one.name.as_str());
    let commit = |run: &HistoryEntry| run.commit().map_or_else(|| "no commit".to_owned(), |commit| commit.to_string());
    let point = |(at, run, value, _): &Dot<'_>| ChartPoint {
        x: *at as f64,
        y: *value,
        label: format!(
            "run {} of {}, {}, {}: {}",
            run.manifest.run,
            run.date(),
            commit(run),
            name(run),
            number::with_unit(*value, what.unit)
        ),
    };
    let of = |name: &str, tone, glyph, verdict| {
        let points = dots.iter().filter(|dot| dot.3 == verdict).map(point).collect();
        Series::new(name, tone, Marks::Points(glyph, points))
    };
    let mut series: Vec<Series> = runs
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let marks = Marks::Line(Stroke::Solid, one.dots.iter().map(|d| (d.0 as f64, d.2)).collect());
            let (name, tone) = if runs.len() == 1 { ("", Tone::Muted) } else { (one.name.as_str(), Tone::Nth(at)) };
            Series::new(name, tone, marks)
        })
        .collect();
    series.extend([
        of("pass", Tone::Good, Glyph::Disc, Verdict::Pass),
        of("fail", Tone::Bad, Glyph::Cross, Verdict::Fail),
        of("inconclusive", Tone::Open, Glyph::Triangle, Verdict::Inconclusive),
    ]);
    let note = note(&runs, what.unit);
    // Counts have no fractions, and so no ticks between whole numbers.
    let is_count = dots.iter().all(|dot| dot.2.fract() == 0.0);
    Some(Chart {
        id: format!("{}-{}", phase.name, what.id),
        title: what.title.to_owned(),
        alt: format!("{} over {} runs. {note}", what.title, dots.len()),
        note,
        // The newest first, because a long table is cut at its end.
        table: ChartTable::new(
            ["run", "started", "commit", "conditions", what.title],
            dots.iter().rev().map(|(_, run, value, _)| {
                let value = number::with_unit(*value, what.unit);
                vec![run.manifest.run.clone(), run.date(), commit(run), name(run).to_owned(), value]
            }),
        ),
        panels: vec![Panel {
            x: ChartAxis::named("run, oldest first", phase.runs.iter().map(axis_name)),
            y: ChartAxis::new(what.title, what.unit, if is_count { Scale::Count } else { Scale::Linear }),
            series,
            limits: what.limit.into_iter().collect(),
        }],
    })
}
