//! The largest tolerance that rejects wrong answers which the phase's tolerance accepts.

use super::shape::ShapeSpec;
use ncugate_model::{AllClose, Tolerance};

/// Smallest factor that is tried.
const LEAST: f64 = 1e-18;
/// Number of halvings of the factor's exponent: the last one decides on less than 1 %.
const HALVINGS: u32 = 13;

/// A tolerance with all bounds lowered by the same factor.
#[derive(Debug, Clone, PartialEq)]
pub struct LowerTolerance {
    /// At most 1.
    pub factor: f64,
    /// The bounds of an output, as keys of a phase.
    pub bounds: String,
}

impl LowerTolerance {
    /// The largest tolerance with which `rejects` holds, rounded down; `None` if no tried one does. Elements of the output are
    /// bounded by `allclose`.
    pub fn largest(
        (shape, tolerance): (&ShapeSpec, &Tolerance),
        allclose: Option<AllClose>,
        rejects: impl Fn(&ShapeSpec, &Tolerance) -> bool,
    ) -> Option<Self> {
        let mut lowered = shape.clone();
        let mut is_enough = |factor: f64| {
            for (of, bound) in &mut lowered.bounds {
                *bound = shape.bounds[of].lowered(factor);
            }
            rejects(&lowered, &tolerance.lowered(factor))
        };
        if !is_enough(LEAST) {
            return None;
        }
        let (mut small, mut large) = (LEAST.log10(), 0.0);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(small, large);
            if is_enough(10_f64.powf(middle)) {
                small = middle;
            } else {
                large = middle;
            }
        }
        let factor = 10_f64.powf(small);
        let of_output = Tolerance { allclose, ..*tolerance };
        Some(Self { factor, bounds: of_output.lowered(factor).bounds() })
    }

    /// What to do about a tolerance that accepts a wrong answer.
    pub fn remedy(lower: Option<&Self>) -> String {
        match lower {
            Some(Self { bounds, .. }) => {
                format!("at most `{bounds}` rejects the wrong answers that were tried: lower the tolerance")
            }
            None => "lower the tolerance".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::fixtures::shape;

    #[test]
    fn the_largest_tolerance_is_below_the_limit_and_near_it_and_an_output_has_its_own_bounds() {
        let mut spec = shape(Vec::new());
        let tolerance = Tolerance { max_abs: Some(0.1), ..Tolerance::default() };
        let largest = |spec: &ShapeSpec, rejects: &dyn Fn(&ShapeSpec, &Tolerance) -> bool| {
            LowerTolerance::largest((spec, &tolerance), spec.allclose(0, &tolerance), rejects).map(|lower| lower.bounds)
        };
        let found = largest(&spec, &|_, tolerance| tolerance.max_abs.unwrap() < 3.4e-4);
        assert_eq!(found.unwrap(), "max_abs = 3.3e-4");
        assert_eq!(largest(&spec, &|_, _| false), None, "no tolerance rejects it");
        spec.bounds.insert(0, AllClose { atol: 2.0, rtol: 0.5, ..AllClose::default() });
        let found = largest(&spec, &|spec, _| spec.bounds[&0].atol <= 1.0);
        assert_eq!(found.unwrap(), "max_abs = 5.4e-2, atol = 1e0, rtol = 2.7e-1");
    }
}
