//! Columns of the metrics of reports, in long form (a row per launch and metric) and in wide form (a column per counter).

use std::borrow::Cow;

use polars::prelude::{
    ChunkFullNull, ChunkTake, Column, DataFrame, DataType, Float64Chunked, IntoColumn, NewChunkedArray, PolarsError,
    StringChunked, UInt32Chunked,
};
use rayon::prelude::*;

use super::decode::{Piece, ReportMetrics};
use super::launch_table::constant;
use super::schema::metrics as m;
use ncu_rep::{Report, unit_of};

/// Up to this number of rows, columns are built in parallel. The allocator keeps each thread's temporary memory.
const SIDE_BY_SIDE_ROWS: usize = 1 << 20;

type Build<'a> = fn(&MetricTable<'a>) -> Result<Column, PolarsError>;

/// Rows of a frame, with the tables for their indices.
struct MetricTable<'a> {
    report: &'a str,
    /// Id of each launch.
    ids: Vec<u32>,
    /// Kernel of each launch.
    kernels: &'a StringChunked,
    /// Name and unit of each slot.
    metrics: Vec<(&'a str, &'a str)>,
    /// Slot of each row, which identifies the metric.
    slots: Vec<u32>,
    pieces: &'a [Piece<'a>],
}

/// A metrics frame without rows.
///
/// # Errors
/// polars rejects a column.
pub(super) fn empty() -> Result<DataFrame, PolarsError> {
    MetricTable::new("", Vec::new(), &StringChunked::full_null("".into(), 0), Vec::new(), &[]).frame()
}

/// The metrics frame of a report whose launches have these kernels.
///
/// # Errors
/// polars rejects a column.
pub(super) fn of_report(
    name: &str,
    report: &Report,
    decoded: &ReportMetrics<'_>,
    kernels: &StringChunked,
) -> Result<DataFrame, PolarsError> {
    let bulk = report.bulk();
    let metrics = decoded.names.iter().map(|&place| (bulk.name(place), unit_of(bulk.name(place)))).collect();
    let ids = (0..report.launches().len() as u32).collect();
    MetricTable::new(name, ids, kernels, metrics, &decoded.pieces).frame()
}

/// A column per counter in `names`, with a row per launch: the first value of the counter, null if there is none. The
/// metrics of a slot belong to the column in `columns`. This pivots by hand: see docs/design.md.
pub(super) fn by_launch<'n>(
    names: impl Iterator<Item = &'n str>,
    columns: &[Option<usize>],
    pieces: &[Piece<'_>],
) -> Vec<Column> {
    let launches: usize = pieces.iter().map(|piece| piece.counts.len()).sum();
    let mut values: Vec<(&str, Vec<Option<f64>>)> = names.map(|name| (name, vec![None; launches])).collect();
    let mut launch = 0;
    for piece in pieces {
        let mut rows = piece.slots.iter().zip(&piece.numbers).enumerate();
        let mut missing = piece.missing.iter().peekable();
        for &count in &piece.counts {
            for (row, (slot, number)) in rows.by_ref().take(count) {
                let is_missing = missing.next_if_eq(&&row).is_some();
                if let Some(column) = columns[*slot as usize].filter(|_| !is_missing) {
                    values[column].1[launch].get_or_insert(*number);
                }
            }
            launch += 1;
        }
    }
    let column =
        |(name, values): (&str, Vec<_>)| Float64Chunked::from_slice_options(name.into(), &values).into_column();
    values.into_iter().map(column).collect()
}

impl<'a> MetricTable<'a> {
    fn new(
        report: &'a str,
        ids: Vec<u32>,
        kernels: &'a StringChunked,
        metrics: Vec<(&'a str, &'a str)>,
        pieces: &'a [Piece<'a>],
    ) -> Self {
        let mut slots = Vec::with_capacity(pieces.iter().map(Piece::rows).sum());
        pieces.iter().for_each(|piece| slots.extend_from_slice(&piece.slots));
        Self { report, ids, kernels, metrics, slots, pieces }
    }

    /// Builds the columns, in parallel unless that takes too much memory.
    fn frame(&self) -> Result<DataFrame, PolarsError> {
        let columns: [Build<'a>; 7] = [
            |table| Ok(constant(m::REPORT, table.report, table.slots.len())),
            |table| Ok(UInt32Chunked::from_vec(m::LAUNCH.into(), table.by_row(&table.ids)).into_column()),
            Self::kernel,
            |table| table.by_slot(m::METRIC, |metric| metric.0),
            |table| table.by_slot(m::UNIT, |metric| metric.1),
            |table| Ok(table.value()),
            Self::text,
        ];
        let columns: Result<Vec<Column>, PolarsError> = if self.slots.len() > SIDE_BY_SIDE_ROWS {
            columns.iter().map(|column| column(self)).collect()
        } else {
            columns.par_iter().map(|column| column(self)).collect()
        };
        DataFrame::new(self.slots.len(), columns?)
    }

    /// A value per launch, repeated for each row of the launch.
    fn by_row(&self, of_launch: &[u32]) -> Vec<u32> {
        let counts = self.pieces.iter().flat_map(|piece| &piece.counts);
        let mut rows = Vec::with_capacity(self.slots.len());
        counts.zip(of_launch).for_each(|(&count, &value)| rows.extend(std::iter::repeat_n(value, count)));
        rows
    }

    /// A text per metric, repeated for each row of the metric.
    fn by_slot(&self, name: &str, text: impl Fn(&(&'a str, &'a str)) -> &'a str) -> Result<Column, PolarsError> {
        let texts = StringChunked::from_iter_values(name.into(), self.metrics.iter().map(text));
        Ok(texts.take(&self.slots)?.into_column())
    }

    fn kernel(&self) -> Result<Column, PolarsError> {
        let mut kernels = self.kernels.iter();
        if let Some(Some(first)) = kernels.next()
            && kernels.all(|kernel| kernel == Some(first))
        {
            return Ok(constant(m::KERNEL, first, self.slots.len()));
        }
        let launches: Vec<u32> = (0..self.ids.len() as u32).collect();
        Ok(self.kernels.take(&self.by_row(&launches))?.with_name(m::KERNEL.into()).into_column())
    }

    fn value(&self) -> Column {
        let numbers = self.pieces.iter().flat_map(|piece| &piece.numbers);
        let mut missing = self.rows(|piece| piece.missing.iter().copied()).peekable();
        let values = (0..self.slots.len()).zip(numbers).map(|(row, number)| match missing.next_if_eq(&row) {
            Some(_) => None,
            None => Some(*number),
        });
        Float64Chunked::from_iter_options(m::VALUE.into(), values).into_column()
    }

    /// Texts of the rows that have one; null elsewhere.
    fn text(&self) -> Result<Column, PolarsError> {
        let rows = self.slots.len();
        if self.pieces.iter().all(|piece| piece.texts.is_empty()) {
            return Ok(Column::full_null(m::TEXT.into(), rows, &DataType::String));
        }
        let texts = self.pieces.iter().flat_map(|piece| &piece.texts);
        let texts = StringChunked::from_iter_values(m::TEXT.into(), texts.map(|(_, text)| Cow::as_ref(text)));
        let mut found = (0..).zip(self.rows(|piece| piece.texts.iter().map(|(row, _)| *row))).peekable();
        let places = (0..rows).map(|row| found.next_if(|(_, at)| *at == row).map(|(place, _)| place));
        let places = UInt32Chunked::from_iter_options(m::TEXT.into(), places);
        Ok(texts.take(&places)?.into_column())
    }

    /// Converts row indices of the pieces to row indices of the frame.
    fn rows<'t, I: Iterator<Item = usize> + 't>(
        &'t self,
        of_piece: impl Fn(&'t Piece<'a>) -> I + 't,
    ) -> impl Iterator<Item = usize> + 't {
        let mut next = 0;
        self.pieces.iter().flat_map(move |piece| {
            let first = next;
            next += piece.rows();
            of_piece(piece).map(move |row| first + row)
        })
    }
}
