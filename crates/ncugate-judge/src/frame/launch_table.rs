//! Builds the launches frame: one row per launch.

use polars::prelude::{
    BooleanChunked, DataFrame, IntoColumn, NewChunkedArray, PolarsError, UInt32Chunked, UInt64Chunked,
};

use super::decode::{self, Attributes, LaunchAttribute};
use super::nvtx::nvtx_text;
use super::schema::launches as l;
use super::texts::TextColumn;
use ncu_rep::csv::CsvReport;
use ncu_rep::{Launch, Report, ReportError, ResultKind};
use ncugate_model::{KernelName, ShapeName, TracedLaunch, VariantId, demangled};

#[derive(Default)]
pub(super) struct LaunchTable {
    report: TextColumn,
    launch: Vec<u32>,
    kind: TextColumn,
    kernel: TextColumn,
    symbol: TextColumn,
    demangled: TextColumn,
    pid: Vec<Option<u32>>,
    process: TextColumn,
    context: Vec<Option<u32>>,
    stream: Vec<Option<u32>>,
    device: Vec<Option<u32>>,
    device_name: TextColumn,
    capability: TextColumn,
    sm_count: Vec<Option<u32>>,
    grid: Vec<Option<[u32; 3]>>,
    block: Vec<Option<[u32; 3]>>,
    cluster: Vec<Option<[u32; 3]>>,
    nvtx: TextColumn,
    clock_requested: Vec<Option<bool>>,
    clock_locked: Vec<Option<bool>>,
    created: Vec<Option<u64>>,
}

impl LaunchTable {
    /// The launches from `first` on, with these attributes.
    ///
    /// # Errors
    /// A launch is damaged.
    pub fn of(report: &Report, name: &str, first: usize, attributes: &[Attributes<'_>]) -> Result<Self, ReportError> {
        let mut table = Self::default();
        let found = report.launches().skip(first).zip(attributes);
        found.into_iter().try_for_each(|(launch, attributes)| table.push(name, &launch, attributes))?;
        Ok(table)
    }

    /// Appends consecutive launches.
    pub fn append(&mut self, mut next: Self) {
        self.report.append(next.report);
        self.launch.append(&mut next.launch);
        self.kind.append(next.kind);
        self.kernel.append(next.kernel);
        self.symbol.append(next.symbol);
        self.demangled.append(next.demangled);
        self.pid.append(&mut next.pid);
        self.process.append(next.process);
        self.context.append(&mut next.context);
        self.stream.append(&mut next.stream);
        self.device.append(&mut next.device);
        self.device_name.append(next.device_name);
        self.capability.append(next.capability);
        self.sm_count.append(&mut next.sm_count);
        self.grid.append(&mut next.grid);
        self.block.append(&mut next.block);
        self.cluster.append(&mut next.cluster);
        self.nvtx.append(next.nvtx);
        self.clock_requested.append(&mut next.clock_requested);
        self.clock_locked.append(&mut next.clock_locked);
        self.created.append(&mut next.created);
    }

    fn push(&mut self, report: &str, launch: &Launch<'_>, attributes: &Attributes<'_>) -> Result<(), ReportError> {
        let number = |index: usize| attributes.get(index).and_then(LaunchAttribute::number);
        let process = launch.process();
        let capability = number(decode::CC_MAJOR).zip(number(decode::CC_MINOR));
        let cluster = decode::CLUSTER.map(|index| number(index).unwrap_or(0));
        self.report.push(Some(report));
        self.launch.push(launch.id());
        self.kind.push(Some(kind_name(launch.kind())));
        self.kernel.push(Some(&launch.kernel_name()));
        self.symbol.push(filled(&launch.mangled_name()));
        self.demangled.push(Some(&launch.demangled_name()));
        self.pid.push(process.map(|process| process.pid));
        self.process.push(process.map(|process| process.name()));
        self.context.push(launch.context());
        self.stream.push(launch.stream());
        self.device.push(number(decode::DEVICE));
        self.device_name.push(attributes.get(decode::DEVICE_NAME).and_then(LaunchAttribute::text));
        self.capability.push(capability.map(|(major, minor)| format!("{major}.{minor}")).as_deref());
        self.sm_count.push(number(decode::SM_COUNT));
        self.grid.push(launch.grid());
        self.block.push(launch.block());
        self.cluster.push((cluster != [0; 3]).then_some(cluster));
        self.nvtx.push(Some(&nvtx_text(&launch.nvtx()?)));
        self.clock_requested.push(launch.clock_status().map(|status| status.requested));
        self.clock_locked.push(launch.clock_status().map(|status| status.locked));
        self.created.push(launch.created());
        Ok(())
    }

    /// Adds a launch traced by CUPTI; its id is its position.
    pub fn push_traced(&mut self, report: &str, (variant, shape): (&VariantId, &ShapeName), launch: &TracedLaunch) {
        let name = KernelName::parse(&launch.kernel);
        self.report.push(Some(report));
        self.launch.push(self.launch.len() as u32);
        self.kind.push(Some(kind_name(ResultKind::Kernel)));
        self.kernel.push(Some(name.function()));
        self.symbol.push(Some(&launch.kernel));
        self.demangled.push(Some(&demangled(&launch.kernel)));
        self.pid.push(None);
        self.process.push(None);
        self.context.push(None);
        self.stream.push(None);
        self.device.push(None);
        self.device_name.push(None);
        self.capability.push(None);
        self.sm_count.push(None);
        self.grid.push(Some(launch.grid));
        self.block.push(Some(launch.block));
        self.cluster.push((launch.cluster.iter().product::<u32>() > 1).then_some(launch.cluster));
        self.nvtx.push(Some(&format!("{variant}@{shape}")));
        self.clock_requested.push(None);
        self.clock_locked.push(None);
        self.created.push(None);
    }

    pub fn push_csv(&mut self, report: &str, csv: &CsvReport) {
        for launch in &csv.launches {
            self.report.push(Some(report));
            self.launch.push(launch.id);
            self.kind.push(Some(kind_name(ResultKind::Kernel)));
            self.kernel.push(Some(&launch.kernel));
            self.symbol.push(None);
            self.demangled.push(Some(&launch.kernel));
            self.pid.push(launch.pid);
            self.process.push(filled(&launch.process));
            self.context.push(launch.context);
            self.stream.push(launch.stream);
            self.device.push(launch.device);
            self.device_name.push(None);
            self.capability.push(filled(&launch.capability));
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

    /// Keeps only the kernel of each launch.
    pub fn into_kernels(self) -> TextColumn {
        self.kernel
    }

    /// Builds the frame.
    ///
    /// # Errors
    /// polars rejects a column.
    pub fn frame(&self) -> Result<DataFrame, PolarsError> {
        let numbers =
            |name: &str, values: &[Option<u32>]| UInt32Chunked::from_slice_options(name.into(), values).into_column();
        let flags =
            |name: &str, values: &[Option<bool>]| BooleanChunked::from_slice_options(name.into(), values).into_column();
        let rows = self.launch.len();
        let mut columns = vec![
            self.report.column(l::REPORT),
            UInt32Chunked::from_slice(l::LAUNCH.into(), &self.launch).into_column(),
            self.kind.column(l::KIND),
            self.kernel.column(l::KERNEL),
            self.symbol.column(l::SYMBOL),
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
fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
