//! Utilisation of the units of the chip, as rows of the banner.

use super::inputs::ReportInputs;
use super::number::{self, Number};
use schemars::JsonSchema;
use serde::Serialize;

/// A unit of the chip beside the most that it can do.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SpeedOfLightRow {
    /// The unit: `DRAM`.
    pub unit: String,
    /// Of the most it can do, in percent; none where it was not counted.
    pub percent: Option<Number>,
    /// The same in words.
    pub text: String,
}

/// Empty if no unit was counted.
pub fn rows(inputs: &ReportInputs<'_>) -> Vec<SpeedOfLightRow> {
    let counted = inputs.speed_of_light.iter().any(|unit| unit.percent.is_some());
    let rows = inputs.speed_of_light.iter().filter(|_| counted).map(|utilisation| SpeedOfLightRow {
        unit: utilisation.unit.to_owned(),
        percent: utilisation.percent.map(Number::new),
        text: utilisation.percent.map_or_else(|| "not counted".to_owned(), |percent| number::with_unit(percent, "%")),
    });
    rows.collect()
}
