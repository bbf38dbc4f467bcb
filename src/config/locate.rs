//! From a key path back to its place in the text, for what is found wrong after the file was understood.

use super::error::Place;
use crate::expr::Span;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A step of a key path.
enum Step<'k> {
    Key(&'k str),
    Index(usize),
}

/// Place of the key path (`kernel.grid[0]`, `variant[1].params`) in the text, if the file has it.
pub fn locate(text: &str, key: &str) -> Option<Place> {
    let document = DeTable::parse(text).ok()?;
    let mut steps = steps(key).into_iter();
    let Some(Step::Key(first)) = steps.next() else { return None };
    let mut at: &Spanned<DeValue<'_>> = document.get_ref().get(first)?;
    for step in steps {
        at = match (step, at.get_ref()) {
            (Step::Key(key), DeValue::Table(entries)) => entries.get(key)?,
            (Step::Index(index), DeValue::Array(items)) => items.get(index)?,
            _ => return None,
        };
    }
    Some(Place { key: key.to_owned(), span: at.span() })
}

/// Place of a part of `value`, a text that is written at `place`; the whole of it where no part is given, or where the
/// file writes it with escapes.
pub fn within(text: &str, place: &Place, value: &str, span: Option<Span>) -> Place {
    let part = || {
        let span = span?;
        let offset = text.get(place.span.clone())?.find(value)? + place.span.start;
        Some(Place { key: place.key.clone(), span: offset + span.start..offset + span.end })
    };
    part().unwrap_or_else(|| place.clone())
}

fn steps(key: &str) -> Vec<Step<'_>> {
    let pieces = key.split(['.', '[']).filter(|piece| !piece.is_empty());
    pieces
        .map(|piece| match piece.strip_suffix(']').and_then(|index| index.parse().ok()) {
            Some(index) => Step::Index(index),
            None => Step::Key(piece),
        })
        .collect()
}
