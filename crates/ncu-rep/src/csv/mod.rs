//! CSV output of ncu: the long form (`--csv`, one row per metric) and the wide form (`--page raw --csv`, one row per launch).
//!
//! Columns are found by header name, never by position: `--nvtx` and new versions insert some. Values are converted
//! to base units; the units and number forms of other versions and locales are recognised from the whole file. Names
//! that ncu displays on its details page are those of metrics. Digits that ncu did not print are lost.

mod encoded;
mod error;
mod labels;
mod launch;
mod lines;
mod names;
mod numbers;
mod row;
mod value;

use std::borrow::Cow;
use std::collections::HashMap;

use lines::Lines;
use names::NameIndex;
use numbers::{NumberForm, NumberForms};
use row::{CsvColumn, CsvForm, CsvRow, column, require};

pub use error::CsvError;
use launch::{CsvLaunch, CsvMetric};

/// Launches read from CSV.
#[derive(Debug, Clone, Default, PartialEq)]
struct CsvReport {
    /// Metric names, each once.
    names: Vec<String>,
    /// Launches in the order of the CSV.
    launches: Vec<CsvLaunch>,
}

/// The bytes of a report with the launches of ncu's CSV; none if the file is not such CSV.
///
/// # Errors
/// See [`CsvError`].
pub(crate) fn report(data: &[u8]) -> Option<Result<Vec<u8>, CsvError>> {
    let text = text_of(data)?;
    let lines = Lines::of(&text)?;
    Some(CsvReport::parse(&lines).map(encoded::encoded))
}

/// The text of a file in UTF-8, or in UTF-16 with its mark.
pub(crate) fn text_of(data: &[u8]) -> Option<Cow<'_, str>> {
    let units = |of: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = data.chunks_exact(2).skip(1).map(|pair| of([pair[0], pair[1]])).collect();
        String::from_utf16(&units).ok().filter(|_| data.len().is_multiple_of(2)).map(Cow::Owned)
    };
    match data {
        [0xff, 0xfe, ..] => units(u16::from_le_bytes),
        [0xfe, 0xff, ..] => units(u16::from_be_bytes),
        _ => std::str::from_utf8(data).ok().map(|text| Cow::Borrowed(text.trim_start_matches('\u{feff}'))),
    }
}

/// The launches read so far.
struct CsvTable {
    numbers: NumberForm,
    form: CsvForm,
    columns: Vec<CsvColumn>,
    /// Unit of each column of the wide form.
    units: Vec<String>,
    names: NameIndex,
    launches: Vec<CsvLaunch>,
    /// Index of a launch of the long form since the last header, by id and process.
    known: HashMap<(u32, Option<u32>), usize>,
}

impl CsvTable {
    fn new(numbers: NumberForm) -> Self {
        Self {
            numbers,
            form: CsvForm::Long,
            columns: Vec::new(),
            units: Vec::new(),
            names: NameIndex::default(),
            launches: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Starts the output of a run of ncu. Ids of launches start again.
    fn start(&mut self, header: &csv::StringRecord) -> Result<(), CsvError> {
        self.form = CsvForm::of(header);
        self.columns = header.iter().map(|name| column(name, self.form, &mut self.names)).collect();
        self.units = vec![String::new(); self.columns.len()];
        self.known.clear();
        require(&self.columns, self.form)
    }

    /// Adds a row: a header, a launch of the wide form, a metric of the long one, or the wide form's units.
    fn add(&mut self, record: &csv::StringRecord, line: u64) -> Result<(), CsvError> {
        if is_header(record) {
            return self.start(record);
        }
        let row = CsvRow::new(&self.columns, record, line, self.form, self.numbers)?;
        if self.form == CsvForm::Wide && row.text(&CsvColumn::Id).is_empty() {
            self.units = record.iter().map(str::to_owned).collect();
            return Ok(());
        }
        let next = self.launches.len();
        let index = match self.form {
            CsvForm::Wide => next,
            CsvForm::Long => *self.known.entry(row.id()?).or_insert(next),
        };
        if index == next {
            self.launches.push(row.launch()?);
        }
        match self.launches.get_mut(index) {
            Some(launch) => row.metrics(&self.units, &mut self.names, &mut launch.metrics),
            None => Ok(()),
        }
    }
}

fn is_header(record: &csv::StringRecord) -> bool {
    record.iter().any(|cell| cell == "ID") && record.iter().any(|cell| cell == "Kernel Name")
}

impl CsvReport {
    /// Reads either form, and the outputs of several runs in one file. Lines of other programs, and lines that ncu
    /// starts with `==`, are skipped.
    ///
    /// # Errors
    /// A row that is not CSV or has the wrong number of cells, a cell with an invalid value, a number or a unit that is
    /// not understood.
    fn parse(lines: &Lines) -> Result<Self, CsvError> {
        let rows = lines.rows()?;
        let mut forms = NumberForms::default();
        let mut columns: Vec<bool> = Vec::new();
        each_record(&rows, lines.separator, |record, line| {
            if is_header(record) {
                let form = CsvForm::of(record);
                let mut names = NameIndex::default();
                let is_value =
                    |name| matches!(column(name, form, &mut names), CsvColumn::MetricValue | CsvColumn::Metric(_));
                columns = record.iter().map(is_value).collect();
                return Ok(());
            }
            let values = record.iter().zip(&columns).filter(|(_, is_value)| **is_value);
            values.map(|(text, _)| text).try_for_each(|text| forms.add(text, line))
        })?;
        let mut table = CsvTable::new(forms.form()?);
        each_record(&rows, lines.separator, |record, line| table.add(record, line))?;
        Ok(Self { names: table.names.names, launches: table.launches })
    }
}

/// Calls `use_record` with every record and its line.
fn each_record(
    rows: &str,
    separator: u8,
    mut use_record: impl FnMut(&csv::StringRecord, u64) -> Result<(), CsvError>,
) -> Result<(), CsvError> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator).from_reader(rows.as_bytes());
    let mut record = csv::StringRecord::new();
    loop {
        let line = reader.position().line();
        if !reader.read_record(&mut record).map_err(|source| CsvError::Row { line, source })? {
            return Ok(());
        }
        use_record(&record, record.position().map_or(line, csv::Position::line))?;
    }
}

#[cfg(test)]
mod tests;
