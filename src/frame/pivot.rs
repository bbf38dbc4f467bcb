//! Long to wide: a row a launch and metric becomes a row a launch and a column a metric.

use polars::prelude::{Column, DataFrame, Float64Chunked, IntoColumn, NewChunkedArray, PolarsError};

use super::groups::RowGroups;

use super::schema::{counters, metrics};

/// The wide form of a long frame of rows, metrics and values: `rows` rows, a column of numbers a metric, null where there
/// is no value. Of several values of one metric in one row the first counts. (polars has its own pivot in its lazy engine
/// alone, which is larger than the rest of it.)
///
/// # Errors
/// The frame lacks a column, or polars refuses one.
pub(super) fn pivot(long: &DataFrame, rows: usize) -> Result<DataFrame, PolarsError> {
    let places = long.column(counters::ROW)?.idx()?;
    let values = long.column(metrics::VALUE)?.f64()?;
    let by_metric = RowGroups::of(long, &[metrics::METRIC])?;
    let names = by_metric.keys.column(metrics::METRIC)?.str()?;
    let column = |(name, group): (Option<&str>, Vec<usize>)| -> Column {
        let mut cells = vec![None; rows];
        for at in group {
            if let (Some(place), value @ Some(_)) = (places.get(at), values.get(at))
                && let Some(cell @ None) = cells.get_mut(place as usize)
            {
                *cell = value;
            }
        }
        Float64Chunked::from_slice_options(name.unwrap_or_default().into(), &cells).into_column()
    };
    DataFrame::new(rows, names.iter().zip(by_metric.iter()).map(column).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use polars::prelude::{IdxCa, StringChunked};

    #[test]
    fn a_metric_becomes_a_column_and_the_first_value_counts() {
        let columns = vec![
            IdxCa::from_slice(counters::ROW.into(), &[1, 0, 1, 1]).into_column(),
            StringChunked::from_slice(metrics::METRIC.into(), &["b", "a", "b", "a"]).into_column(),
            Float64Chunked::from_slice_options(metrics::VALUE.into(), &[Some(1.0), Some(2.0), Some(3.0), None])
                .into_column(),
        ];
        let wide = pivot(&DataFrame::new(4, columns).unwrap(), 2).unwrap();
        let column = |name: &str| wide.column(name).unwrap().f64().unwrap().iter().collect::<Vec<_>>();
        assert_eq!((wide.height(), wide.width()), (2, 2));
        assert_eq!((column("a"), column("b")), (vec![Some(2.0), None], vec![None, Some(1.0)]));
    }
}
