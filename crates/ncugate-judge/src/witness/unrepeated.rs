//! Compares samples with the samples without repeats of the same sweep or confirmation.
//!
//! A sample without repeats launches once on each set of buffers, and finds no answer in its outputs (`time::unrepeated_samples`).
//! Those of the first kind read inputs that their module has not met, those of the second kind inputs that it has met; all else is
//! equal, so that a kernel that keeps its answers shows between the two. An ordinary sample launches many times on each set: the
//! first launch on a set waits longer for memory, which a kernel of one warp cannot hide (`tests/gpu/honest/walk.toml`). Noise
//! and clocks can only lengthen a sample, and no kernel can shorten one without repeats, so the shortest of each kind counts.

use super::{CaseCounters, WitnessMismatch};
use ncugate_model::UnrepeatedSamples;
use ncugate_model::number::short;

/// Minimum number of samples without repeats.
const LEAST: usize = 3;
/// How much longer a launch may take on inputs that it has not met than on others.
const LONGER_UNSEEN: f64 = 1.1;
/// How much longer a launch without repeats may take than the median.
const LONGER: f64 = 1.25;
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

impl CaseCounters<'_> {
    /// Judges the latency by its samples without repeats.
    pub(super) fn repeats(&self) -> Repeats {
        let processes = self.unrepeated.iter().copied().flatten();
        let all: Vec<f64> = processes.clone().flat_map(each).collect();
        if all.len() < LEAST || all.iter().any(|us| !us.is_finite()) {
            return Repeats::TooFew(format!(
                "{} samples without repeats, {LEAST} are needed: a launch could have reused an answer",
                all.len()
            ));
        }
        let any = (all.iter().copied().fold(f64::INFINITY, f64::min), "if no launch can reuse a result");
        let whole = [
            longer(any, (self.latency, "in the median"), LONGER, 0.0),
            longer(any, (self.shortest, "in the shortest sample"), LONGER_THAN_SHORTEST, 0.0),
        ];
        // Only the latest counts: a confirmation's latencies are judged, and in a sweep another variant may have met the
        // inputs. A sweep has one sample on unmet inputs, which alone is no evidence against five processes.
        let has_unmet = |measured: &&&[UnrepeatedSamples]| measured.iter().any(|process| process.unseen > 0);
        let by_inputs = self.unrepeated.iter().rfind(has_unmet).and_then(|measured| by_inputs(measured));
        let gravest = whole.into_iter().chain([by_inputs]).flatten().max_by(|a, b| a.factor.total_cmp(&b.factor));
        gravest.map_or(Repeats::Agree, Repeats::Differ)
    }
}

/// A mismatch if launches of a measurement take longer on inputs that their module has not met than on others.
fn by_inputs(processes: &[UnrepeatedSamples]) -> Option<WitnessMismatch> {
    let shortest = |values: &mut dyn Iterator<Item = f64>| values.reduce(f64::min);
    let unseen = shortest(&mut processes.iter().flat_map(|process| each(process).take(process.unseen as usize)))?;
    let seen = shortest(&mut processes.iter().flat_map(|process| each(process).skip(process.unseen as usize)))?;
    let launches = processes.iter().map(|process| process.launches.max(1)).min().unwrap_or(1);
    let once_us = ONCE_US / f64::from(launches);
    longer((unseen, "on inputs that it has not met"), (seen, "on others"), LONGER_UNSEEN, once_us)
}

/// Microseconds per launch in each sample, less the allowance.
pub(super) fn each(process: &UnrepeatedSamples) -> impl Iterator<Item = f64> + '_ {
    let launches = f64::from(process.launches.max(1));
    process.samples.iter().map(move |us| (us - process.fixed_us.max(0.0) - ONCE_US) / launches)
}

/// A mismatch if a launch takes more than `accepted` times as long as another, and `resolution_us` more.
fn longer(
    (us, condition): (f64, &str),
    (usual_us, usual): (f64, &str),
    accepted: f64,
    resolution_us: f64,
) -> Option<WitnessMismatch> {
    (us > accepted * usual_us + resolution_us).then(|| WitnessMismatch {
        factor: us / usual_us,
        clear: CLEAR,
        reason: format!(
            "repeats take less time: a launch takes {} µs {usual}, but {} µs {condition}: a factor of {}",
            short(usual_us),
            short(us),
            short(us / usual_us)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_that_repeats_make_shorter_does_not_fit() {
        let factor = |us, usual| longer((us, "anew"), (usual, "again"), 1.1, 0.5).map(|mismatch| mismatch.factor);
        assert_eq!(factor(11.4, 10.0), None);
        assert!(factor(11.6, 10.0).unwrap() < CLEAR && factor(31.0, 10.0).unwrap() > CLEAR);
    }

    #[test]
    fn a_sample_is_granted_its_fixed_time_once() {
        let process = UnrepeatedSamples { launches: 2, fixed_us: 2.0, samples: vec![13.0, 14.0], unseen: 1 };
        assert_eq!(each(&process).collect::<Vec<_>>(), [5.0, 5.5]);
    }
}
