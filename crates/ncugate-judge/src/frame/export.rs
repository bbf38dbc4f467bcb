//! Exports metrics as CSV, JSON, parquet and Arrow: long (one row per launch and metric) or wide (one row per launch,
//! one column per metric).
//!
//! CSV and JSON are written from typed rows, so that integers stay integers and doubles keep every digit; parquet is
//! written from the frame. Missing values are empty in CSV and null elsewhere; NaN is `NaN`. Missing values never
//! become 0.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use indexmap::{IndexMap, IndexSet};
use polars::prelude::{
    ArrowSchema, Column, CompatLevel, DataFrame, DataType, Float64Chunked, Int64Chunked, IntoColumn, NewChunkedArray,
    PolarsError, StringChunked, UInt32Chunked,
};
use polars_arrow::io::ipc::write::{FileWriter, WriteOptions, default_ipc_fields, schema_to_bytes};
use polars_io::prelude::{KeyValueMetadata, ParquetCompression, ParquetWriter};
use serde_json::{Map, Value, json};

use super::launches::{Capture, FrameError, LaunchFrames};
use super::nvtx::cases_of;
use super::rows::{LaunchFilter, MetricColumns, Row, metrics, ranges, visit};
use super::schema::{launches as l, metrics as m, wide};
use ncu_rep::{MetricSelection, MetricValue};
use ncugate_model::VariantId;
use ncugate_model::metric::Catalogue;
use ncugate_model::number::text::{cell, escaped_json};

/// Columns of the long form in CSV and JSON.
pub const LONG: [&str; 6] = [m::REPORT, m::LAUNCH, m::KERNEL, m::METRIC, m::UNIT, m::VALUE];
/// The last column of a long form with samples: nanoseconds from the start of the launch to the end of the sample.
const TIME: &str = "time_ns";

/// A file format of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Comma-separated values with a header; absent values are empty.
    Csv,
    /// An array of objects, one per line; absent values are null.
    Json,
    Parquet,
    /// An Arrow IPC file (Feather 2).
    Arrow,
}

/// The layout of exported metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportLayout {
    /// One row per launch and metric.
    Long,
    /// One row per launch, one column per metric.
    Wide,
}

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The launches could not be read.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The output could not be written.
    #[error("cannot write the export")]
    Write(#[from] io::Error),
    /// CSV could not be written.
    #[error("cannot write the export")]
    Csv(#[from] csv::Error),
    /// Parquet could not be written.
    #[error("cannot write the export")]
    Parquet(#[from] PolarsError),
}

#[derive(Debug, Clone, Copy)]
pub struct Export<'a> {
    pub captures: &'a [Capture<'a>],
    pub filter: &'a LaunchFilter,
    pub columns: MetricColumns<'a>,
    pub layout: ExportLayout,
    /// The variants of the run whose reports these are. A row a launch then begins with variant, shape and repeat.
    pub variants: Option<&'a [VariantId]>,
}

impl Export<'_> {
    /// Writes the export.
    ///
    /// # Errors
    /// A report is damaged, or the output cannot be written.
    pub fn write(&self, format: TableFormat, out: &mut dyn Write) -> Result<(), ExportError> {
        let binary = if format == TableFormat::Parquet { parquet } else { arrow };
        match (format, self.layout) {
            (TableFormat::Csv, ExportLayout::Long) => self.long_csv(out),
            (TableFormat::Json, ExportLayout::Long) => self.long_json(out),
            (TableFormat::Csv, ExportLayout::Wide) => self.wide()?.csv(out),
            (TableFormat::Json, ExportLayout::Wide) => self.wide()?.json(out),
            (_, ExportLayout::Long) => binary(&mut self.long_frame()?, &ColumnUnits::new(), out),
            (_, ExportLayout::Wide) => self.wide().and_then(|wide| binary(&mut wide.frame()?, &wide.units, out)),
        }
    }

    /// The columns of the long form: with samples, their time is the last.
    fn long(&self) -> Result<Vec<&'static str>, ExportError> {
        let mut sampled = false;
        if let MetricSelection::Named(_) = self.columns.counters {
            visit(self.captures, self.filter, self.columns, |row| {
                sampled |= row.time.is_some();
                Ok::<(), FrameError>(())
            })?;
        }
        Ok(LONG.into_iter().chain(sampled.then_some(TIME)).collect())
    }

    fn long_csv(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        let mut csv = csv::Writer::from_writer(out);
        let columns = self.long()?;
        csv.write_record(&columns)?;
        visit(self.captures, self.filter, self.columns, |row| {
            let time = row.time.map_or_else(String::new, |time| time.to_string());
            let (launch, value) = (row.launch.to_string(), row.value.to_string());
            let cells = [row.report, &launch, &row.kernel, row.metric, row.unit, &value, &time].map(cell);
            csv.write_record(cells.iter().take(columns.len()).map(|c| c.as_bytes())).map_err(ExportError::from)
        })?;
        Ok(csv.flush()?)
    }

    fn long_json(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        let mut list = JsonList::new(out);
        let columns = self.long()?;
        visit(self.captures, self.filter, self.columns, |row| {
            let [report, metric, unit] = [row.report, row.metric, row.unit].map(Value::from);
            let (launch, kernel) = (row.launch.into(), row.kernel.as_ref().into());
            let values = [report, launch, kernel, metric, unit, json_value(&row.value), row.time.into()];
            let names = columns.iter().map(|&name| name.to_owned());
            list.push(&Map::from_iter(names.zip(values))).map_err(ExportError::from)
        })?;
        Ok(list.finish()?)
    }

    /// The metrics frame of the selected launches. All metrics of all launches are decoded in parallel.
    fn long_frame(&self) -> Result<DataFrame, ExportError> {
        if let (true, MetricSelection::All, []) = (self.filter.is_open(), self.columns.counters, self.columns.logical) {
            return Ok(LaunchFrames::read(self.captures, MetricSelection::All)?.metrics);
        }
        let mut rows: Vec<Row<'_>> = Vec::new();
        visit(self.captures, self.filter, self.columns, |row| {
            rows.push(row.clone());
            Ok::<(), FrameError>(())
        })?;
        let text = |name: &str, of: for<'a> fn(&'a Row<'a>) -> &'a str| {
            StringChunked::from_iter_values(name.into(), rows.iter().map(of)).into_column()
        };
        let cells: Vec<_> = rows.iter().map(|row| super::decode::cell(&row.value)).collect();
        let texts = cells.iter().map(|(_, text)| text.as_deref());
        let mut columns = vec![
            text(m::REPORT, |row| row.report),
            UInt32Chunked::from_iter_values(m::LAUNCH.into(), rows.iter().map(|row| row.launch)).into_column(),
            text(m::KERNEL, |row| &row.kernel),
            text(m::METRIC, |row| row.metric),
            text(m::UNIT, |row| row.unit),
            Float64Chunked::from_iter_options(m::VALUE.into(), cells.iter().map(|(number, _)| *number)).into_column(),
            StringChunked::from_iter_options(m::TEXT.into(), texts).into_column(),
        ];
        if rows.iter().any(|row| row.time.is_some()) {
            let times = rows.iter().map(|row| row.time);
            columns.push(Int64Chunked::from_iter_options(TIME.into(), times).into_column());
        }
        Ok(DataFrame::new(rows.len(), columns)?)
    }

    /// Every selected launch; without chosen metrics, those of the catalogue come before those of the report.
    fn wide(&self) -> Result<WideTable, ExportError> {
        let of_run = if self.variants.is_some() { OF_RUN.as_slice() } else { &[] };
        let mut wide = WideTable { head: [of_run, &HEAD].concat(), ..WideTable::default() };
        let mut repeats = HashMap::new();
        for capture in self.captures {
            for launch in capture.report.launches() {
                if !self.filter.accepts(capture.name, &launch)? {
                    continue;
                }
                let mut rows: Vec<Row<'_>> = Vec::new();
                metrics(capture, &launch, self.columns, |row| {
                    rows.push(row.clone());
                    Ok::<(), FrameError>(())
                })?;
                let mut values = IndexMap::new();
                if let (MetricSelection::All, []) = (self.columns.counters, self.columns.logical) {
                    for (name, value) in capture.metrics_of(&launch)?.values() {
                        let unit = Catalogue::embedded().get(name).map_or_else(String::new, |known| known.unit.clone());
                        wide.units.insert(name.to_owned(), unit);
                        values.insert(name.to_owned(), MetricValue::Double(value));
                    }
                }
                for row in rows {
                    wide.units.entry(row.metric.to_owned()).or_insert_with(|| row.unit.to_owned());
                    let value = values.entry(row.metric.to_owned()).or_insert(MetricValue::Missing);
                    if value.is_missing() {
                        *value = row.value.into_owned();
                    }
                }
                let text = |text: String| MetricValue::String(text.into());
                let nvtx = Some(ranges(capture.name, &launch)?).filter(|nvtx| !nvtx.is_empty());
                let case = self.variants.map(|variants| {
                    let named = cases_of(nvtx.as_deref().unwrap_or_default()).find(|case| variants.contains(&case.0));
                    let Some((variant, shape)) = named else { return OF_RUN.map(|_| MetricValue::Missing) };
                    let [named, at] = [&*variant.0, &*shape.0].map(|name| text(name.to_owned()));
                    let repeat = repeats.entry((variant, shape, launch.kernel_name().into_owned())).or_insert(0);
                    *repeat += 1;
                    [named, at, MetricValue::U32(*repeat - 1)]
                });
                let extent = |size: Option<[u32; 3]>, axis: usize| {
                    size.map_or(MetricValue::Missing, |size| MetricValue::U32(size[axis]))
                };
                let extents = [launch.grid(), launch.block()].map(|size| [0, 1, 2].map(|axis| extent(size, axis)));
                let kernel = text(launch.kernel_name().into_owned());
                let id = [text(capture.name.to_owned()), MetricValue::U32(launch.id()), kernel];
                let head = case.into_iter().flatten().chain(id).chain(extents.concat());
                wide.push(head.chain([nvtx.map_or(MetricValue::Missing, text)]).collect(), values);
            }
        }
        Ok(wide)
    }
}

/// A value as JSON: numbers keep their type, NaN and infinities are strings, missing is null.
#[must_use]
pub fn json_value(value: &MetricValue<'_>) -> Value {
    match value {
        MetricValue::Double(number) if number.is_finite() => Value::from(*number),
        // The shortest decimal of the float itself, not of its conversion to double.
        MetricValue::Float(number) if number.is_finite() => {
            value.to_string().parse::<f64>().map_or(Value::Null, Value::from)
        }
        MetricValue::Double(_) | MetricValue::Float(_) => Value::from(value.to_string()),
        MetricValue::U32(number) => Value::from(*number),
        MetricValue::U64(number) => Value::from(*number),
        MetricValue::String(text) => Value::from(text.as_ref()),
        MetricValue::Missing => Value::Null,
    }
}

/// Writes an array of objects, one per line.
pub(super) struct JsonList<'a> {
    out: io::BufWriter<&'a mut dyn Write>,
    separator: &'static str,
}

impl<'a> JsonList<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out: io::BufWriter::new(out), separator: "[\n" }
    }

    pub(super) fn push(&mut self, object: &Map<String, Value>) -> io::Result<()> {
        self.out.write_all(self.separator.as_bytes())?;
        self.separator = ",\n";
        self.out.write_all(escaped_json(&serde_json::to_string(object)?).as_bytes())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        let end = if self.separator == ",\n" { "\n]\n" } else { "[]\n" };
        self.out.write_all(end.as_bytes())?;
        self.out.flush()
    }
}

/// Columns of a launch before its metrics.
const HEAD: [&str; 10] = {
    let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (l::GRID, l::BLOCK);
    [m::REPORT, m::LAUNCH, m::KERNEL, grid_x, grid_y, grid_z, block_x, block_y, block_z, l::NVTX]
};

/// Columns of a launch of a run before [`HEAD`]: its case, and its number among the launches of a kernel in the case.
const OF_RUN: [&str; 3] = [wide::VARIANT, wide::SHAPE, REPEAT];
const REPEAT: &str = "repeat";

/// One row per launch: the head, then the metrics. Cells behind the last value of a row are missing.
#[derive(Default)]
struct WideTable {
    head: Vec<&'static str>,
    metrics: IndexSet<String>,
    units: ColumnUnits,
    rows: Vec<Vec<MetricValue<'static>>>,
}

impl WideTable {
    fn push(&mut self, mut row: Vec<MetricValue<'static>>, values: IndexMap<String, MetricValue<'static>>) {
        for (name, value) in values {
            let column = self.head.len() + self.metrics.insert_full(name).0;
            row.resize(row.len().max(column + 1), MetricValue::Missing);
            row[column] = value;
        }
        self.rows.push(row);
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.head.iter().copied().chain(self.metrics.iter().map(String::as_str))
    }

    fn cells<'w>(&self, row: &'w [MetricValue<'static>]) -> impl Iterator<Item = &'w MetricValue<'static>> {
        row.iter().chain(std::iter::repeat(&MetricValue::Missing)).take(self.head.len() + self.metrics.len())
    }

    fn csv(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(self.names().map(|name| cell(name).into_owned()))?;
        for row in &self.rows {
            csv.write_record(self.cells(row).map(|value| cell(&value.to_string()).into_owned()))?;
        }
        Ok(csv.flush()?)
    }

    fn json(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        let mut list = JsonList::new(out);
        for row in &self.rows {
            list.push(&self.names().map(str::to_owned).zip(self.cells(row).map(json_value)).collect())?;
        }
        Ok(list.finish()?)
    }

    /// A frame: columns of the launch have the types of its frame, metrics with any text become text columns, and all
    /// others columns of doubles.
    fn frame(&self) -> Result<DataFrame, ExportError> {
        let column = |(at, name): (usize, &str)| {
            let cells = || self.rows.iter().map(|row| row.get(at).unwrap_or(&MetricValue::Missing));
            let dtype = match at < self.head.len() {
                true if [m::LAUNCH, REPEAT].contains(&name) || [l::GRID, l::BLOCK].concat().contains(&name) => {
                    DataType::UInt32
                }
                true => DataType::String,
                false if cells().all(|value| super::decode::cell(value).1.is_none()) => DataType::Float64,
                false => DataType::String,
            };
            let number = |value: &_| if let MetricValue::U32(number) = value { Some(*number) } else { None };
            match dtype {
                DataType::UInt32 => UInt32Chunked::from_iter_options(name.into(), cells().map(number)).into_column(),
                DataType::Float64 => {
                    Float64Chunked::from_iter_options(name.into(), cells().map(MetricValue::as_f64)).into_column()
                }
                _ => {
                    let texts = cells().map(|value| (!value.is_missing()).then(|| value.to_string()));
                    StringChunked::from_iter_options(name.into(), texts).into_column()
                }
            }
        };
        Ok(DataFrame::new(self.rows.len(), self.names().enumerate().map(column).collect())?)
    }
}

/// The unit of each column; a column without one is absent.
pub(super) type ColumnUnits = HashMap<String, String>;

/// The key of pandas' `frame.attrs` in the metadata of a Parquet file.
const ATTRIBUTES: &str = "PANDAS_ATTRS";
/// The key of the schema of Arrow there: a message behind a mark and its length, in Base64.
const ARROW_SCHEMA: &str = "ARROW:schema";
/// Older readers accept it: texts use the classic string layout.
const LEVEL: CompatLevel = CompatLevel::oldest();

/// The schema of a frame for readers of Arrow, with the units of its columns. Writers of polars drop metadata of fields.
fn schema(frame: &DataFrame, units: &ColumnUnits) -> ArrowSchema {
    let field = |column: &Column| {
        let field = column.field().to_arrow(LEVEL);
        let unit = units.get(column.name().as_str()).filter(|unit| !unit.is_empty());
        let metadata = unit.map(|unit| ("unit".into(), unit.as_str().into())).into_iter().collect();
        (field.name.clone(), field.with_metadata(metadata))
    };
    frame.columns().iter().map(field).collect()
}

/// An Arrow IPC file.
pub(super) fn arrow(frame: &mut DataFrame, units: &ColumnUnits, out: &mut dyn Write) -> Result<(), ExportError> {
    let options = WriteOptions { compression: None };
    let mut writer = FileWriter::try_new(out, Arc::new(schema(frame, units)), None, options)?;
    frame.align_chunks();
    for batch in frame.iter_chunks(LEVEL, true) {
        writer.write(&batch, None)?;
    }
    Ok(writer.finish()?)
}

/// A Parquet file. pyarrow takes all metadata from the schema of Arrow in it, polars from the file.
pub(super) fn parquet(frame: &mut DataFrame, units: &ColumnUnits, out: &mut dyn Write) -> Result<(), ExportError> {
    let named: BTreeMap<_, _> = units.iter().filter(|(_, unit)| !unit.is_empty()).collect();
    let attributes = json!({ "units": named }).to_string();
    let schema = schema(frame, units);
    let metadata = [(ATTRIBUTES.into(), attributes.as_str().into())].into();
    let mut message = schema_to_bytes(&schema, &default_ipc_fields(schema.iter_values()), Some(&metadata));
    let length = u32::try_from(message.len()).map_err(io::Error::other)?;
    message.splice(..0, [[0xff; 4], length.to_le_bytes()].concat());
    let metadata = vec![(ARROW_SCHEMA.into(), BASE64_STANDARD.encode(message)), (ATTRIBUTES.into(), attributes)];
    let writer = ParquetWriter::new(out).with_compression(ParquetCompression::Snappy);
    writer.with_key_value_metadata(Some(KeyValueMetadata::from_static(metadata))).finish(frame)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_types_and_never_makes_zero() {
        let cases = [
            (MetricValue::Double(16.0), "16.0"),
            (MetricValue::Double(0.1), "0.1"),
            (MetricValue::Float(0.1), "0.1"),
            (MetricValue::Double(f64::NAN), "\"NaN\""),
            (MetricValue::Double(f64::NEG_INFINITY), "\"-inf\""),
            (MetricValue::U64(u64::MAX), "18446744073709551615"),
            (MetricValue::String("a\"b".into()), "\"a\\\"b\""),
            (MetricValue::Missing, "null"),
        ];
        for (value, expected) in cases {
            assert_eq!(serde_json::to_string(&json_value(&value)).unwrap(), expected);
        }
    }

    #[test]
    fn text_of_numbers_reads_back_as_the_same_number() {
        for number in [0.0, -0.0, 1.0 / 3.0, 5e-324, f64::MAX, 1e16, 123_456_789.25, 1e-5, 9.99e-6] {
            let text = MetricValue::Double(number).to_string();
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), f64::to_bits(number), "{text}");
        }
    }

    #[test]
    fn an_export_of_nothing_is_valid() {
        let filter = LaunchFilter::default();
        let export = Export {
            captures: &[],
            filter: &filter,
            columns: MetricColumns::ALL,
            layout: ExportLayout::Long,
            variants: None,
        };
        let mut json = Vec::new();
        export.write(TableFormat::Json, &mut json).unwrap();
        assert_eq!(json, b"[]\n");
        let mut csv = Vec::new();
        export.write(TableFormat::Csv, &mut csv).unwrap();
        assert_eq!(csv, b"report,launch,kernel,metric,unit,value\n");
    }
}
