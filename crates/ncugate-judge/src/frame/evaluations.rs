//! Counters of one evaluation: all of its launches together.
//!
//! A program with several launches is one execution, and so is a command with its launches inside a range. Sums
//! (`.sum`), including durations, are added over launches. Rates, shares and means are averaged with the launch
//! durations as weights. `metric/catalogue.toml` has the rule for each counter. For a command, one range is one
//! evaluation. For a planned program, an evaluation has the program's number of launches.

use ncugate_model::metric::{Catalogue, Combination};
use ncugate_model::{CaseId, ShapeName};
use ncugate_phase::plan::Variant;
use polars::prelude::{DataFrame, Float64Chunked};
use std::collections::HashMap;
use std::slice::from_ref;

/// ncu's name for the launch duration, which weights launches.
pub(super) const DURATION: &str = "gpu__time_duration.sum";

/// A column of counters, with one row per launch.
#[derive(Clone, Copy)]
pub(super) struct CounterColumn<'l> {
    pub name: &'l str,
    values: &'l Float64Chunked,
    how: Combination,
}

impl<'l> CounterColumn<'l> {
    /// The counters of a frame of launches: its columns of numbers with a fraction.
    pub fn all(launches: &'l DataFrame) -> Vec<Self> {
        let columns = launches.columns().iter().filter_map(|column| Some((column.name().as_str(), column.f64().ok()?)));
        let of = |(name, values)| Self { name, values, how: Catalogue::embedded().combination(name) };
        columns.map(of).collect()
    }

    /// The value of an evaluation.
    pub fn value(&self, evaluation: &WeightedLaunches<'_>) -> Option<f64> {
        if let [row] = evaluation.rows {
            return self.values.get(*row);
        }
        let values: Vec<Option<f64>> = evaluation.rows.iter().map(|row| self.values.get(*row)).collect();
        let is_together = self.how == Combination::GreatestTogether;
        let weights = if is_together { &evaluation.totals } else { &evaluation.times };
        self.how.value(&values, weights.as_deref())
    }
}

/// One execution of a case, in one report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evaluation<'l> {
    pub case: &'l CaseId,
    pub report: &'l str,
    /// Rows of its launches, in execution order.
    pub rows: &'l [usize],
}

/// Launches whose counters are combined, with their weights.
#[derive(Default)]
pub(super) struct WeightedLaunches<'l> {
    rows: &'l [usize],
    times: Option<Vec<f64>>,
    /// The sum of the counters combined as [`Combination::GreatestTogether`] at each launch; `None` if one lacks one.
    totals: Option<Vec<f64>>,
}

impl<'l> WeightedLaunches<'l> {
    /// A single launch.
    pub fn of_launch(row: &'l usize) -> Self {
        Self { rows: from_ref(row), ..Self::default() }
    }
}

/// Weighs the launches of evaluations.
pub(super) struct Weights<'l> {
    duration: Option<&'l Float64Chunked>,
    /// The counters combined as [`Combination::GreatestTogether`].
    together: Vec<&'l Float64Chunked>,
    /// Duration of each launch, by case and number of launches. Reports without durations use those of another
    /// report.
    times: HashMap<(&'l CaseId, usize), Vec<f64>>,
}

impl<'l> Weights<'l> {
    pub fn new(counters: &[CounterColumn<'l>], evaluations: &[Evaluation<'l>]) -> Self {
        let duration = counters.iter().find(|counter| counter.name == DURATION).map(|counter| counter.values);
        let together = counters.iter().filter(|counter| counter.how == Combination::GreatestTogether);
        let together = together.map(|counter| counter.values).collect();
        let mut weights = Self { duration, together, times: HashMap::new() };
        for Evaluation { case, rows, .. } in evaluations.iter().filter(|evaluation| evaluation.rows.len() > 1) {
            if let Some(times) = weights.own_times(rows) {
                weights.times.entry((case, rows.len())).or_insert(times);
            }
        }
        weights
    }

    pub fn of(&self, evaluation: &Evaluation<'l>) -> WeightedLaunches<'l> {
        let rows = evaluation.rows;
        if let [row] = rows {
            return WeightedLaunches::of_launch(row);
        }
        let times = self.own_times(rows).or_else(|| self.times.get(&(evaluation.case, rows.len())).cloned());
        let total = |row: &usize| self.together.iter().map(|counter| counter.get(*row)).sum();
        WeightedLaunches { rows, times, totals: rows.iter().map(total).collect() }
    }

    fn own_times(&self, rows: &[usize]) -> Option<Vec<f64>> {
        rows.iter().map(|row| self.duration?.get(*row)).collect()
    }
}

/// Number of launches per evaluation of a variant at a shape; for a command, all launches of a range.
pub(super) fn length(variant: &Variant, shape: &ShapeName) -> usize {
    variant.method.kernel().map_or(usize::MAX, |kernel| kernel.launched_entries(shape).len().max(1))
}
