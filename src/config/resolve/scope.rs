//! What an expression of the file may name.

use super::suggest;
use crate::config::reader::{Item, Placed};
use crate::expr::Expr;

/// Names in scope, and the words that say which they are.
#[derive(Debug, Clone)]
pub struct InScope {
    /// "the dimensions", "the dimensions and the sweep's parameters".
    pub who: String,
    /// The names.
    pub names: Vec<String>,
}

impl InScope {
    /// A scope of `names`.
    pub fn new(who: impl Into<String>, names: impl IntoIterator<Item = String>) -> Self {
        Self { who: who.into(), names: names.into_iter().collect() }
    }

    /// What is wrong with `names` of an expression or template written as `text` under `key`.
    pub fn strangers(&self, key: &str, text: &str, names: &[String]) -> Vec<(String, String)> {
        names
            .iter()
            .filter(|name| !self.names.contains(name))
            .map(|name| {
                let message = format!("`{key}` is \"{text}\", whose `{name}` is not among {}", self.who);
                (message, suggest(name, self.names.iter().map(String::as_str)))
            })
            .collect()
    }

    /// Reads an expression and reports the names it uses that are not in scope.
    pub fn expr(&self, item: &Item<'_>) -> Option<Placed<Expr>> {
        let placed = item.expr()?;
        for (message, help) in self.strangers(&item.place.key, placed.value.text(), &placed.value.names()) {
            item.report(message, Some(help));
        }
        Some(placed)
    }
}
