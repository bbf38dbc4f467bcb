//! References over the last axis: softmax, reductions, and the identity for copies.

use super::error::ReferenceError;
use super::fit::{BufferValues, Fit};
use ncugate_array::arithmetic::{SoftmaxArithmetic, SumArithmetic};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReduceOp {
    Sum,
    Max,
    Min,
    Mean,
}

/// Softmax over the last axis of `x`; `y` has the same extents.
#[derive(Debug, Clone, PartialEq)]
pub struct Softmax {
    pub(in crate::prove) x: usize,
    pub(super) y: usize,
    pub(in crate::prove) width: usize,
}

impl Softmax {
    pub(super) fn bind(fit: &Fit<'_>) -> Result<Self, ReferenceError> {
        let [x] = fit.inputs(["x"], &[])?;
        let y = fit.output("y")?;
        fit.expect(y, &fit.buffer(x).extents)?;
        Ok(Self { x, y, width: last_axis(fit, x) })
    }

    pub(super) fn compute_by(&self, values: &BufferValues, arithmetic: &SoftmaxArithmetic) -> Vec<f64> {
        let mut y = vec![0.0; values[self.x].len()];
        y.par_chunks_mut(self.width).zip(values[self.x].par_chunks(self.width)).for_each(|(row, x)| {
            row.copy_from_slice(x);
            let total = arithmetic.soften(row);
            row.iter_mut().for_each(|v| *v /= total);
        });
        y
    }
}

/// A reduction over the last axis of `x`; `y` omits that axis, or has extent 1 there.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduce {
    x: usize,
    pub(super) y: usize,
    width: usize,
    op: ReduceOp,
}

impl Reduce {
    pub(super) fn bind(fit: &Fit<'_>, op: ReduceOp) -> Result<Self, ReferenceError> {
        let [x] = fit.inputs(["x"], &[])?;
        let y = fit.output("y")?;
        let extents = &fit.buffer(x).extents;
        let mut kept = extents.clone();
        kept.truncate(extents.len() - 1);
        let mut flat = kept.clone();
        flat.push(1);
        if fit.buffer(y).compared_extents() != flat {
            fit.expect(y, &kept)?;
        }
        Ok(Self { x, y, width: last_axis(fit, x), op })
    }

    /// Over the kept columns, with sums rounded after every term.
    pub(super) fn compute_by(&self, values: &BufferValues, sum: Option<SumArithmetic>) -> Vec<f64> {
        let of_row = |row: &[f64]| {
            let Some(SumArithmetic { rounding: sum, kept }) = sum else { return reduced(self.op, row) };
            let columns = row.iter().enumerate().filter(|(at, _)| kept.keeps(*at, row.len())).map(|(_, v)| *v);
            match self.op {
                ReduceOp::Sum => columns.fold(0.0, |total, v| sum.of(total + v)),
                ReduceOp::Mean => columns.fold(0.0, |total, v| sum.of(total + v)) / row.len() as f64,
                ReduceOp::Max | ReduceOp::Min => reduced(self.op, &columns.collect::<Vec<_>>()),
            }
        };
        values[self.x].par_chunks(self.width).map(of_row).collect()
    }
}

fn reduced(op: ReduceOp, row: &[f64]) -> f64 {
    match op {
        ReduceOp::Sum => row.iter().sum(),
        ReduceOp::Mean => row.iter().sum::<f64>() / row.len() as f64,
        ReduceOp::Max => row.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ReduceOp::Min => row.iter().copied().fold(f64::INFINITY, f64::min),
    }
}

/// `y` is `x`.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    pub(super) x: usize,
    pub(super) y: usize,
}

impl Identity {
    pub(super) fn bind(fit: &Fit<'_>) -> Result<Self, ReferenceError> {
        let [x] = fit.inputs(["x"], &[])?;
        let y = fit.output("y")?;
        fit.expect(y, &fit.buffer(x).extents)?;
        Ok(Self { x, y })
    }
}

fn last_axis(fit: &Fit<'_>, index: usize) -> usize {
    fit.buffer(index).extents.last().copied().unwrap_or(1)
}
