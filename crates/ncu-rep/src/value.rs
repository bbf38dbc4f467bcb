//! The value of a metric, of one of its instances, or of a device attribute.

use std::borrow::Cow;
use std::fmt;

use crate::error::ReportError;
use crate::schema::metric_value;
use crate::wire::{DOUBLE_TYPE, Message, VARINT_TYPE, one_byte_tag, varint};

/// Tags of a double and of a 64-bit integer.
const DOUBLE_TAG: u8 = one_byte_tag(metric_value::DOUBLE, DOUBLE_TYPE);
const U64_TAG: u8 = one_byte_tag(metric_value::U64, VARINT_TYPE);

/// A value from a report, in base units.
#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue<'a> {
    /// A double; may be NaN.
    Double(f64),
    /// A float; may be NaN.
    Float(f32),
    /// A 32-bit integer.
    U32(u32),
    /// A 64-bit integer.
    U64(u64),
    /// Text.
    String(Cow<'a, str>),
    /// The metric was requested but has no value.
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

    /// Whether the value is missing.
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

/// The value in full precision: the shortest decimal that reads back as the same number (with an exponent if that is
/// shorter), `NaN`, `inf`, `-inf`; empty for a missing value.
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

/// The most common encoding: one double or one integer. `None` for every other.
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

/// Decodes a value; if a message contains several, the last one counts, as in protobuf.
pub(crate) fn decode(message: Message<'_>) -> Result<MetricValue<'_>, ReportError> {
    if let Some(value) = usual_value(message.bytes) {
        return Ok(value);
    }
    let mut value = MetricValue::Missing;
    for field in message.fields() {
        let field = field?;
        value = match field.number {
            metric_value::STRING => MetricValue::String(field.text()?),
            metric_value::FLOAT => MetricValue::Float(field.float()?),
            metric_value::DOUBLE => MetricValue::Double(field.double()?),
            metric_value::U32 => MetricValue::U32(field.integer32()?),
            metric_value::U64 => MetricValue::U64(field.integer()?),
            _ => continue,
        };
    }
    Ok(value)
}
