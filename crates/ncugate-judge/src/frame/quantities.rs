//! One row a variant and shape, one column a metric: what gates, findings and reports read.

use super::case::{CaseId, CaseKey};
use super::schema::wide;
use indexmap::IndexMap;
use ncugate_model::{Cell, ShapeName, VariantId};
use std::collections::HashMap;
use std::sync::Arc;

/// Everything measured: a row a variant and shape, a column a metric.
#[derive(Debug, Clone, Default)]
pub struct Quantities {
    rows: IndexMap<CaseId, RowFacts>,
    columns: IndexMap<String, MetricCells>,
}

/// What is known of a row besides its metrics.
#[derive(Debug, Clone, Default)]
struct RowFacts {
    samples: Option<Arc<[f64]>>,
    sampling: Option<Sampling>,
    left_out: Option<Arc<str>>,
}

/// A column of [`Quantities`]: a metric, with a cell for every row.
#[derive(Debug, Clone, Default)]
pub struct MetricCells {
    cells: Vec<Cell>,
    /// By row, if there are any.
    details: HashMap<usize, CellDetails>,
}

/// The numbers behind a cell.
#[derive(Debug, Clone, Default)]
pub(super) struct CellDetails {
    /// The value of each repeat, if there were several.
    pub repeats: Option<Arc<[f64]>>,
    /// The metric at each launch, if the evaluation has several and the metric is one of launches.
    pub steps: Vec<Cell>,
    /// For a program with fills or copies.
    pub bounds: Option<Bounds>,
}

impl MetricCells {
    /// The value of every row, or why there is none.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Whether any value is there.
    pub fn has_value(&self) -> bool {
        self.cells.iter().any(|cell| cell.value().is_some())
    }

    /// The value of each repeat of a row, in the order they ran, if there were several.
    pub fn repeats(&self, row: usize) -> Option<&Arc<[f64]>> {
        self.details.get(&row)?.repeats.as_ref()
    }

    /// Where the value of a row is, for a program with fills or copies; none if they do not bear on the metric.
    pub fn bounds(&self, row: usize) -> Option<&Bounds> {
        self.details.get(&row)?.bounds.as_ref()
    }

    /// Adds a row.
    pub(super) fn push(&mut self, cell: Cell, details: CellDetails) {
        let CellDetails { repeats, steps, bounds } = &details;
        if repeats.is_some() || !steps.is_empty() || bounds.is_some() {
            self.details.insert(self.cells.len(), details);
        }
        self.cells.push(cell);
    }
}

impl FromIterator<Cell> for MetricCells {
    fn from_iter<I: IntoIterator<Item = Cell>>(cells: I) -> Self {
        Self { cells: cells.into_iter().collect(), details: HashMap::new() }
    }
}

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

impl Quantities {
    /// An empty table with these rows; later rows with a key already there are dropped.
    pub fn new(rows: impl IntoIterator<Item = (VariantId, ShapeName)>) -> Self {
        Self { rows: rows.into_iter().map(|case| (case, RowFacts::default())).collect(), columns: IndexMap::new() }
    }

    /// Variant and shape of every row, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &(VariantId, ShapeName)> {
        self.rows.keys()
    }

    /// Metric names, in the order they were added.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// Row of a variant and shape.
    pub fn row(&self, variant: &VariantId, shape: &ShapeName) -> Option<usize> {
        self.rows.get_index_of(&CaseKey(variant, shape))
    }

    /// Adds or replaces a column; rows beyond `cells` are missing.
    pub fn set_column(&mut self, metric: &str, cells: Vec<Cell>) {
        self.set(metric, cells.into_iter().collect());
    }

    /// Adds or replaces a column with what is behind its cells.
    pub(super) fn set(&mut self, metric: &str, mut column: MetricCells) {
        column.cells.resize_with(self.rows.len(), || Cell::Missing(wide::NOT_MEASURED.into()));
        self.columns.insert(metric.to_owned(), column);
    }

    /// A whole column, aligned with [`Self::rows`].
    pub fn column(&self, metric: &str) -> Option<&MetricCells> {
        self.columns.get(metric)
    }

    /// One value; a metric or row that is not here is missing with a reason.
    pub fn read(&self, variant: &VariantId, shape: &ShapeName, metric: &str) -> Cell {
        let Some(row) = self.row(variant, shape) else {
            return Cell::Missing(format!("variant '{variant}' was not measured at shape '{shape}'").into());
        };
        let cell = self.columns.get(metric).and_then(|column| column.cells.get(row));
        cell.cloned().unwrap_or_else(|| Cell::Missing(format!("metric '{metric}' was not collected").into()))
    }

    /// This table with the values of `other` where it has none itself: for advice and charts. Verdicts read a table of
    /// what was measured for them alone.
    pub fn filled_from(&self, other: &Self) -> Self {
        let mut table = self.clone();
        for metric in other.metrics() {
            let is_own = self.columns.contains_key(metric);
            let cell = |(variant, shape): &CaseId| match self.read(variant, shape, metric) {
                Cell::Missing(reason) => match other.read(variant, shape, metric) {
                    found @ Cell::Value(_) => found,
                    Cell::Missing(_) if is_own => Cell::Missing(reason),
                    why @ Cell::Missing(_) => why,
                },
                value @ Cell::Value(_) => value,
            };
            table.columns.entry(metric.to_owned()).or_default().cells = self.rows.keys().map(cell).collect();
        }
        table
    }

    /// Takes back every value of a variant.
    pub fn withhold(&mut self, variant: &VariantId, reason: &str) {
        let reason: Arc<str> = reason.into();
        for column in self.columns.values_mut() {
            for (row, cell) in column.cells.iter_mut().enumerate() {
                if self.rows.get_index(row).is_some_and(|((id, _), _)| id == variant) {
                    *cell = Cell::Missing(Arc::clone(&reason));
                    column.details.remove(&row);
                }
            }
        }
    }

    #[cfg(test)]
    pub fn set_repeats(&mut self, metric: &str, row: usize, values: Arc<[f64]>) {
        if let Some(column) = self.columns.get_mut(metric) {
            column.details.entry(row).or_default().repeats = Some(values);
        }
    }

    /// A metric at each launch of an evaluation, in their order; empty where the evaluation is one launch, or the metric is not
    /// one of launches.
    pub fn steps(&self, variant: &VariantId, shape: &ShapeName, metric: &str) -> &[Cell] {
        let details = self.row(variant, shape).and_then(|row| self.columns.get(metric)?.details.get(&row));
        details.map_or(&[], |details| &details.steps)
    }

    /// A metric of the launches of a row alone, without what its value has of fills and copies.
    pub fn of_launches(&self, variant: &VariantId, shape: &ShapeName, metric: &str) -> Cell {
        let bounds = self.row(variant, shape).and_then(|row| self.columns.get(metric)?.bounds(row));
        match (self.read(variant, shape, metric), bounds) {
            (Cell::Value(value), Some(bounds)) => Cell::Value(value - bounds.added),
            (cell, _) => cell,
        }
    }

    /// Keeps the latency samples of a row, in microseconds and the order they were taken.
    pub fn set_samples(&mut self, row: usize, samples: Arc<[f64]>) {
        if let Some((_, facts)) = self.rows.get_index_mut(row) {
            facts.samples = Some(samples);
        }
    }

    /// Keeps how the latency of a row was sampled.
    pub fn set_sampling(&mut self, row: usize, sampling: Sampling) {
        if let Some((_, facts)) = self.rows.get_index_mut(row) {
            facts.sampling = Some(sampling);
        }
    }

    /// Takes back the values of a row whose variant is not launched at its shape. Facts of its launches stay: they say why.
    pub(super) fn leave_out(&mut self, row: usize, reason: &Arc<str>) {
        if let Some((_, facts)) = self.rows.get_index_mut(row) {
            facts.left_out = Some(reason.clone());
        }
        for cell in self.columns.values_mut().filter_map(|column| column.cells.get_mut(row)) {
            *cell = Cell::Missing(reason.clone());
        }
    }

    /// Why a variant is not launched at a shape, where it is not.
    pub fn left_out_at(&self, row: usize) -> Option<&Arc<str>> {
        self.rows.get_index(row)?.1.left_out.as_ref()
    }

    /// How the latency of a row was sampled, where that is known.
    pub fn sampling_at(&self, row: usize) -> Option<&Sampling> {
        self.rows.get_index(row)?.1.sampling.as_ref()
    }

    /// Latency samples of a row, in microseconds.
    pub fn samples_at(&self, row: usize) -> Option<&Arc<[f64]>> {
        self.rows.get_index(row)?.1.samples.as_ref()
    }

    /// Latency samples of a variant and shape, in microseconds; sample `i` of every variant is of the same round.
    pub fn samples(&self, variant: &VariantId, shape: &ShapeName) -> Option<&Arc<[f64]>> {
        self.rows.get(&CaseKey(variant, shape))?.samples.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [(VariantId, ShapeName); 2] {
        ["a", "b"].map(|v| (VariantId(v.into()), ShapeName("s".into())))
    }

    #[test]
    fn every_row_has_a_value_or_a_reason() {
        let mut table = Quantities::new(rows());
        table.set_column("spills", vec![Cell::Value(0.0), Cell::Value(4.0)]);
        table.set_column("ipc", vec![Cell::Value(1.0)]);
        assert_eq!(table.metrics().collect::<Vec<_>>(), ["spills", "ipc"]);
        let [_, (variant, shape)] = rows();
        assert_eq!(table.read(&variant, &shape, "ipc"), Cell::Missing("not measured".into()));
        assert_eq!(table.read(&variant, &shape, "waves"), Cell::Missing("metric 'waves' was not collected".into()));
        table.set_column("ipc", vec![Cell::Value(1.0), Cell::Value(2.0)]);
        assert_eq!(table.read(&variant, &shape, "ipc"), Cell::Value(2.0));
    }

    #[test]
    fn beside_fills_absent_cells_and_keeps_measured_ones() {
        let rows = rows();
        let mut judged = Quantities::new(rows.clone());
        judged.set_column("dram_bytes", vec![Cell::Value(1.0), Cell::Missing("not profiled".into())]);
        let mut deep = Quantities::new(rows.clone());
        deep.set_column("dram_bytes", vec![Cell::Value(7.0), Cell::Value(8.0)]);
        deep.set_column("sm_pct", vec![Cell::Value(9.0)]);
        let both = judged.filled_from(&deep);
        let read =
            |table: &Quantities, row: usize, metric: &str| table.read(&rows[row].0, &rows[row].1, metric).value();
        assert_eq!((read(&both, 0, "dram_bytes"), read(&both, 1, "dram_bytes")), (Some(1.0), Some(8.0)));
        assert_eq!((read(&both, 0, "sm_pct"), read(&both, 1, "sm_pct")), (Some(9.0), None));
        assert_eq!((read(&judged, 1, "dram_bytes"), read(&judged, 0, "sm_pct")), (None, None));
    }
}
