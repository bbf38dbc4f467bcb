//! CSV output of ncu: the long form (`--csv`, one row per metric) and the wide form (`--page raw --csv`, one row per launch).
//!
//! Columns are found by header name, never by position: `--nvtx` and new versions insert some. Values are converted
//! to base units; the units and number forms of other versions and locales are recognised from the whole file. Digits
//! that ncu did not print are lost, so prefer the report to its CSV.
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
mod numbers;
mod row;
mod value;

use std::collections::HashMap;

use names::NameIndex;
use numbers::{NumberForm, NumberForms};
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
    record.get(0) == Some("ID")
}

impl CsvReport {
    /// Reads either form, and the outputs of several runs in one file. Lines of other programs, and lines that ncu
    /// starts with `==`, are skipped.
    ///
    /// # Errors
    /// No header, a row that is not CSV or has the wrong number of cells, a cell with an invalid value, a number or a
    /// unit that is not understood.
    pub fn parse(text: &str) -> Result<Self, CsvError> {
        let rows = rows(text)?;
        let mut forms = NumberForms::default();
        let mut columns: Vec<bool> = Vec::new();
        each_record(&rows, |record, line| {
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
        each_record(&rows, |record, line| table.add(record, line))?;
        Ok(Self { names: table.names.names, launches: table.launches })
    }

    /// The name of a metric.
    #[must_use]
    pub fn name(&self, metric: &CsvMetric) -> &str {
        self.names.get(metric.name as usize).map_or("", String::as_str)
    }
}

/// Calls `use_record` with every record and its line.
fn each_record(
    rows: &str,
    mut use_record: impl FnMut(&csv::StringRecord, u64) -> Result<(), CsvError>,
) -> Result<(), CsvError> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(rows.as_bytes());
    let mut record = csv::StringRecord::new();
    loop {
        let line = reader.position().line();
        if !reader.read_record(&mut record).map_err(|source| CsvError::Row { line, source })? {
            return Ok(());
        }
        use_record(&record, record.position().map_or(line, csv::Position::line))?;
    }
}

/// The lines of ncu's CSV. An empty line replaces every other one: the CSV reader ignores it but counts it.
fn rows(text: &str) -> Result<String, CsvError> {
    let mut rows = String::with_capacity(text.len());
    let (mut is_started, mut is_in_cell) = (false, false);
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim_start_matches('\u{feff}');
        is_started |= text.starts_with("\"ID\",");
        if is_in_cell || (is_started && text.starts_with('"')) {
            rows.push_str(text);
            is_in_cell ^= text.matches('"').count() % 2 == 1;
        } else if is_started && has_row(text) {
            return Err(CsvError::Glued { line });
        }
        rows.push('\n');
    }
    match (is_started, is_in_cell) {
        (false, _) => Err(CsvError::NoHeader),
        (true, true) => Err(CsvError::Cut),
        (true, false) => Ok(rows),
    }
}

/// Whether a line contains the first cells of a row: the header's, or an id.
fn has_row(line: &str) -> bool {
    line.match_indices("\",\"").any(|(at, _)| {
        let id = line.get(..at).and_then(|before| before.rsplit('"').next()).unwrap_or_default();
        id == "ID" || (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
    })
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

    /// The long form: a row per metric, unit and value, all of launch 0.
    fn long(rows: &[(&str, &str, &str)]) -> String {
        let mut text = format!("{HEAD},\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n");
        for (name, unit, value) in rows {
            text.push_str(&format!("{CELLS},\"{name}\",\"{unit}\",\"{value}\"\n"));
        }
        text
    }

    /// The values of all launches in base units.
    fn values(text: &str) -> Vec<Vec<(String, String, Option<f64>)>> {
        let report = CsvReport::parse(text).unwrap();
        let metric = |m: &CsvMetric| (report.name(m).to_owned(), m.unit.to_string(), m.value.as_f64());
        report.launches.iter().map(|launch| launch.metrics.iter().map(metric).collect()).collect()
    }

    #[test]
    fn units_of_older_versions_are_converted() {
        let rows = [
            ("gpu__time_duration.sum", "usecond", "41.28", "ns", 41_280.0),
            ("gpu__time_duration.avg", "nsecond", "9,312", "ns", 9_312.0),
            ("gpu__time_duration.max", "msecond", "2.50", "ns", 2_500_000.0),
            ("gpu__time_duration.min", "second", "1.25", "ns", 1_250_000_000.0),
            ("dram__bytes.sum.per_second", "Gbyte/second", "980.55", "byte/s", 980_550_000_000.0),
            ("gpc__cycles_elapsed.avg.per_second", "cycle/nsecond", "1.10", "hz", 1_100_000_000.0),
            ("dram__cycles_elapsed.avg.per_second", "cycle/usecond", "980.55", "hz", 980_550_000.0),
            ("Duration", "usecond", "41.28", "ns", 41_280.0),
        ];
        let printed: Vec<_> = rows.iter().map(|row| (row.0, row.1, row.2)).collect();
        let read: Vec<_> = rows.iter().map(|row| (row.0.to_owned(), row.3.to_owned(), Some(row.4))).collect();
        assert_eq!(values(&long(&printed)), [read]);
    }

    #[test]
    fn an_unknown_unit_of_a_known_metric_is_an_error() {
        let unit = CsvReport::parse(&long(&[("gpu__time_duration.sum", "fortnight", "2")])).unwrap_err();
        assert!(matches!(unit, CsvError::Unit { line: 2, base: "ns", .. }), "{unit}");
        let number = CsvReport::parse(&long(&[("dram__bytes.sum", "byte", "8.390.14")])).unwrap_err();
        assert!(matches!(number, CsvError::Number { line: 2, .. }), "{number}");
        assert!(number.to_string().contains("LC_ALL=C"), "{number}");
    }

    #[test]
    fn numbers_of_other_languages_are_read_or_refused() {
        let rows =
            |time, share| long(&[("gpu__time_duration.sum", "ns", time), ("sm__throughput.avg.pct", "%", share)]);
        for (time, share) in [("41.280", "61,20"), ("41\u{202f}280", "61,20"), ("41,280", "61.20"), ("41’280", "61.20")]
        {
            let read: Vec<_> = values(&rows(time, share))[0].iter().map(|value| value.2).collect();
            assert_eq!(read, [Some(41_280.0), Some(61.2)], "{time} {share}");
        }
        let open = CsvReport::parse(&rows("41.280", "61")).unwrap_err();
        assert!(matches!(open, CsvError::AmbiguousNumbers { line: 2, .. }), "{open}");
        let mixed = CsvReport::parse(&rows("8.390.144", "61.20")).unwrap_err();
        assert!(matches!(mixed, CsvError::MixedNumbers { line: 3, .. }), "{mixed}");
    }

    #[test]
    fn outputs_of_several_runs_and_lines_of_programs_are_one_file() {
        let wide = format!("{HEAD},\"a__x.sum\"\n{},\"7\"\n", CELLS.replacen("\"0\"", "\"4\"", 1));
        let first = long(&[("a__x.sum", "", "1")]);
        let text = format!("==PROF== 1\n{first}step 3: loss 0.25, \"ok\"\n==PROF== 2\n{first}{wide}");
        let read = values(&text);
        let value = |value: f64| vec![("a__x.sum".to_owned(), String::new(), Some(value))];
        assert_eq!(read, [value(1.0), value(1.0), value(7.0)]);
        let glued = first.replace("\n\"0\"", "\nstep 3 \"0\"");
        assert!(matches!(CsvReport::parse(&glued), Err(CsvError::Glued { line: 2 })));
        assert!(matches!(CsvReport::parse(&first[..first.len() - 2]), Err(CsvError::Cut)));
    }

    #[test]
    fn time_to_read_is_in_proportion_to_the_launches() {
        let seconds = |launches: usize| {
            let row = |id: usize| format!("\"{id}\",\"f\",\"a__x.sum\",\"\",\"1\"\n");
            let head = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n".to_owned();
            let text: String = std::iter::once(head).chain((0..launches).map(row)).collect();
            let start = std::time::Instant::now();
            assert_eq!(CsvReport::parse(&text).unwrap().launches.len(), launches);
            start.elapsed().as_secs_f64()
        };
        let (few, many) = (seconds(2_000).min(seconds(2_000)), seconds(40_000));
        assert!(many < few * 100.0, "20 times the launches take {:.0} times as long", many / few);
    }
}
