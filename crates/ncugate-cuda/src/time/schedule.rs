//! The hidden schedule of verification, drawn from a seed that no kernel can know, so that no kernel can distinguish
//! a verified sample from others.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// Verified launches over all timed shapes of a variant: this number catches one wrong launch in a hundred with a
/// probability of 95 % (`0.99^299 < 0.05`; see [`ncugate_model::Audit::chance_after`]). The confirmation verifies
/// this many launches again for each selected variant, in each of its processes.
pub const VERIFIED_LAUNCHES: u32 = 299;
/// Least audited graphs of a variant at a shape: only they verify repeated launches on one set of buffers one by one.
const LEAST_AUDITS: u32 = 2;
/// Enough audited graphs if memory allows; each costs a lead-in and a wait in addition to its launches.
const AUDITS: u32 = 4;
/// Limit in microseconds for the audited launches of a variant at a shape. The stated probability accounts for the
/// launches that slower kernels omit.
const MOST_AUDITED_US: f64 = 1e6;
/// One in this many samples is taken on inputs that were changed just before. Rewriting inputs leaves them in the L2
/// cache in another state than launches do, which shows in the time of the first launch on each set: before every
/// sample, it would change the median of honest kernels.
const REFILLED: u32 = 4;
/// One in this many verified samples is verified if every one of them needs a full comparison.
const SPARSE: u32 = 8;

/// The layout of a timed graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphExtent {
    pub launches: u32,
    /// Sets of buffers that the launches use.
    pub sets: u32,
    /// Approximate microseconds of a launch.
    pub launch_us: f64,
}

/// Change of a set of buffers between two launches of an audited graph on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    /// Poison in all of the outputs.
    Poison,
    /// Poison in one place of the outputs, of at most this many bytes.
    Spot,
    /// Other inputs; the outputs keep the right answer for the previous inputs.
    Inputs,
}

/// The hidden choices for one variant at one shape.
#[derive(Debug)]
pub struct AuditSchedule {
    rng: ChaCha8Rng,
}

impl AuditSchedule {
    /// The choices for a seed, variant and shape; deterministic.
    pub fn new(seed: u64, variant: &str, shape: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"ncugate audit 1\0");
        hash.update(seed.to_le_bytes());
        hash.update((variant.len() as u64).to_le_bytes());
        hash.update(variant.as_bytes());
        hash.update(shape.as_bytes());
        Self { rng: ChaCha8Rng::from_seed(hash.finalize().into()) }
    }

    /// A number below `bound`, which must be positive.
    pub fn below(&mut self, bound: usize) -> usize {
        // The high half of a product: uniform to within 2^-32 for the counts used here.
        ((u64::from(self.rng.next_u32()) * bound as u64) >> 32) as usize
    }

    /// The content of each of `sets` sets, out of `contents`: no content repeats before all were used.
    pub fn assignment(&mut self, contents: usize, sets: usize) -> Vec<usize> {
        let mut assignment = Vec::with_capacity(sets + contents);
        while contents > 0 && assignment.len() < sets {
            let mut order: Vec<usize> = (0..contents).collect();
            for at in 0..contents {
                let other = at + self.below(contents - at);
                order.swap(at, other);
            }
            assignment.append(&mut order);
        }
        assignment.truncate(sets);
        assignment
    }

    /// Number of audits before the sample of each round.
    pub fn audits_by_round(&mut self, audits: u32, rounds: u32) -> Vec<u32> {
        let mut counts = vec![0; rounds as usize];
        for _ in 0..if rounds == 0 { 0 } else { audits } {
            let round = self.below(counts.len());
            counts[round] += 1;
        }
        counts
    }

    /// The change of a set between two launches, if other inputs are available.
    pub fn disturbance(&mut self) -> Disturbance {
        [Disturbance::Poison, Disturbance::Spot, Disturbance::Inputs][self.below(3)]
    }

    /// The change of a set between two launches, if its inputs stay.
    pub fn disturbance_of_outputs(&mut self) -> Disturbance {
        [Disturbance::Poison, Disturbance::Spot][self.below(2)]
    }

    /// A content other than `than`, out of `contents`; the same if there is only one.
    pub fn other(&mut self, contents: usize, than: usize) -> usize {
        if contents < 2 { than } else { (than + 1 + self.below(contents - 1)) % contents }
    }

    /// Whether inputs are changed before a sample.
    pub fn is_refill_turn(&mut self) -> bool {
        self.below(REFILLED as usize) == 0
    }

    /// Whether to verify a sample whose outputs can only be compared in full.
    pub fn is_sparse_turn(&mut self) -> bool {
        self.below(SPARSE as usize) == 0
    }
}

/// Verified launches that `rounds` samples do not provide: each sample provides the last launch on each set, and the
/// last of its lead-in.
pub fn missing_launches(wanted: u32, rounds: u32, timed: &GraphExtent) -> u32 {
    wanted.saturating_sub(rounds.saturating_mul(timed.sets + 1))
}

/// Launches of an audited graph: at least those of the timed graph, at least two per set, and enough that `AUDITS`
/// graphs provide the missing ones; at most as many as fit in the snapshot memory.
pub fn audited_launches(timed: &GraphExtent, missing: u32, output_bytes: usize, memory: usize) -> u32 {
    let fit = u32::try_from(memory / output_bytes.max(1)).unwrap_or(u32::MAX);
    timed.launches.max(2 * timed.sets).max(missing.div_ceil(AUDITS)).min(fit).max(1)
}

/// Number of audits that provide the missing verified launches.
pub fn audits(missing: u32, timed: &GraphExtent, audited_launches: u32) -> u32 {
    let needed = missing.div_ceil(audited_launches.max(1)).max(LEAST_AUDITS);
    let one = timed.launch_us.max(1e-3) * f64::from(audited_launches.max(1));
    needed.min(((MOST_AUDITED_US / one) as u32).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMED: GraphExtent = GraphExtent { launches: 50, sets: 4, launch_us: 4.0 };

    #[test]
    fn a_seed_makes_the_same_choices_and_another_seed_others() {
        let choices = |seed, variant: &str| {
            let mut schedule = AuditSchedule::new(seed, variant, "s");
            (schedule.audits_by_round(9, 60), (0..20).map(|_| schedule.assignment(4, 4)).collect::<Vec<_>>())
        };
        assert_eq!(choices(1, "a"), choices(1, "a"));
        assert_ne!(choices(1, "a"), choices(2, "a"));
        assert_ne!(choices(1, "a"), choices(1, "b"));
    }

    #[test]
    fn every_content_comes_to_every_set_and_no_content_to_two() {
        let mut schedule = AuditSchedule::new(7, "a", "s");
        let mut met = vec![vec![0; 4]; 3];
        for _ in 0..400 {
            let assignment = schedule.assignment(4, 3);
            let mut distinct = assignment.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!((assignment.len(), distinct.len()), (3, 3));
            assignment.iter().enumerate().for_each(|(set, &content)| met[set][content] += 1);
        }
        assert!(met.iter().flatten().all(|&count| (60..140).contains(&count)), "{met:?}");
        let more_sets = schedule.assignment(2, 5);
        assert_eq!((more_sets.len(), more_sets.iter().filter(|&&content| content == 0).count() / 2), (5, 1));
    }

    #[test]
    fn audits_are_spread_over_the_rounds() {
        let mut schedule = AuditSchedule::new(3, "a", "s");
        let counts = schedule.audits_by_round(600, 60);
        assert_eq!((counts.len(), counts.iter().sum::<u32>()), (60, 600));
        assert!(counts.iter().all(|&count| count < 40), "{counts:?}");
        assert!(schedule.audits_by_round(5, 0).is_empty());
    }

    #[test]
    fn verified_launches_reach_what_is_wanted() {
        for (rounds, timed, n) in
            [(60, TIMED, 50), (1, TIMED, 50), (60, GraphExtent { launches: 1, sets: 1, ..TIMED }, 2)]
        {
            let missing = missing_launches(VERIFIED_LAUNCHES, rounds, &timed);
            let verified = rounds * (timed.sets + 1) + audits(missing, &timed, n) * n;
            assert!(verified >= VERIFIED_LAUNCHES, "{rounds} rounds of {timed:?}: {verified}");
        }
        assert_eq!(
            audits(missing_launches(VERIFIED_LAUNCHES, 240, &TIMED), &TIMED, 50),
            LEAST_AUDITS,
            "samples give enough"
        );
        let slow = GraphExtent { launches: 1, sets: 1, launch_us: 2e5 };
        assert_eq!(
            audits(missing_launches(VERIFIED_LAUNCHES, 60, &slow), &slow, 2),
            2,
            "a kernel of 0.2 s is not launched 400 times more"
        );
    }

    #[test]
    fn an_audited_graph_uses_every_set_twice_where_memory_allows() {
        assert_eq!(audited_launches(&TIMED, 159, 1 << 19, 1 << 30), 50);
        assert_eq!(audited_launches(&GraphExtent { launches: 1, sets: 1, ..TIMED }, 0, 1 << 19, 1 << 30), 2);
        assert_eq!(audited_launches(&GraphExtent { launches: 1, sets: 1, ..TIMED }, 339, 1 << 19, 1 << 30), 85);
        assert_eq!(audited_launches(&TIMED, 159, 1 << 28, 1 << 30), 4);
        assert_eq!(audited_launches(&TIMED, 159, 1 << 31, 1 << 30), 1);
    }

    #[test]
    fn another_content_is_never_the_same() {
        let mut schedule = AuditSchedule::new(5, "a", "s");
        assert!((0..100).all(|_| schedule.other(4, 2) != 2));
        assert_eq!(schedule.other(1, 0), 0);
    }
}
