//! Compares ncu's duration of an evaluation with evaluations that were timed under the same conditions.
//!
//! Both launch one kernel at a time, on refilled buffers, with flushed caches; each clock adds to a launch what it adds to
//! an empty kernel, which was measured in the same process and is subtracted. The rest is the work of the kernel. On an
//! H200, 13 kernels from 2 us to 11 ms differ by at most 1.2 % or 0.4 us (`tests/gpu/isolated.sh`). The accepted difference
//! is that of single launches under ncu and the resolution of the clock. A spread that is larger confirms nothing, and it
//! accepts nothing, because a kernel controls its own spread.

use super::{CLEAR, WitnessMismatch};
use ncugate_model::number::short;
use ncugate_model::{IsolatedSamples, stats, words};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Least evaluations in each process.
const LEAST: usize = 5;
/// Microseconds that each kernel is granted: the resolution of CUDA events (0.5, CUDA driver API, `cuEventElapsedTime`), and
/// what the end of a kernel that writes takes longer than that of an empty one. 16 launches of 1 us each were off by 0.6 us each
/// on an H200 (the page of `tests/gpu/honest/copy.toml`).
const RESOLUTION_US: f64 = 0.75;
/// Accepted difference to the profiler, as a share of the median: ncu measures one launch, and a product in two parts differed
/// from its launches alone by 7 % each time on an H200 (`tests/gpu/honest.sh`). Evaluations whose quartiles are further from each
/// other confirm nothing; those of a strided transposition are 5 to 7 % from each other.
const WIDEST: f64 = 0.1;
/// The same in microseconds for each kernel, of which twice the quartile distance is accepted.
const WIDEST_US: f64 = 1.0;

/// Maximum ratio of a latency to an evaluation alone: clocks fall under load.
const SLOWER: f64 = 2.0;

/// The duration of an evaluation under a profiler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ProfiledEvaluation {
    /// All kernels together, in microseconds.
    pub us: f64,
    pub kernels: u32,
    /// Microseconds of an empty kernel under the profiler.
    pub empty_us: f64,
    /// The clock of the multiprocessors in MHz, if it is known.
    pub clock_mhz: Option<f64>,
    pub profiler: DurationSource,
}

words! {
    name;
    /// What measured a duration.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum DurationSource {
        /// Nsight Compute.
        Ncu = "ncu",
        /// CUPTI's activity records.
        Cupti = "CUPTI",
    }
}

/// The work of an evaluation, measured twice under equal conditions, in microseconds without what a clock adds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WorkDurations {
    /// Timed alone: the median.
    pub isolated_us: f64,
    /// Under the profiler.
    pub profiled_us: f64,
    /// Accepted difference.
    pub accepted_us: f64,
    /// Source of the duration under the profiler.
    pub profiler: DurationSource,
}

impl fmt::Display for WorkDurations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [isolated, profiled, accepted] = [self.isolated_us, self.profiled_us, self.accepted_us].map(short);
        write!(f, "{isolated} µs alone, {profiled} µs under {}, accepted ±{accepted} µs", self.profiler)
    }
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DurationComparison {
    /// Nothing was measured to compare, with the reason.
    Unknown(String),
    /// The evaluations differ too much from each other, with the reason.
    Unsteady(String),
    Agree(WorkDurations),
    Differ(WorkDurations, WitnessMismatch),
}

/// Compares an evaluation under a profiler with evaluations of one or more processes, each of which must agree.
pub(super) fn compare(processes: &[&IsolatedSamples], profiled: &ProfiledEvaluation) -> DurationComparison {
    let works: Vec<Vec<f64>> = processes.iter().map(|process| work(process)).collect();
    let timed = |process: &&IsolatedSamples| process.samples.len().min(process.evaluations.len());
    let fewest = processes.iter().map(timed).min().unwrap_or(0);
    let mut all = works.iter().flatten().chain(processes.iter().flat_map(|process| &process.evaluations));
    if fewest < LEAST || all.any(|us| !us.is_finite()) {
        return DurationComparison::Unknown(format!(
            "{fewest} launches were timed under the conditions of the profiler, {LEAST} are needed: its duration confirms no latency"
        ));
    }
    if !profiled.empty_us.is_finite() {
        return DurationComparison::Unknown(format!(
            "{} measured no empty kernel: its duration confirms no latency",
            profiled.profiler
        ));
    }
    let all: Vec<f64> = works.iter().flatten().copied().collect();
    // How far launches of one process are from each other. Each process has to agree with the profiler by itself.
    let middle = |us: &[f64]| stats::median(us).unwrap_or(f64::NAN);
    let off: Vec<f64> = works.iter().flat_map(|us| us.iter().map(|each| each - middle(us))).collect();
    let (Ok(median), Ok([_, lower, _, upper, _])) = (stats::median(&all), stats::five_number_summary(&off)) else {
        return DurationComparison::Unknown("the launches alone have no median".to_owned());
    };
    let distance = upper - lower;
    let kernels = f64::from(profiled.kernels.max(1));
    if distance > f64::max(WIDEST * median, WIDEST_US * kernels) {
        return DurationComparison::Unsteady(format!(
            "launches alone take {} to {} µs (quartiles): too unlike each other to be compared with the profiler's duration",
            short(median + lower),
            short(median + upper)
        ));
    }
    let work = profiled.us - kernels * profiled.empty_us;
    let short_kernels = 2.0 * distance.min(WIDEST_US * kernels);
    let accepted = f64::max(WIDEST * median, short_kernels) + kernels * RESOLUTION_US;
    let durations =
        WorkDurations { isolated_us: median, profiled_us: work, accepted_us: accepted, profiler: profiled.profiler };
    let differs = |process: &&IsolatedSamples, us: &Vec<f64>| {
        let (shortest, longest) = at_the_clock_of(profiled, process, middle(us));
        !(work >= shortest - accepted && work <= longest + accepted)
    };
    match processes.iter().zip(&works).find(|(process, us)| differs(process, us)) {
        None => DurationComparison::Agree(durations),
        Some((_, us)) => {
            let isolated_us = middle(us);
            let durations = WorkDurations { isolated_us, ..durations };
            DurationComparison::Differ(durations, mismatch(&durations))
        }
    }
}

/// A mismatch if a latency is far above its evaluations alone, which pay for cold caches and for the launch of every kernel.
/// A baseline that is slow only while it is timed is no standard.
pub(super) fn slower(processes: &[&IsolatedSamples], latency_us: f64) -> Option<WitnessMismatch> {
    let all: Vec<f64> = processes.iter().flat_map(|process| process.evaluations.iter().copied()).collect();
    let alone = stats::median(&all).ok()?;
    (latency_us > SLOWER * alone).then(|| WitnessMismatch {
        factor: 1.0,
        clear: CLEAR,
        reason: format!(
            "two durations disagree: {} µs undisturbed, {} µs alone with cold caches",
            short(latency_us),
            short(alone)
        ),
    })
}

/// The work of each evaluation.
fn work(process: &IsolatedSamples) -> Vec<f64> {
    let added = f64::from(process.kernels) * process.empty_us;
    process.samples.iter().map(|us| us - added).collect()
}

/// A duration at the clock of the process, and at that of the profiler. A kernel that waits for memory takes as long at
/// either, one that computes takes as many clocks.
fn at_the_clock_of(profiled: &ProfiledEvaluation, process: &IsolatedSamples, us: f64) -> (f64, f64) {
    let clocks = stats::median(&process.clock_mhz).ok().zip(profiled.clock_mhz);
    let ratio = clocks.map(|(own, other)| own / other).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    let scaled = us * ratio.unwrap_or(1.0);
    (us.min(scaled), us.max(scaled))
}

fn mismatch(durations: &WorkDurations) -> WitnessMismatch {
    let WorkDurations { isolated_us, profiled_us, accepted_us, profiler } = *durations;
    let ratio = profiled_us / isolated_us;
    WitnessMismatch {
        // A launch that is shorter under the profiler proves no cheat: a function may do more than kernels when it is timed.
        factor: if ratio.is_finite() { ratio.max(1.0) } else { 1.0 },
        clear: CLEAR,
        reason: format!(
            "two durations disagree under equal conditions: {} µs timed alone, {} µs under {profiler}; ±{} µs are accepted",
            short(isolated_us),
            short(profiled_us),
            short(accepted_us),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(samples: &[f64]) -> IsolatedSamples {
        let samples = samples.to_vec();
        IsolatedSamples { kernels: 1, empty_us: 2.0, evaluations: samples.clone(), samples, clock_mhz: vec![1980.0] }
    }

    fn ncu(us: f64) -> ProfiledEvaluation {
        ProfiledEvaluation { us, kernels: 1, empty_us: 1.0, clock_mhz: Some(1980.0), profiler: DurationSource::Ncu }
    }

    fn differs(processes: &[&IsolatedSamples], profiled: &ProfiledEvaluation) -> bool {
        match compare(processes, profiled) {
            DurationComparison::Agree(_) => false,
            DurationComparison::Differ(..) => true,
            DurationComparison::Unknown(reason) | DurationComparison::Unsteady(reason) => panic!("{reason}"),
        }
    }

    #[test]
    fn the_work_is_compared_without_what_the_clocks_add() {
        let steady = process(&[12.0; 8]);
        let agreed =
            WorkDurations { isolated_us: 10.0, profiled_us: 10.0, accepted_us: 1.75, profiler: DurationSource::Ncu };
        assert_eq!(compare(&[&steady], &ncu(11.0)), DurationComparison::Agree(agreed), "10 % and the resolution");
        assert!(!differs(&[&steady], &ncu(12.7)) && !differs(&[&steady], &ncu(9.3)));
        assert!(differs(&[&steady], &ncu(12.8)) && differs(&[&steady], &ncu(9.2)));
        let of_four = IsolatedSamples { kernels: 4, ..process(&[48.0; 8]) };
        let each = |us| ProfiledEvaluation { kernels: 4, ..ncu(us) };
        assert!(!differs(&[&of_four], &each(50.9)), "each kernel has its own resolution");
        assert!(differs(&[&of_four], &each(51.1)));
    }

    #[test]
    fn the_accepted_difference_is_the_spread_and_a_wide_spread_confirms_nothing() {
        // Quartiles at 118 and 122.
        let lively = process(&[116.0, 118.0, 118.0, 119.0, 120.0, 121.0, 122.0, 122.0, 125.0].map(|us| us + 2.0));
        assert!(!differs(&[&lively], &ncu(133.5)) && differs(&[&lively], &ncu(134.0)));
        let wild = process(&[100.0, 105.0, 110.0, 115.0, 120.0, 125.0, 130.0]);
        assert!(
            matches!(compare(&[&wild], &ncu(110.0)), DurationComparison::Unsteady(reason) if reason.contains("unlike each other"))
        );
        let short = process(&[4.0, 4.2, 4.4, 4.6, 4.8, 5.0]);
        assert!(matches!(compare(&[&short], &ncu(3.0)), DurationComparison::Agree(_)), "a microsecond is no spread");
    }

    #[test]
    fn every_process_has_to_agree_and_to_have_been_timed() {
        let (one, other) = (process(&[12.0; 8]), process(&[6.0; 8]));
        assert!(differs(&[&one, &one, &one, &one, &one, &other], &ncu(11.0)));
        for few in [&[][..], &[12.0; 4], &[12.0, 12.0, 12.0, 12.0, f64::NAN]] {
            assert!(matches!(compare(&[&one, &process(few)], &ncu(11.0)), DurationComparison::Unknown(_)));
        }
        assert!(matches!(compare(&[], &ncu(11.0)), DurationComparison::Unknown(_)));
        let without_empty = ProfiledEvaluation { empty_us: f64::NAN, ..ncu(11.0) };
        assert!(matches!(compare(&[&one], &without_empty), DurationComparison::Unknown(_)));
        let in_part = IsolatedSamples { evaluations: Vec::new(), ..one.clone() };
        assert!(matches!(compare(&[&in_part], &ncu(11.0)), DurationComparison::Unknown(_)), "`slower` needs them");
        let nameless = IsolatedSamples { empty_us: f64::NAN, ..one };
        assert!(matches!(compare(&[&nameless], &ncu(11.0)), DurationComparison::Unknown(_)));
    }

    #[test]
    fn a_low_clock_explains_at_most_as_many_clocks() {
        let steady = process(&[12.0; 8]);
        let slow = |us| ProfiledEvaluation { clock_mhz: Some(990.0), ..ncu(us) };
        assert!(
            !differs(&[&steady], &slow(21.0)) && !differs(&[&steady], &slow(11.0)) && differs(&[&steady], &slow(22.9))
        );
        assert!(differs(&[&steady], &ProfiledEvaluation { clock_mhz: None, ..ncu(21.0) }));
    }

    #[test]
    fn a_latency_that_is_twice_an_evaluation_alone_is_no_standard() {
        let steady = process(&[12.0; 8]);
        assert_eq!(slower(&[&steady], 24.0), None);
        assert!(slower(&[&steady], 24.1).unwrap().gravity() < 1.0);
    }

    #[test]
    fn twenty_times_shorter_than_under_the_profiler_is_another_launch() {
        let gravity = |us: f64, profiled: f64| match compare(&[&process(&[us + 2.0; 8])], &ncu(profiled + 1.0)) {
            DurationComparison::Differ(_, mismatch) => mismatch.gravity(),
            other => panic!("{other:?}"),
        };
        assert!(gravity(3.0, 61.0) >= 1.0 && gravity(4.0, 61.0) < 1.0);
        assert!(gravity(61.0, 3.0) < 1.0, "shorter under the profiler");
    }
}
