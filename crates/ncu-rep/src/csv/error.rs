//! Errors in CSV, with their line.

/// Why CSV could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// No line starts with the header.
    #[error("not a CSV of ncu: no line starts with `\"ID\",`")]
    NoHeader,
    /// A required column is missing.
    #[error("the CSV of ncu has no column `{column}`")]
    NoColumn {
        /// The column.
        column: &'static str,
    },
    /// The text is not CSV.
    #[error("line {line} is not a row of ncu's CSV")]
    Row {
        /// Line, from 1.
        line: u64,
        /// The parse error.
        #[source]
        source: csv::Error,
    },
    /// A row ends before its last required column or continues after the last column of the header.
    #[error("line {line} has {found} cells, but the header has {columns}")]
    Cells {
        /// Line, from 1.
        line: u64,
        /// Cells of the row.
        found: usize,
        /// Columns of the header.
        columns: usize,
    },
    /// A cell has an invalid value for its column.
    #[error("line {line}: `{text}` is not a valid `{column}`")]
    Cell {
        /// Line, from 1.
        line: u64,
        /// The column.
        column: String,
        /// Content of the cell.
        text: String,
    },
}
