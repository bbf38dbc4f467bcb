//! Combines the records of a case: a wrong result stays wrong, and a later record counts only if the campaign
//! replaces earlier ones.

use ncugate_model::{
    BitwiseOutcome, BitwiseRecord, CheckOutcome, CheckRecord, ConfirmationRecord, DeepProfile, LatencyOutcome,
    LatencyRecord, ProfileRecord, ProfiledOutputs, SanitizerOutcome, SanitizerRecord, unsound_samples,
};
use std::collections::{BTreeMap, BTreeSet};

/// The last record of each case, in order of first appearance: for records that are always replaced as a whole.
pub fn latest<T, K: Ord>(records: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    folded(records, key, |_, later| later)
}

/// All check records. Equal records of a case are merged, and a check replaces a skipped check of the same case.
/// Nothing else is dropped, so a wrong result keeps counting.
pub fn checks(records: Vec<CheckRecord>) -> Vec<CheckRecord> {
    let case = |record: &CheckRecord| (record.variant.clone(), record.shape.clone(), record.seed);
    let skipped = |record: &CheckRecord| matches!(record.outcome, CheckOutcome::Skipped { .. });
    let checked: BTreeSet<_> = records.iter().filter(|record| !skipped(record)).map(case).collect();
    let mut kept: BTreeMap<_, Vec<CheckOutcome>> = BTreeMap::new();
    let mut unlike_earlier = |record: &CheckRecord| {
        let known = kept.entry(case(record)).or_default();
        let is_new = !known.contains(&record.outcome);
        if is_new {
            known.push(record.outcome.clone());
        }
        is_new
    };
    let counts = |record: &CheckRecord| !(skipped(record) && checked.contains(&case(record)));
    records.into_iter().filter(|record| counts(record) && unlike_earlier(record)).collect()
}

/// One record per variant and shape. More rounds replace fewer; a failure is never replaced. Impossible samples count
/// as a failure.
pub fn latencies(records: Vec<LatencyRecord>) -> Vec<LatencyRecord> {
    let records = records.into_iter().map(sound).collect();
    folded(
        records,
        |record: &LatencyRecord| (record.variant.clone(), record.shape.clone()),
        |earlier, later| if stands(&earlier.outcome) { earlier } else { later },
    )
}

/// One record per variant, shape and group of metrics. A repeated profile replaces the earlier one, unless that had
/// wrong outputs.
pub fn profiles(records: Vec<ProfileRecord>) -> Vec<ProfileRecord> {
    folded(
        records,
        |record: &ProfileRecord| (record.variant.clone(), record.shape.clone(), record.metrics.clone()),
        |earlier, later| if is_wrong(&earlier.outputs) { earlier } else { later },
    )
}

/// One record per variant and shape, combined like [`profiles`].
pub fn deep_profiles(records: Vec<DeepProfile>) -> Vec<DeepProfile> {
    folded(
        records,
        |record: &DeepProfile| (record.variant.clone(), record.shape.clone()),
        |earlier, later| if is_wrong(&earlier.outputs) { earlier } else { later },
    )
}

/// One record per variant, shape and tool. A finding is never replaced, and a failure does not replace a result.
pub fn sanitizer(records: Vec<SanitizerRecord>) -> Vec<SanitizerRecord> {
    let gravity = |record: &SanitizerRecord| match record.outcome {
        SanitizerOutcome::Failed { .. } => 0,
        SanitizerOutcome::Clean => 1,
        SanitizerOutcome::Found { .. } => 2,
    };
    folded(
        records,
        |record: &SanitizerRecord| (record.variant.clone(), record.shape.clone(), record.tool),
        |earlier, later| if gravity(&later) > gravity(&earlier) { later } else { earlier },
    )
}

/// One record per variant, shape and comparison. A difference is never replaced, and an unknown result does not replace another.
pub fn bitwise(records: Vec<BitwiseRecord>) -> Vec<BitwiseRecord> {
    let gravity = |record: &BitwiseRecord| match record.outcome {
        BitwiseOutcome::Unknown { .. } => 0,
        BitwiseOutcome::Equal { .. } => 1,
        BitwiseOutcome::Different { .. } => 2,
    };
    folded(
        records,
        |record: &BitwiseRecord| (record.variant.clone(), record.shape.clone(), record.comparison.clone()),
        |earlier, later| if gravity(&later) > gravity(&earlier) { later } else { earlier },
    )
}

fn is_wrong(outputs: &Option<ProfiledOutputs>) -> bool {
    outputs.as_ref().is_some_and(|outputs| outputs.wrong().is_some())
}

/// One record per variant and shape. Later looks replace earlier ones, which they include.
pub fn confirmations(records: Vec<ConfirmationRecord>) -> Vec<ConfirmationRecord> {
    let checked = |record: ConfirmationRecord| ConfirmationRecord { timed: sound(record.timed), ..record };
    folded(
        records.into_iter().map(checked).collect(),
        |record: &ConfirmationRecord| (record.timed.variant.clone(), record.timed.shape.clone()),
        |earlier, later| if stands(&earlier.timed.outcome) { earlier } else { later },
    )
}

/// Whether no later outcome can replace this one.
const fn stands(outcome: &LatencyOutcome) -> bool {
    match outcome {
        LatencyOutcome::Failed { .. } | LatencyOutcome::Cheats { .. } | LatencyOutcome::Wrong { .. } => true,
        LatencyOutcome::Timed { .. } => false,
    }
}

/// The record, marked as failed if its samples cannot be times of launches.
fn sound(mut record: LatencyRecord) -> LatencyRecord {
    let reason = match &record.outcome {
        LatencyOutcome::Timed { launches: 0, .. } => Some("its samples have no launches".to_owned()),
        LatencyOutcome::Timed { samples, .. } => unsound_samples(samples),
        LatencyOutcome::Cheats { .. } | LatencyOutcome::Wrong { .. } | LatencyOutcome::Failed { .. } => None,
    };
    if let Some(reason) = reason {
        record.outcome = LatencyOutcome::Failed { reason };
    }
    record
}

fn folded<T, K: Ord>(records: Vec<T>, key: impl Fn(&T) -> K, join: impl Fn(T, T) -> T) -> Vec<T> {
    let mut order: Vec<Option<T>> = Vec::new();
    let mut at: BTreeMap<K, usize> = BTreeMap::new();
    for record in records {
        let place = *at.entry(key(&record)).or_insert(order.len());
        match order.get_mut(place) {
            Some(slot) => *slot = slot.take().map(|earlier| join(earlier, record)),
            None => order.push(Some(record)),
        }
    }
    order.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::ProfileOutcome;
    use ncugate_model::{Differences, ShapeName, VariantId};

    fn check(outcome: CheckOutcome) -> CheckRecord {
        CheckRecord { variant: VariantId("v".into()), shape: ShapeName("s".into()), seed: 0, outcome, nulls: 0 }
    }

    fn latency(outcome: LatencyOutcome) -> LatencyRecord {
        LatencyRecord { variant: VariantId("v".into()), shape: ShapeName("s".into()), outcome }
    }

    fn timed(samples: &[f64]) -> LatencyRecord {
        latency(LatencyOutcome::Timed { samples: samples.to_vec(), launches: 20, audit: None, gpu: None })
    }

    fn failed() -> LatencyRecord {
        latency(LatencyOutcome::Failed { reason: "crashed".to_owned() })
    }

    #[test]
    fn a_case_that_was_once_wrong_is_not_healed() {
        let differences = Differences { compared: 1, ..Differences::default() };
        let right = || check(CheckOutcome::Correct { differences });
        let crashed = || check(CheckOutcome::Crashed { reason: "hang".to_owned() });
        let skipped = || check(CheckOutcome::Skipped { reason: "absent".to_owned() });
        assert_eq!(checks(vec![crashed(), right()]), [crashed(), right()]);
        assert_eq!(checks(vec![right(), right()]), [right()]);
        assert_eq!(checks(vec![skipped(), right()]), [right()]);
        assert_eq!(checks(vec![skipped(), skipped()]), [skipped()]);
    }

    #[test]
    fn outputs_that_were_once_wrong_stay_so() {
        let record = |outputs: ProfiledOutputs| ProfileRecord {
            variant: VariantId("v".into()),
            shape: ShapeName("s".into()),
            metrics: Vec::new(),
            outcome: ProfileOutcome::Profiled { report: "a.ncu-rep".to_owned() },
            outputs: Some(outputs),
        };
        let right = || record(ProfiledOutputs::Right { seed: 1, evaluations: 1 });
        let wrong = || record(ProfiledOutputs::Wrong { seed: 1, reason: "off".to_owned() });
        assert_eq!(profiles(vec![wrong(), right()]), [wrong()]);
        assert_eq!(profiles(vec![right(), wrong()]), [wrong()]);
    }

    #[test]
    fn more_rounds_take_the_place_of_fewer_and_a_failure_stays() {
        assert_eq!(latencies(vec![timed(&[1.0]), timed(&[1.0, 2.0])]), [timed(&[1.0, 2.0])]);
        assert_eq!(latencies(vec![failed(), timed(&[1.0])]), [failed()]);
        assert_eq!(latencies(vec![timed(&[1.0]), failed()]), [failed()]);
    }

    #[test]
    fn samples_that_are_not_times_are_failures() {
        for samples in [&[-1.0][..], &[0.0], &[f64::NAN], &[f64::INFINITY], &[90_000e6], &[], &[1.0, 1e-300]] {
            let outcome = &latencies(vec![timed(samples), timed(&[1.0])])[0].outcome;
            assert!(matches!(outcome, LatencyOutcome::Failed { .. }), "{samples:?}: {outcome:?}");
        }
        let most = ncugate_model::MOST_SAMPLES;
        for (count, is_timed) in [(most, true), (most + 1, false)] {
            let outcome = &latencies(vec![timed(&vec![1.0; count])])[0].outcome;
            assert_eq!(matches!(outcome, LatencyOutcome::Timed { .. }), is_timed, "{count} samples");
        }
    }
}
