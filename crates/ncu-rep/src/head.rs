//! The indexed part of every result: scalars, and the position of the rest.

use crate::error::{ReportError, WireProblem};
use crate::layout::{Layout, ResultKind};
use crate::schema::clock_status;
use crate::wire::{ByteSpan, Field, Message, short_tag};

/// Clock control by ncu during a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockStatus {
    /// A clock lock was requested (`--clock-control base` or `boost`).
    pub requested: bool,
    /// The clocks were locked.
    pub locked: bool,
}

/// The indexed part of a result: scalars, and the position of the rest.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub kind: ResultKind,
    /// Position among the results of the file.
    pub index: u32,
    pub body: ByteSpan,
    /// From the first metric to the end of the last one.
    pub metrics: ByteSpan,
    pub metric_count: u32,
    /// Index of the process, when the block names one.
    pub process: Option<u32>,
    pub thread: u32,
    pub context: Option<u32>,
    pub stream: Option<u32>,
    pub api_call: u64,
    /// Seconds since 1970.
    pub created: Option<u64>,
    pub mangled: ByteSpan,
    pub function: ByteSpan,
    pub demangled: ByteSpan,
    pub context_name: ByteSpan,
    pub stream_name: ByteSpan,
    pub nvtx: ByteSpan,
    pub grid: Option<[u32; 3]>,
    pub block: Option<[u32; 3]>,
    pub clocks: Option<ClockStatus>,
    pub driver: Option<f32>,
    pub unsupported_device: bool,
}

impl Head {
    /// Scans the fields of a result without decoding metrics, sections or rules.
    pub fn scan(data: &[u8], kind: ResultKind, body: ByteSpan, process: Option<u32>) -> Result<Self, ReportError> {
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
            metrics: ByteSpan { start: body.start, len: 0 },
            metric_count: 0,
            process,
            thread: 0,
            context: None,
            stream: None,
            api_call: 0,
            created: None,
            mangled: ByteSpan::default(),
            function: ByteSpan::default(),
            demangled: ByteSpan::default(),
            context_name: ByteSpan::default(),
            stream_name: ByteSpan::default(),
            nvtx: ByteSpan::default(),
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

    /// Stores one field that is not a metric.
    fn set(&mut self, layout: &Layout, field: &Field<'_>) -> Result<(), ReportError> {
        match field.number {
            n if n == layout.thread => self.thread = field.integer32()?,
            n if n == layout.api_call => self.api_call = field.integer()?,
            n if n == layout.mangled => self.mangled = field.span()?,
            n if n == layout.function => self.function = field.span()?,
            n if n == layout.demangled => self.demangled = field.span()?,
            n if n == layout.grid => self.grid = dimensions(field)?,
            n if n == layout.block => self.block = dimensions(field)?,
            n if n == layout.created => self.created = Some(field.integer()?).filter(|&seconds| seconds > 0),
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

/// Three dimensions; an omitted one is 0, as in protobuf, and a launch that ncu could not profile has no other.
fn dimensions(field: &Field<'_>) -> Result<Option<[u32; 3]>, ReportError> {
    let mut out = [0; 3];
    for axis in field.message("Dimensions")?.fields() {
        let axis = axis?;
        // Fields 1, 2 and 3 are x, y and z.
        if let Some(slot) = (axis.number as usize).checked_sub(1).and_then(|index| out.get_mut(index)) {
            *slot = axis.integer32()?;
        }
    }
    Ok(Some(out).filter(|out| out.iter().any(|extent| *extent > 0)))
}

fn clocks(field: &Field<'_>) -> Result<ClockStatus, ReportError> {
    let mut status = ClockStatus::default();
    for part in field.message("ClockStatus")?.fields() {
        let part = part?;
        match part.number {
            clock_status::REQUESTED => status.requested = part.flag()?,
            clock_status::LOCKED => status.locked = part.flag()?,
            _ => {}
        }
    }
    Ok(status)
}
