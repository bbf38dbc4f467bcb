//! Metrics of a result: aggregate values and instances.

use std::borrow::Cow;
use std::fmt;

use super::error::{ReportError, WireProblem};
use super::head::Head;
use super::report::Report;
use super::unit::unit_of;
use super::wire::{Field, Fields, Message, short_tag, varint};

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

/// The value in full precision: the shortest decimal that reads back as the same number (with an exponent where that
/// is shorter), `NaN`, `inf`, `-inf`; nothing for a missing value.
impl fmt::Display for MetricValue<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Double(value) if takes_exponent(*value) => write!(out, "{value:e}"),
            Self::Double(value) => value.fmt(out),
            Self::Float(value) if takes_exponent(f64::from(*value)) => write!(out, "{value:e}"),
            Self::Float(value) => value.fmt(out),
            Self::U32(value) => value.fmt(out),
            Self::U64(value) => value.fmt(out),
            Self::String(text) => out.write_str(text),
            Self::Missing => Ok(()),
        }
    }
}

/// Whether a number is so large or small that its plain decimal would be mostly zeros.
fn takes_exponent(value: f64) -> bool {
    let size = value.abs();
    size.is_finite() && size != 0.0 && !(1e-5..1e16).contains(&size)
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

/// What nearly every value is: one double, or one integer. `None` for every other.
#[inline(always)]
pub(crate) fn usual_value(bytes: &[u8]) -> Option<MetricValue<'static>> {
    match bytes {
        [DOUBLE_TAG, bits @ ..] => Some(MetricValue::Double(f64::from_le_bytes(bits.try_into().ok()?))),
        [U64_TAG, rest @ ..] => {
            let mut at = 0;
            let value = varint(rest, &mut at)?;
            (at == rest.len()).then_some(MetricValue::U64(value))
        }
        _ => None,
    }
}

/// Decodes a value; the last one where a message holds several, as protobuf has it.
pub(crate) fn value(message: Message<'_>) -> Result<MetricValue<'_>, ReportError> {
    if let Some(value) = usual_value(message.bytes) {
        return Ok(value);
    }
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
    // As the writer has it: the name, the value, then the end or the instances.
    if let Some((id, value)) = usual_head(message) {
        return Ok((id, Some(value)));
    }
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

/// The same for a metric that is written as nearly all are; `None` for every other.
#[inline(always)]
fn usual_head(message: Message<'_>) -> Option<(u32, Message<'_>)> {
    let bytes = message.bytes;
    if *bytes.first()? != NAME_TAG {
        return None;
    }
    let mut at = 1;
    let id = u32::try_from(varint(bytes, &mut at)?).ok()?;
    if *bytes.get(at)? != VALUE_TAG {
        return None;
    }
    at += 1;
    let len = usize::try_from(varint(bytes, &mut at)?).ok()?;
    let end = at.checked_add(len)?;
    let value = bytes.get(at..end)?;
    let ends = match bytes.get(end) {
        None => true,
        // A category of one byte at the end.
        Some(&CATEGORY_TAG) => bytes.len() == end + 2 && bytes.last().is_some_and(|last| *last < 0x80),
        Some(&next) => next == INSTANCE_TAG,
    };
    ends.then_some((id, Message { name: "ProfileMetricValue", bytes: value, offset: message.offset + at }))
}

/// Tags of a metric's name, value, instances and category, and of a value's double and integer.
const NAME_TAG: u8 = 0x08;
const VALUE_TAG: u8 = 0x12;
const INSTANCE_TAG: u8 = 0x1a;
const CATEGORY_TAG: u8 = 0x20;
const DOUBLE_TAG: u8 = 0x19;
const U64_TAG: u8 = 0x28;

/// The metric messages of a result, undecoded.
#[derive(Debug, Clone)]
pub(crate) struct RawMetrics<'r> {
    fields: Fields<'r>,
    number: u32,
    tag: u8,
}

impl<'r> RawMetrics<'r> {
    pub fn new(data: &'r [u8], head: &Head) -> Self {
        let message = Message::new(head.kind.message_name(), data, head.metrics);
        let number = head.kind.metrics_field();
        Self { fields: message.fields(), number, tag: short_tag(number) }
    }

    /// Place of the name and value of the next metric, if it is written as nearly all are. Else nothing is taken, and
    /// [`Iterator::next`] has it. No result is returned, because moving one with our errors takes longer than to read a
    /// metric.
    #[inline(always)]
    pub fn next_usual(&mut self, report: &Report) -> Option<(u32, Message<'r>)> {
        let mut ahead = self.fields.clone();
        let (id, body) = usual_head(ahead.next_short(self.tag, "ProfileMetricResult")?)?;
        let place = report.usual_place(id)?;
        self.fields = ahead;
        Some((place, body))
    }
}

impl<'r> Iterator for RawMetrics<'r> {
    type Item = Result<Message<'r>, ReportError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(message) = self.fields.next_short(self.tag, "ProfileMetricResult") {
            return Some(Ok(message));
        }
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

/// Iterates over the metrics of a launch, each name once: where it stands first, with the value that it has last.
#[derive(Debug, Clone)]
pub struct Metrics<'r> {
    report: &'r Report,
    found: std::vec::IntoIter<Found<'r>>,
    /// What ended the walk early.
    damage: Option<Damage<'r>>,
}

/// A metric of a launch: place of its name, message, undecoded value.
type Found<'r> = (u32, Message<'r>, Option<Message<'r>>);

/// Where a launch is damaged. Errors cannot be copied; walking there again makes another.
#[derive(Debug, Clone)]
struct Damage<'r> {
    raw: RawMetrics<'r>,
}

impl<'r> Metrics<'r> {
    pub(crate) fn new(report: &'r Report, launch: &Head) -> Self {
        let mut raw = RawMetrics::new(report.data(), launch);
        let mut place = vec![u32::MAX; report.name_count()];
        let mut found: Vec<Found<'r>> = Vec::new();
        let mut damage = None;
        loop {
            let before = raw.clone();
            let Some(metric) = raw.next() else { break };
            let Ok((id, message, body)) = metric.and_then(|message| identify(report, message)) else {
                damage = Some(Damage { raw: before });
                break;
            };
            match place.get_mut(id as usize) {
                Some(place) if *place == u32::MAX => {
                    *place = found.len() as u32;
                    found.push((id, message, body));
                }
                Some(place) => {
                    if let Some(known) = found.get_mut(*place as usize) {
                        *known = (id, message, body);
                    }
                }
                None => {}
            }
        }
        Self { report, found: found.into_iter(), damage }
    }

    fn decode(&self, (id, message, body): Found<'r>) -> Result<Metric<'r>, ReportError> {
        let value = body.map_or(Ok(MetricValue::Missing), value)?;
        Ok(Metric { name: self.report.name(id), value, message })
    }
}

/// Which metric a message is.
fn identify<'r>(report: &Report, message: Message<'r>) -> Result<Found<'r>, ReportError> {
    let (id, body) = head(message)?;
    Ok((report.place(id, &message)?, message, body))
}

/// The last metric of a launch with this place of its name.
pub(crate) fn find<'r>(report: &'r Report, launch: &Head, wanted: u32) -> Result<Option<Metric<'r>>, ReportError> {
    let mut last = None;
    for message in RawMetrics::new(report.data(), launch) {
        let (id, message, body) = identify(report, message?)?;
        if id == wanted {
            last = Some((message, body));
        }
    }
    let Some((message, body)) = last else { return Ok(None) };
    let value = body.map_or(Ok(MetricValue::Missing), value)?;
    Ok(Some(Metric { name: report.name(wanted), value, message }))
}

impl<'r> Iterator for Metrics<'r> {
    type Item = Result<Metric<'r>, ReportError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(found) = self.found.next() {
            return Some(self.decode(found));
        }
        let message = self.damage.take()?.raw.next()?;
        match message.and_then(|message| identify(self.report, message)) {
            Err(error) => Some(Err(error)),
            Ok(_) => None,
        }
    }
}
