//! The arithmetic of a reference: exact in float64, as in a plain kernel, or with a fault that a tolerance should
//! reject.

use crate::dense::{exponentials, largest};
use crate::element;
use ncugate_model::Dtype;
use std::f64::consts::LOG2_E;

/// Rounding of an intermediate value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rounding {
    /// No rounding beyond float64.
    #[default]
    Exact,
    /// Rounding to the values of a dtype.
    To(Dtype),
}

impl Rounding {
    /// The value after rounding.
    pub fn of(self, value: f64) -> f64 {
        match self {
            Self::Exact => value,
            Self::To(dtype) => element::rounded(dtype, value),
        }
    }
}

/// How `exp` is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Exponential {
    /// By the math library.
    #[default]
    Exact,
    /// By the nearest of N powers of two between neighbouring whole exponents.
    Table(u32),
    /// `1 + x / 2^n` squared n times with n = 8, a cheap substitute.
    Squared,
}

impl Exponential {
    fn of(self, x: f64) -> f64 {
        match self {
            Self::Exact => x.exp(),
            Self::Table(entries) => ((x * LOG2_E * f64::from(entries)).round() / f64::from(entries)).exp2(),
            Self::Squared => (1.0 + x / 256.0).max(0.0).powi(256),
        }
    }
}

/// The value subtracted from the scores of a row before `exp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Maximum {
    /// The largest score.
    #[default]
    Row,
    /// The largest of the first N scores.
    First(usize),
    None,
}

/// The keys, or columns, of a row that take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeySubset {
    #[default]
    All,
    ButLast,
    /// All but the last of every N.
    ButOneIn(usize),
    FirstHalf,
}

impl KeySubset {
    /// Whether the key at index `at` of `count` takes part.
    pub fn keeps(self, at: usize, count: usize) -> bool {
        match self {
            Self::All => true,
            Self::ButLast => at + 1 != count || count == 1,
            Self::ButOneIn(every) => at % every != every - 1,
            Self::FirstHalf => at < count.div_ceil(2),
        }
    }
}

/// The arithmetic of a sum in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumArithmetic {
    /// Rounding after every term.
    pub rounding: Rounding,
    pub kept: KeySubset,
}

impl SumArithmetic {
    /// The arithmetic of a plain kernel with an output of `dtype`.
    pub fn plain(dtype: Dtype) -> Self {
        Self { rounding: plain_accumulator(dtype), kept: KeySubset::All }
    }
}

/// The arithmetic of a softmax, alone or inside attention; the default is the definition in float64.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoftmaxArithmetic {
    pub score: Rounding,
    /// Factor of the scores, in addition to their scale.
    pub factor: f64,
    /// The value subtracted from the scores.
    pub maximum: Maximum,
    pub exponential: Exponential,
    /// Rounding of exponentials in their sum.
    pub term: Rounding,
    /// Rounding of exponentials as weights of values.
    pub weight: Rounding,
    pub kept: KeySubset,
}

impl Default for SoftmaxArithmetic {
    fn default() -> Self {
        Self {
            score: Rounding::Exact,
            factor: 1.0,
            maximum: Maximum::Row,
            exponential: Exponential::Exact,
            term: Rounding::Exact,
            weight: Rounding::Exact,
            kept: KeySubset::All,
        }
    }
}

impl SoftmaxArithmetic {
    /// The arithmetic of a plain kernel with an output of `dtype`: single precision, and weights in the output's
    /// type.
    pub fn plain(dtype: Dtype) -> Self {
        let single = plain_accumulator(dtype);
        Self { score: single, term: single, weight: Rounding::To(dtype), ..Self::default() }
    }

    /// Turns the scores of a row into weights, and returns their sum.
    pub fn soften(&self, row: &mut [f64]) -> f64 {
        if *self == Self::default() {
            return soften_exactly(row);
        }
        let count = row.len();
        row.iter_mut().for_each(|v| *v = self.score.of(*v * self.factor));
        let largest = |scores: &[f64]| scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let base = match self.maximum {
            Maximum::Row => largest(row),
            Maximum::First(first) => largest(&row[..first.min(count)]),
            Maximum::None => 0.0,
        };
        let mut total = 0.0;
        for (at, value) in row.iter_mut().enumerate() {
            let term = if self.kept.keeps(at, count) { self.term.of(self.exponential.of(*value - base)) } else { 0.0 };
            total += term;
            *value = self.weight.of(term);
        }
        total
    }
}

/// The definition in float64, like the default arithmetic, without branches for each element.
fn soften_exactly(row: &mut [f64]) -> f64 {
    exponentials(row, largest(row))
}

/// The accumulator of a plain kernel: single precision, or double for outputs in double.
pub fn plain_accumulator(dtype: Dtype) -> Rounding {
    if dtype == Dtype::F64 { Rounding::Exact } else { Rounding::To(Dtype::F32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn softened(arithmetic: SoftmaxArithmetic, scores: &[f64]) -> Vec<f64> {
        let mut row = scores.to_vec();
        let total = arithmetic.soften(&mut row);
        row.iter().map(|w| w / total).collect()
    }

    #[test]
    fn without_a_maximum_single_precision_overflows() {
        let none = SoftmaxArithmetic { maximum: Maximum::None, ..SoftmaxArithmetic::plain(Dtype::F32) };
        assert!(softened(none, &[1.0, 2.0])[1] > 0.73, "and is right for small scores");
        assert!(softened(none, &[100.0, 99.0])[0].is_nan());
        assert!(softened(none, &[-110.0, -111.0])[0].is_nan(), "nothing is left to divide by");
        let first = SoftmaxArithmetic { maximum: Maximum::First(1), ..none };
        assert!(softened(first, &[0.0, 100.0])[1].is_nan());
    }

    #[test]
    fn the_definition_is_the_same_without_choices() {
        let scores: Vec<f64> = (0..97).map(|i| f64::from(i * 37 % 101) / 7.0).collect();
        let exact = softened(SoftmaxArithmetic::default(), &scores);
        // A subset that keeps everything gives the same arithmetic through the other code path.
        let chosen =
            softened(SoftmaxArithmetic { kept: KeySubset::ButOneIn(1000), ..SoftmaxArithmetic::default() }, &scores);
        // Sums and exponentials differ in their rounding.
        assert!(exact.iter().zip(&chosen).all(|(a, b)| (a / b - 1.0).abs() < 1e-14), "{exact:?}, {chosen:?}");
    }

    #[test]
    fn a_table_is_as_wrong_as_half_a_step() {
        let table = Exponential::Table(16);
        let worst = (0..1000).map(|i| f64::from(i) * -0.01).map(|x| (table.of(x) / x.exp() - 1.0).abs());
        let worst = worst.fold(0.0, f64::max);
        assert!((0.02..0.0225).contains(&worst), "{worst}");
    }

    #[test]
    fn kept_keys_are_those_of_the_definition() {
        let kept = |kept: KeySubset| (0..6).filter(|at| kept.keeps(*at, 6)).collect::<Vec<_>>();
        assert_eq!(kept(KeySubset::ButLast), [0, 1, 2, 3, 4]);
        assert_eq!(kept(KeySubset::ButOneIn(3)), [0, 1, 3, 4]);
        assert_eq!(kept(KeySubset::FirstHalf), [0, 1, 2]);
        assert!(KeySubset::ButLast.keeps(0, 1), "one key is never dropped");
    }
}
