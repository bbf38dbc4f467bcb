//! Energy of the GPU while a variant is launched back to back.

use super::gpu_state::Throttle;
use super::stats::Statistic;
use serde::{Deserialize, Serialize};

/// Level at which the range of the windows covers the median.
const LEVEL: f64 = 0.95;
/// Millijoules of a joule.
const MILLI: f64 = 1e3;

/// NVML's source of the board's energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnergySource {
    /// The energy counter.
    Counter,
    /// Readings of the power, integrated. NVML averages them over up to a second.
    SampledPower,
}

/// Launches between two readings of the energy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EnergyWindow {
    pub launches: u64,
    pub seconds: f64,
    /// Of the whole board, idle draw included.
    pub joules: f64,
    /// Throttling at either end.
    #[serde(default, skip_serializing_if = "is_inactive")]
    pub throttle: Throttle,
}

fn is_inactive(throttle: &Throttle) -> bool {
    !throttle.is_active()
}

/// The result of measuring the energy of a variant at a shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum EnergyOutcome {
    Measured {
        source: EnergySource,
        /// Seconds of launches before the first window.
        settling_s: f64,
        windows: Vec<EnergyWindow>,
    },
    /// Not measured, with the reason.
    Failed { reason: String },
}

impl EnergyOutcome {
    /// Millijoules of a launch in each window.
    ///
    /// # Errors
    /// Why there is no value, in words: it failed, a window is not sound, there are too few, or all were throttled.
    pub fn millijoules(&self) -> Result<Vec<f64>, String> {
        let windows = match self {
            Self::Measured { windows, .. } => windows,
            Self::Failed { reason } => return Err(reason.clone()),
        };
        let fewest = Statistic::MEDIAN.fewest(LEVEL);
        if windows.len() < fewest {
            return Err(format!("energy was measured in {} of at least {fewest} windows", windows.len()));
        }
        let is_sound = |value: f64| value.is_finite() && value > 0.0;
        if windows.iter().any(|one| one.launches == 0 || !is_sound(one.joules) || !is_sound(one.seconds)) {
            return Err("a window has no launches, or no positive energy".to_owned());
        }
        let throttle = windows.iter().fold(Throttle::default(), |all, one| all.and(one.throttle));
        if throttle.is_unusual() && windows.iter().all(|one| one.throttle.is_active()) {
            return Err(format!("throttled: all {} windows ran under {throttle}", windows.len()));
        }
        Ok(windows.iter().map(|one| MILLI * one.joules / one.launches as f64).collect())
    }

    /// Seconds of launches.
    pub fn seconds(&self) -> f64 {
        match self {
            Self::Measured { settling_s, windows, .. } => {
                settling_s + windows.iter().map(|one| one.seconds).sum::<f64>()
            }
            Self::Failed { .. } => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: EnergyWindow = EnergyWindow { launches: 500, seconds: 0.25, joules: 75.0, throttle: Throttle::NONE };

    fn of(windows: Vec<EnergyWindow>) -> Result<Vec<f64>, String> {
        EnergyOutcome::Measured { source: EnergySource::Counter, settling_s: 0.25, windows }.millijoules()
    }

    fn refused(change: impl Fn(&mut EnergyWindow)) -> bool {
        let mut windows = vec![WINDOW; 8];
        change(&mut windows[3]);
        of(windows).is_err()
    }

    #[test]
    fn a_window_is_energy_over_launches() {
        assert_eq!(of(vec![WINDOW; 6]), Ok(vec![150.0; 6]));
    }

    #[test]
    fn unsound_or_few_windows_have_no_value() {
        assert!(of(vec![WINDOW; 5]).unwrap_err().contains("5 of at least 6"));
        assert!(of(Vec::new()).is_err());
        for joules in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(|one| one.joules = joules), "{joules}");
        }
        assert!(refused(|one| one.launches = 0) && refused(|one| one.seconds = 0.0));
        let failed = EnergyOutcome::Failed { reason: "NVML: gone".to_owned() };
        assert_eq!(failed.millijoules(), Err("NVML: gone".to_owned()));
    }

    #[test]
    fn windows_that_were_all_throttled_count_only_under_the_power_cap() {
        let under = |mask| EnergyWindow { throttle: Throttle::of_mask(mask), ..WINDOW };
        assert!(of(vec![under(0x4); 8]).is_ok());
        assert!(of(vec![under(0x40); 8]).unwrap_err().contains("all 8 windows ran under hardware thermal slowdown"));
        let mut some = vec![under(0x40); 7];
        some.push(WINDOW);
        assert!(of(some).is_ok(), "a gate needs all windows to agree");
    }
}
