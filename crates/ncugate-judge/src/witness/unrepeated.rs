//! Compares the median of the samples with the samples without repeats of the same process.
//!
//! A sample without repeats launches once on each set of buffers. None of its launches can find a previous answer
//! (`time::unrepeated`), so it takes as long as the work does. An honest kernel takes equally long in an ordinary
//! sample. The allowance per sample is the graph's own time, measured with empty kernels, and a microsecond. The
//! factor [`LONGER`] allows for buffers that stay in L2 between rotations. Noise and clocks can only lengthen such a
//! sample, and no kernel can shorten it, so the shortest counts.

use super::{CaseCounters, WitnessMismatch};
use ncugate_model::UnrepeatedSamples;
use ncugate_model::number::short;

/// Minimum number of samples without repeats.
const LEAST: usize = 3;
/// How much longer a launch without repeats may take.
const LONGER: f64 = 1.25;
/// The same for inputs that no launch had read before; there are fewer of these samples.
const LONGER_UNSEEN: f64 = 1.75;
/// The same for a single sample, which may be disturbed.
const LONGER_ALONE: f64 = 3.0;
/// The same relative to the shortest ordinary sample, which a gate on the minimum reads.
const LONGER_THAN_SHORTEST: f64 = 1.5;
/// Microseconds allowed once per sample, in addition to the time of empty kernels.
const ONCE_US: f64 = 1.0;
/// A factor that no honest kernel reaches, because both times come from one process.
const CLEAR: f64 = 3.0;

/// The judgement of a latency by its samples without repeats.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Repeats {
    /// There are too few.
    TooFew(String),
    Agree,
    Differ(WitnessMismatch),
}

/// The shortest samples without repeats, in microseconds per launch, less the allowance per sample.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ShortestSamples {
    any: f64,
    unseen: Option<f64>,
    /// Number of samples with unseen inputs.
    unseen_count: usize,
}

impl CaseCounters<'_> {
    /// Judges the latency by its samples without repeats.
    pub(super) fn repeats(&self) -> Repeats {
        let processes = &self.unrepeated;
        let all: Vec<f64> = processes.iter().flat_map(|process| each(process)).collect();
        if all.len() < LEAST || all.iter().any(|us| !us.is_finite()) {
            return Repeats::TooFew(format!(
                "{} samples without repeats, {LEAST} are needed: a launch could have reused an answer",
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

/// Microseconds per launch in each sample, less the allowance.
fn each(process: &UnrepeatedSamples) -> impl Iterator<Item = f64> + '_ {
    let launches = f64::from(process.launches.max(1));
    process.samples.iter().map(move |us| (us - process.fixed_us.max(0.0) - ONCE_US) / launches)
}

impl ShortestSamples {
    /// Checks the shortest sample too, because repeats that shorten single samples do not change the median.
    fn mismatch_of_shortest(&self, sample_us: f64) -> Option<WitnessMismatch> {
        (self.any > LONGER_THAN_SHORTEST * sample_us).then(|| WitnessMismatch {
            factor: self.any / sample_us,
            clear: CLEAR,
            reason: format!(
                "repeats take less time in a sample: the shortest is {} µs, but {} µs per launch if no launch can reuse a result: a factor of {}",
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
                    "repeats take less time: the median is {} µs, but {} µs per launch {what}: a factor of {}",
                    short(latency_us),
                    short(us),
                    short(us / latency_us)
                ),
            })
        };
        let any = of(self.any, LONGER, "if no launch can reuse a result");
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
