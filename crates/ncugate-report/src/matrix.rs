//! Variants by shapes: the best candidate at each shape, with the baselines.

use super::in_use::InUse;
use super::number;
use super::run_report::RunReport;
use super::shape_matrix::{MatrixCell, MatrixRow, ShapeMatrix};
use super::variant_row::VariantRow;
use ncugate_model::{Better, CleanText, Verdict};
use ncugate_phase::plan::VariantRole;

/// Most candidates in the table: those in use, selected or best at some shape, then the best by rank.
const CANDIDATES: usize = 8;
/// Baselines in the table.
const BASELINES: usize = 6;

/// The table of a report.
pub fn matrix(report: &RunReport) -> Option<ShapeMatrix> {
    let used = &report.in_use;
    let (_, column) = report.metric(&used.metric)?;
    let shapes: Vec<usize> =
        used.shapes.iter().filter_map(|used| report.shapes.iter().position(|shape| *shape == used.shape)).collect();
    if shapes.len() < 2 {
        return None;
    }
    let proven = |v: &&VariantRow| v.correctness.verdict == Verdict::Pass && !v.cheats;
    let candidates: Vec<&VariantRow> =
        report.variants.iter().filter(|v| v.standing == VariantRole::Candidate).filter(proven).collect();
    let value = |v: &VariantRow, shape: usize| report.value(v, shape, &used.metric);
    let best: Vec<Option<f64>> = shapes
        .iter()
        .map(|&shape| {
            let values = candidates.iter().filter_map(|v| value(v, shape));
            match column.better {
                Better::Higher => values.reduce(f64::max),
                Better::Lower | Better::Context => values.reduce(f64::min),
            }
        })
        .collect();
    let is_best =
        |v: &VariantRow| shapes.iter().zip(&best).any(|(&shape, best)| best.is_some() && value(v, shape) == *best);
    let named = |v: &&&VariantRow| v.selected || is_in_use(used, v, None) || is_best(v);
    let mut kept: Vec<&VariantRow> = candidates.iter().copied().filter(|v| named(&v)).collect();
    let room = CANDIDATES.saturating_sub(kept.len());
    kept.extend(candidates.iter().copied().filter(|v| !named(&v)).take(room));
    let left_out = candidates.len() - kept.len();
    let baselines = report.variants.iter().filter(|v| v.standing == VariantRole::Baseline).take(BASELINES);
    let row = |v: &VariantRow| MatrixRow {
        label: v.id.clone(),
        standing: v.standing,
        cells: shapes
            .iter()
            .zip(&best)
            .map(|(&shape, best)| {
                let ours = value(v, shape)?;
                let is_best = v.standing == VariantRole::Candidate && *best == Some(ours);
                let ratio = best.filter(|best| !is_best && *best != 0.0).map(|best| number::change(ours / best));
                Some(MatrixCell {
                    text: number::plain(ours).into(),
                    beside_best: ratio.unwrap_or_default().into(),
                    best: is_best,
                    in_use: is_in_use(used, v, report.shapes.get(shape).map(CleanText::as_str)),
                })
            })
            .collect(),
    };
    Some(ShapeMatrix {
        title: column.heading().into(),
        shapes: shapes.iter().filter_map(|&shape| report.shapes.get(shape).cloned()).collect(),
        rows: kept.into_iter().chain(baselines).map(row).collect(),
        left_out,
    })
}

/// Whether a variant is recommended at a shape, or at any shape if none is given.
fn is_in_use(used: &InUse, variant: &VariantRow, shape: Option<&str>) -> bool {
    let here = |used: &&super::in_use::ShapeUse| shape.is_none_or(|shape| used.shape == shape);
    used.shapes.iter().filter(here).any(|used| used.variant.as_deref() == Some(variant.id.as_str()))
}
