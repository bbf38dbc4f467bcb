//! Dense algebra in float64: matrix products by `matrixmultiply` (blocked, with the vector instructions of the
//! processor), and sums and exponentials that the compiler vectorises.

#[cfg(target_arch = "x86_64")]
use crate::vector::has_vectors;
use crate::vector::vectorised;
use rayon::prelude::*;
use std::f64::consts::LOG2_E;

/// A strided matrix in a slice; the transpose swaps the strides.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    values: &'a [f64],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// A row-major matrix of `rows` by `columns`.
    pub fn new(values: &'a [f64], rows: usize, columns: usize) -> Self {
        debug_assert!(holds(values, rows, columns));
        Self { values, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The same values as `columns` by `rows`.
    pub const fn transposed(self) -> Self {
        Self {
            values: self.values,
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }

    /// Whether the slice holds every element.
    fn is_whole(&self) -> bool {
        holds(self.values, self.rows, self.columns)
    }
}

/// Whether a slice has `rows * columns` elements. A product beyond `usize` is more than any slice has.
fn holds(values: &[f64], rows: usize, columns: usize) -> bool {
    rows.checked_mul(columns).is_some_and(|elements| values.len() >= elements)
}

/// `c = alpha * a b`, row-major, on this thread. Does nothing if the extents do not fit.
pub fn multiply(alpha: f64, a: Matrix<'_>, b: Matrix<'_>, c: &mut [f64]) {
    let (rows, inner, columns) = (a.rows, a.columns, b.columns);
    let fits = b.rows == inner && holds(c, rows, columns) && a.is_whole() && b.is_whole();
    debug_assert!(fits, "{rows} x {inner} by {} x {columns} into {}", b.rows, c.len());
    if !fits {
        c.fill(f64::NAN); // an answer that nothing agrees with
        return;
    }
    let stride = |stride: usize| stride.cast_signed();
    // SAFETY: the check above proves that the slices hold every element that extents and strides reach, and `c`
    // overlaps neither input.
    unsafe {
        matrixmultiply::dgemm(
            rows,
            inner,
            columns,
            alpha,
            a.values.as_ptr(),
            stride(a.row_stride),
            stride(a.column_stride),
            b.values.as_ptr(),
            stride(b.row_stride),
            stride(b.column_stride),
            0.0,
            c.as_mut_ptr(),
            stride(columns),
            1,
        );
    }
}

/// Partial sums of a dot product; a strict left-to-right sum could not be vectorised.
const LANES: usize = 8;

/// Dot product of slices of equal length.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

/// `y += factor * x`.
pub fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// Elements summed by one task.
const CHUNK: usize = 1 << 13;

/// Sums over the finite values of an array; the same for any number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FiniteValues {
    pub count: f64,
    pub sum: f64,
    /// The sum of squares.
    pub squares: f64,
    /// The largest magnitude.
    pub largest: f64,
}

impl FiniteValues {
    pub fn of(values: &[f64]) -> Self {
        let chunks: Vec<Self> = values.par_chunks(CHUNK).map(|chunk| vectorised(|| Self::of_chunk(chunk))).collect();
        chunks.into_iter().fold(Self::default(), Self::and)
    }

    #[inline(always)]
    fn of_chunk(values: &[f64]) -> Self {
        let (blocks, rest) = values.as_chunks::<LANES>();
        let mut lanes = [Self::default(); LANES];
        for block in blocks {
            for lane in 0..LANES {
                lanes[lane] = lanes[lane].and(Self::of_value(block[lane]));
            }
        }
        rest.iter().map(|value| Self::of_value(*value)).chain(lanes).fold(Self::default(), Self::and)
    }

    #[inline(always)]
    fn of_value(value: f64) -> Self {
        let finite = value.abs() < f64::INFINITY;
        let (count, value) = if finite { (1.0, value) } else { (0.0, 0.0) };
        Self { count, sum: value, squares: value * value, largest: value.abs() }
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        let largest = if other.largest > self.largest { other.largest } else { self.largest };
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
            largest,
        }
    }
}

/// The largest value; NaN does not count, and of no values it is negative infinity.
pub fn largest(values: &[f64]) -> f64 {
    vectorised(|| {
        let (blocks, rest) = values.as_chunks::<LANES>();
        let mut most = [f64::NEG_INFINITY; LANES];
        for block in blocks {
            for lane in 0..LANES {
                most[lane] = if block[lane] > most[lane] { block[lane] } else { most[lane] };
            }
        }
        most.iter().chain(rest).copied().fold(f64::NEG_INFINITY, f64::max)
    })
}

/// Replaces each value by its exponential after subtracting `base`, and returns their sum.
pub fn exponentials(values: &mut [f64], base: f64) -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        // In a closure, `mul_add` could become a call of a slow function.
        #[target_feature(enable = "avx2,fma")]
        fn fused(values: &mut [f64], base: f64) -> f64 {
            exponentials_by(values, base, |a, b, c| a.mul_add(b, c))
        }
        if has_vectors() {
            // SAFETY: the processor has these instructions.
            return unsafe { fused(values, base) };
        }
    }
    exponentials_by(values, base, |a, b, c| a * b + c)
}

#[inline(always)]
fn exponentials_by(values: &mut [f64], base: f64, fused: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let (mut sums, mut rest) = ([0.0; LANES], 0.0);
    // One loop for both would not be vectorised.
    for tile in values.chunks_mut(TILE) {
        for value in tile.iter_mut() {
            *value = exponential(*value - base, &fused);
        }
        let (blocks, last) = tile.as_chunks::<LANES>();
        for block in blocks {
            for lane in 0..LANES {
                sums[lane] += block[lane];
            }
        }
        rest += last.iter().sum::<f64>();
    }
    sums.iter().sum::<f64>() + rest
}

/// Exponentials computed before they are summed; they fit in the L1 cache.
const TILE: usize = 512;
/// Added to a double below 2^51 in magnitude, it leaves the nearest whole number in the low bits of the sum.
const WHOLE: f64 = 6_755_399_441_055_744.0;
/// The natural logarithm of 2 in two parts; the first has zeros at its end, so that its multiples are exact (fdlibm).
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
/// Where `exp` is 0 or infinite.
const LIMITS: [f64; 2] = [-750.0, 710.0];
/// Reciprocals of factorials, from 13! down to 2!.
const TAYLOR: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    1.0 / 2.0,
];

/// `exp` to one unit in the last place, without branches: `2^k exp(r)` with `|r|` of at most half a logarithm of 2, where
/// the first omitted term of the series is below 2^-57.
#[inline(always)]
fn exponential(x: f64, fused: impl Fn(f64, f64, f64) -> f64) -> f64 {
    // NaN passes both comparisons.
    let x = if x < LIMITS[0] { LIMITS[0] } else { x };
    let x = if x > LIMITS[1] { LIMITS[1] } else { x };
    let k = fused(x, LOG2_E, WHOLE) - WHOLE;
    let r = fused(k, -LN_2[1], x - k * LN_2[0]);
    let mut series = TAYLOR[0];
    for term in &TAYLOR[1..] {
        series = fused(series, r, *term);
    }
    let mantissa = 1.0 + fused(r * r, series, r);
    // Two factors, because 2^k alone can be out of range.
    let half = fused(k, 0.5, WHOLE);
    let rest = (k - (half - WHOLE)) + WHOLE;
    let power = |whole: f64| f64::from_bits(whole.to_bits().wrapping_add(1023) << 52);
    mantissa * power(half) * power(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_beyond_every_slice_are_not_held() {
        let half = 1 << (usize::BITS / 2);
        assert!(!holds(&[1.0], half, half), "the product is 0 when it wraps");
        let (a, b) = (
            Matrix { values: &[], rows: half, columns: half, row_stride: 1, column_stride: 1 },
            Matrix::new(&[], 0, 0),
        );
        assert!(!a.is_whole() && b.is_whole());
    }

    #[test]
    fn sums_are_over_finite_values() {
        let values: Vec<f64> =
            (0..20_003).map(|i| [f64::from(i % 5), f64::NAN, -9.0, f64::INFINITY][i as usize % 4]).collect();
        let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let expected = FiniteValues {
            count: finite.len() as f64,
            sum: finite.iter().sum(),
            squares: finite.iter().map(|value| value * value).sum(),
            largest: 9.0,
        };
        assert_eq!(FiniteValues::of(&values), expected, "whole numbers are summed exactly");
        assert_eq!(FiniteValues::of(&[f64::NAN]), FiniteValues::default());
    }

    #[test]
    fn exponentials_are_those_of_the_math_library_to_one_unit_in_the_last_place() {
        let values: Vec<f64> = (0..40_003).map(|i| (f64::from(i) - 30_000.0) * 0.023_456_7).collect();
        let mut found = values.clone();
        let total = exponentials(&mut found, 0.0);
        for (x, found) in values.iter().zip(&found) {
            let right = x.exp();
            let units = (right.to_bits().cast_signed() - found.to_bits().cast_signed()).abs();
            assert!(units <= 1, "exp({x}) = {right:e}, not {found:e}");
        }
        assert!((total / values.iter().map(|x| x.exp()).sum::<f64>() - 1.0).abs() < 1e-13);
        let mut few = [f64::NEG_INFINITY, 0.0, 2.0, f64::NAN, f64::INFINITY, -745.0, -800.0, 1.0, 0.0, f64::NAN];
        let sum = exponentials(&mut few, 0.0);
        assert!(sum.is_nan() && few[3].is_nan() && few[9].is_nan());
        assert_eq!([few[0], few[1], few[4], few[5], few[6]], [0.0, 1.0, f64::INFINITY, (-745_f64).exp(), 0.0]);
        assert_eq!(largest(&[1.0, f64::NAN, 3.0, 2.0]), 3.0);
        assert_eq!(largest(&[f64::NAN, -1.0, -3.0, -2.0, -5.0, -8.0, f64::NAN, -9.0, -7.0]), -1.0);
        assert_eq!(largest(&[]), f64::NEG_INFINITY);
    }

    #[test]
    fn a_product_is_that_of_the_definition_whichever_way_a_matrix_lies() {
        let (rows, inner, columns) = (5, 7, 3);
        let a: Vec<f64> = (0..rows * inner).map(|i| (i % 11) as f64 - 5.0).collect();
        let b: Vec<f64> = (0..inner * columns).map(|i| (i % 13) as f64 - 6.0).collect();
        let turned: Vec<f64> = (0..columns * inner).map(|i| b[(i % inner) * columns + i / inner]).collect();
        let expected: Vec<f64> = (0..rows * columns)
            .map(|at| (0..inner).map(|k| 2.0 * a[at / columns * inner + k] * b[k * columns + at % columns]).sum())
            .collect();
        let mut c = vec![1e9; rows * columns];
        multiply(2.0, Matrix::new(&a, rows, inner), Matrix::new(&b, inner, columns), &mut c);
        assert_eq!(c, expected);
        multiply(2.0, Matrix::new(&a, rows, inner), Matrix::new(&turned, columns, inner).transposed(), &mut c);
        assert_eq!(c, expected);
    }
}
