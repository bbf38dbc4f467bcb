//! The median of the samples against the samples without repeats of the same process.
//!
//! A sample without repeats launches once on each set of buffers, and no launch of it can find its answer (`time::unrepeated`): it takes
//! as long as the work does. An honest kernel takes as long in an ordinary sample. What is granted beside that is the time of a graph
//! that is no launch's, measured with empty kernels, and a microsecond, once a sample; and [`LONGER`] for what the sets that come again
//! leave in L2. Noise and clocks only make such a sample longer and no kernel can make it shorter, so the shortest counts.

use super::{CaseCounters, WitnessMismatch};
use ncugate_model::UnrepeatedSamples;
use ncugate_model::number::short;

/// Least samples without repeats.
const LEAST: usize = 3;
/// How much longer a launch without repeats may take.
const LONGER: f64 = 1.25;
/// The same where no launch had read the inputs before, of which there are fewer samples.
const LONGER_UNSEEN: f64 = 1.75;
/// The same of a single sample, which a disturbance may have hit.
const LONGER_ALONE: f64 = 3.0;
/// How much longer one may take than the shortest ordinary sample, which a gate on the minimum reads.
const LONGER_THAN_SHORTEST: f64 = 1.5;
/// Microseconds that are granted to a sample once, beside what empty kernels take.
const ONCE_US: f64 = 1.0;
/// A factor that no honest kernel is off by: both are times of one process.
const CLEAR: f64 = 3.0;

/// What the samples without repeats say of a latency.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Repeats {
    /// The run took none.
    NotRecorded,
    /// There are not enough of them.
    TooFew(String),
    Agree,
    Differ(WitnessMismatch),
}

/// The shortest samples without repeats, in microseconds of a launch and less what is granted once a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ShortestSamples {
    any: f64,
    unseen: Option<f64>,
    /// How many samples had unseen inputs.
    unseen_count: usize,
}

impl CaseCounters<'_> {
    /// What the samples without repeats say.
    pub(super) fn repeats(&self) -> Repeats {
        let Some(processes) = &self.unrepeated else { return Repeats::NotRecorded };
        let all: Vec<f64> = processes.iter().flat_map(|process| each(process)).collect();
        if all.len() < LEAST || all.iter().any(|us| !us.is_finite()) {
            return Repeats::TooFew(format!(
                "{} samples without repeats, {LEAST} are needed: a launch could have found its answer",
                all.len()
            ));
        }
        let unseen: Vec<f64> = processes.iter().flat_map(|p| each(p).take(p.unseen as usize)).collect();
        let least = |values: &[f64]| values.iter().copied().reduce(f64::min);
        let any = least(&all).unwrap_or(f64::INFINITY);
        let shortest = ShortestSamples { any, unseen: least(&unseen), unseen_count: unseen.len() };
        let mismatch = shortest.mismatch(self.latency).or_else(|| shortest.mismatch_of_shortest(self.shortest));
        mismatch.map_or(Repeats::Agree, Repeats::Differ)
    }
}

/// Microseconds of a launch in each sample, less what is granted.
fn each(process: &UnrepeatedSamples) -> impl Iterator<Item = f64> + '_ {
    let launches = f64::from(process.launches.max(1));
    process.samples.iter().map(move |us| (us - process.fixed_us.max(0.0) - ONCE_US) / launches)
}

impl ShortestSamples {
    /// A sample that some of its repeats made shorter leaves the median as it is.
    fn mismatch_of_shortest(&self, sample_us: f64) -> Option<WitnessMismatch> {
        (self.any > LONGER_THAN_SHORTEST * sample_us).then(|| WitnessMismatch {
            factor: self.any / sample_us,
            clear: CLEAR,
            reason: format!(
                "repeats take less time in a sample: {} µs is the shortest, and {} µs a launch where no launch can find its answer: a factor of {}",
                short(sample_us),
                short(self.any),
                short(self.any / sample_us)
            ),
        })
    }

    fn mismatch(&self, latency_us: f64) -> Option<WitnessMismatch> {
        let longer = if self.unseen_count > 1 { LONGER_UNSEEN } else { LONGER_ALONE };
        let of = |us: f64, longer: f64, what: &str| {
            (us > longer * latency_us).then(|| WitnessMismatch {
                factor: us / latency_us,
                clear: CLEAR,
                reason: format!(
                    "repeats take less time: {} µs is the median, and {} µs a launch {what}: a factor of {}",
                    short(latency_us),
                    short(us),
                    short(us / latency_us)
                ),
            })
        };
        let any = of(self.any, LONGER, "where no launch can find its answer");
        any.or_else(|| of(self.unseen?, longer, "on inputs that no launch has read before"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_that_repeats_make_shorter_does_not_fit() {
        let of = |latency, any, unseen, unseen_count| ShortestSamples { any, unseen, unseen_count }.mismatch(latency);
        assert_eq!(of(10.0, 12.4, Some(12.4), 2), None);
        assert!(of(10.0, 12.6, Some(12.6), 2).unwrap().factor < CLEAR);
        assert!(of(10.0, 31.0, Some(31.0), 2).unwrap().factor > CLEAR);
        let table = of(10.0, 10.0, Some(33.0), 2).unwrap();
        assert!(table.factor > CLEAR && table.reason.contains("no launch has read before"), "{table:?}");
        assert_eq!(of(10.0, 10.0, Some(17.0), 2), None);
        assert_eq!((of(10.0, 10.0, Some(29.0), 1), of(10.0, 10.0, None, 0)), (None, None));
    }

    #[test]
    fn one_sample_that_is_too_short_does_not_fit() {
        let shortest = ShortestSamples { any: 10.0, unseen: Some(10.0), unseen_count: 2 };
        assert_eq!(shortest.mismatch_of_shortest(7.0), None);
        assert!(shortest.mismatch_of_shortest(6.0).unwrap().factor < CLEAR);
        assert!(shortest.mismatch_of_shortest(3.0).unwrap().factor > CLEAR);
    }

    #[test]
    fn a_sample_is_granted_its_fixed_time_once() {
        let process = UnrepeatedSamples { launches: 2, fixed_us: 2.0, samples: vec![13.0, 14.0], unseen: 1 };
        assert_eq!(each(&process).collect::<Vec<_>>(), [5.0, 5.5]);
    }
}
