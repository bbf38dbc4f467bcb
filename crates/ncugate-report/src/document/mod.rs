//! The answer of a command as data: sections, notes, tables and figures, which [`terminal`], [`markdown`] and [`html`]
//! walk. A builder knows no format, and a renderer knows no command.

mod html;
mod markdown;
mod terminal;

pub use html::html;
pub use markdown::{blocks as markdown_blocks, markdown};
pub use terminal::{blocks as terminal_blocks, terminal};

use crate::chart::Chart;
use crate::chart::svg::Drawing;
use ncu_explain::{ChangeDirection, Severity};
use ncugate_model::Verdict;
use serde::{Serialize, Serializer};

/// An answer with its parts.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Document {
    pub title: String,
    /// The answer in a sentence: last on a screen, first in a file.
    pub sentence: String,
    pub blocks: Vec<DocumentBlock>,
}

/// The smallest medium that shows a section; larger ones show it too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Medium {
    #[default]
    Screen,
    File,
    Page,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum DocumentBlock {
    Section(Section),
    /// What the answer is about.
    Facts(Vec<DocumentFact>),
    Text(String),
    /// A condition that changes how the rest is read.
    Note(String),
    /// What to do.
    Next(String),
    /// Text of little weight: origin, what is left out.
    Aside(String),
    /// What terminal and Markdown leave out; a page has it.
    LeftOut(String),
    List(Vec<String>),
    Table(DocumentTable),
    Findings(Vec<FindingBlock>),
    #[serde(serialize_with = "drawn")]
    Figures(Vec<Chart>),
    /// Lines of code with their change.
    Code(Vec<CodeLine>),
}

/// A finding with its advice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingBlock {
    pub title: String,
    pub severity: Severity,
    /// What it says, what fixing it could save, where it is.
    pub lines: Vec<String>,
    pub advice: String,
}

/// A heading with its blocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Section {
    pub id: String,
    pub title: String,
    /// Beside the title.
    pub about: String,
    pub fold: Fold,
    pub medium: Medium,
    pub blocks: Vec<DocumentBlock>,
}

/// Whether a page shows the blocks of a section at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fold {
    /// They cannot be folded.
    #[default]
    None,
    Open,
    Closed,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DocumentFact {
    pub label: String,
    pub text: String,
    pub verdict: String,
    /// More about it, a line each.
    pub about: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DocumentTable {
    pub label: String,
    pub columns: Vec<Column>,
    pub rows: Vec<TableRow>,
    pub listing: Option<TableListing>,
    /// Every medium shows all rows.
    pub is_whole: bool,
    /// What the rows are like that a medium leaves out, and where they are: `have less time: ... has all`.
    pub rest: String,
}

/// A table that sorts and filters; a page has one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableListing {
    /// Rows shown at first.
    pub shown: usize,
    /// What the ranges are.
    pub by: &'static str,
    /// Names that rows can be chosen by, if there are several.
    pub ranges: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Column {
    pub title: String,
    pub meaning: String,
    pub is_number: bool,
    pub is_sorted: bool,
    /// A screen without room leaves it out.
    pub is_minor: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TableRow {
    pub cells: Vec<TableCell>,
    /// The section about this row.
    pub section: Option<String>,
    pub range: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TableCell {
    pub text: String,
    /// The number behind the text, to sort by.
    pub number: Option<f64>,
    /// The whole name, or why there is no value.
    pub why: String,
    /// Small text after it.
    pub note: String,
    /// Percent of a bar before it.
    pub bar: Option<f64>,
    pub link: Option<String>,
    pub tone: CellTone,
}

/// How a cell is set apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CellTone {
    #[default]
    Plain,
    /// It has no value.
    Missing,
    Code,
    Strong,
    Better,
    Worse,
    Pass,
    Fail,
    Inconclusive,
    Waived,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CodeLine {
    /// `kept`, `removed`, `added`; empty for a line that is not compared.
    pub change: &'static str,
    pub text: String,
}

impl Document {
    pub fn push(&mut self, block: impl Into<Option<DocumentBlock>>) {
        self.blocks.extend(block.into());
    }
}

impl Section {
    /// A part of a page with its own heading, closed at first.
    pub fn part(id: &str, title: impl Into<String>, about: impl Into<String>, blocks: Vec<DocumentBlock>) -> Self {
        Self { fold: Fold::Closed, about: about.into(), ..Self::new(id, title, blocks) }
    }

    pub fn new(id: &str, title: impl Into<String>, blocks: Vec<DocumentBlock>) -> Self {
        Self { id: id.to_owned(), title: title.into(), blocks, ..Self::default() }
    }

    /// Lines under a title; none without lines.
    pub fn of_lines(title: impl Into<String>, lines: impl IntoIterator<Item = String>) -> Option<DocumentBlock> {
        let lines: Vec<String> = lines.into_iter().collect();
        (!lines.is_empty()).then(|| Self::new("", title, vec![DocumentBlock::List(lines)]).into())
    }

    /// A part that a page folds.
    pub fn folded(title: impl Into<String>, medium: Medium, blocks: Vec<DocumentBlock>) -> Self {
        Self { fold: Fold::Closed, medium, ..Self::new("", title, blocks) }
    }
}

impl CodeLine {
    pub fn plain(text: impl Into<String>) -> Self {
        Self { change: "", text: text.into() }
    }
}

impl From<Section> for DocumentBlock {
    fn from(section: Section) -> Self {
        Self::Section(section)
    }
}

impl DocumentTable {
    pub fn new(label: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { label: label.into(), columns, ..Self::default() }
    }

    pub fn row(&mut self, cells: Vec<TableCell>) {
        self.rows.push(TableRow { cells, ..TableRow::default() });
    }

    /// The block, unless it has no rows.
    pub fn block(self) -> Option<DocumentBlock> {
        (!self.rows.is_empty()).then_some(DocumentBlock::Table(self))
    }

    /// The rows that a medium shows.
    fn shown(&self, most: usize) -> &[TableRow] {
        if self.is_whole { &self.rows } else { &self.rows[..self.rows.len().min(most)] }
    }

    fn rest(&self, most: usize) -> Option<String> {
        let more = self.rows.len().checked_sub(self.shown(most).len()).filter(|more| *more > 0)?;
        Some(format!("{} more {}", crate::number::plain(more as f64), self.rest).trim_end().to_owned())
    }
}

impl Column {
    pub fn text(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    pub fn number(title: impl Into<String>) -> Self {
        Self { is_number: true, ..Self::text(title) }
    }

    pub fn minor(self) -> Self {
        Self { is_minor: true, ..self }
    }

    pub fn meaning(self, meaning: &str) -> Self {
        Self { meaning: meaning.to_owned(), ..self }
    }
}

impl TableCell {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn of(text: impl Into<String>, tone: CellTone) -> Self {
        Self { tone, ..Self::new(text) }
    }

    /// A number with its text.
    pub fn value(number: f64, text: impl Into<String>) -> Self {
        Self { number: Some(number), ..Self::new(text) }
    }

    pub fn missing(why: impl Into<String>) -> Self {
        Self { why: why.into(), ..Self::of("n/a", CellTone::Missing) }
    }

    /// A value with its unit; `n/a` if there is none.
    pub fn with_unit(value: Option<f64>, unit: &str) -> Self {
        value.map_or_else(|| Self::missing(""), |value| Self::value(value, crate::number::with_unit(value, unit)))
    }

    pub fn verdict(verdict: Verdict, text: impl Into<String>) -> Self {
        Self::of(text, verdict.into())
    }

    /// A percentage with its bar.
    pub fn share(percent: f64) -> Self {
        Self::value(percent, crate::number::share(percent)).bar(percent.clamp(0.0, 100.0))
    }

    pub fn bar(self, percent: f64) -> Self {
        Self { bar: Some(percent), ..self }
    }

    /// The text where colours cannot be seen: verdicts that need attention are capitals.
    fn plain(&self) -> String {
        match self.tone {
            CellTone::Pass | CellTone::Fail | CellTone::Inconclusive => self.text.to_uppercase(),
            _ => self.text.clone(),
        }
    }

    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

impl From<Verdict> for CellTone {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Fail => Self::Fail,
            Verdict::Inconclusive => Self::Inconclusive,
        }
    }
}

impl From<ChangeDirection> for CellTone {
    fn from(change: ChangeDirection) -> Self {
        match change {
            ChangeDirection::Better => Self::Better,
            ChangeDirection::Worse => Self::Worse,
            ChangeDirection::WithinNoise | ChangeDirection::Neither => Self::Plain,
        }
    }
}

fn drawn<S: Serializer>(charts: &[Chart], serializer: S) -> Result<S::Ok, S::Error> {
    let drawn: Result<Vec<_>, _> = charts.iter().map(Drawing::new).collect();
    drawn.map_err(serde::ser::Error::custom)?.serialize(serializer)
}
