//! Inputs: the same values for the same seed and name on every machine, for any number of threads.

use super::structured;
use ncugate_array::generator::{Generator, uniform};
use ncugate_phase::config::Init;
use rayon::prelude::*;

/// The values of a buffer with these extents before they are rounded to its dtype; `None` if they are in a file. Values under
/// another name are independent.
pub fn values(init: &Init, seed: u64, name: &str, extents: &[usize]) -> Option<Vec<f64>> {
    let len = extents.iter().product();
    let generator = Generator::new(seed, name);
    Some(match *init {
        Init::Normal { mean, std } => generator.normals(len, mean, std),
        Init::Uniform { low, high } => generator.uniforms(len, low, high),
        Init::Arange { start, step } => (0..len).into_par_iter().map(|i| start + step * i as f64).collect(),
        Init::Constant { value } => vec![value; len],
        Init::Infinity => vec![f64::INFINITY; len],
        Init::NegativeInfinity => vec![f64::NEG_INFINITY; len],
        Init::Indices { below } => generator.values(len, |rng| structured::index(rng, below)),
        Init::Mask { density } => generator.values(len, |rng| f64::from(u8::from(uniform(rng) < density))),
        Init::Permutation => structured::rows(generator, extents, structured::permutation),
        Init::Sorted { low, high } => {
            structured::rows(generator, extents, |rng, row| structured::sorted(rng, row, low, high))
        }
        Init::RowPointers { nonzeros } => {
            structured::rows(generator, extents, |rng, row| structured::row_pointers(rng, row, nonzeros))
        }
        Init::OneHot => structured::rows(generator, extents, structured::one_hot),
        Init::Npy { .. } | Init::Redrawn { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements of one stream.
    const CHUNK: usize = 1 << 12;
    const NORMAL: Init = Init::Normal { mean: 1.0, std: 2.0 };

    fn values(init: Init, seed: u64, buffer: &str, len: usize) -> Vec<f64> {
        super::values(&init, seed, buffer, &[len]).unwrap()
    }

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
        assert_eq!(values(Init::NegativeInfinity, 0, "x", 2), [f64::NEG_INFINITY; 2]);
        assert_eq!(super::values(&Init::Npy { path: "x.npy".to_owned() }, 0, "x", &[2]), None);
    }
}
