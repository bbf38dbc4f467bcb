//! Settings of latency measurement.

use ncugate_phase::config::L2State;
use serde::{Deserialize, Serialize};

/// Size of a set of buffers, in L2 caches, from which two sets are enough: a launch on the other set replaces the
/// whole cache.
const LARGE_SET: u64 = 2;
/// Least number of contents if references take long: the content behind a pointer must change.
pub const LEAST_CONTENTS: u32 = 2;

/// Settings of latency measurement; see [`ncugate_phase::config::BenchSettings`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimingSettings {
    /// Untimed graph launches before the first sample.
    pub warmup: u32,
    /// Samples per variant and shape.
    pub rounds: u32,
    /// Least duration of a sample in microseconds, unless `max_launches` ends it earlier.
    pub min_sample_us: f64,
    /// Most launches in one graph.
    pub max_launches: u32,
    /// Sets of buffers that a graph rotates over.
    pub buffer_sets: u32,
    /// State of the L2 cache when a launch starts.
    pub l2: L2State,
    /// Time limit of audits.
    pub effort: AuditEffort,
    /// Seeds that no kernel and no phase knows.
    pub hidden: HiddenSeeds,
}

/// Time limit for the audits of a variant at a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditEffort {
    /// No output of a timed launch is verified.
    None,
    /// A tenth of the sampling time. This is enough for a sweep, in which most variants are not selected. Slow
    /// kernels have fewer launches verified, and the stated probability accounts for that.
    Sweep,
    /// As long as all wanted launches take: for samples that a verdict rests on.
    Verdict,
}

impl AuditEffort {
    /// Limit on verified launches in addition to samples, for `rounds` samples of `launches` launches.
    pub fn most_launches(self, rounds: u32, launches: u32) -> u32 {
        match self {
            Self::None => 0,
            Self::Sweep => rounds.saturating_mul(launches) / 10,
            Self::Verdict => u32::MAX,
        }
    }
}

/// Seeds for one job from the operating system's entropy: for the timed inputs, and for the selection of verified
/// launches.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HiddenSeeds {
    /// One for each content that the sets of buffers rotate through.
    pub inputs: Vec<u64>,
    /// Seed of the launches before the samples.
    pub pilot: u64,
    /// Seed of the order of contents, of the audits and of the digests.
    pub schedule: u64,
}

impl TimingSettings {
    /// Sets of buffers that a graph rotates over, if a set takes `bytes`: one if the cache is to be cold or warm; at
    /// most two if a set is larger than `LARGE_SET` times an L2 cache of `l2_bytes`.
    pub fn sets(&self, bytes: usize, l2_bytes: u64) -> u32 {
        let large = l2_bytes > 0 && bytes as u64 > LARGE_SET * l2_bytes;
        if large { self.most_sets().min(2) } else { self.most_sets() }
    }

    /// Contents that the sets rotate through: one for each set, at least two, so that the content behind a pointer
    /// changes, and one more for the lead-in.
    pub fn contents(&self, bytes: usize, l2_bytes: u64) -> u32 {
        self.sets(bytes, l2_bytes).max(LEAST_CONTENTS) + 1
    }

    /// Contents of the shape with the most contents.
    pub fn most_contents(&self) -> u32 {
        self.most_sets().max(LEAST_CONTENTS) + 1
    }

    fn most_sets(&self) -> u32 {
        match self.l2 {
            L2State::Rotate => self.buffer_sets.max(1),
            L2State::Cold | L2State::Warm => 1,
        }
    }

    /// Most launches in one graph, and the least microseconds of a sample: with a cold cache, each launch is a
    /// sample.
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
    fn two_sets_are_enough_where_one_is_larger_than_the_cache_twice() {
        let rotating = |buffer_sets| TimingSettings {
            warmup: 0,
            rounds: 1,
            min_sample_us: 1.0,
            max_launches: 1,
            buffer_sets,
            l2: L2State::Rotate,
            effort: AuditEffort::None,
            hidden: HiddenSeeds::default(),
        };
        let sets = |bytes, cache| (rotating(4).sets(bytes, cache), rotating(4).contents(bytes, cache));
        assert_eq!([sets(200, 100), sets(201, 100), sets(1 << 40, 0)], [(4, 5), (2, 3), (4, 5)]);
        assert_eq!((rotating(1).sets(201, 100), rotating(1).contents(201, 100)), (1, 3));
        assert_eq!(rotating(4).most_contents(), 5);
        assert_eq!(TimingSettings { l2: L2State::Cold, ..rotating(4) }.sets(1, 100), 1);
    }

    #[test]
    fn audits_of_a_sweep_take_a_tenth_of_the_samples_and_those_of_a_verdict_what_they_need() {
        assert_eq!(AuditEffort::Sweep.most_launches(60, 2), 12);
        assert_eq!(AuditEffort::Sweep.most_launches(60, 50), 300);
        assert_eq!(AuditEffort::Verdict.most_launches(60, 2), u32::MAX);
    }
}
