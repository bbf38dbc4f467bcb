//! A row of ncu's CSV: which column is what, and what its cells hold.

use super::value::base_value;
use super::{CsvError, CsvLaunch, CsvMetric, Names};

/// How metrics are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A row a metric (`--csv`, `--page details`).
    Long,
    /// A row a launch, a column a metric (`--page raw`).
    Wide,
}

/// What a column is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Column {
    Id,
    ProcessId,
    Process,
    Host,
    Kernel,
    Context,
    Stream,
    Block,
    Grid,
    Device,
    Capability,
    Nvtx,
    MetricName,
    MetricUnit,
    MetricValue,
    /// A metric of the wide form, by index of its name.
    Metric(u32),
    Ignored,
}

impl Form {
    pub fn of(header: &csv::StringRecord) -> Self {
        if header.iter().any(|name| name == "Metric Name") { Self::Long } else { Self::Wide }
    }
}

/// What the column with this name is.
pub(super) fn column(name: &str, form: Form, names: &mut Names) -> Column {
    match name {
        "ID" => Column::Id,
        "Process ID" => Column::ProcessId,
        "Process Name" => Column::Process,
        "Host Name" => Column::Host,
        "Kernel Name" => Column::Kernel,
        "Context" => Column::Context,
        "Stream" => Column::Stream,
        "Block Size" => Column::Block,
        "Grid Size" => Column::Grid,
        "Device" => Column::Device,
        "CC" => Column::Capability,
        "Metric Name" => Column::MetricName,
        "Metric Unit" => Column::MetricUnit,
        "Metric Value" => Column::MetricValue,
        _ if name.contains("Push/Pop_Range") || name.contains("Start/Stop_Range") => Column::Nvtx,
        _ if form == Form::Wide && !name.is_empty() => Column::Metric(names.id(name)),
        _ => Column::Ignored,
    }
}

/// Refuses a header without the columns that its form needs.
pub(super) fn require(columns: &[Column], form: Form) -> Result<(), CsvError> {
    let needed: &[(Column, &'static str)] = match form {
        Form::Wide => &[(Column::Kernel, "Kernel Name")],
        Form::Long => &[
            (Column::Kernel, "Kernel Name"),
            (Column::MetricUnit, "Metric Unit"),
            (Column::MetricValue, "Metric Value"),
        ],
    };
    match needed.iter().find(|(column, _)| !columns.contains(column)) {
        Some(&(_, column)) => Err(CsvError::NoColumn { column }),
        None => Ok(()),
    }
}

/// One row and what its columns are.
pub(super) struct Row<'a> {
    columns: &'a [Column],
    record: &'a csv::StringRecord,
    line: u64,
}

impl<'a> Row<'a> {
    /// A row with as many cells as the header. Rows of the long form may lack those of rules at the end: a details page
    /// leaves them out for metrics.
    pub fn new(columns: &'a [Column], record: &'a csv::StringRecord, line: u64, form: Form) -> Result<Self, CsvError> {
        let least = match form {
            Form::Wide => columns.len(),
            Form::Long => columns.iter().rposition(|column| *column != Column::Ignored).map_or(0, |last| last + 1),
        };
        if (least..=columns.len()).contains(&record.len()) {
            return Ok(Self { columns, record, line });
        }
        Err(CsvError::Cells { line, found: record.len(), columns: columns.len() })
    }

    pub fn text(&self, column: &Column) -> &str {
        let index = self.columns.iter().position(|other| other == column);
        index.and_then(|index| self.record.get(index)).unwrap_or_default()
    }

    fn bad(&self, column: &str, text: &str) -> CsvError {
        CsvError::Cell { line: self.line, column: column.to_owned(), text: text.to_owned() }
    }

    /// A whole number; `None` when the cell is empty or `n/a`, as for ranges, or the column is not there.
    fn number(&self, column: &Column, name: &str) -> Result<Option<u32>, CsvError> {
        let text = self.text(column).trim();
        if matches!(text, "" | "n/a") {
            return Ok(None);
        }
        text.replace(',', "").parse().map(Some).map_err(|_| self.bad(name, text))
    }

    /// Three numbers as in `(128, 1, 1)`.
    fn triple(&self, column: &Column, name: &str) -> Result<Option<[u32; 3]>, CsvError> {
        let text = self.text(column).trim();
        if matches!(text, "" | "n/a") {
            return Ok(None);
        }
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
        let parts: Option<Vec<u32>> = inner.split(',').map(|part| part.trim().parse().ok()).collect();
        parts.and_then(|parts| parts.try_into().ok()).map(Some).ok_or_else(|| self.bad(name, text))
    }

    pub fn launch(&self) -> Result<CsvLaunch, CsvError> {
        let nvtx =
            self.columns.iter().zip(self.record).filter(|(column, text)| **column == Column::Nvtx && !text.is_empty());
        Ok(CsvLaunch {
            id: self.number(&Column::Id, "ID")?.ok_or_else(|| self.bad("ID", ""))?,
            kernel: self.text(&Column::Kernel).to_owned(),
            pid: self.number(&Column::ProcessId, "Process ID")?,
            process: self.text(&Column::Process).to_owned(),
            host: self.text(&Column::Host).to_owned(),
            context: self.number(&Column::Context, "Context")?,
            stream: self.number(&Column::Stream, "Stream")?,
            grid: self.triple(&Column::Grid, "Grid Size")?,
            block: self.triple(&Column::Block, "Block Size")?,
            device: self.number(&Column::Device, "Device")?,
            capability: self.text(&Column::Capability).to_owned(),
            nvtx: nvtx.map(|(_, text)| text.to_owned()).collect(),
            metrics: Vec::new(),
        })
    }

    /// Adds the row's metrics: one of the long form (none for a row of a rule), all of the wide form.
    pub fn metrics(&self, units: &[String], names: &mut Names, out: &mut Vec<CsvMetric>) {
        let name = self.text(&Column::MetricName);
        if !name.is_empty() {
            let (value, unit) = base_value(self.text(&Column::MetricValue), self.text(&Column::MetricUnit));
            out.push(CsvMetric { name: names.id(name), unit, value });
        }
        for ((column, text), unit) in self.columns.iter().zip(self.record).zip(units) {
            if let Column::Metric(name) = column {
                let (value, unit) = base_value(text, unit);
                out.push(CsvMetric { name: *name, unit, value });
            }
        }
    }
}
