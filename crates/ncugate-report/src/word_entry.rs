//! The meaning of a word as a document.

use super::document::{Document, DocumentBlock, Section};
use ncu_explain::WordEntry;

/// The entry for people.
pub fn document(entry: &WordEntry) -> Document {
    let about = if entry.kind == "rule" { "Symptoms" } else { "Shown by rules" };
    let related: Vec<String> = if entry.rules.is_empty() { Vec::new() } else { vec![entry.rules.join(", ")] };
    let parts =
        [("Meaning", &entry.meaning), ("Measured", &entry.measured), ("Do", &entry.remedies), (about, &related)];
    let title = format!("{} ({})", entry.word, entry.kind);
    let mut blocks = vec![DocumentBlock::Text(title.clone())];
    blocks.extend(parts.into_iter().filter_map(|(head, lines)| Section::of_lines(head, lines.iter().cloned())));
    Document { title, sentence: String::new(), blocks }
}
