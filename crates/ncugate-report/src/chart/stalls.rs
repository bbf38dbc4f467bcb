//! Warp stalls: of the selected variant by its deep profile, else of the leading variants if a phase collects them.

use super::charted_run::ChartedRun;
use super::spec::{
    Bar, Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Panel, Scale, Series, Tone, mark_label,
};
use ncugate_model::{CleanText, number};

/// Variants shown in addition to the baselines.
const LEADERS: usize = 4;
/// Most states shown; the remaining ones are fractions of a cycle.
const ROWS: usize = 12;
/// States in which a warp could issue.
const ISSUES: [&str; 2] = ["selected", "not selected"];
/// Variants with their own points next to the first one. If there are more, the last ones share theirs.
const OTHERS: usize = 4;

/// Warp states of variants.
struct WarpStates<'r> {
    /// Labels and short names; the first one has the bars.
    variants: Vec<(&'r CleanText, &'r CleanText)>,
    /// The states with the cycles of each variant, the longest of the first variant on top.
    states: Vec<(String, Vec<Option<f64>>)>,
}

/// One row for each state: a bar for the first variant and points for each other one; none if no warp state was counted.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let WarpStates { variants, states } = profiled(run).or_else(|| leading(run))?;
    let total: f64 = states.iter().filter_map(|(_, cycles)| cycles[0]).sum();
    let percent = |cycles: &[Option<f64>]| cycles[0].map_or(0.0, |cycles| 100.0 * cycles / total);
    let shown = &states[..states.len().min(ROWS)];
    let cells = |at: usize| {
        let label = variants[at].0;
        shown.iter().enumerate().filter_map(move |(row, (state, cycles))| {
            let cycles = cycles[at]?;
            Some((row, cycles, mark_label(label, &[(state, cycles, "cycle")])))
        })
    };
    let bars = cells(0).map(|(row, to, label)| Bar { row, from: 0.0, to, label }).collect();
    let points = |glyph, range: std::ops::Range<usize>| {
        let points = range.flat_map(&cells).map(|(row, x, label)| ChartPoint { x, y: row as f64, label });
        Marks::Points(glyph, points.collect())
    };
    let all = variants.len();
    let own = if all > OTHERS + 1 { OTHERS } else { all };
    let mut series = vec![Series::new(variants[0].1.to_string(), Tone::Chosen, Marks::Bars(bars))];
    series.extend((1..own).map(|at| {
        let (tone, glyph) =
            if all == 2 { (Tone::Baseline, Glyph::Diamond) } else { (Tone::Nth(at - 1), Glyph::nth(at - 1)) };
        Series::new(variants[at].1.to_string(), tone, points(glyph, at..at + 1))
    }));
    if own < all {
        series.push(Series::new("others", Tone::Muted, points(Glyph::Dot, own..all)));
    }
    let waiting = shown.iter().find(|(state, _)| !ISSUES.contains(&state.as_str()));
    let waiting = waiting.map_or_else(String::new, |(state, cycles)| {
        format!("; it waits longest for {state} ({:.0} %)", percent(cycles))
    });
    let longest: Vec<String> =
        shown.iter().map(|(state, cycles)| format!("{state} {:.1} %", percent(cycles))).collect();
    let head = std::iter::once("state".to_owned()).chain(variants.iter().map(|(_, short)| short.to_string()));
    let rows = states.iter().map(|(state, cycles)| {
        let cells = cycles.iter().map(|cycles| cycles.map_or_else(|| "n/a".to_owned(), number::plain));
        std::iter::once(state.clone()).chain(cells).chain([number::plain(percent(cycles))]).collect()
    });
    Some(Chart {
        id: "stalls".to_owned(),
        title: "What do the warps wait for?".to_owned(),
        note: format!(
            "A warp of {} spends {} cycles for every instruction it issues{waiting}. The states add up to that; the state \
             selected is the cycle of issue, all others are waiting.",
            variants[0].1,
            number::plain(total),
        ),
        alt: format!("Longest first: {}.", longest.join(", ")),
        table: ChartTable::new(head.chain(["share %".to_owned()]), rows),
        panels: vec![Panel::new(
            ChartAxis::new("cycles for each issued instruction", "", Scale::Zero),
            ChartAxis::named("warp state", shown.iter().map(|(state, _)| state)),
            series,
        )],
    })
}

fn profiled<'r>(run: &ChartedRun<'r>) -> Option<WarpStates<'r>> {
    let look = run.deep_profile.filter(|look| !look.variants.is_empty())?;
    let values = |values: &[crate::model::Measure]| {
        (0..look.variants.len()).map(|at| Some(values.get(at)?.number()?.value)).collect()
    };
    Some(WarpStates {
        variants: look.variants.iter().map(|variant| (&variant.label, &variant.short)).collect(),
        states: look.states().iter().map(|state| (words(&state.name), values(&state.values))).collect(),
    })
    .filter(|found| !found.states.is_empty())
}

fn leading<'r>(run: &ChartedRun<'r>) -> Option<WarpStates<'r>> {
    let names = run.metrics.iter().map(|metric| metric.name.as_str()).filter(|name| name.starts_with("stall_"));
    let names: Vec<&str> = names.collect();
    let mut variants = run.leaders(LEADERS);
    variants.retain(|v| names.iter().any(|name| run.value(v, run.objective_shape, name).is_some_and(|v| v > 0.0)));
    variants.first()?;
    let values = |name: &str| variants.iter().map(|v| run.value(v, run.objective_shape, name)).collect();
    let mut states: Vec<(String, Vec<Option<f64>>)> = names.iter().map(|name| (words(name), values(name))).collect();
    let key = |cycles: &[Option<f64>]| cycles[0].unwrap_or(0.0);
    states.sort_by(|a, b| key(&b.1).total_cmp(&key(&a.1)));
    Some(WarpStates { variants: variants.into_iter().map(|v| (&v.label, &v.short)).collect(), states })
}

/// `long scoreboard` of `stall_long_scoreboard`.
fn words(state: &str) -> String {
    state.trim_start_matches("stall_").replace('_', " ")
}
