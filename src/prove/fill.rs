//! Inputs: the same values for the same seed and buffer name on every machine, whatever the number of threads.

use crate::config::Init;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal, StandardUniform};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

/// Elements drawn from one stream of the generator.
const CHUNK: usize = 1 << 12;

/// The values of a buffer of `len` elements before they are rounded to its dtype.
///
/// Each run of elements has a stream of its own in a generator keyed by seed and name, so that neither threads nor
/// other buffers change what it holds.
pub fn values(init: Init, seed: u64, buffer: &str, len: usize) -> Vec<f64> {
    match init {
        Init::Normal { mean, std } => draw(seed, buffer, len, |rng| {
            let unit: f64 = StandardNormal.sample(rng);
            mean + std * unit
        }),
        Init::Uniform { low, high } => draw(seed, buffer, len, |rng| {
            let unit: f64 = StandardUniform.sample(rng);
            low + (high - low) * unit
        }),
        Init::Arange { start, step } => (0..len).into_par_iter().map(|i| start + step * i as f64).collect(),
        Init::Constant { value } => vec![value; len],
    }
}

fn draw(seed: u64, buffer: &str, len: usize, sample: impl Fn(&mut ChaCha8Rng) -> f64 + Sync) -> Vec<f64> {
    let key = key(seed, buffer);
    let mut values = vec![0.0; len];
    values.par_chunks_mut(CHUNK).enumerate().for_each(|(stream, chunk)| {
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(stream as u64);
        chunk.iter_mut().for_each(|value| *value = sample(&mut rng));
    });
    values
}

fn key(seed: u64, buffer: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"ncugate input 1\0");
    hash.update(seed.to_le_bytes());
    hash.update(buffer.as_bytes());
    hash.finalize().into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NORMAL: Init = Init::Normal { mean: 1.0, std: 2.0 };

    #[test]
    fn values_depend_on_seed_and_name_alone() {
        let once = values(NORMAL, 0, "q", 10_000);
        let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(single.install(|| values(NORMAL, 0, "q", 10_000)), once);
        assert_eq!(values(NORMAL, 0, "q", 5_000), once[..5_000], "a longer buffer starts alike");
        assert_ne!(values(NORMAL, 1, "q", 10_000), once);
        assert_ne!(values(NORMAL, 0, "k", 10_000), once);
        assert_ne!(once[..CHUNK], once[CHUNK..2 * CHUNK]);
    }

    #[test]
    fn moments_and_bounds_are_those_asked_for() {
        let normal = values(NORMAL, 7, "x", 100_000);
        let mean = normal.iter().sum::<f64>() / 1e5;
        let variance = normal.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.03 && (variance - 4.0).abs() < 0.1, "{mean} {variance}");
        let uniform = values(Init::Uniform { low: -3.0, high: 5.0 }, 7, "x", 100_000);
        assert!(uniform.iter().all(|v| (-3.0..5.0).contains(v)));
        assert!((uniform.iter().sum::<f64>() / 1e5 - 1.0).abs() < 0.05);
    }

    #[test]
    fn plain_initialisers() {
        assert_eq!(values(Init::Arange { start: 1.0, step: 0.5 }, 0, "x", 3), [1.0, 1.5, 2.0]);
        assert_eq!(values(Init::Constant { value: 4.0 }, 0, "x", 2), [4.0, 4.0]);
    }
}
