//! Output contents before a launch: plausible random values, so that a kernel cannot distinguish them from an answer.
//!
//! A constant, a NaN or anything derived from the right answer would reveal the check, or the answer itself. Each
//! case is therefore launched twice, with two poisons that differ in every element. An element that holds the poison
//! of both launches was not written, whatever its expected value.

use super::expected::ExpectedOutput;
use super::shape::ShapeSpec;
use crate::gpu::{BufferSpec, copy};
use ncugate_array::dense::FiniteValues;
use ncugate_array::element;
use ncugate_array::generator::fill_normal;
use ncugate_model::Dtype;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Elements drawn from one stream of the generator.
const CHUNK: usize = 1 << 12;

/// The key of a poison, from the system's entropy: no kernel or phase can know it.
#[derive(Clone, Copy)]
pub struct PoisonKey([u8; 32]);

impl PoisonKey {
    pub fn random() -> Self {
        let mut key = [0; 32];
        for part in key.as_chunks_mut::<8>().0 {
            *part = RandomState::new().build_hasher().finish().to_le_bytes();
        }
        Self(key)
    }

    #[cfg(test)]
    pub(super) const fn fixed() -> Self {
        Self([7; 32])
    }
}

/// Bytes of every buffer of a shape before a launch; empty except for outputs without `init`.
#[derive(Debug, Clone, PartialEq)]
pub struct Poison(pub Vec<Vec<u8>>);

/// The centre and the spread of an output's poison.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    mean: f64,
    spread: f64,
}

impl Range {
    const UNIT: Self = Self { mean: 0.0, spread: 1.0 };

    /// The range of the finite values: their mean, and a spread of at least half of their size.
    fn of(values: &[f64]) -> Self {
        let FiniteValues { count, sum, squares, .. } = FiniteValues::of(values);
        let (mean, square) = (sum / count, squares / count);
        let spread = (square - 0.75 * mean * mean).sqrt();
        if mean.is_finite() && spread.is_finite() && spread > 0.0 { Self { mean, spread } } else { Self::UNIT }
    }
}

impl Poison {
    /// Values in the range of the expected outputs, or around zero for outputs without expected values.
    pub fn draw(shape: &ShapeSpec, expected: &[ExpectedOutput], key: PoisonKey) -> Self {
        let of_buffer = |(index, buffer): (usize, &BufferSpec)| {
            if !buffer.is_poisoned() {
                return Vec::new();
            }
            let values = expected.iter().find(|e| e.buffer == index);
            bytes(buffer, values.map_or(Range::UNIT, |e| Range::of(&e.values)), key, index as u64)
        };
        Self(shape.buffers.iter().enumerate().map(of_buffer).collect())
    }

    /// Two poisons that differ in every element: these values, rotated by different offsets.
    pub fn pair(&self, shape: &ShapeSpec, key: PoisonKey) -> [Self; 2] {
        let mut rng = ChaCha8Rng::from_seed(key.0);
        let mut turned = |bytes: &Vec<u8>, buffer: &BufferSpec| {
            let elements = buffer.room().max(1) as u64;
            let from = (rng.next_u64() % elements) as usize * buffer.dtype.size();
            rotated(bytes, from.min(bytes.len()))
        };
        let pairs = self.0.iter().zip(&shape.buffers).map(|(bytes, buffer)| {
            let (first, mut second) = (turned(bytes, buffer), turned(bytes, buffer));
            keep_apart(buffer.dtype, &first, &mut second);
            (first, second)
        });
        let (first, second) = pairs.unzip();
        [Self(first), Self(second)]
    }
}

fn bytes(buffer: &BufferSpec, range: Range, key: PoisonKey, stream: u64) -> Vec<u8> {
    let size = buffer.dtype.size();
    let mut bytes = vec![0; buffer.room() * size];
    bytes.par_chunks_mut(CHUNK * size).enumerate().for_each(|(chunk, bytes)| {
        let mut values = [0.0; CHUNK];
        let values = &mut values[..bytes.len() / size];
        let mut rng = ChaCha8Rng::from_seed(key.0);
        rng.set_stream(stream << 40 | chunk as u64);
        // At most half of the dtype's range: the poison stays finite even after its last bit is flipped.
        let half = element::largest(buffer.dtype) / 2.0;
        fill_normal(&mut rng, values, (range.mean, range.spread), half);
        element::encode_into(buffer.dtype, values, bytes);
    });
    bytes
}

/// The bytes from `from` on, then those before.
fn rotated(bytes: &[u8], from: usize) -> Vec<u8> {
    let (before, after) = bytes.split_at(from);
    let mut rotated = vec![0; bytes.len()];
    let (first, second) = rotated.split_at_mut(after.len());
    copy(first, after);
    copy(second, before);
    rotated
}

/// Flips the last bit of the elements that are equal in both.
fn keep_apart(dtype: Dtype, first: &[u8], second: &mut [u8]) {
    let size = CHUNK * dtype.size();
    first.par_chunks(size).zip(second.par_chunks_mut(size)).for_each(|(first, second)| match dtype.size() {
        1 => turn_last_bits::<1>(first, second),
        2 => turn_last_bits::<2>(first, second),
        4 => turn_last_bits::<4>(first, second),
        _ => turn_last_bits::<8>(first, second),
    });
}

fn turn_last_bits<const BYTES: usize>(first: &[u8], second: &mut [u8]) {
    for (a, b) in first.as_chunks::<BYTES>().0.iter().zip(second.as_chunks_mut::<BYTES>().0) {
        b[0] ^= u8::from(a == b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;
    use ncugate_model::Role;

    fn pair(dtype: Dtype, values: Vec<f64>) -> [Poison; 2] {
        let shape =
            shape(vec![buffer("x", Dtype::F32, &[4], Role::Input), buffer("y", dtype, &[values.len()], Role::Output)]);
        Poison::draw(&shape, &[ExpectedOutput { buffer: 1, values }], PoisonKey::fixed())
            .pair(&shape, PoisonKey::fixed())
    }

    #[test]
    fn two_poisons_differ_in_every_element_and_are_finite_in_every_dtype() {
        for dtype in Dtype::ALL {
            for values in [vec![0.0; 5000], vec![1.0; 5000], vec![1e6; 5000], vec![f64::NAN; 5000]] {
                let [first, second] = pair(dtype, values);
                assert!(first.0[0].is_empty(), "inputs have no poison");
                let size = dtype.size();
                let alike = first.0[1].chunks(size).zip(second.0[1].chunks(size)).filter(|(a, b)| a == b).count();
                assert_eq!(alike, 0, "{}", dtype.name());
                for poison in [&first, &second] {
                    let values = element::decode(dtype, &poison.0[1]);
                    assert!(values.iter().all(|v| v.is_finite()), "{}", dtype.name());
                }
            }
        }
    }

    #[test]
    fn poison_is_of_the_size_of_the_answer_and_does_not_follow_it() {
        let answer: Vec<f64> = (0..10_000).map(|i| 3.0 + f64::from(i % 7) * 0.1).collect();
        let [first, _] = pair(Dtype::F32, answer.clone());
        let poison = element::decode(Dtype::F32, &first.0[1]);
        let mean = poison.iter().sum::<f64>() / 1e4;
        assert!((mean - 3.3).abs() < 0.1, "{mean}");
        let covariance = poison.iter().zip(&answer).map(|(p, a)| (p - mean) * (a - 3.3)).sum::<f64>() / 1e4;
        assert!(covariance.abs() < 0.02, "{covariance}");
    }

    #[test]
    fn integer_poison_holds_no_trace_of_the_answer() {
        let answer: Vec<f64> = (0..10_000).map(|i| f64::from(i % 100)).collect();
        for dtype in [Dtype::I64, Dtype::U64, Dtype::I32, Dtype::U32, Dtype::I16, Dtype::U16, Dtype::I8, Dtype::U8] {
            let [first, _] = pair(dtype, answer.clone());
            let expected = element::encode(dtype, &answer);
            for mask in 0..=255u8 {
                let size = dtype.size();
                let turned = first.0[1].chunks(size).zip(expected.chunks(size)).filter(|(p, e)| p[0] ^ mask == e[0]);
                assert!(turned.count() < 1000, "{} ^ {mask:#x} gives the answer away", dtype.name());
            }
        }
    }

    #[test]
    fn keys_differ_from_one_another() {
        assert_ne!(PoisonKey::random().0, PoisonKey::random().0);
    }
}
