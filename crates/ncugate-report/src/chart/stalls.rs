//! Warp stalls: of the selected variant by its deep profile, else of the leading variants if a phase collects them.

use super::charted_run::{ChartedRun, DeepMetric, DeepProfileRow};
use super::spec::{Bar, Chart, ChartAxis, ChartPoint, ChartTable, Glyph, Marks, Scale, Series, Tone, mark_label};
use ncugate_model::number;

/// Variants shown in addition to the baselines.
const LEADERS: usize = 6;
/// States shown separately in a stack; the rest are added up.
const STATES: usize = 5;
/// Most states shown of one variant; the remaining ones are fractions of a cycle.
const ROWS: usize = 12;
/// States in which a warp could issue.
const ISSUES: [&str; 2] = ["stall_selected", "stall_not_selected"];
/// Points of variants next to the selected one. If there are more, the last ones share theirs.
const OTHERS: [Glyph; 4] = [Glyph::Disc, Glyph::Triangle, Glyph::Diamond, Glyph::Cross];
const TITLE: &str = "What do the warps wait for?";
const AXIS: &str = "cycles for each issued instruction";

/// The chart, if warp states were counted.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    run.deep_profile.and_then(profiled).or_else(|| leading(run))
}

/// The points of each variant next to the selected one.
fn marks(others: usize) -> impl Iterator<Item = (Glyph, Tone)> {
    let baseline = (others == 1).then_some((Glyph::Diamond, Tone::Baseline));
    let several = OTHERS.into_iter().enumerate().map(|(at, glyph)| (glyph, Tone::Nth(at)));
    baseline.into_iter().chain(several)
}

/// One row for each state, the longest on top: a bar for the selected variant and points for each other one.
fn profiled(look: &DeepProfileRow) -> Option<Chart> {
    let first = look.variants.first()?;
    let states = look.states();
    let value = |state: &DeepMetric, at: usize| state.values.get(at)?.number().map(|cycles| cycles.value);
    let total: f64 = states.iter().filter_map(|state| value(state, 0)).sum();
    let shown = &states[..states.len().min(ROWS)];
    let waiting = shown.iter().find(|state| !ISSUES.contains(&state.name.as_str()));
    let label = |who: &str, state: &DeepMetric, cycles: f64| mark_label(who, &[(&words(&state.name), cycles, "cycle")]);
    let bar = |(row, state): (usize, &&DeepMetric)| {
        let to = value(state, 0)?;
        Some(Bar { row, from: 0.0, to, label: label(&first.label, state, to) })
    };
    let bars = shown.iter().enumerate().filter_map(bar).collect();
    let mut series = vec![Series { name: first.short.to_string(), tone: Tone::Chosen, marks: Marks::Bars(bars) }];
    let points = |at: usize| {
        let variant = &look.variants[at];
        let point = move |(row, state): (usize, &&DeepMetric)| {
            let x = value(state, at)?;
            Some(ChartPoint { x, y: row as f64, label: label(&variant.label, state, x) })
        };
        shown.iter().enumerate().filter_map(point).collect::<Vec<_>>()
    };
    let others = 1..look.variants.len();
    let apart = if others.len() > OTHERS.len() { OTHERS.len() - 1 } else { others.len() };
    for (at, (glyph, tone)) in others.clone().take(apart).zip(marks(others.len())) {
        let name = look.variants[at].short.to_string();
        series.push(Series { name, tone, marks: Marks::Points(glyph, points(at)) });
    }
    if others.len() > apart {
        let rest = others.skip(apart).flat_map(points).collect();
        series.push(Series { name: "others".to_owned(), tone: Tone::Muted, marks: Marks::Points(Glyph::Dot, rest) });
    }
    let percent = |state: &DeepMetric| value(state, 0).map_or(0.0, |cycles| 100.0 * cycles / total);
    let mut head = vec!["state".to_owned()];
    head.extend(look.variants.iter().map(|variant| variant.short.to_string()));
    head.push("share %".to_owned());
    let cell = |state: &DeepMetric, at: usize| value(state, at).map_or_else(|| "n/a".to_owned(), number::plain);
    let rows = states.iter().map(|state| {
        let cells = (0..look.variants.len()).map(|at| cell(state, at));
        let share = number::plain(percent(state));
        std::iter::once(words(&state.name)).chain(cells).chain([share]).collect()
    });
    let mut table = ChartTable::new(["state"], rows);
    table.head = head;
    Some(Chart {
        id: "stalls".to_owned(),
        title: TITLE.to_owned(),
        note: format!(
            "A warp of the selected variant spends {} cycles for every instruction it issues{}. The states add up to that; \
             the state selected is the cycle of issue, all others are waiting.",
            number::plain(total),
            waiting.map_or_else(String::new, |state| {
                format!("; it waits longest for {} ({:.0} %)", words(&state.name), percent(state))
            })
        ),
        x: ChartAxis::new(AXIS, "", Scale::Zero),
        y: ChartAxis::new("warp state", "", Scale::Names(shown.iter().map(|state| words(&state.name)).collect())),
        series,
        limits: Vec::new(),
        alt: alt(shown, &percent),
        table,
    })
}

/// `Longest first: long scoreboard 40 %, wait 18 %, ...`
fn alt(shown: &[&DeepMetric], percent: &dyn Fn(&DeepMetric) -> f64) -> String {
    let named: Vec<String> =
        shown.iter().map(|state| format!("{} {:.1} %", words(&state.name), percent(state))).collect();
    format!("Longest first: {}.", named.join(", "))
}

/// The states of several variants, stacked.
fn leading(run: &ChartedRun<'_>) -> Option<Chart> {
    let shape = run.objective_shape;
    let mut states: Vec<&str> =
        run.metrics.iter().map(|m| m.name.as_str()).filter(|name| name.starts_with("stall_")).collect();
    let value = |v, name: &str| run.value(v, shape, name).unwrap_or(0.0).max(0.0);
    let shown: Vec<_> = run.leaders(LEADERS).into_iter().filter(|v| states.iter().any(|s| value(v, s) > 0.0)).collect();
    let first = *shown.first()?;
    states.sort_by(|a, b| value(first, b).total_cmp(&value(first, a)));
    let unit = run.described(states[0]).1;
    let (told, rest) = states.split_at(states.len().min(STATES));
    let mut levels = vec![0.0; shown.len()];
    let mut stack = |name: &str, tone: Tone, of: &dyn Fn(usize) -> f64| {
        let bars = (0..shown.len()).map(|row| {
            let from = levels[row];
            levels[row] += of(row);
            let label = mark_label(&shown[row].label, &[(name, of(row), unit)]);
            Bar { row, from, to: levels[row], label }
        });
        Series { name: name.to_owned(), tone, marks: Marks::Bars(bars.collect()) }
    };
    let mut series: Vec<Series> = told
        .iter()
        .enumerate()
        .map(|(at, state)| stack(&words(state), Tone::Nth(at), &|row| value(shown[row], state)))
        .collect();
    if !rest.is_empty() {
        series.push(stack("other states", Tone::Muted, &|row| rest.iter().map(|s| value(shown[row], s)).sum()));
    }
    Some(Chart {
        id: "stalls".to_owned(),
        title: TITLE.to_owned(),
        note: states.iter().find(|s| **s != "stall_selected").map_or_else(String::new, |state| {
            format!("The warps of the best variant that do not issue wait most for {}.", words(state))
        }),
        x: ChartAxis::new(AXIS, unit, Scale::Zero),
        y: ChartAxis::new(&run.variant_axis(), "", Scale::Names(shown.iter().map(|v| v.short.to_string()).collect())),
        series,
        limits: Vec::new(),
        alt: format!("{} states of {} variants, largest first.", states.len(), shown.len()),
        table: ChartTable::new(
            ["variant", "state", "value"],
            shown.iter().flat_map(|v| {
                states.iter().map(move |s| {
                    let value = run.value(v, shape, s);
                    vec![v.label.to_string(), words(s), value.map_or_else(|| "n/a".to_owned(), number::plain)]
                })
            }),
        ),
    })
}

fn words(state: &str) -> String {
    state.trim_start_matches("stall_").replace('_', " ")
}
