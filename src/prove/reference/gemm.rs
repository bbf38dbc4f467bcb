//! Matrix product: `c = alpha * a b + beta * c_in`.

use super::arithmetic::{Kept, Rounding};
use super::dense::{add_scaled, dot};
use super::error::ReferenceError;
use super::fit::{BufferValues, Fit};
use rayon::prelude::*;

/// Rows of `c` computed by one task.
const ROWS: usize = 16;
/// Columns of `c` that stay in cache while `b` streams by.
const COLUMNS: usize = 512;

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
    /// Scalars `alpha` and `beta` default to 1 and 0; a `beta` other than 0 needs the input `c_in`, or a `c` that is changed in
    /// place.
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
                "beta = {beta} needs an input 'c_in', or the role inout for the output, of extents {:?}",
                [rows, columns]
            )));
        }
        Ok(Self { a, b, c, c_in, rows, inner, columns, transpose_b, alpha, beta })
    }

    pub(super) fn compute(&self, values: &BufferValues) -> Vec<f64> {
        let mut c = vec![0.0; self.rows * self.columns];
        c.par_chunks_mut(ROWS * self.columns).enumerate().for_each(|(block, c)| {
            let a = &values[self.a][block * ROWS * self.inner..];
            if self.transpose_b {
                self.by_dots(a, &values[self.b], c);
            } else {
                self.by_rows(a, &values[self.b], c);
            }
            c.iter_mut().for_each(|c| *c *= self.alpha);
            if let Some(c_in) = self.c_in.filter(|_| self.beta != 0.0) {
                add_scaled(c, self.beta, &values[c_in][block * ROWS * self.columns..]);
            }
        });
        c
    }

    /// The same over the terms that are kept, one after another, with sums rounded after every term.
    pub(in crate::prove) fn compute_by(&self, values: &BufferValues, (sum, kept): (Rounding, Kept)) -> Vec<f64> {
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

    fn by_dots(&self, a: &[f64], b: &[f64], c: &mut [f64]) {
        for (column, b) in b.chunks_exact(self.inner).enumerate() {
            for (a, c) in a.chunks_exact(self.inner).zip(c.chunks_exact_mut(self.columns)) {
                c[column] = dot(a, b);
            }
        }
    }

    fn by_rows(&self, a: &[f64], b: &[f64], c: &mut [f64]) {
        for left in (0..self.columns).step_by(COLUMNS) {
            let right = (left + COLUMNS).min(self.columns);
            for (k, b) in b.chunks_exact(self.columns).enumerate() {
                for (a, c) in a.chunks_exact(self.inner).zip(c.chunks_exact_mut(self.columns)) {
                    add_scaled(&mut c[left..right], a[k], &b[left..right]);
                }
            }
        }
    }
}
