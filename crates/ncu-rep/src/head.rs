//! What is kept of every result from the walk over the file: scalars, and where the rest lies.

use super::block::EntryKind;
use super::error::{ReportError, WireProblem};
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
pub(super) struct Layout {
    pub name: &'static str,
    metrics: u32,
    created: u32,
    pub rules: u32,
    nvtx: u32,
    context: u32,
    stream: u32,
    clocks: u32,
    context_name: u32,
    stream_name: u32,
    pub sources: u32,
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
    pub(super) fn layout(self) -> &'static Layout {
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
    pub thread: u32,
    pub context: Option<u32>,
    pub stream: Option<u32>,
    pub api_call: u64,
    pub created: u64,
    pub mangled: Span,
    pub function: Span,
    pub demangled: Span,
    pub context_name: Span,
    pub stream_name: Span,
    pub nvtx: Span,
    pub grid: Option<[u32; 3]>,
    pub block: Option<[u32; 3]>,
    pub clocks: Option<ClockStatus>,
    pub driver: Option<f32>,
    pub unsupported_device: bool,
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
