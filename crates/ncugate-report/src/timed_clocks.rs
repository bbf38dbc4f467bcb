//! The GPU's clocks while variants were timed, as NVML reported them between rounds.

use super::inputs::{ReportInputs, RunSource};
use super::number;
use super::text;
use ncugate_model::{CleanText, GpuStates, LatencyOutcome, LatencyRecord, ShapeName, Throttle, VariantId};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// Spread of the clock, relative to the highest, from which samples are compared with it.
const SPREAD: f64 = 0.01;
/// Correlation of samples with the duration of a cycle from which they follow the clock.
const FOLLOWS: f64 = 0.8;
/// Most variants named in a sentence.
const NAMED: usize = 3;

/// Clocks in the rounds of a variant's samples at a shape, of sweep and confirmation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClockRow {
    /// Lowest and highest clock of the SMs in MHz.
    pub sm_mhz: (u32, u32),
    /// Lowest and highest clock of the memory in MHz.
    pub memory_mhz: (u32, u32),
    /// Highest temperature in degrees Celsius.
    pub celsius: u32,
    /// Highest power draw in watts.
    pub watts: u32,
    pub rounds: usize,
    /// Rounds in which the GPU lowered its clocks.
    pub throttled: usize,
    /// Why it lowered them; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasons: Option<CleanText>,
}

impl ClockRow {
    fn of(states: &GpuStates) -> Option<Self> {
        let range = |values: &[u32]| Some((*values.iter().min()?, *values.iter().max()?));
        let (throttled, reasons) = states.throttled();
        Some(Self {
            sm_mhz: states.sm_range()?,
            memory_mhz: range(&states.memory_mhz)?,
            celsius: *states.celsius.iter().max()?,
            watts: *states.watts.iter().max()?,
            rounds: states.sm_mhz.len(),
            throttled,
            reasons: reasons.is_active().then(|| reasons.to_string().into()),
        })
    }

    /// `SMs at 1.76 GHz to 1.98 GHz, memory at 2.62 GHz, up to 41 degrees and 310 W; 12 of 60 rounds under power cap`.
    pub fn text(&self) -> String {
        let range = |(low, high): (u32, u32)| {
            let (low, high) = (hertz(low), hertz(high));
            if low == high { low } else { format!("{low} to {high}") }
        };
        let throttled = self.reasons.as_ref().map_or_else(String::new, |reasons| {
            format!("; {} of {} rounds under {reasons}", self.throttled, self.rounds)
        });
        format!(
            "SMs at {}, memory at {}, up to {} degrees and {} W{throttled}",
            range(self.sm_mhz),
            range(self.memory_mhz),
            self.celsius,
            self.watts
        )
    }
}

fn hertz(mhz: u32) -> String {
    number::in_sentence(f64::from(mhz) * 1e6, "hz")
}

/// Every timed record with clocks.
fn timed<'a>(inputs: &ReportInputs<'a>) -> impl Iterator<Item = (&'a LatencyRecord, &'a [f64], &'a GpuStates)> {
    let run = inputs.run;
    let records = run.latencies.iter().chain(run.confirmations.iter().map(|record| &record.timed));
    records.filter_map(|record| match &record.outcome {
        LatencyOutcome::Timed { samples, gpu: Some(gpu), .. } if gpu.covers(samples.len()) => {
            Some((record, samples.as_slice(), gpu))
        }
        _ => None,
    })
}

/// The clocks by measured variant and shape.
pub fn rows<'a>(inputs: &ReportInputs<'a>) -> HashMap<(&'a VariantId, &'a ShapeName), ClockRow> {
    let mut all: HashMap<_, GpuStates> = HashMap::new();
    for (record, _, states) in timed(inputs) {
        all.entry((&record.variant, &record.shape)).or_default().extend(states);
    }
    all.into_iter().filter_map(|(case, states)| Some((case, ClockRow::of(&states)?))).collect()
}

/// The clocks of all rounds in words; none for a recording without them, since earlier versions read none.
pub fn words(inputs: &ReportInputs<'_>) -> Option<String> {
    let mut all = GpuStates::default();
    timed(inputs).for_each(|(_, _, states)| all.extend(states));
    let is_timed = |record: &LatencyRecord| matches!(record.outcome, LatencyOutcome::Timed { audit: Some(_), .. });
    match ClockRow::of(&all) {
        Some(row) => Some(row.text()),
        None if matches!(inputs.source, RunSource::Live) && inputs.run.latencies.iter().any(is_timed) => {
            Some("not read: NVML was not available".to_owned())
        }
        None => None,
    }
}

/// Rounds with lowered clocks, and latencies that follow the clock, a sentence each.
pub fn cautions(inputs: &ReportInputs<'_>) -> Vec<String> {
    let (mut throttled, mut rounds, mut reasons) = (0, 0, Throttle::default());
    for (_, samples, states) in timed(inputs) {
        let (count, why) = states.throttled();
        (throttled, rounds, reasons) = (throttled + count, rounds + samples.len(), reasons.and(why));
    }
    let lowered = (throttled > 0)
        .then(|| format!("The GPU lowered its clocks ({reasons}) in {throttled} of {rounds} rounds of all variants."));
    let following = timed(inputs).filter_map(|(record, samples, states)| {
        let slower = slowdown(samples, &states.sm_mhz)?;
        Some(format!("{} at shape '{}' ({slower:.2}x at the lowest clock)", record.variant, record.shape))
    });
    let named = text::listed(following, NAMED, ", ");
    let following = (!named.is_empty()).then(|| format!("Latency follows the clock of the SMs: {named}."));
    lowered.into_iter().chain(following).collect()
}

/// How much longer samples at the lowest clock take than those at the highest, if samples follow the clock.
fn slowdown(samples: &[f64], sm_mhz: &[u32]) -> Option<f64> {
    let cycles: Vec<f64> = sm_mhz.iter().map(|mhz| 1.0 / f64::from(*mhz)).collect();
    let (low, high) = (sm_mhz.iter().min()?, sm_mhz.iter().max()?);
    if f64::from(high - low) < SPREAD * f64::from(*high) || correlation(samples, &cycles)? < FOLLOWS {
        return None;
    }
    let mean = |clock: &u32| {
        let at = samples.iter().zip(sm_mhz).filter(|(_, mhz)| *mhz == clock).map(|(sample, _)| *sample);
        let (sum, count) = at.fold((0.0, 0.0), |(sum, count), sample| (sum + sample, count + 1.0));
        sum / count
    };
    Some(mean(low) / mean(high))
}

/// Pearson's correlation; none without variation.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum = |of: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| of(x - mean_a, y - mean_b)).sum::<f64>();
    let correlation = sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    correlation.is_finite().then_some(correlation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_the_clock_only_if_both_vary_together() {
        let clocks: Vec<u32> = (0..60_usize).map(|round| if round.is_multiple_of(3) { 990 } else { 1980 }).collect();
        let noise = |round: usize| 1.0 + 0.001 * ((round * 23 % 60) as f64 / 60.0);
        let following: Vec<f64> = (0..60).map(|round| 19800.0 / f64::from(clocks[round]) * noise(round)).collect();
        let slower = slowdown(&following, &clocks).unwrap();
        assert!((slower - 2.0).abs() < 0.01, "{slower}");
        let memory_bound: Vec<f64> = (0..60).map(|round| 10.0 * noise(round)).collect();
        assert_eq!(slowdown(&memory_bound, &clocks), None);
        assert_eq!(slowdown(&following, &[1980; 60]), None, "the clock does not vary");
    }

    #[test]
    fn a_range_has_its_reasons() {
        let mut states = GpuStates {
            sm_mhz: vec![1980, 990],
            memory_mhz: vec![2619; 2],
            celsius: vec![41, 88],
            watts: vec![310, 700],
            throttle: vec![Throttle::default(), Throttle::of_mask(0x4)],
        };
        let expected = "SMs at 0.99 GHz to 1.98 GHz, memory at 2.62 GHz, up to 88 degrees and 700 W; 1 of 2 rounds under power cap";
        assert_eq!(ClockRow::of(&states).unwrap().text(), expected);
        states = GpuStates::default();
        assert_eq!(ClockRow::of(&states), None);
    }
}
