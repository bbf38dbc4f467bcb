//! How a variant's time and grid grow from one shape to another.

use super::case_table::CaseTable;
use crate::model::{ShapeName, VariantId};

/// The work that a workload declares for a shape.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeclaredWork {
    /// Operations.
    pub flops: Option<f64>,
    /// Bytes that have to be moved at least.
    pub bytes: Option<f64>,
}

/// A shape as rules need it.
#[derive(Debug, Clone)]
pub struct ShapeFacts {
    /// Its name.
    pub name: ShapeName,
    /// Its dimensions.
    pub dims: Vec<(String, i64)>,
    /// Operations and bytes that the workload declares.
    pub work: DeclaredWork,
}

/// ShapeGrowth from a smaller shape that differs in one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeGrowth {
    /// The dimension.
    pub dimension: String,
    /// The smaller shape.
    pub from: ShapeName,
    /// Latency over latency.
    pub time: f64,
    /// Work over work: operations where the workload declares them, else the dimension.
    pub work: f64,
    /// Blocks over blocks, where both are known.
    pub grid: Option<f64>,
}

/// The growth of a variant up to `to`, from the shape at which it has the least work; none where no smaller shape that differs in one
/// dimension was timed.
pub fn growth(
    table: &CaseTable<'_>,
    variant: &VariantId,
    to: &ShapeFacts,
    shapes: &[ShapeFacts],
) -> Option<ShapeGrowth> {
    let candidates = shapes.iter().filter_map(|from| grown(table, variant, from, to));
    // a grid that stayed says more than one that grew with the work, and a long way more than a short one
    candidates.max_by(|a, b| {
        let key = |growth: &ShapeGrowth| growth.work / growth.grid.unwrap_or(growth.work);
        key(a).total_cmp(&key(b)).then(a.work.total_cmp(&b.work))
    })
}

fn grown(table: &CaseTable<'_>, variant: &VariantId, from: &ShapeFacts, to: &ShapeFacts) -> Option<ShapeGrowth> {
    let value = |dims: &[(String, i64)], name: &str| dims.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
    let mut differs = to.dims.iter().filter(|(name, n)| value(&from.dims, name) != Some(*n));
    let (dimension, large) = differs.next()?;
    let small = value(&from.dims, dimension).filter(|small| *small > 0 && small < large)?;
    if differs.next().is_some() {
        return None;
    }
    let rows = (table.row(variant, &from.name)?, table.row(variant, &to.name)?);
    let ratio = |metric: &str| Some(table.value(rows.1, metric)? / table.value(rows.0, metric).filter(|v| *v > 0.0)?);
    let declared = to.work.flops.zip(from.work.flops.filter(|flops| *flops > 0.0));
    Some(ShapeGrowth {
        dimension: dimension.clone(),
        from: from.name.clone(),
        time: ratio("latency_p50")?,
        work: declared.map_or(*large as f64 / small as f64, |(large, small)| large / small),
        grid: ratio("grid_blocks"),
    })
}
