//! What can be wrong with CSV, with the line where it is.

/// Why CSV could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// No line starts with the header.
    #[error("no ncu CSV: no line starts with `\"ID\",`")]
    NoHeader,
    /// A column that every row needs is not there.
    #[error("ncu CSV has no column `{column}`")]
    NoColumn {
        /// The column.
        column: &'static str,
    },
    /// The text is not CSV.
    #[error("line {line} is not a row of ncu's CSV")]
    Row {
        /// Line, from 1.
        line: u64,
        /// What is wrong.
        #[source]
        source: csv::Error,
    },
    /// A row ends before its last needed column or goes on behind the header's last one.
    #[error("line {line} has {found} cells, the header {columns}")]
    Cells {
        /// Line, from 1.
        line: u64,
        /// Cells of the row.
        found: usize,
        /// Columns of the header.
        columns: usize,
    },
    /// A cell does not hold what its column says.
    #[error("line {line}: `{text}` is not a valid `{column}`")]
    Cell {
        /// Line, from 1.
        line: u64,
        /// The column.
        column: String,
        /// What the cell holds.
        text: String,
    },
}
