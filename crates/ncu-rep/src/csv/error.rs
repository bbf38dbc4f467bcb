//! Errors in CSV, with their line.

/// Why CSV could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
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
    /// Text of another program on the line of a row.
    #[error("line {line} has other output before a row of ncu's CSV; hint: write the CSV to a file with `--log-file`")]
    Glued {
        /// Line, from 1.
        line: u64,
    },
    /// The file ends inside a quoted cell.
    #[error("the CSV of ncu ends inside a cell: the file is cut; copy it again, or print it again with ncu")]
    Cut,
    /// A number is not understood, in any language or in that of the file.
    #[error("line {line}: `{text}` is not a number of `{metric}`; hint: run ncu under `LC_ALL=C`")]
    Number {
        /// Line, from 1.
        line: u64,
        /// The metric.
        metric: String,
        /// Content of the cell.
        text: String,
    },
    /// The unit of a number is not understood, so that its value in the known base unit is unknown.
    #[error(
        "line {line}: unknown unit `{unit}` of `{metric}` (base unit `{base}`); hint: run ncu with `--print-units base`"
    )]
    Unit {
        /// Line, from 1.
        line: u64,
        /// The metric.
        metric: String,
        /// The printed unit.
        unit: String,
        /// The base unit.
        base: &'static str,
    },
    /// A number has two readings, and no other number of the file shows which is right.
    #[error(
        "line {line}: `{text}` has a decimal point or a thousands separator, and no other number shows which; \
         hint: run ncu under `LC_ALL=C`"
    )]
    AmbiguousNumbers {
        /// Line, from 1.
        line: u64,
        /// Content of the cell.
        text: String,
    },
    /// No decimal and thousands separator fits all numbers.
    #[error(
        "line {line}: `{text}` has other separators than the numbers before it; hint: run ncu under `LC_ALL=C`, \
         and keep outputs of several machines in separate files"
    )]
    MixedNumbers {
        /// Line, from 1.
        line: u64,
        /// Content of the cell.
        text: String,
    },
}
