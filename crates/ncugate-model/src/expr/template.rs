//! Texts with expressions in double braces: `-maxrregcount={{ REGCAP }}`.
//!
//! The braces contain the language of all other expressions, which has neither loops nor growing texts: the template
//! and its values bound the size of the result.

use super::ast::Span;
use super::expression::{Expr, ExprError};
use super::parse::MOST_BYTES;
use super::value::{Names, Value};
use serde::Deserialize;

/// A text with expressions in it, parsed once.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Template {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// An expression and the byte of the template where its text begins.
    Expr(Expr, usize),
}

impl TryFrom<String> for Template {
    type Error = ExprError;

    fn try_from(text: String) -> Result<Self, ExprError> {
        Self::parse(&text)
    }
}

impl Template {
    /// Finds the expressions of a text and parses them.
    ///
    /// # Errors
    ///
    /// An expression that does not parse, unclosed braces, statements (`{% ... %}`), comments, whitespace control,
    /// and an overlong text.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let wrong = |reason: &str, start: usize, end: usize| {
            let span = Some(Span::new(start, end));
            ExprError::Syntax { text: text.into(), reason: reason.into(), span }
        };
        if text.len() > MOST_BYTES {
            return Err(wrong(&format!("it is longer than {MOST_BYTES} bytes"), 0, text.len()));
        }
        let mut pieces = Vec::new();
        let mut at = 0;
        while let Some(open) = text[at..].find('{').map(|found| at + found) {
            let rest = &text[open..];
            if rest.starts_with("{%") || rest.starts_with("{#") {
                return Err(wrong("a template supports only expressions in `{{ }}`", open, open + 2));
            }
            if !rest.starts_with("{{") {
                pieces.push(Piece::Text(text[at..=open].to_owned()));
                at = open + 1;
                continue;
            }
            pieces.push(Piece::Text(text[at..open].to_owned()));
            let Some(close) = closing(rest).map(|found| open + found) else {
                return Err(wrong("`{{` has no closing `}}`", open, open + 2));
            };
            let inside = &text[open + 2..close];
            if inside.starts_with(['-', '+']) || inside.ends_with('-') {
                return Err(wrong("put a space between the braces and the expression", open, close + 2));
            }
            let expr = Expr::parse(inside).map_err(|e| e.within(text, open + 2))?;
            pieces.push(Piece::Expr(expr, open + 2));
            at = close + 2;
        }
        pieces.push(Piece::Text(text[at..].to_owned()));
        Ok(Self { text: text.to_owned(), pieces })
    }

    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names it uses with their bytes, in the order of the text.
    pub fn names(&self) -> Vec<(String, Span)> {
        let of = |piece: &Piece| match piece {
            Piece::Text(_) => Vec::new(),
            Piece::Expr(expr, start) => {
                expr.names().into_iter().map(|(name, span)| (name, span.moved(*start))).collect()
            }
        };
        self.pieces.iter().flat_map(of).collect()
    }

    /// The text with values in place of the expressions.
    ///
    /// # Errors
    ///
    /// An expression that cannot be evaluated, for example because a name is not in `names`.
    pub fn render(&self, names: &Names) -> Result<String, ExprError> {
        let mut rendered = String::with_capacity(self.text.len());
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => rendered.push_str(text),
                Piece::Expr(expr, start) => {
                    let value = expr.eval(names).map_err(|e| e.within(&self.text, *start))?;
                    rendered.push_str(&value_text(&value));
                }
            }
        }
        Ok(rendered)
    }
}

impl Template {
    /// The text with each expression replaced by its value as `written` formats it; none if a value is unknown.
    pub fn render_with(
        &self,
        read: &impl Fn(&str) -> Option<Value>,
        written: &impl Fn(&Value) -> String,
    ) -> Option<String> {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Expr(expr, _) => Some(written(&expr.eval_with(read)?)),
        };
        self.pieces.iter().map(piece).collect()
    }
}

/// Parses and renders a template that is used once.
///
/// # Errors
///
/// Those of [`Template::parse`] and [`Template::render`].
pub fn render(template: &str, names: &Names) -> Result<String, ExprError> {
    Template::parse(template)?.render(names)
}

/// Position where the braces that open `rest` close, outside of quotes.
fn closing(rest: &str) -> Option<usize> {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in rest.char_indices().skip(2) {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if rest[at..].starts_with("}}") => return Some(at),
            None => {}
        }
    }
    None
}

/// A real number keeps its decimal point, a truth value its word.
fn value_text(value: &Value) -> String {
    match value {
        Value::Bool(v) => v.to_string(),
        Value::Float(v) => {
            let text = v.to_string();
            if text.contains('.') { text } else { text + ".0" }
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        [
            ("D", Value::Int(64)),
            ("FAST", Value::Bool(true)),
            ("R", Value::Float(2.0)),
            ("T", Value::Text("half".to_owned())),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
    }

    #[test]
    fn flags_render() {
        let rendered = |text: &str| render(text, &names()).unwrap();
        assert_eq!(rendered("-maxrregcount={{ D }}"), "-maxrregcount=64");
        assert_eq!(rendered("-D{{T}}={{ D // 3 }}{{ R }}{{ FAST }}"), "-Dhalf=212.0true");
        assert_eq!(rendered("{{ '-use_fast_math' if FAST else '' }} {x} }} {"), "-use_fast_math {x} }} {");
        assert_eq!(rendered("{{ '}}' }}"), "}}");
        assert_eq!(rendered("plain"), "plain");
        assert_eq!(Template::parse("a{{ D }}{{ T }}").unwrap().names()[1].1.range(), 11..12);
    }

    #[test]
    fn statements_and_filters_of_templates_are_refused() {
        for text in ["{% for x in y %}", "{# a #}", "{{ D", "{{- D }}", "{{ D|upper }}", "{{ 'x' * 1000000000 }}"] {
            assert!(render(text, &names()).is_err(), "{text}");
        }
        assert!(render("{{ NOPE }}", &names()).unwrap_err().to_string().contains("`NOPE`"));
        assert!(Template::parse(&"x".repeat(5000)).is_err());
    }
}
