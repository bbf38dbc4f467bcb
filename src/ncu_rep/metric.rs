//! Metrics of a result: aggregate values and instances.

use std::borrow::Cow;
use std::fmt;

use super::error::{ReportError, WireProblem};
use super::launch::Head;
use super::report::Report;
use super::unit::unit_of;
use super::wire::{Field, Fields, Message};

/// A value as the report holds it, in base units.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue<'a> {
    /// A double; may be NaN.
    Double(f64),
    /// A float; may be NaN.
    Float(f32),
    /// An integer of 32 bits.
    U32(u32),
    /// An integer of 64 bits.
    U64(u64),
    /// Text.
    String(Cow<'a, str>),
    /// The metric was asked for and there is no value.
    Missing,
}

impl MetricValue<'_> {
    /// The value as a number; `None` for text and for missing values. Integers above 2^53 are rounded. May be NaN.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Double(value) => Some(value),
            Self::Float(value) => Some(f64::from(value)),
            Self::U32(value) => Some(f64::from(value)),
            Self::U64(value) => Some(value as f64),
            Self::String(_) | Self::Missing => None,
        }
    }

    /// The value as an integer; `None` unless the report holds an integer.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::U32(value) => Some(u64::from(value)),
            Self::U64(value) => Some(value),
            _ => None,
        }
    }

    /// The text; `None` unless the report holds text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }

    /// The same value without borrowing from the report.
    #[must_use]
    pub fn into_owned(self) -> MetricValue<'static> {
        match self {
            Self::Double(value) => MetricValue::Double(value),
            Self::Float(value) => MetricValue::Float(value),
            Self::U32(value) => MetricValue::U32(value),
            Self::U64(value) => MetricValue::U64(value),
            Self::String(text) => MetricValue::String(Cow::Owned(text.into_owned())),
            Self::Missing => MetricValue::Missing,
        }
    }
}

/// The value in full precision: the shortest decimal that reads back as the same number, `NaN`, `inf`, `-inf`;
/// nothing for a missing value.
impl fmt::Display for MetricValue<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Double(value) => value.fmt(out),
            Self::Float(value) => value.fmt(out),
            Self::U32(value) => value.fmt(out),
            Self::U64(value) => value.fmt(out),
            Self::String(text) => out.write_str(text),
            Self::Missing => Ok(()),
        }
    }
}

/// One value of an instanced metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance<'a> {
    /// What the value belongs to: a SASS address, a launch, an opcode, a point of a curve. Missing when the report
    /// gives none.
    pub correlation: MetricValue<'a>,
    /// The value.
    pub value: MetricValue<'a>,
}

/// How a metric was collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// Counters of a replay pass, attributes, derived values.
    Counter,
    /// Periodic sampling.
    Sampler,
    /// A category that this program does not know.
    Other(u32),
}

/// One metric of a launch.
#[derive(Debug, Clone)]
pub struct Metric<'r> {
    /// Full name.
    pub name: &'r str,
    /// Aggregate value.
    pub value: MetricValue<'r>,
    pub(crate) id: u32,
    message: Message<'r>,
}

impl<'r> Metric<'r> {
    /// Base unit as ncu prints it; empty for numbers without one.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        unit_of(self.name)
    }

    /// The instances, decoded one by one.
    pub fn instances(&self) -> impl Iterator<Item = Result<Instance<'r>, ReportError>> + use<'r> {
        self.message.fields().filter_map(|field| match field {
            Ok(field) if field.number == 3 => Some(instance(&field)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        })
    }

    /// How the metric was collected.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn category(&self) -> Result<Category, ReportError> {
        let mut category = Category::Counter;
        for field in self.message.fields() {
            let field = field?;
            if field.number == 4 {
                category = match field.integer32()? {
                    0 => Category::Counter,
                    1 => Category::Sampler,
                    other => Category::Other(other),
                };
            }
        }
        Ok(category)
    }
}

fn instance<'r>(field: &Field<'r>) -> Result<Instance<'r>, ReportError> {
    let mut instance = Instance { correlation: MetricValue::Missing, value: MetricValue::Missing };
    for part in field.message("ProfileMetricInstance")?.fields() {
        let part = part?;
        match part.number {
            1 => instance.correlation = value(part.message("ProfileMetricValue")?)?,
            2 => instance.value = value(part.message("ProfileMetricValue")?)?,
            _ => {}
        }
    }
    Ok(instance)
}

/// Decodes a value; the last one where a message holds several, as protobuf has it.
#[inline]
pub(crate) fn value(message: Message<'_>) -> Result<MetricValue<'_>, ReportError> {
    let mut value = MetricValue::Missing;
    for field in message.fields() {
        let field = field?;
        value = match field.number {
            1 => MetricValue::String(field.text()?),
            2 => MetricValue::Float(field.float()?),
            3 => MetricValue::Double(field.double()?),
            4 => MetricValue::U32(field.integer32()?),
            5 => MetricValue::U64(field.integer()?),
            _ => continue,
        };
    }
    Ok(value)
}

/// Name index and value message of a metric. Stops before the instances, which the writer puts behind.
#[inline]
pub(crate) fn head(message: Message<'_>) -> Result<(u32, Option<Message<'_>>), ReportError> {
    let mut id = None;
    let mut value = None;
    for field in message.fields() {
        let field = field?;
        match field.number {
            1 => id = Some(field.integer32()?),
            2 => value = Some(field.message("ProfileMetricValue")?),
            3 if id.is_some() => break,
            _ => {}
        }
    }
    match id {
        Some(id) => Ok((id, value)),
        None => {
            let (message, offset) = (message.name, message.offset as u64);
            Err(ReportError::Malformed { message, field: 1, offset, problem: WireProblem::NoName })
        }
    }
}

/// The metric messages of a result, undecoded.
#[derive(Debug, Clone)]
pub(crate) struct RawMetrics<'r> {
    fields: Fields<'r>,
    number: u32,
}

impl<'r> RawMetrics<'r> {
    pub fn new(data: &'r [u8], head: &Head) -> Self {
        let message = Message::new(head.kind.message_name(), data, head.metrics);
        Self { fields: message.fields(), number: head.kind.metrics_field() }
    }
}

impl<'r> Iterator for RawMetrics<'r> {
    type Item = Result<Message<'r>, ReportError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.fields.next()? {
                Ok(field) if field.number == self.number => return Some(field.message("ProfileMetricResult")),
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// A set of metric names by index.
#[derive(Debug, Clone)]
pub(crate) struct IdSet(Vec<u64>);

impl IdSet {
    pub fn new(names: usize) -> Self {
        Self(vec![0; names.div_ceil(64)])
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Adds an index; false when it was there, or is none of the names.
    #[inline]
    pub fn insert(&mut self, id: u32) -> bool {
        let Some(word) = self.0.get_mut(id as usize / 64) else { return false };
        let bit = 1 << (id % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}

/// Iterates over the metrics of a launch, each name once.
#[derive(Debug, Clone)]
pub struct Metrics<'r> {
    report: &'r Report,
    raw: RawMetrics<'r>,
    seen: IdSet,
}

impl<'r> Metrics<'r> {
    pub(crate) fn new(report: &'r Report, head: &Head) -> Self {
        Self { report, raw: RawMetrics::new(report.data(), head), seen: IdSet::new(report.name_count()) }
    }

    fn decode(&self, message: Message<'r>, id: u32, body: Option<Message<'r>>) -> Result<Metric<'r>, ReportError> {
        let value = body.map_or(Ok(MetricValue::Missing), value)?;
        Ok(Metric { name: self.report.name(id), value, id, message })
    }

    /// The first metric with this canonical index.
    pub(crate) fn find(mut self, wanted: u32) -> Result<Option<Metric<'r>>, ReportError> {
        while let Some(message) = self.raw.next() {
            let message = message?;
            let (id, body) = head(message)?;
            if self.report.canonical(id, &message)? == wanted {
                return self.decode(message, wanted, body).map(Some);
            }
        }
        Ok(None)
    }
}

impl<'r> Iterator for Metrics<'r> {
    type Item = Result<Metric<'r>, ReportError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let message = match self.raw.next()? {
                Ok(message) => message,
                Err(error) => return Some(Err(error)),
            };
            let found = head(message).and_then(|(id, body)| Ok((self.report.canonical(id, &message)?, body)));
            match found {
                Ok((id, body)) if self.seen.insert(id) => return Some(self.decode(message, id, body)),
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
