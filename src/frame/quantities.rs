//! One row a variant and shape, one column a metric: what gates, findings and reports read.

use std::collections::HashMap;
use std::sync::Arc;

use polars::prelude::{Column, DataFrame, DataType, IntoColumn, NewChunkedArray, StringChunked};

use super::cells::{MetricCells, cell};
use super::schema::wide;
use crate::model::{Cell, ShapeName, VariantId};

/// Everything measured: a frame with a row a variant and shape, and for each metric a column of numbers and, where a value
/// is absent, one of reasons. Its columns are those of [`wide`].
///
/// What a cell has several numbers for stays beside the frame: latency samples, and counters of several launches.
#[derive(Debug, Clone, Default)]
pub struct Quantities {
    rows: Vec<(VariantId, ShapeName)>,
    index: HashMap<ShapeName, HashMap<VariantId, usize>>,
    frame: DataFrame,
    samples: HashMap<usize, Arc<[f64]>>,
    sampling: HashMap<usize, Sampling>,
    spreads: HashMap<String, Spreads>,
    steps: HashMap<String, HashMap<usize, Vec<Cell>>>,
    left_out: HashMap<usize, Arc<str>>,
    bounds: HashMap<String, CellBounds>,
}

/// Bounds of a metric by row, for programs with fills or copies.
pub type CellBounds = HashMap<usize, Bounds>;

/// Where the value of a program with fills or copies is, which ncu does not count.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// The least: of its launches alone, if fills and copies can only add to it.
    pub low: f64,
    /// The most: the value of the cell, if it covers fills and copies.
    pub high: f64,
    /// What of the cell's value is theirs; 0 if it covers launches alone.
    pub added: f64,
    /// The fills and copies, in words.
    pub steps: Arc<str>,
}

/// How the latency of a row was sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    pub program: Program,
    /// Launches that each sample of the sweep is the mean of.
    pub launches: u32,
    /// Samples taken anew, after variants had been selected by those of the sweep; none where there are none.
    pub fresh: Option<FreshSamples>,
    /// Machine code and launches, as one digest; none where it is not known.
    pub code: Option<Arc<str>>,
}

/// What ran while samples were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// A kernel in a worker, beside the other kernels.
    Kernel,
    /// An external command, in processes of its own.
    Command,
}

/// Samples that took no part in selecting variants.
#[derive(Debug, Clone, PartialEq)]
pub struct FreshSamples {
    /// Microseconds in the order they were taken, or why there are none; sample `i` of every variant is of the same round.
    pub samples: Result<Arc<[f64]>, Arc<str>>,
    /// Launches that each is the mean of.
    pub launches: u32,
    /// Samples of each process, in their order.
    pub processes: Arc<[u32]>,
}

/// Values of a metric by row, where it was measured more than once: one a launch, in the order they ran.
pub type Spreads = HashMap<usize, Arc<[f64]>>;

impl Quantities {
    /// An empty table with these rows; later rows with a key already there are dropped.
    pub fn new(rows: impl IntoIterator<Item = (VariantId, ShapeName)>) -> Self {
        let mut table = Self::default();
        for (variant, shape) in rows {
            let variants = match table.index.get_mut(&shape) {
                Some(variants) => variants,
                None => table.index.entry(shape.clone()).or_default(),
            };
            if !variants.contains_key(&variant) {
                variants.insert(variant.clone(), table.rows.len());
                table.rows.push((variant, shape));
            }
        }
        let variants =
            StringChunked::from_iter_values(wide::VARIANT.into(), table.rows.iter().map(|(v, _)| v.0.as_str()));
        let shapes = StringChunked::from_iter_values(wide::SHAPE.into(), table.rows.iter().map(|(_, s)| s.0.as_str()));
        // Two columns of one length and different names make a frame; without one, nothing reads as measured.
        table.frame =
            DataFrame::new(table.rows.len(), vec![variants.into_column(), shapes.into_column()]).unwrap_or_default();
        table
    }

    /// Variant and shape of every row, in order.
    pub fn rows(&self) -> &[(VariantId, ShapeName)] {
        &self.rows
    }

    /// The table as a frame; columns in [`wide`].
    pub fn frame(&self) -> &DataFrame {
        &self.frame
    }

    /// Metric names, in the order they were added.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        // Numbers are metrics; variant, shape and reasons are text.
        let numbers = self.frame.columns().iter().filter(|column| *column.dtype() == DataType::Float64);
        numbers.map(|column| column.name().as_str())
    }

    pub fn row(&self, variant: &VariantId, shape: &ShapeName) -> Option<usize> {
        self.index.get(shape)?.get(variant).copied()
    }

    /// Adds or replaces a column; rows beyond `cells` are missing.
    pub fn set_column(&mut self, metric: &str, cells: Vec<Cell>) {
        let rest = std::iter::repeat_with(|| Cell::Missing(wide::NOT_MEASURED.into()));
        self.set_cells(metric, &cells.into_iter().chain(rest).take(self.rows.len()).collect());
    }

    /// Adds or replaces a column of as many rows as the table has.
    pub(super) fn set_cells(&mut self, metric: &str, cells: &MetricCells) {
        let reasons = wide::reason(metric);
        let numbers = cells.numbers().clone().with_name(metric.into()).into_column();
        let absent = cells.reasons().map(|absent| absent.clone().with_name(reasons.as_str().into()).into_column());
        if absent.is_none() {
            let _ = self.frame.drop_in_place(&reasons); // there need not be any
        }
        self.set(numbers);
        absent.into_iter().for_each(|absent| self.set(absent));
    }

    fn set(&mut self, column: Column) {
        // polars spreads a column of one row over all, and refuses other lengths: what is not set reads as not collected.
        if column.len() == self.rows.len() {
            let _ = self.frame.with_column(column);
        }
    }

    /// A whole column, aligned with [`Self::rows`].
    pub fn column(&self, metric: &str) -> Option<MetricCells> {
        let numbers = self.frame.column(metric).ok()?.f64().ok()?;
        Some(MetricCells::new(numbers, self.reasons(metric)))
    }

    fn reasons(&self, metric: &str) -> Option<&StringChunked> {
        self.frame.column(&wide::reason(metric)).ok()?.str().ok()
    }

    /// One value; a metric or row that is not here is missing with a reason.
    pub fn read(&self, variant: &VariantId, shape: &ShapeName, metric: &str) -> Cell {
        let Some(row) = self.row(variant, shape) else {
            return Cell::Missing(format!("variant '{variant}' was not measured at shape '{shape}'").into());
        };
        match self.frame.column(metric).and_then(Column::f64) {
            Ok(numbers) => match numbers.get(row) {
                Some(value) => Cell::Value(value),
                None => cell(numbers, self.reasons(metric), row),
            },
            Err(_) => Cell::Missing(format!("metric '{metric}' was not collected").into()),
        }
    }

    /// This table with the values of `other` where it has none itself: for advice and charts. Verdicts read a table of
    /// what was measured for them alone.
    pub fn beside(&self, other: &Self) -> Self {
        let mut table = self.clone();
        for metric in other.metrics() {
            let is_own = self.frame.column(metric).is_ok();
            let cell = |(variant, shape): &(VariantId, ShapeName)| match self.read(variant, shape, metric) {
                Cell::Missing(reason) => match other.read(variant, shape, metric) {
                    found @ Cell::Value(_) => found,
                    Cell::Missing(_) if is_own => Cell::Missing(reason),
                    why @ Cell::Missing(_) => why,
                },
                value @ Cell::Value(_) => value,
            };
            table.set_cells(metric, &self.rows.iter().map(cell).collect());
        }
        table
    }

    /// Takes back every value of a variant.
    pub fn withhold(&mut self, variant: &VariantId, reason: &str) {
        let metrics: Vec<String> = self.metrics().map(str::to_owned).collect();
        for metric in metrics {
            let cell = |(id, shape): &(VariantId, ShapeName)| match id == variant {
                true => Cell::Missing(reason.into()),
                false => self.read(id, shape, &metric),
            };
            let cells = self.rows.iter().map(cell).collect();
            self.set_cells(&metric, &cells);
        }
    }

    /// Keeps the values of a metric that several launches of a row gave.
    pub fn set_spread(&mut self, metric: &str, row: usize, values: Arc<[f64]>) {
        self.spreads.entry(metric.to_owned()).or_default().insert(row, values);
    }

    /// Keeps the values of a metric at the launches of an evaluation that is several, in their order.
    pub(super) fn set_steps(&mut self, metric: &str, row: usize, cells: Vec<Cell>) {
        self.steps.entry(metric.to_owned()).or_default().insert(row, cells);
    }

    /// A metric at each launch of an evaluation, in their order; empty where the evaluation is one launch, or the metric is not
    /// one of launches.
    pub fn steps(&self, variant: &VariantId, shape: &ShapeName, metric: &str) -> &[Cell] {
        let row = self.row(variant, shape);
        let cells = row.zip(self.steps.get(metric)).and_then(|(row, steps)| steps.get(&row));
        cells.map_or(&[], Vec::as_slice)
    }

    /// Values of a metric by row, where several launches were measured.
    pub fn spreads(&self, metric: &str) -> Option<&Spreads> {
        self.spreads.get(metric)
    }

    /// Sets the bounds of a metric, by row.
    pub(super) fn set_bounds(&mut self, metric: &str, bounds: CellBounds) {
        if !bounds.is_empty() {
            self.bounds.insert(metric.to_owned(), bounds);
        }
    }

    /// Where the values of a metric are by row, for programs with fills or copies; none if it has none, or they do not bear on it.
    pub fn bounds(&self, metric: &str) -> Option<&CellBounds> {
        self.bounds.get(metric)
    }

    /// A metric of the launches of a row alone, without what its value has of fills and copies.
    pub fn of_launches(&self, variant: &VariantId, shape: &ShapeName, metric: &str) -> Cell {
        let bounds = self.row(variant, shape).and_then(|row| self.bounds.get(metric)?.get(&row));
        match (self.read(variant, shape, metric), bounds) {
            (Cell::Value(value), Some(bounds)) => Cell::Value(value - bounds.added),
            (cell, _) => cell,
        }
    }

    /// Keeps the latency samples of a row, in microseconds and the order they were taken.
    pub fn set_samples(&mut self, row: usize, samples: Arc<[f64]>) {
        self.samples.insert(row, samples);
    }

    /// Keeps how the latency of a row was sampled.
    pub fn set_sampling(&mut self, row: usize, sampling: Sampling) {
        self.sampling.insert(row, sampling);
    }

    /// Sets why variants are not launched at shapes, by row.
    pub fn set_left_out(&mut self, rows: HashMap<usize, Arc<str>>) {
        self.left_out = rows;
    }

    /// Why a variant is not launched at a shape, where it is not.
    pub fn left_out_at(&self, row: usize) -> Option<&Arc<str>> {
        self.left_out.get(&row)
    }

    /// How the latency of a row was sampled, where that is known.
    pub fn sampling_at(&self, row: usize) -> Option<&Sampling> {
        self.sampling.get(&row)
    }

    /// Latency samples of a row, in microseconds.
    pub fn samples_at(&self, row: usize) -> Option<&Arc<[f64]>> {
        self.samples.get(&row)
    }

    /// Latency samples of a variant and shape, in microseconds; sample `i` of every variant is of the same round.
    pub fn samples(&self, variant: &VariantId, shape: &ShapeName) -> Option<&Arc<[f64]>> {
        self.row(variant, shape).and_then(|row| self.samples.get(&row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [(VariantId, ShapeName); 2] {
        ["a", "b"].map(|v| (VariantId(v.into()), ShapeName("s".into())))
    }

    #[test]
    fn the_frame_has_a_column_of_reasons_only_where_a_value_is_absent() {
        let mut table = Quantities::new(rows());
        table.set_column("spills", vec![Cell::Value(0.0), Cell::Value(4.0)]);
        table.set_column("ipc", vec![Cell::Value(1.0)]);
        let names = |table: &Quantities| {
            table.frame().columns().iter().map(|column| column.name().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(&table), ["variant", "shape", "spills", "ipc", "ipc.reason"]);
        assert_eq!(table.metrics().collect::<Vec<_>>(), ["spills", "ipc"]);
        let [_, (variant, shape)] = rows();
        assert_eq!(table.read(&variant, &shape, "ipc"), Cell::Missing("not measured".into()));
        assert_eq!(table.read(&variant, &shape, "waves"), Cell::Missing("metric 'waves' was not collected".into()));
        table.set_column("ipc", vec![Cell::Value(1.0), Cell::Value(2.0)]);
        assert_eq!(names(&table), ["variant", "shape", "spills", "ipc"]);
    }

    #[test]
    fn beside_fills_absent_cells_and_keeps_measured_ones() {
        let rows = rows();
        let mut judged = Quantities::new(rows.clone());
        judged.set_column("dram_bytes", vec![Cell::Value(1.0), Cell::Missing("not profiled".into())]);
        let mut close = Quantities::new(rows.clone());
        close.set_column("dram_bytes", vec![Cell::Value(7.0), Cell::Value(8.0)]);
        close.set_column("sm_pct", vec![Cell::Value(9.0)]);
        let both = judged.beside(&close);
        let read =
            |table: &Quantities, row: usize, metric: &str| table.read(&rows[row].0, &rows[row].1, metric).value();
        assert_eq!((read(&both, 0, "dram_bytes"), read(&both, 1, "dram_bytes")), (Some(1.0), Some(8.0)));
        assert_eq!((read(&both, 0, "sm_pct"), read(&both, 1, "sm_pct")), (Some(9.0), None));
        assert_eq!((read(&judged, 1, "dram_bytes"), read(&judged, 0, "sm_pct")), (None, None));
    }
}
