//! Removed commands and values, with what replaces them.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What is typed, and what to use instead.
const REMOVED: [(&str, &str); 5] = [
    ("bisect", "`git bisect run ncugate run CONFIG --base GOOD --source gpu --bisect-status`"),
    ("hq", "`ncugate run CONFIG --shard I/N` as the tasks of an array, then `ncugate cluster merge`"),
    ("man", "`ncugate help COMMAND`, or docs/commands.md"),
    ("complete", "the new script of `ncugate tools completions SHELL`"),
    ("perfetto", "`--to json --wide`: a row a launch, in the order of the report"),
];

/// What replaces the removed command or value that a command line names.
pub fn replacement(error: &clap::Error) -> Option<&'static str> {
    let kind = match error.kind() {
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::InvalidValue => ContextKind::InvalidValue,
        _ => return None,
    };
    let Some(ContextValue::String(typed)) = error.get(kind) else { return None };
    REMOVED.iter().find(|(name, _)| name == typed).map(|(_, instead)| *instead)
}
