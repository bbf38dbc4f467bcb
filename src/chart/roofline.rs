//! Work a second against work a byte, under the ceilings of the chip.

use super::context::Context;
use super::spec::{Axis, Chart, Glyph, Marks, Point, Scale, Series, Stroke, Table, Tone};
use crate::gate::Verdict;
use crate::plan::Standing;
use crate::report::{Report, VariantRow, number};

/// The chart, when the workload states its operations, DRAM bytes were measured and the chip's ceilings are known.
///
/// Work a second uses the undisturbed latency, not the duration under the profiler.
pub fn chart(report: &Report, context: &Context) -> Option<Chart> {
    let shape = report.objective_shape;
    let flops = (*context.flops.get(shape)?)?;
    let ceilings = context.ceilings.as_ref()?;
    let points: Vec<(&VariantRow, f64, f64)> = report
        .variants
        .iter()
        .filter_map(|v| {
            let bytes = report.value(v, shape, "dram_bytes").filter(|b| *b > 0.0)?;
            let latency = report.value(v, shape, "latency_p50").filter(|l| *l > 0.0)?;
            Some((v, flops / bytes, flops / latency / 1e6))
        })
        .collect();
    let lowest = points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let highest = points.iter().map(|p| p.1).fold(0.0, f64::max);
    if !lowest.is_finite() {
        return None;
    }
    let slope = ceilings.dram_gb_s / 1e3;
    let mut series: Vec<Series> = ceilings
        .compute
        .iter()
        .enumerate()
        .map(|(at, (name, roof))| {
            let ridge = roof / slope;
            let line = vec![
                (lowest.min(ridge) / 4.0, lowest.min(ridge) / 4.0 * slope),
                (ridge, *roof),
                (highest.max(ridge) * 4.0, *roof),
            ];
            let stroke = if at == 0 { Stroke::Solid } else { Stroke::Dashed };
            Series {
                name: format!("{name} ({} TFLOP/s)", number::plain(*roof)),
                tone: Tone::Muted,
                marks: Marks::Line(stroke, line),
            }
        })
        .collect();
    series.extend(measured(&points));
    Some(Chart {
        id: "roofline".to_owned(),
        title: "Roofline".to_owned(),
        note: format!(
            "Ceilings: {} GB/s of device memory and the compute rates named. Left of a ridge, bytes are the limit.",
            number::plain(ceilings.dram_gb_s)
        ),
        x: Axis::new("operations a DRAM byte", "FLOP/B", Scale::Log),
        y: Axis::new("operations a second", "TFLOP/s", Scale::Log),
        series,
        limits: Vec::new(),
        alt: format!("{} variants under {} ceilings.", points.len(), ceilings.compute.len()),
        table: Table::new(
            ["variant", "FLOP/B", "TFLOP/s"],
            points.iter().map(|(v, x, y)| vec![v.label.clone(), number::plain(*x), number::plain(*y)]),
        ),
    })
}

fn measured(points: &[(&VariantRow, f64, f64)]) -> Vec<Series> {
    let of = |name: &str, tone, glyph, keep: &dyn Fn(&VariantRow) -> bool| {
        let label = |v: &VariantRow, x: f64, y: f64| {
            format!("{}: {} FLOP/B, {} TFLOP/s", v.label, number::plain(x), number::plain(y))
        };
        let kept = points.iter().filter(|(v, ..)| keep(v)).take(400);
        let marks = kept.map(|(v, x, y)| Point { x: *x, y: *y, label: label(v, *x, *y) }).collect();
        Series { name: name.to_owned(), tone, marks: Marks::Points(glyph, marks) }
    };
    let candidate = |v: &VariantRow| v.standing == Standing::Candidate;
    let mut series = vec![
        of("stopped by a gate", Tone::Bad, Glyph::Cross, &|v| candidate(v) && v.verdict != Verdict::Pass),
        of("holds every gate", Tone::Good, Glyph::Disc, &|v| candidate(v) && v.verdict == Verdict::Pass),
        of("baseline", Tone::Baseline, Glyph::Diamond, &|v| !candidate(v)),
        of("selected", Tone::Chosen, Glyph::Ring, &|v| v.selected),
    ];
    series.retain(|s| !matches!(&s.marks, Marks::Points(_, points) if points.is_empty()));
    series
}
