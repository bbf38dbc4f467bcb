//! The tables of `docs/config.md`, from the declarations of keys.

use crate::config::keys::{KeyKind, ROOT, Spec, tables};
use ncugate_model::Better;
use ncugate_model::metric::{Catalogue, MetricSource};
use std::fmt::Write;

/// One Markdown section per table of the file, in order of first occurrence.
pub fn reference() -> String {
    tables().into_iter().map(section).collect::<Vec<_>>().join("\n")
}

fn section(spec: &'static Spec) -> String {
    let title = if std::ptr::eq(spec, &ROOT.spec) { "The file".to_owned() } else { format!("`{}`", spec.title) };
    let mut text = format!("### {title}\n\n{}\n", spec.doc);
    if !spec.keys.is_empty() {
        text.push_str("\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    }
    for key in spec.keys {
        let default = match (key.required, key.default) {
            (true, _) => "required".to_owned(),
            (false, Some(default)) => cell(default.text()),
            (false, None) => String::new(),
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "| `{}` | {} | {default} | {} |", key.name, cell(&words(&key.kind)), cell(key.doc));
    }
    if let Some(free) = &spec.free {
        let other = if spec.keys.is_empty() { "Every key" } else { "Every other key" };
        let _ = writeln!(text, "\n{other}: {}.", words(free));
    }
    text
}

/// Escapes a text for a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn words(kind: &KeyKind) -> String {
    match kind {
        KeyKind::Text => "text".to_owned(),
        KeyKind::Name => "name".to_owned(),
        KeyKind::Expr => "expression".to_owned(),
        KeyKind::Template => "template".to_owned(),
        KeyKind::Requirement => "requirement".to_owned(),
        KeyKind::Bool => "true or false".to_owned(),
        KeyKind::Between(low, high) => format!("whole number from {low} to {high}"),
        KeyKind::Whole(low) => format!("whole number, at least {low}"),
        KeyKind::Number => "number".to_owned(),
        KeyKind::Date => "date".to_owned(),
        KeyKind::Param => "parameter value".to_owned(),
        KeyKind::OneOf(list) => list.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "),
        KeyKind::List(inner) => format!("array of {}", words(inner)),
        KeyKind::Table(spec) => format!("table `{}`", spec.title),
        KeyKind::Again(spec) => format!("table `{}`", spec.title),
        KeyKind::Part(spec) => format!("part of a table `{}`", spec.title),
        KeyKind::Either(kinds) => kinds.iter().map(words).collect::<Vec<_>>().join("; or "),
    }
}

/// The Markdown table of the metrics that a requirement can name.
pub fn metric_table() -> String {
    let mut text = "| metric | unit | better | from | what |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for metric in Catalogue::embedded().metrics() {
        let better = match metric.better {
            Better::Higher => "more",
            Better::Lower => "less",
            Better::Context => "",
        };
        let from = match metric.source {
            MetricSource::Build => "cubin",
            MetricSource::Launch => "launch",
            MetricSource::Occupancy => "launch and chip",
            MetricSource::Latency => "undisturbed timing",
            MetricSource::Check => "correctness cases",
            MetricSource::Ncu => "ncu",
        };
        let _ = writeln!(text, "| `{}` | {} | {better} | {from} | {} |", metric.name, metric.unit, cell(&metric.title));
    }
    text
}
