//! The list of keys in `docs/config.md`, from the declarations of keys.

use crate::config::keys::{Key, KeyDefault, KeyKind, ROOT, Spec, tables};
use std::collections::HashMap;
use std::fmt::Write;

/// A table that `ncugate run --base` writes, and no author.
const NO_SECTION: &str = "[base]";

/// One Markdown section per table of the file, in order of first occurrence.
pub fn reference() -> String {
    let mut known = HashMap::new();
    tables()
        .into_iter()
        .filter(|spec| spec.title != NO_SECTION)
        .map(|spec| section(spec, &mut known))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The section of a table. `known` has the table that first declared a key with the same meaning.
fn section(spec: &'static Spec, known: &mut HashMap<(&'static str, &'static str), &'static str>) -> String {
    let is_file = std::ptr::eq(spec, &ROOT.spec);
    let title = if is_file { "The file".to_owned() } else { format!("`{}`", spec.title) };
    let mut text = format!("### {title}\n");
    // A key outside the root may have given the meaning of its table.
    if !known.keys().any(|(_, doc)| *doc == spec.doc) {
        text.push_str(&format!("\n{}\n", spec.doc));
    }
    if !spec.keys.is_empty() {
        text.push('\n');
    }
    // Keys with their own section, and keys that another table has.
    let (mut below, mut inherited) = (Vec::new(), Vec::new());
    for key in spec.keys {
        let table = key.kind.spec().or_else(|| key.kind.element()?.spec());
        if is_file && table.is_some_and(|table| table.doc == key.doc && table.title != NO_SECTION) {
            let name =
                if key.kind.element().is_some() { format!("[[{}]]", key.name) } else { format!("[{}]", key.name) };
            below.push(format!("`{name}`{}", if key.required { " (required)" } else { "" }));
            continue;
        }
        let first = *known.entry((key.name, key.doc)).or_insert(spec.title);
        let meaning = match first {
            first if first == spec.title => key.doc.to_owned(),
            first => format!("As in `{first}`."),
        };
        if first != spec.title && key.default.is_some_and(|default| default.text() == format!("that of {first}")) {
            inherited.push((first, format!("`{}`", key.name)));
        } else {
            // Writing to a string does not fail.
            let _ = writeln!(text, "- `{}` ({}): {meaning}", key.name, value(key));
        }
    }
    if let Some((first, _)) = inherited.first() {
        let names: Vec<&str> = inherited.iter().map(|(_, name)| name.as_str()).collect();
        let _ = writeln!(text, "- {}: As in `{first}`.", names.join(", "));
    }
    if !below.is_empty() {
        let _ = writeln!(text, "- Tables: {}.", below.join(", "));
    }
    // The meaning of a table without fixed keys shows the form of its keys.
    if let (Some(free), false) = (&spec.free, spec.keys.is_empty()) {
        let _ = writeln!(text, "\nEvery other key: {}.", words(free, Number::One));
    }
    text
}

/// The permitted values of a key, and its default.
fn value(key: &Key) -> String {
    let kind = match key.kind {
        // The title of the table repeats the name of the key.
        KeyKind::Table(spec) if spec.title.contains(key.name) => "table".to_owned(),
        kind => words(&kind, Number::One),
    };
    match (key.required, key.default.map(KeyDefault::text)) {
        (true, _) => format!("{kind}; required"),
        (false, None | Some("[]" | "{}" | "false" | "none")) => kind,
        (false, Some(default)) => format!("{kind}; default {default}"),
    }
}

/// The grammatical number of a kind's name: an array is a plural.
#[derive(Clone, Copy)]
enum Number {
    One,
    Many,
}

fn words(kind: &KeyKind, number: Number) -> String {
    let noun = |one: &str| match number {
        Number::One => one.to_owned(),
        Number::Many => format!("{one}s"),
    };
    match kind {
        KeyKind::Text => noun("text"),
        KeyKind::Name => noun("name"),
        KeyKind::Expr => noun("expression"),
        KeyKind::Template => noun("template"),
        KeyKind::Requirement => noun("requirement"),
        KeyKind::Bool => noun("boolean"),
        KeyKind::Between(low, high) => format!("{low} to {high}"),
        KeyKind::Whole(low) => format!("{} ≥ {low}", noun("integer")),
        KeyKind::Number => noun("number"),
        KeyKind::Date => noun("date"),
        KeyKind::Param => noun("parameter value"),
        KeyKind::OneOf(list) => {
            let list = list.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ");
            if matches!(number, Number::Many) { format!("some of {list}") } else { list }
        }
        KeyKind::List(inner) => words(inner, Number::Many),
        KeyKind::Table(spec) | KeyKind::Again(spec) => format!("`{}`", spec.title),
        KeyKind::Part(spec) => format!("part of `{}`", spec.title),
        KeyKind::Either(kinds) => kinds.iter().map(|kind| words(kind, number)).collect::<Vec<_>>().join(" or "),
    }
}
