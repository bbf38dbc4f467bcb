//! The JSON Schema of a phase, for editors that complete and check TOML.

use super::keys::{KeyKind, ROOT, Spec};
use serde_json::{Map, Value, json};

/// The schema of the file, from the declarations by which the reader refuses unknown keys.
pub fn schema() -> Value {
    let mut schema = table(&ROOT.spec);
    if let Value::Object(entries) = &mut schema {
        entries.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        entries.insert("title".to_owned(), json!("ncugate phase"));
    }
    schema
}

pub(super) fn table(spec: &'static Spec) -> Value {
    let properties: Map<String, Value> = spec
        .keys
        .iter()
        .map(|key| {
            let mut property = kind(&key.kind);
            if let Value::Object(entries) = &mut property {
                let default = key.default.map_or_else(String::new, |default| format!(" Default: {}.", default.text()));
                entries.insert("description".to_owned(), json!(format!("{}{default}", key.doc)));
            }
            (key.name.to_owned(), property)
        })
        .collect();
    let required: Vec<&str> = spec.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    let free = spec.free.as_ref().map_or(Value::Bool(false), kind);
    let mut schema = json!({
        "type": "object",
        "description": spec.doc,
        "properties": properties,
        "additionalProperties": free,
    });
    if let (Value::Object(entries), false) = (&mut schema, required.is_empty()) {
        entries.insert("required".to_owned(), json!(required));
    }
    schema
}

/// A table without required keys.
fn part(spec: &'static Spec) -> Value {
    let mut schema = table(spec);
    if let Value::Object(entries) = &mut schema {
        entries.remove("required");
    }
    schema
}

fn kind(of: &'static KeyKind) -> Value {
    match of {
        KeyKind::Text | KeyKind::Template | KeyKind::Requirement => json!({ "type": "string", "minLength": 1 }),
        KeyKind::Name => json!({ "type": "string", "pattern": "^[A-Za-z0-9_+=][A-Za-z0-9_.+=-]*$" }),
        KeyKind::Expr => json!({ "type": ["string", "number"] }),
        KeyKind::Bool => json!({ "type": "boolean" }),
        KeyKind::Between(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        KeyKind::Whole(low) => json!({ "type": "integer", "minimum": low }),
        KeyKind::Number => json!({ "type": "number" }),
        KeyKind::Date => json!({ "type": "string", "format": "date" }),
        KeyKind::Param => json!({ "type": ["boolean", "number", "string"] }),
        KeyKind::OneOf(words) => json!({ "enum": words }),
        KeyKind::List(items) => json!({ "type": "array", "items": kind(items) }),
        KeyKind::Table(spec) => table(spec),
        KeyKind::Part(spec) => part(spec),
        // Described at its first occurrence.
        KeyKind::Again(_) => json!({ "type": "object" }),
        KeyKind::Either(kinds) => json!({ "anyOf": kinds.iter().map(kind).collect::<Vec<_>>() }),
    }
}
