//! The windows in which the energy of a launch was measured.

use super::inputs::ReportInputs;
use super::number;
use ncugate_judge::frame::Quantities;
use ncugate_model::metric::id;
use ncugate_model::{CleanText, EnergyOutcome, EnergySource, ShapeName, Throttle, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

/// A variant's launches back to back at a shape.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EnergyRow {
    /// Lowest and highest millijoules of a launch in a window. The median is `energy_per_launch`.
    pub interval: (f64, f64),
    pub windows: usize,
    /// Launches in all windows.
    pub launches: u64,
    /// Seconds of all windows.
    pub seconds: f64,
    /// Where the energy is from.
    pub source: CleanText,
    /// Windows in which the GPU lowered its clocks.
    pub throttled: usize,
    /// Why it lowered them; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasons: Option<CleanText>,
}

impl EnergyRow {
    /// The measurement of a case; `None` if it gave no value.
    pub fn at(quantities: &Quantities, variant: &VariantId, shape: &ShapeName) -> Option<Self> {
        quantities.read(variant, shape, id::ENERGY_PER_LAUNCH.name()).value()?;
        Self::of(quantities.energy_at(quantities.row(variant, shape)?)?)
    }

    fn of(outcome: &EnergyOutcome) -> Option<Self> {
        let each = outcome.millijoules().ok()?;
        let EnergyOutcome::Measured { source, windows, .. } = outcome else { return None };
        let throttled = windows.iter().map(|window| window.throttle).filter(|throttle| throttle.is_active());
        let reasons = throttled.clone().fold(Throttle::default(), Throttle::and);
        Some(Self {
            interval: (each.iter().copied().reduce(f64::min)?, each.iter().copied().reduce(f64::max)?),
            windows: each.len(),
            launches: windows.iter().map(|window| window.launches).sum(),
            seconds: windows.iter().map(|window| window.seconds).sum(),
            source: match source {
                EnergySource::Counter => "NVML's energy counter",
                EnergySource::SampledPower => "NVML's power readings, integrated",
            }
            .into(),
            throttled: throttled.count(),
            reasons: reasons.is_active().then(|| reasons.to_string().into()),
        })
    }

    /// `148 mJ to 152 mJ a launch in 8 windows (12,000 launches in 2.05 s, by NVML's energy counter)`.
    pub fn text(&self) -> String {
        let [low, high] = [self.interval.0, self.interval.1].map(|each| number::in_sentence(each, "mJ"));
        let throttled = self.reasons.as_ref().map_or_else(String::new, |reasons| {
            format!("; {} of {} windows under {reasons}", self.throttled, self.windows)
        });
        let (launches, seconds) = (number::counted(self.launches as usize, "launch"), number::seconds(self.seconds));
        let (windows, source) = (self.windows, &self.source);
        format!("{low} to {high} a launch in {windows} windows ({launches} in {seconds}, by {source}){throttled}")
    }
}

/// What the energies mean, and the measurement of the selected variant at the objective's shape.
pub fn sentence(inputs: &ReportInputs<'_>) -> Option<String> {
    let selected = &inputs.judgement.selected.as_ref()?.variant;
    let row = EnergyRow::at(inputs.quantities, selected, &inputs.phase.objective.shape)?;
    let selected = CleanText::from(selected.0.as_str());
    Some(format!("Energy is that of the whole board, idle draw included, back to back; {selected}: {}.", row.text()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::EnergyWindow;

    #[test]
    fn a_row_states_launches_seconds_and_source() {
        let window = |joules, mask| {
            let throttle = Throttle::of_mask(mask);
            EnergyWindow { launches: 1500, seconds: 0.256, joules, throttle }
        };
        let windows = [222.0, 225.0, 228.0, 225.0, 225.0, 225.0, 225.0, 225.0].map(|joules| window(joules, 0));
        let mut windows = windows.to_vec();
        windows[2].throttle = Throttle::of_mask(0x4);
        let of = |windows| EnergyOutcome::Measured { source: EnergySource::Counter, settling_s: 0.3, windows };
        let text = EnergyRow::of(&of(windows)).unwrap().text();
        let expected = "148 mJ to 152 mJ a launch in 8 windows (12,000 launches in 2.05 s, by NVML's energy counter); 1 of 8 windows under power cap";
        assert_eq!(text, expected);
        assert_eq!(EnergyRow::of(&of(Vec::new())), None);
    }
}
