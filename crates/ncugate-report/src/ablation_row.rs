//! What the costs of a variant were worth on copies of its machine code.

use crate::number;
use ncu_explain::MeasuredGain;
use ncugate_model::{AblationOutcome, AblationRecord, CleanText, ShapeName, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

/// A copy of the machine code without one cost. It is no variant: it is not checked, and its outputs are wrong.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AblationRow {
    /// How the copy differs: `without its barriers`.
    pub edit: CleanText,
    /// Null if it could not be measured.
    pub gain: Option<MeasuredGain>,
    /// In words: the gain with its interval, or why it could not be measured.
    pub says: CleanText,
}

impl AblationRow {
    /// The ablations of a variant at a shape: the largest gain first, then those that could not be measured.
    pub fn all(records: &[AblationRecord], variant: &VariantId, shape: &ShapeName) -> Vec<Self> {
        let of_case = |record: &&AblationRecord| (&record.variant, &record.shape) == (variant, shape);
        let mut rows: Vec<Self> = records.iter().filter(of_case).map(Self::of).collect();
        let key = |row: &Self| row.gain.as_ref().map_or(f64::NEG_INFINITY, |gain| gain.percent);
        rows.sort_by(|a, b| key(b).total_cmp(&key(a)));
        rows
    }

    fn of(record: &AblationRecord) -> Self {
        let gain = record.gain().map(|gain| MeasuredGain::of(record, gain));
        let says = match (&gain, &record.outcome) {
            (Some(gain), _) => {
                let left = if gain.left > 0 { format!(", {} left as they are", gain.left) } else { String::new() };
                let changed = if gain.changed > 0 {
                    number::counted(gain.changed as usize, "instruction")
                } else {
                    "launches".to_owned()
                };
                let [low, high] = gain.interval;
                let (percent, word, from, to) = match gain.percent < 0.0 {
                    true => (-gain.percent, "more", -high, -low),
                    false => (gain.percent, "less", low, high),
                };
                format!("{percent:.1} % {word} time ({from:.1} to {to:.1} %; {changed} changed{left})")
            }
            (None, AblationOutcome::NotMeasured { reason }) => format!("could not be measured: {reason}"),
            (None, AblationOutcome::Measured(_)) => String::new(),
        };
        Self { edit: record.edit.to_string().into(), gain, says: says.into() }
    }
}
