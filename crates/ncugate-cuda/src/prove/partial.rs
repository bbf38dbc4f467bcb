//! Reduces partial results of a launch before they are compared.

use crate::gpu::{BufferSpec, VariantExtents};
use ncugate_array::element;
use ncugate_phase::config::Reduction;

/// The elements of a buffer that a launch of a variant writes.
pub fn own_elements(buffer: &BufferSpec, index: usize, extents: &VariantExtents) -> usize {
    extents.0.get(&index).map_or_else(|| buffer.elements(), |own| own.iter().product())
}

/// The values of a buffer for comparison: partial results are reduced over the axes that vary. `bytes` begin with the
/// elements that the variant writes; missing elements count as NaN.
pub fn compared(buffer: &BufferSpec, index: usize, extents: &VariantExtents, bytes: &[u8]) -> Vec<f64> {
    let count = own_elements(buffer, index, extents);
    let mut values = element::decode(buffer.dtype, bytes.get(..count * buffer.dtype.size()).unwrap_or(bytes));
    values.resize(count, f64::NAN);
    match (&buffer.partial, extents.0.get(&index)) {
        (Some(partial), Some(own)) => match partial.reduce {
            Some(reduce) => reduce_axes(&values, own, &partial.axes, reduce),
            None => values,
        },
        _ => values,
    }
}

/// Reduces the values along `axes` of an array; the last axis is the innermost.
fn reduce_axes(values: &[f64], extents: &[usize], axes: &[bool], reduce: Reduction) -> Vec<f64> {
    let kept: usize = extents.iter().zip(axes).filter(|(_, varies)| !**varies).map(|(extent, _)| extent).product();
    let start = match reduce {
        Reduction::Sum => 0.0,
        Reduction::Max => f64::NEG_INFINITY,
        Reduction::Min => f64::INFINITY,
    };
    let mut result = vec![start; kept];
    for (at, &value) in values.iter().enumerate() {
        let place = &mut result[place(at, extents, axes)];
        *place = match reduce {
            Reduction::Sum => *place + value,
            _ if value.is_nan() || place.is_nan() => f64::NAN,
            Reduction::Max => place.max(value),
            Reduction::Min => place.min(value),
        };
    }
    result
}

/// Index of an element among those of the kept axes.
fn place(mut at: usize, extents: &[usize], axes: &[bool]) -> usize {
    let (mut place, mut stride) = (0, 1);
    for (extent, varies) in extents.iter().zip(axes).rev() {
        if !varies {
            place += at % extent * stride;
            stride *= extent;
        }
        at /= extent;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::Dtype;
    use ncugate_model::Role;

    use crate::gpu::PartialBuffer;
    use crate::gpu::fixtures::buffer;

    fn partial(axes: &[bool], extents: &[usize], reduce: Reduction) -> BufferSpec {
        let mut buffer = buffer("y", Dtype::F32, extents, Role::Output);
        buffer.partial = Some(PartialBuffer { reduce: Some(reduce), axes: axes.to_vec(), elements: 12 });
        buffer
    }

    fn values(buffer: &BufferSpec, own: &[usize], values: &[f64]) -> Vec<f64> {
        let extents = VariantExtents([(3, own.to_vec())].into());
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
    fn a_buffer_that_is_alike_in_all_variants_is_compared_as_it_is() {
        let plain = buffer("y", Dtype::F32, &[3], Role::Output);
        let bytes = element::encode(Dtype::F32, &[1.0, 2.0, 3.0]);
        assert_eq!(compared(&plain, 0, &VariantExtents::default(), &bytes), [1.0, 2.0, 3.0]);
    }
}
