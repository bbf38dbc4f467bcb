//! Counters of one evaluation: all of its launches together.
//!
//! A program with several launches is one execution, and so is a command with its launches inside a range. Sums
//! (`.sum`), including durations, are added over launches. Rates, shares and means are averaged with the launch
//! durations as weights. `metric/catalogue.toml` has the rule for each counter. For a command, one range is one
//! evaluation. For a planned program, an evaluation has the program's number of launches.

use super::case::CaseId;
use indexmap::IndexSet;
use ncugate_model::ShapeName;
use ncugate_model::metric::{Catalogue, Combination};
use ncugate_phase::plan::{Method, Variant};
use std::collections::HashMap;

/// ncu's name for the launch duration, which weights launches.
pub(super) const DURATION: &str = "gpu__time_duration.sum";

/// Counters of one launch or of several together, by name index.
pub(super) type Counters = Vec<Option<f64>>;

/// One execution of a case, in one report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evaluation<'l> {
    pub case: &'l CaseId,
    pub report: &'l str,
    /// Rows of its launches, in execution order.
    pub rows: &'l [usize],
}

/// Combines the launches of evaluations.
pub(super) struct Combiner<'l> {
    launches: &'l [Counters],
    /// By counter index; empty if every evaluation is one launch.
    how: Vec<Combination>,
    /// Index of [`DURATION`].
    duration: Option<usize>,
    /// Duration of each launch, by case and number of launches. Reports without durations use those of another
    /// report.
    times: HashMap<(&'l CaseId, usize), Vec<f64>>,
}

impl<'l> Combiner<'l> {
    /// `names` are the counter names of `launches`.
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

    /// The sum of the counters combined as [`Combination::GreatestTogether`] at a launch; `None` if the launch lacks
    /// one.
    fn total(&self, row: usize) -> Option<f64> {
        let parts = self.how.iter().enumerate().filter(|(_, how)| **how == Combination::GreatestTogether);
        parts.map(|(at, _)| self.counter(row, at)).sum()
    }
}

/// Number of launches per evaluation of a variant at a shape; for a command, all launches of a range.
pub(super) fn length(variant: &Variant, shape: &ShapeName) -> usize {
    match &variant.method {
        Method::Kernel(kernel) => kernel.launched_entries(shape).len().max(1),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => usize::MAX,
    }
}
