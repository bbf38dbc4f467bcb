//! Metrics of a result: aggregate values and instances.

use crate::error::{ReportError, WireProblem};
use crate::head::Head;
use crate::names::MetricNames;
use crate::schema::{metric, metric_instance};
use crate::unit::unit_of;
use crate::value::{self, MetricValue};
use crate::wire::{BYTES_TYPE, Field, Fields, Message, VARINT_TYPE, one_byte_tag, short_tag, varint};

/// Tags of a metric's name, value, instances and category.
const NAME_TAG: u8 = one_byte_tag(metric::NAME, VARINT_TYPE);
const VALUE_TAG: u8 = one_byte_tag(metric::VALUE, BYTES_TYPE);
const INSTANCE_TAG: u8 = one_byte_tag(metric::INSTANCE, BYTES_TYPE);
const CATEGORY_TAG: u8 = one_byte_tag(metric::CATEGORY, VARINT_TYPE);

/// One value of an instanced metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricInstance<'a> {
    /// The key of the value: a SASS address, a launch, an opcode, a point of a curve. Missing when the report gives none.
    pub correlation: MetricValue<'a>,
    /// The value.
    pub value: MetricValue<'a>,
}

/// How a metric was collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricCategory {
    /// Counters of a replay pass, attributes, derived values.
    Counter,
    /// Periodic sampling.
    Sampler,
    /// An unknown category.
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
    pub fn instances(&self) -> impl Iterator<Item = Result<MetricInstance<'r>, ReportError>> + use<'r> {
        self.message.fields().filter_map(|field| match field {
            Ok(field) if field.number == metric::INSTANCE => Some(instance(&field)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        })
    }

    /// How the metric was collected.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn category(&self) -> Result<MetricCategory, ReportError> {
        let mut category = MetricCategory::Counter;
        for field in self.message.fields() {
            let field = field?;
            if field.number == metric::CATEGORY {
                category = match field.integer32()? {
                    0 => MetricCategory::Counter,
                    1 => MetricCategory::Sampler,
                    other => MetricCategory::Other(other),
                };
            }
        }
        Ok(category)
    }
}

fn instance<'r>(field: &Field<'r>) -> Result<MetricInstance<'r>, ReportError> {
    let mut instance = MetricInstance { correlation: MetricValue::Missing, value: MetricValue::Missing };
    for part in field.message("ProfileMetricInstance")?.fields() {
        let part = part?;
        match part.number {
            metric_instance::CORRELATION => instance.correlation = value::decode(part.message("ProfileMetricValue")?)?,
            metric_instance::VALUE => instance.value = value::decode(part.message("ProfileMetricValue")?)?,
            _ => {}
        }
    }
    Ok(instance)
}

/// Name index and value message of a metric. Stops before the instances, which are written last.
#[inline]
pub(crate) fn head(message: Message<'_>) -> Result<(u32, Option<Message<'_>>), ReportError> {
    // The usual order: the name, the value, then the end or the instances.
    if let Some((id, value)) = usual_head(message) {
        return Ok((id, Some(value)));
    }
    let mut id = None;
    let mut value = None;
    for field in message.fields() {
        let field = field?;
        match field.number {
            metric::NAME => id = Some(field.integer32()?),
            metric::VALUE => value = Some(field.message("ProfileMetricValue")?),
            metric::INSTANCE if id.is_some() => break,
            _ => {}
        }
    }
    match id {
        Some(id) => Ok((id, value)),
        None => {
            let (message, offset) = (message.name, message.offset as u64);
            Err(ReportError::Malformed { message, field: metric::NAME, offset, problem: WireProblem::NoName })
        }
    }
}

/// The same for a metric in the usual encoding; `None` for every other.
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
        // A one-byte category at the end.
        Some(&CATEGORY_TAG) => bytes.len() == end + 2 && bytes.last().is_some_and(|last| *last < 0x80),
        Some(&next) => next == INSTANCE_TAG,
    };
    ends.then_some((id, Message { name: "ProfileMetricValue", bytes: value, offset: message.offset + at }))
}

/// The metric messages of a result, undecoded.
#[derive(Debug, Clone)]
pub(crate) struct RawMetrics<'r> {
    fields: Fields<'r>,
    number: u32,
    tag: u8,
}

impl<'r> RawMetrics<'r> {
    pub fn new(data: &'r [u8], head: &Head) -> Self {
        let layout = head.kind.layout();
        let message = Message::new(layout.name, data, head.metrics);
        let number = layout.metrics;
        Self { fields: message.fields(), number, tag: short_tag(number) }
    }

    /// Position of the name and value of the next metric, if it has the usual encoding. Otherwise consumes nothing,
    /// and [`Iterator::next`] handles it. Returns no `Result`, because moving one with our error type takes longer
    /// than reading a metric.
    #[inline(always)]
    pub fn next_usual(&mut self, names: &MetricNames) -> Option<(u32, Message<'r>)> {
        let mut ahead = self.fields.clone();
        let (id, body) = usual_head(ahead.next_short(self.tag, "ProfileMetricResult")?)?;
        let place = names.usual_place(id)?;
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

    /// Adds an index; false if it was present or out of range.
    #[inline]
    pub fn insert(&mut self, id: u32) -> bool {
        let Some(word) = self.0.get_mut(id as usize / 64) else { return false };
        let bit = 1 << (id % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}

/// Iterates over the metrics of a launch, each name once, at its first position with its last value.
#[derive(Debug, Clone)]
pub struct Metrics<'r> {
    names: &'r MetricNames,
    found: std::vec::IntoIter<EncodedMetric<'r>>,
    /// The damage that ended the iteration early.
    damage: Option<Damage<'r>>,
}

/// A metric of a launch: place of its name, message, undecoded value.
pub(crate) type EncodedMetric<'r> = (u32, Message<'r>, Option<Message<'r>>);

/// Position of the damage in a launch. Errors cannot be cloned; reading the position again recreates the error.
#[derive(Debug, Clone)]
struct Damage<'r> {
    raw: RawMetrics<'r>,
}

impl<'r> Metrics<'r> {
    pub(crate) fn new(data: &'r [u8], names: &'r MetricNames, launch: &Head) -> Self {
        let mut raw = RawMetrics::new(data, launch);
        let mut place: Vec<Option<u32>> = vec![None; names.len()];
        let mut found: Vec<EncodedMetric<'r>> = Vec::new();
        let mut damage = None;
        loop {
            let before = raw.clone();
            let Some(metric) = raw.next() else { break };
            let Ok((id, message, body)) = metric.and_then(|message| identify(names, message)) else {
                damage = Some(Damage { raw: before });
                break;
            };
            match place.get_mut(id as usize) {
                Some(Some(place)) => {
                    if let Some(known) = found.get_mut(*place as usize) {
                        *known = (id, message, body);
                    }
                }
                Some(place) => {
                    *place = Some(found.len() as u32);
                    found.push((id, message, body));
                }
                None => {}
            }
        }
        Self { names, found: found.into_iter(), damage }
    }

    fn decode(&self, (id, message, body): EncodedMetric<'r>) -> Result<Metric<'r>, ReportError> {
        let value = body.map_or(Ok(MetricValue::Missing), value::decode)?;
        Ok(Metric { name: self.names.name(id), value, message })
    }
}

/// The name index of a metric message.
#[inline]
pub(crate) fn identify<'r>(names: &MetricNames, message: Message<'r>) -> Result<EncodedMetric<'r>, ReportError> {
    let (id, body) = head(message)?;
    Ok((names.place(id, &message)?, message, body))
}

/// The metric of a launch that is stored under this number; the last one, if several are.
pub(crate) fn find<'r>(
    data: &'r [u8],
    names: &'r MetricNames,
    launch: &Head,
    wanted: u32,
) -> Result<Option<Metric<'r>>, ReportError> {
    let mut last = None;
    for message in RawMetrics::new(data, launch) {
        let (id, message, body) = identify(names, message?)?;
        if id == wanted {
            last = Some((message, body));
        }
    }
    let Some((message, body)) = last else { return Ok(None) };
    let value = body.map_or(Ok(MetricValue::Missing), value::decode)?;
    Ok(Some(Metric { name: names.name(wanted), value, message }))
}

impl<'r> Iterator for Metrics<'r> {
    type Item = Result<Metric<'r>, ReportError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(found) = self.found.next() {
            return Some(self.decode(found));
        }
        let message = self.damage.take()?.raw.next()?;
        match message.and_then(|message| identify(self.names, message)) {
            Err(error) => Some(Err(error)),
            Ok(_) => None,
        }
    }
}
