//! One result of a report: a kernel launch, or a range, command list or graph.

use std::borrow::Cow;

use super::block::EntryKind;
use super::error::{ReportError, WireProblem};
use super::metric::{self, Metric, MetricValue, Metrics};
use super::nvtx::{self, NvtxRange};
use super::report::Report;
use super::rule::{self, RuleResult};
use super::wire::{Field, Message, Span, short_tag};

/// What was measured by one result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// One kernel launch.
    Kernel,
    /// A range of launches (range and application-range replay).
    Range,
    /// A command list.
    CommandList,
    /// A whole CUDA graph (`--graph-profiling graph`).
    Graph,
}

/// A profiled process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Host as the report has it, an address or a name.
    pub host: String,
    /// Path of the executable. Never opened.
    pub executable: String,
}

impl Process {
    /// Name of the executable without its folders.
    #[must_use]
    pub fn name(&self) -> &str {
        self.executable.rsplit(['/', '\\']).next().unwrap_or_default()
    }
}

/// What ncu did about the clocks during a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockStatus {
    /// A lock was asked for (`--clock-control base` or `boost`).
    pub requested: bool,
    /// The clocks were locked.
    pub locked: bool,
}

/// The numbers that fields have in one kind of result; 0 where it has no such field.
struct Layout {
    name: &'static str,
    metrics: u32,
    created: u32,
    rules: u32,
    nvtx: u32,
    context: u32,
    stream: u32,
    clocks: u32,
    context_name: u32,
    stream_name: u32,
    sources: u32,
    unsupported_device: u32,
    driver: u32,
}

const KERNEL: Layout = Layout {
    name: "ProfileResult",
    metrics: 13,
    created: 14,
    rules: 19,
    nvtx: 21,
    context: 22,
    stream: 23,
    clocks: 25,
    context_name: 26,
    stream_name: 27,
    sources: 15,
    unsupported_device: 20,
    driver: 35,
};
const RANGE: Layout = Layout {
    name: "RangeResult",
    metrics: 4,
    created: 5,
    rules: 20,
    nvtx: 10,
    context: 11,
    stream: 0,
    clocks: 12,
    context_name: 13,
    stream_name: 0,
    sources: 15,
    unsupported_device: 9,
    driver: 21,
};
const COMMAND_LIST: Layout = Layout {
    name: "CmdlistResult",
    rules: 21,
    stream: 12,
    clocks: 13,
    context_name: 14,
    stream_name: 15,
    sources: 17,
    driver: 25,
    ..RANGE
};
const GRAPH: Layout = Layout { name: "GraphResult", rules: 22, driver: 23, ..COMMAND_LIST };

impl ResultKind {
    fn layout(self) -> &'static Layout {
        match self {
            Self::Kernel => &KERNEL,
            Self::Range => &RANGE,
            Self::CommandList => &COMMAND_LIST,
            Self::Graph => &GRAPH,
        }
    }

    /// The kind of result that an entry is; `None` for a source.
    pub(crate) fn of(entry: EntryKind) -> Option<Self> {
        match entry {
            EntryKind::Source => None,
            EntryKind::Kernel => Some(Self::Kernel),
            EntryKind::Range => Some(Self::Range),
            EntryKind::CommandList => Some(Self::CommandList),
            EntryKind::Graph => Some(Self::Graph),
        }
    }

    /// The field number of the metrics.
    pub(crate) fn metrics_field(self) -> u32 {
        self.layout().metrics
    }

    /// The message's name.
    pub(crate) fn message_name(self) -> &'static str {
        self.layout().name
    }
}

/// What is kept of a result from the first scan: scalars, and where the rest lies.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub kind: ResultKind,
    /// Position among the results of the file.
    pub index: u32,
    pub body: Span,
    /// From the first metric to the end of the last one.
    pub metrics: Span,
    pub metric_count: u32,
    /// Index of the process; `u32::MAX` when the block names none.
    pub process: u32,
    thread: u32,
    context: Option<u32>,
    stream: Option<u32>,
    api_call: u64,
    created: u64,
    mangled: Span,
    function: Span,
    demangled: Span,
    context_name: Span,
    stream_name: Span,
    nvtx: Span,
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    clocks: Option<ClockStatus>,
    driver: Option<f32>,
    unsupported_device: bool,
}

impl Head {
    /// Scans the fields of a result without decoding metrics, sections or rules.
    pub fn scan(data: &[u8], kind: ResultKind, body: Span, process: u32) -> Result<Self, ReportError> {
        let layout = kind.layout();
        let message = Message::new(layout.name, data, body);
        if message.bytes.is_empty() {
            let offset = body.start as u64;
            return Err(ReportError::Malformed { message: layout.name, field: 0, offset, problem: WireProblem::Empty });
        }
        let mut head = Self {
            kind,
            index: 0,
            body,
            metrics: Span { start: body.start, len: 0 },
            metric_count: 0,
            process,
            thread: 0,
            context: None,
            stream: None,
            api_call: 0,
            created: 0,
            mangled: Span::default(),
            function: Span::default(),
            demangled: Span::default(),
            context_name: Span::default(),
            stream_name: Span::default(),
            nvtx: Span::default(),
            grid: None,
            block: None,
            clocks: None,
            driver: None,
            unsupported_device: false,
        };
        let mut fields = message.fields();
        let tag = short_tag(layout.metrics);
        loop {
            let skipped = if head.metric_count == 0 { 0 } else { fields.skip_run(tag) };
            if skipped > 0 {
                head.metric_count += skipped;
                head.metrics.len = (body.start + fields.consumed() - head.metrics.start) as u32;
            }
            let Some(field) = fields.next() else { break };
            let field = field?;
            if field.number == layout.metrics {
                field.bytes()?;
                if head.metric_count == 0 {
                    head.metrics.start = field.offset;
                }
                head.metric_count += 1;
                head.metrics.len = (body.start + fields.consumed() - head.metrics.start) as u32;
            } else {
                head.set(layout, &field)?;
            }
        }
        Ok(head)
    }

    /// Takes one field that is not a metric.
    fn set(&mut self, layout: &Layout, field: &Field<'_>) -> Result<(), ReportError> {
        match field.number {
            1 => self.thread = field.integer32()?,
            2 => self.api_call = field.integer()?,
            5 if self.kind == ResultKind::Kernel => self.mangled = field.span()?,
            6 if self.kind == ResultKind::Kernel => self.function = field.span()?,
            7 if self.kind == ResultKind::Kernel => self.demangled = field.span()?,
            10 if self.kind == ResultKind::Kernel => self.grid = Some(dimensions(field)?),
            11 if self.kind == ResultKind::Kernel => self.block = Some(dimensions(field)?),
            18 if self.kind == ResultKind::CommandList => self.function = field.span()?,
            n if n == layout.created => self.created = field.integer()?,
            n if n == layout.nvtx => self.nvtx = field.span()?,
            n if n == layout.context => self.context = Some(field.integer32()?),
            n if n == layout.stream => self.stream = Some(field.integer32()?),
            n if n == layout.clocks => self.clocks = Some(clocks(field)?),
            n if n == layout.context_name => self.context_name = field.span()?,
            n if n == layout.stream_name => self.stream_name = field.span()?,
            n if n == layout.unsupported_device => self.unsupported_device = field.flag()?,
            n if n == layout.driver => self.driver = Some(field.float()?),
            _ => {}
        }
        Ok(())
    }
}

/// Three dimensions; one that is not written is 0, as the format has it.
fn dimensions(field: &Field<'_>) -> Result<[u32; 3], ReportError> {
    let mut out = [0; 3];
    for axis in field.message("Dimensions")?.fields() {
        let axis = axis?;
        if let Some(slot) = (axis.number as usize).checked_sub(1).and_then(|index| out.get_mut(index)) {
            *slot = axis.integer32()?;
        }
    }
    Ok(out)
}

fn clocks(field: &Field<'_>) -> Result<ClockStatus, ReportError> {
    let mut status = ClockStatus::default();
    for part in field.message("ClockStatus")?.fields() {
        let part = part?;
        match part.number {
            1 => status.requested = part.flag()?,
            2 => status.locked = part.flag()?,
            _ => {}
        }
    }
    Ok(status)
}

/// One result of a report. A light handle: scalars are there, the rest is decoded when asked.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'r> {
    pub(crate) report: &'r Report,
    pub(crate) head: &'r Head,
    pub(crate) id: u32,
}

impl<'r> Launch<'r> {
    fn text(&self, span: Span) -> Cow<'r, str> {
        span.text(self.report.data())
    }

    /// The id that ncu prints, from 0: it counts the launches of one process after those of another.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The position in the file, from 0, by which NVIDIA's `ncu_report` counts. Another than [`Launch::id`] where the
    /// launches of several processes take turns.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.head.index
    }

    /// What was measured.
    #[must_use]
    pub fn kind(&self) -> ResultKind {
        self.head.kind
    }

    /// Name of the kernel's function, without template arguments and parameters. Ranges and graphs have none.
    #[must_use]
    pub fn kernel_name(&self) -> Cow<'r, str> {
        self.text(self.head.function)
    }

    /// Mangled name of the kernel.
    #[must_use]
    pub fn mangled_name(&self) -> Cow<'r, str> {
        self.text(self.head.mangled)
    }

    /// Demangled name of the kernel, or the function's name where the report has none (`extern "C"`).
    #[must_use]
    pub fn demangled_name(&self) -> Cow<'r, str> {
        let span = if self.head.demangled.len > 0 { self.head.demangled } else { self.head.function };
        self.text(span)
    }

    /// Blocks of the grid in x, y, z. Only kernels have one.
    #[must_use]
    pub fn grid(&self) -> Option<[u32; 3]> {
        self.head.grid
    }

    /// Threads of a block in x, y, z. Only kernels have one.
    #[must_use]
    pub fn block(&self) -> Option<[u32; 3]> {
        self.head.block
    }

    /// Blocks of a cluster in x, y, z, from the launch's metrics; `None` when it was not launched with clusters.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn cluster(&self) -> Result<Option<[u32; 3]>, ReportError> {
        let mut out = [0; 3];
        for (slot, axis) in out.iter_mut().zip(["x", "y", "z"]) {
            *slot = self.attribute(&format!("launch__cluster_dim_{axis}"))?.unwrap_or(0);
        }
        Ok((out != [0; 3]).then_some(out))
    }

    /// CUDA context.
    #[must_use]
    pub fn context(&self) -> Option<u32> {
        self.head.context
    }

    /// CUDA stream.
    #[must_use]
    pub fn stream(&self) -> Option<u32> {
        self.head.stream
    }

    /// Name that the program gave the context through NVTX.
    #[must_use]
    pub fn context_name(&self) -> Cow<'r, str> {
        self.text(self.head.context_name)
    }

    /// Name that the program gave the stream through NVTX.
    #[must_use]
    pub fn stream_name(&self) -> Cow<'r, str> {
        self.text(self.head.stream_name)
    }

    /// Thread of the process that launched it.
    #[must_use]
    pub fn thread(&self) -> u32 {
        self.head.thread
    }

    /// Ordinal of the launch among the process's API calls.
    #[must_use]
    pub fn api_call(&self) -> u64 {
        self.head.api_call
    }

    /// When it was measured, in seconds since 1970; 0 when the report does not say.
    #[must_use]
    pub fn created(&self) -> u64 {
        self.head.created
    }

    /// What ncu did about the clocks; `None` when the report does not say.
    #[must_use]
    pub fn clock_status(&self) -> Option<ClockStatus> {
        self.head.clocks
    }

    /// Version of the kernel-mode driver, as the report has it: a float, so 580.159.04 reads 580.159.
    #[must_use]
    pub fn driver(&self) -> Option<f32> {
        self.head.driver
    }

    /// Whether ncu said that it does not support the device.
    #[must_use]
    pub fn is_unsupported_device(&self) -> bool {
        self.head.unsupported_device
    }

    /// The process that launched it.
    #[must_use]
    pub fn process(&self) -> Option<&'r Process> {
        self.report.processes().get(self.head.process as usize)
    }

    /// Index of the device among those visible to the process.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn device(&self) -> Result<Option<u32>, ReportError> {
        self.attribute("launch__device_id")
    }

    /// Compute capability of the device, major and minor.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn compute_capability(&self) -> Result<Option<(u32, u32)>, ReportError> {
        let major = self.attribute("device__attribute_compute_capability_major")?;
        let minor = self.attribute("device__attribute_compute_capability_minor")?;
        Ok(major.zip(minor))
    }

    /// Name of the device.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn device_name(&self) -> Result<Option<Cow<'r, str>>, ReportError> {
        Ok(match self.metric("device__attribute_display_name")? {
            Some(MetricValue::String(name)) => Some(name),
            _ => None,
        })
    }

    /// Multiprocessors of the device.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn sm_count(&self) -> Result<Option<u32>, ReportError> {
        self.attribute("device__attribute_multiprocessor_count")
    }

    fn attribute(&self, name: &str) -> Result<Option<u32>, ReportError> {
        Ok(self.metric(name)?.and_then(|value| value.as_u64()).and_then(|value| u32::try_from(value).ok()))
    }

    /// All metrics, each name once, in the report's order. Where a report repeats one the last value counts, as for NVIDIA's reader.
    #[must_use]
    pub fn metrics(&self) -> Metrics<'r> {
        Metrics::new(self.report, self.head)
    }

    /// The aggregate value of a metric by its full name. `Ok(None)` when the launch does not have the metric,
    /// [`MetricValue::Missing`] when it was asked for and could not be collected.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn metric(&self, name: &str) -> Result<Option<MetricValue<'r>>, ReportError> {
        Ok(self.find_metric(name)?.map(|metric| metric.value))
    }

    /// A metric with its instances by its full name.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn find_metric(&self, name: &str) -> Result<Option<Metric<'r>>, ReportError> {
        let Some(id) = self.report.metric_place(name) else { return Ok(None) };
        metric::find(self.report, self.head, id)
    }

    /// NVTX ranges around the launch: the push/pop stack of its own thread, outermost first, by domain, then the
    /// start/end ranges that were open. Empty without `--nvtx`.
    ///
    /// # Errors
    /// A damaged state.
    pub fn nvtx(&self) -> Result<Vec<NvtxRange<'r>>, ReportError> {
        nvtx::ranges(Message::new("NvtxState", self.report.data(), self.head.nvtx), self.head.thread)
    }

    /// What ncu's rules said.
    ///
    /// # Errors
    /// A damaged rule result.
    pub fn rule_results(&self) -> Result<Vec<RuleResult<'r>>, ReportError> {
        self.fields(self.head.kind.layout().rules).map(|field| rule::decode(field?.message("RuleResult")?)).collect()
    }

    /// References of the source entries ([`Report::sources`]) that belong to it.
    ///
    /// # Errors
    /// A damaged result.
    pub fn source_references(&self) -> Result<Vec<u64>, ReportError> {
        let mut references = Vec::new();
        for field in self.fields(self.head.kind.layout().sources) {
            let field = field?;
            if self.head.kind == ResultKind::Kernel {
                for part in field.message("SourceData")?.fields() {
                    let part = part?;
                    if part.number == 1 {
                        references.push(part.integer()?);
                    }
                }
            } else {
                field.integers(&mut references)?;
            }
        }
        Ok(references)
    }

    /// The fields with `number`, in order.
    fn fields(&self, number: u32) -> impl Iterator<Item = Result<Field<'r>, ReportError>> {
        Message::new(self.head.kind.layout().name, self.report.data(), self.head.body)
            .fields()
            .filter(move |field| field.as_ref().map_or(true, |field| field.number == number))
    }
}
