//! Metrics of one launch by name: one reading for findings, pages, comparisons, tables and exports. Gates read the same
//! definitions over the combined launches of a case.

use crate::metric::{Catalogue, MetricError};
use crate::{Cell, ComputeCapability};
use indexmap::IndexMap;
use ncu_rep::{Launch, MetricValue, ReportError};

/// The counters of a launch in its order, and the metrics of the catalogue over them. Of a name that occurs twice, the first
/// number counts, as in gates. A number that is not finite was collected, but is no value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaunchMetrics<'r> {
    counters: IndexMap<&'r str, f64>,
    capability: Option<ComputeCapability>,
}

/// A metric of a launch.
#[derive(Debug, Clone, PartialEq)]
pub enum LaunchMetric {
    /// All counters were collected; a share of zero has no value.
    Counted(Cell),
    /// ncu's names of the counters that are missing.
    NotCollected(Vec<String>),
    /// No counter of this chip gives it.
    Undefined(MetricError),
}

impl LaunchMetric {
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Counted(cell) => cell.value(),
            Self::NotCollected(_) | Self::Undefined(_) => None,
        }
    }
}

impl<'r> LaunchMetrics<'r> {
    /// # Errors
    /// A damaged metric.
    pub fn of(launch: &Launch<'r>) -> Result<Self, ReportError> {
        let metrics = launch.metrics().map(|metric| metric.map(|metric| (metric.name, metric.value)));
        let counters: Self = metrics.collect::<Result<_, _>>()?;
        Ok(Self { capability: launch.compute_capability()?.map(ComputeCapability::from), ..counters })
    }

    /// A counter as collected, which may be NaN; none if it was not collected.
    pub fn collected(&self, name: &str) -> Option<f64> {
        self.counters.get(name).copied()
    }

    /// A counter with a finite value.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.collected(name).filter(|value| value.is_finite())
    }

    /// The counters with a finite value.
    pub fn counters(&self) -> impl Iterator<Item = (&'r str, f64)> {
        self.counters.iter().filter(|(_, value)| value.is_finite()).map(|(name, value)| (*name, *value))
    }

    /// The number of its counters, finite or not.
    pub fn count(&self) -> usize {
        self.counters.len()
    }

    /// The chip of the launch, if it is known.
    pub const fn capability(&self) -> Option<ComputeCapability> {
        self.capability
    }

    /// A metric of the catalogue, or a counter by ncu's name.
    pub fn metric(&self, name: &str) -> LaunchMetric {
        let definition = match Catalogue::embedded().shown_definition(name, self.capability) {
            Ok(definition) => definition,
            Err(error) => return LaunchMetric::Undefined(error),
        };
        let absent = definition.metrics().into_iter().filter(|counter| !self.counters.contains_key(counter));
        match absent.map(str::to_owned).collect::<Vec<_>>() {
            none if none.is_empty() => LaunchMetric::Counted(definition.evaluate(&|counter| self.collected(counter))),
            absent => LaunchMetric::NotCollected(absent),
        }
    }

    /// The metrics of the catalogue with a value, in its order.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, f64)> {
        Catalogue::embedded().names().filter_map(|name| Some((name, self.metric(name).number()?)))
    }

    /// A counter per second, by its own rollup, by its rate per cycle of its unit, or by the duration of the launch.
    /// `counter` ends in `.sum`.
    pub fn rate(&self, counter: &str) -> Option<f64> {
        let unit = counter.split_once("__").map_or("", |(unit, _)| unit);
        let per_cycle = || {
            let clock = self.get(&format!("{unit}__cycles_elapsed.avg.per_second"))?;
            Some(self.get(&format!("{counter}.per_cycle_elapsed"))? * clock)
        };
        let over_duration = || {
            let nanos = self.get("gpu__time_duration.sum").filter(|nanos| *nanos > 0.0)?;
            Some(self.get(counter)? / nanos * 1e9)
        };
        self.get(&format!("{counter}.per_second")).or_else(per_cycle).or_else(over_duration)
    }

    /// The highest possible count per second, at the clock of the launch.
    pub fn peak(&self, counter: &str, clock: &str) -> Option<f64> {
        let peak = self.get(&format!("{counter}.peak_sustained"))? * self.get(clock)?;
        Some(peak).filter(|peak| *peak > 0.0)
    }
}

impl<'r, 'v> FromIterator<(&'r str, MetricValue<'v>)> for LaunchMetrics<'r> {
    fn from_iter<I: IntoIterator<Item = (&'r str, MetricValue<'v>)>>(metrics: I) -> Self {
        let mut counters = IndexMap::new();
        for (name, value) in metrics {
            if let Some(number) = value.as_f64() {
                counters.entry(name).or_insert(number);
            }
        }
        Self { counters, capability: None }
    }
}

impl<'r, const N: usize> From<[(&'r str, f64); N]> for LaunchMetrics<'r> {
    fn from(counters: [(&'r str, f64); N]) -> Self {
        counters.into_iter().map(|(name, number)| (name, MetricValue::Double(number))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_of_a_name_counts_and_nan_is_no_value() {
        let missing = [("a__a", MetricValue::Missing), ("a__a", MetricValue::U64(1)), ("a__a", MetricValue::U64(2))];
        let metrics: LaunchMetrics<'_> = missing.into_iter().chain([("b__b", MetricValue::Double(f64::NAN))]).collect();
        assert_eq!((metrics.get("a__a"), metrics.get("b__b"), metrics.get("c__c")), (Some(1.0), None, None));
        assert_eq!(metrics.counters().collect::<Vec<_>>(), [("a__a", 1.0)]);
        assert_eq!(metrics.metric("a__a"), LaunchMetric::Counted(Cell::Value(1.0)));
        assert_eq!(metrics.metric("b__b"), LaunchMetric::Counted(Cell::Missing("`b__b` has the value NaN".into())));
        assert_eq!(metrics.metric("c__c"), LaunchMetric::NotCollected(vec!["c__c".to_owned()]));
        assert!(matches!(metrics.metric("occupancies"), LaunchMetric::Undefined(MetricError::Unknown { .. })));
    }
}
