//! Faults of variants and launches, grouped so that one wrong expression is one error and not ninety.

use crate::config::{ConfigError, ConfigErrors, KeyPlaces, Phase, Place, within};
use ncugate_model::expr::{ExprError, Span};

/// All reasons why a phase cannot be unrolled, displayed like errors of its file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct PlanErrors(pub ConfigErrors);

/// One wrong value, of one variant and possibly one shape.
#[derive(Debug, Clone)]
struct Fault {
    key: String,
    /// The text and the wrong part of it; none if all of it is wrong.
    part: Option<(String, Span)>,
    /// The fault, without the variant.
    message: String,
    help: String,
    /// The first variant and shape with the fault, and the number of others.
    first: String,
    more: usize,
}

impl Fault {
    /// The wrong part of the text at a place.
    fn place(&self, text: &str, at: Place) -> Place {
        match &self.part {
            Some((value, span)) => within(text, &at, value, Some(*span)),
            None => at,
        }
    }
}

/// Faults found so far.
#[derive(Debug, Default)]
pub struct Faults {
    found: Vec<Fault>,
}

impl Faults {
    /// Records a fault of `key`, seen with `subject` (a variant, possibly at a shape). Another violation of the same
    /// rule (`help`) by the same key only increments its count.
    pub fn add(&mut self, key: &str, message: String, help: &str, subject: &str) {
        self.add_part(key, None, message, help, subject);
    }

    /// Records that the expression or template `text` under `key` has no value.
    pub fn unevaluated(&mut self, key: &str, text: &str, error: &ExprError, help: &str, subject: &str) {
        let message = format!("is \"{text}\", which cannot be evaluated: {}", error.reason());
        self.add_part(key, error.span().map(|span| (text.to_owned(), span)), message, help, subject);
    }

    fn add_part(&mut self, key: &str, part: Option<(String, Span)>, message: String, help: &str, subject: &str) {
        match self.found.iter_mut().find(|fault| fault.key == key && fault.help == help) {
            Some(fault) => fault.more += 1,
            None => self.found.push(Fault {
                key: key.to_owned(),
                part,
                message,
                help: help.to_owned(),
                first: subject.to_owned(),
                more: 0,
            }),
        }
    }

    /// Whether no fault was recorded.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Number of faults, repeated ones included.
    pub fn count(&self) -> usize {
        self.found.iter().map(|fault| fault.more + 1).sum()
    }

    /// The errors, each at the position of its key.
    pub fn into_errors(self, phase: &Phase) -> PlanErrors {
        let places = KeyPlaces::of(&phase.text);
        let problems = self.found.into_iter().map(|fault| {
            let subject = match (fault.first.is_empty(), fault.more) {
                (true, _) => String::new(),
                (false, 0) => format!(", for {}", fault.first),
                (false, more) => format!(", for {} and {more} more", fault.first),
            };
            ConfigError {
                place: place(&places, &fault.key).map(|place| fault.place(&phase.text, place)),
                message: format!("`{}` {}{subject}", fault.key, fault.message),
                help: (!fault.help.is_empty()).then_some(fault.help),
            }
        });
        PlanErrors(ConfigErrors::new(&phase.file, &phase.text, problems.collect()))
    }
}

/// Position of a key, or of the nearest enclosing table in the file.
fn place(places: &KeyPlaces<'_>, key: &str) -> Option<Place> {
    let mut key = key;
    loop {
        if let Some(place) = places.locate(key) {
            return Some(place);
        }
        key = &key[..key.rfind(['.', '['])?];
    }
}
