//! How far an output may be from the reference, how far it was, and the one rule that compares them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How far an output may be from the reference; every bound that is given must hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Largest absolute difference.
    pub max_abs: Option<f64>,
    /// Relative L2 norm of the difference.
    pub rel_l2: Option<f64>,
}

/// How far an output is from the reference, over all output buffers of a case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Differences {
    /// Largest absolute difference; where NaN or infinite values are, over the finite ones.
    pub max_abs: f64,
    /// L2 norm of the difference over L2 norm of the reference, over the finite ones.
    pub rel_l2: f64,
    /// Elements that are NaN or infinite where the reference is not.
    pub nonfinite: u64,
    /// Elements compared.
    pub compared: u64,
}

/// A difference that a tolerance can bound. It is written as the phase's key for the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// The largest absolute difference.
    MaxAbs,
    /// The relative L2 norm of the difference.
    RelL2,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MaxAbs => "max_abs",
            Self::RelL2 => "rel_l2",
        })
    }
}

/// Why differences are not within a tolerance.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Violation {
    /// Nothing was compared, which proves nothing.
    #[error("no element was compared")]
    NothingCompared,
    /// The output has NaN or infinite values where the reference has none.
    #[error("{elements} of {compared} elements are NaN or infinite")]
    Nonfinite {
        /// How many.
        elements: u64,
        /// Elements compared.
        compared: u64,
    },
    /// A difference that no comparison can give: NaN, infinite or negative.
    #[error("{difference} is {value}, which is not a difference")]
    Meaningless {
        /// Which.
        difference: Difference,
        /// Its value.
        value: f64,
    },
    /// A difference is larger than its bound.
    #[error("{difference} {value:.3e} exceeds the tolerance {bound:e}")]
    Exceeds {
        /// Which.
        difference: Difference,
        /// Its value.
        value: f64,
        /// The bound.
        bound: f64,
    },
    /// The tolerance has no bound, or one that is NaN, infinite or negative.
    #[error("the tolerance has no usable bound")]
    NoBound,
}

impl Tolerance {
    /// Whether there is a bound, and every one that is given is finite and not negative.
    pub fn is_usable(&self) -> bool {
        let mut bounds = [self.max_abs, self.rel_l2].into_iter().flatten().peekable();
        bounds.peek().is_some() && bounds.all(is_distance)
    }

    /// Every reason why `differences` are not within this tolerance; empty where they are. Bounds are inclusive.
    ///
    /// A comparison of nothing, a difference that is NaN, infinite or negative, and a tolerance without a usable bound
    /// are violations: what proves nothing is not correct.
    pub fn violations(&self, differences: &Differences) -> Vec<Violation> {
        let Differences { max_abs, rel_l2, nonfinite, compared } = *differences;
        let mut violations = Vec::new();
        if compared == 0 {
            violations.push(Violation::NothingCompared);
        }
        if nonfinite > 0 {
            violations.push(Violation::Nonfinite { elements: nonfinite, compared });
        }
        let each = [(Difference::MaxAbs, max_abs, self.max_abs), (Difference::RelL2, rel_l2, self.rel_l2)];
        violations.extend(each.into_iter().filter_map(|(difference, value, bound)| match bound {
            _ if !is_distance(value) => Some(Violation::Meaningless { difference, value }),
            Some(bound) if value > bound => Some(Violation::Exceeds { difference, value, bound }),
            Some(_) | None => None,
        }));
        if !self.is_usable() {
            violations.push(Violation::NoBound);
        }
        violations
    }
}

fn is_distance(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: Differences = Differences { max_abs: 0.5, rel_l2: 0.25, nonfinite: 0, compared: 8 };

    fn bounds(max_abs: impl Into<Option<f64>>, rel_l2: impl Into<Option<f64>>) -> Tolerance {
        Tolerance { max_abs: max_abs.into(), rel_l2: rel_l2.into() }
    }

    fn words(tolerance: Tolerance, differences: Differences) -> Vec<String> {
        tolerance.violations(&differences).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn bounds_are_inclusive_and_all_must_hold() {
        assert!(words(bounds(0.5, 0.25), NEAR).is_empty());
        assert!(words(bounds(0.5, None), NEAR).is_empty());
        assert_eq!(words(bounds(0.4, None), NEAR), ["max_abs 5.000e-1 exceeds the tolerance 4e-1"]);
        assert_eq!(
            words(bounds(0.4, 0.1), NEAR),
            ["max_abs 5.000e-1 exceeds the tolerance 4e-1", "rel_l2 2.500e-1 exceeds the tolerance 1e-1"]
        );
    }

    #[test]
    fn nan_infinite_and_negative_differences_violate_whatever_the_bound() {
        let loose = bounds(f64::MAX, None);
        for value in [f64::NAN, f64::INFINITY, -1.0] {
            let violations = words(loose, Differences { max_abs: value, ..NEAR });
            assert_eq!(violations, [format!("max_abs is {value}, which is not a difference")]);
            assert_eq!(words(loose, Differences { rel_l2: value, ..NEAR }).len(), 1, "not bounded, yet meaningless");
        }
    }

    #[test]
    fn a_tolerance_is_violated_by_no_elements_and_by_nonfinite_ones() {
        let loose = bounds(1.0, None);
        assert_eq!(words(loose, Differences { compared: 0, ..NEAR }), ["no element was compared"]);
        assert_eq!(
            words(loose, Differences { nonfinite: 2, ..NEAR }),
            ["2 of 8 elements are NaN or infinite"],
            "however near the finite ones are"
        );
    }

    #[test]
    fn a_tolerance_without_a_usable_bound_is_violated_by_everything() {
        for tolerance in [bounds(None, None), bounds(f64::NAN, None), bounds(1.0, f64::INFINITY), bounds(1.0, -1.0)] {
            assert!(!tolerance.is_usable());
            assert!(tolerance.violations(&NEAR).contains(&Violation::NoBound), "{tolerance:?}");
        }
        assert!(bounds(0.0, None).is_usable());
    }
}
