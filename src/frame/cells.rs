//! A column of a metric: numbers, and beside them why one is absent.

use std::collections::HashMap;
use std::sync::Arc;

use polars::prelude::{ChunkTake, Float64Chunked, IdxCa, NewChunkedArray, StringChunked};

use super::schema::wide;
use crate::model::Cell;

/// A column of a metric, a row a variant and shape (or whatever else its frame has a row for).
///
/// A number is null where the value is absent; its reason is null where the value is there. Cloning shares the data.
#[derive(Debug, Clone, Default)]
pub struct MetricCells {
    numbers: Float64Chunked,
    /// Left out where no value is absent.
    reasons: Option<StringChunked>,
}

impl MetricCells {
    /// A column out of what a frame holds.
    pub(super) fn new(numbers: &Float64Chunked, reasons: Option<&StringChunked>) -> Self {
        Self { numbers: numbers.clone(), reasons: reasons.cloned() }
    }

    /// Rows of the column.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers in the metric's unit, null where one is absent.
    pub fn numbers(&self) -> &Float64Chunked {
        &self.numbers
    }

    /// Why values are absent, null where one is there; nothing where all are there.
    pub fn reasons(&self) -> Option<&StringChunked> {
        self.reasons.as_ref()
    }

    pub fn has_value(&self) -> bool {
        self.numbers.null_count() < self.len()
    }

    /// The value of a row, or why it is absent; nothing beyond the last row.
    pub fn get(&self, row: usize) -> Option<Cell> {
        (row < self.len()).then(|| self.at(row))
    }

    /// The value of a row, or why it is absent; a row that the column does not have was not measured.
    pub fn at(&self, row: usize) -> Cell {
        cell(&self.numbers, self.reasons.as_ref(), row)
    }

    /// Value after value.
    pub fn iter(&self) -> impl Iterator<Item = Cell> {
        (0..self.len()).map(|row| self.at(row))
    }

    pub fn to_vec(&self) -> Vec<Cell> {
        self.iter().collect()
    }

    /// The same without the values of some rows, which are absent for these reasons.
    pub(super) fn without(&self, rows: &HashMap<usize, Arc<str>>) -> Self {
        let cell = |(row, cell)| rows.get(&row).map_or(cell, |reason| Cell::Missing(reason.clone()));
        self.iter().enumerate().map(cell).collect()
    }

    /// The values of these rows, in this order; `why` gives the reason for a place that names no row.
    pub(super) fn gather(&self, places: &IdxCa, why: impl Fn(usize) -> String) -> Self {
        let inside = places.iter().all(|place| place.is_none_or(|place| (place as usize) < self.len()));
        if places.null_count() == 0
            && inside
            && let (Ok(numbers), Ok(reasons)) =
                (self.numbers.take(places), self.reasons.as_ref().map(|r| r.take(places)).transpose())
        {
            return Self { numbers, reasons };
        }
        let cell = |(row, place): (usize, Option<u32>)| {
            place.and_then(|place| self.get(place as usize)).unwrap_or_else(|| Cell::Missing(why(row).into()))
        };
        places.iter().enumerate().map(cell).collect()
    }
}

impl FromIterator<Cell> for MetricCells {
    fn from_iter<I: IntoIterator<Item = Cell>>(cells: I) -> Self {
        let cells = cells.into_iter();
        let mut numbers = Vec::with_capacity(cells.size_hint().0);
        let mut absent: Vec<(usize, Arc<str>)> = Vec::new();
        for cell in cells {
            match cell {
                Cell::Value(value) => numbers.push(Some(value)),
                Cell::Missing(reason) => {
                    absent.push((numbers.len(), reason));
                    numbers.push(None);
                }
            }
        }
        let reasons = (!absent.is_empty()).then(|| {
            let mut absent = absent.iter().peekable();
            let of = |row| absent.next_if(|(at, _)| *at == row).map(|(_, reason)| reason.as_ref());
            StringChunked::from_iter_options(wide::REASON.into(), (0..numbers.len()).map(of))
        });
        Self { numbers: Float64Chunked::from_slice_options(wide::VALUE.into(), &numbers), reasons }
    }
}

/// A value out of its two columns.
pub(super) fn cell(numbers: &Float64Chunked, reasons: Option<&StringChunked>, row: usize) -> Cell {
    numbers.get(row).map_or_else(
        || Cell::Missing(reasons.and_then(|reasons| reasons.get(row)).unwrap_or(wide::NOT_MEASURED).into()),
        Cell::Value,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(reason: &str) -> Cell {
        Cell::Missing(reason.into())
    }

    #[test]
    fn values_and_reasons_come_back_as_they_went_in() {
        let cells = vec![Cell::Value(1.5), missing("killed"), Cell::Value(f64::INFINITY), missing("not profiled")];
        let column: MetricCells = cells.iter().cloned().collect();
        assert_eq!(column.to_vec(), cells);
        assert_eq!((column.get(3), column.get(4)), (Some(missing("not profiled")), None));
        assert!(column.has_value() && column.reasons().is_some());
        let full: MetricCells = [Cell::Value(1.0)].into_iter().collect();
        assert!(full.reasons().is_none());
        assert!(![missing("x")].into_iter().collect::<MetricCells>().has_value());
    }

    #[test]
    fn rows_are_gathered_and_those_that_are_not_there_have_a_reason() {
        let column: MetricCells = [Cell::Value(1.0), missing("killed")].into_iter().collect();
        let gather = |places: &[Option<u32>]| {
            column.gather(&IdxCa::from_slice_options("".into(), places), |row| format!("row {row}")).to_vec()
        };
        assert_eq!(gather(&[Some(1), Some(0)]), [missing("killed"), Cell::Value(1.0)]);
        assert_eq!(gather(&[None, Some(0), Some(9)]), [missing("row 0"), Cell::Value(1.0), missing("row 2")]);
    }
}
