//! Inputs with a structure that kernels rely on: valid indices, permutations, ascending keys, row pointers, and
//! one-hot rows. Rows run along the last axis.

use crate::generator::{Generator, uniform};
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
