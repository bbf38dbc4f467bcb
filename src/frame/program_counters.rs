//! Counters of a program: what all of its kernels did together.
//!
//! A command launches what it likes inside its range, several kernels or one several times, and does so once: all of it is
//! one execution. Counts of its launches (`.sum`) are added up, the time they took among them; the greatest of maxima and
//! the least of minima count; what is a rate, a share or a mean is the mean over launches, weighted by the time each took;
//! what describes a launch (`launch__...`) is that of the longest.

use super::groups::RowGroups;
use super::schema::counters::{SHAPE, VARIANT};
use super::schema::launches::REPORT;
use crate::plan::{Method, Plan, Variant};
use polars::prelude::{Column, DataFrame, Float64Chunked, IdxCa, IntoColumn, NewChunkedArray, PolarsError};
use std::collections::{HashMap, HashSet};

/// ncu's name of the time a launch took, by which launches of a program are weighted.
pub(super) const DURATION: &str = "gpu__time_duration.sum";

/// How values of launches make one of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    Sum,
    Greatest,
    Least,
    Longest,
    Mean,
}

impl Together {
    /// By ncu's name of the counter.
    fn of(counter: &str) -> Self {
        match counter.rsplit_once('.') {
            None => Self::Longest,
            _ if counter.starts_with("launch__") || counter.starts_with("device__") => Self::Longest,
            Some((_, "sum")) => Self::Sum,
            Some((_, "max")) => Self::Greatest,
            Some((_, "min")) => Self::Least,
            Some(_) => Self::Mean,
        }
    }

    /// None where any launch has no value, or where its time is needed and not known.
    fn value(self, values: &[Option<f64>], times: Option<&[f64]>) -> Option<f64> {
        let values: Vec<f64> = values.iter().copied().collect::<Option<_>>()?;
        let longest = || {
            let times = times?.iter().copied().enumerate();
            times.max_by(|(_, a), (_, b)| a.total_cmp(b)).and_then(|(at, _)| values.get(at).copied())
        };
        match self {
            Self::Sum => Some(values.iter().sum()),
            Self::Greatest => values.into_iter().reduce(f64::max),
            Self::Least => values.into_iter().reduce(f64::min),
            Self::Longest => longest().or_else(|| values.iter().all(|v| Some(v) == values.first()).then(|| values[0])),
            Self::Mean => {
                let times = times?;
                let total: f64 = times.iter().sum();
                (total > 0.0).then(|| values.iter().zip(times).map(|(v, t)| v * t).sum::<f64>() / total)
            }
        }
    }
}

/// The launches of every function and command in a report as one; those of kernels that this program builds stay apart.
///
/// # Errors
/// The frame lacks a column.
pub(super) fn of_programs(launches: DataFrame, plan: &Plan) -> Result<DataFrame, PolarsError> {
    let is_program = |v: &&Variant| matches!(v.method, Method::Function(_) | Method::Command(_));
    let commands: HashSet<&str> = plan.variants.iter().filter(is_program).map(|v| v.id.0.as_str()).collect();
    let variants: Vec<bool> =
        launches.column(VARIANT)?.str()?.iter().map(|id| id.is_some_and(|id| commands.contains(id))).collect();
    let all = RowGroups::of(&launches, &[VARIANT, SHAPE, REPORT])?;
    let groups: Vec<Vec<usize>> = all
        .iter()
        .flat_map(|rows| {
            let together = rows.first().is_some_and(|row| variants[*row]);
            if together { vec![rows] } else { rows.into_iter().map(|row| vec![row]).collect() }
        })
        .collect();
    if groups.iter().all(|rows| rows.len() == 1) {
        return Ok(launches);
    }
    let times = times(&launches, &groups)?;
    let first: Vec<u32> = groups.iter().filter_map(|rows| rows.first()).map(|row| *row as u32).collect();
    let first = IdxCa::from_vec("".into(), first);
    let combined = |column: &Column| match column.f64() {
        Err(_) => column.take(&first),
        Ok(counter) => {
            let together = Together::of(column.name());
            let value = |(rows, times): (&Vec<usize>, &Option<Vec<f64>>)| {
                let values: Vec<Option<f64>> = rows.iter().map(|row| counter.get(*row)).collect();
                if rows.len() == 1 { values[0] } else { together.value(&values, times.as_deref()) }
            };
            let values: Vec<Option<f64>> = groups.iter().zip(&times).map(value).collect();
            Ok(Float64Chunked::from_slice_options(column.name().clone(), &values).into_column())
        }
    };
    let columns = launches.columns().iter().map(combined).collect::<Result<_, PolarsError>>()?;
    DataFrame::new(groups.len(), columns)
}

/// How long each launch of a group took: by its own report, else by another report of the same case that has as many.
fn times(launches: &DataFrame, groups: &[Vec<usize>]) -> Result<Vec<Option<Vec<f64>>>, PolarsError> {
    let Ok(durations) = launches.column(DURATION).and_then(Column::f64) else { return Ok(vec![None; groups.len()]) };
    let (variants, shapes) = (launches.column(VARIANT)?.str()?, launches.column(SHAPE)?.str()?);
    let key = |rows: &[usize]| rows.first().map(|row| (variants.get(*row), shapes.get(*row), rows.len()));
    let own = |rows: &Vec<usize>| rows.iter().map(|row| durations.get(*row)).collect::<Option<Vec<f64>>>();
    let mut known = HashMap::new();
    for rows in groups {
        if let (Some(key), Some(times)) = (key(rows), own(rows)) {
            known.entry(key).or_insert(times);
        }
    }
    Ok(groups.iter().map(|rows| own(rows).or_else(|| known.get(&key(rows)?).cloned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_up_and_shares_are_weighted_by_time() {
        let (values, times) = ([Some(10.0), Some(40.0)], [3.0, 1.0]);
        let of = |name: &str| Together::of(name).value(&values, Some(&times));
        assert_eq!(of("dram__bytes.sum"), Some(50.0));
        assert_eq!(of("gpu__time_duration.sum"), Some(50.0));
        assert_eq!(of("sm__throughput.avg.pct_of_peak_sustained_elapsed"), Some(17.5));
        assert_eq!(of("dram__bytes.sum.per_second"), Some(17.5));
        assert_eq!(of("lts__t_sectors.max"), Some(40.0));
        assert_eq!(of("launch__registers_per_thread"), Some(10.0));
    }

    #[test]
    fn a_launch_without_a_value_or_a_time_leaves_none() {
        let mean = Together::of("a.avg");
        assert_eq!(mean.value(&[Some(1.0), Some(2.0)], None), None);
        assert_eq!(Together::Sum.value(&[Some(1.0), None], Some(&[1.0, 1.0])), None);
        assert_eq!(Together::Longest.value(&[Some(2.0), Some(2.0)], None), Some(2.0));
        assert_eq!(Together::Longest.value(&[Some(2.0), Some(3.0)], None), None);
    }
}
