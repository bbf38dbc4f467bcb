//! Converts elements of every dtype between float64 and little-endian bytes.

use crate::minifloat::{BF16, F16, FP8_E4M3, FP8_E5M2, Minifloat};
use crate::vector::vectorised;
use ncugate_model::Dtype;
use rayon::prelude::*;

/// Elements converted by one task.
const CHUNK: usize = 1 << 14;

/// Encodes `values` as bytes: floats round to nearest even, integers round and saturate (NaN becomes 0).
pub fn encode(dtype: Dtype, values: &[f64]) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * dtype.size()];
    bytes
        .par_chunks_mut(CHUNK * dtype.size())
        .zip(values.par_chunks(CHUNK))
        .for_each(|(bytes, values)| encode_into(dtype, values, bytes));
    bytes
}

/// Encodes `values` as [`encode`] does, and replaces them with the decoded values.
pub fn settle(dtype: Dtype, values: &mut [f64]) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * dtype.size()];
    bytes.par_chunks_mut(CHUNK * dtype.size()).zip(values.par_chunks_mut(CHUNK)).for_each(|(bytes, values)| {
        encode_into(dtype, values, bytes);
        decode_into(dtype, bytes, values);
    });
    bytes
}

/// Like [`encode`], but into a slice and on this thread.
pub fn encode_into(dtype: Dtype, values: &[f64], bytes: &mut [u8]) {
    match dtype {
        Dtype::F64 => put(values, bytes, f64::to_le_bytes),
        Dtype::F32 => put(values, bytes, |v| (v as f32).to_le_bytes()),
        Dtype::F16 => put(values, bytes, |v| F16.encode(v).to_le_bytes()),
        Dtype::Bf16 => put(values, bytes, |v| BF16.encode(v).to_le_bytes()),
        Dtype::Fp8E4m3 => put(values, bytes, |v| fp8(FP8_E4M3, v)),
        Dtype::Fp8E5m2 => put(values, bytes, |v| fp8(FP8_E5M2, v)),
        Dtype::I64 => put(values, bytes, |v| (v.round_ties_even() as i64).to_le_bytes()),
        Dtype::U64 => put(values, bytes, |v| (v.round_ties_even() as u64).to_le_bytes()),
        Dtype::I32 => put(values, bytes, |v| (v.round_ties_even() as i32).to_le_bytes()),
        Dtype::U32 => put(values, bytes, |v| (v.round_ties_even() as u32).to_le_bytes()),
        Dtype::I16 => put(values, bytes, |v| (v.round_ties_even() as i16).to_le_bytes()),
        Dtype::U16 => put(values, bytes, |v| (v.round_ties_even() as u16).to_le_bytes()),
        Dtype::I8 => put(values, bytes, |v| (v.round_ties_even() as i8).to_le_bytes()),
        Dtype::U8 => put(values, bytes, |v| (v.round_ties_even() as u8).to_le_bytes()),
        Dtype::Bool => put(values, bytes, |v| [u8::from(is_true(v))]),
    }
}

fn fp8(format: Minifloat, value: f64) -> [u8; 1] {
    [format.encode(value).to_le_bytes()[0]]
}

fn put<const N: usize>(values: &[f64], bytes: &mut [u8], encode: impl Fn(f64) -> [u8; N]) {
    vectorised(|| {
        let (slots, _) = bytes.as_chunks_mut::<N>();
        for (slot, &value) in slots.iter_mut().zip(values) {
            *slot = encode(value);
        }
    });
}

/// Whether a bool is true for a value: true if the value does not round to 0 (halves round away from 0).
const fn is_true(value: f64) -> bool {
    value.abs() >= 0.5
}

/// float64 represents every whole number up to this magnitude.
pub const WHOLE: f64 = 9_007_199_254_740_992.0;

/// The largest finite value of a dtype; for 64-bit integers, the largest that float64 holds exactly.
pub const fn largest(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 => f64::MAX,
        Dtype::F32 => f32::MAX as f64,
        Dtype::F16 => 65504.0,
        Dtype::Bf16 => 3.389_531_389_251_535_5e38,
        Dtype::Fp8E4m3 => 448.0,
        Dtype::Fp8E5m2 => 57344.0,
        Dtype::I64 | Dtype::U64 => WHOLE,
        Dtype::I32 => i32::MAX as f64,
        Dtype::U32 => u32::MAX as f64,
        Dtype::I16 => i16::MAX as f64,
        Dtype::U16 => u16::MAX as f64,
        Dtype::I8 => i8::MAX as f64,
        Dtype::U8 => u8::MAX as f64,
        Dtype::Bool => 1.0,
    }
}

/// The value rounded to the dtype.
pub fn rounded(dtype: Dtype, value: f64) -> f64 {
    match dtype {
        Dtype::F64 => value,
        Dtype::F32 => f64::from(value as f32),
        Dtype::F16 => F16.decode(F16.encode(value)),
        Dtype::Bf16 => BF16.decode(BF16.encode(value)),
        Dtype::Fp8E4m3 => FP8_E4M3.decode(FP8_E4M3.encode(value)),
        Dtype::Fp8E5m2 => FP8_E5M2.decode(FP8_E5M2.encode(value)),
        Dtype::I64 => value.round_ties_even() as i64 as f64,
        Dtype::U64 => value.round_ties_even() as u64 as f64,
        Dtype::I32 => f64::from(value.round_ties_even() as i32),
        Dtype::U32 => f64::from(value.round_ties_even() as u32),
        Dtype::I16 => f64::from(value.round_ties_even() as i16),
        Dtype::U16 => f64::from(value.round_ties_even() as u16),
        Dtype::I8 => f64::from(value.round_ties_even() as i8),
        Dtype::U8 => f64::from(value.round_ties_even() as u8),
        Dtype::Bool => f64::from(u8::from(is_true(value))),
    }
}

/// Half the distance from 1 to the next value of a floating-point dtype; 0 for integers.
pub const fn unit_roundoff(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 => 1.0 / (1u64 << 53) as f64,
        Dtype::F32 => 1.0 / (1u64 << 24) as f64,
        Dtype::F16 => 1.0 / (1u64 << 11) as f64,
        Dtype::Bf16 => 1.0 / (1u64 << 8) as f64,
        Dtype::Fp8E4m3 => 1.0 / (1u64 << 4) as f64,
        Dtype::Fp8E5m2 => 1.0 / (1u64 << 3) as f64,
        Dtype::I64
        | Dtype::U64
        | Dtype::I32
        | Dtype::U32
        | Dtype::I16
        | Dtype::U16
        | Dtype::I8
        | Dtype::U8
        | Dtype::Bool => 0.0,
    }
}

/// Decodes the values in `bytes`; a trailing partial element is dropped.
pub fn decode(dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
    let mut values = vec![0.0; bytes.len() / dtype.size()];
    values
        .par_chunks_mut(CHUNK)
        .zip(bytes.par_chunks(CHUNK * dtype.size()))
        .for_each(|(values, bytes)| decode_into(dtype, bytes, values));
    values
}

/// Like [`decode`], but into a slice and on this thread.
pub fn decode_into(dtype: Dtype, bytes: &[u8], values: &mut [f64]) {
    match dtype {
        Dtype::F64 => take(bytes, values, f64::from_le_bytes),
        Dtype::F32 => take(bytes, values, |b| f64::from(f32::from_le_bytes(b))),
        Dtype::F16 => take(bytes, values, |b| F16.decode(u16::from_le_bytes(b))),
        Dtype::Bf16 => take(bytes, values, |b| BF16.decode(u16::from_le_bytes(b))),
        Dtype::Fp8E4m3 => take(bytes, values, |[b]| FP8_E4M3.decode(u16::from(b))),
        Dtype::Fp8E5m2 => take(bytes, values, |[b]| FP8_E5M2.decode(u16::from(b))),
        Dtype::I64 => take(bytes, values, |b| i64::from_le_bytes(b) as f64),
        Dtype::U64 => take(bytes, values, |b| u64::from_le_bytes(b) as f64),
        Dtype::I32 => take(bytes, values, |b| f64::from(i32::from_le_bytes(b))),
        Dtype::U32 => take(bytes, values, |b| f64::from(u32::from_le_bytes(b))),
        Dtype::I16 => take(bytes, values, |b| f64::from(i16::from_le_bytes(b))),
        Dtype::U16 => take(bytes, values, |b| f64::from(u16::from_le_bytes(b))),
        Dtype::I8 => take(bytes, values, |b| f64::from(i8::from_le_bytes(b))),
        // A bool byte other than 0 or 1 keeps its value, and so compares as wrong.
        Dtype::U8 | Dtype::Bool => take(bytes, values, |[b]| f64::from(b)),
    }
}

fn take<const N: usize>(bytes: &[u8], values: &mut [f64], decode: impl Fn([u8; N]) -> f64) {
    vectorised(|| {
        let (elements, _) = bytes.as_chunks::<N>();
        for (value, &element) in values.iter_mut().zip(elements) {
            *value = decode(element);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_survive_every_dtype() {
        let values = [0.0, 1.0, 2.0, 3.0, 4.0, 112.0];
        assert_eq!(decode(Dtype::Bool, &encode(Dtype::Bool, &values)), [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        for dtype in Dtype::ALL.into_iter().filter(|dtype| *dtype != Dtype::Bool) {
            let bytes = encode(dtype, &values);
            assert_eq!(bytes.len(), values.len() * dtype.size());
            assert_eq!(decode(dtype, &bytes), values, "{}", dtype.name());
        }
    }

    #[test]
    fn one_value_rounds_as_many_do() {
        let values = [0.1, -3.333, 65519.9, 65520.0, 1e-9, 250.4, 1e39, -0.5, 448.0];
        for dtype in Dtype::ALL {
            assert_eq!(decode(dtype, &encode(dtype, &values)), values.map(|v| rounded(dtype, v)), "{}", dtype.name());
            assert_eq!(rounded(dtype, largest(dtype)), largest(dtype), "{}", dtype.name());
            let above = rounded(dtype, 1.0 + 2.5 * unit_roundoff(dtype));
            assert_eq!(above > 1.0, dtype.has_nan(), "{}", dtype.name());
        }
    }

    #[test]
    fn integers_round_and_saturate() {
        assert_eq!(
            decode(Dtype::I8, &encode(Dtype::I8, &[300.0, -300.0, 0.5, 1.5, f64::NAN])),
            [127.0, -128.0, 0.0, 2.0, 0.0]
        );
        assert_eq!(decode(Dtype::U8, &encode(Dtype::U8, &[-1.0, 256.0])), [0.0, 255.0]);
        assert_eq!(decode(Dtype::I32, &encode(Dtype::I32, &[3e9])), [f64::from(i32::MAX)]);
        assert_eq!(decode(Dtype::U32, &encode(Dtype::U32, &[3e9, -1.0])), [3e9, 0.0]);
        assert_eq!(decode(Dtype::I16, &encode(Dtype::I16, &[-4e4, 7.0])), [-32768.0, 7.0]);
        assert_eq!(decode(Dtype::U16, &encode(Dtype::U16, &[7e4])), [65535.0]);
        assert_eq!(decode(Dtype::I64, &encode(Dtype::I64, &[-WHOLE, 5.0])), [-WHOLE, 5.0]);
        assert_eq!(decode(Dtype::U64, &encode(Dtype::U64, &[WHOLE, -5.0])), [WHOLE, 0.0]);
        assert_eq!(decode(Dtype::Bool, &[0, 1, 2]), [0.0, 1.0, 2.0], "a byte other than 0 and 1 is not a valid bool");
    }

    #[test]
    fn all_bits_set_is_nan_where_there_is_one() {
        for dtype in Dtype::ALL {
            let value = decode(dtype, &vec![0xff; dtype.size()]);
            assert_eq!(value[0].is_nan(), dtype.has_nan(), "{}", dtype.name());
        }
    }
}
