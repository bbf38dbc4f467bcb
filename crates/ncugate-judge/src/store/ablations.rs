//! Measured causes of a run, in a separate file. It has no seal, because `explain --measure` adds to it later, and nothing
//! that judges reads it.

use super::{StoreError, journal, write_atomically};
use ncugate_model::AblationRecord;
use std::path::Path;

const STEM: &str = "ablations";

/// The ablations of a run; none from a damaged file.
pub fn ablations(folder: &Path) -> Vec<AblationRecord> {
    journal::read(folder, STEM).unwrap_or_default()
}

/// Replaces those of the variant and shape of `records`.
///
/// # Errors
/// The file cannot be written.
pub fn keep_ablations(folder: &Path, records: &[AblationRecord]) -> Result<(), StoreError> {
    let path = folder.join(format!("{STEM}.jsonl"));
    let is_replaced =
        |old: &AblationRecord| records.iter().any(|record| record.variant == old.variant && record.shape == old.shape);
    let kept = ablations(folder).into_iter().filter(|old| !is_replaced(old));
    let mut text = Vec::new();
    for record in kept.chain(records.iter().cloned()) {
        let encode = |reason: serde_json::Error| StoreError::Encode { path: path.clone(), reason: reason.to_string() };
        serde_json::to_writer(&mut text, &record).map_err(encode)?;
        text.push(b'\n');
    }
    write_atomically(&path, &text)
}
