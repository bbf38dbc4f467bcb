//! Dense algebra in float64: matrix products by `matrixmultiply` (blocked, with the vector instructions of the
//! processor), and sums that the compiler vectorises.

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
        debug_assert!(values.len() >= rows * columns);
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
    const fn is_whole(&self) -> bool {
        self.values.len() >= self.rows * self.columns
    }
}

/// `c = alpha * a b`, row-major, on this thread. Does nothing if the extents do not fit.
pub fn multiply(alpha: f64, a: Matrix<'_>, b: Matrix<'_>, c: &mut [f64]) {
    let (rows, inner, columns) = (a.rows, a.columns, b.columns);
    let fits = b.rows == inner && c.len() >= rows * columns && a.is_whole() && b.is_whole();
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

#[cfg(test)]
mod tests {
    use super::*;

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
