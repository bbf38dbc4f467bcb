//! How a variant's time and grid grow from one shape to another.

use super::case_table::CaseTable;
use ncugate_model::{ShapeName, VariantId};

/// The work that a workload declares for a shape.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeclaredWork {
    /// Operations.
    pub flops: Option<f64>,
    /// Least number of bytes moved.
    pub bytes: Option<f64>,
    /// Bytes of all buffers.
    pub buffer_bytes: Option<f64>,
    /// Whether a buffer is in double precision.
    pub has_f64_buffers: Option<bool>,
    /// Bytes that fills and copies of the plan move.
    pub copied_bytes: Option<f64>,
}

/// The facts of a shape that rules read.
#[derive(Debug, Clone)]
pub struct ShapeFacts {
    pub name: ShapeName,
    pub dims: Vec<(String, i64)>,
    /// Operations and bytes declared by the workload.
    pub work: DeclaredWork,
}

/// Growth from a smaller shape.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeGrowth {
    /// The dimension in which the shapes differ; if they differ in several, those that the grid does not cover.
    pub dimension: String,
    /// The smaller shape.
    pub from: ShapeName,
    /// Ratio of latencies.
    pub time: f64,
    /// Ratio of work: of operations if the workload declares them, else of the dimension.
    pub work: f64,
    /// Ratio of blocks, if both are known.
    pub grid: Option<f64>,
    /// Ratio of work per block, if the shapes differ in several dimensions.
    pub serial: Option<f64>,
}

/// Growth factors closer than this count as equal, since blocks are rounded up to tiles.
const NEAR: f64 = 0.05;
/// Most dimensions that can be distinguished.
const MOST_DIMENSIONS: usize = 8;

/// The growth of a variant up to `to`, from the shape with the least work: preferably one that differs in a single
/// dimension, else one that differs in several, some of which the grid does not cover. None if no such shape was timed.
pub fn growth(
    table: &CaseTable<'_>,
    variant: &VariantId,
    to: &ShapeFacts,
    shapes: &[ShapeFacts],
) -> Option<ShapeGrowth> {
    let grown: Vec<ShapeGrowth> = shapes.iter().filter_map(|from| grown(table, variant, from, to)).collect();
    let (one, several): (Vec<_>, Vec<_>) = grown.into_iter().partition(|growth| growth.serial.is_none());
    furthest(one).or_else(|| furthest(several))
}

/// Prefers a constant grid to one that grew with the work, and a large growth to a small one.
fn furthest(grown: Vec<ShapeGrowth>) -> Option<ShapeGrowth> {
    grown.into_iter().max_by(|a, b| {
        let key = |growth: &ShapeGrowth| growth.work / growth.grid.unwrap_or(growth.work);
        key(a).total_cmp(&key(b)).then(a.work.total_cmp(&b.work))
    })
}

fn grown(table: &CaseTable<'_>, variant: &VariantId, from: &ShapeFacts, to: &ShapeFacts) -> Option<ShapeGrowth> {
    let dimensions = larger_dimensions(from, to)?;
    let rows = (table.row(variant, &from.name)?, table.row(variant, &to.name)?);
    let ratio = |metric: &str| Some(table.value(rows.1, metric)? / table.value(rows.0, metric).filter(|v| *v > 0.0)?);
    let product: f64 = dimensions.iter().map(|(_, factor)| factor).product();
    let declared = to.work.flops.zip(from.work.flops.filter(|flops| *flops > 0.0));
    let (time, grid) = (ratio("latency_p50")?, ratio("grid_blocks"));
    let work = declared.map_or(product, |(large, small)| large / small);
    let (dimension, serial) = match dimensions.as_slice() {
        [(name, _)] => ((*name).to_owned(), None),
        // Work that is not their product comes from a loop of the algorithm, such as the one over keys, which no grid
        // covers.
        _ if is_near(work, product) => (left_out(&dimensions, grid?)?, Some(work / grid?)),
        _ => return None,
    };
    Some(ShapeGrowth { dimension, from: from.name.clone(), time, work, grid, serial })
}

/// The dimensions in which shapes differ, with their growth factors; none if one shrinks or none differs.
fn larger_dimensions<'s>(from: &ShapeFacts, to: &'s ShapeFacts) -> Option<Vec<(&'s str, f64)>> {
    let small = |name: &str| from.dims.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
    let differs = to.dims.iter().filter(|(name, large)| small(name) != Some(*large));
    let factor = |(name, large): &'s (String, i64)| {
        let small = small(name).filter(|small| *small > 0 && small < large)?;
        Some((name.as_str(), *large as f64 / small as f64))
    };
    differs.map(factor).collect::<Option<Vec<_>>>().filter(|found| (1..=MOST_DIMENSIONS).contains(&found.len()))
}

/// The dimensions that a grid does not cover: those other than the ones whose factors multiply to the growth of the
/// grid. None if no choice fits or the grid may cover all of them; several that fit are joined by "or".
fn left_out(dimensions: &[(&str, f64)], grid: f64) -> Option<String> {
    let all = (1_usize << dimensions.len()) - 1;
    let factor = |covered: usize| -> f64 {
        dimensions.iter().enumerate().filter(|(at, _)| covered >> at & 1 == 1).map(|(_, (_, factor))| factor).product()
    };
    let fits: Vec<usize> = (0..=all).filter(|covered| is_near(factor(*covered), grid)).collect();
    if fits.is_empty() || fits.contains(&all) {
        return None;
    }
    let names = |covered: usize| {
        let rest = dimensions.iter().enumerate().filter(|(at, _)| covered >> at & 1 == 0).map(|(_, (name, _))| *name);
        rest.collect::<Vec<_>>().join(" and ")
    };
    Some(fits.into_iter().map(names).collect::<Vec<_>>().join(" or "))
}

fn is_near(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() <= NEAR
}
