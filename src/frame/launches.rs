//! Launches and their metrics as frames, from reports and from ncu's CSV.
//!
//! Reports take the fast path of [`super::decode`]: names and units are gathered by index, values are decoded in
//! parallel, pages are given back as the work goes on. What a launch is stays with [`crate::ncu_rep`].

use std::collections::HashMap;

use polars::prelude::{
    BooleanChunked, ChunkTake, Column, DataFrame, DataType, Float64Chunked, IntoColumn, NewChunkedArray, PlSmallStr,
    PolarsError, Scalar, StringChunked, StringChunkedBuilder, UInt32Chunked, UInt64Chunked,
};

use super::decode::{self, Attribute, Attributes, Decoded};
use super::schema::{launches as l, metrics as m};
use crate::ncu_rep::csv::CsvReport;
use crate::ncu_rep::{Launch, MetricSelection, MetricValue, NvtxRange, Report, ReportError, ResultKind, unit_of};

/// Why frames could not be built.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A report is damaged.
    #[error("report `{report}`")]
    Report {
        /// The report's name.
        report: String,
        /// What is wrong with it.
        #[source]
        source: ReportError,
    },
    /// polars refused a column.
    #[error("cannot build a frame")]
    Polars(#[from] PolarsError),
}

/// Where launches come from.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'a> {
    /// A native report.
    Report(&'a Report),
    /// CSV that ncu printed.
    Csv(&'a CsvReport),
}

/// One input with the name that the frames give it.
#[derive(Debug, Clone, Copy)]
pub struct Capture<'a> {
    /// Name in the `report` column.
    pub name: &'a str,
    /// The launches.
    pub origin: Origin<'a>,
}

/// Launches and their metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchFrames {
    /// One row a launch; columns in [`l::COLUMNS`].
    pub launches: DataFrame,
    /// One row a launch and metric; columns in [`m::COLUMNS`].
    pub metrics: DataFrame,
}

impl LaunchFrames {
    /// Builds both frames. Only the selected metrics are decoded; a launch that lacks one has no row for it, a value
    /// that ncu could not collect is null.
    ///
    /// # Errors
    /// A damaged report.
    pub fn read(captures: &[Capture<'_>], selection: MetricSelection<'_>) -> Result<Self, FrameError> {
        let mut metrics = MetricColumns::default();
        let mut launches = LaunchColumns::default();
        for capture in captures {
            match capture.origin {
                Origin::Report(report) => {
                    let named = |source| FrameError::Report { report: capture.name.to_owned(), source };
                    let before = launches.launch.len();
                    let decoded = decode::metrics(report, selection, |first, attributes| {
                        let found = report.launches().skip(first).zip(attributes);
                        found.into_iter().try_for_each(|(launch, part)| launches.push(capture.name, &launch, part))
                    });
                    let kernels = launches.kernel.since(before);
                    metrics.push_report(capture.name, report, decoded.map_err(named)?, kernels);
                }
                Origin::Csv(csv) => {
                    launches.push_csv(capture.name, csv);
                    metrics.push_csv(capture.name, csv, selection);
                }
            }
        }
        Ok(Self { launches: launches.finish()?, metrics: metrics.finish()? })
    }

    /// Builds both frames of one report.
    ///
    /// # Errors
    /// A damaged report.
    pub fn of_report(name: &str, report: &Report, selection: MetricSelection<'_>) -> Result<Self, FrameError> {
        Self::read(&[Capture { name, origin: Origin::Report(report) }], selection)
    }
}

/// NVTX ranges in one line: `name` or `domain@name`, outermost first, separated by ` > `.
#[must_use]
pub fn nvtx_text(ranges: &[NvtxRange<'_>]) -> String {
    let names = ranges.iter().map(|range| match range.domain.as_ref() {
        "" | "<default domain>" => range.name.to_string(),
        domain => format!("{domain}@{}", range.name),
    });
    names.collect::<Vec<_>>().join(" > ")
}

/// Strings by index, each once.
#[derive(Default)]
struct Pool {
    texts: Vec<String>,
    index: HashMap<String, u32>,
}

impl Pool {
    fn id(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.index.get(text) {
            return id;
        }
        let id = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.index.insert(text.to_owned(), id);
        id
    }

    /// A column of the strings at `rows`.
    fn column(&self, name: &str, rows: &[u32]) -> Result<Column, PolarsError> {
        if let [only] = self.texts.as_slice() {
            let scalar = Scalar::from(PlSmallStr::from_str(only));
            return Ok(Column::new_scalar(name.into(), scalar, rows.len()));
        }
        let texts = StringChunked::from_slice(name.into(), &self.texts);
        Ok(texts.take(rows)?.into_column())
    }
}

/// The metrics frame while it is filled.
#[derive(Default)]
struct MetricColumns {
    reports: Pool,
    kernels: Pool,
    names: Pool,
    units: Pool,
    /// Unit of each name, where there is one for all; CSV may print others.
    report: Vec<u32>,
    launch: Vec<u32>,
    kernel: Vec<u32>,
    metric: Vec<u32>,
    unit: Vec<u32>,
    value: Vec<Option<f64>>,
    /// Rows with text, in order.
    text: Vec<(usize, String)>,
}

impl MetricColumns {
    /// Adds the metrics of a report whose launches have these kernels.
    fn push_report<'k>(
        &mut self,
        name: &str,
        report: &Report,
        decoded: Decoded,
        kernels: impl Iterator<Item = Option<&'k str>>,
    ) {
        let first = self.value.len();
        let report_id = self.reports.id(name);
        let ids: Vec<(u32, u32)> = decoded
            .names
            .iter()
            .map(|&id| {
                let metric = report.name(id);
                (self.names.id(metric), self.units.id(unit_of(metric)))
            })
            .collect();
        for ((launch, kernel), &rows) in (0..).zip(kernels).zip(&decoded.rows) {
            let kernel = self.kernels.id(kernel.unwrap_or_default());
            self.launch.extend(std::iter::repeat_n(launch, rows));
            self.kernel.extend(std::iter::repeat_n(kernel, rows));
        }
        self.report.extend(std::iter::repeat_n(report_id, decoded.values.len()));
        let id = |slot: &u32| ids.get(*slot as usize).copied().unwrap_or_default();
        self.metric.extend(decoded.slots.iter().map(|slot| id(slot).0));
        self.unit.extend(decoded.slots.iter().map(|slot| id(slot).1));
        if self.value.is_empty() {
            self.value = decoded.values;
        } else {
            self.value.extend_from_slice(&decoded.values);
        }
        self.text.extend(decoded.texts.into_iter().map(|(row, text)| (first + row, text)));
    }

    fn push_csv(&mut self, name: &str, csv: &CsvReport, selection: MetricSelection<'_>) {
        let report_id = self.reports.id(name);
        for launch in &csv.launches {
            let kernel = self.kernels.id(&launch.kernel);
            for metric in &launch.metrics {
                let metric_name = csv.name(metric);
                if !selection.contains(metric_name) {
                    continue;
                }
                let (value, text) = cell(&metric.value);
                if let Some(text) = text {
                    self.text.push((self.value.len(), text));
                }
                self.report.push(report_id);
                self.launch.push(launch.id);
                self.kernel.push(kernel);
                self.metric.push(self.names.id(metric_name));
                self.unit.push(self.units.id(&metric.unit));
                self.value.push(value);
            }
        }
    }

    /// Builds the frame. Every part is dropped when its column is made: there can be millions of rows.
    fn finish(self) -> Result<DataFrame, PolarsError> {
        let rows = self.value.len();
        let text = text_column(rows, &self.text);
        drop(self.text);
        let value = Float64Chunked::from_slice_options(m::VALUE.into(), &self.value).into_column();
        drop(self.value);
        let report = self.reports.column(m::REPORT, &self.report)?;
        drop(self.report);
        let kernel = self.kernels.column(m::KERNEL, &self.kernel)?;
        drop(self.kernel);
        let metric = self.names.column(m::METRIC, &self.metric)?;
        drop(self.metric);
        let unit = self.units.column(m::UNIT, &self.unit)?;
        let launch = UInt32Chunked::from_vec(m::LAUNCH.into(), self.launch).into_column();
        DataFrame::new(rows, vec![report, launch, kernel, metric, unit, value, text])
    }
}

/// The `text` column: nulls but for the rows that have a text.
fn text_column(rows: usize, texts: &[(usize, String)]) -> Column {
    if texts.is_empty() {
        return Column::full_null(m::TEXT.into(), rows, &DataType::String);
    }
    let mut column = StringChunkedBuilder::new(m::TEXT.into(), rows);
    let mut texts = texts.iter().peekable();
    for row in 0..rows {
        column.append_option(texts.next_if(|(at, _)| *at == row).map(|(_, text)| text));
    }
    column.finish().into_column()
}

/// A value as the `value` and `text` columns hold it.
pub(super) fn cell(value: &MetricValue<'_>) -> (Option<f64>, Option<String>) {
    match value {
        MetricValue::String(text) => (None, Some(text.to_string())),
        MetricValue::U64(integer) if *integer > 1 << 53 && *integer as f64 as u128 != u128::from(*integer) => {
            (value.as_f64(), Some(integer.to_string()))
        }
        other => (other.as_f64(), None),
    }
}

/// A column of texts that repeat much.
#[derive(Default)]
struct Texts {
    pool: Pool,
    rows: Vec<Option<u32>>,
}

impl Texts {
    fn push(&mut self, text: Option<&str>) {
        let id = text.map(|text| self.pool.id(text));
        self.rows.push(id);
    }

    /// The texts from row `first` on.
    fn since(&self, first: usize) -> impl Iterator<Item = Option<&str>> {
        let text = |id: u32| self.pool.texts.get(id as usize).map(String::as_str);
        self.rows.get(first..).unwrap_or_default().iter().map(move |id| id.and_then(text))
    }

    fn column(&self, name: &str) -> Column {
        if let ([only], false) = (self.pool.texts.as_slice(), self.rows.contains(&None)) {
            return Column::new_scalar(name.into(), Scalar::from(PlSmallStr::from_str(only)), self.rows.len());
        }
        StringChunked::from_iter_options(name.into(), self.since(0)).into_column()
    }
}

/// The launches frame while it is filled.
#[derive(Default)]
struct LaunchColumns {
    report: Texts,
    launch: Vec<u32>,
    kind: Texts,
    kernel: Texts,
    demangled: Texts,
    pid: Vec<Option<u32>>,
    process: Texts,
    context: Vec<Option<u32>>,
    stream: Vec<Option<u32>>,
    device: Vec<Option<u32>>,
    device_name: Texts,
    capability: Texts,
    sm_count: Vec<Option<u32>>,
    grid: Vec<Option<[u32; 3]>>,
    block: Vec<Option<[u32; 3]>>,
    cluster: Vec<Option<[u32; 3]>>,
    nvtx: Texts,
    clock_requested: Vec<Option<bool>>,
    clock_locked: Vec<Option<bool>>,
    created: Vec<Option<u64>>,
}

impl LaunchColumns {
    fn push(&mut self, report: &str, launch: &Launch<'_>, attributes: &Attributes) -> Result<(), ReportError> {
        let number = |index: usize| attributes.get(index).and_then(Attribute::number);
        let process = launch.process();
        let capability = number(decode::CC_MAJOR).zip(number(decode::CC_MINOR));
        let cluster = decode::CLUSTER.map(|index| number(index).unwrap_or(0));
        self.report.push(Some(report));
        self.launch.push(launch.id());
        self.kind.push(Some(kind_name(launch.kind())));
        self.kernel.push(Some(&launch.kernel_name()));
        self.demangled.push(Some(&launch.demangled_name()));
        self.pid.push(process.map(|process| process.pid));
        self.process.push(process.map(|process| process.name()));
        self.context.push(launch.context());
        self.stream.push(launch.stream());
        self.device.push(number(decode::DEVICE));
        self.device_name.push(attributes.get(decode::DEVICE_NAME).and_then(Attribute::text));
        self.capability.push(capability.map(|(major, minor)| format!("{major}.{minor}")).as_deref());
        self.sm_count.push(number(decode::SM_COUNT));
        self.grid.push(launch.grid());
        self.block.push(launch.block());
        self.cluster.push((cluster != [0; 3]).then_some(cluster));
        self.nvtx.push(Some(&nvtx_text(&launch.nvtx()?)));
        self.clock_requested.push(launch.clock_status().map(|status| status.requested));
        self.clock_locked.push(launch.clock_status().map(|status| status.locked));
        self.created.push(Some(launch.created()).filter(|&created| created > 0));
        Ok(())
    }

    fn push_csv(&mut self, report: &str, csv: &CsvReport) {
        let filled = |text: &'_ String| -> bool { !text.is_empty() };
        for launch in &csv.launches {
            self.report.push(Some(report));
            self.launch.push(launch.id);
            self.kind.push(Some(kind_name(ResultKind::Kernel)));
            self.kernel.push(Some(&launch.kernel));
            self.demangled.push(Some(&launch.kernel));
            self.pid.push(launch.pid);
            self.process.push(Some(&launch.process).filter(|text| filled(text)).map(String::as_str));
            self.context.push(launch.context);
            self.stream.push(launch.stream);
            self.device.push(launch.device);
            self.device_name.push(None);
            self.capability.push(Some(&launch.capability).filter(|text| filled(text)).map(String::as_str));
            self.sm_count.push(None);
            self.grid.push(launch.grid);
            self.block.push(launch.block);
            self.cluster.push(None);
            self.nvtx.push(Some(&launch.nvtx.join(" > ")));
            self.clock_requested.push(None);
            self.clock_locked.push(None);
            self.created.push(None);
        }
    }

    fn finish(self) -> Result<DataFrame, PolarsError> {
        let numbers =
            |name: &str, values: &[Option<u32>]| UInt32Chunked::from_slice_options(name.into(), values).into_column();
        let flags =
            |name: &str, values: &[Option<bool>]| BooleanChunked::from_slice_options(name.into(), values).into_column();
        let rows = self.launch.len();
        let mut columns = vec![
            self.report.column(l::REPORT),
            UInt32Chunked::from_vec(l::LAUNCH.into(), self.launch).into_column(),
            self.kind.column(l::KIND),
            self.kernel.column(l::KERNEL),
            self.demangled.column(l::DEMANGLED),
            numbers(l::PID, &self.pid),
            self.process.column(l::PROCESS),
            numbers(l::CONTEXT, &self.context),
            numbers(l::STREAM, &self.stream),
            numbers(l::DEVICE, &self.device),
            self.device_name.column(l::DEVICE_NAME),
            self.capability.column(l::CAPABILITY),
            numbers(l::SM_COUNT, &self.sm_count),
        ];
        for (names, dimensions) in [(l::GRID, &self.grid), (l::BLOCK, &self.block), (l::CLUSTER, &self.cluster)] {
            for (axis, name) in names.into_iter().enumerate() {
                let axis: Vec<Option<u32>> =
                    dimensions.iter().map(|size| size.and_then(|size| size.get(axis).copied())).collect();
                columns.push(numbers(name, &axis));
            }
        }
        columns.push(self.nvtx.column(l::NVTX));
        columns.push(flags(l::CLOCK_REQUESTED, &self.clock_requested));
        columns.push(flags(l::CLOCK_LOCKED, &self.clock_locked));
        columns.push(UInt64Chunked::from_slice_options(l::CREATED.into(), &self.created).into_column());
        DataFrame::new(rows, columns)
    }
}

/// How the `kind` column names a kind of result.
fn kind_name(kind: ResultKind) -> &'static str {
    match kind {
        ResultKind::Kernel => "kernel",
        ResultKind::Range => "range",
        ResultKind::CommandList => "command list",
        ResultKind::Graph => "graph",
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::path::Path;

    fn open(name: &str) -> Report {
        Report::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
    }

    fn schema_of(frame: &DataFrame) -> Vec<(String, polars::prelude::DataType)> {
        frame.columns().iter().map(|column| (column.name().to_string(), column.dtype().clone())).collect()
    }

    #[test]
    fn frames_have_the_columns_of_the_schema() {
        let expected = |columns: &[(&str, polars::prelude::DataType)]| {
            columns.iter().map(|(name, dtype)| ((*name).to_owned(), dtype.clone())).collect::<Vec<_>>()
        };
        let full = LaunchFrames::of_report("g12", &open("g12.ncu-rep.zst"), MetricSelection::All).unwrap();
        for frames in [LaunchFrames::read(&[], MetricSelection::All).unwrap(), full] {
            assert_eq!(schema_of(&frames.metrics), expected(&m::COLUMNS));
            assert_eq!(schema_of(&frames.launches), expected(&l::COLUMNS));
        }
    }

    #[test]
    fn every_cell_is_the_value_of_the_launch() {
        for name in ["full1.ncu-rep.zst", "g12.ncu-rep.zst"] {
            let report = open(name);
            let frames = LaunchFrames::of_report("r", &report, MetricSelection::All).unwrap().metrics;
            let names = frames.column(m::METRIC).unwrap().str().unwrap().clone();
            let units = frames.column(m::UNIT).unwrap().str().unwrap().clone();
            let values = frames.column(m::VALUE).unwrap().f64().unwrap().clone();
            let texts = frames.column(m::TEXT).unwrap().str().unwrap().clone();
            let launches = frames.column(m::LAUNCH).unwrap().u32().unwrap().clone();
            let mut row = 0;
            for launch in report.launches() {
                for metric in launch.metrics() {
                    let metric = metric.unwrap();
                    let (value, text) = cell(&metric.value);
                    assert_eq!(launches.get(row), Some(launch.id()));
                    assert_eq!(names.get(row), Some(metric.name));
                    assert_eq!(units.get(row), Some(metric.unit()));
                    assert_eq!(values.get(row).map(f64::to_bits), value.map(f64::to_bits), "{}", metric.name);
                    assert_eq!(texts.get(row), text.as_deref());
                    row += 1;
                }
            }
            assert_eq!(row, frames.height());
            assert!(row >= 2243);
        }
    }

    #[test]
    fn a_selection_has_the_same_values_and_nothing_else() {
        let report = open("g12.ncu-rep.zst");
        let wanted = ["gpu__time_duration.sum".to_owned(), "dram__bytes.sum".to_owned(), "no__such".to_owned()];
        let some = LaunchFrames::of_report("r", &report, MetricSelection::Named(&wanted)).unwrap();
        let all = LaunchFrames::of_report("r", &report, MetricSelection::All).unwrap();
        assert_eq!(some.metrics.height(), 24);
        assert_eq!(some.launches, all.launches);
        for launch in report.launches() {
            let expected = launch.metric("dram__bytes.sum").unwrap().unwrap().as_f64();
            assert!(expected.is_some());
        }
    }

    #[test]
    fn integers_that_a_double_cannot_hold_are_text_too() {
        assert_eq!(cell(&MetricValue::U64(1 << 53)), (Some(9_007_199_254_740_992.0), None));
        let odd = (1_u64 << 53) + 1;
        assert_eq!(cell(&MetricValue::U64(odd)), (Some(9_007_199_254_740_992.0), Some(odd.to_string())));
        assert_eq!(cell(&MetricValue::U64(u64::MAX)).1, Some(u64::MAX.to_string()));
        assert_eq!(cell(&MetricValue::Missing), (None, None));
    }

    #[test]
    fn the_launches_frame_says_where_and_how_it_ran() {
        let frames = LaunchFrames::of_report("r", &open("g12.ncu-rep.zst"), MetricSelection::Named(&[])).unwrap();
        assert_eq!((frames.launches.height(), frames.metrics.height()), (12, 0));
        let text = |name: &str| frames.launches.column(name).unwrap().str().unwrap().get(0).map(str::to_owned);
        let number = |name: &str| frames.launches.column(name).unwrap().u32().unwrap().get(0);
        assert_eq!(text(l::DEVICE_NAME).as_deref(), Some("NVIDIA H200"));
        assert_eq!(text(l::CAPABILITY).as_deref(), Some("9.0"));
        assert_eq!((number(l::SM_COUNT), number(l::BLOCK[0]), number(l::CLUSTER[0])), (Some(132), Some(128), None));
    }
}
