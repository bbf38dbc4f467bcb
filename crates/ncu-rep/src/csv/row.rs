//! A row of ncu's CSV: the meaning of its columns and the values of its cells.

use super::error::CsvError;
use super::labels;
use super::launch::{CsvLaunch, CsvMetric, CsvRange};
use super::names::NameIndex;
use super::numbers::NumberForm;
use super::value::{UnreadablePart, base_value};

/// The layout of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CsvForm {
    /// One row per metric (`--csv`, `--page details`).
    Long,
    /// One row per launch, one column per metric (`--page raw`).
    Wide,
}

/// The meaning of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CsvColumn {
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
    /// NVTX ranges that were pushed.
    Pushed,
    /// NVTX ranges that were started.
    Started,
    MetricName,
    MetricUnit,
    MetricValue,
    /// A metric of the wide form, by index of its name.
    Metric(u32),
    Ignored,
}

impl CsvForm {
    pub fn of(header: &csv::StringRecord) -> Self {
        if header.iter().any(|name| name == "Metric Name") { Self::Long } else { Self::Wide }
    }
}

/// The meaning of the column with this name.
pub(super) fn column(name: &str, form: CsvForm, names: &mut NameIndex) -> CsvColumn {
    match name {
        "ID" => CsvColumn::Id,
        "Process ID" => CsvColumn::ProcessId,
        "Process Name" => CsvColumn::Process,
        "Host Name" => CsvColumn::Host,
        "Kernel Name" => CsvColumn::Kernel,
        "Context" => CsvColumn::Context,
        "Stream" => CsvColumn::Stream,
        "Block Size" => CsvColumn::Block,
        "Grid Size" => CsvColumn::Grid,
        "Device" => CsvColumn::Device,
        "CC" => CsvColumn::Capability,
        "Metric Name" => CsvColumn::MetricName,
        "Metric Unit" => CsvColumn::MetricUnit,
        "Metric Value" => CsvColumn::MetricValue,
        _ if name.contains("Push/Pop_Range") => CsvColumn::Pushed,
        _ if name.contains("Start/Stop_Range") => CsvColumn::Started,
        // The column of 2019, and that of a table without a name.
        "Kernel Time" | "" => CsvColumn::Ignored,
        _ if form == CsvForm::Wide => CsvColumn::Metric(names.id(name)),
        _ => CsvColumn::Ignored,
    }
}

/// Refuses a header without the required columns of its form.
pub(super) fn require(columns: &[CsvColumn], form: CsvForm) -> Result<(), CsvError> {
    let needed: &[(CsvColumn, &'static str)] = match form {
        CsvForm::Wide => &[(CsvColumn::Kernel, "Kernel Name")],
        CsvForm::Long => &[
            (CsvColumn::Kernel, "Kernel Name"),
            (CsvColumn::MetricUnit, "Metric Unit"),
            (CsvColumn::MetricValue, "Metric Value"),
        ],
    };
    match needed.iter().find(|(column, _)| !columns.contains(column)) {
        Some(&(_, column)) => Err(CsvError::NoColumn { column }),
        None => Ok(()),
    }
}

/// One row and the meaning of its columns.
pub(super) struct CsvRow<'a> {
    columns: &'a [CsvColumn],
    record: &'a csv::StringRecord,
    line: u64,
    numbers: NumberForm,
}

impl<'a> CsvRow<'a> {
    /// A row with as many cells as the header. Rows of the long form can omit the rule columns at the end, as a
    /// details page does for metrics.
    pub fn new(
        columns: &'a [CsvColumn],
        record: &'a csv::StringRecord,
        line: u64,
        form: CsvForm,
        numbers: NumberForm,
    ) -> Result<Self, CsvError> {
        let least = match form {
            CsvForm::Wide => columns.len(),
            CsvForm::Long => {
                columns.iter().rposition(|column| *column != CsvColumn::Ignored).map_or(0, |last| last + 1)
            }
        };
        if (least..=columns.len()).contains(&record.len()) {
            return Ok(Self { columns, record, line, numbers });
        }
        Err(CsvError::Cells { line, found: record.len(), columns: columns.len() })
    }

    pub fn text(&self, column: &CsvColumn) -> &str {
        let index = self.columns.iter().position(|other| other == column);
        index.and_then(|index| self.record.get(index)).unwrap_or_default()
    }

    fn bad(&self, column: &str, text: &str) -> CsvError {
        CsvError::Cell { line: self.line, column: column.to_owned(), text: text.to_owned() }
    }

    /// A whole number; `None` when the cell is empty or `n/a`, as for ranges, or the column is missing.
    fn number(&self, column: &CsvColumn, name: &str) -> Result<Option<u32>, CsvError> {
        let text = self.text(column).trim();
        if matches!(text, "" | "n/a") {
            return Ok(None);
        }
        let plain = self.numbers.plain(text).and_then(|plain| plain.parse().ok());
        plain.map(Some).ok_or_else(|| self.bad(name, text))
    }

    /// Three numbers as in `(128, 1, 1)`.
    fn triple(&self, column: &CsvColumn, name: &str) -> Result<Option<[u32; 3]>, CsvError> {
        let text = self.text(column).trim();
        if matches!(text, "" | "n/a") {
            return Ok(None);
        }
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
        let parts: Option<Vec<u32>> = inner.split(',').map(|part| part.trim().parse().ok()).collect();
        parts.and_then(|parts| parts.try_into().ok()).map(Some).ok_or_else(|| self.bad(name, text))
    }

    /// The id that ncu prints, and the process.
    pub fn id(&self) -> Result<(u32, Option<u32>), CsvError> {
        let id = self.number(&CsvColumn::Id, "ID")?.ok_or_else(|| self.bad("ID", ""))?;
        Ok((id, self.number(&CsvColumn::ProcessId, "Process ID")?))
    }

    /// The launch without its metrics.
    pub fn launch(&self) -> Result<CsvLaunch, CsvError> {
        let (id, pid) = self.id()?;
        let ranges = [(CsvColumn::Pushed, true), (CsvColumn::Started, false)];
        let ranges = ranges.iter().flat_map(|(column, is_pushed)| CsvRange::all(self.text(column), *is_pushed));
        Ok(CsvLaunch {
            id,
            kernel: self.text(&CsvColumn::Kernel).to_owned(),
            pid,
            process: self.text(&CsvColumn::Process).to_owned(),
            host: self.text(&CsvColumn::Host).to_owned(),
            context: self.number(&CsvColumn::Context, "Context")?,
            stream: self.number(&CsvColumn::Stream, "Stream")?,
            grid: self.triple(&CsvColumn::Grid, "Grid Size")?,
            block: self.triple(&CsvColumn::Block, "Block Size")?,
            device: self.number(&CsvColumn::Device, "Device")?,
            capability: self.text(&CsvColumn::Capability).to_owned(),
            ranges: ranges.collect(),
            metrics: Vec::new(),
        })
    }

    /// Adds the row's metrics: one of the long form (none for a row of a rule), all of the wide form.
    ///
    /// # Errors
    /// A value or its unit is not understood.
    pub fn metrics(&self, units: &[String], names: &mut NameIndex, out: &mut Vec<CsvMetric>) -> Result<(), CsvError> {
        let name = self.text(&CsvColumn::MetricName);
        if !name.is_empty() {
            let unit = self.text(&CsvColumn::MetricUnit);
            let name = labels::metric(name, unit);
            out.push(self.metric(names.id(name), name, self.text(&CsvColumn::MetricValue), unit)?);
        }
        for ((column, text), unit) in self.columns.iter().zip(self.record).zip(units) {
            if let CsvColumn::Metric(id) = column {
                out.push(self.metric(*id, names.name(*id), text, unit)?);
            }
        }
        Ok(())
    }

    fn metric(&self, id: u32, name: &str, text: &str, unit: &str) -> Result<CsvMetric, CsvError> {
        let (line, metric) = (self.line, name.to_owned());
        match base_value(name, text, unit, self.numbers) {
            Ok((value, unit)) => Ok(CsvMetric { name: id, unit, value }),
            Err(UnreadablePart::Number) => Err(CsvError::Number { line, metric, text: text.to_owned() }),
            Err(UnreadablePart::Unit { base }) => Err(CsvError::Unit { line, metric, unit: unit.to_owned(), base }),
        }
    }
}
