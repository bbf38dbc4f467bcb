//! One row per variant and shape, one column per metric: the table behind gates, findings and reports.

use crate::case::{CaseId, CaseKey};
use crate::{Cell, ShapeName, Throttle, VariantId};
use indexmap::IndexMap;
use std::collections::HashMap;
use std::sync::Arc;

/// The reason for a missing value without a more specific reason.
pub const NOT_MEASURED: &str = "not measured";

/// All measurements: one row per variant and shape, one column per metric.
#[derive(Debug, Clone, Default)]
pub struct Quantities {
    rows: IndexMap<CaseId, RowFacts>,
    columns: IndexMap<String, MetricCells>,
}

/// Facts of a row other than its metrics.
#[derive(Debug, Clone, Default)]
struct RowFacts {
    samples: Option<Arc<[f64]>>,
    sampling: Option<Sampling>,
    left_out: Option<Arc<str>>,
    /// Names of the kernels that an evaluation launches, in order, if known.
    launches: Option<Arc<[Arc<str>]>>,
}

/// A column of [`Quantities`]: a metric, with one cell per row.
#[derive(Debug, Clone, Default)]
pub struct MetricCells {
    cells: Vec<Cell>,
    /// Details by row, if there are any.
    details: HashMap<usize, CellDetails>,
}

/// The numbers behind a cell.
#[derive(Debug, Clone, Default)]
pub struct CellDetails {
    /// The value of each repeat, if there were several.
    pub repeats: Option<Arc<[f64]>>,
    /// The metric at each launch, if the evaluation has several launches and the metric applies to single launches.
    pub steps: Vec<Cell>,
    /// For a program with fills or copies.
    pub bounds: Option<Bounds>,
}

impl MetricCells {
    /// The value of every row, or the reason for its absence.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Whether any row has a value.
    pub fn has_value(&self) -> bool {
        self.cells.iter().any(|cell| cell.value().is_some())
    }

    /// The value of each repeat of a row, in execution order, if there were several.
    pub fn repeats(&self, row: usize) -> Option<&Arc<[f64]>> {
        self.details.get(&row)?.repeats.as_ref()
    }

    /// The bounds of a row's value, for a program with fills or copies; `None` if those do not affect the metric.
    pub fn bounds(&self, row: usize) -> Option<&Bounds> {
        self.details.get(&row)?.bounds.as_ref()
    }

    /// The metric at each launch of a row's evaluation, in order. Empty if that is one launch, or if the metric does not
    /// apply to single launches.
    pub fn steps(&self, row: usize) -> &[Cell] {
        self.details.get(&row).map_or(&[], |details| &details.steps)
    }

    pub fn push(&mut self, cell: Cell, details: CellDetails) {
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

/// Bounds of a value, for a program with fills or copies, which ncu does not count, and for a rounded value.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// The lower bound: the value of the launches alone, if fills and copies can only add to it.
    pub low: f64,
    /// The upper bound: the value of the cell, if it covers fills and copies.
    pub high: f64,
    /// The share of fills and copies in the cell's value; 0 if it covers only launches.
    pub added: f64,
    /// Description of the fills and copies; `None` for a value that CSV has rounded.
    pub steps: Option<Arc<str>>,
}

/// How the latency of a row was sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    pub program: Program,
    /// Number of launches averaged in each sample of the sweep.
    pub launches: u32,
    /// Throttling of the GPU in the round of each sample of the sweep, if it was read.
    pub throttle: Option<Arc<[Throttle]>>,
    /// Samples taken after the sweep selected variants; `None` without a confirmation.
    pub fresh: Option<FreshSamples>,
    /// One digest of machine code and launches, if known.
    pub code: Option<Arc<str>>,
}

/// The program timed by the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// A kernel in a worker, interleaved with the other kernels.
    Kernel,
    /// An external command, in separate processes.
    Command,
}

/// Samples that took no part in the selection.
#[derive(Debug, Clone, PartialEq)]
pub struct FreshSamples {
    /// Microseconds in the order they were taken, or the reason for their absence. Sample `i` of every variant
    /// belongs to the same round.
    pub samples: Result<Arc<[f64]>, Arc<str>>,
    /// Number of launches averaged in each sample.
    pub launches: u32,
    /// Number of samples of each process, in order.
    pub processes: Arc<[u32]>,
    /// Throttling of the GPU in the round of each sample, if it was read.
    pub throttle: Option<Arc<[Throttle]>>,
}

impl Quantities {
    /// An empty table with these rows; duplicate keys are dropped.
    pub fn new(rows: impl IntoIterator<Item = (VariantId, ShapeName)>) -> Self {
        Self { rows: rows.into_iter().map(|case| (case, RowFacts::default())).collect(), columns: IndexMap::new() }
    }

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

    /// Adds or replaces a column; rows beyond `cells` become missing.
    pub fn set_column(&mut self, metric: &str, cells: Vec<Cell>) {
        self.set(metric, cells.into_iter().collect());
    }

    /// Adds or replaces a column, including the details of its cells.
    pub fn set(&mut self, metric: &str, mut column: MetricCells) {
        column.cells.resize_with(self.rows.len(), || Cell::Missing(NOT_MEASURED.into()));
        self.columns.insert(metric.to_owned(), column);
    }

    /// A whole column, aligned with [`Self::rows`].
    pub fn column(&self, metric: &str) -> Option<&MetricCells> {
        self.columns.get(metric)
    }

    /// One value. For an unknown metric or row, a missing value with a reason.
    pub fn read(&self, variant: &VariantId, shape: &ShapeName, metric: &str) -> Cell {
        let Some(row) = self.row(variant, shape) else {
            return Cell::Missing(format!("variant '{variant}' was not measured at shape '{shape}'").into());
        };
        let cell = self.columns.get(metric).and_then(|column| column.cells.get(row));
        cell.cloned().unwrap_or_else(|| Cell::Missing(format!("metric '{metric}' was not collected").into()))
    }

    /// This table with its gaps filled from `other`, for advice and charts. Verdicts never read a filled table.
    pub fn filled_from(&self, other: &Self) -> Self {
        let mut table = self.clone();
        for metric in other.metrics() {
            let is_own = self.columns.contains_key(metric);
            let cell = |(variant, shape): &CaseId| {
                let [own, filled] = [self, other].map(|table| table.read(variant, shape, metric));
                let stays = own.value().is_some() || is_own && filled.value().is_none();
                if stays { own } else { filled }
            };
            let column = table.columns.entry(metric.to_owned()).or_default();
            column.cells = self.rows.keys().map(cell).collect();
            for (row, (variant, shape)) in self.rows.keys().enumerate() {
                let steps = other.steps(variant, shape, metric);
                let is_filled = || self.read(variant, shape, metric).value().is_none();
                if !steps.is_empty() && is_filled() && self.launches_as(other, variant, shape) {
                    column.details.entry(row).or_default().steps = steps.to_vec();
                }
            }
        }
        for ((variant, shape), facts) in &mut table.rows {
            if facts.launches.is_none() {
                facts.launches = other.rows.get(&CaseKey(variant, shape)).and_then(|facts| facts.launches.clone());
            }
        }
        table
    }

    /// Whether the launches of a case are those of `other`, as far as this table knows them.
    fn launches_as(&self, other: &Self, variant: &VariantId, shape: &ShapeName) -> bool {
        let own = self.launches(variant, shape);
        own.is_none() || own == other.launches(variant, shape)
    }

    /// Removes every value of a variant.
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

    /// The numbers behind a cell of a known metric.
    pub fn details_mut(&mut self, metric: &str, row: usize) -> Option<&mut CellDetails> {
        Some(self.columns.get_mut(metric)?.details.entry(row).or_default())
    }

    /// A metric at each launch of an evaluation, in order. Empty if the evaluation has one launch or the metric does
    /// not apply to single launches.
    pub fn steps(&self, variant: &VariantId, shape: &ShapeName, metric: &str) -> &[Cell] {
        let column = self.row(variant, shape).and_then(|row| Some((self.columns.get(metric)?, row)));
        column.map_or(&[], |(column, row)| column.steps(row))
    }

    /// Sets a metric at each launch of a row's evaluation, in order.
    pub fn set_steps(&mut self, metric: &str, row: usize, steps: Vec<Cell>) {
        if let Some(details) = self.details_mut(metric, row) {
            details.steps = steps;
        }
    }

    /// Names of the kernels that an evaluation launches, in order; `None` if they are unknown.
    pub fn launches(&self, variant: &VariantId, shape: &ShapeName) -> Option<&Arc<[Arc<str>]>> {
        self.rows.get(&CaseKey(variant, shape))?.launches.as_ref()
    }

    /// Sets the names of the kernels that an evaluation of a row launches, in order.
    pub fn set_launches(&mut self, row: usize, kernels: Arc<[Arc<str>]>) {
        if let Some((_, facts)) = self.rows.get_index_mut(row) {
            facts.launches = Some(kernels);
        }
    }

    /// A row's metric for its launches alone, without fills and copies.
    pub fn of_launches(&self, variant: &VariantId, shape: &ShapeName, metric: &str) -> Cell {
        let bounds = self.row(variant, shape).and_then(|row| self.columns.get(metric)?.bounds(row));
        match (self.read(variant, shape, metric), bounds) {
            (Cell::Value(value), Some(bounds)) => Cell::Value(value - bounds.added),
            (cell, _) => cell,
        }
    }

    /// Sets the latency samples of a row, in microseconds and in the order they were taken.
    pub fn set_samples(&mut self, row: usize, samples: Arc<[f64]>) {
        if let Some((_, facts)) = self.rows.get_index_mut(row) {
            facts.samples = Some(samples);
        }
    }

    /// Sets the sampling of a row's latency.
    pub fn set_sampling(&mut self, row: usize, sampling: Sampling) {
        if let Some((_, facts)) = self.rows.get_index_mut(row) {
            facts.sampling = Some(sampling);
        }
    }

    /// Removes the values of a row whose variant is not launched at its shape. Facts of its launches stay, because
    /// they show the reason.
    pub fn leave_out(&mut self, row: usize, reason: &Arc<str>) {
        if let Some((_, facts)) = self.rows.get_index_mut(row) {
            facts.left_out = Some(reason.clone());
        }
        for cell in self.columns.values_mut().filter_map(|column| column.cells.get_mut(row)) {
            *cell = Cell::Missing(reason.clone());
        }
    }

    /// Why a variant is not launched at a shape; `None` if it is launched.
    pub fn left_out_at(&self, row: usize) -> Option<&Arc<str>> {
        self.rows.get_index(row)?.1.left_out.as_ref()
    }

    /// The sampling of a row's latency, if known.
    pub fn sampling_at(&self, row: usize) -> Option<&Sampling> {
        self.rows.get_index(row)?.1.sampling.as_ref()
    }

    /// Latency samples of a row, in microseconds.
    pub fn samples_at(&self, row: usize) -> Option<&Arc<[f64]>> {
        self.rows.get_index(row)?.1.samples.as_ref()
    }

    /// Latency samples of a variant and shape, in microseconds. Sample `i` of every variant belongs to the same
    /// round.
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
