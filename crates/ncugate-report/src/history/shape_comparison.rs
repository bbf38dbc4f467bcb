//! The times of a run at each shape, beside the first baseline and the fastest one: from the confirmation, whose samples
//! took no part in the choice of the variant, else from the sweep, with a mark.

use crate::document::{CellTone, Column, DocumentBlock, DocumentTable, TableCell};
use crate::in_use::{self, InUse};
use crate::inputs::ReportInputs;
use crate::{number, selected_times};
use ncugate_judge::SampleOrigin;
use ncugate_model::{CleanText, ShapeName, VariantId};
use ncugate_phase::config::Shape;
use serde::Serialize;

/// The times at a shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeComparison {
    pub shape: CleanText,
    /// The variant in use there, else the selected one, else the best one that is launched there.
    pub ours: TimedVariant,
    /// The first baseline of the phase.
    pub first: Option<TimedVariant>,
    /// The fastest baseline: of the re-timed ones, or of the sweep if none was re-timed.
    pub fastest: Option<TimedVariant>,
}

/// A variant with its times in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimedVariant {
    pub name: CleanText,
    /// Median and 90th percentile: `19.2 µs / 19.5 µs`; none if it was not timed here.
    pub times: Option<CleanText>,
    /// `89.5 TFLOP/s`; none if the phase does not declare its operations.
    pub rate: Option<CleanText>,
    /// Samples behind the times.
    pub origin: SampleOrigin,
    /// Its median over ours: `1.33×`; none if one of the two was not timed.
    pub speedup: Option<CleanText>,
    /// Samples behind the speedup, of one kind for both.
    pub compared: SampleOrigin,
}

impl TimedVariant {
    fn times_cell(&self) -> TableCell {
        self.times.as_ref().map_or_else(|| TableCell::new("not timed"), |times| marked(times, self.origin))
    }

    fn speedup_cell(&self) -> TableCell {
        self.speedup.as_ref().map_or_else(TableCell::default, |speedup| marked(speedup, self.compared))
    }
}

fn marked(text: &CleanText, origin: SampleOrigin) -> TableCell {
    TableCell::new(text.as_str()).note(if origin == SampleOrigin::Sweep { "sweep" } else { "" })
}

/// The times at every shape, and what a mark means.
pub fn blocks(rows: &[ShapeComparison]) -> Vec<DocumentBlock> {
    let Some(ShapeComparison { first, .. }) = rows.first() else { return Vec::new() };
    let has_rate = rows.iter().any(|row| row.ours.rate.is_some());
    let has_fastest = has_other_fastest(rows);
    let rate_of = |name: &str| has_rate.then(|| Column::number(format!("{name}TFLOP/s")).minor());
    let mut columns = vec![Column::text("shape"), Column::text("ours"), Column::number("p50 / p90")];
    columns.extend(rate_of(""));
    if let Some(first) = first {
        columns.push(Column::number(format!("{} p50 / p90", first.name)));
        columns.extend(rate_of("its "));
        columns.push(Column::number("speedup"));
        if has_fastest {
            columns.push(Column::text("fastest baseline").minor());
            columns.extend(["its p50 / p90", "speedup"].map(|head| Column::number(head).minor()));
        }
    }
    let mut table = DocumentTable::new("Times by shape", columns);
    let rate = |timed: &TimedVariant| {
        let text = timed.rate.as_deref().map_or("", |rate| rate.trim_end_matches(" TFLOP/s"));
        has_rate.then(|| TableCell::new(text))
    };
    for ShapeComparison { shape, ours, first, fastest } in rows {
        let name = TableCell::of(ours.name.as_str(), CellTone::Code);
        let mut cells = vec![TableCell::new(shape.as_str()), name, ours.times_cell()];
        cells.extend(rate(ours));
        if let Some(first) = first {
            cells.push(first.times_cell());
            cells.extend(rate(first));
            cells.push(first.speedup_cell());
            if has_fastest {
                let none = || vec![TableCell::new("none timed"), TableCell::default(), TableCell::default()];
                let named = |one: &TimedVariant| {
                    vec![TableCell::of(one.name.as_str(), CellTone::Code), one.times_cell(), one.speedup_cell()]
                };
                cells.extend(fastest.as_ref().map_or_else(none, named));
            }
        }
        table.row(cells);
    }
    let mut blocks = vec![DocumentBlock::Table(table)];
    if rows.iter().any(ShapeComparison::has_sweep) {
        blocks.push(DocumentBlock::Aside("(sweep): not re-timed; these samples also selected the variant.".to_owned()));
    }
    blocks
}

impl ShapeComparison {
    /// Whether any number is from the sweep.
    fn has_sweep(&self) -> bool {
        let is_sweep = |timed: &TimedVariant| {
            timed.times.is_some() && timed.origin == SampleOrigin::Sweep
                || timed.speedup.is_some() && timed.compared == SampleOrigin::Sweep
        };
        is_sweep(&self.ours) || self.first.iter().chain(&self.fastest).any(is_sweep)
    }
}

/// Whether another baseline than the first is the fastest at some shape.
fn has_other_fastest(rows: &[ShapeComparison]) -> bool {
    let name = |timed: &Option<TimedVariant>| timed.as_ref().map(|timed| timed.name.clone());
    rows.iter().any(|row| row.first.is_some() && name(&row.fastest) != name(&row.first))
}

/// Every shape at which a candidate was timed.
pub fn by_shape(inputs: &ReportInputs<'_>, used: &InUse) -> Vec<ShapeComparison> {
    let table = inputs.quantities;
    let row = |shape: &Shape| {
        let at = &shape.name;
        let here = used.shapes.iter().find(|used| used.shape == at.0);
        let known = |id: &CleanText| inputs.plan.variants.iter().map(|variant| &variant.id).find(|v| v.0 == *id);
        let is_timed = |id: &&VariantId| time(inputs, id, at, "latency_p50").is_some();
        let used = here.and_then(|here| here.variant.as_ref()).and_then(known).filter(is_timed);
        let selected = in_use::banner_variant(inputs.judgement).filter(is_timed);
        let best = || here.and_then(|here| here.best.as_ref()).and_then(known).filter(is_timed);
        let ours = used.or(selected).or_else(best)?;
        let origin = |id: &VariantId| selected_times::origin(table, id, at);
        let timed = |id: &VariantId| {
            let [median, p90] = ["latency_p50", "latency_p90"].map(|metric| time(inputs, id, at, metric));
            let written = |us: f64| number::in_sentence(us, "us");
            let times = |median: f64| match p90 {
                Some(p90) => format!("{} / {}", written(median), written(p90)),
                None => written(median),
            };
            let rate = selected_times::value(table, id, at, "tflops").filter(|rate| rate.is_finite() && *rate > 0.0);
            let pair = selected_times::pair(table, (id, ours), at, "latency_p50").filter(|_| id != ours);
            let ratio = pair.map(|(theirs, own)| theirs / own).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
            let both = origin(id) == SampleOrigin::Confirmation && origin(ours) == SampleOrigin::Confirmation;
            TimedVariant {
                name: id.0.clone(),
                times: median.map(|median| times(median).into()),
                rate: rate.map(|rate| number::in_sentence(rate, "TFLOP/s").into()),
                origin: origin(id),
                speedup: median.and(ratio).map(|ratio| number::in_sentence(ratio, "x").into()),
                compared: if both { SampleOrigin::Confirmation } else { SampleOrigin::Sweep },
            }
        };
        let baselines = || inputs.plan.baselines().map(|baseline| &baseline.id);
        let is_fresh = |id: &&VariantId| origin(id) == SampleOrigin::Confirmation;
        let any_fresh = baselines().filter(is_timed).any(|id| is_fresh(&id));
        let median = |id| Some((id, time(inputs, id, at, "latency_p50")?));
        let fastest = baselines().filter(|id| !any_fresh || is_fresh(id)).filter_map(median);
        let fastest = fastest.min_by(|a, b| a.1.total_cmp(&b.1));
        Some(ShapeComparison {
            shape: at.0.clone(),
            ours: timed(ours),
            first: baselines().next().map(timed),
            fastest: fastest.map(|(id, _)| timed(id)),
        })
    };
    inputs.phase.workload.shapes.iter().filter_map(row).collect()
}

/// A positive time: of the confirmation if the variant was re-timed, else of the sweep.
fn time(inputs: &ReportInputs<'_>, variant: &VariantId, shape: &ShapeName, metric: &str) -> Option<f64> {
    selected_times::value(inputs.quantities, variant, shape, metric).filter(|us| us.is_finite() && *us > 0.0)
}
