//! Cells in aligned columns for a terminal, a log or a pipe. Nothing is cut.

use crate::text;
use crate::wrap::wrapped;

/// Cells longer than this do not widen their column.
const WIDEST: usize = 240;
/// Least width of a column that is narrowed to fit a terminal.
const LEAST: usize = 16;
/// Blanks between columns.
const GAP: usize = 2;

/// Alignment of a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Alignment {
    #[default]
    Left,
    Right,
}

/// Rows of cells. The width of a column is that of its widest cell.
#[derive(Debug, Clone, Default)]
pub struct TextTable {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table with these columns; further columns are left-aligned.
    pub fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new() }
    }

    pub fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Width of the lines, without limit.
    fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    /// Width of the lines on a terminal of that many columns, on which long names have their own lines.
    pub fn least_width(&self, columns: usize) -> usize {
        let widths = self.widths().into_iter().enumerate().map(|(at, width)| match self.alignment(at) {
            Alignment::Left => width.min(columns / 2 + 6) + GAP,
            Alignment::Right => width + GAP,
        });
        widths.sum::<usize>().saturating_sub(GAP)
    }

    /// Writes the table for a terminal of that many columns, or without a limit. In a row that does not fit, a long
    /// cell has its own line, and the other cells follow on the next.
    pub fn write(&self, out: &mut String, columns: Option<usize>) {
        let mut widths = self.widths();
        self.narrow(&mut widths, columns.map_or(0, |columns| self.width().saturating_sub(columns)));
        for row in &self.rows {
            let mut line = String::new();
            let mut start = 0;
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let is_long = cell.chars().count() > *width;
                line += &match (
                    self.alignment(column),
                    columns.filter(|columns| is_long && start + cell.chars().count() > *columns),
                ) {
                    (Alignment::Left, Some(columns)) => {
                        wrapped(cell, columns.saturating_sub(start)).join(&format!("\n{}", " ".repeat(start)))
                    }
                    (Alignment::Left, None) => text::left(cell, *width),
                    (Alignment::Right, _) => text::right(cell, *width),
                };
                start += width + GAP;
                if is_long && columns.is_some() && column + 1 < row.len() {
                    line.push('\n');
                    line.extend(std::iter::repeat_n(' ', start));
                } else {
                    line.extend(std::iter::repeat_n(' ', GAP));
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }

    /// Takes the excess from the columns of text, the widest first.
    fn narrow(&self, widths: &mut [usize], mut excess: usize) {
        let mut columns: Vec<usize> = (0..widths.len()).filter(|at| self.alignment(*at) == Alignment::Left).collect();
        columns.sort_by_key(|at| std::cmp::Reverse(widths[*at]));
        for at in columns {
            let taken = widths[at].saturating_sub(LEAST).min(excess);
            widths[at] -= taken;
            excess -= taken;
        }
    }

    fn alignment(&self, column: usize) -> Alignment {
        self.alignments.get(column).copied().unwrap_or_default()
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let lengths = |column: usize| cells(column).map(|cell| cell.chars().count()).filter(|length| *length <= WIDEST);
        (0..columns).map(|column| lengths(column).max().unwrap_or(0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let mut table = TextTable::new(vec![Alignment::Left, Alignment::Right]);
        table.push(["kernel", "time"].map(str::to_owned).to_vec());
        table.push(["a_kernel_with_a_long_name", "1,000 µs"].map(str::to_owned).to_vec());
        table
    }

    #[test]
    fn a_long_name_has_its_own_line_on_a_narrow_terminal() {
        let mut text = String::new();
        table().write(&mut text, Some(28));
        let expected = format!(
            "{}      time\na_kernel_with_a_long_name\n{}1,000 µs\n",
            text::left("kernel", 18),
            text::left("", 20)
        );
        assert_eq!(text, expected);
        let mut wide = String::new();
        table().write(&mut wide, Some(80));
        assert!(wide.ends_with("a_kernel_with_a_long_name  1,000 µs\n"), "{wide}");
    }

    #[test]
    fn a_cell_of_any_length_is_whole_and_leaves_other_rows_alone() {
        let mut table = table();
        table.push(vec!["x".repeat(70_000), "2 µs".to_owned()]);
        let mut text = String::new();
        table.write(&mut text, None);
        assert!(text.contains(&"x".repeat(70_000)) && text.len() < 70_200, "{}", text.len());
        assert_eq!(text.lines().count(), 3);
    }
}
