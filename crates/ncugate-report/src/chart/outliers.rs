//! Baselines so distant from every candidate that they would flatten a picture.

use super::charted_run::VariantRow;
use ncugate_model::number;

/// Baselines slower than the slowest shown variant by this factor are named next to a chart, not drawn in it.
pub const FAR: f64 = 1.5;

/// ` Off the scale: sdpa_math (58.18).`
pub fn off_the_scale(variants: &[(&VariantRow, f64)]) -> String {
    if variants.is_empty() {
        return String::new();
    }
    let names: Vec<String> = variants.iter().map(|(v, y)| format!("{} ({})", v.short, number::plain(*y))).collect();
    format!(" Off the scale: {}.", names.join(", "))
}
