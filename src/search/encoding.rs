//! The scales that turn a point of a space into numbers that a model can split.

use crate::expr::Value;
use crate::plan::Point;

/// How the values of an axis lie: what a split of a tree may separate.
#[derive(Debug, Clone, PartialEq)]
pub enum AxisScale {
    /// Values with an order and a size: the logarithm to base 2 of each, where all are positive, else the number itself.
    Ordered(Vec<f32>),
    /// Values without one: so many of them.
    Categorical(usize),
}

impl AxisScale {
    /// The scale of numbers in the order of the axis.
    pub fn of_numbers(values: &[f64]) -> Self {
        let positive = values.iter().all(|value| *value > 0.0);
        #[expect(clippy::cast_possible_truncation, reason = "a feature of a model, which needs no more digits")]
        let code = |value: &f64| if positive { value.log2() as f32 } else { *value as f32 };
        Self::Ordered(values.iter().map(code).collect())
    }

    /// The scale of an axis: numbers have an order unless they are said to be names, and so have false and true.
    pub fn of_values(values: &[Value], is_categorical: bool) -> Self {
        match values.iter().map(Value::number).collect::<Option<Vec<f64>>>() {
            Some(numbers) if !is_categorical => Self::of_numbers(&numbers),
            Some(_) | None => Self::Categorical(values.len()),
        }
    }

    /// How many values the axis has.
    pub const fn len(&self) -> usize {
        match self {
            Self::Ordered(codes) => codes.len(),
            Self::Categorical(values) => *values,
        }
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether products and ratios with it say more than it alone: it has an order, and is more than a switch.
    const fn is_size(&self) -> bool {
        match self {
            Self::Ordered(codes) => codes.len() > 2,
            Self::Categorical(_) => false,
        }
    }
}

/// From points to rows of features.
#[derive(Debug, Clone)]
pub struct Encoding {
    scales: Vec<AxisScale>,
    /// Axes whose sum and difference are features too: products and ratios of what they stand for.
    pairs: Vec<(usize, usize)>,
}

impl Encoding {
    /// Features of the axes alone, and of pairs of ordered ones: a tile times a tile, or a ratio of two, is what decides
    /// occupancy and reuse more often than either alone.
    pub fn new(scales: Vec<AxisScale>) -> Self {
        let wide: Vec<usize> = (0..scales.len()).filter(|axis| scales[*axis].is_size()).collect();
        let pairs = wide.iter().enumerate().flat_map(|(at, a)| wide[at + 1..].iter().map(|b| (*a, *b))).collect();
        Self { scales, pairs }
    }

    /// How many features a point has.
    pub fn width(&self) -> usize {
        self.scales.len() + 2 * self.pairs.len()
    }

    /// The features of a point.
    pub fn row(&self, point: &Point) -> Vec<f32> {
        let mut row: Vec<f32> = self.scales.iter().zip(&point.0).map(|(scale, at)| code(scale, *at)).collect();
        for (a, b) in &self.pairs {
            let (a, b) = (row[*a], row[*b]);
            row.push(a + b);
            row.push(a - b);
        }
        row
    }

    /// The axes that a feature is made of.
    pub fn axes_of(&self, feature: usize) -> Vec<usize> {
        match feature.checked_sub(self.scales.len()).and_then(|pair| self.pairs.get(pair / 2)) {
            Some((a, b)) => vec![*a, *b],
            None => vec![feature],
        }
    }

    /// How the values of each axis lie.
    pub fn scales(&self) -> &[AxisScale] {
        &self.scales
    }
}

fn code(scale: &AxisScale, at: u16) -> f32 {
    match scale {
        AxisScale::Ordered(codes) => codes.get(usize::from(at)).copied().unwrap_or(f32::NAN),
        AxisScale::Categorical(_) => f32::from(at),
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
}
