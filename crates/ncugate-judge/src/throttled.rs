//! Rounds in which the GPU lowered its clocks. They count, unless they decide: then the case is open, and more rounds are taken.

use super::bound_gate::BoundGate;
use super::case_outcome::{CaseOutcome, holds};
use super::case_samples::Parts;
use super::compiled_requirement::CompiledForm;
use super::operand::{CaseSamples, SampleSeries};
use super::results::InconclusiveKind;
use ncugate_model::expr::Value;
use ncugate_model::{Throttle, Verdict};

impl SampleSeries {
    /// Whether a round of its samples ran with lowered clocks.
    pub(super) fn is_throttled(&self) -> bool {
        self.throttle.iter().flat_map(|throttle| throttle.iter()).any(|throttle| throttle.is_active())
    }

    fn throttle_at(&self, round: usize) -> Throttle {
        self.throttle.as_ref().and_then(|throttle| throttle.get(round)).copied().unwrap_or_default()
    }

    /// The samples of other rounds.
    fn without(&self, left_out: impl Fn(usize) -> bool) -> Vec<f64> {
        let kept = self.samples.iter().enumerate().filter(|(round, _)| !left_out(*round));
        kept.map(|(_, sample)| *sample).collect()
    }
}

impl BoundGate<'_> {
    /// Rejects a verdict that the other rounds alone would not give. If no round is left, a verdict stands only if the
    /// power limit was the reason in each: it is a property of the card, and a run with another one is not compared.
    pub(super) fn unless_throttled(
        &self,
        outcome: CaseOutcome,
        mut values: Vec<Value>,
        samples: &CaseSamples,
        shape: usize,
    ) -> CaseOutcome {
        if outcome.verdict == Verdict::Inconclusive {
            return outcome;
        }
        // Kernels that went through the same rounds are compared by rounds.
        let shared: Vec<&SampleSeries> = samples.all().filter(|series| series.is_of_shared_rounds()).collect();
        let of = |series: &SampleSeries, round: usize| match series.is_of_shared_rounds() {
            true => shared.iter().fold(Throttle::default(), |all, one| all.and(one.throttle_at(round))),
            false => series.throttle_at(round),
        };
        let (mut throttled, mut rounds, mut reasons, mut is_left) = (0, 0, Throttle::default(), true);
        for (at, timed) in samples.timed.iter().enumerate() {
            let operand = &self.operands[at];
            let fixed = operand.fixed(shape);
            let mut parts = Parts::of(operand, fixed, &values[at]);
            for (is_own, series) in [(true, &timed.own), (false, &timed.other)] {
                let Some(series) = series else { continue };
                let all: Vec<Throttle> = (0..series.samples.len()).map(|round| of(series, round)).collect();
                let active = all.iter().filter(|throttle| throttle.is_active());
                (throttled, rounds) = (throttled.max(active.clone().count()), rounds.max(all.len()));
                reasons = active.fold(reasons, |reasons, one| reasons.and(*one));
                let kept = series.without(|round| all[round].is_active());
                let known = if is_own { parts.own } else { parts.other };
                let Some(known) = known else { continue };
                match series.timing.value(&kept, (known, &series.samples)) {
                    Ok(number) if !kept.is_empty() => parts = parts.with(is_own, number),
                    Ok(_) | Err(_) => is_left = false,
                }
            }
            if timed.own.is_some() || timed.other.is_some() {
                let Some(whole) = parts.whole(operand) else { continue };
                values[at] = Value::Float(whole);
            }
        }
        let open = |note: String| CaseOutcome {
            verdict: Verdict::Inconclusive,
            inconclusive: Some(InconclusiveKind::Noise),
            estimate: None,
            note: Some(note.into()),
            ..outcome.clone()
        };
        if !is_left {
            return match reasons.is_unusual() {
                true => open(format!("throttled: all {rounds} rounds ran under {reasons}")),
                false => outcome,
            };
        }
        match self.point_verdict(&values) {
            Some(verdict) if verdict == outcome.verdict => outcome,
            Some(_) | None => open(format!(
                "throttled: {throttled} of {rounds} rounds ran under {reasons}, and without them the verdict differs"
            )),
        }
    }

    /// The verdict of values, regardless of noise.
    fn point_verdict(&self, values: &[Value]) -> Option<Verdict> {
        let is_held = match &self.requirement.form {
            CompiledForm::Compare { left, comparison, right } => {
                holds(*comparison, left.number(values).ok()?, right.number(values).ok()?)
            }
            CompiledForm::Condition(side) => side.truth(values).ok()?,
        };
        Some(if is_held { Verdict::Pass } else { Verdict::Fail })
    }
}
