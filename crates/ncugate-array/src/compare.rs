//! Compares outputs with a reference: error norms, and defects that no tolerance accepts.
//! [`ncugate_model::Tolerance`] decides whether an error is small enough.

use crate::element;
use crate::vector::vectorised;
use ncugate_model::Dtype;
use ncugate_model::{AllClose, Defect, Differences, Law, WorstElement};
use rayon::prelude::*;
use std::ops::Range;

/// Elements compared by one task.
const CHUNK: usize = 1 << 13;

/// Units and bounds of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorScale {
    /// Magnitude of the answers relative to those for the declared inputs, at least 1.
    pub scale: f64,
    /// The elementwise bound to check, if any.
    pub allclose: Option<AllClose>,
}

impl Default for ErrorScale {
    fn default() -> Self {
        Self { scale: 1.0, allclose: None }
    }
}

/// Sums over the elements compared so far. The output buffers of a launch are summed together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DifferenceTally {
    max_abs: f64,
    squared_difference: f64,
    squared_reference: f64,
    farthest: f64,
    mismatches: u64,
    nonfinite: u64,
    finite: u64,
    compared: u64,
    /// Elements that still hold their value from before the launch, in ascending order, indexed over all output
    /// buffers.
    untouched: Vec<u64>,
}

impl DifferenceTally {
    /// Compares a buffer read back from the device with its expected values; `before` is its content before the
    /// launch.
    pub fn of(dtype: Dtype, expected: &[f64], before: &[u8], after: &[u8], yardstick: ErrorScale) -> Self {
        let size = dtype.size();
        expected
            .par_chunks(CHUNK)
            .zip(before.par_chunks(CHUNK * size).zip(after.par_chunks(CHUNK * size)))
            .map(|(expected, (before, after))| Self::of_chunk(dtype, expected, before, after, yardstick))
            .reduce(Self::default, Self::and)
    }

    fn of_chunk(dtype: Dtype, expected: &[f64], before: &[u8], after: &[u8], yardstick: ErrorScale) -> Self {
        let mut tally = Self::of_decoded(dtype, expected, after, yardstick);
        tally.untouched = equal_elements(dtype, before, after);
        tally
    }

    /// The defect of a single launch that left every element untouched.
    pub fn unwritten(&self) -> Option<Defect> {
        let elements = self.untouched.len() as u64;
        (elements == self.compared).then_some(Defect::Unwritten { elements, compared: self.compared })
    }

    /// Values that no bound applies to: any finite value is right. More values than in the reference that are NaN or infinite
    /// count.
    pub fn of_unbounded(values: &[f64], expected: &[f64]) -> Self {
        let others = |values: &[f64]| values.iter().filter(|value| !value.is_finite()).count() as u64;
        let missing = expected.len().saturating_sub(values.len()) as u64;
        let nonfinite = others(values);
        Self {
            finite: values.len() as u64 - nonfinite,
            nonfinite: (nonfinite + missing).saturating_sub(others(expected)),
            compared: expected.len() as u64,
            ..Self::default()
        }
    }

    /// The same tally for a launch, from the content of its buffer before and after. The elements in `runs` count, and those
    /// that did not change are untouched.
    #[must_use]
    pub fn of_launch(mut self, dtype: Dtype, (before, after): (&[u8], &[u8]), runs: &[Range<usize>]) -> Self {
        let size = dtype.size();
        self.untouched.clear();
        self.compared = 0;
        for run in runs {
            let held = |bytes: &[u8]| run.start * size..(run.end * size).min(bytes.len());
            let (before, after) = (before.get(held(before)), after.get(held(after)));
            let equal = equal_elements(dtype, before.unwrap_or_default(), after.unwrap_or_default());
            self.untouched.extend(equal.into_iter().map(|index| index + self.compared));
            self.compared += run.len() as u64;
        }
        self
    }

    /// Compares a buffer with its expected values. Elements missing at the end count as NaN. Unwritten elements are
    /// not detected.
    pub fn of_bytes(dtype: Dtype, expected: &[f64], bytes: &[u8], yardstick: ErrorScale) -> Self {
        let size = dtype.size();
        let held = (bytes.len() / size).min(expected.len());
        let (present, missing) = expected.split_at(held);
        let compared = present
            .par_chunks(CHUNK)
            .zip(bytes[..held * size].par_chunks(CHUNK * size))
            .map(|(expected, bytes)| Self::of_decoded(dtype, expected, bytes, yardstick))
            .reduce(Self::default, Self::and);
        compared.and(Self::of_constant(f64::NAN, missing, yardstick))
    }

    /// Compares elements read from the device on this thread; elements without bytes count as NaN.
    fn of_decoded(dtype: Dtype, expected: &[f64], bytes: &[u8], yardstick: ErrorScale) -> Self {
        let (mut sums, mut decoded) = (BlockSums::default(), [0.0; DECODED]);
        let (present, missing) = expected.split_at(expected.len().min(bytes.len() / dtype.size()));
        for (expected, bytes) in present.chunks(DECODED).zip(bytes.chunks(DECODED * dtype.size())) {
            let values = &mut decoded[..expected.len()];
            element::decode_into(dtype, bytes, values);
            vectorised(|| sums.add(values, expected, yardstick));
        }
        missing.iter().for_each(|&expected| sums.others.add(f64::NAN, expected, yardstick));
        Self { compared: expected.len() as u64, ..sums.tally(yardstick) }
    }

    /// Compares values that no launch produced.
    pub fn of_values(values: &[f64], expected: &[f64], yardstick: ErrorScale) -> Self {
        let chunks = values.par_chunks(CHUNK).zip(expected.par_chunks(CHUNK));
        chunks.map(|(values, expected)| Self::of_slice(values, expected, yardstick)).reduce(Self::default, Self::and)
    }

    /// Compares one value with every element.
    pub fn of_constant(value: f64, expected: &[f64], yardstick: ErrorScale) -> Self {
        let values = [value; CHUNK];
        let of_chunk = |expected: &[f64]| Self::of_slice(&values[..expected.len()], expected, yardstick);
        expected.par_chunks(CHUNK).map(of_chunk).reduce(Self::default, Self::and)
    }

    /// Compares values on this thread.
    fn of_slice(values: &[f64], expected: &[f64], yardstick: ErrorScale) -> Self {
        let mut sums = BlockSums::default();
        vectorised(|| sums.add(values, expected, yardstick));
        Self { compared: expected.len() as u64, ..sums.tally(yardstick) }
    }

    fn add(&mut self, value: f64, expected: f64, yardstick: ErrorScale) {
        if !expected.is_finite() {
            let alike = value == expected || value.is_nan() && expected.is_nan();
            self.nonfinite += u64::from(!alike);
        } else if value.is_finite() {
            let difference = (value - expected).abs();
            self.max_abs = self.max_abs.max(difference / yardstick.scale);
            self.squared_difference += difference * difference;
            self.squared_reference += expected * expected;
            if let Some(bound) = yardstick.allclose.filter(|_| difference > 0.0) {
                let ratio = difference / bound.allowed(expected, yardstick.scale);
                self.farthest = self.farthest.max(ratio);
                self.mismatches += u64::from(ratio > 1.0);
            }
            self.finite += 1;
        } else {
            self.nonfinite += 1;
        }
    }

    /// The same tally with all elements marked as written.
    #[must_use]
    pub fn with_all_written(mut self) -> Self {
        self.untouched.clear();
        self
    }

    /// Merges both tallies; the elements of `other` follow these.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.untouched.extend(other.untouched.iter().map(|index| index + self.compared));
        Self {
            max_abs: self.max_abs.max(other.max_abs),
            squared_difference: self.squared_difference + other.squared_difference,
            squared_reference: self.squared_reference + other.squared_reference,
            farthest: self.farthest.max(other.farthest),
            mismatches: self.mismatches + other.mismatches,
            nonfinite: self.nonfinite + other.nonfinite,
            finite: self.finite + other.finite,
            compared: self.compared + other.compared,
            untouched: self.untouched,
        }
    }

    /// The differences, measured for `allclose`, under inputs of `law`; `plain_error` is the error of a plain
    /// evaluation. If the reference is zero everywhere, `rel_l2` is the norm of the difference.
    pub fn differences(&self, allclose: Option<AllClose>, law: Option<Law>, plain_error: Option<f64>) -> Differences {
        let (difference, reference) = (self.squared_difference.sqrt(), self.squared_reference.sqrt());
        let rel_l2 = if reference > 0.0 { difference / reference } else { difference };
        let held = |v: f64| if v.is_nan() { f64::MAX } else { v.min(f64::MAX) };
        let times = |plain: f64| if self.max_abs > 0.0 { held(self.max_abs / plain) } else { 0.0 };
        Differences {
            max_abs: held(self.max_abs),
            rel_l2: held(rel_l2),
            nonfinite: self.nonfinite,
            compared: self.compared,
            allclose: allclose.map(|bound| WorstElement {
                bound,
                ratio: held(self.farthest),
                mismatches: Some(self.mismatches as f64 / self.compared.max(1) as f64),
            }),
            times_error: plain_error.map(times),
            law,
            moved: None,
        }
    }

    /// Defects under any tolerance, except unwritten elements, which a single launch cannot show.
    pub fn defects(&self) -> Vec<Defect> {
        if self.finite == 0 { vec![Defect::NothingFinite] } else { Vec::new() }
    }
}

/// Elements decoded at once; they fit in the L1 cache.
const DECODED: usize = 64;

/// Result of comparing slices: tiles of [`DECODED`] finite elements, and the elements of all other tiles one by one.
#[derive(Debug, Clone, Default)]
struct BlockSums {
    lanes: Lanes,
    others: DifferenceTally,
}

impl BlockSums {
    #[inline(always)]
    fn add(&mut self, values: &[f64], expected: &[f64], yardstick: ErrorScale) {
        for (values, expected) in values.chunks(DECODED).zip(expected.chunks(DECODED)) {
            let ((blocks, last), (expected_blocks, expected_last)) = (values.as_chunks(), expected.as_chunks());
            let mut lanes = self.lanes;
            blocks.iter().zip(expected_blocks).for_each(|(values, expected)| lanes.add(values, expected));
            if !lanes.are_finite() {
                values.iter().zip(expected).for_each(|(&v, &e)| self.others.add(v, e, yardstick));
                continue;
            }
            if let Some(bound) = yardstick.allclose {
                let blocks = blocks.iter().zip(expected_blocks);
                blocks.for_each(|(values, expected)| lanes.add_ratios(values, expected, bound, yardstick.scale));
            }
            self.lanes = lanes;
            last.iter().zip(expected_last).for_each(|(&value, &expected)| self.others.add(value, expected, yardstick));
        }
    }

    fn tally(self, yardstick: ErrorScale) -> DifferenceTally {
        self.lanes.tally(yardstick).and(self.others)
    }
}

/// Elements of a block compared in parallel: separate sums allow the compiler to vectorise.
const LANES: usize = 8;

/// The sums of [`DifferenceTally`] over blocks of finite elements.
#[derive(Debug, Clone, Copy, Default)]
struct Lanes {
    /// Not yet divided by the scale.
    max_abs: [f64; LANES],
    squared_difference: [f64; LANES],
    squared_reference: [f64; LANES],
    farthest: [f64; LANES],
    mismatches: [u64; LANES],
    blocks: u64,
}

impl Lanes {
    /// Whether every difference so far is finite. If so, every element is: an infinity or NaN persists in its sum.
    fn are_finite(&self) -> bool {
        self.squared_difference.iter().sum::<f64>().is_finite()
    }

    #[inline(always)]
    fn add(&mut self, values: &[f64; LANES], expected: &[f64; LANES]) {
        for at in 0..LANES {
            let difference = (values[at] - expected[at]).abs();
            self.max_abs[at] = if difference > self.max_abs[at] { difference } else { self.max_abs[at] };
            self.squared_difference[at] += difference * difference;
            self.squared_reference[at] += expected[at] * expected[at];
        }
        self.blocks += 1;
    }

    #[inline(always)]
    fn add_ratios(&mut self, values: &[f64; LANES], expected: &[f64; LANES], bound: AllClose, scale: f64) {
        for at in 0..LANES {
            let ratio = (values[at] - expected[at]).abs() / bound.allowed(expected[at], scale);
            // NaN if the bound is 0 and the difference is 0; NaN compares as false.
            self.farthest[at] = if ratio > self.farthest[at] { ratio } else { self.farthest[at] };
            self.mismatches[at] += u64::from(ratio > 1.0);
        }
    }

    fn tally(self, yardstick: ErrorScale) -> DifferenceTally {
        let most = |lanes: [f64; LANES]| lanes.into_iter().fold(0.0, f64::max);
        DifferenceTally {
            max_abs: most(self.max_abs) / yardstick.scale,
            squared_difference: self.squared_difference.iter().sum(),
            squared_reference: self.squared_reference.iter().sum(),
            farthest: most(self.farthest),
            mismatches: self.mismatches.iter().sum(),
            finite: self.blocks * LANES as u64,
            ..DifferenceTally::default()
        }
    }
}

/// Indices of the elements that are equal in both.
fn equal_elements(dtype: Dtype, before: &[u8], after: &[u8]) -> Vec<u64> {
    match dtype.size() {
        1 => equal_blocks::<1>(before, after),
        2 => equal_blocks::<2>(before, after),
        4 => equal_blocks::<4>(before, after),
        _ => equal_blocks::<8>(before, after),
    }
}

/// Indices of the blocks of `BYTES` bytes that are equal in both.
fn equal_blocks<const BYTES: usize>(before: &[u8], after: &[u8]) -> Vec<u64> {
    let elements = before.as_chunks::<BYTES>().0.iter().zip(after.as_chunks::<BYTES>().0).enumerate();
    elements.filter(|(_, (before, after))| before == after).map(|(index, _)| index as u64).collect()
}

/// Elements that held their poison after every launch, and so were never written. The poisons must differ in every
/// element.
pub fn unwritten(launches: &[DifferenceTally]) -> u64 {
    let Some((first, others)) = launches.split_first() else { return 0 };
    let everywhere = |index: &&u64| others.iter().all(|other| other.untouched.binary_search(index).is_ok());
    first.untouched.iter().filter(everywhere).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::{CheckOutcome, NanRule, Tolerance};

    const TOLERANCE: Tolerance = Tolerance {
        max_abs: Some(0.5),
        rel_l2: None,
        allclose: None,
        times_error: None,
        nan: NanRule::Refused,
        ill_conditioned: ncugate_model::ConditioningRule::Judged,
    };

    fn tally(expected: &[f64], values: &[f64]) -> DifferenceTally {
        let after = element::encode(Dtype::F32, values);
        DifferenceTally::of(Dtype::F32, expected, &vec![0xff; after.len()], &after, ErrorScale::default())
    }

    fn differences(tally: &DifferenceTally) -> Differences {
        tally.differences(None, None, None)
    }

    fn outcome(tally: &DifferenceTally, tolerance: &Tolerance) -> CheckOutcome {
        CheckOutcome::of(differences(tally), tally.defects(), tolerance)
    }

    fn reason(tally: &DifferenceTally, tolerance: &Tolerance) -> String {
        match outcome(tally, tolerance) {
            CheckOutcome::Wrong { reason, .. } => reason,
            other => panic!("{other:?} is not wrong"),
        }
    }

    #[test]
    fn differences_are_those_of_the_definition() {
        let differences = differences(&tally(&[3.0, 4.0, 0.0], &[3.0, 4.25, 0.5]));
        assert_eq!((differences.max_abs, differences.compared, differences.nonfinite), (0.5, 3, 0));
        assert!((differences.rel_l2 - 0.3125f64.sqrt() / 5.0).abs() < 1e-12);
        assert_eq!(
            super::tests::differences(&tally(&[0.0], &[0.25])).rel_l2,
            0.25,
            "a zero reference leaves the norm itself"
        );
    }

    #[test]
    fn a_difference_at_its_bound_is_correct_and_one_beyond_it_is_wrong() {
        assert!(matches!(outcome(&tally(&[1.0], &[1.5]), &TOLERANCE), CheckOutcome::Correct { .. }));
        assert_eq!(reason(&tally(&[1.0], &[1.75]), &TOLERANCE), "max_abs 7.500e-1 exceeds the tolerance 5e-1");
    }

    #[test]
    fn nan_infinity_and_nothing_are_wrong() {
        let loose = Tolerance { max_abs: Some(1e30), ..Tolerance::default() };
        assert!(reason(&tally(&[1.0, 2.0], &[f64::NAN, 2.0]), &loose).contains("1 of 2 elements are NaN"));
        assert!(reason(&tally(&[1.0], &[f64::INFINITY]), &loose).contains("NaN or infinite"));
        assert!(reason(&tally(&[], &[]), &loose).contains("no finite element"));
        let masked = tally(&[f64::NAN, 1.0], &[f64::NAN, 1.0]);
        assert!(matches!(outcome(&masked, &loose), CheckOutcome::Correct { .. }), "NaN where NaN is right");
        assert!(reason(&tally(&[f64::INFINITY, 1.0], &[9.0, 1.0]), &loose).contains("1 of 2"));
    }

    #[test]
    fn an_element_is_unwritten_where_every_launch_left_its_poison() {
        let launch = |poison: &[f64], after: &[f64]| {
            let (before, after) = (element::encode(Dtype::F32, poison), element::encode(Dtype::F32, after));
            DifferenceTally::of(Dtype::F32, &[1.0, 2.0, f64::NAN], &before, &after, ErrorScale::default())
        };
        // The first element happens to be poisoned with the right answer once; the last is never written.
        let both = [launch(&[1.0, 5.0, 6.0], &[1.0, 2.0, 6.0]), launch(&[3.0, 7.0, 8.0], &[1.0, 2.0, 8.0])];
        assert_eq!(unwritten(&both), 1);
        let right = [launch(&[1.0, 2.0, 6.0], &[1.0, 2.0, 0.0]), launch(&[3.0, 7.0, 8.0], &[1.0, 2.0, 0.0])];
        assert_eq!(unwritten(&right), 0);
        assert_eq!(unwritten(&[]), 0);
    }

    #[test]
    fn elements_of_several_buffers_and_chunks_are_counted_one_after_another() {
        let expected = vec![1.0; CHUNK + 2];
        let after = element::encode(Dtype::F32, &expected);
        let mut before = vec![0xff; after.len()];
        before[4 * CHUNK..4 * CHUNK + 4].copy_from_slice(&after[..4]);
        let tally = DifferenceTally::of(Dtype::F32, &expected, &before, &after, ErrorScale::default());
        assert_eq!(tally.untouched, [CHUNK as u64]);
        let both = tally.clone().and(tally);
        assert_eq!(both.untouched, [CHUNK as u64, 2 * CHUNK as u64 + 2]);
    }

    #[test]
    fn infinity_equals_infinity_of_the_same_sign() {
        let infinite = f64::INFINITY;
        assert!(matches!(
            outcome(&tally(&[infinite, -infinite, 1.0], &[infinite, -infinite, 1.0]), &TOLERANCE),
            CheckOutcome::Correct { .. }
        ));
        assert!(reason(&tally(&[infinite, 1.0], &[-infinite, 1.0]), &TOLERANCE).contains("1 of 2"));
    }

    #[test]
    fn a_difference_is_measured_by_the_size_of_the_answers() {
        let bound = AllClose { atol: 0.1, rtol: 0.01, ..AllClose::default() };
        let larger = ErrorScale { scale: 4.0, allclose: Some(bound) };
        let tally = DifferenceTally::of_values(&[10.5, 0.0], &[10.0, 0.4], larger);
        let differences = tally.differences(larger.allclose, Some(Law::Large), Some(0.25));
        assert_eq!((differences.max_abs, differences.times_error), (0.125, Some(0.5)));
        let farthest = differences.allclose.unwrap();
        assert!((farthest.ratio - 1.0).abs() < 1e-2, "0.5 of 0.4 + 0.1, 0.4 of 0.4 + 0.004: {farthest:?}");
        let exact =
            DifferenceTally::of_values(&[1.0], &[1.0], ErrorScale { allclose: Some(AllClose::default()), scale: 1.0 });
        let differences = exact.differences(Some(AllClose::default()), None, Some(0.0));
        assert_eq!((differences.allclose.unwrap().ratio, differences.times_error), (0.0, Some(0.0)));
        let off =
            DifferenceTally::of_values(&[2.0], &[1.0], ErrorScale { allclose: Some(AllClose::default()), scale: 1.0 });
        assert_eq!(off.differences(Some(AllClose::default()), None, None).allclose.unwrap().ratio, f64::MAX);
    }

    #[test]
    fn blocks_give_what_elements_one_by_one_give() {
        let bound = AllClose { atol: 1e-3, rtol: 1e-2, ..AllClose::default() };
        let expected: Vec<f64> = (0..203).map(|i| f64::from(i * 37 % 101) - 50.0).collect();
        let mut values: Vec<f64> = expected.iter().enumerate().map(|(i, e)| e + 1e-3 * (i % 7) as f64).collect();
        (values[0], values[90], values[91], values[202]) = (60.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY);
        for allclose in [None, Some(bound)] {
            let yardstick = ErrorScale { scale: 3.0, allclose };
            let blocks = DifferenceTally::of_values(&values, &expected, yardstick);
            let mut single = DifferenceTally { compared: 203, ..DifferenceTally::default() };
            values.iter().zip(&expected).for_each(|(&value, &expected)| single.add(value, expected, yardstick));
            assert!((blocks.squared_difference / single.squared_difference - 1.0).abs() < 1e-12);
            assert!((blocks.squared_reference / single.squared_reference - 1.0).abs() < 1e-12);
            let DifferenceTally { squared_difference, squared_reference, .. } = single;
            assert_eq!(DifferenceTally { squared_difference, squared_reference, ..blocks }, single);
            assert_eq!((single.nonfinite, single.finite, single.max_abs), (3, 200, 110.0 / 3.0));
        }
    }

    #[test]
    fn an_element_that_is_not_finite_or_far_off_counts_wherever_it_is_in_a_tile() {
        for at in [0, 7, 8, 63, 64, 100, 127, 128, 130] {
            for (value, right, nonfinite) in [
                (f64::NAN, 1.0, 1),
                (f64::INFINITY, 1.0, 1),
                (1.0, f64::INFINITY, 1),
                (1.0, f64::NAN, 1),
                (f64::NEG_INFINITY, f64::INFINITY, 1),
                (f64::INFINITY, f64::INFINITY, 0),
                (f64::NAN, f64::NAN, 0),
                (1e300, 1.0, 0),
            ] {
                let (mut expected, mut values) = (vec![1.0; 131], vec![1.0; 131]);
                (expected[at], values[at]) = (right, value);
                let tally = DifferenceTally::of_values(&values, &expected, ErrorScale::default());
                let case = format!("{value} where {right} is right, at {at}");
                assert_eq!((tally.nonfinite, tally.compared), (nonfinite, 131), "{case}");
                assert_eq!(differences(&tally).max_abs, if value == 1e300 { 1e300 } else { 0.0 }, "{case}");
                assert_eq!(differences(&tally).rel_l2 > 0.0, value == 1e300, "{case}");
            }
        }
    }

    #[test]
    fn elements_without_bytes_count_as_nan() {
        let expected: Vec<f64> = (0..150).map(f64::from).collect();
        let bytes = element::encode(Dtype::F32, &expected);
        let tally = |bytes: &[u8]| DifferenceTally::of(Dtype::F32, &expected, bytes, bytes, ErrorScale::default());
        assert_eq!((tally(&bytes).nonfinite, tally(&bytes).max_abs, tally(&bytes).finite), (0, 0.0, 150));
        let short = tally(&bytes[..4 * 129 + 3]);
        assert_eq!((short.nonfinite, short.finite, short.compared, short.max_abs), (21, 129, 150, 0.0));
    }

    #[test]
    fn values_without_a_bound_are_finite_where_as_many_expected_ones_are() {
        let nan = f64::NAN;
        let unbounded = |values: &[f64], expected: &[f64]| {
            let tally = DifferenceTally::of_unbounded(values, expected);
            (tally.nonfinite, tally.compared, tally.defects().is_empty(), differences(&tally).max_abs)
        };
        assert_eq!(unbounded(&[9.0, -9.0], &[1.0, 2.0]), (0, 2, true, 0.0));
        assert_eq!(unbounded(&[nan, 1.0, nan], &[1.0, nan, 1.0]), (1, 3, true, 0.0), "one more than expected");
        assert_eq!(unbounded(&[1.0], &[1.0, 2.0]), (1, 2, true, 0.0), "a missing element is not finite");
        assert_eq!(unbounded(&[nan], &[nan]), (0, 1, false, 0.0), "nothing finite");
    }

    #[test]
    fn only_elements_that_count_have_to_be_written() {
        let before = element::encode(Dtype::F32, &[1.0, 2.0, 3.0, 4.0, 5.0]);
        let after = element::encode(Dtype::F32, &[1.0, 9.0, 3.0, 4.0, 9.0]);
        let untouched = |runs: &[Range<usize>]| {
            let tally = DifferenceTally::of_values(&[0.0], &[0.0], ErrorScale::default());
            let tally = tally.of_launch(Dtype::F32, (&before, &after), runs);
            (tally.untouched.clone(), tally.compared, tally.unwritten().is_some())
        };
        assert_eq!(untouched(&[1..2, 4..5]), (vec![], 2, false));
        assert_eq!(untouched(&[0..2, 3..5]), (vec![0, 2], 4, false));
        assert_eq!(untouched(&[0..1, 2..4]), (vec![0, 1, 2], 3, true));
    }

    #[test]
    fn many_chunks_are_all_compared() {
        let expected = vec![1.0; 3 * CHUNK + 5];
        let mut values = expected.clone();
        *values.last_mut().unwrap() = 3.0;
        let differences = differences(&tally(&expected, &values));
        assert_eq!((differences.max_abs, differences.compared), (2.0, expected.len() as u64));
    }
}
