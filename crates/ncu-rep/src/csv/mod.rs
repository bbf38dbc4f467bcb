//! CSV output of ncu: the long form (`--csv`, one row per metric) and the wide form (`--page raw --csv`, one row per launch).
//!
//! Columns are found by header name, never by position: `--nvtx` and new versions insert some. Values are converted
//! to base units. Digits that ncu did not print are lost, so prefer the report to its CSV.
//!
//! ```
//! use ncu_rep::MetricValue;
//! use ncu_rep::csv::CsvReport;
//!
//! # fn main() -> Result<(), ncu_rep::csv::CsvError> {
//! let printed = "==PROF== Connected to process 5080\n\
//!     \"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
//!     \"0\",\"scale\",\"dram__bytes.sum\",\"Mbyte\",\"1.606912\"\n";
//! let report = CsvReport::parse(printed)?;
//! let metric = &report.launches[0].metrics[0];
//! assert_eq!((report.name(metric), metric.unit.as_ref()), ("dram__bytes.sum", "byte"));
//! assert_eq!(metric.value, MetricValue::Double(1_606_912.0));
//! # Ok(())
//! # }
//! ```

mod error;
mod launch;
mod names;
mod row;
mod value;

use names::NameIndex;
use row::{CsvColumn, CsvForm, CsvRow, column, require};

pub use error::CsvError;
pub use launch::{CsvLaunch, CsvMetric};

/// Launches read from CSV.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CsvReport {
    /// Metric names, each once.
    pub names: Vec<String>,
    /// Launches in the order of the CSV.
    pub launches: Vec<CsvLaunch>,
}

/// The launches read so far.
struct CsvTable {
    form: CsvForm,
    columns: Vec<CsvColumn>,
    /// Unit of each column of the wide form.
    units: Vec<String>,
    names: NameIndex,
    launches: Vec<CsvLaunch>,
}

impl CsvTable {
    fn new(header: &csv::StringRecord) -> Result<Self, CsvError> {
        let mut names = NameIndex::default();
        let form = CsvForm::of(header);
        let columns: Vec<CsvColumn> = header.iter().map(|name| column(name, form, &mut names)).collect();
        require(&columns, form)?;
        let units = vec![String::new(); columns.len()];
        Ok(Self { form, columns, units, names, launches: Vec::new() })
    }

    /// Adds a row: a launch of the wide form, a metric of the long one, or the wide form's units.
    fn add(&mut self, record: &csv::StringRecord, line: u64) -> Result<(), CsvError> {
        let row = CsvRow::new(&self.columns, record, line, self.form)?;
        if self.form == CsvForm::Wide && row.text(&CsvColumn::Id).is_empty() {
            self.units = record.iter().map(str::to_owned).collect();
            return Ok(());
        }
        let launch = row.launch()?;
        let is_same = |known: &CsvLaunch| known.id == launch.id && known.pid == launch.pid;
        let known = match self.form {
            CsvForm::Wide => None,
            CsvForm::Long => self.launches.iter().rposition(is_same),
        };
        let index = known.unwrap_or_else(|| {
            self.launches.push(launch);
            self.launches.len() - 1
        });
        if let Some(launch) = self.launches.get_mut(index) {
            row.metrics(&self.units, &mut self.names, &mut launch.metrics);
        }
        Ok(())
    }
}

impl CsvReport {
    /// Reads either form. Lines before the header, and lines that ncu starts with `==`, are skipped.
    ///
    /// # Errors
    /// No header, a row that is not CSV or has the wrong number of cells, a cell with an invalid value.
    pub fn parse(text: &str) -> Result<Self, CsvError> {
        let (skipped, rows) = rows(text).ok_or(CsvError::NoHeader)?;
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(rows.as_bytes());
        let mut record = csv::StringRecord::new();
        let mut table: Option<CsvTable> = None;
        loop {
            let line = reader.position().line() + skipped;
            if !reader.read_record(&mut record).map_err(|source| CsvError::Row { line, source })? {
                break;
            }
            match &mut table {
                Some(table) => table.add(&record, line)?,
                None => table = Some(CsvTable::new(&record)?),
            }
        }
        let table = table.ok_or(CsvError::NoHeader)?;
        Ok(Self { names: table.names.names, launches: table.launches })
    }

    /// The name of a metric.
    #[must_use]
    pub fn name(&self, metric: &CsvMetric) -> &str {
        self.names.get(metric.name as usize).map_or("", String::as_str)
    }
}

/// The lines from the header on without ncu's messages, and the number of lines before the header.
fn rows(text: &str) -> Option<(u64, String)> {
    let header = text.lines().position(|line| line.trim_start_matches('\u{feff}').starts_with("\"ID\","))?;
    let mut rows = String::with_capacity(text.len());
    for line in text.lines().skip(header) {
        // An empty line replaces a skipped one: the CSV reader ignores it but counts it.
        if !line.starts_with("==") {
            rows.push_str(line.trim_start_matches('\u{feff}'));
        }
        rows.push('\n');
    }
    Some((header as u64, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::MetricValue;

    const HEAD: &str = r#""ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC""#;
    const CELLS: &str =
        r#""0","5080","host","127.0.0.1","void f<1, 2>(int, ""x"")","1","7","(128, 1, 1)","(16, 8, 1)","0","9.0""#;

    #[test]
    fn long_form_with_lines_of_ncu_around() {
        let text = format!(
            "==PROF== Connected\nhello\n{HEAD},\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
             {CELLS},\"s\",\"dram__bytes.sum\",\"Mbyte\",\"1.606912\"\n\
             ==WARNING== late\n\
             {CELLS},\"s\",\"gpu__time_duration.sum\",\"ns\",\"1,606,912\"\n\
             {CELLS},\"s\",\"\",\"\",\"\"\n"
        );
        let report = CsvReport::parse(&text).unwrap();
        assert_eq!(report.launches.len(), 1);
        let launch = &report.launches[0];
        assert_eq!(launch.kernel, "void f<1, 2>(int, \"x\")");
        assert_eq!((launch.grid, launch.block), (Some([16, 8, 1]), Some([128, 1, 1])));
        let values: Vec<_> =
            launch.metrics.iter().map(|m| (report.name(m), m.unit.as_ref(), m.value.clone())).collect();
        assert_eq!(
            values,
            [
                ("dram__bytes.sum", "byte", MetricValue::Double(1_606_912.0)),
                ("gpu__time_duration.sum", "ns", MetricValue::U64(1_606_912)),
            ]
        );
    }

    #[test]
    fn wide_form_with_nvtx_columns_in_between() {
        let head = HEAD.replace(
            "\"Kernel Name\"",
            "\"thread Domain:Push/Pop_Range:PL_Type\",\"Id:Domain:Start/Stop_Range:PL_Type\",\"Kernel Name\"",
        );
        let cells = CELLS.replace("\"void f", "\"D:attn\",\"\",\"void f");
        let blank = "\"\",".repeat(13);
        let text = format!(
            "{head},\"a__x.sum\",\"b__y\"\n{blank}\"ms\",\"\"\n{cells},\"0.5\",\"nan\"\n{},\"\",\"n/a\"\n",
            cells.replacen("\"0\"", "\"1\"", 1)
        );
        let report = CsvReport::parse(&text).unwrap();
        assert_eq!(report.names, ["a__x.sum", "b__y"]);
        assert_eq!(report.launches[0].nvtx, ["D:attn"]);
        assert_eq!(report.launches[0].metrics[0].value, MetricValue::Double(500_000.0));
        assert_eq!(report.launches[0].metrics[0].unit, "ns");
        assert!(matches!(report.launches[0].metrics[1].value, MetricValue::Double(value) if value.is_nan()));
        assert_eq!(report.launches[1].id, 1);
        assert!(report.launches[1].metrics.iter().all(|metric| metric.value.is_missing()));
    }

    #[test]
    fn a_text_that_is_not_ncu_csv_is_an_error() {
        assert!(matches!(CsvReport::parse("hello\n"), Err(CsvError::NoHeader)));
        let parse = |text: &str| CsvReport::parse(text);
        assert!(matches!(parse(&format!("{HEAD}\n{CELLS},\"9\"\n")), Err(CsvError::Cells { line: 2, found: 12, .. })));
        assert!(matches!(parse(&format!("{HEAD},\"a__b\"\n{CELLS}\n")), Err(CsvError::Cells { line: 2, .. })));
        let bad = CELLS.replace("(128, 1, 1)", "(128, 1)");
        assert!(matches!(CsvReport::parse(&format!("{HEAD}\n{bad}\n")), Err(CsvError::Cell { line: 2, .. })));
        assert!(matches!(
            CsvReport::parse("\"ID\",\"Metric Name\"\n"),
            Err(CsvError::NoColumn { column: "Kernel Name" })
        ));
    }
}
