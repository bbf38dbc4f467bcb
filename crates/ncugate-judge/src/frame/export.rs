//! Exports metrics as CSV, JSON, parquet and Arrow: long (one row per launch and metric) or wide (one row per launch,
//! one column per metric).
//!
//! CSV and JSON are written from typed rows, so that integers stay integers and doubles keep every digit; parquet is
//! written from the frame. Missing values are empty in CSV and null elsewhere; NaN is `NaN`. Missing values never
//! become 0.

use std::borrow::Cow;
use std::io::{self, Write};

use indexmap::{IndexMap, IndexSet};
use polars::prelude::{
    Column, CompatLevel, DataFrame, Float64Chunked, IntoColumn, NewChunkedArray, PolarsError, StringChunked,
    UInt32Chunked,
};
use polars_io::SerWriter;
use polars_io::ipc::IpcWriter;
use polars_io::prelude::{ParquetCompression, ParquetWriter};
use serde_json::{Map, Value};

use super::launch_counters::LaunchCounters;
use super::launches::{Capture, FrameError, LaunchFrames};
use super::rows::{LaunchFilter, MetricColumns, Row, capability, launches, metrics, visit};
use super::schema::{launches as l, metrics as m};
use ncu_rep::{MetricSelection, MetricValue};
use ncugate_model::ComputeCapability;
use ncugate_model::metric::{Catalogue, LogicalMetric};
use ncugate_model::number::text::{cell, escaped_json};

/// Columns of the long form in CSV and JSON.
pub const LONG: [&str; 6] = [m::REPORT, m::LAUNCH, m::KERNEL, m::METRIC, m::UNIT, m::VALUE];

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
}

impl Export<'_> {
    /// Writes the export.
    ///
    /// # Errors
    /// A report is damaged, or the output cannot be written.
    pub fn write(&self, format: TableFormat, out: &mut dyn Write) -> Result<(), ExportError> {
        match (format, self.layout) {
            (TableFormat::Csv, ExportLayout::Long) => self.long_csv(out),
            (TableFormat::Json, ExportLayout::Long) => self.long_json(out),
            (TableFormat::Parquet, ExportLayout::Long) => parquet(&mut self.long_frame()?, out),
            (TableFormat::Arrow, ExportLayout::Long) => arrow(&mut self.long_frame()?, out),
            (TableFormat::Csv, ExportLayout::Wide) => self.wide()?.csv(out),
            (TableFormat::Json, ExportLayout::Wide) => self.wide()?.json(out),
            (TableFormat::Parquet, ExportLayout::Wide) => parquet(&mut self.wide()?.frame()?, out),
            (TableFormat::Arrow, ExportLayout::Wide) => arrow(&mut self.wide()?.frame()?, out),
        }
    }

    fn long_csv(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(LONG)?;
        visit(self.captures, self.filter, self.columns, |row| {
            let (launch, value) = (row.launch.to_string(), row.value.to_string());
            csv.write_record(
                [row.report, &launch, &row.kernel, row.metric, row.unit, &value].map(cell).iter().map(|c| c.as_bytes()),
            )
            .map_err(ExportError::from)
        })?;
        Ok(csv.flush()?)
    }

    fn long_json(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        let mut list = JsonList::new(out);
        visit(self.captures, self.filter, self.columns, |row| {
            let values = [
                Value::from(row.report),
                Value::from(row.launch),
                Value::from(row.kernel.as_ref()),
                Value::from(row.metric),
                Value::from(row.unit),
                json_value(&row.value),
            ];
            list.push(&Map::from_iter(LONG.into_iter().map(str::to_owned).zip(values))).map_err(ExportError::from)
        })?;
        Ok(list.finish()?)
    }

    /// The metrics frame of the selected launches. All metrics of all launches are decoded in parallel.
    fn long_frame(&self) -> Result<DataFrame, ExportError> {
        if let (true, MetricSelection::All, []) = (self.filter.is_open(), self.columns.counters, self.columns.logical) {
            return Ok(LaunchFrames::read(self.captures, MetricSelection::All)?.metrics);
        }
        let mut table = LongTable::default();
        visit(self.captures, self.filter, self.columns, |row| {
            table.push(row);
            Ok::<(), FrameError>(())
        })?;
        table.frame()
    }

    /// Every selected launch; without chosen metrics, those of the catalogue come before those of the report.
    fn wide(&self) -> Result<WideTable, ExportError> {
        let mut wide = WideTable::default();
        for capture in self.captures {
            for launch in launches(capture) {
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
                    let counters = rows.iter().map(|row| (row.metric, row.value.clone())).collect();
                    for (name, value) in computable(capability(capture, &launch)?, &counters) {
                        values.insert(name.to_owned(), MetricValue::Double(value));
                    }
                }
                for row in rows {
                    let value = values.entry(row.metric.to_owned()).or_insert(MetricValue::Missing);
                    if value.is_missing() {
                        *value = row.value.into_owned();
                    }
                }
                let nvtx = launch.nvtx(capture.name)?;
                let row = WideLaunch {
                    kernel: launch.kernel().into_owned(),
                    grid: launch.grid(),
                    block: launch.block(),
                    nvtx: (!nvtx.is_empty()).then_some(nvtx),
                    values: Vec::new(),
                };
                wide.push((capture.name.to_owned(), launch.id()), row, values);
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

/// Rows of the long form, by column.
#[derive(Default)]
struct LongTable<'a> {
    reports: Vec<&'a str>,
    launches: Vec<u32>,
    kernels: Vec<String>,
    metrics: Vec<&'a str>,
    units: Vec<String>,
    values: Vec<Option<f64>>,
    texts: Vec<Option<String>>,
}

impl<'a> LongTable<'a> {
    fn push(&mut self, row: &Row<'a>) {
        let (value, text) = super::decode::cell(&row.value);
        self.reports.push(row.report);
        self.launches.push(row.launch);
        self.kernels.push(row.kernel.to_string());
        self.metrics.push(row.metric);
        self.units.push(row.unit.to_owned());
        self.values.push(value);
        self.texts.push(text.map(Cow::into_owned));
    }

    fn frame(self) -> Result<DataFrame, ExportError> {
        let rows = self.launches.len();
        let columns = vec![
            StringChunked::from_slice(m::REPORT.into(), &self.reports).into_column(),
            UInt32Chunked::from_vec(m::LAUNCH.into(), self.launches).into_column(),
            StringChunked::from_slice(m::KERNEL.into(), &self.kernels).into_column(),
            StringChunked::from_slice(m::METRIC.into(), &self.metrics).into_column(),
            StringChunked::from_slice(m::UNIT.into(), &self.units).into_column(),
            Float64Chunked::from_slice_options(m::VALUE.into(), &self.values).into_column(),
            StringChunked::from_slice_options(m::TEXT.into(), &self.texts).into_column(),
        ];
        Ok(DataFrame::new(rows, columns)?)
    }
}

#[derive(Default)]
struct WideTable {
    metrics: IndexSet<String>,
    launches: Vec<((String, u32), WideLaunch)>,
}

struct WideLaunch {
    kernel: String,
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    /// Its NVTX ranges in one line.
    nvtx: Option<String>,
    values: Vec<Option<MetricValue<'static>>>,
}

/// Columns of a launch before its metrics, except the report and its id.
const EXTENTS: [&str; 6] = {
    let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (l::GRID, l::BLOCK);
    [grid_x, grid_y, grid_z, block_x, block_y, block_z]
};

impl WideLaunch {
    /// In the order of [`EXTENTS`].
    fn extents(&self) -> [Option<u32>; 6] {
        let of = |extents: Option<[u32; 3]>, axis: usize| extents.map(|extents| extents[axis]);
        let ([x, y, z], [u, v, w]) =
            ([0, 1, 2].map(|axis| of(self.grid, axis)), [0, 1, 2].map(|axis| of(self.block, axis)));
        [x, y, z, u, v, w]
    }
}

/// The metrics of the catalogue whose counters a launch has, in the order of the catalogue.
fn computable(capability: Option<ComputeCapability>, counters: &LaunchCounters<'_>) -> Vec<(&'static str, f64)> {
    let value = |metric: &'static LogicalMetric| {
        let definition = Catalogue::embedded().shown_definition(&metric.name, capability).ok()?;
        Some((metric.name.as_str(), counters.evaluate(&definition)?.value()?))
    };
    Catalogue::embedded().metrics().iter().filter_map(value).collect()
}

impl WideTable {
    fn push(&mut self, id: (String, u32), mut launch: WideLaunch, values: IndexMap<String, MetricValue<'static>>) {
        for (name, value) in values {
            let column = self.metrics.insert_full(name).0;
            launch.values.resize(launch.values.len().max(column + 1), None);
            launch.values[column] = Some(value);
        }
        self.launches.push((id, launch));
    }

    fn cell<'w>(&self, launch: &'w WideLaunch, column: usize) -> &'w MetricValue<'static> {
        launch.values.get(column).and_then(Option::as_ref).unwrap_or(&MetricValue::Missing)
    }

    fn csv(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        let mut csv = csv::Writer::from_writer(out);
        let head = [m::REPORT, m::LAUNCH, m::KERNEL].into_iter().chain(EXTENTS).chain([l::NVTX]);
        let head = head.chain(self.metrics.iter().map(String::as_str));
        csv.write_record(head.map(|name| cell(name).into_owned()))?;
        for ((report, id), launch) in &self.launches {
            let cells = (0..self.metrics.len()).map(|column| self.cell(launch, column).to_string());
            let extents = launch.extents().map(|extent| extent.map(|extent| extent.to_string()).unwrap_or_default());
            let all = [report.clone(), id.to_string(), launch.kernel.clone()].into_iter().chain(extents);
            let all = all.chain([launch.nvtx.clone().unwrap_or_default()]).chain(cells);
            csv.write_record(all.map(|text| cell(&text).into_owned()))?;
        }
        Ok(csv.flush()?)
    }

    fn json(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        let mut list = JsonList::new(out);
        for ((report, id), launch) in &self.launches {
            let head = [
                (m::REPORT.to_owned(), Value::from(report.as_str())),
                (m::LAUNCH.to_owned(), Value::from(*id)),
                (m::KERNEL.to_owned(), Value::from(launch.kernel.as_str())),
            ];
            let extents =
                EXTENTS.iter().zip(launch.extents()).map(|(name, extent)| ((*name).to_owned(), Value::from(extent)));
            let nvtx = (l::NVTX.to_owned(), Value::from(launch.nvtx.clone()));
            let cells = self.metrics.iter().enumerate();
            let cells = cells.map(|(column, name)| (name.clone(), json_value(self.cell(launch, column))));
            list.push(&head.into_iter().chain(extents).chain([nvtx]).chain(cells).collect())?;
        }
        Ok(list.finish()?)
    }

    /// A frame: metrics with any text become text columns, all others columns of doubles.
    fn frame(&self) -> Result<DataFrame, ExportError> {
        let reports: Vec<&str> = self.launches.iter().map(|((report, _), _)| report.as_str()).collect();
        let kernels: Vec<&str> = self.launches.iter().map(|(_, launch)| launch.kernel.as_str()).collect();
        let mut columns: Vec<Column> = vec![
            StringChunked::from_slice(m::REPORT.into(), &reports).into_column(),
            UInt32Chunked::from_vec(m::LAUNCH.into(), self.launches.iter().map(|((_, id), _)| *id).collect())
                .into_column(),
            StringChunked::from_slice(m::KERNEL.into(), &kernels).into_column(),
        ];
        for (axis, name) in EXTENTS.into_iter().enumerate() {
            let extents: Vec<Option<u32>> = self.launches.iter().map(|(_, launch)| launch.extents()[axis]).collect();
            columns.push(UInt32Chunked::from_slice_options(name.into(), &extents).into_column());
        }
        let nvtx: Vec<Option<&str>> = self.launches.iter().map(|(_, launch)| launch.nvtx.as_deref()).collect();
        columns.push(StringChunked::from_slice_options(l::NVTX.into(), &nvtx).into_column());
        for (index, name) in self.metrics.iter().enumerate() {
            let cells: Vec<&MetricValue<'_>> =
                self.launches.iter().map(|(_, launch)| self.cell(launch, index)).collect();
            let exact = |cell: &&MetricValue<'_>| super::decode::cell(cell).1.is_none();
            columns.push(if cells.iter().all(exact) {
                let numbers: Vec<Option<f64>> = cells.iter().map(|cell| cell.as_f64()).collect();
                Float64Chunked::from_slice_options(name.as_str().into(), &numbers).into_column()
            } else {
                let texts: Vec<Option<String>> =
                    cells.iter().map(|cell| (!cell.is_missing()).then(|| cell.to_string())).collect();
                StringChunked::from_slice_options(name.as_str().into(), &texts).into_column()
            });
        }
        Ok(DataFrame::new(self.launches.len(), columns)?)
    }
}

/// An Arrow IPC file that older readers accept: texts use the classic string layout.
pub(super) fn arrow(frame: &mut DataFrame, out: &mut dyn Write) -> Result<(), ExportError> {
    Ok(IpcWriter::new(out).with_compat_level(CompatLevel::oldest()).finish(frame)?)
}

pub(super) fn parquet(frame: &mut DataFrame, out: &mut dyn Write) -> Result<(), ExportError> {
    ParquetWriter::new(out).with_compression(ParquetCompression::Snappy).finish(frame)?;
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
        let export = Export { captures: &[], filter: &filter, columns: MetricColumns::ALL, layout: ExportLayout::Long };
        let mut json = Vec::new();
        export.write(TableFormat::Json, &mut json).unwrap();
        assert_eq!(json, b"[]\n");
        let mut csv = Vec::new();
        export.write(TableFormat::Csv, &mut csv).unwrap();
        assert_eq!(csv, b"report,launch,kernel,metric,unit,value\n");
    }
}
