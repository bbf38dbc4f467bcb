//! Matrix product: `c = alpha * a b + beta * c_in`.

use super::error::ReferenceError;
use super::fit::{BufferValues, Fit};
use ncugate_array::arithmetic::SumArithmetic;
use ncugate_array::dense::{Matrix, add_scaled, multiply};
use rayon::prelude::*;

/// Minimum and maximum rows of `c` per task.
const ROWS: usize = 16;
const MOST_ROWS: usize = 256;

/// A product fitted to a shape: `a` is `[M, K]`, `b` `[K, N]` or `[N, K]`, `c` and `c_in` `[M, N]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Gemm {
    a: usize,
    b: usize,
    pub(super) c: usize,
    c_in: Option<usize>,
    rows: usize,
    pub(super) inner: usize,
    columns: usize,
    transpose_b: bool,
    alpha: f64,
    beta: f64,
}

impl Gemm {
    /// The scalars `alpha` and `beta` default to 1 and 0. A `beta` other than 0 needs the input `c_in`, or a `c` that
    /// is changed in place.
    pub(super) fn bind(fit: &Fit<'_>, transpose_b: bool) -> Result<Self, ReferenceError> {
        let [a, b] = fit.inputs(["a", "b"], &["c_in"])?;
        let c = fit.output("c")?;
        let [rows, inner] = fit.axes(a, "[M, K]")?;
        let [first, second] = fit.axes(b, if transpose_b { "[N, K]" } else { "[K, N]" })?;
        let columns = if transpose_b { first } else { second };
        fit.expect(b, &if transpose_b { [columns, inner] } else { [inner, columns] })?;
        fit.expect(c, &[rows, columns])?;
        let c_in = fit.optional("c_in").or(fit.buffer(c).role.is_read().then_some(c));
        if let Some(c_in) = c_in {
            fit.expect(c_in, &[rows, columns])?;
        }
        let alpha = fit.scalar("alpha")?.unwrap_or(1.0);
        let beta = fit.scalar("beta")?.unwrap_or(0.0);
        if beta != 0.0 && c_in.is_none() {
            return Err(fit.wrong(format!(
                "beta = {beta} needs an input `c_in` of extents {:?}, or an output with role `inout`",
                [rows, columns]
            )));
        }
        Ok(Self { a, b, c, c_in, rows, inner, columns, transpose_b, alpha, beta })
    }

    fn compute(&self, values: &BufferValues) -> Vec<f64> {
        if let Some(product) = self.constant_product(values) {
            return vec![product; self.rows * self.columns];
        }
        let mut c = vec![0.0; self.rows * self.columns];
        // Every task repacks all of `b`: too few rows per task would be slow, and too many leave threads idle.
        let rows = (self.rows / (2 * rayon::current_num_threads())).clamp(ROWS, MOST_ROWS);
        c.par_chunks_mut(rows * self.columns).enumerate().for_each(|(block, c)| {
            let count = c.len() / self.columns;
            let a = Matrix::new(&values[self.a][block * rows * self.inner..], count, self.inner);
            let b = &values[self.b];
            let b = match self.transpose_b {
                true => Matrix::new(b, self.columns, self.inner).transposed(),
                false => Matrix::new(b, self.inner, self.columns),
            };
            multiply(self.alpha, a, b, c);
            if let Some(c_in) = self.c_in.filter(|_| self.beta != 0.0) {
                add_scaled(c, self.beta, &values[c_in][block * rows * self.columns..]);
            }
        });
        c
    }

    /// The value of every element of `c` if it is known exactly without a product: both matrices are 0, or 1,
    /// everywhere, and `c_in` does not contribute.
    fn constant_product(&self, values: &BufferValues) -> Option<f64> {
        let is = |index: usize, value: f64| values[index].par_iter().all(|v| *v == value);
        let everywhere = |value| is(self.a, value) && is(self.b, value);
        let carries = self.c_in.is_some() && self.beta != 0.0;
        match values[self.a].first() {
            Some(0.0) if !carries && everywhere(0.0) => Some(self.alpha * 0.0),
            Some(1.0) if !carries && everywhere(1.0) => Some(self.alpha * self.inner as f64),
            _ => None,
        }
    }

    /// Over the kept terms in order, with the sum rounded after every term.
    pub(super) fn compute_by(&self, values: &BufferValues, sum: Option<SumArithmetic>) -> Vec<f64> {
        let Some(SumArithmetic { rounding: sum, kept }) = sum else { return self.compute(values) };
        let (b_row, b_column) = if self.transpose_b { (1, self.inner) } else { (self.columns, 1) };
        let terms: Vec<usize> = (0..self.inner).filter(|k| kept.keeps(*k, self.inner)).collect();
        let element = |at: usize| {
            let (row, column) = (at / self.columns, at % self.columns);
            let product =
                |k: &usize| values[self.a][row * self.inner + k] * values[self.b][k * b_row + column * b_column];
            let total = terms.iter().fold(0.0, |total, k| sum.of(total + product(k)));
            let carried = self.c_in.filter(|_| self.beta != 0.0).map_or(0.0, |c_in| self.beta * values[c_in][at]);
            self.alpha * total + carried
        };
        (0..self.rows * self.columns).into_par_iter().map(element).collect()
    }
}
