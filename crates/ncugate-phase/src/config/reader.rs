//! Typed reading of TOML values that goes on after an error, so that all of a file's errors come out at once.
//!
//! A [`Table`] refuses keys that its [`Spec`] does not declare; an [`Item`] gives its value as a type, or records what
//! was expected at its place and gives nothing.

use super::error::{ConfigError, Place};
use super::keys::Spec;
use super::locate::within;
use ncugate_model::expr::{Expr, ExprError, Span, Template, Value};
use ncugate_model::nearest;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text being read and what was found wrong with it so far.
pub struct TomlText<'s> {
    text: &'s str,
    /// Byte offsets at which lines begin, but for the first: a phase asks for the line of each of its gates.
    line_starts: Vec<usize>,
    problems: RefCell<Vec<ConfigError>>,
}

impl<'s> TomlText<'s> {
    pub fn new(text: &'s str) -> Self {
        let line_starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1).collect();
        Self { text, line_starts, problems: RefCell::new(Vec::new()) }
    }

    /// Records a problem at a place.
    pub fn report(&self, place: &Place, message: impl Into<String>, help: Option<String>) {
        self.problems.borrow_mut().push(ConfigError { place: Some(place.clone()), message: message.into(), help });
    }

    /// Line of a place, from 1.
    pub fn line(&self, place: &Place) -> usize {
        self.line_starts.partition_point(|start| *start <= place.span.start) + 1
    }

    /// What was found wrong.
    pub fn into_problems(self) -> Vec<ConfigError> {
        self.problems.into_inner()
    }

    /// The value as written, cut to a line and 60 characters.
    fn excerpt(&self, place: &Place) -> String {
        let written = self.text.get(place.span.clone()).unwrap_or_default();
        let line = written.lines().next().unwrap_or_default();
        if line.chars().count() <= 60 && line.len() == written.trim_end().len() {
            return line.to_owned();
        }
        line.chars().take(57).collect::<String>() + "..."
    }
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedValue<T> {
    pub value: T,
    pub place: Place,
}

/// One TOML value under its key path.
#[derive(Clone)]
pub struct Item<'a> {
    value: &'a DeValue<'a>,
    pub place: Place,
    source: &'a TomlText<'a>,
}

impl<'a> Item<'a> {
    fn new(source: &'a TomlText<'a>, key: String, value: &'a Spanned<DeValue<'a>>) -> Self {
        Self { value: value.get_ref(), place: Place { key, span: value.span() }, source }
    }

    /// Records that something else was expected here.
    pub fn expected(&self, what: &str, help: Option<String>) {
        let found = self.source.excerpt(&self.place);
        self.source.report(&self.place, format!("`{}` is `{found}`, expected {what}", self.place.key), help);
    }

    /// Records a problem here.
    pub fn report(&self, message: impl Into<String>, help: Option<String>) {
        self.source.report(&self.place, message, help);
    }

    /// Records a problem with a part of a text that is written here; with all of it where no span is given.
    pub fn report_within(&self, value: &str, span: Option<Span>, message: String, help: Option<String>) {
        self.source.report(&within(self.source.text, &self.place, value, span), message, help);
    }

    /// Keeps the place with a value.
    pub fn with<T>(&self, value: T) -> PlacedValue<T> {
        PlacedValue { value, place: self.place.clone() }
    }

    pub fn is_text(&self) -> bool {
        matches!(self.value, DeValue::String(_))
    }

    pub fn is_list(&self) -> bool {
        matches!(self.value, DeValue::Array(_))
    }

    pub fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    /// A string that is not empty.
    pub fn text(&self) -> Option<String> {
        match self.value {
            DeValue::String(v) if !v.trim().is_empty() => Some(v.to_string()),
            _ => {
                self.expected("a text that is not empty", None);
                None
            }
        }
    }

    /// A name: letters, digits and `_ . - + =`, so that folders, ids and NVTX ranges can carry it.
    pub fn name(&self) -> Option<String> {
        let text = self.text()?;
        if is_name(&text) {
            return Some(text);
        }
        self.expected("a name of letters, digits and `_ . - + =` that starts with neither dot nor dash", None);
        None
    }

    /// One of some words.
    pub fn one_of<T: Copy>(&self, words: &[(&'static str, T)]) -> Option<T> {
        let allowed = || words.iter().map(|(word, _)| *word);
        let text = match self.value {
            DeValue::String(text) => text.as_ref(),
            _ => "",
        };
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let hint = nearest(text, allowed()).map(|n| format!("did you mean \"{n}\"?"));
            let list: Vec<String> = allowed().map(|word| format!("\"{word}\"")).collect();
            self.expected(&format!("one of {}", list.join(", ")), hint);
        }
        found
    }

    /// A whole number in a range.
    pub fn integer(&self, range: RangeInclusive<i64>) -> Option<i64> {
        if let DeValue::Integer(v) = self.value
            && let Ok(v) = i64::from_str_radix(v.as_str(), v.radix())
            && range.contains(&v)
        {
            return Some(v);
        }
        let (low, high) = (*range.start(), *range.end());
        let what = if high >= i64::from(u32::MAX) {
            format!("a whole number of at least {low}")
        } else {
            format!("a whole number from {low} to {high}")
        };
        self.expected(&what, None);
        None
    }

    /// A whole number that fits `u32`, at least `low`.
    pub fn count(&self, low: u32) -> Option<u32> {
        self.integer(i64::from(low)..=i64::from(u32::MAX)).and_then(|v| u32::try_from(v).ok())
    }

    /// Infinity, as a number of TOML or as a text; none of anything else.
    pub fn infinity(&self) -> Option<f64> {
        match self.value {
            DeValue::String(text) => match text.as_ref() {
                "inf" | "+inf" => Some(f64::INFINITY),
                "-inf" => Some(f64::NEG_INFINITY),
                _ => None,
            },
            _ => self.numeric().filter(|value| value.is_infinite()),
        }
    }

    /// A finite number for which `holds` is true.
    pub fn number(&self, what: &str, holds: impl Fn(f64) -> bool) -> Option<f64> {
        match self.numeric() {
            Some(v) if v.is_finite() && holds(v) => Some(v),
            _ => {
                self.expected(what, None);
                None
            }
        }
    }

    fn numeric(&self) -> Option<f64> {
        match self.value {
            DeValue::Integer(v) => i64::from_str_radix(v.as_str(), v.radix()).ok().map(|v| v as f64),
            DeValue::Float(v) => v.as_str().parse().ok(),
            _ => None,
        }
    }

    /// `true` or `false`.
    pub fn boolean(&self) -> Option<bool> {
        match self.value {
            DeValue::Boolean(v) => Some(*v),
            _ => {
                self.expected("true or false", None);
                None
            }
        }
    }

    /// A day, written as TOML writes it, without quotes.
    pub fn date(&self) -> Option<jiff::civil::Date> {
        if let DeValue::Datetime(when) = self.value
            && let (Some(date), None) = (when.date, when.time)
            && let (Ok(year), Ok(month), Ok(day)) =
                (i16::try_from(date.year), i8::try_from(date.month), i8::try_from(date.day))
            && let Ok(date) = jiff::civil::Date::new(year, month, day)
        {
            return Some(date);
        }
        self.expected("a date such as 2026-12-31, without quotes", None);
        None
    }

    /// The value of a parameter: true or false, a number, or a short text.
    pub fn param(&self) -> Option<Value> {
        match self.value {
            DeValue::Boolean(v) => Some(Value::Bool(*v)),
            DeValue::Integer(v) => i64::from_str_radix(v.as_str(), v.radix()).ok().map(Value::Int),
            DeValue::Float(_) => self.numeric().filter(|v| v.is_finite()).map(Value::Float),
            DeValue::String(v) if is_word(v) => Some(Value::Text(v.to_string())),
            _ => None,
        }
        .or_else(|| {
            self.expected("true, false, a finite number, or a text without spaces, `@`, `,` and `=`", None);
            None
        })
    }

    /// An expression: a text, or a number as a shorthand.
    pub fn expr(&self) -> Option<PlacedValue<Expr>> {
        let text = match self.value {
            DeValue::String(v) if !v.trim().is_empty() => v.to_string(),
            DeValue::Integer(v) => v.to_string(),
            DeValue::Float(v) => v.to_string(),
            _ => {
                self.expected("an expression such as \"S // TILE_M\", or a number", None);
                return None;
            }
        };
        self.parsed(&text, Expr::parse(&text))
    }

    /// A text with expressions in double braces.
    pub fn template(&self) -> Option<PlacedValue<Template>> {
        let text = self.text()?;
        self.parsed(&text, Template::parse(&text))
    }

    fn parsed<T>(&self, text: &str, parsed: Result<T, ExprError>) -> Option<PlacedValue<T>> {
        let refused = |e: ExprError| self.report_within(text, e.span(), format!("`{}`: {e}", self.place.key), None);
        parsed.map_err(refused).ok().map(|value| self.with(value))
    }

    /// The items of an array; a value that is not an array is an error and gives none.
    pub fn list(&self) -> Vec<Item<'a>> {
        match self.value {
            DeValue::Array(items) => items
                .iter()
                .enumerate()
                .map(|(at, item)| Item::new(self.source, format!("{}[{at}]", self.place.key), item))
                .collect(),
            _ => {
                self.expected("an array", None);
                Vec::new()
            }
        }
    }

    /// The items of an array that has to have some.
    pub fn some_list(&self) -> Vec<Item<'a>> {
        if matches!(self.value, DeValue::Array(items) if items.is_empty()) {
            self.expected("an array with at least one value", None);
        }
        self.list()
    }

    /// The 1 to 3 items of a grid, a block or a cluster.
    pub fn axes(&self) -> Vec<Item<'a>> {
        let axes = self.some_list();
        if axes.len() > 3 {
            self.expected("1 to 3 axes", None);
        }
        axes
    }

    /// The value of a key, where this is a table that has it; records nothing.
    pub fn peek(&self, key: &str) -> Option<Item<'a>> {
        let DeValue::Table(entries) = self.value else { return None };
        entries.get(key).map(|value| Item::new(self.source, format!("{}.{key}", self.place.key), value))
    }

    /// Line of the value, from 1.
    pub fn line(&self) -> usize {
        self.source.line(&self.place)
    }

    /// A table that may have the keys that `spec` declares.
    pub fn table(&self, spec: &'static Spec) -> Option<Table<'a>> {
        match self.value {
            DeValue::Table(entries) => Some(Table::new(self.source, spec, self.place.clone(), entries)),
            _ => {
                self.expected("a table", None);
                None
            }
        }
    }
}

/// A table whose keys are checked against what is declared.
pub struct Table<'a> {
    spec: &'static Spec,
    pub place: Place,
    entries: &'a DeTable<'a>,
    source: &'a TomlText<'a>,
}

impl<'a> Table<'a> {
    /// Reads `entries`; keys that are not declared are errors at once.
    pub fn new(source: &'a TomlText<'a>, spec: &'static Spec, place: Place, entries: &'a DeTable<'a>) -> Self {
        let table = Self { spec, place, entries, source };
        if spec.free.is_none() {
            for (key, _) in entries.iter().filter(|(key, _)| spec.key(key.get_ref()).is_none()) {
                table.refuse(key);
            }
        }
        table
    }

    fn refuse(&self, key: &Spanned<std::borrow::Cow<'_, str>>) {
        let place = Place { key: self.path(key.get_ref()), span: key.span() };
        let names = || self.spec.keys.iter().map(|k| k.name);
        let hint = nearest(key.get_ref(), names()).map_or_else(String::new, |n| format!("did you mean `{n}`? "));
        let within = if self.place.key.is_empty() { "here".to_owned() } else { format!("in `{}`", self.place.key) };
        let allowed: Vec<&str> = names().collect();
        let help = format!("{hint}allowed {within}: {}", allowed.join(", "));
        self.source.report(&place, format!("unknown key `{}`", place.key), Some(help));
    }

    fn path(&self, key: &str) -> String {
        if self.place.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place.key) }
    }

    /// The value of a declared key, if the file has it.
    pub fn get(&self, key: &'static str) -> Option<Item<'a>> {
        debug_assert!(self.spec.key(key).is_some(), "`{key}` is not declared for `{}`", self.spec.title);
        #[cfg(test)]
        asked::record(self.spec, key);
        self.entries.get(key).map(|value| Item::new(self.source, self.path(key), value))
    }

    /// The value of a key the file has to have; its absence is an error at the table.
    pub fn need(&self, key: &'static str) -> Option<Item<'a>> {
        let found = self.get(key);
        if found.is_none() {
            let doc = self.spec.key(key).map(|k| k.doc.to_owned());
            self.source.report(&self.place, format!("`{}` is missing", self.path(key)), doc);
        }
        found
    }

    /// Whether the file has the key.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Every entry, for tables whose keys are names the file chooses; declared keys are left out.
    pub fn free(&self) -> Vec<(PlacedValue<String>, Item<'a>)> {
        self.entries
            .iter()
            .filter(|(key, _)| self.spec.key(key.get_ref()).is_none())
            .map(|(key, value)| {
                let path = self.path(key.get_ref());
                let place = Place { key: path.clone(), span: key.span() };
                (PlacedValue { value: key.get_ref().to_string(), place }, Item::new(self.source, path, value))
            })
            .collect()
    }

    /// Records a problem at the table.
    pub fn report(&self, message: impl Into<String>, help: Option<String>) {
        self.source.report(&self.place, message, help);
    }

    /// Records a problem at another place of the file.
    pub fn report_at(&self, place: &Place, message: impl Into<String>, help: Option<String>) {
        self.source.report(place, message, help);
    }

    /// Records a problem with a part of a text that is written at another place; with all of it where no span is given.
    pub fn report_within(&self, place: &Place, value: &str, span: Option<Span>, message: String, help: Option<String>) {
        self.source.report(&within(self.source.text, place, value, span), message, help);
    }

    /// How many problems the file has so far.
    pub fn problems(&self) -> usize {
        self.source.problems.borrow().len()
    }

    /// Line of the table, from 1.
    pub fn line(&self) -> usize {
        self.source.line(&self.place)
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| !c.is_whitespace() && !c.is_control() && !"@,=".contains(c))
}

/// Whether a text is a name: letters, digits and `_ . - + =`, beginning with neither dot nor dash.
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-+=".contains(c);
    !text.is_empty() && text.chars().all(plain) && !text.starts_with(['.', '-'])
}

/// The keys that tables were asked for, so that a test can check that each declared key is read.
#[cfg(test)]
pub mod asked {
    use super::Spec;
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    thread_local! {
        static KEYS: RefCell<BTreeSet<(&'static str, &'static str)>> = RefCell::default();
    }

    /// Remembers that a table's key was asked for.
    pub fn record(spec: &'static Spec, key: &'static str) {
        KEYS.with_borrow_mut(|keys| keys.insert((spec.title, key)));
    }

    /// Everything asked for on this thread: title of the table, key.
    pub fn all() -> BTreeSet<(&'static str, &'static str)> {
        KEYS.with_borrow(Clone::clone)
    }
}
