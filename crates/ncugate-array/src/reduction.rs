//! Reductions of arrays along some of their axes.

/// Combines the values along `axes` of an array of these extents with `start`; the last axis is the innermost.
pub fn reduce_axes(
    (values, extents): (&[f64], &[usize]),
    axes: &[bool],
    start: f64,
    combine: &dyn Fn(f64, f64) -> f64,
) -> Vec<f64> {
    let kept: usize = extents.iter().zip(axes).filter(|(_, varies)| !**varies).map(|(extent, _)| extent).product();
    let mut result = vec![start; kept];
    for (at, &value) in values.iter().enumerate() {
        let place = &mut result[place(at, extents, axes)];
        *place = combine(*place, value);
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
