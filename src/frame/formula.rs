//! The catalogue's formulas over columns of counters.

use polars::prelude::{ChunkApply, DataFrame, Float64Chunked};

use super::cells::MetricCells;
use crate::metric::{Definition, Formula, signed};
use crate::model::Cell;

/// The value of a metric for every row of counters, a column a counter by ncu's name.
///
/// Columns are added, multiplied and divided whole. A row that has no value then is worked out once more by
/// [`Definition::evaluate`], which says why.
pub(super) fn evaluate(definition: &Definition, counters: &DataFrame) -> MetricCells {
    let counter = |name: &str| counters.column(name).ok()?.f64().ok();
    let numbers = numbers(&definition.formula, &|name| Some(finite(counter(name)?)));
    let cell = |row: usize| match numbers.as_ref().and_then(|numbers| numbers.get(row)) {
        Some(value) if value.is_finite() && !definition.formula.is_uncounted(value) => Cell::Value(value),
        _ => definition.evaluate(&|name| counter(name)?.get(row)),
    };
    (0..counters.height()).map(cell).collect()
}

/// Counters that are not a finite number have no value here.
fn finite(counter: &Float64Chunked) -> Float64Chunked {
    counter.apply(|value| value.filter(|value| value.is_finite()))
}

type Read<'r> = &'r dyn Fn(&str) -> Option<Float64Chunked>;

/// The formula over whole columns; nothing where it names a counter that no launch has.
fn numbers(formula: &Formula, read: Read<'_>) -> Option<Float64Chunked> {
    match formula {
        Formula::Sum(names) => sum(names, read),
        Formula::Product { factor, names } => {
            let (first, rest) = names.split_first()?;
            rest.iter().try_fold(&read(first)? * *factor, |product, name| Some(&product * &read(name)?))
        }
        Formula::Share { factor, part, whole, .. } => Some(&(&sum(part, read)? * *factor) / &sum(whole, read)?),
    }
}

fn sum(names: &[String], read: Read<'_>) -> Option<Float64Chunked> {
    let term = |name: &String| {
        let (sign, name) = signed(name);
        Some(&read(name)? * sign)
    };
    let (first, rest) = names.split_first()?;
    rest.iter().try_fold(&term(first)? + 0.0, |total, name| Some(&total + &term(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::ZeroShare;
    use polars::prelude::{IntoColumn, NewChunkedArray};

    const ODD: [Option<f64>; 9] = [
        Some(0.0),
        Some(1.0),
        Some(3.25),
        Some(-2.0),
        Some(1e300),
        Some(f64::NAN),
        Some(f64::INFINITY),
        Some(f64::NEG_INFINITY),
        None,
    ];

    /// Every pair of odd values, in two columns.
    fn counters() -> DataFrame {
        let pairs: Vec<_> = ODD.iter().flat_map(|a| ODD.iter().map(move |b| (*a, *b))).collect();
        let column = |name: &str, values: Vec<Option<f64>>| {
            Float64Chunked::from_slice_options(name.into(), &values).into_column()
        };
        let (a, b) = pairs.into_iter().unzip();
        DataFrame::new(81, vec![column("a", a), column("b", b)]).unwrap()
    }

    #[test]
    fn columns_have_the_values_and_reasons_that_rows_have() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let share = |factor| Formula::Share {
            zero: ZeroShare::Counted,
            factor,
            part: names(&["a"]),
            whole: names(&["b", "a", "b"]),
            empty: "nothing".into(),
        };
        let formulas = [
            Formula::Sum(names(&["a"])),
            Formula::Sum(names(&["b", "a", "b"])),
            Formula::Sum(names(&["a", "not there"])),
            Formula::Sum(Vec::new()),
            share(100.0),
            share(1.0 / 3.0),
            Formula::Product { factor: 1e-9, names: names(&["a", "b"]) },
            Formula::Product { factor: 2.0, names: Vec::new() },
        ];
        let frame = counters();
        let read = |name: &str, row| frame.column(name).ok()?.f64().ok()?.get(row);
        for formula in formulas {
            let definition = Definition { formula, unit: String::new() };
            let expected: Vec<Cell> = (0..81).map(|row| definition.evaluate(&|name| read(name, row))).collect();
            assert_eq!(evaluate(&definition, &frame).to_vec(), expected, "{definition:?}");
        }
    }
}
