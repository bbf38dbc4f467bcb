//! Whom a gate judges, and what its verdict counts for.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Which variants a gate judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The one the objective selected.
    Selected,
    /// Every candidate.
    Each,
    /// At least one correct candidate.
    Any,
    /// Every candidate whose id matches the glob.
    Matching(String),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Selected => "selected",
            Self::Each => "each",
            Self::Any => "any",
            Self::Matching(glob) => glob,
        })
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Scope {
    fn schema_name() -> Cow<'static, str> {
        "Scope".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Which variants a gate judges: `selected`, `each`, `any`, or a glob of their ids.",
            "type": "string",
        })
    }
}

/// What a gate's failure means for the phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The phase fails.
    Required,
    /// The report says so.
    Advisory,
}

/// What an inconclusive verdict of a required gate counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnInconclusive {
    /// Inconclusive (status 4).
    #[default]
    Inconclusive,
    /// A failure (status 1).
    Fail,
    /// A warning; only where noise is the reason, never where something is missing.
    Warn,
}
