//! The list of keys in `docs/config.md`, from the declarations of keys.

use crate::config::keys::{Key, KeyKind, ROOT, Spec, tables};
use std::collections::HashMap;
use std::fmt::Write;

/// One Markdown section per table of the file, in order of first occurrence.
pub fn reference() -> String {
    let mut known = HashMap::new();
    tables().into_iter().map(|spec| section(spec, &mut known)).collect::<Vec<_>>().join("\n")
}

/// The section of a table. `known` has the table that first declared a key with the same meaning.
fn section(spec: &'static Spec, known: &mut HashMap<(&'static str, &'static str), &'static str>) -> String {
    let title = if std::ptr::eq(spec, &ROOT.spec) { "The file".to_owned() } else { format!("`{}`", spec.title) };
    let mut text = format!("### {title}\n\n{}\n", spec.doc);
    if !spec.keys.is_empty() {
        text.push('\n');
    }
    for key in spec.keys {
        let meaning = match *known.entry((key.name, key.doc)).or_insert(spec.title) {
            first if first == spec.title => key.doc.to_owned(),
            first => format!("As in `{first}`."),
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "- `{}` ({}): {meaning}", key.name, value(key));
    }
    if let Some(free) = &spec.free {
        let other = if spec.keys.is_empty() { "Every key" } else { "Every other key" };
        let _ = writeln!(text, "\n{other}: {}.", words(free));
    }
    text
}

/// The permitted values of a key, and its default.
fn value(key: &Key) -> String {
    let kind = match key.kind {
        // The title of the table repeats the name of the key.
        KeyKind::Table(spec) if spec.title.contains(key.name) => "table".to_owned(),
        kind => words(&kind),
    };
    match (key.required, key.default) {
        (true, _) => format!("{kind}; required"),
        (false, Some(default)) => format!("{kind}; default {}", default.text()),
        (false, None) => kind,
    }
}

fn words(kind: &KeyKind) -> String {
    match kind {
        KeyKind::Text => "text".to_owned(),
        KeyKind::Name => "name".to_owned(),
        KeyKind::Expr => "expression".to_owned(),
        KeyKind::Template => "template".to_owned(),
        KeyKind::Requirement => "requirement".to_owned(),
        KeyKind::Bool => "boolean".to_owned(),
        KeyKind::Between(low, high) => format!("{low} to {high}"),
        KeyKind::Whole(low) => format!("integer ≥ {low}"),
        KeyKind::Number => "number".to_owned(),
        KeyKind::Date => "date".to_owned(),
        KeyKind::Param => "parameter value".to_owned(),
        KeyKind::OneOf(list) => list.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "),
        KeyKind::List(inner) => format!("array of {}", words(inner)),
        KeyKind::Table(spec) | KeyKind::Again(spec) => format!("`{}`", spec.title),
        KeyKind::Part(spec) => format!("part of `{}`", spec.title),
        KeyKind::Either(kinds) => kinds.iter().map(words).collect::<Vec<_>>().join(" or "),
    }
}
