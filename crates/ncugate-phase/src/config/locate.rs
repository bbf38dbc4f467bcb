//! From a key path back to its position in the text, for errors found after parsing.

use super::error::Place;
use ncugate_model::expr::Span;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A step of a key path.
enum Step<'k> {
    Key(&'k str),
    Index(usize),
}

/// The text of a file, parsed once to locate keys.
#[derive(Debug)]
pub struct KeyPlaces<'t>(Option<Spanned<DeTable<'t>>>);

impl<'t> KeyPlaces<'t> {
    /// Parses a text; if it is not TOML, no key is found.
    pub fn of(text: &'t str) -> Self {
        Self(DeTable::parse(text).ok())
    }

    /// Place of the key path (`kernel.grid[0]`, `variant[1].params`), if the file has it.
    pub fn locate(&self, key: &str) -> Option<Place> {
        let mut steps = steps(key).into_iter();
        let Some(Step::Key(first)) = steps.next() else { return None };
        let mut at: &Spanned<DeValue<'_>> = self.0.as_ref()?.get_ref().get(first)?;
        for step in steps {
            at = match (step, at.get_ref()) {
                (Step::Key(key), DeValue::Table(entries)) => entries.get(key)?,
                (Step::Index(index), DeValue::Array(items)) => items.get(index)?,
                _ => return None,
            };
        }
        Some(Place { key: key.to_owned(), span: at.span() })
    }
}

/// Position of a part of `value`, a text that is written at `place`; the whole value if no part is given or if the
/// part is not found (numeric escapes, or a text of several lines).
pub fn within(text: &str, place: &Place, value: &str, span: Option<Span>) -> Place {
    let part = || {
        let span = span?.range();
        let written = text.get(place.span.clone())?;
        let (start, end) = match written.find(value) {
            Some(offset) => (offset + span.start, offset + span.end),
            None => {
                let (plain, bytes) = unescaped(written)?;
                let offset = plain.find(value)?;
                (*bytes.get(offset + span.start)?, *bytes.get(offset + span.end)?)
            }
        };
        Some(Place { key: place.key.clone(), span: place.span.start + start..place.span.start + end })
    };
    part().unwrap_or_else(|| place.clone())
}

/// The text of a basic single-line string, and for each of its bytes and its end the byte of the string where it is written.
fn unescaped(written: &str) -> Option<(String, Vec<usize>)> {
    let inside = written.strip_prefix('"')?.strip_suffix('"')?;
    let (mut plain, mut bytes) = (String::new(), Vec::new());
    let mut chars = inside.char_indices();
    while let Some((at, c)) = chars.next() {
        let c = match c {
            '\\' => match chars.next()?.1 {
                c @ ('"' | '\\') => c,
                't' => '\t',
                'n' => '\n',
                _ => return None,
            },
            c => c,
        };
        plain.push(c);
        bytes.resize(plain.len(), at + 1);
    }
    bytes.push(inside.len() + 1);
    Some((plain, bytes))
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
