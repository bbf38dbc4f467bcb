//! Buffers: parts of the captured memory, their types, and what the launch changed.

use crate::CaptureError;
use crate::record::{Allocation, CaptureRecord, CapturedMap};
use ncugate_array::element;
use ncugate_model::Dtype;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

/// Bytes that are compared at once.
const BLOCK: usize = 1 << 12;
/// Words of a buffer from which its type is guessed.
const SAMPLE: usize = 1 << 16;

/// A buffer of the phase: a part of an allocation.
#[derive(Debug)]
pub struct MemoryPart {
    pub name: String,
    /// Number of its allocation.
    pub allocation: usize,
    /// Its first address.
    pub start: u64,
    pub bytes: u64,
    /// Whether the launch changed it.
    pub is_changed: bool,
    pub dtype: Dtype,
    /// Whether a number of its answer is NaN.
    pub has_nan: bool,
}

impl MemoryPart {
    pub const fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.start + self.bytes
    }
}

/// The parts of the memory that pointers, with the names of their arguments, reach.
pub fn parts(capture: &CaptureRecord, pointers: &BTreeMap<u64, String>) -> Result<Vec<MemoryPart>, CaptureError> {
    let mut parts = Vec::new();
    for (index, allocation) in capture.allocations.iter().enumerate() {
        let end = allocation.address + allocation.bytes;
        let inside: Vec<(u64, &String)> =
            pointers.range(allocation.address..end).map(|(address, name)| (*address, name)).collect();
        if inside.is_empty() {
            continue;
        }
        let name = format!("m{index}");
        let (before, after) = (capture.contents(&name, "before")?, capture.contents(&name, "after")?);
        let cuts = cut(allocation, &inside, &before, &after);
        for (start, end, is_changed) in cuts.into_iter().flat_map(|part| at_maps(part, &capture.maps)) {
            let own: Vec<u64> = inside.iter().map(|(at, _)| *at).filter(|at| (start..end).contains(at)).collect();
            if own.is_empty() {
                continue;
            }
            let label = inside.iter().find(|(at, _)| own.first() == Some(at)).map(|(_, name)| (*name).clone());
            let from = (own.first().copied().unwrap_or(start) - allocation.address) as usize;
            let content = if is_changed { &after } else { &before };
            let guess = guessed(&content[from..(end - allocation.address) as usize]);
            // Offsets of pointers are in elements.
            let is_whole = |at: u64| (at - start).is_multiple_of(guess.size() as u64);
            let fits = own.iter().all(|at| is_whole(*at)) && is_whole(end);
            let of_map = capture.maps.iter().find(|map| map.address == start).and_then(CapturedMap::dtype);
            let dtype = of_map.unwrap_or(if fits { guess } else { Dtype::U8 });
            let answer = &after[(start - allocation.address) as usize..(end - allocation.address) as usize];
            parts.push(MemoryPart {
                name: label.unwrap_or(name.clone()),
                allocation: index,
                start,
                bytes: end - start,
                is_changed,
                dtype,
                has_nan: is_changed && has_nan(dtype, answer),
            });
        }
    }
    Ok(parts)
}

/// Cuts an allocation where changed and unchanged memory meet at a pointer: tensors of one allocation become buffers. Pointers to
/// memory of the same kind stay together, because views of one tensor overlap; and so does everything if changes have gaps, as
/// interleaved tensors have.
fn cut(allocation: &Allocation, pointers: &[(u64, &String)], before: &[u8], after: &[u8]) -> Vec<(u64, u64, bool)> {
    let end = allocation.address + allocation.bytes;
    let whole = |is_changed| vec![(allocation.address, end, is_changed)];
    let mut groups: Vec<(u64, u64, bool)> = Vec::new();
    for (at, (address, _)) in pointers.iter().enumerate() {
        let start = if at == 0 { allocation.address } else { *address };
        let stop = pointers.get(at + 1).map_or(end, |(next, _)| *next);
        let range = (start - allocation.address) as usize..(stop - allocation.address) as usize;
        let is_changed = before[range.clone()] != after[range];
        match groups.last_mut() {
            Some((_, last, kind)) if *kind == is_changed => *last = stop,
            _ => groups.push((start, stop, is_changed)),
        }
    }
    if groups.len() < 2 {
        return groups;
    }
    let is_dense = |(start, stop, is_changed): &(u64, u64, bool)| {
        let range = (start - allocation.address) as usize..(stop - allocation.address) as usize;
        !is_changed || dense(&before[range.clone()], &after[range])
    };
    if groups.iter().all(is_dense) { groups } else { whole(true) }
}

/// A part, cut where tensor maps start: they have no offset in a buffer.
fn at_maps((start, end, is_changed): (u64, u64, bool), maps: &[CapturedMap]) -> Vec<(u64, u64, bool)> {
    let mut bounds: Vec<u64> = maps.iter().map(|map| map.address).filter(|at| (start..end).contains(at)).collect();
    bounds.extend([start, end]);
    bounds.sort_unstable();
    bounds.dedup();
    bounds.windows(2).map(|bound| (bound[0], bound[1], is_changed)).collect()
}

/// Whether at least three of four bytes up to the last changed one have changed.
fn dense(before: &[u8], after: &[u8]) -> bool {
    let (mut changed, mut last) = (0, 0);
    for (at, (old, new)) in before.chunks(BLOCK).zip(after.chunks(BLOCK)).enumerate() {
        if old != new {
            changed += old.iter().zip(new).filter(|(old, new)| old != new).count();
            last = at * BLOCK + old.iter().zip(new).rposition(|(old, new)| old != new).unwrap_or(0);
        }
    }
    changed * 4 >= (last + 1) * 3
}

/// The likely type of elements. Narrow types are tried first: a pair of halves is a plausible float, but the low half of a
/// float is rarely a plausible number.
pub fn guessed(content: &[u8]) -> Dtype {
    let content = &content[..content.len().min(SAMPLE * 8)];
    let (halves, _) = content.as_chunks::<2>();
    let halves: Vec<u16> = halves.iter().map(|half| u16::from_le_bytes(*half)).collect();
    let nonzero = |step: usize, from: usize| halves.iter().skip(from).step_by(step).filter(|half| **half != 0).count();
    let total = nonzero(1, 0);
    if total == 0 {
        return if content.len().is_multiple_of(4) { Dtype::F32 } else { Dtype::U8 };
    }
    // Small integers have zeros above, and short floats below.
    let places = [0, 1, 2, 3].map(|place| nonzero(4, place));
    if places[1] + places[3] == 0 {
        return if places[2] == 0 && places[0] > 1 { Dtype::I64 } else { Dtype::I32 };
    }
    let plausible = |exponent: u16, bias: u16, reach: u16| exponent.abs_diff(bias) <= reach;
    // 49 of 50 nonzero numbers of a type, of whose halves the last holds sign and exponent.
    let fits = |width: usize, fits: &dyn Fn(u16) -> bool| {
        let (mut count, mut good) = (0, 0);
        for half in halves.iter().skip(width - 1).step_by(width).filter(|half| **half != 0) {
            count += 1;
            good += usize::from(fits(*half));
        }
        count > 0 && good * 50 >= count * 49
    };
    if places[0] + places[2] > total / 20 {
        if fits(1, &|half| plausible(half >> 7 & 255, 127, 12)) {
            return Dtype::Bf16;
        }
        if fits(1, &|half| plausible(half >> 10 & 31, 15, 11)) {
            return Dtype::F16;
        }
    }
    if fits(2, &|half| plausible(half >> 7 & 255, 127, 40)) {
        return Dtype::F32;
    }
    if fits(4, &|half| plausible(half >> 4 & 2047, 1023, 99)) { Dtype::F64 } else { Dtype::U8 }
}

/// Whether a number of a floating-point type is NaN: all ones in the exponent, and not zero behind it.
pub fn has_nan(dtype: Dtype, content: &[u8]) -> bool {
    let infinity: u64 = match dtype {
        Dtype::F16 => 0x7c00,
        Dtype::Bf16 => 0x7f80,
        Dtype::F32 => 0x7f80_0000,
        Dtype::F64 => 0x7ff0_0000_0000_0000,
        _ => return false,
    };
    let size = dtype.size();
    let magnitude = u64::MAX >> (65 - 8 * size);
    content.chunks_exact(size).any(|number| {
        let bits = number.iter().rev().fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
        bits & magnitude > infinity
    })
}

/// Mean and standard deviation of numbers at the start of a buffer; none if one is not finite, or all are equal.
pub fn moments(dtype: Dtype, content: &[u8]) -> Option<(f64, f64)> {
    let values = element::decode(dtype, &content[..content.len().min(SAMPLE * 8)]);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let std = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
    (mean.is_finite() && std.is_finite() && std > 0.0).then_some((mean, std))
}

/// Writes bytes as a NumPy file of `|V1`, which has the elements of any type.
pub fn write_raw(path: &Path, bytes: &[u8]) -> Result<(), CaptureError> {
    let head = format!("{{'descr': '|V1', 'fortran_order': False, 'shape': ({},), }}", bytes.len());
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        // Magic, version, length and header have 128 bytes, and end with a line feed.
        file.write_all(b"\x93NUMPY\x01\x00\x76\x00")?;
        writeln!(file, "{head:<117}")?;
        file.write_all(bytes)?;
        file.flush()
    };
    write().map_err(CaptureError::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
        values.flatten().collect()
    }

    /// Numbers like those of a normal distribution.
    fn numbers() -> impl Iterator<Item = f32> {
        (1..4000u32).map(|i| ((i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 22) as f32 - 2.0) * 1.37)
    }

    #[test]
    fn types_are_guessed_from_their_bits() {
        assert_eq!(guessed(&bytes(numbers().map(f32::to_le_bytes))), Dtype::F32);
        assert_eq!(guessed(&bytes(numbers().map(|v| f64::from(v).mul_add(1.0, 1e-9).to_le_bytes()))), Dtype::F64);
        assert_eq!(guessed(&bytes(numbers().map(|v| ((v.to_bits() >> 16) as u16).to_le_bytes()))), Dtype::Bf16);
        assert_eq!(guessed(&bytes((0..4000u16).map(|i| (0x3000 + i).to_le_bytes()))), Dtype::F16);
        assert_eq!(guessed(&bytes((0..4000i32).map(i32::to_le_bytes))), Dtype::I32);
        assert_eq!(guessed(&bytes((0..4000i64).map(i64::to_le_bytes))), Dtype::I64);
        let sparse = numbers().map(f32::to_le_bytes).chain((0..90_000).map(|_| [0; 4]));
        assert_eq!(guessed(&bytes(sparse)), Dtype::F32);
        assert_eq!(guessed(&bytes((1..4000u16).map(|i| (f32::from(i) * 0.5).to_le_bytes()))), Dtype::F32);
    }

    #[test]
    fn only_nan_is_nan() {
        let floats = |values: &[f32]| bytes(values.iter().map(|value| value.to_le_bytes()));
        assert!(!has_nan(Dtype::F32, &floats(&[f32::NEG_INFINITY, -0.0, f32::MAX])));
        assert!(has_nan(Dtype::F32, &floats(&[0.0, -f32::NAN])));
        assert!(has_nan(Dtype::F16, &[0, 0x7c, 1, 0xfc]) && !has_nan(Dtype::F16, &[0, 0xfc]));
        assert!(has_nan(Dtype::F64, &f64::NAN.to_le_bytes()) && !has_nan(Dtype::F64, &f64::INFINITY.to_le_bytes()));
    }

    #[test]
    fn tensors_of_one_allocation_are_cut_where_changed_and_unchanged_ones_meet() {
        let allocation = Allocation { address: 1000, bytes: 100 };
        let name = String::new();
        let before = vec![0; 100];
        let mut after = before.clone();
        after[40..60].fill(7);
        let pointers = [1000, 1010, 1040, 1070].map(|at| (at, &name));
        let cuts = cut(&allocation, &pointers, &before, &after);
        assert_eq!(cuts, [(1000, 1040, false), (1040, 1070, true), (1070, 1100, false)]);
        // Every other byte changed: two tensors are interleaved.
        let mut striped = before.clone();
        striped[40..60].iter_mut().step_by(2).for_each(|byte| *byte = 7);
        assert_eq!(cut(&allocation, &pointers, &before, &striped), [(1000, 1100, true)]);
    }
}
