//! A reader of the protobuf wire format that borrows from the bytes and tracks its offset.
//!
//! It decodes fields on demand and skips unknown ones. It is independent of the messages of a report.

use std::borrow::Cow;

use crate::error::{ReportError, WireProblem};

/// A range of the report's bytes. The report can be larger than 4 GiB, a range cannot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ByteSpan {
    pub start: usize,
    pub len: u32,
}

impl ByteSpan {
    /// The bytes of this range; empty when it is outside of `data`.
    pub fn of(self, data: &[u8]) -> &[u8] {
        data.get(self.start..self.start.saturating_add(self.len as usize)).unwrap_or_default()
    }

    /// End of this range.
    pub fn end(self) -> usize {
        self.start.saturating_add(self.len as usize)
    }

    /// The text of this range, with invalid UTF-8 replaced.
    pub fn text(self, data: &[u8]) -> Cow<'_, str> {
        String::from_utf8_lossy(self.of(data))
    }
}

/// One message: its bytes, its name for errors, and its offset in the report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    pub name: &'static str,
    pub bytes: &'a [u8],
    pub offset: usize,
}

/// The value of a field, as it is on the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WireValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// One field of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub message: &'static str,
    pub number: u32,
    /// Offset of the field's tag in the report.
    pub offset: usize,
    /// Offset of the value: the first byte after tag and length.
    pub value_offset: usize,
    pub value: WireValue<'a>,
}

/// Iterates over the fields of a message; stops after the first error.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    message: Message<'a>,
    at: usize,
}

impl<'a> Message<'a> {
    pub fn new(name: &'static str, data: &'a [u8], span: ByteSpan) -> Self {
        Self { name, bytes: span.of(data), offset: span.start }
    }

    pub fn fields(self) -> Fields<'a> {
        Fields { message: self, at: 0 }
    }
}

impl<'a> Fields<'a> {
    /// Number of consumed bytes.
    pub fn consumed(&self) -> usize {
        self.at
    }

    /// Skips length-delimited fields with the one-byte tag `tag` and returns their number. Stops at anything else,
    /// including damage, which [`Iterator::next`] then reports.
    #[inline]
    pub fn skip_run(&mut self, tag: u8) -> u32 {
        let bytes = self.message.bytes;
        let mut count = 0;
        while let Some((_, end)) = short_field(bytes, self.at, tag) {
            self.at = end;
            count += 1;
        }
        count
    }

    /// The next field, if it is a length-delimited one with the one-byte tag `tag`; `None` for anything else.
    #[inline(always)]
    pub fn next_short(&mut self, tag: u8, name: &'static str) -> Option<Message<'a>> {
        let (start, end) = short_field(self.message.bytes, self.at, tag)?;
        self.at = end;
        Some(Message { name, bytes: self.message.bytes.get(start..end)?, offset: self.message.offset + start })
    }

    fn fail<T>(&mut self, field: u32, start: usize, problem: WireProblem) -> Result<T, ReportError> {
        self.at = self.message.bytes.len();
        Err(ReportError::Malformed {
            message: self.message.name,
            field,
            offset: (self.message.offset + start) as u64,
            problem,
        })
    }

    #[inline]
    fn take(&mut self, length: u64) -> Result<&'a [u8], WireProblem> {
        let rest = self.message.bytes.get(self.at..).unwrap_or_default();
        match usize::try_from(length).ok().and_then(|length| rest.get(..length)) {
            Some(bytes) => {
                self.at += bytes.len();
                Ok(bytes)
            }
            None => Err(WireProblem::Length { length, left: rest.len() as u64 }),
        }
    }

    #[inline]
    fn read(&mut self) -> Result<Field<'a>, ReportError> {
        let start = self.at;
        let bytes = self.message.bytes;
        let Some(tag) = varint(bytes, &mut self.at) else {
            return self.fail(0, start, WireProblem::Varint);
        };
        let number = match u32::try_from(tag >> 3) {
            Ok(number) if number > 0 && number < 1 << 29 => number,
            _ => return self.fail(0, start, WireProblem::FieldNumber),
        };
        let wire_type = (tag & 7) as u8;
        let mut value_at = self.at;
        let value = match wire_type {
            VARINT_TYPE => varint(bytes, &mut self.at).map(WireValue::Varint).ok_or(WireProblem::Varint),
            DOUBLE_TYPE => {
                self.take(8).map(|b| WireValue::Fixed64(u64::from_le_bytes(b.try_into().unwrap_or_default())))
            }
            BYTES_TYPE => match varint(bytes, &mut self.at) {
                Some(length) => {
                    value_at = self.at;
                    self.take(length).map(WireValue::Bytes)
                }
                None => Err(WireProblem::Varint),
            },
            FLOAT_TYPE => {
                self.take(4).map(|b| WireValue::Fixed32(u32::from_le_bytes(b.try_into().unwrap_or_default())))
            }
            other => Err(WireProblem::WireType(other)),
        };
        match value {
            Ok(value) => Ok(Field {
                message: self.message.name,
                number,
                offset: self.message.offset + start,
                value_offset: self.message.offset + value_at,
                value,
            }),
            Err(problem) => self.fail(number, start, problem),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, ReportError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        (self.at < self.message.bytes.len()).then(|| self.read())
    }
}

/// Wire types: variable-length integers, eight bytes, length and bytes, four bytes.
pub(crate) const VARINT_TYPE: u8 = 0;
pub(crate) const DOUBLE_TYPE: u8 = 1;
pub(crate) const BYTES_TYPE: u8 = 2;
const FLOAT_TYPE: u8 = 5;

/// The tag of a field whose number is below 16.
pub(crate) const fn one_byte_tag(number: u32, wire_type: u8) -> u8 {
    (number as u8) << 3 | wire_type
}

/// The one-byte tag of a length-delimited field; 0, which is never a tag, when the number needs more bytes.
pub(crate) const fn short_tag(number: u32) -> u8 {
    if number < 16 { one_byte_tag(number, BYTES_TYPE) } else { 0 }
}

/// Start and end of the content of a length-delimited field at `at`, if its tag is `tag` and it fits.
#[inline(always)]
fn short_field(bytes: &[u8], at: usize, tag: u8) -> Option<(usize, usize)> {
    if *bytes.get(at)? != tag {
        return None;
    }
    let mut start = at + 1;
    let len = usize::try_from(varint(bytes, &mut start)?).ok()?;
    let end = start.checked_add(len)?;
    (end <= bytes.len()).then_some((start, end))
}

/// Reads a variable-length integer at `at` and moves `at` past it. `None` when it does not end within ten bytes.
#[inline]
pub(crate) fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(u64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    for (index, &byte) in bytes.get(*at + 1..)?.iter().take(9).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * (index + 1));
        if byte < 0x80 {
            *at += index + 2;
            return Some(value);
        }
    }
    None
}

/// Appends a variable-length integer.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a length-delimited field.
pub(crate) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_varint(out, u64::from(number) << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends an integer field.
pub(crate) fn put_integer(out: &mut Vec<u8>, number: u32, value: u64) {
    put_varint(out, u64::from(number) << 3);
    put_varint(out, value);
}

/// Appends a double.
pub(crate) fn put_double(out: &mut Vec<u8>, number: u32, value: f64) {
    put_varint(out, u64::from(number) << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

impl<'a> Field<'a> {
    /// The error that this field has `problem`.
    pub fn error(&self, problem: WireProblem) -> ReportError {
        ReportError::Malformed { message: self.message, field: self.number, offset: self.offset as u64, problem }
    }

    fn unexpected<T>(&self) -> Result<T, ReportError> {
        let wire_type = match self.value {
            WireValue::Varint(_) => VARINT_TYPE,
            WireValue::Fixed64(_) => DOUBLE_TYPE,
            WireValue::Bytes(_) => BYTES_TYPE,
            WireValue::Fixed32(_) => FLOAT_TYPE,
        };
        Err(self.error(WireProblem::WireType(wire_type)))
    }

    /// An unsigned integer.
    pub fn integer(&self) -> Result<u64, ReportError> {
        match self.value {
            WireValue::Varint(value) => Ok(value),
            _ => self.unexpected(),
        }
    }

    /// An unsigned 32-bit integer.
    pub fn integer32(&self) -> Result<u32, ReportError> {
        let value = self.integer()?;
        u32::try_from(value).map_err(|_| self.error(WireProblem::Range(value)))
    }

    /// Adds unsigned integers, which are written individually or packed.
    pub fn integers(&self, out: &mut Vec<u64>) -> Result<(), ReportError> {
        let WireValue::Bytes(bytes) = self.value else {
            out.push(self.integer()?);
            return Ok(());
        };
        let mut at = 0;
        while at < bytes.len() {
            out.push(varint(bytes, &mut at).ok_or_else(|| self.error(WireProblem::Varint))?);
        }
        Ok(())
    }

    /// A boolean.
    pub fn flag(&self) -> Result<bool, ReportError> {
        Ok(self.integer()? != 0)
    }

    /// A double.
    pub fn double(&self) -> Result<f64, ReportError> {
        match self.value {
            WireValue::Fixed64(bits) => Ok(f64::from_bits(bits)),
            _ => self.unexpected(),
        }
    }

    /// A float.
    pub fn float(&self) -> Result<f32, ReportError> {
        match self.value {
            WireValue::Fixed32(bits) => Ok(f32::from_bits(bits)),
            _ => self.unexpected(),
        }
    }

    /// Bytes.
    pub fn bytes(&self) -> Result<&'a [u8], ReportError> {
        match self.value {
            WireValue::Bytes(bytes) => Ok(bytes),
            _ => self.unexpected(),
        }
    }

    /// Text, with invalid UTF-8 replaced.
    pub fn text(&self) -> Result<Cow<'a, str>, ReportError> {
        self.bytes().map(String::from_utf8_lossy)
    }

    /// A message inside this one.
    pub fn message(&self, name: &'static str) -> Result<Message<'a>, ReportError> {
        Ok(Message { name, bytes: self.bytes()?, offset: self.value_offset })
    }

    /// Position of this field's bytes in the report.
    pub fn span(&self) -> Result<ByteSpan, ReportError> {
        let len = self.bytes()?.len();
        let len = u32::try_from(len).map_err(|_| self.error(WireProblem::Range(len as u64)))?;
        Ok(ByteSpan { start: self.value_offset, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Vec<Result<Field<'_>, ReportError>> {
        Message { name: "Test", bytes, offset: 100 }.fields().collect()
    }

    #[test]
    fn varints_of_every_length_round_trip() {
        for value in (0..64).map(|bit| 1_u64 << bit).chain([0, 127, 128, u64::MAX]) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut at = 0;
            assert_eq!(varint(&bytes, &mut at), Some(value));
            assert_eq!(at, bytes.len());
            for cut in 0..bytes.len() {
                assert_eq!(varint(&bytes[..cut], &mut 0), None);
            }
        }
    }

    #[test]
    fn a_length_beyond_the_message_names_field_and_offset() {
        let found = fields(&[0x08, 0x01, 0x12, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x00]);
        assert_eq!(found.len(), 2);
        match &found[1] {
            Err(ReportError::Malformed { message, field, offset, problem }) => {
                assert_eq!((*message, *field, *offset), ("Test", 2, 102));
                assert_eq!(*problem, WireProblem::Length { length: u64::from(u32::MAX), left: 1 });
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn groups_and_field_zero_are_refused_and_end_the_walk() {
        assert!(matches!(&fields(&[0x0b, 0x0c])[..], [Err(_)]));
        assert!(matches!(&fields(&[0x00, 0x01, 0x08, 0x01])[..], [Err(_)]));
    }

    #[test]
    fn offsets_of_values_count_from_the_report() {
        let found = fields(&[0x0a, 0x02, b'h', b'i', 0x15, 0, 0, 128, 63]);
        let text = found[0].as_ref().map(|f| (f.text().ok(), f.span().ok()));
        assert!(matches!(text, Ok((Some(t), Some(ByteSpan { start: 102, len: 2 }))) if t == "hi"));
        assert!(matches!(found[1].as_ref().map(|f| f.float().ok()), Ok(Some(1.0))));
    }
}
