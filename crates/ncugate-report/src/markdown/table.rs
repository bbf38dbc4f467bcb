//! Tables that read as text.

use super::escape::escape;
use ncugate_model::number::text;

/// A Markdown table with padded columns that is readable as text.
pub struct MarkdownTable {
    rows: Vec<Vec<String>>,
}

impl MarkdownTable {
    pub fn new(head: &[impl AsRef<str>]) -> Self {
        Self { rows: vec![head.iter().map(|head| escape(head.as_ref())).collect()] }
    }

    /// Adds a row of escaped cells.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl std::fmt::Display for MarkdownTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const WIDEST: usize = 48;
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |at: usize| self.rows.iter().filter_map(|r| r.get(at)).map(|c| c.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0).clamp(3, WIDEST)).collect();
        for (at, row) in self.rows.iter().enumerate() {
            for (cell, width) in row.iter().zip(&widths) {
                write!(f, "| {} ", text::left(cell, *width))?;
            }
            writeln!(f, "|")?;
            if at == 0 {
                for width in &widths {
                    write!(f, "| {} ", "-".repeat(*width))?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}
