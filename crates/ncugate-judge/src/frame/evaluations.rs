//! Counters of one evaluation: what all of its launches did together.
//!
//! A program with several launches, and a command that launches what it likes inside its range, is one execution: counts of
//! its launches (`.sum`) are added up, the time they took among them; what is a rate, a share or a mean is the mean over
//! launches, weighted by the time each took; `metric/catalogue.toml` has the rule for each counter. Of a command one range is
//! one evaluation, of a program that is planned here as many launches as it has.

use super::case::CaseId;
use indexmap::IndexSet;
use ncugate_model::metric::{Catalogue, Combination};
use ncugate_phase::plan::{Method, Variant};
use std::collections::HashMap;

/// ncu's name of the time a launch took, by which launches are weighted.
pub(super) const DURATION: &str = "gpu__time_duration.sum";

/// Counters of a launch or of several together, by the place of their names.
pub(super) type Counters = Vec<Option<f64>>;

/// One execution of a case, in one report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evaluation<'l> {
    pub case: &'l CaseId,
    pub report: &'l str,
    /// Rows of its launches, in the order they ran.
    pub rows: &'l [usize],
}

/// Combines the launches of evaluations.
pub(super) struct Combiner<'l> {
    launches: &'l [Counters],
    /// By place of the counter; empty if every evaluation is one launch.
    how: Vec<Combination>,
    /// Place of [`DURATION`].
    duration: Option<usize>,
    /// How long each launch took, by case and number of launches: reports without durations take those of another report.
    times: HashMap<(&'l CaseId, usize), Vec<f64>>,
}

impl<'l> Combiner<'l> {
    /// `names` are those of the counters of `launches`.
    pub fn new(names: &IndexSet<&str>, launches: &'l [Counters], evaluations: &[Evaluation<'l>]) -> Self {
        let mut combiner =
            Self { launches, how: Vec::new(), duration: names.get_index_of(DURATION), times: HashMap::new() };
        let mut several = evaluations.iter().filter(|evaluation| evaluation.rows.len() > 1).peekable();
        if several.peek().is_some() {
            combiner.how = names.iter().map(|name| Catalogue::embedded().combination(name)).collect();
        }
        for Evaluation { case, rows, .. } in several {
            if let Some(times) = combiner.own_times(rows) {
                combiner.times.entry((case, rows.len())).or_insert(times);
            }
        }
        combiner
    }

    /// The counters of an evaluation.
    pub fn counters(&self, evaluation: &Evaluation<'l>) -> Counters {
        let rows = evaluation.rows;
        if let [row] = rows {
            return self.launch(*row);
        }
        let times = self.own_times(rows).or_else(|| self.times.get(&(evaluation.case, rows.len())).cloned());
        let totals: Option<Vec<f64>> = rows.iter().map(|row| self.total(*row)).collect();
        let counter = |(at, how): (usize, &Combination)| {
            let values: Vec<Option<f64>> = rows.iter().map(|row| self.counter(*row, at)).collect();
            let weights = if *how == Combination::GreatestTogether { &totals } else { &times };
            how.value(&values, weights.as_deref())
        };
        self.how.iter().enumerate().map(counter).collect()
    }

    /// The counters of one launch.
    pub fn launch(&self, row: usize) -> Counters {
        self.launches.get(row).cloned().unwrap_or_default()
    }

    fn counter(&self, row: usize, at: usize) -> Option<f64> {
        *self.launches.get(row)?.get(at)?
    }

    fn own_times(&self, rows: &[usize]) -> Option<Vec<f64>> {
        rows.iter().map(|row| self.counter(*row, self.duration?)).collect()
    }

    /// The sum of what is combined as [`Combination::GreatestTogether`] at a launch; none if the launch lacks one.
    fn total(&self, row: usize) -> Option<f64> {
        let parts = self.how.iter().enumerate().filter(|(_, how)| **how == Combination::GreatestTogether);
        parts.map(|(at, _)| self.counter(row, at)).sum()
    }
}

/// Launches that are one evaluation of a variant; all of a range for a command.
pub(super) fn length(variant: &Variant) -> usize {
    match &variant.method {
        Method::Kernel(kernel) => kernel.launched_entries().len().max(1),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => usize::MAX,
    }
}
