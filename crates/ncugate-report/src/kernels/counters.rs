//! Counters of one launch by name.

use ncu_rep::{Launch, ReportError};
use std::collections::HashMap;

/// The numbers of a launch. The first of a name that occurs twice counts.
#[derive(Debug, Default)]
pub struct LaunchCounters(HashMap<String, f64>);

impl LaunchCounters {
    /// # Errors
    /// A damaged metric.
    pub fn of(launch: &Launch<'_>) -> Result<Self, ReportError> {
        let mut counters = HashMap::new();
        for metric in launch.metrics() {
            let metric = metric?;
            if let Some(value) = metric.value.as_f64() {
                counters.entry(metric.name.to_owned()).or_insert(value);
            }
        }
        Ok(Self(counters))
    }

    /// A counter as collected, which may be NaN; none if it was not collected.
    pub fn collected(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// A counter with a finite value.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.collected(name).filter(|value| value.is_finite())
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

#[cfg(test)]
impl<const N: usize> From<[(&str, f64); N]> for LaunchCounters {
    fn from(counters: [(&str, f64); N]) -> Self {
        Self(counters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}
