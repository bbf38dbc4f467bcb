//! Scaled dot-product attention: `o = softmax(scale * q k^T) v` for every batch and head.

use super::error::ReferenceError;
use super::fit::{BufferValues, Fit};
use crate::gpu::{AttentionExtents, AttentionKernels, CudaDevice};
use ncugate_array::arithmetic::SoftmaxArithmetic;
use ncugate_array::dense::{Matrix, add_scaled, dot, multiply};
use rayon::prelude::*;

/// Query rows computed by one task: a product copies its right matrix into another order first, once for these rows.
const ROWS: usize = 128;
/// Blocks of rows that the host computes too if the device computes all.
const COMPARED_BLOCKS: usize = 16;
/// Largest difference between host and device, relative to the largest output: both round in float64.
const AGREEMENT: f64 = 1e-11;

/// Attention fitted to a shape: `q` is `[B, H, S, D]`, `k` `[B, H, T, D]`, `v` `[B, H, T, E]`, `o` `[B, H, S, E]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Sdpa {
    pub(in crate::prove) q: usize,
    pub(in crate::prove) k: usize,
    pub(in crate::prove) v: usize,
    pub(in crate::prove) o: usize,
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

    /// The output, computed on the device; `None` if it fails there, inputs are not finite, or random blocks of rows differ from those that
    /// the host computes.
    pub(in crate::prove) fn compute_on_device(
        &self,
        (device, kernels): (&CudaDevice, &AttentionKernels),
        values: &BufferValues,
    ) -> Option<Vec<f64>> {
        let inputs = [self.q, self.k, self.v].map(|buffer| values[buffer].as_slice());
        let is_finite = |values: &[f64]| values.par_iter().all(|value| value.is_finite());
        if self.k_scale.or(self.v_scale).is_some() || !inputs.into_iter().all(is_finite) {
            return None;
        }
        let Self { queries, keys, depth, value_depth, scale, causal, .. } = *self;
        let heads = inputs[0].len() / (queries * depth);
        let extents = AttentionExtents { heads, queries, keys, depth, value_depth, scale, causal };
        let output = kernels.compute(device, &extents, inputs).ok()?;
        self.agrees(values, &output).then_some(output)
    }

    /// Whether random blocks of rows of an output are those that the host computes.
    fn agrees(&self, values: &BufferValues, output: &[f64]) -> bool {
        let largest = output.par_iter().map(|value| value.abs()).reduce(|| 0.0, f64::max);
        let blocks = self.queries.div_ceil(ROWS);
        let heads = output.len() / (self.queries * self.value_depth);
        let drawn: Result<Vec<u64>, _> = (0..COMPARED_BLOCKS).map(|_| getrandom::u64()).collect();
        let is_equal = |number: u64| {
            let at = (number % (heads * blocks) as u64) as usize;
            let (head, first) = (at / blocks, at % blocks * ROWS);
            let rows = ROWS.min(self.queries - first);
            let own = &output[(head * self.queries + first) * self.value_depth..][..rows * self.value_depth];
            let mut right = vec![0.0; own.len()];
            self.block(values, (head, first), &mut Vec::new(), &mut right);
            own.iter().zip(&right).all(|(own, right)| (own - right).abs() <= AGREEMENT * largest)
        };
        // An infinite answer would be a bound for nothing, and NaN is beyond every bound.
        largest.is_finite() && drawn.is_ok_and(|drawn| drawn.into_par_iter().all(is_equal))
    }

    pub(super) fn compute_by(&self, values: &BufferValues, arithmetic: &SoftmaxArithmetic) -> Vec<f64> {
        let heads = values[self.q].len() / (self.queries * self.depth);
        let mut output = vec![0.0; heads * self.queries * self.value_depth];
        let v = values[self.v].par_chunks(self.keys * self.value_depth);
        let finite: Vec<bool> = v.map(|head| head.iter().all(|value| value.is_finite())).collect();
        let heads = output.chunks_mut(self.queries * self.value_depth).enumerate();
        let blocks = heads.flat_map(|(head, output)| {
            let blocks = output.chunks_mut(ROWS * self.value_depth).enumerate();
            blocks.map(move |(block, output)| ((head, block * ROWS), output))
        });
        let blocks: Vec<_> = blocks.collect();
        // Each thread keeps the memory of its weights.
        blocks.into_par_iter().for_each_init(Vec::new, |weights, ((head, first), output)| {
            match *arithmetic == SoftmaxArithmetic::default() && finite[head] {
                true => self.block(values, (head, first), weights, output),
                false => self.rows(values, (head, first), arithmetic, output),
            }
        });
        output
    }

    /// Queries, keys and values of a head, and the factors of its scores and of its output.
    fn head<'v>(&self, values: &'v BufferValues, head: usize) -> ([&'v [f64]; 3], [f64; 2]) {
        let of_head = |buffer: usize, elements: usize| &values[buffer][head * elements..][..elements];
        let q = of_head(self.q, self.queries * self.depth);
        let k = of_head(self.k, self.keys * self.depth);
        let v = of_head(self.v, self.keys * self.value_depth);
        let factor = |buffer: Option<usize>| buffer.map_or(1.0, |b| values[b][head]);
        ([q, k, v], [self.scale * factor(self.k_scale), factor(self.v_scale)])
    }

    /// The keys that a row sees.
    const fn seen(&self, row: usize) -> usize {
        if self.causal { row + 1 } else { self.keys }
    }

    /// Rows of one head from `first` on, as many as `output` has room for.
    fn rows(
        &self,
        values: &BufferValues,
        (head, first): (usize, usize),
        arithmetic: &SoftmaxArithmetic,
        output: &mut [f64],
    ) {
        let ([q, k, v], [scale, v_scale]) = self.head(values, head);
        let mut weights = Vec::with_capacity(self.keys);
        for (row, output) in output.chunks_exact_mut(self.value_depth).enumerate() {
            let row = first + row;
            let query = &q[row * self.depth..][..self.depth];
            weights.clear();
            weights.extend(k.chunks_exact(self.depth).take(self.seen(row)).map(|key| scale * dot(query, key)));
            let total = arithmetic.soften(&mut weights);
            for (weight, value) in weights.iter().zip(v.chunks_exact(self.value_depth)) {
                add_scaled(output, weight / total * v_scale, value);
            }
        }
    }

    /// The same in exact arithmetic, by matrix products: masked keys have a weight of 0, which is right for finite
    /// values.
    fn block(&self, values: &BufferValues, (head, first): (usize, usize), weights: &mut Vec<f64>, output: &mut [f64]) {
        let ([q, k, v], [scale, v_scale]) = self.head(values, head);
        let rows = output.len() / self.value_depth;
        let keys = self.seen(first + rows - 1);
        weights.resize(rows * keys, 0.0);
        let k = Matrix::new(k, keys, self.depth).transposed();
        multiply(scale, Matrix::new(&q[first * self.depth..], rows, self.depth), k, weights);
        let mut totals = Vec::with_capacity(rows);
        for (row, weights) in weights.chunks_exact_mut(keys).enumerate() {
            let (own, others) = weights.split_at_mut(self.seen(first + row));
            totals.push(SoftmaxArithmetic::default().soften(own));
            others.fill(0.0);
        }
        multiply(v_scale, Matrix::new(weights, rows, keys), Matrix::new(v, keys, self.value_depth), output);
        for (output, total) in output.chunks_exact_mut(self.value_depth).zip(totals) {
            output.iter_mut().for_each(|value| *value /= total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_of_the_device_is_taken_only_if_the_host_computes_the_same() {
        let sdpa = Sdpa {
            q: 0,
            k: 1,
            v: 2,
            o: 3,
            k_scale: None,
            v_scale: None,
            queries: 40,
            keys: 40,
            depth: 8,
            value_depth: 4,
            scale: 0.5,
            causal: true,
        };
        let drawn =
            |elements: usize| -> Vec<f64> { (0..elements).map(|at| (at * 37 % 101) as f64 / 50.0 - 1.0).collect() };
        let values = [drawn(40 * 8), drawn(40 * 8 + 1)[1..].to_vec(), drawn(40 * 4), Vec::new()];
        let right = sdpa.compute_by(&values, &SoftmaxArithmetic::default());
        assert!(sdpa.agrees(&values, &right));
        for wrong in [1e-9, f64::NAN, f64::INFINITY] {
            let mut output = right.clone();
            output[77] += wrong;
            assert!(!sdpa.agrees(&values, &output), "{wrong}");
        }
    }
}
