//! Clocks, temperature, power and throttling of the GPU while it was timed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why the GPU lowers its clocks, as NVML's bit mask of `nvmlDeviceGetCurrentClocksEventReasons`. Idle GPUs and clocks that
/// someone has set are no throttling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Throttle(u64);

impl Throttle {
    /// NVML's bits of throttling, and their names.
    const BITS: [(u64, &'static str); 5] = [
        (0x04, "power cap"),
        (0x08, "hardware slowdown"),
        (0x20, "thermal slowdown"),
        (0x40, "hardware thermal slowdown"),
        (0x80, "power brake"),
    ];
    /// The only reason that is usual: heavy kernels reach the card's power limit.
    const POWER_CAP: u64 = 0x04;
    pub const NONE: Self = Self(0);

    /// The reasons of a mask that are throttling.
    pub fn of_mask(mask: u64) -> Self {
        Self(Self::BITS.iter().map(|(bit, _)| mask & bit).sum())
    }

    /// All reasons of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the clocks were lowered.
    pub const fn is_active(self) -> bool {
        self.0 != 0
    }

    /// Whether there is a reason other than the power limit.
    pub const fn is_unusual(self) -> bool {
        self.0 & !Self::POWER_CAP != 0
    }
}

impl fmt::Display for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Self::BITS.iter().filter(|(bit, _)| self.0 & bit != 0).map(|(_, name)| *name);
        f.write_str(&names.collect::<Vec<_>>().join(", "))
    }
}

/// One reading between two rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuState {
    /// Clock of the SMs in MHz.
    pub sm_mhz: u32,
    pub memory_mhz: u32,
    pub celsius: u32,
    pub watts: u32,
    pub throttle: Throttle,
}

/// The state of the GPU in the rounds of a variant's samples: each list has one entry for each sample.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GpuStates {
    /// Clock of the SMs after the round, in MHz.
    pub sm_mhz: Vec<u32>,
    /// Clock of the memory after the round, in MHz.
    pub memory_mhz: Vec<u32>,
    /// Temperature after the round, in degrees Celsius.
    pub celsius: Vec<u32>,
    /// Power draw after the round, in watts.
    pub watts: Vec<u32>,
    /// Throttling before or after the round.
    pub throttle: Vec<Throttle>,
}

impl GpuStates {
    /// Adds a round between two readings.
    pub fn push(&mut self, before: GpuState, after: GpuState) {
        self.sm_mhz.push(after.sm_mhz);
        self.memory_mhz.push(after.memory_mhz);
        self.celsius.push(after.celsius);
        self.watts.push(after.watts);
        self.throttle.push(before.throttle.and(after.throttle));
    }

    /// Adds later rounds.
    pub fn extend(&mut self, later: &Self) {
        self.sm_mhz.extend(&later.sm_mhz);
        self.memory_mhz.extend(&later.memory_mhz);
        self.celsius.extend(&later.celsius);
        self.watts.extend(&later.watts);
        self.throttle.extend(&later.throttle);
    }

    /// Whether every list has an entry for each of `samples` samples.
    pub fn covers(&self, samples: usize) -> bool {
        let lists = [self.sm_mhz.len(), self.memory_mhz.len(), self.celsius.len(), self.watts.len()];
        lists.iter().all(|len| *len == samples) && self.throttle.len() == samples
    }

    /// Number of rounds with throttling, and their reasons.
    pub fn throttled(&self) -> (usize, Throttle) {
        let active = self.throttle.iter().filter(|throttle| throttle.is_active());
        (active.clone().count(), active.fold(Throttle::default(), |all, one| all.and(*one)))
    }

    /// Lowest and highest clock of the SMs, in MHz.
    pub fn sm_range(&self) -> Option<(u32, u32)> {
        Some((*self.sm_mhz.iter().min()?, *self.sm_mhz.iter().max()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_set_clocks_are_no_throttling() {
        // idle, applications clocks, sync boost, display clocks
        assert!(!Throttle::of_mask(0x1 | 0x2 | 0x10 | 0x100).is_active());
        let cap = Throttle::of_mask(0x4 | 0x1);
        assert!(cap.is_active() && !cap.is_unusual() && cap.to_string() == "power cap", "{cap}");
        let hot = Throttle::of_mask(0x4 | 0x40);
        assert!(hot.is_unusual() && hot.to_string() == "power cap, hardware thermal slowdown", "{hot}");
    }

    #[test]
    fn a_round_is_throttled_if_a_reading_on_either_side_is() {
        let reading = |sm_mhz, mask| GpuState {
            sm_mhz,
            memory_mhz: 2619,
            celsius: 40,
            watts: 300,
            throttle: Throttle::of_mask(mask),
        };
        let mut states = GpuStates::default();
        states.push(reading(1980, 0), reading(1900, 0x4));
        states.push(reading(1900, 0x4), reading(1980, 0));
        states.push(reading(1980, 0), reading(1975, 0));
        assert_eq!((states.throttled().0, states.sm_range()), (2, Some((1900, 1980))));
        assert!(states.covers(3) && !states.covers(2));
        let text = serde_json::to_string(&states).unwrap();
        assert_eq!(serde_json::from_str::<GpuStates>(&text).unwrap(), states);
    }
}
