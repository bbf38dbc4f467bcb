//! Counters of one evaluation: what all of its launches did together.
//!
//! A program with several launches, and a command that launches what it likes inside its range, is one execution: counts of
//! its launches (`.sum`) are added up, the time they took among them; what is a rate, a share or a mean is the mean over
//! launches, weighted by the time each took; `metric/catalogue.toml` has the rule for each counter. Of a command one range is
//! one evaluation, of a program that is planned here as many launches as it has.

use super::groups::RowGroups;
use super::schema::counters::{SHAPE, VARIANT};
use super::schema::launches::REPORT;
use crate::metric::{Catalogue, Combination};
use crate::plan::{Method, Plan, Variant};
use polars::prelude::{Column, DataFrame, Float64Chunked, IdxCa, IntoColumn, NewChunkedArray, PolarsError};
use std::collections::HashMap;

/// ncu's name of the time a launch took, by which launches are weighted.
pub(super) const DURATION: &str = "gpu__time_duration.sum";

/// The launches of every evaluation as one. Those of a variant, shape and report follow each other in the order they ran, and
/// of a program that is planned here they are whole evaluations.
///
/// # Errors
/// The frame lacks a column.
pub(super) fn of_evaluations(launches: DataFrame, plan: &Plan) -> Result<DataFrame, PolarsError> {
    let lengths: HashMap<&str, usize> = plan.variants.iter().map(|v| (v.id.0.as_str(), length(v))).collect();
    let variants: Vec<usize> =
        launches.column(VARIANT)?.str()?.iter().map(|id| id.and_then(|id| lengths.get(id)).map_or(1, |n| *n)).collect();
    let all = RowGroups::of(&launches, &[VARIANT, SHAPE, REPORT])?;
    let evaluations = |rows: Vec<usize>| {
        let length = rows.first().map_or(1, |row| variants[*row]);
        rows.chunks(length).map(<[usize]>::to_vec).collect::<Vec<_>>()
    };
    let groups: Vec<Vec<usize>> = all.iter().flat_map(evaluations).collect();
    if groups.iter().all(|rows| rows.len() == 1) {
        return Ok(launches);
    }
    let (times, totals) = (times(&launches, &groups)?, totals(&launches, &groups));
    let first: Vec<u32> = groups.iter().filter_map(|rows| rows.first()).map(|row| *row as u32).collect();
    let first = IdxCa::from_vec("".into(), first);
    let combined = |column: &Column| match column.f64() {
        Err(_) => column.take(&first),
        Ok(counter) => {
            let together = Catalogue::embedded().combination(column.name());
            let weights = if together == Combination::GreatestTogether { &totals } else { &times };
            let value = |(rows, weights): (&Vec<usize>, &Option<Vec<f64>>)| {
                let values: Vec<Option<f64>> = rows.iter().map(|row| counter.get(*row)).collect();
                if rows.len() == 1 { values[0] } else { together.value(&values, weights.as_deref()) }
            };
            let values: Vec<Option<f64>> = groups.iter().zip(weights).map(value).collect();
            Ok(Float64Chunked::from_slice_options(column.name().clone(), &values).into_column())
        }
    };
    let columns = launches.columns().iter().map(combined).collect::<Result<_, PolarsError>>()?;
    DataFrame::new(groups.len(), columns)
}

/// Launches that are one evaluation of a variant; all of a range for a command.
fn length(variant: &Variant) -> usize {
    match &variant.method {
        Method::Kernel(kernel) => kernel.launched_entries().len().max(1),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => usize::MAX,
    }
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

/// The sum of what is combined as [`Combination::GreatestTogether`], of each launch of a group; none where a launch lacks one.
fn totals(launches: &DataFrame, groups: &[Vec<usize>]) -> Vec<Option<Vec<f64>>> {
    let together = |column: &&Column| Catalogue::embedded().combination(column.name()) == Combination::GreatestTogether;
    let parts: Vec<_> = launches.columns().iter().filter(together).filter_map(|column| column.f64().ok()).collect();
    let total = |row: &usize| parts.iter().map(|part| part.get(*row)).sum::<Option<f64>>();
    groups.iter().map(|rows| rows.iter().map(total).collect()).collect()
}
