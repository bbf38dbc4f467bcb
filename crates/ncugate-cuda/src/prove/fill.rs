//! Inputs: the same values for the same seed and name on every machine, for any number of threads.

use ncugate_array::generator::{Generator, uniform};
use ncugate_array::structured;
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

    fn drawn(init: Init, extents: &[usize]) -> Vec<f64> {
        let values = super::values(&init, 3, "x", extents).unwrap();
        assert_eq!(values.len(), extents.iter().product::<usize>());
        assert_eq!(super::values(&init, 3, "x", extents).unwrap(), values);
        values
    }

    #[test]
    fn indices_are_whole_valid_and_all_met() {
        let values = drawn(Init::Indices { below: 7.0 }, &[100, 10]);
        assert!(values.iter().all(|v| v.fract() == 0.0 && (0.0..7.0).contains(v)));
        assert!((0..7).all(|i| values.contains(&f64::from(i))));
        assert!(drawn(Init::Indices { below: 1.0 }, &[50]).iter().all(|v| *v == 0.0));
    }

    #[test]
    fn every_row_is_a_permutation_of_its_own() {
        let values = drawn(Init::Permutation, &[3, 100]);
        let rows: Vec<&[f64]> = values.chunks(100).collect();
        for row in &rows {
            let mut sorted = row.to_vec();
            sorted.sort_unstable_by(f64::total_cmp);
            assert_eq!(sorted, (0..100).map(f64::from).collect::<Vec<_>>());
        }
        assert!(rows[0] != rows[1] && rows[1] != rows[2]);
    }

    #[test]
    fn row_pointers_ascend_from_nothing_to_all() {
        let values = drawn(Init::RowPointers { nonzeros: 500.0 }, &[101]);
        assert_eq!((values[0], values[100]), (0.0, 500.0));
        assert!(values.is_sorted() && values.iter().all(|v| v.fract() == 0.0));
        assert!(values.windows(2).any(|w| w[1] - w[0] != 5.0), "rows have random lengths");
        assert_eq!(drawn(Init::RowPointers { nonzeros: 0.0 }, &[3]), [0.0; 3]);
    }

    #[test]
    fn rows_are_sorted_or_one_hot() {
        let sorted = drawn(Init::Sorted { low: -1.0, high: 2.0 }, &[4, 50]);
        assert!(sorted.chunks(50).all(<[f64]>::is_sorted) && sorted.iter().all(|v| (-1.0..2.0).contains(v)));
        let hot = drawn(Init::OneHot, &[40, 8]);
        assert!(hot.chunks(8).all(|row| row.iter().sum::<f64>() == 1.0 && row.contains(&1.0)));
        assert!((0..8).all(|at| hot.chunks(8).any(|row| row[at] == 1.0)));
    }

    #[test]
    fn masks_have_their_density() {
        let mask = drawn(Init::Mask { density: 0.25 }, &[100_000]);
        assert!(mask.iter().all(|v| *v == 0.0 || *v == 1.0));
        assert!((mask.iter().sum::<f64>() / 1e5 - 0.25).abs() < 0.01);
        assert!(drawn(Init::Mask { density: 0.0 }, &[99]).iter().all(|v| *v == 0.0));
        assert!(drawn(Init::Mask { density: 1.0 }, &[99]).iter().all(|v| *v == 1.0));
    }
}
