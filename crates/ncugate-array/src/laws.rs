//! Laws of values: values as they were drawn, turned into those under a law.

use crate::generator::mix;
use ncugate_model::Law;
use rayon::prelude::*;
use std::f64::consts::LOG2_E;

/// The score that laws reach: its `exp` overflows single precision (above 88.7) and half precision (above 11.1).
pub const HIGH_SCORE: f64 = 100.0;
/// The score that rising scores reach: so far above those of the first half of a row that `exp` of the difference
/// overflows single precision too.
pub const RISEN_SCORE: f64 = 180.0;
/// Elements changed by one task.
const CHUNK: usize = 1 << 14;
/// One in `RARE` elements, or columns, is an outlier.
const RARE: u64 = 64;

/// Laws of the scores of rows.
pub fn rows(law: Law, width: usize, seed: u64, values: &mut [f64]) {
    values.par_chunks_exact_mut(width).enumerate().for_each(|(row, values)| {
        let high = if row % 2 == 0 { HIGH_SCORE } else { -HIGH_SCORE };
        let share = |at: usize| at as f64 / (width.max(2) - 1) as f64;
        match law {
            Law::Growing => values.iter_mut().enumerate().for_each(|(at, v)| *v += RISEN_SCORE * share(at)),
            Law::Shifted => values.iter_mut().for_each(|v| *v += high),
            Law::Large => scale_by(values, 8.0 * power(-((row % 8) as i32))),
            Law::Outlier => values[(mix(seed, row as u64) % width as u64) as usize] += 20.0 * LOG2_E,
            Law::Ties => ties(values),
            Law::Constant => values.fill(1.0),
            Law::Zeros => values.fill(0.0),
            // Never the whole row, which would have no answer.
            Law::Masked => values.iter_mut().skip(1).step_by(3).for_each(|v| *v = f64::NEG_INFINITY),
            Law::Declared => {}
        }
    });
}

/// Laws of single elements: answers are at most slightly larger than for the declared inputs.
pub fn elements(law: Law, seed: u64, values: &mut [f64]) {
    let rare = |at: usize| mix(seed, at as u64).is_multiple_of(RARE);
    let count = values.len().max(2) - 1;
    match law {
        Law::Large => {
            values.par_iter_mut().enumerate().for_each(|(at, v)| *v *= power(-((mix(seed, at as u64) % 13) as i32)));
        }
        Law::Outlier => values.par_iter_mut().enumerate().filter(|(at, _)| !rare(*at)).for_each(|(_, v)| *v *= 0.0625),
        Law::Growing => values.par_iter_mut().enumerate().for_each(|(at, v)| *v *= at as f64 / count as f64),
        Law::Shifted => values.par_chunks_mut(CHUNK).for_each(|values| values.iter_mut().for_each(|v| *v += 4.0)),
        Law::Ties => values.par_chunks_mut(CHUNK).for_each(ties),
        Law::Constant => fill(values, 1.0),
        Law::Zeros => fill(values, 0.0),
        Law::Declared | Law::Masked => {}
    }
}

/// Sets all values.
pub fn fill(values: &mut [f64], value: f64) {
    values.par_chunks_mut(CHUNK).for_each(|values| values.fill(value));
}

/// Rounds to -1, 0 and 1.
pub fn ties(values: &mut [f64]) {
    values.iter_mut().for_each(|v| *v = v.round().clamp(-1.0, 1.0));
}

pub fn scale_by(values: &mut [f64], factor: f64) {
    values.iter_mut().for_each(|v| *v *= factor);
}

/// A power of two.
pub fn power(exponent: i32) -> f64 {
    f64::from(exponent).exp2()
}
