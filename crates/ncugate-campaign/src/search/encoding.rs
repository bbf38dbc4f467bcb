//! Encodes points of a space as numbers that a model can split.

use ncugate_model::expr::Value;
use ncugate_phase::plan::Point;

/// The scale of an axis: determines which values a tree split may separate.
#[derive(Debug, Clone, PartialEq)]
pub enum AxisScale {
    /// Values with an order and a size.
    Ordered {
        /// Base-2 logarithm of each value if all are positive, else the value itself.
        codes: Vec<f32>,
        /// Base-2 logarithm of each value's odd part, 0 for powers of two; `None` if all values are powers of two, or
        /// one is not a positive whole number.
        odd: Option<Vec<f32>>,
    },
    /// Unordered values, with their number.
    Categorical(usize),
}

impl AxisScale {
    /// The scale of numbers in the order of the axis.
    pub fn of_numbers(values: &[f64]) -> Self {
        let positive = values.iter().all(|value| *value > 0.0);
        let code = |value: &f64| if positive { value.log2() as f32 } else { *value as f32 };
        Self::Ordered { codes: values.iter().map(code).collect(), odd: odd_parts(values) }
    }

    /// The scale of an axis: numbers are ordered unless declared categorical; so are false and true.
    pub fn of_values(values: &[Value], is_categorical: bool) -> Self {
        match values.iter().map(Value::number).collect::<Option<Vec<f64>>>() {
            Some(numbers) if !is_categorical => Self::of_numbers(&numbers),
            Some(_) | None => Self::Categorical(values.len()),
        }
    }

    pub const fn len(&self) -> usize {
        match self {
            Self::Ordered { codes, .. } => codes.len(),
            Self::Categorical(values) => *values,
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Logarithms of the odd parts, if they are informative.
    fn odd(&self) -> Option<&[f32]> {
        match self {
            Self::Ordered { odd, .. } => odd.as_deref(),
            Self::Categorical(_) => None,
        }
    }

    /// Whether products and ratios with it are informative: it is ordered and has more than two values.
    const fn is_size(&self) -> bool {
        match self {
            Self::Ordered { codes, .. } => codes.len() > 2,
            Self::Categorical(_) => false,
        }
    }
}

/// Maps points to rows of features.
#[derive(Debug, Clone)]
pub struct Encoding {
    scales: Vec<AxisScale>,
    /// Axis pairs whose sum and difference are features: products and ratios of the values.
    pairs: Vec<(usize, usize)>,
    /// Axes whose odd parts are features.
    odd: Vec<usize>,
}

impl Encoding {
    /// Builds features of single axes and of pairs of ordered axes: a product or ratio of two tile sizes decides
    /// occupancy and reuse more often than either alone. Odd parts mark the sizes that are powers of two: those
    /// divide warps, banks and most problem sizes, which the size alone does not show.
    pub fn new(scales: Vec<AxisScale>) -> Self {
        let wide: Vec<usize> = (0..scales.len()).filter(|axis| scales[*axis].is_size()).collect();
        let pairs = wide.iter().enumerate().flat_map(|(at, a)| wide[at + 1..].iter().map(|b| (*a, *b))).collect();
        let odd = wide.into_iter().filter(|axis| scales[*axis].odd().is_some()).collect();
        Self { scales, pairs, odd }
    }

    /// Number of features of a point.
    pub fn width(&self) -> usize {
        self.scales.len() + 2 * self.pairs.len() + self.odd.len()
    }

    /// The features of a point.
    pub fn row(&self, point: &Point) -> Vec<f32> {
        let mut row: Vec<f32> = self.scales.iter().zip(&point.0).map(|(scale, at)| code(scale, *at)).collect();
        for (a, b) in &self.pairs {
            let (a, b) = (row[*a], row[*b]);
            row.push(a + b);
            row.push(a - b);
        }
        let odd = |axis: &usize| self.scales[*axis].odd()?.get(*point.0.get(*axis)? as usize).copied();
        row.extend(self.odd.iter().map(|axis| odd(axis).unwrap_or(f32::NAN)));
        row
    }

    /// The axes that a feature is made of.
    pub fn axes_of(&self, feature: usize) -> Vec<usize> {
        let Some(beside) = feature.checked_sub(self.scales.len()) else { return vec![feature] };
        match self.pairs.get(beside / 2) {
            Some((a, b)) => vec![*a, *b],
            None => self.odd.get(beside - 2 * self.pairs.len()).map_or(Vec::new(), |axis| vec![*axis]),
        }
    }

    /// The scale of each axis.
    pub fn scales(&self) -> &[AxisScale] {
        &self.scales
    }
}

/// Base-2 logarithm of each value's odd part: 0 for 32, 1.58 for 48.
fn odd_parts(values: &[f64]) -> Option<Vec<f32>> {
    let part = |value: &f64| {
        let whole = *value >= 1.0 && *value <= f64::from(u32::MAX) && value.fract() == 0.0;
        whole.then_some(*value as u32).map(|number| (f64::from(number >> number.trailing_zeros())).log2() as f32)
    };
    let parts: Vec<f32> = values.iter().map(part).collect::<Option<_>>()?;
    parts.iter().any(|part| *part > 0.0).then_some(parts)
}

fn code(scale: &AxisScale, at: u32) -> f32 {
    match scale {
        AxisScale::Ordered { codes, .. } => codes.get(at as usize).copied().unwrap_or(f32::NAN),
        AxisScale::Categorical(_) => at as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_logarithms_with_sums_and_differences_of_sizes() {
        let encoding = Encoding::new(vec![
            AxisScale::of_numbers(&[16.0, 32.0, 64.0]),
            AxisScale::of_numbers(&[0.0, 1.0]),
            AxisScale::of_numbers(&[1.0, 2.0, 4.0]),
            AxisScale::Categorical(3),
        ]);
        assert_eq!(encoding.row(&Point(vec![2, 1, 1, 2])), [6.0, 1.0, 1.0, 2.0, 7.0, 5.0]);
        assert_eq!(encoding.axes_of(5), [0, 2]);
        assert_eq!(encoding.axes_of(3), [3]);
    }

    #[test]
    fn odd_parts_tell_powers_of_two_from_other_sizes() {
        let encoding = Encoding::new(vec![
            AxisScale::of_numbers(&[16.0, 32.0, 64.0]),
            AxisScale::of_numbers(&[32.0, 48.0, 64.0]),
            AxisScale::of_numbers(&[0.5, 3.0, 4.0]),
        ]);
        let odd = |at| encoding.row(&Point(vec![0, at, 0]))[9];
        assert_eq!((encoding.width(), encoding.axes_of(9)), (10, vec![1]));
        assert_eq!([odd(0), odd(1), odd(2)], [0.0, 3.0_f32.log2(), 0.0]);
    }
}
