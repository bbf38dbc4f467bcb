//! Verification of the launches behind the samples of a latency.

use serde::{Deserialize, Serialize};

/// Share of wrong launches for which an audit states its chance: one in a hundred.
const WRONG_SHARE: f64 = 0.01;

/// Verification of the timed launches: their outputs were compared with the expected outputs for inputs that nobody
/// knew before the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Launches with compared outputs: the last one on each set of buffers of a verified sample, and every launch of
    /// an audited graph.
    pub launches: u64,
    /// Samples after which the outputs of every set of buffers were compared.
    pub samples: u64,
    /// Graphs of the same launches in which every launch was compared. They are not samples.
    pub graphs: u64,
    /// Seeds of the inputs, drawn for this run and recorded after it.
    pub seeds: Vec<u64>,
    /// Chance, from 0 to 1, of catching a kernel that is wrong in one launch of a hundred: [`Audit::chance_after`]
    /// for `launches`.
    pub chance: f64,
    /// Total size of the sets of buffers that the timed launches rotate over, as a share of the L2 cache. None if the
    /// size of the cache is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_share: Option<f64>,
    /// Samples without repeats, one entry per process. A record without them has none, and no gate on its latency holds.
    #[serde(default)]
    pub unrepeated: Vec<UnrepeatedSamples>,
    /// Evaluations under the conditions of ncu, one entry per process. A record without them has none, and no gate on its
    /// latency holds.
    #[serde(default)]
    pub isolated: Vec<IsolatedSamples>,
}

/// Evaluations under the conditions of ncu: each kernel alone on the device, on refilled buffers, behind a flush of the caches.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct IsolatedSamples {
    /// Timed kernels of an evaluation.
    pub kernels: u32,
    /// Microseconds of an empty kernel under these conditions, which each kernel takes in addition to its work.
    pub empty_us: f64,
    /// Microseconds of all kernels of each evaluation.
    pub samples: Vec<f64>,
    /// Microseconds of each evaluation as a whole, with its fills and copies.
    pub evaluations: Vec<f64>,
    /// The clock of the multiprocessors right before the kernels of each evaluation in MHz; fewer if it was not readable.
    pub clock_mhz: Vec<f64>,
}

/// Samples in which no launch can find its answer in memory: one launch on each set, every output poisoned, and
/// inputs that occur in no other set and no earlier launch of the sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnrepeatedSamples {
    pub launches: u32,
    /// Microseconds that a graph takes on the device in addition to its launches, measured with empty kernels.
    pub fixed_us: f64,
    /// Microseconds of each sample as a whole.
    pub samples: Vec<f64>,
    /// Number of leading samples whose inputs no launch of the loaded module had read before.
    pub unseen: u32,
}

impl Audit {
    /// The chance of having met at least one wrong launch among `launches` verified ones, when each is wrong with a chance
    /// of one in a hundred and independently of the others: `1 - 0.99^launches` (the binomial chance of at least one).
    pub fn chance_after(launches: u64) -> f64 {
        -((launches as f64) * (-WRONG_SHARE).ln_1p()).exp_m1()
    }

    /// Combines the audits of two consecutive sets of samples.
    #[must_use]
    pub fn and(mut self, later: &Self) -> Self {
        self.launches += later.launches;
        self.samples += later.samples;
        self.graphs += later.graphs;
        self.seeds.extend(later.seeds.iter().filter(|seed| !self.seeds.contains(seed)).collect::<Vec<_>>());
        self.chance = Self::chance_after(self.launches);
        self.l2_share = later.l2_share.or(self.l2_share);
        // What a part lacks the whole lacks.
        match later.unrepeated.is_empty() || self.unrepeated.is_empty() {
            true => self.unrepeated.clear(),
            false => self.unrepeated.extend(later.unrepeated.iter().cloned()),
        }
        match later.isolated.is_empty() || self.isolated.is_empty() {
            true => self.isolated.clear(),
            false => self.isolated.extend(later.isolated.iter().cloned()),
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audit(launches: u64, seeds: &[u64]) -> Audit {
        let chance = Audit::chance_after(launches);
        let samples = UnrepeatedSamples { launches: 2, fixed_us: 1.0, samples: vec![21.0; 3], unseen: 2 };
        let unrepeated = vec![samples];
        let isolated =
            vec![IsolatedSamples { kernels: 1, empty_us: 1.0, samples: vec![11.0; 8], ..Default::default() }];
        let seeds = seeds.to_vec();
        Audit { launches, samples: 3, graphs: 1, seeds, chance, l2_share: Some(0.5), unrepeated, isolated }
    }

    #[test]
    fn the_chance_is_that_of_at_least_one_among_so_many() {
        assert_eq!(Audit::chance_after(0), 0.0);
        assert!((Audit::chance_after(1) - 0.01).abs() < 1e-12);
        assert!(Audit::chance_after(458) < 0.99 && Audit::chance_after(459) > 0.99);
        assert!(Audit::chance_after(1 << 40) <= 1.0);
    }

    #[test]
    fn audits_add_up() {
        let both = audit(100, &[1, 2]).and(&audit(359, &[2, 3]));
        assert_eq!((both.launches, both.samples, both.graphs), (459, 6, 2));
        assert_eq!(both.seeds, [1, 2, 3]);
        assert_eq!(both.chance, Audit::chance_after(459));
        assert_eq!((both.unrepeated.len(), both.isolated.len()), (2, 2));
        let without = Audit { unrepeated: Vec::new(), ..audit(1, &[]) };
        assert_eq!(without.clone().and(&audit(1, &[])).unrepeated, [], "what a part lacks the whole lacks");
        assert_eq!(audit(1, &[]).and(&without).unrepeated, []);
    }
}
