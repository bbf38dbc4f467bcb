//! The permitted difference of an output from the reference, the actual difference, and the one rule that compares them.

use super::law::Law;
use super::number::rounded_down;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The permitted difference of an output from the reference; every given bound must hold.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Tolerance {
    /// Largest absolute difference.
    pub max_abs: Option<f64>,
    /// Relative L2 norm of the difference.
    pub rel_l2: Option<f64>,
    /// A bound on every element relative to its expected value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allclose: Option<AllClose>,
    /// Largest difference in units of the error of a plain evaluation of the reference in the same precision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_error: Option<f64>,
    /// Whether the reference can contain NaN.
    #[serde(default, skip_serializing_if = "NanRule::is_default")]
    pub nan: NanRule,
    /// The effect of a reference that rounding errors in its inputs move too far.
    #[serde(default, skip_serializing_if = "ConditioningRule::is_default")]
    pub ill_conditioned: ConditioningRule,
}

/// `|value - expected| <= atol + rtol * |expected|` for every element, as in NumPy's `allclose`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct AllClose {
    /// Permitted absolute difference of every element.
    pub atol: f64,
    /// Permitted difference relative to the expected value.
    pub rtol: f64,
    /// The share of elements that can exceed this bound, from 0 to 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mismatches: f64,
    /// A hash of the bounds that single outputs or shapes have in place of this one; 0 if none has. Measurements for
    /// other bounds are not comparable.
    #[serde(default, skip_serializing_if = "is_none")]
    pub own: u64,
    #[serde(default, skip_serializing_if = "BoundUnit::is_default")]
    pub unit: BoundUnit,
}

/// The unit of `atol` and `rtol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundUnit {
    /// One: both are numbers of the phase.
    #[default]
    One,
    /// The bound that is derived from the inputs of each case.
    Derived,
}

impl BoundUnit {
    const fn is_default(&self) -> bool {
        matches!(self, Self::One)
    }
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

const fn is_none(hash: &u64) -> bool {
    *hash == 0
}

impl AllClose {
    /// The bound that is derived from the inputs of each case.
    pub const DERIVED: Self = Self { atol: 1.0, rtol: 1.0, mismatches: 0.0, own: 0, unit: BoundUnit::Derived };

    /// The bound multiplied by a factor, rounded down.
    #[must_use]
    pub fn lowered(self, factor: f64) -> Self {
        let lower = |bound: f64| rounded_down(bound * factor);
        let Self { atol, rtol, mismatches, .. } = self;
        Self { atol: lower(atol), rtol: lower(rtol), mismatches: lower(mismatches), ..self }
    }

    /// Whether a measurement for one bound is valid for the other: the shares can differ.
    fn is_measured_as(&self, other: Self) -> bool {
        Self { mismatches: 0.0, ..*self } == Self { mismatches: 0.0, ..other }
    }

    /// Permitted difference of an element; `scale` is the factor by which the answers of its case are larger than usual.
    pub fn allowed(&self, expected: f64, scale: f64) -> f64 {
        self.atol * scale + self.rtol * expected.abs()
    }
}

impl fmt::Display for AllClose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            BoundUnit::One => write!(f, "atol {:e} + rtol {:e} x |expected|", self.atol, self.rtol),
            BoundUnit::Derived => f.write_str("derived bound"),
        }
    }
}

/// The meaning of NaN in a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NanRule {
    /// An error: there is no right answer.
    #[default]
    Refused,
    /// The output must be NaN there too.
    Allowed,
}

impl NanRule {
    const fn is_default(&self) -> bool {
        matches!(self, Self::Refused)
    }
}

/// The effect of a reference that the tolerance rejects if its inputs are perturbed by one rounding: neither a right nor a
/// wrong output proves anything there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditioningRule {
    /// None: the reference is not perturbed.
    #[default]
    Judged,
    /// The case is inconclusive.
    Inconclusive,
}

impl ConditioningRule {
    /// The values that have a keyword in a phase.
    pub const WORDS: [(&'static str, Self); 1] = [("inconclusive", Self::Inconclusive)];

    const fn is_default(&self) -> bool {
        matches!(self, Self::Judged)
    }
}

/// The difference of an output from the reference, over all output buffers of a case.
///
/// If answers under a [`Law`] are larger than those for the declared inputs, differences are divided by the same
/// factor, so that one bound means the same share of the answer under every law.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Differences {
    /// Largest absolute difference; over the finite values if some are NaN or infinite.
    #[serde(serialize_with = "finite")]
    pub max_abs: f64,
    /// L2 norm of the difference over L2 norm of the reference, over the finite values; the largest over the inputs
    /// of the case.
    #[serde(serialize_with = "finite")]
    pub rel_l2: f64,
    /// Elements that are NaN or infinite although the reference is finite.
    pub nonfinite: u64,
    pub compared: u64,
    /// The worst element by the tolerance's [`AllClose`]; none if that has no such bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allclose: Option<WorstElement>,
    /// Largest difference over the error of a plain evaluation; none if that has no such bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_error: Option<f64>,
    /// The law of the inputs with the worst differences; none if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<Law>,
    /// How far one rounding of the inputs moves the reference; none if it was not perturbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<ReferenceShift>,
}

/// The difference of the reference for perturbed inputs from the reference, as [`Differences`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReferenceShift {
    #[serde(serialize_with = "finite")]
    max_abs: f64,
    #[serde(serialize_with = "finite")]
    rel_l2: f64,
    nonfinite: u64,
    compared: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    allclose: Option<WorstElement>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times_error: Option<f64>,
}

impl From<Differences> for ReferenceShift {
    fn from(differences: Differences) -> Self {
        let Differences { max_abs, rel_l2, nonfinite, compared, allclose, times_error, law: _, moved: _ } = differences;
        Self { max_abs, rel_l2, nonfinite, compared, allclose, times_error }
    }
}

impl From<ReferenceShift> for Differences {
    fn from(shift: ReferenceShift) -> Self {
        let ReferenceShift { max_abs, rel_l2, nonfinite, compared, allclose, times_error } = shift;
        Self { max_abs, rel_l2, nonfinite, compared, allclose, times_error, law: None, moved: None }
    }
}

/// The difference of the worst element, in units of its permitted difference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WorstElement {
    pub bound: AllClose,
    /// Its difference over its permitted difference; up to 1 is within.
    #[serde(serialize_with = "finite")]
    pub ratio: f64,
    /// The share of elements that exceed their permitted difference; none if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mismatches: Option<f64>,
}

impl WorstElement {
    /// The worse of both.
    fn and(self, other: Self) -> Self {
        let worse = if other.ratio <= self.ratio { self } else { other };
        Self { mismatches: self.mismatches.zip(other.mismatches).map(|(a, b)| larger(a, b)), ..worse }
    }
}

impl Differences {
    /// Combines two sets of inputs of one case: the worse of each difference, and all elements. The law is that of
    /// the worse one.
    #[must_use]
    pub fn and(self, other: Self, tolerance: &Tolerance) -> Self {
        let badness = |d: &Self| (tolerance.violations(d).len(), d.max_abs);
        let (a, b) = (badness(&self), badness(&other));
        let worse = if b.0 > a.0 || b.0 == a.0 && b.1 > a.1 { &other } else { &self };
        Self {
            max_abs: larger(self.max_abs, other.max_abs),
            rel_l2: larger(self.rel_l2, other.rel_l2),
            nonfinite: self.nonfinite + other.nonfinite,
            compared: self.compared + other.compared,
            // Measured for only one means not measured.
            allclose: self.allclose.zip(other.allclose).map(|(a, b)| a.and(b)),
            times_error: self.times_error.zip(other.times_error).map(|(a, b)| larger(a, b)),
            law: worse.law,
            moved: self.moved.zip(other.moved).map(|(a, b)| Self::from(a).and(b.into(), tolerance).into()),
        }
    }
}

/// JSON has no infinity and no NaN: writes the largest number, which exceeds every bound.
fn finite<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(if value.is_finite() {
        *value
    } else {
        f64::MAX.copysign(if value.is_nan() { 1.0 } else { *value })
    })
}

/// The larger one; NaN if either is.
fn larger(a: f64, b: f64) -> f64 {
    if a >= b || a.is_nan() { a } else { b }
}

/// A difference that a tolerance can bound. Its text is the phase's key for the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// The largest absolute difference.
    MaxAbs,
    /// The relative L2 norm of the difference.
    RelL2,
    /// The largest difference relative to the permitted one of [`AllClose`].
    AllClose,
    /// The largest difference over the error of a plain evaluation.
    TimesError,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MaxAbs => "max_abs",
            Self::RelL2 => "rel_l2",
            Self::AllClose => "atol + rtol |expected|",
            Self::TimesError => "times_error",
        })
    }
}

/// Why differences exceed a tolerance.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Violation {
    /// Nothing was compared, which proves nothing.
    #[error("no element was compared")]
    NothingCompared,
    /// The output has NaN or infinite values at finite elements of the reference.
    #[error("{elements} of {compared} elements are NaN or infinite")]
    Nonfinite { elements: u64, compared: u64 },
    /// An impossible difference: NaN, infinite or negative.
    #[error("{difference} is {value}, which is not a valid difference")]
    Meaningless { difference: Difference, value: f64 },
    /// A difference is larger than its bound.
    #[error("{difference} {value:.3e} exceeds the tolerance {bound:e}")]
    Exceeds { difference: Difference, value: f64, bound: f64 },
    /// The difference of an element exceeds `atol + rtol |expected|`.
    /// `ratio`: its difference over its permitted difference.
    #[error("the error of an element is {ratio:.3e} times the allowed {bound}")]
    Apart { ratio: f64, bound: AllClose },
    /// Too many elements exceed `atol + rtol |expected|`.
    #[error(
        "{:.3} % of the elements exceed {bound}; at most {} % are allowed",
        100.0 * share, 100.0 * bound.mismatches
    )]
    TooMany { share: f64, bound: AllClose },
    /// The bounded difference was not measured, or was measured for another bound.
    #[error("{difference} was not measured for this tolerance")]
    Unmeasured { difference: Difference },
    /// The tolerance has no bound, or one that is NaN, infinite or negative.
    #[error("the tolerance has no usable bound")]
    NoBound,
}

impl Tolerance {
    /// The tolerance with every bound multiplied by a factor and rounded down.
    #[must_use]
    pub fn lowered(&self, factor: f64) -> Self {
        let lower = |bound: f64| rounded_down(bound * factor);
        Self {
            max_abs: self.max_abs.map(lower),
            rel_l2: self.rel_l2.map(lower),
            allclose: self.allclose.map(|bound| bound.lowered(factor)),
            times_error: self.times_error.map(lower),
            ..*self
        }
    }

    /// The bounds as keys of a phase: `max_abs = 1e-3, rtol = 1e-2`.
    pub fn bounds(&self) -> String {
        let elements = self.allclose.unwrap_or_default();
        let bounds = [
            ("max_abs", self.max_abs),
            ("rel_l2", self.rel_l2),
            ("atol", Some(elements.atol).filter(|_| self.allclose.is_some())),
            ("rtol", Some(elements.rtol).filter(|bound| *bound > 0.0)),
            ("mismatches", Some(elements.mismatches).filter(|share| *share > 0.0)),
            ("times_error", self.times_error),
        ];
        let known = bounds.into_iter().filter_map(|(key, bound)| Some(format!("{key} = {:e}", bound?)));
        known.collect::<Vec<_>>().join(", ")
    }

    /// Whether there is a bound, and every given bound is finite and not negative.
    pub fn is_usable(&self) -> bool {
        let elements = self.allclose.map_or([None; 3], |a| [Some(a.atol), Some(a.rtol), Some(a.mismatches)]);
        let bounds = [self.max_abs, self.rel_l2, self.times_error].into_iter().chain(elements);
        let mut bounds = bounds.flatten().peekable();
        bounds.peek().is_some() && bounds.all(is_distance)
    }

    /// Only the bounds that hold for every part of an output if they hold for all of it.
    #[must_use]
    pub fn of_each_element(&self) -> Self {
        let allclose = self.allclose.filter(|bound| bound.mismatches == 0.0);
        Self { rel_l2: None, allclose, ..*self }
    }

    /// Why a case with these differences proves nothing although the tolerance judges them; `None` if it does prove something.
    pub fn conditioning(&self, differences: &Differences) -> Option<String> {
        if self.ill_conditioned == ConditioningRule::Judged {
            return None;
        }
        let Some(moved) = differences.moved else {
            return Some("the reference was not computed for perturbed inputs".to_owned());
        };
        let violations = self.violations(&moved.into());
        let words: Vec<String> = violations.iter().map(ToString::to_string).collect();
        (!words.is_empty()).then(|| {
            format!(
                "ill-conditioned: inputs perturbed by one rounding move the answer by more than the tolerance ({})",
                words.join("; ")
            )
        })
    }

    /// Every reason why `differences` exceed this tolerance; empty if they do not. Bounds are inclusive.
    ///
    /// An empty comparison, a difference that is NaN, infinite or negative, a bound on an unmeasured difference, and
    /// a tolerance without a usable bound are violations: an output is correct only if it is proven.
    pub fn violations(&self, differences: &Differences) -> Vec<Violation> {
        let Differences { max_abs, rel_l2, nonfinite, compared, .. } = *differences;
        let mut violations = Vec::new();
        if compared == 0 {
            violations.push(Violation::NothingCompared);
        }
        if nonfinite > 0 {
            violations.push(Violation::Nonfinite { elements: nonfinite, compared });
        }
        let each = [
            (Difference::MaxAbs, Some(max_abs), self.max_abs),
            (Difference::RelL2, Some(rel_l2), self.rel_l2),
            (Difference::TimesError, differences.times_error, self.times_error),
        ];
        violations.extend(each.into_iter().filter_map(|(difference, value, bound)| match (value, bound) {
            (Some(value), _) if !is_distance(value) => Some(Violation::Meaningless { difference, value }),
            (Some(value), Some(bound)) if value > bound => Some(Violation::Exceeds { difference, value, bound }),
            (None, Some(_)) => Some(Violation::Unmeasured { difference }),
            (Some(_), Some(_)) | (_, None) => None,
        }));
        violations.extend(self.allclose.and_then(|bound| apart(bound, differences.allclose)));
        if !self.is_usable() {
            violations.push(Violation::NoBound);
        }
        violations
    }
}

fn apart(bound: AllClose, farthest: Option<WorstElement>) -> Option<Violation> {
    let difference = Difference::AllClose;
    match farthest {
        Some(WorstElement { ratio, .. }) if !is_distance(ratio) => {
            Some(Violation::Meaningless { difference, value: ratio })
        }
        Some(WorstElement { bound: measured, ratio, mismatches }) if measured.is_measured_as(bound) => match mismatches
        {
            Some(share) if ratio > 1.0 && bound.mismatches > 0.0 => {
                let within = is_distance(share) && share <= bound.mismatches;
                (!within).then_some(Violation::TooMany { share, bound })
            }
            _ => (ratio > 1.0).then_some(Violation::Apart { ratio, bound }),
        },
        Some(_) | None => Some(Violation::Unmeasured { difference }),
    }
}

fn is_distance(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: Differences = Differences {
        max_abs: 0.5,
        rel_l2: 0.25,
        nonfinite: 0,
        compared: 8,
        allclose: None,
        times_error: None,
        law: None,
        moved: None,
    };

    fn bounds(max_abs: impl Into<Option<f64>>, rel_l2: impl Into<Option<f64>>) -> Tolerance {
        Tolerance { max_abs: max_abs.into(), rel_l2: rel_l2.into(), ..Tolerance::default() }
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
            assert_eq!(violations, [format!("max_abs is {value}, which is not a valid difference")]);
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

    #[test]
    fn an_elementwise_bound_needs_the_ratio_that_was_measured_for_it() {
        let bound = AllClose { atol: 1e-3, rtol: 1e-2, ..AllClose::default() };
        assert_eq!(bound.allowed(-5.0, 2.0), 2e-3 + 5e-2);
        let tolerance = Tolerance { allclose: Some(bound), ..Tolerance::default() };
        let measured = |ratio| Differences { allclose: Some(WorstElement { bound, ratio, mismatches: None }), ..NEAR };
        assert!(words(tolerance, measured(1.0)).is_empty(), "inclusive");
        let others = Tolerance { allclose: Some(AllClose { own: 1, ..bound }), ..tolerance };
        assert_eq!(words(others, measured(0.5)).len(), 1, "outputs had no separate bounds at the measurement");
        assert_eq!(
            words(tolerance, measured(1.5)),
            ["the error of an element is 1.500e0 times the allowed atol 1e-3 + rtol 1e-2 x |expected|"]
        );
        let unmeasured = ["atol + rtol |expected| was not measured for this tolerance"];
        assert_eq!(words(tolerance, NEAR), unmeasured, "a record without it proves nothing");
        let looser = Tolerance { allclose: Some(AllClose { rtol: 1.0, ..bound }), ..tolerance };
        assert_eq!(words(looser, measured(0.5)), unmeasured, "nor does one of another bound");
        assert_eq!(words(tolerance, measured(f64::NAN)).len(), 1);
        assert!(!Tolerance { allclose: Some(AllClose { atol: -1.0, ..AllClose::default() }), ..tolerance }.is_usable());
    }

    #[test]
    fn a_derived_bound_needs_a_ratio_that_was_measured_in_units_of_it() {
        let tolerance = Tolerance { allclose: Some(AllClose::DERIVED), ..Tolerance::default() };
        let measured = |bound, ratio| {
            words(tolerance, Differences { allclose: Some(WorstElement { bound, ratio, mismatches: None }), ..NEAR })
        };
        assert!(tolerance.is_usable() && measured(AllClose::DERIVED, 1.0).is_empty());
        assert_eq!(
            measured(AllClose::DERIVED, 1.5),
            ["the error of an element is 1.500e0 times the allowed derived bound"]
        );
        let same_numbers = AllClose { unit: BoundUnit::One, ..AllClose::DERIVED };
        assert_eq!(measured(same_numbers, 0.5).len(), 1, "a measurement for another bound proves nothing");
        assert_eq!(measured(AllClose::DERIVED, f64::NAN).len(), 1);
    }

    #[test]
    fn a_share_of_elements_may_be_farther_off() {
        let bound = AllClose { atol: 1e-3, mismatches: 0.01, ..AllClose::default() };
        let tolerance = Tolerance { allclose: Some(bound), ..Tolerance::default() };
        let measured =
            |ratio, mismatches| Differences { allclose: Some(WorstElement { bound, ratio, mismatches }), ..NEAR };
        assert!(words(tolerance, measured(80.0, Some(0.01))).is_empty(), "inclusive");
        assert_eq!(
            words(tolerance, measured(80.0, Some(0.02))),
            ["2.000 % of the elements exceed atol 1e-3 + rtol 0e0 x |expected|; at most 1 % are allowed"]
        );
        assert_eq!(words(tolerance, measured(80.0, None)).len(), 1, "nobody counted them");
        assert_eq!(words(tolerance, measured(80.0, Some(f64::NAN))).len(), 1);
        let stricter = Tolerance { allclose: Some(AllClose { mismatches: 0.0, ..bound }), ..tolerance };
        assert_eq!(
            words(stricter, measured(80.0, Some(0.001))).len(),
            1,
            "the measurement can be judged by another share"
        );
        let both = measured(2.0, Some(0.001)).and(measured(1.5, Some(0.02)), &tolerance);
        assert_eq!(both.allclose, Some(WorstElement { bound, ratio: 2.0, mismatches: Some(0.02) }));
    }

    #[test]
    fn times_error_needs_a_measured_error() {
        let tolerance = Tolerance { times_error: Some(4.0), ..Tolerance::default() };
        assert!(words(tolerance, Differences { times_error: Some(4.0), ..NEAR }).is_empty());
        assert_eq!(
            words(tolerance, Differences { times_error: Some(8.0), ..NEAR }),
            ["times_error 8.000e0 exceeds the tolerance 4e0"]
        );
        assert_eq!(words(tolerance, NEAR), ["times_error was not measured for this tolerance"]);
    }

    #[test]
    fn a_reference_that_rounding_moves_beyond_the_tolerance_proves_nothing() {
        let strict = Tolerance { ill_conditioned: ConditioningRule::Inconclusive, ..bounds(0.4, None) };
        let moved = |max_abs| Differences { moved: Some(Differences { max_abs, ..NEAR }.into()), ..NEAR };
        assert_eq!(strict.conditioning(&moved(0.4)), None, "inclusive");
        let said = "ill-conditioned: inputs perturbed by one rounding move the answer by more than the tolerance (max_abs \
                    5.000e-1 exceeds the tolerance 4e-1)";
        assert_eq!(strict.conditioning(&moved(0.5)).as_deref(), Some(said));
        assert!(strict.conditioning(&moved(f64::NAN)).is_some() && strict.conditioning(&NEAR).is_some());
        assert_eq!(bounds(0.4, None).conditioning(&moved(0.5)), None, "not asked");
        assert!(strict.conditioning(&moved(0.1).and(moved(0.5), &strict)).is_some(), "the worse of both");
        assert!(strict.conditioning(&moved(0.1).and(NEAR, &strict)).is_some(), "one was not perturbed");
        let text = serde_json::to_string(&moved(0.5)).unwrap();
        assert_eq!(serde_json::from_str::<Differences>(&text).unwrap(), moved(0.5));
    }

    #[test]
    fn two_sets_of_inputs_are_as_bad_as_the_worse_and_name_its_law() {
        let near = Differences { law: Some(Law::Declared), ..NEAR };
        let nan = Differences { max_abs: 0.1, nonfinite: 3, law: Some(Law::Growing), ..NEAR };
        let both = near.and(nan, &bounds(1.0, None));
        assert_eq!((both.max_abs, both.nonfinite, both.compared, both.law), (0.5, 3, 16, Some(Law::Growing)));
        assert_eq!(nan.and(near, &bounds(1.0, None)), both);
        let unknown = near.and(Differences { max_abs: f64::NAN, ..NEAR }, &bounds(1.0, None));
        assert!(unknown.max_abs.is_nan(), "an invalid difference stays invalid");
    }
}
