//! How latency is measured.

use crate::config::L2State;
use serde::{Deserialize, Serialize};

/// How latency is measured; see [`crate::config::BenchSettings`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimingSettings {
    /// Untimed graph launches before the first sample.
    pub warmup: u32,
    /// Samples a variant and shape.
    pub rounds: u32,
    /// A sample lasts at least this long, in microseconds, unless `max_launches` stops it.
    pub min_sample_us: f64,
    /// Most launches in one graph.
    pub max_launches: u32,
    /// Sets of buffers a graph rotates over.
    pub buffer_sets: u32,
    /// What the L2 cache holds when a launch starts.
    pub l2: L2State,
    /// How much time audits may take.
    pub effort: AuditEffort,
    /// What no kernel and no phase knows.
    pub hidden: HiddenSeeds,
}

/// How much time the audits of a variant at a shape may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditEffort {
    /// None: no output of a timed launch is looked at.
    None,
    /// A tenth of what the samples take: enough for a sweep, of which most variants are not selected. Slow kernels have fewer
    /// launches verified, and the chance that is stated says so.
    Sweep,
    /// Whatever all wanted launches take: for what a verdict rests on.
    Verdict,
}

impl AuditEffort {
    /// Most launches that are verified beside samples, where `rounds` samples of `launches` launches are taken.
    pub fn most_launches(self, rounds: u32, launches: u32) -> u32 {
        match self {
            Self::None => 0,
            Self::Sweep => rounds.saturating_mul(launches) / 10,
            Self::Verdict => u32::MAX,
        }
    }
}

/// Seeds drawn from the operating system for one job: of the inputs that are timed, and of which launches are verified.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HiddenSeeds {
    /// One for each content that the sets of buffers take turns at.
    pub inputs: Vec<u64>,
    /// Of the order of contents, the audits and the digests.
    pub schedule: u64,
}

impl TimingSettings {
    /// Sets of buffers that a graph rotates over: one where the cache is to be cold or warm.
    pub fn sets(&self) -> u32 {
        match self.l2 {
            L2State::Rotate => self.buffer_sets.max(1),
            L2State::Cold | L2State::Warm => 1,
        }
    }

    /// Contents that sets take turns at: one for each set, and at least two, so that what is behind a pointer changes.
    pub fn contents(&self) -> u32 {
        self.sets().max(2)
    }

    /// Most launches in one graph, and the least microseconds of a sample: a launch on a cold cache is a sample by itself.
    pub fn extent(&self) -> (u32, f64) {
        match self.l2 {
            L2State::Rotate | L2State::Warm => (self.max_launches, self.min_sample_us),
            L2State::Cold => (1, 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audits_of_a_sweep_take_a_tenth_of_the_samples_and_those_of_a_verdict_what_they_need() {
        assert_eq!(AuditEffort::Sweep.most_launches(60, 2), 12);
        assert_eq!(AuditEffort::Sweep.most_launches(60, 50), 300);
        assert_eq!(AuditEffort::Verdict.most_launches(60, 2), u32::MAX);
    }
}
