//! Variants against gates: shows the gates that each variant fails.

use super::charted_run::{ChartedRun, VariantRole, VariantRow};
use super::spec::{Chart, ChartAxis, ChartTable, Marks, Scale, Series, ShareColumn, Tone};
use ncugate_model::Verdict;
use ncugate_model::number;
use ncugate_model::number::text::inside;

/// Most cells drawn; beyond that, neighbours share a column.
const CELLS: usize = 2_400;

/// The chart, if there are gates and candidates.
pub fn chart(run: &ChartedRun<'_>) -> Option<Chart> {
    let candidates: Vec<&VariantRow> = run.variants.iter().filter(|v| v.standing == VariantRole::Candidate).collect();
    if candidates.is_empty() || run.gates.is_empty() {
        return None;
    }
    let size = (candidates.len() * run.gates.len()).div_ceil(CELLS).max(1);
    let cells = run.gates.iter().enumerate().flat_map(|(gate, row)| {
        candidates.chunks(size).enumerate().filter_map(move |(at, group)| cell(&row.name, gate, at * size, group))
    });
    let failing = |gate: usize| count(&candidates, gate, Verdict::Fail);
    let hardest = (0..run.gates.len()).max_by_key(|gate| (failing(*gate), usize::MAX - gate)).unwrap_or(0);
    let judged = |gate: usize| candidates.iter().filter(|v| v.compared(gate).is_some()).count();
    Some(Chart {
        id: "gates-by-variant".to_owned(),
        title: "Which gates stop which variants?".to_owned(),
        note: match failing(hardest) {
            0 => "No gate fails for any variant.".to_owned(),
            stopped => format!(
                "'{}' fails most often: for {stopped} of {} judged by it.",
                run.gates[hardest].name,
                number::counted(judged(hardest), "variant")
            ),
        },
        x: ChartAxis::new(&format!("rank by {}, best first", inside(run.described(run.objective).0)), "", Scale::Count),
        y: ChartAxis::new("gate", "", Scale::Names(run.gates.iter().map(|g| g.name.to_string()).collect())),
        series: vec![
            Series { name: String::new(), tone: Tone::Bad, marks: Marks::Columns(cells.collect()) },
            key("pass", Tone::Good),
            key("fail", Tone::Bad),
            Series { name: "inconclusive".to_owned(), tone: Tone::Open, marks: Marks::Boxes(Vec::new()) },
        ],
        limits: Vec::new(),
        alt: format!("{} gates over {} variants.", run.gates.len(), candidates.len()),
        table: ChartTable::new(
            ["gate", "pass", "fail", "inconclusive", "not judged"],
            run.gates.iter().enumerate().map(|(gate, row)| {
                let of = |verdict| count(&candidates, gate, verdict).to_string();
                let rest = (candidates.len() - judged(gate)).to_string();
                vec![row.name.to_string(), of(Verdict::Pass), of(Verdict::Fail), of(Verdict::Inconclusive), rest]
            }),
        ),
    })
}

/// An entry of the legend without marks.
fn key(name: &str, tone: Tone) -> Series {
    Series { name: name.to_owned(), tone, marks: Marks::Bars(Vec::new()) }
}

fn count(variants: &[&VariantRow], gate: usize, verdict: Verdict) -> usize {
    let of = |v: &VariantRow| v.compared(gate).map(|c| c.verdict);
    variants.iter().filter(|v| of(v) == Some(verdict)).count()
}

/// A gate over neighbours by rank; none if it was judged for none of them.
fn cell(name: &str, gate: usize, start: usize, group: &[&VariantRow]) -> Option<ShareColumn> {
    let judged = group.iter().filter_map(|v| v.compared(gate)).count();
    if judged == 0 {
        return None;
    }
    let (fail, unknown) = (count(group, gate, Verdict::Fail), count(group, gate, Verdict::Inconclusive));
    let label = match group {
        [one] => {
            let text = one.compared(gate).map_or("", |c| &c.text);
            format!("{}: {name}, {text}", one.label)
        }
        _ => format!("{name}: {fail} of {} fail", number::counted(judged, "variant")),
    };
    let share = |n: usize| n as f64 / judged as f64;
    // A column is as wide as a rank and centred on it; ranks count from 1.
    let from = start as f64 + 0.5;
    Some(ShareColumn {
        row: gate,
        from,
        to: from + group.len() as f64,
        fail: share(fail),
        unknown: share(unknown),
        label,
    })
}
