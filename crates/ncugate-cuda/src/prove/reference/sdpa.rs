//! Scaled dot-product attention: `o = softmax(scale * q k^T) v` for every batch and head.

use super::arithmetic::SoftmaxArithmetic;
use super::error::ReferenceError;
use super::fit::{BufferValues, Fit};
use ncugate_array::dense::{Matrix, add_scaled, dot, multiply};
use rayon::prelude::*;

/// Query rows computed by one task.
const ROWS: usize = 32;

/// Attention fitted to a shape: `q` is `[B, H, S, D]`, `k` `[B, H, T, D]`, `v` `[B, H, T, E]`, `o` `[B, H, S, E]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Sdpa {
    pub(in crate::prove) q: usize,
    pub(in crate::prove) k: usize,
    pub(in crate::prove) v: usize,
    pub(super) o: usize,
    k_scale: Option<usize>,
    v_scale: Option<usize>,
    pub(in crate::prove) queries: usize,
    pub(in crate::prove) keys: usize,
    pub(in crate::prove) depth: usize,
    pub(in crate::prove) value_depth: usize,
    pub(in crate::prove) scale: f64,
    causal: bool,
}

impl Sdpa {
    /// The scale is the scalar `scale`, else `1 / sqrt(D)`; `k_scale` and `v_scale` of `[B * H]` multiply keys and
    /// values.
    pub(super) fn bind(fit: &Fit<'_>, causal: bool) -> Result<Self, ReferenceError> {
        const LAYOUT: &str = "[B, H, S, D]";
        let [q, k, v] = fit.inputs(["q", "k", "v"], &["k_scale", "v_scale"])?;
        let o = fit.output("o")?;
        let [batch, heads, queries, depth] = fit.axes(q, LAYOUT)?;
        let [_, _, keys, _] = fit.axes(k, LAYOUT)?;
        let [_, _, _, value_depth] = fit.axes(v, LAYOUT)?;
        fit.expect(k, &[batch, heads, keys, depth])?;
        fit.expect(v, &[batch, heads, keys, value_depth])?;
        fit.expect(o, &[batch, heads, queries, value_depth])?;
        if causal && queries != keys {
            return Err(
                fit.wrong(format!("causal = true needs equal numbers of queries and keys, not {queries} and {keys}"))
            );
        }
        let (k_scale, v_scale) = (fit.optional("k_scale"), fit.optional("v_scale"));
        for scale in [k_scale, v_scale].into_iter().flatten() {
            fit.expect(scale, &[batch * heads])?;
        }
        let scale = fit.scalar("scale")?.unwrap_or_else(|| 1.0 / (depth as f64).sqrt());
        Ok(Self { q, k, v, o, k_scale, v_scale, queries, keys, depth, value_depth, scale, causal })
    }

    pub(super) fn compute(&self, values: &BufferValues) -> Vec<f64> {
        self.compute_by(values, &SoftmaxArithmetic::default())
    }

    /// The same with another arithmetic.
    pub(in crate::prove) fn compute_by(&self, values: &BufferValues, arithmetic: &SoftmaxArithmetic) -> Vec<f64> {
        let heads = values[self.q].len() / (self.queries * self.depth);
        let mut output = vec![0.0; heads * self.queries * self.value_depth];
        output.par_chunks_mut(self.queries * self.value_depth).enumerate().for_each(|(head, output)| {
            output.par_chunks_mut(ROWS * self.value_depth).enumerate().for_each(|(block, output)| {
                self.rows(values, (head, block * ROWS), arithmetic, output);
            });
        });
        output
    }

    /// Rows of one head from `first` on, as many as `output` has room for.
    fn rows(
        &self,
        values: &BufferValues,
        (head, first): (usize, usize),
        arithmetic: &SoftmaxArithmetic,
        output: &mut [f64],
    ) {
        let of_head = |buffer: usize, row: usize| &values[buffer][head * row..][..row];
        let q = of_head(self.q, self.queries * self.depth);
        let k = of_head(self.k, self.keys * self.depth);
        let v = of_head(self.v, self.keys * self.value_depth);
        let factor = |buffer: Option<usize>| buffer.map_or(1.0, |b| values[b][head]);
        let (scale, v_scale) = (self.scale * factor(self.k_scale), factor(self.v_scale));
        if *arithmetic == SoftmaxArithmetic::default() && v.iter().all(|v| v.is_finite()) {
            let seen = |row: usize| if self.causal { first + row + 1 } else { self.keys };
            let q = &q[first * self.depth..];
            return self.block((q, k, v), (scale, v_scale), seen, output);
        }
        let mut weights = Vec::with_capacity(self.keys);
        for (row, output) in output.chunks_exact_mut(self.value_depth).enumerate() {
            let row = first + row;
            let query = &q[row * self.depth..][..self.depth];
            let seen = if self.causal { row + 1 } else { self.keys };
            weights.clear();
            weights.extend(k.chunks_exact(self.depth).take(seen).map(|key| scale * dot(query, key)));
            let total = arithmetic.soften(&mut weights);
            for (weight, value) in weights.iter().zip(v.chunks_exact(self.value_depth)) {
                add_scaled(output, weight / total * v_scale, value);
            }
        }
    }

    /// The same in exact arithmetic, by matrix products: masked keys have a weight of 0, which is right for finite
    /// values.
    fn block(
        &self,
        (q, k, v): (&[f64], &[f64], &[f64]),
        (scale, v_scale): (f64, f64),
        seen: impl Fn(usize) -> usize,
        output: &mut [f64],
    ) {
        let rows = output.len() / self.value_depth;
        let keys = seen(rows - 1);
        let mut weights = vec![0.0; rows * keys];
        let k = Matrix::new(k, keys, self.depth).transposed();
        multiply(scale, Matrix::new(q, rows, self.depth), k, &mut weights);
        for (row, weights) in weights.chunks_exact_mut(keys).enumerate() {
            let (own, others) = weights.split_at_mut(seen(row));
            let total = SoftmaxArithmetic::default().soften(own);
            own.iter_mut().for_each(|weight| *weight /= total);
            others.fill(0.0);
        }
        multiply(v_scale, Matrix::new(&weights, rows, keys), Matrix::new(v, keys, self.value_depth), output);
    }
}
