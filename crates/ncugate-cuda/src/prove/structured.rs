//! Inputs with a structure that kernels rely on: valid indices, permutations, ascending keys, row pointers, and
//! one-hot rows. Rows run along the last axis.

use ncugate_array::generator::{Generator, uniform};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use rayon::prelude::*;

/// A whole number from 0 to `below - 1`.
pub fn index(rng: &mut ChaCha8Rng, below: f64) -> f64 {
    (uniform(rng) * below).floor().min(below - 1.0)
}

/// Fills every row of the last axis by `fill`, from a separate stream.
pub fn rows(generator: Generator, extents: &[usize], fill: impl Fn(&mut ChaCha8Rng, &mut [f64]) + Sync) -> Vec<f64> {
    let width = extents.last().copied().unwrap_or(1).max(1);
    let mut values = vec![0.0; extents.iter().product()];
    values.par_chunks_mut(width).enumerate().for_each(|(row, values)| fill(&mut generator.stream(row as u64), values));
    values
}

/// The indices of a row in random order (Fisher and Yates).
pub fn permutation(rng: &mut ChaCha8Rng, row: &mut [f64]) {
    row.iter_mut().enumerate().for_each(|(at, value)| *value = at as f64);
    for at in (1..row.len()).rev() {
        row.swap(at, below(rng, at + 1));
    }
}

/// Uniform values, ascending.
pub fn sorted(rng: &mut ChaCha8Rng, row: &mut [f64], low: f64, high: f64) {
    row.iter_mut().for_each(|value| *value = low + (high - low) * uniform(rng));
    row.sort_unstable_by(f64::total_cmp);
}

/// From 0 to `nonzeros`, ascending; the inner pointers are uniform.
pub fn row_pointers(rng: &mut ChaCha8Rng, row: &mut [f64], nonzeros: f64) {
    let Some(last) = row.len().checked_sub(1) else { return };
    row[..last].iter_mut().for_each(|value| *value = index(rng, nonzeros + 1.0));
    row[0] = 0.0;
    row[last] = nonzeros;
    row.sort_unstable_by(f64::total_cmp);
}

/// A 1 at a random index, zeros elsewhere.
pub fn one_hot(rng: &mut ChaCha8Rng, row: &mut [f64]) {
    row.fill(0.0);
    let hot = below(rng, row.len());
    row[hot] = 1.0;
}

fn below(rng: &mut ChaCha8Rng, bound: usize) -> usize {
    // The high half of a product: uniform to within 2^-24 for rows of up to 2^40 elements.
    ((u128::from(rng.next_u64()) * bound as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::super::fill::values;
    use ncugate_phase::config::Init;

    fn drawn(init: Init, extents: &[usize]) -> Vec<f64> {
        let values = values(&init, 3, "x", extents).unwrap();
        assert_eq!(values.len(), extents.iter().product::<usize>());
        assert_eq!(super::super::fill::values(&init, 3, "x", extents).unwrap(), values);
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
