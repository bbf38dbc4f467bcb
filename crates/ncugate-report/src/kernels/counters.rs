//! Rates and peaks of a launch's counters.

use ncugate_judge::frame::LaunchCounters;

/// Rates from the counters of a launch.
pub trait CounterRates {
    /// A counter per second, by its own rollup, by its rate per cycle of its unit, or by the duration of the launch.
    /// `counter` ends in `.sum`.
    fn rate(&self, counter: &str) -> Option<f64>;

    /// The highest possible count per second, at the clock of the launch.
    fn peak(&self, counter: &str, clock: &str) -> Option<f64>;
}

impl CounterRates for LaunchCounters<'_> {
    fn rate(&self, counter: &str) -> Option<f64> {
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

    fn peak(&self, counter: &str, clock: &str) -> Option<f64> {
        let peak = self.get(&format!("{counter}.peak_sustained"))? * self.get(clock)?;
        Some(peak).filter(|peak| *peak > 0.0)
    }
}
