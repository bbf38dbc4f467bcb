//! CSV that ncu prints: the long form (`--csv`, a row a metric) and the wide form (`--page raw --csv`, a row a launch).
//!
//! Columns are found by header name, never by position: `--nvtx` and new versions insert some. Values are brought to
//! base units; digits that ncu did not print are lost, which is why reports are read natively where there is one.

use std::borrow::Cow;
use std::collections::HashMap;

use super::metric::MetricValue;

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

/// One metric of a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvMetric {
    /// Index of the name in [`CsvReport::names`].
    pub name: u32,
    /// Base unit.
    pub unit: Cow<'static, str>,
    /// Value in that unit.
    pub value: MetricValue<'static>,
}

/// One launch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CsvLaunch {
    /// The id that ncu prints.
    pub id: u32,
    /// Kernel name as printed: demangled and simplified.
    pub kernel: String,
    /// Process id.
    pub pid: Option<u32>,
    /// Process name.
    pub process: String,
    /// Host.
    pub host: String,
    /// CUDA context.
    pub context: Option<u32>,
    /// CUDA stream.
    pub stream: Option<u32>,
    /// Blocks of the grid.
    pub grid: Option<[u32; 3]>,
    /// Threads of a block.
    pub block: Option<[u32; 3]>,
    /// Device index.
    pub device: Option<u32>,
    /// Compute capability as printed.
    pub capability: String,
    /// NVTX columns that are not empty, as printed.
    pub nvtx: Vec<String>,
    /// Metrics in the order of the CSV.
    pub metrics: Vec<CsvMetric>,
}

/// Launches read from CSV.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CsvReport {
    /// Metric names, each once.
    pub names: Vec<String>,
    /// Launches in the order of the CSV.
    pub launches: Vec<CsvLaunch>,
}

/// What a column is.
#[derive(Debug, Clone, PartialEq)]
enum Column {
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

/// Metric names as they are found, each once.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    index: HashMap<String, u32>,
}

impl Names {
    fn id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.index.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.index.insert(name.to_owned(), id);
        id
    }
}

impl CsvReport {
    /// Reads either form. Lines before the header, and lines that ncu starts with `==`, are skipped.
    ///
    /// # Errors
    /// No header, a row that is not CSV or has another number of cells, a cell that is not what its column says.
    pub fn parse(text: &str) -> Result<Self, CsvError> {
        let (skipped, rows) = rows(text).ok_or(CsvError::NoHeader)?;
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(rows.as_bytes());
        let mut names = Names::default();
        let mut columns: Vec<Column> = Vec::new();
        let mut units: Vec<String> = Vec::new();
        let mut launches: Vec<CsvLaunch> = Vec::new();
        let mut record = csv::StringRecord::new();
        let mut wide = false;
        loop {
            let line = reader.position().line() + skipped;
            if !reader.read_record(&mut record).map_err(|source| CsvError::Row { line, source })? {
                break;
            }
            if columns.is_empty() {
                wide = !record.iter().any(|name| name == "Metric Name");
                columns = record.iter().map(|name| column(name, wide, &mut names)).collect();
                require(&columns, wide)?;
                units = vec![String::new(); columns.len()];
                continue;
            }
            let row = Row { columns: &columns, record: &record, line };
            if wide && row.text(&Column::Id).is_empty() {
                units = record.iter().map(str::to_owned).collect();
                continue;
            }
            let launch = row.launch()?;
            let is_same = |known: &CsvLaunch| known.id == launch.id && known.pid == launch.pid;
            let known = if wide { None } else { launches.iter().rposition(is_same) };
            let index = known.unwrap_or_else(|| {
                launches.push(launch);
                launches.len() - 1
            });
            if let Some(launch) = launches.get_mut(index) {
                row.metrics(&units, &mut names, &mut launch.metrics);
            }
        }
        Ok(Self { names: names.names, launches })
    }

    /// The name of a metric.
    #[must_use]
    pub fn name(&self, metric: &CsvMetric) -> &str {
        self.names.get(metric.name as usize).map_or("", String::as_str)
    }
}

/// The lines from the header on without ncu's own, and how many lines stand before the header.
fn rows(text: &str) -> Option<(u64, String)> {
    let header = text.lines().position(|line| line.trim_start_matches('\u{feff}').starts_with("\"ID\","))?;
    let mut rows = String::with_capacity(text.len());
    for line in text.lines().skip(header) {
        // An empty line stands for a skipped one: the reader ignores it and counts it.
        if !line.starts_with("==") {
            rows.push_str(line.trim_start_matches('\u{feff}'));
        }
        rows.push('\n');
    }
    Some((header as u64, rows))
}

fn column(name: &str, wide: bool, names: &mut Names) -> Column {
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
        _ if wide && !name.is_empty() => Column::Metric(names.id(name)),
        _ => Column::Ignored,
    }
}

fn require(columns: &[Column], wide: bool) -> Result<(), CsvError> {
    let needed: &[(Column, &'static str)] = if wide {
        &[(Column::Kernel, "Kernel Name")]
    } else {
        &[(Column::Kernel, "Kernel Name"), (Column::MetricUnit, "Metric Unit"), (Column::MetricValue, "Metric Value")]
    };
    match needed.iter().find(|(column, _)| !columns.contains(column)) {
        Some(&(_, column)) => Err(CsvError::NoColumn { column }),
        None => Ok(()),
    }
}

/// One row and what its columns are.
struct Row<'a> {
    columns: &'a [Column],
    record: &'a csv::StringRecord,
    line: u64,
}

impl Row<'_> {
    fn text(&self, column: &Column) -> &str {
        let index = self.columns.iter().position(|other| other == column);
        index.and_then(|index| self.record.get(index)).unwrap_or_default()
    }

    fn bad(&self, column: &str, text: &str) -> CsvError {
        CsvError::Cell { line: self.line, column: column.to_owned(), text: text.to_owned() }
    }

    /// A whole number; `None` when the cell is empty or the column is not there.
    fn number(&self, column: &Column, name: &str) -> Result<Option<u32>, CsvError> {
        let text = self.text(column).trim();
        if text.is_empty() {
            return Ok(None);
        }
        text.replace(',', "").parse().map(Some).map_err(|_| self.bad(name, text))
    }

    /// Three numbers as in `(128, 1, 1)`.
    fn triple(&self, column: &Column, name: &str) -> Result<Option<[u32; 3]>, CsvError> {
        let text = self.text(column).trim();
        if text.is_empty() {
            return Ok(None);
        }
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
        let parts: Option<Vec<u32>> = inner.split(',').map(|part| part.trim().parse().ok()).collect();
        parts.and_then(|parts| parts.try_into().ok()).map(Some).ok_or_else(|| self.bad(name, text))
    }

    fn launch(&self) -> Result<CsvLaunch, CsvError> {
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
    fn metrics(&self, units: &[String], names: &mut Names, out: &mut Vec<CsvMetric>) {
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

/// A printed value with its printed unit, in the base unit.
fn base_value(text: &str, unit: &str) -> (MetricValue<'static>, Cow<'static, str>) {
    let (exponent, base) = scale(unit);
    (parse_value(text, exponent), base)
}

/// Reads a printed value and shifts its decimal point by `exponent` places. Text that is no number stays text.
fn parse_value(text: &str, exponent: i32) -> MetricValue<'static> {
    let trimmed = text.trim();
    let plain = if has_thousands_separators(trimmed) { trimmed.replace(',', "") } else { trimmed.to_owned() };
    match plain.to_ascii_lowercase().as_str() {
        "" | "n/a" | "no data" => return MetricValue::Missing,
        "nan" | "-nan" => return MetricValue::Double(f64::NAN),
        "inf" => return MetricValue::Double(f64::INFINITY),
        "-inf" => return MetricValue::Double(f64::NEG_INFINITY),
        _ => {}
    }
    let digits = plain.strip_prefix('-').unwrap_or(&plain);
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return MetricValue::String(Cow::Owned(text.to_owned()));
    }
    if exponent == 0 {
        if let Ok(value) = plain.parse() {
            return MetricValue::U64(value);
        }
        return plain.parse().map_or_else(|_| MetricValue::String(Cow::Owned(text.to_owned())), MetricValue::Double);
    }
    // Shifting the point in the text keeps the number correctly rounded; multiplying would round twice.
    let shifted =
        format!("{plain}e{exponent}").parse().or_else(|_| plain.parse::<f64>().map(|v| v * 10_f64.powi(exponent)));
    shifted.map_or_else(|_| MetricValue::String(Cow::Owned(text.to_owned())), MetricValue::Double)
}

/// Whether commas stand where thousands separators do: `1,606,912` and `-12,345.6`, not `1, 2`.
fn has_thousands_separators(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = digits.split_once('.').map_or(digits, |(whole, _)| whole);
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let is_number = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    let mut rest = groups.peekable();
    rest.peek().is_some()
        && first.len() <= 3
        && is_number(first)
        && rest.all(|group| group.len() == 3 && is_number(group))
}

/// Decimal places that a printed unit is away from its base unit, and the base unit: `Mbyte/s` gives 6 and `byte/s`.
fn scale(unit: &str) -> (i32, Cow<'static, str>) {
    let (above, below) = match unit.split_once('/') {
        Some((above, below)) => (above, Some(below)),
        None => (unit, None),
    };
    let (mut exponent, above) = scale_above(above);
    let below = below.map(|below| match below {
        "ns" | "us" | "ms" => {
            exponent -= time_exponent(below) - 9;
            "s"
        }
        other => other,
    });
    if below == Some("s") && above == "cycle" {
        return (exponent, Cow::Borrowed("hz"));
    }
    let base = match below {
        Some(below) => format!("{above}/{below}"),
        None => above.to_owned(),
    };
    (exponent, Cow::Owned(base))
}

/// Decimal places of a unit of time above one nanosecond.
fn time_exponent(unit: &str) -> i32 {
    match unit {
        "us" => 3,
        "ms" => 6,
        "s" => 9,
        _ => 0,
    }
}

/// The same for what stands above the fraction line.
fn scale_above(unit: &str) -> (i32, &str) {
    if matches!(unit, "ns" | "us" | "ms" | "s") {
        return (time_exponent(unit), "ns");
    }
    let prefixes = [("K", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15)];
    for (prefix, exponent) in prefixes {
        if let Some(base) = unit.strip_prefix(prefix)
            && base.starts_with(|first: char| first.is_ascii_lowercase())
        {
            return (exponent, base);
        }
    }
    (0, unit)
}

#[cfg(test)]
#[expect(clippy::unwrap_used)]
mod tests {
    use super::*;

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
    fn values_as_ncu_prints_them() {
        assert_eq!(parse_value("2,147,483,647", 0), MetricValue::U64(2_147_483_647));
        assert_eq!(parse_value("-1,234.5", 0), MetricValue::Double(-1234.5));
        assert_eq!(parse_value("INF", 0), MetricValue::Double(f64::INFINITY));
        assert_eq!(parse_value("18446744073709551615", 0), MetricValue::U64(u64::MAX));
        assert_eq!(parse_value("1, 2", 0), MetricValue::String("1, 2".into()));
        assert_eq!(parse_value("NVIDIA H200", 0), MetricValue::String("NVIDIA H200".into()));
        assert_eq!(parse_value("infinite", 0), MetricValue::String("infinite".into()));
    }

    #[test]
    fn scaled_units_have_a_base() {
        let cases = [
            ("Kbyte/block", 3, "byte/block"),
            ("Gbyte/s", 9, "byte/s"),
            ("Mhz", 6, "hz"),
            ("us", 3, "ns"),
            ("sector/ns", 9, "sector/s"),
            ("cycle/ns", 9, "hz"),
            ("SM", 0, "SM"),
            ("%", 0, "%"),
            ("", 0, ""),
        ];
        for (unit, exponent, base) in cases {
            assert_eq!(scale(unit), (exponent, Cow::Borrowed(base)), "{unit}");
        }
    }

    #[test]
    fn what_is_no_csv_is_an_error() {
        assert!(matches!(CsvReport::parse("hello\n"), Err(CsvError::NoHeader)));
        assert!(matches!(CsvReport::parse(&format!("{HEAD}\n{CELLS},\"9\"\n")), Err(CsvError::Row { line: 2, .. })));
        let bad = CELLS.replace("(128, 1, 1)", "(128, 1)");
        assert!(matches!(CsvReport::parse(&format!("{HEAD}\n{bad}\n")), Err(CsvError::Cell { line: 2, .. })));
        assert!(matches!(
            CsvReport::parse("\"ID\",\"Metric Name\"\n"),
            Err(CsvError::NoColumn { column: "Kernel Name" })
        ));
    }
}
