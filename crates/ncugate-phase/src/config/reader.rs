//! Typed reading of TOML values that continues after an error, so that all errors of a file are reported at once.
//!
//! A [`Table`] refuses keys that its [`Spec`] does not declare, and returns the default of a missing key. An [`Item`]
//! returns its value as a type, or records an error at its position and returns none.

use super::error::{ConfigError, Place};
use super::keys::{Key, KeyDefault, KeyKind, Spec, tables};
use super::locate::within;
use ncugate_model::expr::{Expr, ExprError, Span, Template, Value};
use ncugate_model::{glob, nearest};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The values of all declared defaults, by their text.
static DEFAULTS: LazyLock<HashMap<&'static str, Spanned<DeValue<'static>>>> = LazyLock::new(|| {
    let values = tables().into_iter().flat_map(|spec| spec.keys).filter_map(|key| match key.default? {
        KeyDefault::Value(text) => Some((text, DeValue::parse(text).ok()?)),
        KeyDefault::Words(_) => None,
    });
    values.collect()
});

/// The text being read and the errors found so far.
pub struct TomlText<'s> {
    text: &'s str,
    /// Byte offsets of the lines after the first: a phase needs the line of each of its gates.
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

    /// Records that the value at a place is not `what`.
    fn expected(&self, place: &Place, what: &str, help: Option<String>) {
        let found = self.excerpt(place);
        self.report(place, format!("`{}` is `{found}`, expected {what}", place.key), help);
    }

    /// Line of a place, from 1.
    pub fn line(&self, place: &Place) -> usize {
        self.line_starts.partition_point(|start| *start <= place.span.start) + 1
    }

    /// The recorded errors.
    pub fn into_problems(self) -> Vec<ConfigError> {
        self.problems.into_inner()
    }

    /// The value as written, truncated to one line and 60 characters.
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

/// One TOML value under its key path, with its permitted kind.
#[derive(Clone)]
pub struct Item<'a> {
    value: &'a DeValue<'a>,
    kind: &'static KeyKind,
    pub place: Place,
    source: &'a TomlText<'a>,
}

impl<'a> Item<'a> {
    fn new(source: &'a TomlText<'a>, kind: &'static KeyKind, key: String, value: &'a Spanned<DeValue<'a>>) -> Self {
        Self { value: value.get_ref(), kind, place: Place { key, span: value.span() }, source }
    }

    /// Records that the value here is not `what`.
    pub fn expected(&self, what: &str, help: Option<String>) {
        self.source.expected(&self.place, what, help);
    }

    /// Records a problem here.
    pub fn report(&self, message: impl Into<String>, help: Option<String>) {
        self.source.report(&self.place, message, help);
    }

    /// Records a problem with a part of a text that is written here; with the whole text if no span is given.
    pub fn report_within(&self, value: &str, span: Option<Span>, message: String, help: Option<String>) {
        self.source.report(&within(self.source.text, &self.place, value, span), message, help);
    }

    /// Attaches the place to a value.
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
                self.expected("a text with at least one character", None);
                None
            }
        }
    }

    /// A glob; `what` names it in errors.
    pub fn glob(&self, what: &str) -> Option<String> {
        let text = self.text()?;
        glob(&text).map_err(|e| self.expected(what, Some(e.reason))).ok()?;
        Some(text)
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

    /// One of the words of its kind.
    pub fn word(&self) -> Option<&'static str> {
        let words = self.kind.words();
        let text = match self.value {
            DeValue::String(text) => text.as_ref(),
            _ => "",
        };
        let found = words.iter().find(|word| **word == text).copied();
        if found.is_none() {
            let hint = nearest(text, words.iter().copied()).map(|n| format!("did you mean \"{n}\"?"));
            let list: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            self.expected(&format!("one of {}", list.join(", ")), hint);
        }
        found
    }

    /// The value of its word; `values` are those that declare its kind.
    pub fn one_of<T: Copy>(&self, values: &[(&'static str, T)]) -> Option<T> {
        debug_assert!(self.kind.words().iter().eq(values.iter().map(|(word, _)| word)), "{:?}", self.kind);
        let word = self.word()?;
        values.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
    }

    /// A whole number of its kind.
    pub fn integer(&self) -> Option<i64> {
        self.whole(i64::MAX)
    }

    /// A whole number of its kind that fits `u32`.
    pub fn count(&self) -> Option<u32> {
        self.whole(i64::from(u32::MAX)).and_then(|v| u32::try_from(v).ok())
    }

    fn whole(&self, most: i64) -> Option<i64> {
        let range = self.kind.range();
        debug_assert!(range.is_some(), "{:?}", self.kind);
        let (low, high) = range.map_or((0, most), |range| (*range.start(), most.min(*range.end())));
        if let DeValue::Integer(v) = self.value
            && let Ok(v) = i64::from_str_radix(v.as_str(), v.radix())
            && (low..=high).contains(&v)
        {
            return Some(v);
        }
        let what = if high >= i64::from(u32::MAX) {
            format!("a whole number of at least {low}")
        } else {
            format!("a whole number from {low} to {high}")
        };
        self.expected(&what, None);
        None
    }

    /// Infinity, as a number of TOML or as a text; else none.
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
            let is_flag =
                matches!(self.value, DeValue::String(text) if text.trim().is_empty() || text.starts_with('-'));
            let help = "a flag is a value under a name: NAME = { off = [], on = [\"-maxrregcount=32\"] } in [sweep]";
            let help = is_flag.then(|| help.to_owned());
            self.expected("true, false, a finite number, or a text without spaces, `@`, `,` and `=`", help);
            None
        })
    }

    /// The only key of a table; another number of keys is an error.
    pub fn only_name(&self) -> Option<String> {
        let DeValue::Table(entries) = self.value else { return None };
        let mut names = entries.keys();
        match (names.next(), names.next()) {
            (Some(name), None) => Some(name.get_ref().to_string()),
            _ => {
                self.expected("one value with its flags, such as { on = [\"-use_fast_math\"] }", None);
                None
            }
        }
    }

    /// Whether `key` of this table can be a value of a parameter, and reads as nothing but a text; else an error.
    pub fn is_value_name(&self, key: &PlacedValue<String>) -> bool {
        let name = key.value.as_str();
        let fits = is_word(name) && name.parse::<f64>().is_err() && !["true", "false"].contains(&name);
        if !fits {
            let message = format!("`{}` cannot be the name of a value", key.place.key);
            let help = "use a word that is not a number, without spaces, `@`, `,` and `=`".to_owned();
            self.source.report(&key.place, message, Some(help));
        }
        fits
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

    /// The items of an array; any other value is an error and has no items.
    pub fn list(&self) -> Vec<Item<'a>> {
        match self.value {
            DeValue::Array(items) => {
                let kind = self.kind.element().unwrap_or(self.kind);
                let item = |(at, item)| Item::new(self.source, kind, format!("{}[{at}]", self.place.key), item);
                items.iter().enumerate().map(item).collect()
            }
            _ => {
                self.expected("an array", None);
                Vec::new()
            }
        }
    }

    /// The items of an array that must not be empty.
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

    /// The value of a key, if this is a table with that key; records nothing.
    pub fn peek(&self, key: &'static Key) -> Option<Item<'a>> {
        let DeValue::Table(entries) = self.value else { return None };
        let path = format!("{}.{}", self.place.key, key.name);
        entries.get(key.name).map(|value| Item::new(self.source, &key.kind, path, value))
    }

    /// Line of the value, from 1.
    pub fn line(&self) -> usize {
        self.source.line(&self.place)
    }

    /// A table of its kind.
    pub fn table(&self) -> Option<Table<'a>> {
        let spec = self.kind.spec();
        debug_assert!(spec.is_some(), "{:?}", self.kind);
        match (self.value, spec) {
            (DeValue::Table(entries), Some(spec)) => Some(Table::new(self.source, spec, self.place.clone(), entries)),
            _ => {
                self.expected("a table", None);
                None
            }
        }
    }

    /// A table of its kind; any other value becomes a table with only `key`.
    pub fn table_or(&self, key: &'static Key) -> Option<Table<'a>> {
        if self.is_table() {
            return self.table();
        }
        let item = Self { kind: &key.kind, ..self.clone() };
        Some(Table { alone: Some((key, item)), ..Table::empty(self.source, self.kind.spec()?, self.place.clone()) })
    }

    /// An empty table of the kind of `key`.
    pub fn empty_table(&self, key: &'static Key) -> Option<Table<'a>> {
        Some(Table::empty(self.source, key.kind.spec()?, self.place.clone()))
    }

    /// Reports unknown keys of tables in this value.
    fn check_tables(&self) {
        match self.kind {
            KeyKind::List(element) if element.spec().is_some() => self.list().iter().for_each(Self::check_tables),
            KeyKind::Either(_) if !self.is_table() => {}
            kind if kind.spec().is_some() => drop(self.table()),
            _ => {}
        }
    }
}

/// A table whose keys are checked against the declarations.
pub struct Table<'a> {
    spec: &'static Spec,
    pub place: Place,
    entries: Option<&'a DeTable<'a>>,
    /// The only key of a table that is written as the value of that key.
    alone: Option<(&'static Key, Item<'a>)>,
    /// The table of the project, which provides missing keys.
    project: Option<Box<Table<'a>>>,
    source: &'a TomlText<'a>,
}

impl<'a> Table<'a> {
    /// Reads `entries`; undeclared keys are errors at once.
    pub fn new(source: &'a TomlText<'a>, spec: &'static Spec, place: Place, entries: &'a DeTable<'a>) -> Self {
        let table = Self { entries: Some(entries), ..Self::empty(source, spec, place) };
        if spec.free.is_none() {
            for (key, _) in entries.iter().filter(|(key, _)| spec.key(key.get_ref()).is_none()) {
                table.refuse(key);
            }
        }
        table
    }

    /// A table without keys: each key has its default.
    pub fn empty(source: &'a TomlText<'a>, spec: &'static Spec, place: Place) -> Self {
        Self { spec, place, entries: None, alone: None, project: None, source }
    }

    /// The table of a key (empty if the file has none), over that of the project; none if one of the two is not a
    /// table, which is an error.
    pub fn section(&self, key: &'static Key, project: Option<&Self>) -> Option<Self> {
        let table = match self.given(key) {
            Some(item) => item.table()?,
            None => Self::empty(self.source, key.kind.spec()?, self.place.clone()),
        };
        let project = match project {
            Some(project) => Some(Box::new(project.section(key, None)?)),
            None => None,
        };
        Some(Self { project, ..table })
    }

    /// Reports unknown keys of the tables in it.
    pub fn check_tables(&self) {
        self.spec.keys.iter().filter_map(|key| self.given(key)).for_each(|item| item.check_tables());
    }

    fn refuse(&self, key: &Spanned<std::borrow::Cow<'_, str>>) {
        let place = Place { key: self.path(key.get_ref()), span: key.span() };
        let hint =
            nearest(key.get_ref(), self.spec.names()).map_or_else(String::new, |n| format!("did you mean `{n}`? "));
        let within = if self.place.key.is_empty() { "here".to_owned() } else { format!("in `{}`", self.place.key) };
        let allowed: Vec<&str> = self.spec.names().collect();
        let help = format!("{hint}allowed {within}: {}", allowed.join(", "));
        self.source.report(&place, format!("unknown key `{}`", place.key), Some(help));
    }

    fn path(&self, key: &str) -> String {
        if self.place.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place.key) }
    }

    /// The value of a key that the file has.
    pub fn given(&self, key: &'static Key) -> Option<Item<'a>> {
        debug_assert!(self.spec.key(key.name).is_some(), "`{}` is not of `{}`", key.name, self.spec.title);
        let written = self.entries.and_then(|entries| entries.get(key.name));
        let written = written.map(|value| Item::new(self.source, &key.kind, self.path(key.name), value));
        let alone = || self.alone.as_ref().filter(|(alone, _)| alone.name == key.name).map(|(_, item)| item.clone());
        written.or_else(alone).or_else(|| self.project.as_ref()?.given(key))
    }

    /// The value of a key, or its default. A missing required key is an error at the table.
    pub fn get(&self, key: &'static Key) -> Option<Item<'a>> {
        if key.required {
            return self.need(key);
        }
        let default = || match key.default? {
            KeyDefault::Value(text) => DEFAULTS.get(text),
            KeyDefault::Words(_) => None,
        };
        self.given(key).or_else(|| {
            let place = Place { key: self.path(key.name), ..self.place.clone() };
            Some(Item { value: default()?.get_ref(), kind: &key.kind, place, source: self.source })
        })
    }

    /// The value of a key that another key requires; its absence is an error at the table.
    pub fn need(&self, key: &'static Key) -> Option<Item<'a>> {
        let found = self.given(key);
        if found.is_none() {
            self.report_missing(key);
        }
        found
    }

    /// Reports a missing key.
    pub fn report_missing(&self, key: &Key) {
        self.report(format!("`{}` is missing", self.path(key.name)), Some(key.doc.to_owned()));
    }

    /// Reads the value of a key, or its default.
    pub fn read<T>(&self, key: &'static Key, read: impl FnOnce(&Item<'a>) -> Option<T>) -> Option<T> {
        self.get(key).and_then(|item| read(&item))
    }

    /// Reads the value of a key, or else `default`, or else the default of the key.
    pub fn read_or<T>(
        &self,
        key: &'static Key,
        default: Option<T>,
        read: impl FnOnce(&Item<'a>) -> Option<T>,
    ) -> Option<T> {
        if self.has(key) { self.read(key, read) } else { default.or_else(|| self.read(key, read)) }
    }

    /// The items of an array, or of its default; empty if neither is an array.
    pub fn list(&self, key: &'static Key) -> Vec<Item<'a>> {
        self.get(key).map(|item| item.list()).unwrap_or_default()
    }

    /// Whether the file has the key.
    pub fn has(&self, key: &Key) -> bool {
        self.entries.is_some_and(|entries| entries.contains_key(key.name))
            || self.alone.as_ref().is_some_and(|(alone, _)| alone.name == key.name)
    }

    /// The one of `keys` that the file has; none or several of them are an error.
    pub fn exactly_one(&self, keys: impl IntoIterator<Item = &'static Key>) -> Option<(&'static Key, Item<'a>)> {
        let keys: Vec<&'static Key> = keys.into_iter().collect();
        let mut given = keys.iter().filter_map(|key| Some((*key, self.given(key)?)));
        if let (Some(found), None) = (given.next(), given.next()) {
            return Some(found);
        }
        self.source.expected(&self.place, &format!("exactly one of {}", listed(&keys)), None);
        None
    }

    /// Whether the file has at least one of `keys`; none is an error with an example.
    pub fn at_least_one(&self, what: &str, keys: impl IntoIterator<Item = &'static Key>, example: &str) -> bool {
        let keys: Vec<&'static Key> = keys.into_iter().collect();
        let found = keys.iter().any(|key| self.has(key));
        if !found {
            self.source.expected(
                &self.place,
                &format!("at least one {what}{}", listed(&keys)),
                Some(example.to_owned()),
            );
        }
        found
    }

    /// Every entry whose key is not declared, for tables with free keys.
    pub fn free(&self) -> Vec<(PlacedValue<String>, Item<'a>)> {
        let (Some(entries), Some(kind)) = (self.entries, &self.spec.free) else { return Vec::new() };
        let entries = entries.iter().filter(|(key, _)| self.spec.key(key.get_ref()).is_none());
        let entry = |(key, value): (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>)| {
            let path = self.path(key.get_ref());
            let place = Place { key: path.clone(), span: key.span() };
            (PlacedValue { value: key.get_ref().to_string(), place }, Item::new(self.source, kind, path, value))
        };
        entries.map(entry).collect()
    }

    /// Records a problem at the table.
    pub fn report(&self, message: impl Into<String>, help: Option<String>) {
        self.source.report(&self.place, message, help);
    }

    /// Records a problem elsewhere in the file.
    pub fn report_at(&self, place: &Place, message: impl Into<String>, help: Option<String>) {
        self.source.report(place, message, help);
    }

    /// Records a problem with a part of a text that is written elsewhere; with the whole text if no span is given.
    pub fn report_within(&self, place: &Place, value: &str, span: Option<Span>, message: String, help: Option<String>) {
        self.source.report(&within(self.source.text, place, value, span), message, help);
    }

    /// Number of problems so far.
    pub fn problems(&self) -> usize {
        self.source.problems.borrow().len()
    }

    /// Line of the table, from 1.
    pub fn line(&self) -> usize {
        self.source.line(&self.place)
    }
}

fn listed(keys: &[&Key]) -> String {
    keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", ")
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| !c.is_whitespace() && !c.is_control() && !"@,=".contains(c))
}

/// Whether a text is a name: letters, digits and `_ . - + =`, beginning with neither dot nor dash.
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-+=".contains(c);
    !text.is_empty() && text.chars().all(plain) && !text.starts_with(['.', '-'])
}
