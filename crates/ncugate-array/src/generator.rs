//! The input generator: independent streams, keyed by seed and buffer.

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

    /// As many values as there are, each from a random place of them, times a random factor from `least` to 1.
    pub fn redrawn(self, values: &[f64], least: f64) -> Vec<f64> {
        let last = values.len().saturating_sub(1);
        self.values(values.len(), |rng| {
            let at = ((uniform(rng) * values.len() as f64) as usize).min(last);
            values[at] * (least + (1.0 - least) * uniform(rng))
        })
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

    #[test]
    fn redrawn_values_are_those_of_other_places_or_a_part_of_them() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let other = Generator::new(5, "x").redrawn(&values, 1.0);
        assert!(other.iter().all(|value| values.contains(value)));
        assert!(other.iter().zip(&values).filter(|(other, value)| other == value).count() < 10);
        let parts = Generator::new(5, "x").redrawn(&values, 0.5);
        assert!(parts.iter().zip(&other).all(|(part, whole)| (0.5 * whole..=*whole).contains(part)) && parts != other);
        assert!(Generator::new(5, "x").redrawn(&[], 1.0).is_empty());
    }
}
