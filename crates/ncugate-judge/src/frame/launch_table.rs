//! The launches frame: one row per launch.

use super::decode::{self, Attributes, LaunchAttribute};
use super::schema::launches as l;
use super::traced_launches::TracedCase;
use indexmap::IndexSet;
use ncu_rep::{Launch, ReportError, ResultKind};
use ncugate_model::{KernelName, TracedLaunch, demangled, nvtx_text};
use polars::prelude::{
    BooleanChunked, ChunkTake, Column, DataFrame, IntoColumn, NewChunkedArray, PlSmallStr, PolarsError, Scalar,
    StringChunked, UInt32Chunked, UInt64Chunked,
};
use std::borrow::Cow;

/// A launch, as far as its source knows it.
#[derive(Default)]
pub(super) struct LaunchRow<'r> {
    launch: u32,
    kind: &'static str,
    kernel: Cow<'r, str>,
    symbol: Option<Cow<'r, str>>,
    demangled: Cow<'r, str>,
    pid: Option<u32>,
    process: Option<Cow<'r, str>>,
    context: Option<u32>,
    stream: Option<u32>,
    device: Option<u32>,
    device_name: Option<&'r str>,
    capability: Option<String>,
    sm_count: Option<u32>,
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    cluster: Option<[u32; 3]>,
    nvtx: String,
    clock_requested: Option<bool>,
    clock_locked: Option<bool>,
    created: Option<u64>,
}

impl<'r> LaunchRow<'r> {
    /// A launch of a report.
    ///
    /// # Errors
    /// It is damaged.
    pub fn of(launch: &Launch<'r>, attributes: &'r Attributes<'_>) -> Result<Self, ReportError> {
        let number = |index: usize| attributes.get(index).and_then(LaunchAttribute::number);
        let process = launch.process();
        let capability = number(decode::CC_MAJOR).zip(number(decode::CC_MINOR));
        let cluster = decode::CLUSTER.map(|index| number(index).unwrap_or(0));
        Ok(Self {
            launch: launch.id(),
            kind: kind_name(launch.kind()),
            kernel: launch.kernel_name(),
            symbol: filled(launch.mangled_name()),
            demangled: launch.demangled_name(),
            pid: process.map(|process| process.pid),
            process: process.map(|process| process.name().into()),
            context: launch.context(),
            stream: launch.stream(),
            device: number(decode::DEVICE),
            device_name: attributes.get(decode::DEVICE_NAME).and_then(LaunchAttribute::text),
            capability: capability.map(|(major, minor)| format!("{major}.{minor}")),
            sm_count: number(decode::SM_COUNT),
            grid: launch.grid(),
            block: launch.block(),
            cluster: (cluster != [0; 3]).then_some(cluster),
            nvtx: nvtx_text(&launch.nvtx()?),
            clock_requested: launch.clock_status().map(|status| status.requested),
            clock_locked: launch.clock_status().map(|status| status.locked),
            created: launch.created(),
        })
    }

    /// A launch traced by CUPTI.
    pub fn of_traced(id: u32, case: &TracedCase<'_>, launch: &'r TracedLaunch) -> Self {
        Self {
            launch: id,
            kind: kind_name(ResultKind::Kernel),
            kernel: KernelName::parse(&launch.kernel).function().to_owned().into(),
            symbol: Some(launch.kernel.as_str().into()),
            demangled: demangled(&launch.kernel).into(),
            grid: Some(launch.grid),
            block: Some(launch.block),
            cluster: (launch.cluster.iter().product::<u32>() > 1).then_some(launch.cluster),
            nvtx: format!("{}@{}", case.variant, case.shape),
            ..Self::default()
        }
    }
}

/// The frame of a report's launches.
///
/// # Errors
/// polars rejects a column.
pub(super) fn frame<'r>(report: &str, rows: &'r [LaunchRow<'r>]) -> Result<DataFrame, PolarsError> {
    let created = rows.iter().map(|row| row.created);
    let columns = vec![
        constant(l::REPORT, report, rows.len()),
        number(l::LAUNCH, rows, |row| Some(row.launch)),
        text(l::KIND, rows, |row| Some(row.kind))?,
        text(l::KERNEL, rows, |row| Some(&row.kernel))?,
        text(l::SYMBOL, rows, |row| row.symbol.as_deref())?,
        text(l::DEMANGLED, rows, |row| Some(&row.demangled))?,
        number(l::PID, rows, |row| row.pid),
        text(l::PROCESS, rows, |row| row.process.as_deref())?,
        number(l::CONTEXT, rows, |row| row.context),
        number(l::STREAM, rows, |row| row.stream),
        number(l::DEVICE, rows, |row| row.device),
        text(l::DEVICE_NAME, rows, |row| row.device_name)?,
        text(l::CAPABILITY, rows, |row| row.capability.as_deref())?,
        number(l::SM_COUNT, rows, |row| row.sm_count),
        number(l::GRID[0], rows, |row| Some(row.grid?[0])),
        number(l::GRID[1], rows, |row| Some(row.grid?[1])),
        number(l::GRID[2], rows, |row| Some(row.grid?[2])),
        number(l::BLOCK[0], rows, |row| Some(row.block?[0])),
        number(l::BLOCK[1], rows, |row| Some(row.block?[1])),
        number(l::BLOCK[2], rows, |row| Some(row.block?[2])),
        number(l::CLUSTER[0], rows, |row| Some(row.cluster?[0])),
        number(l::CLUSTER[1], rows, |row| Some(row.cluster?[1])),
        number(l::CLUSTER[2], rows, |row| Some(row.cluster?[2])),
        text(l::NVTX, rows, |row| Some(&row.nvtx))?,
        flag(l::CLOCK_REQUESTED, rows, |row| row.clock_requested),
        flag(l::CLOCK_LOCKED, rows, |row| row.clock_locked),
        UInt64Chunked::from_iter_options(l::CREATED.into(), created).into_column(),
    ];
    DataFrame::new(rows.len(), columns)
}

/// A column of texts, of which many are equal: each is stored once.
fn text<'r>(
    name: &str,
    rows: &'r [LaunchRow<'r>],
    of: fn(&'r LaunchRow<'r>) -> Option<&'r str>,
) -> Result<Column, PolarsError> {
    let mut pool: IndexSet<&str> = IndexSet::new();
    let places: Vec<_> = rows.iter().map(|row| Some(pool.insert_full(of(row)?).0 as u32)).collect();
    let places = UInt32Chunked::from_slice_options(name.into(), &places);
    Ok(StringChunked::from_iter_values(name.into(), pool.into_iter()).take(&places)?.into_column())
}

fn number(name: &str, rows: &[LaunchRow<'_>], of: fn(&LaunchRow<'_>) -> Option<u32>) -> Column {
    UInt32Chunked::from_iter_options(name.into(), rows.iter().map(of)).into_column()
}

fn flag(name: &str, rows: &[LaunchRow<'_>], of: fn(&LaunchRow<'_>) -> Option<bool>) -> Column {
    BooleanChunked::from_iter_options(name.into(), rows.iter().map(of)).into_column()
}

/// A column with the same text in every row.
pub(super) fn constant(name: &str, text: &str, rows: usize) -> Column {
    Column::new_scalar(name.into(), Scalar::from(PlSmallStr::from_str(text)), rows)
}

/// The name of a result kind in the `kind` column.
fn kind_name(kind: ResultKind) -> &'static str {
    match kind {
        ResultKind::Kernel => "kernel",
        ResultKind::Range => "range",
        ResultKind::CommandList => "command list",
        ResultKind::Graph => "graph",
    }
}

/// The text, or `None` if it is empty.
fn filled(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    Some(text).filter(|text| !text.is_empty())
}
