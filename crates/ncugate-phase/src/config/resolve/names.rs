//! Names in the file: validity, duplicates and suggestions.

use crate::config::reader::{Item, PlacedValue};
use crate::config::{Buffer, SMS};
use ncugate_model::glob;

/// The names that kernels are checked against.
pub struct KernelNames<'n> {
    pub dims: &'n [String],
    /// Buffers of the workload.
    pub buffers: &'n [Buffer],
    /// Names of buffers, scalars and dimensions.
    pub args: &'n [String],
    /// Every name in use, and its owner ("buffer").
    pub taken: &'n [(String, &'static str)],
}

/// A key that is a valid name in an expression.
pub fn identifier(key: &PlacedValue<String>, at: &Item<'_>) -> Option<String> {
    const WORDS: [&str; 21] = [
        "and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None", "baseline",
        "previous", "best", "speedup", "ncu", "cc", "dtype", SMS,
    ];
    let name = key.value.as_str();
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty();
    if plain && !WORDS.contains(&name) {
        return Some(key.value.clone());
    }
    let help = if plain {
        "choose a name that is not a keyword of the expression language"
    } else {
        "use letters, digits and underscores, with no digit first"
    };
    at.report(format!("`{name}` cannot be a name in expressions"), Some(help.to_owned()));
    None
}

/// Reports names that occur twice among tables of one kind.
pub fn no_duplicates<'a>(what: &str, names: impl Iterator<Item = (&'a str, Item<'a>)>) {
    let mut seen = std::collections::HashSet::new();
    for (name, item) in names {
        if !seen.insert(name) {
            item.report(format!("{what} `{name}` is declared twice"), Some("give each a different name".to_owned()));
        }
    }
}

/// Whether a text is a glob, and not the name of a shape.
pub fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// The names that a glob matches; none is an error.
pub fn matching<'n>(item: &Item<'_>, text: &str, names: &[&'n str]) -> Vec<&'n str> {
    let matcher = match glob(text) {
        Ok(matcher) => matcher,
        Err(error) => {
            item.expected("a glob of shape names", Some(error.reason));
            return Vec::new();
        }
    };
    let found: Vec<&str> = names.iter().copied().filter(|name| matcher.is_match(name)).collect();
    if found.is_empty() {
        let help = suggest(text, names.iter().copied());
        item.report(format!("`{}` has \"{text}\", which matches no shape", item.place.key), Some(help));
    }
    found
}

/// `did you mean ...?` and the list of permitted names.
pub fn suggest<'a>(name: &str, allowed: impl Iterator<Item = &'a str> + Clone) -> String {
    let hint =
        ncugate_model::nearest(name, allowed.clone()).map_or_else(String::new, |n| format!("did you mean `{n}`? "));
    let mut list: Vec<&str> = allowed.collect();
    list.dedup();
    if list.is_empty() { "none is declared".to_owned() } else { format!("{hint}known: {}", list.join(", ")) }
}
