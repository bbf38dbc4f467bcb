//! Variants by shapes: the best candidate at each shape, with the baselines.

use super::document::{CellTone, Column, DocumentBlock, DocumentTable, Section, TableCell};
use super::in_use::InUse;
use super::number;
use super::run_report::RunReport;
use super::variant_row::VariantRow;
use ncugate_model::{Better, Verdict};
use ncugate_phase::plan::VariantRole;

/// Most candidates in the table: those in use, selected or best at some shape, then the best by rank.
const CANDIDATES: usize = 8;
/// Baselines in the table.
const BASELINES: usize = 6;

/// None unless the objective is known at several shapes.
pub fn by_shape(report: &RunReport) -> Option<Section> {
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
    let variants: Vec<&VariantRow> = kept.into_iter().chain(baselines).collect();
    let rows = variants.iter().map(|v| {
        let cells = shapes.iter().zip(&best).map(|(&shape, best)| {
            let Some(ours) = value(v, shape) else { return TableCell::missing("") };
            let is_best = v.standing == VariantRole::Candidate && *best == Some(ours);
            let ratio = best.filter(|best| !is_best && *best != 0.0).map(|best| number::change(ours / best));
            let mark = is_in_use(used, v, Some(&report.shapes[shape])).then(|| "←".to_owned());
            let note = ratio.into_iter().chain(mark).collect::<Vec<_>>().join(" ");
            TableCell::of(number::plain(ours), if is_best { CellTone::Strong } else { CellTone::Plain }).note(note)
        });
        cells.collect()
    });
    let names: Vec<&str> = shapes.iter().map(|&shape| report.shapes[shape].as_str()).collect();
    let table = table(&names, &variants, rows.collect());
    let left_out = match left_out {
        0 => String::new(),
        many => format!(" {many} more candidates are in the table of variants."),
    };
    let key = format!(
        "{} in the sweep. Bold: the best candidate of a shape. ←: the variant to use.{left_out}",
        column.heading()
    );
    let blocks = vec![DocumentBlock::Aside(key), table.block()?];
    Some(Section::part("shapes", "By shape", column.heading(), blocks))
}

/// A row for each variant, or for each shape if there are more of them: the columns have to fit.
fn table(shapes: &[&str], variants: &[&VariantRow], rows: Vec<Vec<TableCell>>) -> DocumentTable {
    let role = |v: &VariantRow| if v.standing == VariantRole::Baseline { "baseline" } else { "" };
    let is_tall = shapes.len() > variants.len();
    let heads: Vec<String> = if is_tall {
        variants.iter().map(|v| [v.id.as_str(), role(v)].join(" ").trim_end().to_owned()).collect()
    } else {
        shapes.iter().map(|shape| (*shape).to_owned()).collect()
    };
    let first = Column::text(if is_tall { "shape" } else { "variant" });
    let columns = [first].into_iter().chain(heads.into_iter().map(Column::number)).collect();
    let mut table = DocumentTable::new("Variants by shape", columns);
    if is_tall {
        for (at, shape) in shapes.iter().enumerate() {
            let cells = rows.iter().map(|row| row[at].clone());
            table.row([TableCell::new(*shape)].into_iter().chain(cells).collect());
        }
    } else {
        for (v, cells) in variants.iter().zip(rows) {
            let name = TableCell::of(v.id.as_str(), CellTone::Code).note(role(v));
            table.row([name].into_iter().chain(cells).collect());
        }
    }
    table
}

/// Whether a variant is recommended at a shape, or at any shape if none is given.
fn is_in_use(used: &InUse, variant: &VariantRow, shape: Option<&str>) -> bool {
    let here = |used: &&super::in_use::ShapeUse| shape.is_none_or(|shape| used.shape == shape);
    used.shapes.iter().filter(here).any(|used| used.variant.as_deref() == Some(variant.id.as_str()))
}
