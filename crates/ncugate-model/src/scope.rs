//! The variants that a gate judges, and the weight of its verdict.

use super::glob::{GlobError, glob};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The variants that a gate judges.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The one the objective selected.
    Selected,
    Each,
    /// At least one correct candidate.
    Any,
    /// Every candidate whose id matches the glob.
    Matching(String),
    /// The best by the objective, proven correct, among those whose id matches the glob.
    Best(String),
}

/// The prefix of [`Scope::Best`].
const BEST: &str = "best:";

impl Scope {
    /// The scopes that are keywords.
    pub const WORDS: [&'static str; 3] = ["selected", "each", "any"];

    /// The glob over ids, if it has one.
    pub fn glob(&self) -> Option<&str> {
        match self {
            Self::Selected | Self::Each | Self::Any => None,
            Self::Matching(glob) | Self::Best(glob) => Some(glob),
        }
    }
}

impl FromStr for Scope {
    type Err = GlobError;

    fn from_str(text: &str) -> Result<Self, GlobError> {
        Ok(match text {
            "selected" => Self::Selected,
            "each" => Self::Each,
            "any" => Self::Any,
            text => match text.strip_prefix(BEST) {
                Some(pattern) => glob(pattern).map(|_| Self::Best(pattern.to_owned()))?,
                None => glob(text).map(|_| Self::Matching(text.to_owned()))?,
            },
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Selected => "selected",
            Self::Each => "each",
            Self::Any => "any",
            Self::Matching(glob) => glob,
            Self::Best(glob) => return write!(f, "{BEST}{glob}"),
        })
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Scope {
    fn schema_name() -> Cow<'static, str> {
        "Scope".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Which variants a gate judges: `selected`, `each`, `any`, `best:` with a glob, or a glob of their ids.",
            "type": "string",
        })
    }
}

words! {
    name;
    /// Effect of a failed gate on the phase.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Level {
        /// The phase fails.
        Required = "required",
        /// The report shows the failure; the phase can still pass.
        Advisory = "advisory",
    }
}

words! {
    name;
    /// The effect of an inconclusive verdict of a required gate.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum OnInconclusive {
        /// Inconclusive (status 4).
        Inconclusive = "inconclusive",
        /// A failure (status 1).
        Fail = "fail",
        /// A warning; only if noise is the reason, never if something is missing.
        Warn = "warn",
    }
}

#[cfg(test)]
mod tests {
    use super::Scope;

    #[test]
    fn a_scope_is_read_and_written_alike() {
        for text in ["selected", "each", "any", "REGCAP=64,*", "best:REGCAP=64,*"] {
            let scope: Scope = text.parse().unwrap();
            assert_eq!(scope.to_string(), text);
            let json = serde_json::to_string(&scope).unwrap();
            assert_eq!(serde_json::from_str::<Scope>(&json).unwrap(), scope);
        }
        assert!("[a".parse::<Scope>().is_err() && "best:[a".parse::<Scope>().is_err());
    }
}
