//! Variants against gates: what stops whom.

use super::context::{Context, described, inside};
use super::spec::{Axis, Cell, Chart, Marks, Scale, Series, Table, Tone};
use crate::model::Verdict;
use crate::plan::Standing;
use crate::report::{Report, VariantRow, number};

/// Most cells drawn; neighbours share a column where there are more.
const CELLS: usize = 2_400;

/// The chart, when there are gates and candidates.
pub fn chart(report: &Report, context: &Context) -> Option<Chart> {
    let candidates: Vec<&VariantRow> = report.variants.iter().filter(|v| v.standing == Standing::Candidate).collect();
    if candidates.is_empty() || report.gates.is_empty() {
        return None;
    }
    let size = (candidates.len() * report.gates.len()).div_ceil(CELLS).max(1);
    let cells = (0..report.gates.len()).flat_map(|gate| {
        candidates.chunks(size).enumerate().filter_map(move |(at, group)| cell(gate, at * size, group))
    });
    let failing = |gate: usize| count(&candidates, gate, Verdict::Fail);
    let hardest = (0..report.gates.len()).max_by_key(|gate| (failing(*gate), usize::MAX - gate)).unwrap_or(0);
    let judged = |gate: usize| candidates.iter().filter(|v| v.gates.get(gate).is_some_and(Option::is_some)).count();
    Some(Chart {
        id: "gates-by-variant".to_owned(),
        title: "What stops each variant".to_owned(),
        note: match failing(hardest) {
            0 => "No gate stops a variant.".to_owned(),
            stopped => format!(
                "'{}' stops the most: {stopped} of {} judged by it.",
                report.gates[hardest].name,
                number::counted(judged(hardest), "variant")
            ),
        },
        x: Axis::new(
            &format!("rank by {}, best first", inside(described(report, &context.objective).0)),
            "",
            Scale::Count,
        ),
        y: Axis::new("gate", "", Scale::Names(report.gates.iter().map(|g| g.name.clone()).collect())),
        series: vec![
            Series { name: String::new(), tone: Tone::Bad, marks: Marks::Cells(cells.collect()) },
            key("pass", Tone::Good),
            key("fail", Tone::Bad),
            key("inconclusive", Tone::Muted),
        ],
        limits: Vec::new(),
        alt: format!("{} gates over {} variants.", report.gates.len(), candidates.len()),
        table: Table::new(
            ["gate", "pass", "fail", "inconclusive", "not judged"],
            report.gates.iter().enumerate().map(|(gate, row)| {
                let of = |verdict| count(&candidates, gate, verdict).to_string();
                let rest = (candidates.len() - judged(gate)).to_string();
                vec![row.name.clone(), of(Verdict::Pass), of(Verdict::Fail), of(Verdict::Inconclusive), rest]
            }),
        ),
    })
}

/// An entry of the legend without marks.
fn key(name: &str, tone: Tone) -> Series {
    Series { name: name.to_owned(), tone, marks: Marks::Bars(Vec::new()) }
}

fn count(variants: &[&VariantRow], gate: usize, verdict: Verdict) -> usize {
    let of = |v: &VariantRow| v.gates.get(gate).and_then(Option::as_ref).map(|c| c.verdict);
    variants.iter().filter(|v| of(v) == Some(verdict)).count()
}

/// A gate over neighbours by rank; none where it was judged for none of them.
fn cell(gate: usize, start: usize, group: &[&VariantRow]) -> Option<Cell> {
    let judged = group.iter().filter_map(|v| v.gates.get(gate).and_then(Option::as_ref)).count();
    if judged == 0 {
        return None;
    }
    let (fail, unknown) = (count(group, gate, Verdict::Fail), count(group, gate, Verdict::Inconclusive));
    let label = match group {
        [one] => {
            let text = one.gates.get(gate).and_then(Option::as_ref).map_or("", |c| c.text.as_str());
            format!("{}: {text}", one.label)
        }
        _ => format!("{} of {} fail", fail, number::counted(judged, "variant")),
    };
    let share = |n: usize| n as f64 / judged as f64;
    // A column is as wide as a rank and stands on it; ranks count from 1.
    let from = start as f64 + 0.5;
    Some(Cell { row: gate, from, to: from + group.len() as f64, fail: share(fail), unknown: share(unknown), label })
}
