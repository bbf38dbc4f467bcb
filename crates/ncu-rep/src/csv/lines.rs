//! The lines of ncu's CSV among lines of other programs.

use super::error::CsvError;

/// A text that has a header of ncu's CSV.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    text: &'t str,
    /// Between cells. ncu prints commas; spreadsheets save semicolons and tabs.
    pub separator: u8,
    /// Whether cells are quoted, as ncu prints them. Other programs quote only those that need it.
    is_quoted: bool,
}

impl<'t> Lines<'t> {
    /// The lines of a text; none if it has no header.
    pub fn of(text: &'t str) -> Option<Self> {
        text.lines().find_map(|line| {
            let separator = separator(line)?;
            Some(Self { text, separator, is_quoted: line.starts_with('"') })
        })
    }

    /// The rows of all outputs. An empty line replaces every other one: the CSV reader ignores it but counts it.
    ///
    /// # Errors
    /// A row on a line of another program, or a file that ends inside a cell.
    pub fn rows(&self) -> Result<String, CsvError> {
        let mut rows = String::with_capacity(self.text.len());
        let (mut is_started, mut is_in_cell) = (false, false);
        for (line, text) in (1..).zip(self.text.lines()) {
            let text = text.trim_start_matches('\u{feff}');
            is_started |= separator(text).is_some();
            if is_in_cell || (is_started && self.is_row(text)) {
                rows.push_str(text);
                is_in_cell ^= text.matches('"').count() % 2 == 1;
            } else if is_started && has_row(text) {
                return Err(CsvError::Glued { line });
            }
            rows.push('\n');
        }
        if is_in_cell { Err(CsvError::Cut) } else { Ok(rows) }
    }

    /// Whether a line starts like a row: with a quoted cell, or with the id or the empty cell of another program's.
    fn is_row(&self, text: &str) -> bool {
        if self.is_quoted {
            return text.starts_with('"');
        }
        let first = text.split(char::from(self.separator)).next().unwrap_or_default().trim_matches('"');
        separator(text).is_some() || (first.len() < text.len() && first.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

/// The separator of a header.
fn separator(line: &str) -> Option<u8> {
    let has = |separator: char, name: &str| line.split(separator).any(|cell| cell.trim_matches('"') == name);
    // Most lines are rows.
    if !line.contains("Kernel Name") {
        return None;
    }
    [b',', b';', b'\t'].into_iter().find(|one| ["ID", "Kernel Name"].iter().all(|name| has(char::from(*one), name)))
}

/// Whether a line contains the first cells of a row: the header's, or an id.
fn has_row(line: &str) -> bool {
    line.match_indices("\",\"").any(|(at, _)| {
        let id = line.get(..at).and_then(|before| before.rsplit('"').next()).unwrap_or_default();
        id == "ID" || (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
    })
}
