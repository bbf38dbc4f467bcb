//! The names that an expression of the file can use.

use super::names::suggest;
use crate::config::reader::{Item, PlacedValue, Table};
use ncugate_model::expr::{Expr, Span, Template};

/// Names in scope, and their description.
#[derive(Debug, Clone)]
pub struct NameScope {
    /// "the dimensions", "the dimensions and the sweep's parameters".
    pub who: String,
    pub names: Vec<String>,
}

impl NameScope {
    /// A scope of `names`.
    pub fn new(who: impl Into<String>, names: impl IntoIterator<Item = String>) -> Self {
        Self { who: who.into(), names: names.into_iter().collect() }
    }

    /// The scope of the path of a NumPy file.
    pub fn of_file(&self) -> Self {
        let own = ["shape", "seed", "buffer"].map(str::to_owned);
        Self::new("`shape`, `seed`, `buffer` and the dimensions", own.into_iter().chain(self.names.clone()))
    }

    /// Reports names of an expression that are not in scope, each at its own place.
    pub fn check_expr(&self, at: &Table<'_>, expr: &PlacedValue<Expr>) {
        self.check(expr.value.text(), expr.value.names(), &expr.place.key, |span, message, help| {
            at.report_within(&expr.place, expr.value.text(), Some(span), message, Some(help));
        });
    }

    /// Reports names of a template that are not in scope, each at its own place.
    pub fn check_template(&self, at: &Table<'_>, template: &PlacedValue<Template>) {
        self.check(template.value.text(), template.value.names(), &template.place.key, |span, message, help| {
            at.report_within(&template.place, template.value.text(), Some(span), message, Some(help));
        });
    }

    /// Reads an expression and reports the names it uses that are not in scope.
    pub fn expr(&self, item: &Item<'_>) -> Option<PlacedValue<Expr>> {
        let placed = item.expr()?;
        let expr = &placed.value;
        self.check(expr.text(), expr.names(), &item.place.key, |span, message, help| {
            item.report_within(expr.text(), Some(span), message, Some(help));
        });
        Some(placed)
    }

    /// Reads an expression that is a part of a text, and reports the names it uses that are not in scope.
    pub fn part(&self, item: &Item<'_>, text: &str) -> Option<Expr> {
        let expr = match Expr::parse(text.trim()) {
            Ok(expr) => expr,
            Err(error) => {
                item.report(format!("`{}`: \"{text}\" is not an expression: {error}", item.place.key), None);
                return None;
            }
        };
        self.check(expr.text(), expr.names(), &item.place.key, |_, message, help| item.report(message, Some(help)));
        Some(expr)
    }

    /// Reads a template and reports the names it uses that are not in scope.
    pub fn template(&self, item: &Item<'_>) -> Option<Template> {
        let template = item.template()?.value;
        self.check(template.text(), template.names(), &item.place.key, |span, message, help| {
            item.report_within(template.text(), Some(span), message, Some(help));
        });
        Some(template)
    }

    /// Calls `report` for each name of a text that is not in scope.
    fn check(&self, text: &str, names: Vec<(String, Span)>, key: &str, report: impl Fn(Span, String, String)) {
        for (name, span) in names.into_iter().filter(|(name, _)| !self.names.contains(name)) {
            let message = format!("`{key}` is \"{text}\"; `{name}` is not among {}", self.who);
            report(span, message, suggest(&name, self.names.iter().map(String::as_str)));
        }
    }
}
