//! The input generator: independent streams, keyed by seed and buffer.

use crate::element::{decode_into, encode_into};
use ncugate_model::Dtype;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal, StandardUniform};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

/// Elements drawn from one stream of the generator.
const CHUNK: usize = 1 << 12;

/// The generator of a buffer's values under a seed. Its streams are independent.
#[derive(Debug, Clone, Copy)]
pub struct Generator([u8; 32]);

impl Generator {
    /// Keyed by seed and name, so that a buffer's content does not depend on other buffers.
    pub fn new(seed: u64, buffer: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"ncugate input 1\0");
        hash.update(seed.to_le_bytes());
        hash.update(buffer.as_bytes());
        Self(hash.finalize().into())
    }

    pub fn stream(self, stream: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::from_seed(self.0);
        rng.set_stream(stream);
        rng
    }

    /// `len` independent values. Each chunk of elements has a separate stream, so that the thread count does not
    /// change them.
    pub fn values(self, len: usize, sample: impl Fn(&mut ChaCha8Rng) -> f64 + Sync) -> Vec<f64> {
        let mut values = vec![0.0; len];
        values.par_chunks_mut(CHUNK).enumerate().for_each(|(stream, chunk)| {
            let mut rng = self.stream(stream as u64);
            chunk.iter_mut().for_each(|value| *value = sample(&mut rng));
        });
        values
    }

    /// As many elements of a dtype as there are, each from a random place of them; a float times a random factor from `least`
    /// to 1. The elements stay bytes, because float64 takes up to eight times the memory.
    pub fn redrawn(self, dtype: Dtype, elements: &[u8], least: f64) -> Vec<u8> {
        let (size, mut redrawn) = (dtype.size(), vec![0; elements.len()]);
        let (count, least) = (elements.len() / size, if dtype.has_nan() { least } else { 1.0 });
        redrawn.par_chunks_mut(CHUNK * size).enumerate().for_each(|(stream, chunk)| {
            let mut rng = self.stream(stream as u64);
            for element in chunk.chunks_exact_mut(size) {
                let at = ((uniform(&mut rng) * count as f64) as usize).min(count - 1);
                element.copy_from_slice(&elements[at * size..][..size]);
                let factor = least + (1.0 - least) * uniform(&mut rng);
                if least < 1.0 {
                    let mut value = [0.0];
                    decode_into(dtype, element, &mut value);
                    encode_into(dtype, &[value[0] * factor], element);
                }
            }
        });
        redrawn
    }

    /// `len` independent normal values.
    pub fn normals(self, len: usize, mean: f64, std: f64) -> Vec<f64> {
        self.values(len, |rng| mean + std * normal(rng))
    }

    /// `len` independent values, uniform on `[low, high)`.
    pub fn uniforms(self, len: usize, low: f64, high: f64) -> Vec<f64> {
        self.values(len, |rng| low + (high - low) * uniform(rng))
    }
}

/// Normal values in the place of these, at most `limit` in magnitude.
pub fn fill_normal(rng: &mut ChaCha8Rng, values: &mut [f64], (mean, std): (f64, f64), limit: f64) {
    values.iter_mut().for_each(|value| *value = (mean + std * normal(rng)).clamp(-limit, limit));
}

/// A pseudorandom number from a seed and an index (SplitMix64; Steele, Lea and Flood 2014).
#[inline]
pub const fn mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Standard normal.
#[inline]
pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Uniform on `[0, 1)`.
#[inline]
pub fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    StandardUniform.sample(rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element;

    #[test]
    fn redrawn_values_are_those_of_other_places_or_a_part_of_them() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let redrawn = |dtype, least| {
            let elements = element::encode(dtype, &values);
            element::decode(dtype, &Generator::new(5, "x").redrawn(dtype, &elements, least))
        };
        let other = redrawn(Dtype::F64, 1.0);
        assert!(other.iter().all(|value| values.contains(value)));
        assert!(other.iter().zip(&values).filter(|(other, value)| other == value).count() < 10);
        let parts = redrawn(Dtype::F64, 0.5);
        assert!(parts.iter().zip(&other).all(|(part, whole)| (0.5 * whole..=*whole).contains(part)) && parts != other);
        assert_eq!(redrawn(Dtype::U8, 0.5), other, "a part of an integer is none of the values");
        assert!(Generator::new(5, "x").redrawn(Dtype::F32, &[], 1.0).is_empty());
    }
}
