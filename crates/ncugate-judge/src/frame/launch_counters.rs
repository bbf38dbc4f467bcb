//! Counters of one launch by name: one reading for findings, pages, comparisons and exports.

use indexmap::IndexMap;
use ncu_rep::{Launch, MetricValue, ReportError};
use ncugate_model::Cell;
use ncugate_model::metric::Definition;

/// The numbers of a launch, in its order. Of a name that occurs twice, the first number counts, as in gates. A number that
/// is not finite was collected, but is no value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaunchCounters<'r>(IndexMap<&'r str, f64>);

impl<'r> LaunchCounters<'r> {
    /// # Errors
    /// A damaged metric.
    pub fn of(launch: &Launch<'r>) -> Result<Self, ReportError> {
        launch.metrics().map(|metric| metric.map(|metric| (metric.name, metric.value))).collect()
    }

    /// A counter as collected, which may be NaN; none if it was not collected.
    pub fn collected(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// A counter with a finite value.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.collected(name).filter(|value| value.is_finite())
    }

    /// The counters with a finite value.
    pub fn values(&self) -> impl Iterator<Item = (&'r str, f64)> {
        self.0.iter().filter(|(_, value)| value.is_finite()).map(|(name, value)| (*name, *value))
    }

    /// A metric of the catalogue; none if a counter that it needs was not collected.
    pub fn evaluate(&self, definition: &Definition) -> Option<Cell> {
        let cell = definition.evaluate(&|counter| self.collected(counter));
        let is_complete = || definition.metrics().iter().all(|counter| self.0.contains_key(*counter));
        // A share of zero was counted, but has no value.
        (cell.value().is_some() || is_complete()).then_some(cell)
    }
}

impl<'r, 'v> FromIterator<(&'r str, MetricValue<'v>)> for LaunchCounters<'r> {
    fn from_iter<I: IntoIterator<Item = (&'r str, MetricValue<'v>)>>(metrics: I) -> Self {
        let mut counters = IndexMap::new();
        for (name, value) in metrics {
            if let Some(number) = value.as_f64() {
                counters.entry(name).or_insert(number);
            }
        }
        Self(counters)
    }
}

impl<'r, const N: usize> From<[(&'r str, f64); N]> for LaunchCounters<'r> {
    fn from(counters: [(&'r str, f64); N]) -> Self {
        counters.into_iter().map(|(name, number)| (name, MetricValue::Double(number))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_of_a_name_counts_and_nan_is_no_value() {
        let missing = [("a", MetricValue::Missing), ("a", MetricValue::U64(1)), ("a", MetricValue::U64(2))];
        let counters: LaunchCounters<'_> = missing.into_iter().chain([("b", MetricValue::Double(f64::NAN))]).collect();
        assert_eq!((counters.get("a"), counters.get("b"), counters.get("c")), (Some(1.0), None, None));
        assert_eq!(counters.values().collect::<Vec<_>>(), [("a", 1.0)]);
        let of = |name: &str| counters.evaluate(&Definition::verbatim(name, String::new()));
        assert_eq!(of("a"), Some(Cell::Value(1.0)));
        assert_eq!((of("b"), of("c")), (Some(Cell::Missing("`b` has the value NaN".into())), None));
    }
}
