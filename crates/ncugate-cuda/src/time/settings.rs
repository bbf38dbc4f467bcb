//! How latency is measured.

use ncugate_phase::config::L2State;
use serde::{Deserialize, Serialize};

/// How many times the L2 cache a set of buffers takes, of which two are enough: what a launch on the other read and wrote has taken all of
/// the cache.
const LARGE_SET: u64 = 2;
/// Least contents where references take long, so that what is behind a pointer changes.
pub const LEAST_CONTENTS: u32 = 2;

/// How latency is measured; see [`ncugate_phase::config::BenchSettings`].
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
    /// Of what is launched on before the samples.
    pub pilot: u64,
    /// Of the order of contents, the audits and the digests.
    pub schedule: u64,
}

impl TimingSettings {
    /// Sets of buffers that a graph rotates over, where one takes `bytes`: one where the cache is to be cold or warm; at most two where
    /// one is more than `LARGE_SET` times an L2 cache of `l2_bytes`.
    pub fn sets(&self, bytes: usize, l2_bytes: u64) -> u32 {
        let large = l2_bytes > 0 && bytes as u64 > LARGE_SET * l2_bytes;
        if large { self.most_sets().min(2) } else { self.most_sets() }
    }

    /// Contents that those sets take turns at: one for each set, at least two, so that what is behind a pointer changes, and one more for the
    /// lead-in.
    pub fn contents(&self, bytes: usize, l2_bytes: u64) -> u32 {
        self.sets(bytes, l2_bytes).max(LEAST_CONTENTS) + 1
    }

    /// Contents of the shape that takes most of them.
    pub fn most_contents(&self) -> u32 {
        self.most_sets().max(LEAST_CONTENTS) + 1
    }

    fn most_sets(&self) -> u32 {
        match self.l2 {
            L2State::Rotate => self.buffer_sets.max(1),
            L2State::Cold | L2State::Warm => 1,
        }
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
