//! Splits launches back to back into windows of known energy. A window begins and ends when NVML's counter moves: it moves
//! some ten times a second, so that the energy between other moments is not known.

use ncugate_model::{EnergyOutcome, EnergySource, EnergyWindow, Throttle};
use std::ops::ControlFlow;

/// Windows of a measurement.
const WINDOWS: usize = 8;
/// Shortest window in microseconds.
const WINDOW_US: f64 = 250e3;
/// Fewest batches in a window: launches are counted in whole batches.
const WINDOW_BATCHES: u64 = 10;
/// Microseconds before the first window, in which clocks and power settle. Readings of the power are means of up to a second.
const SETTLING_US: f64 = 250e3;
const SETTLING_OF_MEANS_US: f64 = 1250e3;

/// Readings while batches of launches run.
#[derive(Debug)]
pub struct EnergyMeter {
    source: EnergySource,
    /// Launches of a batch.
    launches: u64,
    batches: u64,
    /// Device time and energy at the end of the last batch.
    last: Option<(f64, f64)>,
    /// Start of the first window.
    settled_us: f64,
    /// Start of the current window.
    start: Option<EnergyMark>,
    windows: Vec<EnergyWindow>,
}

/// A boundary of windows.
#[derive(Debug, Clone, Copy)]
struct EnergyMark {
    us: f64,
    millijoules: f64,
    batches: u64,
    throttle: Throttle,
}

impl EnergyMeter {
    pub const fn new(source: EnergySource, launches: u64) -> Self {
        Self { source, launches, batches: 0, last: None, settled_us: 0.0, start: None, windows: Vec::new() }
    }

    /// Notes the end of a batch at this device time, with NVML's reading: millijoules of the counter, or milliwatts. Breaks
    /// after the last window.
    ///
    /// # Errors
    /// The counter went backwards, or `throttle` fails; it is called at the boundaries of windows.
    pub fn note(
        &mut self,
        us: f64,
        reading: u64,
        throttle: impl FnOnce() -> Result<Throttle, String>,
    ) -> Result<ControlFlow<()>, String> {
        self.batches += 1;
        let (last_us, last) = self.last.unwrap_or((us, 0.0));
        let millijoules = match self.source {
            EnergySource::Counter => reading as f64,
            EnergySource::SampledPower => last + reading as f64 * (us - last_us) * 1e-6,
        };
        let is_first = self.last.replace((us, millijoules)).is_none();
        if is_first || millijoules == last {
            return Ok(ControlFlow::Continue(()));
        }
        if millijoules < last {
            return Err("NVML's energy counter went backwards".to_owned());
        }
        let is_due = match &self.start {
            None => us >= self.settling_us(),
            Some(start) => us - start.us >= WINDOW_US && self.batches - start.batches >= WINDOW_BATCHES,
        };
        if !is_due {
            return Ok(ControlFlow::Continue(()));
        }
        let end = EnergyMark { us, millijoules, batches: self.batches, throttle: throttle()? };
        match self.start.replace(end) {
            None => self.settled_us = us,
            Some(start) => self.windows.push(EnergyWindow {
                launches: (end.batches - start.batches) * self.launches,
                seconds: (end.us - start.us) * 1e-6,
                joules: (end.millijoules - start.millijoules) * 1e-3,
                throttle: start.throttle.and(end.throttle),
            }),
        }
        Ok(if self.windows.len() < WINDOWS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }

    const fn settling_us(&self) -> f64 {
        match self.source {
            EnergySource::Counter => SETTLING_US,
            EnergySource::SampledPower => SETTLING_OF_MEANS_US,
        }
    }

    /// Microseconds of a launch in the windows; `None` without a window.
    pub fn launch_us(&self) -> Option<f64> {
        let launches: u64 = self.windows.iter().map(|window| window.launches).sum();
        let seconds: f64 = self.windows.iter().map(|window| window.seconds).sum();
        (launches > 0).then(|| seconds * 1e6 / launches as f64)
    }

    pub fn outcome(self) -> EnergyOutcome {
        EnergyOutcome::Measured { source: self.source, settling_s: self.settled_us * 1e-6, windows: self.windows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of 100 launches and 5 ms, until the meter breaks.
    fn metered(source: EnergySource, reading: impl Fn(f64) -> u64) -> Result<EnergyMeter, String> {
        let mut meter = EnergyMeter::new(source, 100);
        for batch in 1..2000 {
            let us = f64::from(batch) * 5e3;
            if meter.note(us, reading(us), || Ok(Throttle::NONE))?.is_break() {
                break;
            }
        }
        Ok(meter)
    }

    fn each(meter: EnergyMeter) -> Vec<f64> {
        meter.outcome().millijoules().unwrap()
    }

    /// A counter of 400 W that moves every 70 ms.
    fn counter(us: f64) -> u64 {
        ((us / 70e3).floor() * 70.0 * 400.0) as u64
    }

    #[test]
    fn windows_begin_and_end_where_the_counter_moves() {
        let meter = metered(EnergySource::Counter, counter).unwrap();
        assert!((meter.launch_us().unwrap() - 50.0).abs() < 1e-9);
        let EnergyOutcome::Measured { windows, settling_s, .. } = meter.outcome() else { panic!("not measured") };
        let is_period = |seconds: f64| (seconds - 0.28).abs() < 1e-9;
        assert!(windows.len() == 8 && is_period(settling_s), "{settling_s}");
        // 280 ms are the next multiple of 70 ms after 250 ms: 56 batches.
        assert!(windows.iter().all(|one| one.launches == 5600 && is_period(one.seconds)), "{windows:?}");
    }

    #[test]
    fn energy_is_power_times_the_duration_of_a_launch() {
        let counted = each(metered(EnergySource::Counter, counter).unwrap());
        assert!(counted.iter().all(|millijoules| (millijoules - 20.0).abs() < 1e-9), "{counted:?}");
        let sampled = each(metered(EnergySource::SampledPower, |_| 400_000).unwrap());
        assert!(sampled.iter().all(|millijoules| (millijoules - 20.0).abs() < 1e-9), "{sampled:?}");
    }

    #[test]
    fn a_counter_that_stands_or_wraps_gives_no_value() {
        let stands = metered(EnergySource::Counter, |_| 7).unwrap();
        assert_eq!(stands.launch_us(), None);
        assert!(stands.outcome().millijoules().is_err());
        let wraps = metered(EnergySource::Counter, |us| if us < 1e6 { counter(us) } else { counter(us - 1e6) });
        assert!(wraps.unwrap_err().contains("backwards"));
    }

    #[test]
    fn long_batches_make_longer_windows() {
        let mut meter = EnergyMeter::new(EnergySource::Counter, 1);
        for batch in 1..200 {
            let us = f64::from(batch) * 100e3;
            let _ = meter.note(us, (us * 0.4) as u64, || Ok(Throttle::NONE)).unwrap();
        }
        assert!(matches!(meter.outcome(), EnergyOutcome::Measured { windows, .. } if windows[0].launches == 10));
    }
}
