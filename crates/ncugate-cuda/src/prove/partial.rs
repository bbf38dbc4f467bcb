//! The values of an output that are compared: partial results are reduced, a part is cut out, rows are sorted.

use super::draw::as_held;
use crate::gpu::{BufferSpec, VariantExtents};
use ncugate_array::element;
use ncugate_array::reduction::reduce_axes;
use ncugate_phase::config::Reduction;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::ops::Range;

/// The elements of a buffer that a launch of a variant writes.
pub fn own_elements(buffer: &BufferSpec, index: usize, extents: &VariantExtents) -> usize {
    extents.buffers.get(&index).map_or_else(|| buffer.elements(), |own| own.iter().product())
}

/// The elements of a buffer that count in a launch of a variant, in ascending runs.
pub fn counted(buffer: &BufferSpec, index: usize, extents: &VariantExtents) -> Vec<Range<usize>> {
    if buffer.part.is_empty() {
        return std::iter::once(0..own_elements(buffer, index, extents)).collect();
    }
    // Axes that count as a whole belong to the runs of the axis around them.
    let axes = || buffer.part.iter().zip(&buffer.extents);
    let whole = axes().rev().take_while(|(range, extent)| range.len() == **extent).count();
    let split = (buffer.part.len() - whole).saturating_sub(1);
    let inner: usize = buffer.extents[split + 1..].iter().product();
    let mut starts = vec![0];
    for (range, extent) in axes().take(split) {
        starts = starts.iter().flat_map(|start| range.clone().map(move |at| start * extent + at)).collect();
    }
    let (range, extent) = (&buffer.part[split], buffer.extents[split]);
    let run = |start: &usize| (start * extent + range.start) * inner..(start * extent + range.end) * inner;
    starts.iter().map(run).collect()
}

/// Sorts the rows of values that can be in any order; they are compared as the dtype holds them.
pub fn sort_rows(buffer: &BufferSpec, values: &mut Vec<f64>) {
    if buffer.order.is_default() {
        return;
    }
    let width = buffer.compared_extents().iter().skip(1).product::<usize>().max(1);
    let held = as_held(buffer.dtype, values);
    let order = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
    let row = |at: usize| &held[at * width..((at + 1) * width).min(held.len())];
    let mut rows: Vec<usize> = (0..values.len().div_ceil(width)).collect();
    rows.par_sort_by(|&a, &b| {
        let unlike = row(a).iter().zip(row(b)).map(|(&a, &b)| order(a, b)).find(|order| order.is_ne());
        unlike.unwrap_or(Ordering::Equal)
    });
    let sorted = rows.iter().flat_map(|&at| &values[at * width..((at + 1) * width).min(values.len())]);
    *values = sorted.copied().collect();
}

/// Values as the dtype of a buffer holds them; those that are reduced from partial results are not rounded.
pub fn held(buffer: &BufferSpec, values: &[f64]) -> Vec<f64> {
    if buffer.partial.is_some() { values.to_vec() } else { as_held(buffer.dtype, values) }
}

/// The values of a buffer for comparison. `bytes` begin with the elements that the variant writes; missing elements count as
/// NaN.
pub fn compared(buffer: &BufferSpec, index: usize, extents: &VariantExtents, bytes: &[u8]) -> Vec<f64> {
    let count = own_elements(buffer, index, extents);
    let mut values = element::decode(buffer.dtype, bytes.get(..count * buffer.dtype.size()).unwrap_or(bytes));
    values.resize(count, f64::NAN);
    if let (Some(partial), Some(own)) = (&buffer.partial, extents.buffers.get(&index))
        && let Some(reduce) = partial.reduce
    {
        let of_numbers = |combine: fn(f64, f64) -> f64| {
            move |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { combine(a, b) }
        };
        let reduced =
            |start, combine: &dyn Fn(f64, f64) -> f64| reduce_axes((&values, own), &partial.axes, start, combine);
        return match reduce {
            Reduction::Sum => reduced(0.0, &|a, b| a + b),
            Reduction::Max => reduced(f64::NEG_INFINITY, &of_numbers(f64::max)),
            Reduction::Min => reduced(f64::INFINITY, &of_numbers(f64::min)),
        };
    }
    compared_values(buffer, values)
}

/// The values for comparison, from those of all elements of a buffer that is alike in all variants.
pub fn compared_values(buffer: &BufferSpec, mut values: Vec<f64>) -> Vec<f64> {
    if !buffer.part.is_empty() {
        let runs = counted(buffer, 0, &VariantExtents::default());
        values = runs.into_iter().flat_map(|run| values[run].to_vec()).collect();
    }
    sort_rows(buffer, &mut values);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::Dtype;
    use ncugate_model::Role;

    use crate::gpu::PartialBuffer;
    use crate::gpu::fixtures::buffer;
    use ncugate_phase::config::RowOrder;

    fn partial(axes: &[bool], extents: &[usize], reduce: Reduction) -> BufferSpec {
        let mut buffer = buffer("y", Dtype::F32, extents, Role::Output);
        buffer.partial = Some(PartialBuffer { reduce: Some(reduce), axes: axes.to_vec(), elements: 12 });
        buffer
    }

    fn values(buffer: &BufferSpec, own: &[usize], values: &[f64]) -> Vec<f64> {
        let extents = VariantExtents { buffers: [(3, own.to_vec())].into(), answer: 0 };
        compared(buffer, 3, &extents, &element::encode(Dtype::F32, values))
    }

    #[test]
    fn values_along_varying_axes_are_put_together() {
        let sum = partial(&[false, true], &[2], Reduction::Sum);
        assert_eq!(values(&sum, &[2, 3], &[1.0, 2.0, 3.0, 10.0, 20.0, 30.0, 99.0, 99.0]), [6.0, 60.0]);
        let outer = partial(&[true, false], &[2], Reduction::Max);
        assert_eq!(values(&outer, &[3, 2], &[1.0, 20.0, 3.0, 10.0, 2.0, 30.0]), [3.0, 30.0]);
        let all = partial(&[true], &[], Reduction::Min);
        assert_eq!(values(&all, &[4], &[4.0, 2.0, 3.0, 9.0]), [2.0]);
    }

    #[test]
    fn what_is_missing_or_not_a_number_shows() {
        for reduce in [Reduction::Sum, Reduction::Max, Reduction::Min] {
            let buffer = partial(&[true], &[], reduce);
            assert!(values(&buffer, &[3], &[1.0, f64::NAN, 2.0])[0].is_nan(), "{reduce:?}");
            assert!(values(&buffer, &[3], &[1.0, 2.0])[0].is_nan(), "{reduce:?}");
        }
    }

    #[test]
    fn only_the_part_that_counts_is_compared() {
        let cut = |extents: &[usize], part: &[Range<usize>]| {
            let mut buffer = buffer("y", Dtype::F32, extents, Role::Output);
            buffer.part = part.to_vec();
            let all: Vec<f64> = (0..buffer.elements()).map(|at| at as f64).collect();
            let values = compared(&buffer, 0, &VariantExtents::default(), &element::encode(Dtype::F32, &all));
            let runs = counted(&buffer, 0, &VariantExtents::default());
            assert_eq!(runs.iter().cloned().flatten().map(|at| at as f64).collect::<Vec<_>>(), values);
            assert_eq!(values.len(), buffer.compared_elements());
            (values, runs.len())
        };
        assert_eq!(cut(&[9], std::slice::from_ref(&(0..1))), (vec![0.0], 1));
        assert_eq!(cut(&[3, 4], &[0..2, 1..3]), (vec![1.0, 2.0, 5.0, 6.0], 2));
        assert_eq!(cut(&[3, 2], &[1..3, 0..2]), (vec![2.0, 3.0, 4.0, 5.0], 1));
        assert_eq!(cut(&[2, 2, 2], &[0..2, 1..2, 0..2]), (vec![2.0, 3.0, 6.0, 7.0], 2));
        assert_eq!(cut(&[2, 2], &[0..2, 0..2]).1, 1);
    }

    #[test]
    fn rows_in_any_order_are_sorted_whole_and_nan_stays() {
        let mut buffer = buffer("y", Dtype::F16, &[3, 2], Role::Output);
        buffer.order = RowOrder::Any;
        let sorted = |values: &[f64]| {
            let mut values = values.to_vec();
            sort_rows(&buffer, &mut values);
            values
        };
        assert_eq!(sorted(&[2.0, 9.0, 1.0, 8.0, 1.0, 7.0]), [1.0, 7.0, 1.0, 8.0, 2.0, 9.0]);
        let nan = sorted(&[f64::NAN, 1.0, -0.0, 5.0, 0.0, 4.0]);
        assert_eq!(&nan[..4], [0.0, 4.0, -0.0, 5.0]);
        assert!(nan[4].is_nan());
        // Keys that are equal in the output's type do not decide.
        assert_eq!(sorted(&[1.0001, 2.0, 1.0, 3.0, 0.0, 0.0]), [0.0, 0.0, 1.0001, 2.0, 1.0, 3.0]);
    }

    #[test]
    fn a_buffer_that_is_alike_in_all_variants_is_compared_as_it_is() {
        let plain = buffer("y", Dtype::F32, &[3], Role::Output);
        let bytes = element::encode(Dtype::F32, &[1.0, 2.0, 3.0]);
        assert_eq!(compared(&plain, 0, &VariantExtents::default(), &bytes), [1.0, 2.0, 3.0]);
    }
}
