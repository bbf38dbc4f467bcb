//! Rounds in which the GPU lowered its clocks.

use super::*;
use crate::InconclusiveKind;

/// A gate on kernels that are slower by a tenth in rounds with these throttle reasons.
fn throttled(require: &str, mask: u64, is_slow: impl Fn(usize) -> bool) -> GateResult {
    let mut fixture = Fixture::new(&gate(require));
    fixture.throttle = Some((0..60).map(|round| Throttle::of_mask(if is_slow(round) { mask } else { 0 })).collect());
    let sample = |variant: usize, round: usize| {
        let slower = if is_slow(round) { 1.1 } else { 1.0 };
        (10.0 + variant as f64) * (1.0 + 0.002 * wiggle(round, variant)) * slower
    };
    let samples = |variant: usize| -> Arc<[f64]> { (0..60).map(|round| sample(variant, round)).collect() };
    for (row, (variant, _)) in fixture.places().into_iter().enumerate() {
        fixture.sample(row, samples(variant));
    }
    fixture.set("latency_p50", |variant, _| median(&samples(variant)).unwrap());
    fixture.first()
}

#[test]
fn a_verdict_that_throttled_rounds_decide_is_open() {
    let two_of_three = |round: usize| !round.is_multiple_of(3);
    let open = throttled("latency_p50 <= 10.5", 0x40, two_of_three);
    assert_eq!(open.verdict, OPEN, "{}", open.reason);
    let expected = "throttled: 40 of 60 rounds ran under hardware thermal slowdown";
    assert!(open.reason.contains(expected), "{}", open.reason);
    let outcome = &open.cases[0].outcome;
    assert_eq!(
        (outcome.inconclusive, outcome.estimate),
        (Some(InconclusiveKind::Noise), None),
        "more rounds are taken"
    );
    assert_eq!(throttled("latency_p50 <= 12", 0x40, two_of_three).verdict, PASS);
    assert_eq!(throttled("latency_p50 <= 9", 0x40, two_of_three).verdict, FAIL);
    // both sides went through the same rounds
    assert_eq!(throttled("latency_p50 <= 0.9 * baseline.latency_p50", 0x4, two_of_three).verdict, PASS);
}

#[test]
fn without_other_rounds_only_the_power_limit_leaves_a_verdict() {
    let capped = throttled("latency_p50 <= 12", 0x4, |_| true);
    assert_eq!(capped.verdict, PASS, "{}", capped.reason);
    let hot = throttled("latency_p50 <= 12", 0x4 | 0x20, |_| true);
    assert_eq!(hot.verdict, OPEN);
    assert!(hot.reason.contains("all 60 rounds ran under power cap, thermal slowdown"), "{}", hot.reason);
}
