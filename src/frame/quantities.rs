//! One row a variant and shape, one column a metric: what gates, insight and reports read.

use crate::model::Cell;
use crate::model::ShapeName;
use crate::model::VariantId;
use std::collections::HashMap;
use std::sync::Arc;

/// Everything measured, by variant, shape and metric.
#[derive(Debug, Clone, Default)]
pub struct Quantities {
    rows: Vec<(VariantId, ShapeName)>,
    index: HashMap<(VariantId, ShapeName), usize>,
    columns: Vec<(String, Vec<Cell>)>,
    column_index: HashMap<String, usize>,
    samples: HashMap<usize, Arc<[f64]>>,
    spreads: HashMap<String, Spreads>,
}

/// Values of a metric by row, where it was measured more than once: one a launch, in the order they ran.
pub type Spreads = HashMap<usize, Arc<[f64]>>;

impl Quantities {
    /// An empty table with these rows; later rows with a key already there are dropped.
    pub fn new(rows: impl IntoIterator<Item = (VariantId, ShapeName)>) -> Self {
        let mut table = Self::default();
        for key in rows {
            if !table.index.contains_key(&key) {
                table.index.insert(key.clone(), table.rows.len());
                table.rows.push(key);
            }
        }
        table
    }

    /// Variant and shape of every row, in order.
    pub fn rows(&self) -> &[(VariantId, ShapeName)] {
        &self.rows
    }

    /// Metric names, in the order they were added.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// Row of a variant and shape.
    pub fn row(&self, variant: &VariantId, shape: &ShapeName) -> Option<usize> {
        self.index.get(&(variant.clone(), shape.clone())).copied()
    }

    /// Adds or replaces a column; rows beyond `cells` are missing.
    pub fn set_column(&mut self, metric: &str, mut cells: Vec<Cell>) {
        cells.resize(self.rows.len(), Cell::Missing("not measured".into()));
        match self.column_index.get(metric) {
            Some(&at) => self.columns[at].1 = cells,
            None => {
                self.column_index.insert(metric.to_owned(), self.columns.len());
                self.columns.push((metric.to_owned(), cells));
            }
        }
    }

    /// A whole column, aligned with [`Self::rows`].
    pub fn column(&self, metric: &str) -> Option<&[Cell]> {
        self.column_index.get(metric).map(|&at| self.columns[at].1.as_slice())
    }

    /// One value; a metric or row that is not here is missing with a reason.
    pub fn read(&self, variant: &VariantId, shape: &ShapeName, metric: &str) -> Cell {
        let Some(row) = self.row(variant, shape) else {
            return Cell::Missing(format!("variant '{variant}' was not measured at shape '{shape}'").into());
        };
        self.column(metric).map_or_else(
            || Cell::Missing(format!("metric '{metric}' was not collected").into()),
            |column| column[row].clone(),
        )
    }

    /// This table with the values of `other` where it has none itself: for advice and charts. Verdicts read a table of
    /// what was measured for them alone.
    pub fn beside(&self, other: &Self) -> Self {
        let mut table = self.clone();
        for metric in other.metrics() {
            let cell = |(variant, shape): &(VariantId, ShapeName)| match self.read(variant, shape, metric) {
                Cell::Missing(reason) => match other.read(variant, shape, metric) {
                    found @ Cell::Value(_) => found,
                    Cell::Missing(_) => Cell::Missing(reason),
                },
                value @ Cell::Value(_) => value,
            };
            let cells = self.rows.iter().map(cell).collect();
            table.set_column(metric, cells);
        }
        table
    }

    /// Keeps the values of a metric that several launches of a row gave.
    pub fn set_spread(&mut self, metric: &str, row: usize, values: Arc<[f64]>) {
        self.spreads.entry(metric.to_owned()).or_default().insert(row, values);
    }

    /// Values of a metric by row, where several launches were measured.
    pub fn spreads(&self, metric: &str) -> Option<&Spreads> {
        self.spreads.get(metric)
    }

    /// Keeps the latency samples of a row, in microseconds and the order they were taken.
    pub fn set_samples(&mut self, row: usize, samples: Arc<[f64]>) {
        self.samples.insert(row, samples);
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

    #[test]
    fn what_is_measured_stays_and_what_is_not_is_taken_from_beside() {
        let rows = ["a", "b"].map(|v| (VariantId(v.into()), ShapeName("s".into())));
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
