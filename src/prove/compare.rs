//! Output against reference: how far it is, and what is wrong with it however far. Whether that is near enough is for
//! [`crate::model::Tolerance`] to say.

use super::element;
use crate::config::Dtype;
use crate::model::{Defect, Differences};
use rayon::prelude::*;

/// Elements compared by one task.
const CHUNK: usize = 1 << 13;

/// Sums over the elements compared so far; output buffers of a case are added to one another.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DifferenceTally {
    max_abs: f64,
    squared_difference: f64,
    squared_reference: f64,
    nonfinite: u64,
    unwritten: u64,
    finite: u64,
    compared: u64,
}

impl DifferenceTally {
    /// Compares a buffer as it came from the device with its expected values; `before` is what it held.
    pub fn of(dtype: Dtype, expected: &[f64], before: &[u8], after: &[u8]) -> Self {
        let size = dtype.size();
        expected
            .par_chunks(CHUNK)
            .zip(before.par_chunks(CHUNK * size).zip(after.par_chunks(CHUNK * size)))
            .map(|(expected, (before, after))| Self::of_chunk(dtype, expected, before, after))
            .reduce(Self::default, Self::and)
    }

    fn of_chunk(dtype: Dtype, expected: &[f64], before: &[u8], after: &[u8]) -> Self {
        let mut values = vec![0.0; expected.len()];
        element::decode_into(dtype, after, &mut values);
        let mut tally = Self { compared: expected.len() as u64, ..Self::default() };
        for (&value, &expected) in values.iter().zip(expected) {
            tally.add(value, expected);
        }
        let size = dtype.size();
        let untouched = before.chunks_exact(size).zip(after.chunks_exact(size)).filter(|(b, a)| b == a);
        tally.unwritten = untouched.count() as u64;
        tally
    }

    fn add(&mut self, value: f64, expected: f64) {
        if !expected.is_finite() {
            let alike = value == expected || value.is_nan() && expected.is_nan();
            self.nonfinite += u64::from(!alike);
        } else if value.is_finite() {
            let difference = (value - expected).abs();
            self.max_abs = self.max_abs.max(difference);
            self.squared_difference += difference * difference;
            self.squared_reference += expected * expected;
            self.finite += 1;
        } else {
            self.nonfinite += 1;
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            max_abs: self.max_abs.max(other.max_abs),
            squared_difference: self.squared_difference + other.squared_difference,
            squared_reference: self.squared_reference + other.squared_reference,
            nonfinite: self.nonfinite + other.nonfinite,
            unwritten: self.unwritten + other.unwritten,
            finite: self.finite + other.finite,
            compared: self.compared + other.compared,
        }
    }

    /// The differences; where the reference is zero everywhere, `rel_l2` is the norm of the difference itself.
    pub fn differences(&self) -> Differences {
        let (difference, reference) = (self.squared_difference.sqrt(), self.squared_reference.sqrt());
        let rel_l2 = if reference > 0.0 { difference / reference } else { difference };
        Differences {
            max_abs: self.max_abs.min(f64::MAX),
            rel_l2: if rel_l2.is_nan() { f64::MAX } else { rel_l2.min(f64::MAX) },
            nonfinite: self.nonfinite,
            compared: self.compared,
        }
    }

    /// What is wrong whatever the tolerance; `place` is where the launch wrote out of bounds, if it did.
    pub fn defects(&self, place: Option<String>) -> Vec<Defect> {
        let mut defects: Vec<Defect> = place.map(|place| Defect::OutOfBoundsWrite { place }).into_iter().collect();
        if self.unwritten > 0 {
            defects.push(Defect::Unwritten { elements: self.unwritten, compared: self.compared });
        }
        if self.finite == 0 {
            defects.push(Defect::NothingFinite);
        }
        defects
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::{CheckOutcome, Tolerance};

    const TOLERANCE: Tolerance = Tolerance { max_abs: Some(0.5), rel_l2: None };

    fn tally(expected: &[f64], values: &[f64]) -> DifferenceTally {
        let after = element::encode(Dtype::F32, values);
        DifferenceTally::of(Dtype::F32, expected, &vec![0xff; after.len()], &after)
    }

    fn outcome(tally: &DifferenceTally, tolerance: &Tolerance, place: Option<String>) -> CheckOutcome {
        CheckOutcome::of(tally.differences(), tally.defects(place), tolerance)
    }

    fn reason(tally: &DifferenceTally, tolerance: &Tolerance) -> String {
        match outcome(tally, tolerance, None) {
            CheckOutcome::Wrong { reason, .. } => reason,
            other => panic!("{other:?} is not wrong"),
        }
    }

    #[test]
    fn differences_are_those_of_the_definition() {
        let differences = tally(&[3.0, 4.0, 0.0], &[3.0, 4.25, 0.5]).differences();
        assert_eq!((differences.max_abs, differences.compared, differences.nonfinite), (0.5, 3, 0));
        assert!((differences.rel_l2 - 0.3125f64.sqrt() / 5.0).abs() < 1e-12);
        assert_eq!(tally(&[0.0], &[0.25]).differences().rel_l2, 0.25, "a zero reference leaves the norm itself");
    }

    #[test]
    fn a_difference_at_its_bound_is_correct_and_one_beyond_it_is_wrong() {
        assert!(matches!(outcome(&tally(&[1.0], &[1.5]), &TOLERANCE, None), CheckOutcome::Correct { .. }));
        assert_eq!(reason(&tally(&[1.0], &[1.75]), &TOLERANCE), "max_abs 7.500e-1 exceeds the tolerance 5e-1");
    }

    #[test]
    fn nan_infinity_and_nothing_are_wrong() {
        let loose = Tolerance { max_abs: Some(1e30), rel_l2: None };
        assert!(reason(&tally(&[1.0, 2.0], &[f64::NAN, 2.0]), &loose).contains("1 of 2 elements are NaN"));
        assert!(reason(&tally(&[1.0], &[f64::INFINITY]), &loose).contains("NaN or infinite"));
        assert!(reason(&tally(&[], &[]), &loose).contains("no finite element"));
        let masked = tally(&[f64::NAN, 1.0], &[f64::NAN, 1.0]);
        assert!(matches!(outcome(&masked, &loose, None), CheckOutcome::Correct { .. }), "NaN where NaN is right");
        assert!(reason(&tally(&[f64::INFINITY, 1.0], &[9.0, 1.0]), &loose).contains("1 of 2"));
    }

    #[test]
    fn an_unwritten_element_is_wrong_even_where_nan_is_right() {
        let poison = vec![0xff; 8];
        let after = [vec![0xff; 4], element::encode(Dtype::F32, &[1.0])].concat();
        let tally = DifferenceTally::of(Dtype::F32, &[f64::NAN, 1.0], &poison, &after);
        assert_eq!(tally.defects(None), [Defect::Unwritten { elements: 1, compared: 2 }]);
        assert!(reason(&tally, &TOLERANCE).contains("1 of 2 output elements were never written"));
    }

    #[test]
    fn an_out_of_bounds_write_is_wrong_whatever_the_values() {
        let place = "input 'q' was written".to_owned();
        match outcome(&tally(&[1.0], &[1.0]), &TOLERANCE, Some(place.clone())) {
            CheckOutcome::Wrong { reason, .. } => assert_eq!(reason, place),
            other => panic!("{other:?} is not wrong"),
        }
    }

    #[test]
    fn many_chunks_are_all_compared() {
        let expected = vec![1.0; 3 * CHUNK + 5];
        let mut values = expected.clone();
        *values.last_mut().unwrap() = 3.0;
        let differences = tally(&expected, &values).differences();
        assert_eq!((differences.max_abs, differences.compared), (2.0, expected.len() as u64));
    }
}
