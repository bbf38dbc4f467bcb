//! Text from outside, as a type that only holds cleaned text.

use super::text;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// A line that is safe to show. Every constructor cleans, and all but [`CleanText::whole`] truncate as
/// [`text::line()`] does. A copy shares the characters.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(from = "String")]
pub struct CleanText(Arc<str>);

impl CleanText {
    /// A sentence or a command made of parts; never truncated.
    pub fn whole(text: &str) -> Self {
        Self(text::joined(text::clean_file(text)).into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for CleanText {
    fn from(text: &str) -> Self {
        Self(text::line(text).into())
    }
}

impl From<String> for CleanText {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&String> for CleanText {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl Deref for CleanText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for CleanText {
    fn borrow(&self) -> &str {
        self
    }
}

impl AsRef<str> for CleanText {
    fn as_ref(&self) -> &str {
        self
    }
}

impl AsRef<Path> for CleanText {
    fn as_ref(&self) -> &Path {
        Path::new(self.as_str())
    }
}

/// Equality with other texts, by their characters.
macro_rules! equal {
    ($($text:ty),*) => {$(
        impl PartialEq<$text> for CleanText {
            fn eq(&self, other: &$text) -> bool {
                let other: &str = other;
                self.as_str() == other
            }
        }

        impl PartialEq<CleanText> for $text {
            fn eq(&self, other: &CleanText) -> bool {
                other == self
            }
        }
    )*};
}

equal!(str, &str, String);

impl fmt::Display for CleanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for CleanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Serialize for CleanText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl JsonSchema for CleanText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_clean_however_it_is_made() {
        let foreign = "a\u{202e}b\nc";
        let stored: CleanText = serde_json::from_str(&serde_json::to_string(foreign).unwrap()).unwrap();
        for clean in [CleanText::from(foreign), CleanText::from(foreign.to_owned()), stored] {
            assert_eq!(clean, "a⟨U+202E⟩b c");
        }
    }

    #[test]
    fn a_command_is_cleaned_and_never_cut() {
        let command = format!("ncu --metrics {}\u{202e}", "a.sum,".repeat(1_000));
        assert!(CleanText::whole(&command).ends_with("a.sum,⟨U+202E⟩"));
    }

    #[test]
    fn clean_text_stays_as_it_is_when_it_is_stored_and_read() {
        for foreign in
            ["k".repeat(20_000), "\0".repeat(1_999), "a\r\n".repeat(900), "\r".repeat(5_000), "é".repeat(1_990)]
        {
            let clean = CleanText::from(foreign);
            assert!(clean.chars().count() <= text::LONGEST, "{}", clean.len());
            assert_eq!(CleanText::from(clean.as_str()), clean);
        }
    }
}
