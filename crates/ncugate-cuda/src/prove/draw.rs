//! The inputs of a correctness case under one law, with the expected answer and the scales for comparing with it.

use super::conditioning::DerivedBound;
use super::expected::ExpectedOutput;
use super::inputs::CaseInputs;
use super::partial;
use super::poison::{Poison, PoisonKey};
use super::shape::ShapeSpec;
use crate::gpu::VariantExtents;
use ncugate_array::compare::{DifferenceTally, ErrorScale, unwritten};
use ncugate_array::dense::FiniteValues;
use ncugate_array::element;
use ncugate_model::{
    AllClose, BoundUnit, CheckOutcome, Defect, Differences, Dtype, Law, ReferenceShift, Tolerance, WrongElement,
};
use std::sync::OnceLock;

/// Factor between the largest value of an output's type and the outputs that a law of the default may cause.
const HEADROOM: f64 = 8.0;

/// The largest finite magnitude of each expected output.
pub fn magnitudes(expected: &[ExpectedOutput]) -> Vec<f64> {
    expected.iter().map(|output| FiniteValues::of(&output.values).largest).collect()
}

/// Inputs under one law and their expected outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseDraw {
    pub law: Law,
    pub inputs: CaseInputs,
    pub expected: Vec<ExpectedOutput>,
    /// The [`magnitudes`] of the expected outputs.
    pub(super) largest: Vec<f64>,
    /// Magnitude of each output relative to that for the declared inputs, at least 1.
    scales: Vec<f64>,
    /// The further answers of a reference that takes parameters of variants.
    others: Vec<Self>,
    /// Error of a plain evaluation, relative to the scale; `None` if no bound uses it.
    plain_error: Option<f64>,
    /// The derived bound of the output, if one is derived.
    derived: Option<DerivedBound>,
    /// How far one rounding of the inputs moves the expected outputs, if that counts.
    moved: Option<ReferenceShift>,
    /// The poison for timed launches, drawn on first use.
    poison: OnceLock<Poison>,
    /// The two poisons for checks, drawn on first use.
    poisons: OnceLock<[Poison; 2]>,
}

/// The result of one case's launches on one draw.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawResult {
    /// The differences of the worse launch.
    pub differences: Differences,
    /// Defects under any tolerance.
    pub defects: Vec<Defect>,
    /// The element that is most wrong, if the outputs are wrong and an element is.
    pub element: Option<WrongElement>,
}

impl CaseDraw {
    /// A draw whose answers are scaled relative to those for the declared inputs; `usual` has the [`magnitudes`] of
    /// those.
    pub fn new(law: Law, inputs: CaseInputs, expected: Vec<ExpectedOutput>, usual: &[f64]) -> Self {
        let scale = |(at, largest): (usize, &f64)| match usual.get(at) {
            Some(usual) if *usual > 0.0 => (largest / usual).max(1.0),
            Some(_) | None => 1.0,
        };
        let largest = magnitudes(&expected);
        let scales = largest.iter().enumerate().map(scale).collect();
        let (poison, poisons) = (OnceLock::new(), OnceLock::new());
        let (others, plain_error, derived, moved) = (Vec::new(), None, None, None);
        Self { law, inputs, expected, largest, scales, others, plain_error, derived, moved, poison, poisons }
    }

    /// The same with the further answers of a reference that takes parameters of variants.
    #[must_use]
    pub fn with_others(mut self, shape: &ShapeSpec, others: Vec<Vec<ExpectedOutput>>) -> Self {
        // Only functions that judge outputs read inputs.
        let bytes = if shape.checks.is_empty() { Vec::new() } else { self.inputs.bytes.clone() };
        let inputs = CaseInputs { bytes, values: Vec::new() };
        let draw = |expected: Vec<ExpectedOutput>| {
            let usual = magnitudes(&expected);
            Self::new(self.law, inputs.clone(), expected, &usual)
        };
        self.others = others.into_iter().map(draw).collect();
        self
    }

    /// The expected outputs, and the further answers of a reference that takes parameters of variants.
    pub fn answers(&self) -> impl Iterator<Item = &[ExpectedOutput]> {
        std::iter::once(self).chain(&self.others).map(|draw| draw.expected.as_slice())
    }

    /// Error of a plain evaluation, relative to the scale; `None` if no bound uses it.
    pub const fn plain_error(&self) -> Option<f64> {
        self.plain_error
    }

    /// The same with a known error of a plain evaluation.
    #[must_use]
    pub fn with_plain_error(self, plain_error: Option<f64>) -> Self {
        Self { plain_error, ..self }
    }

    /// The derived bound of the output, if one is derived.
    pub const fn derived(&self) -> Option<DerivedBound> {
        self.derived
    }

    /// The same with a known derived bound of the output.
    #[must_use]
    pub fn with_derived(self, derived: Option<DerivedBound>) -> Self {
        Self { derived, ..self }
    }

    /// The draw with the answer of a variant.
    pub fn of(&self, extents: &VariantExtents) -> &Self {
        extents.answer.checked_sub(1).and_then(|at| self.others.get(at)).unwrap_or(self)
    }

    /// The same with the error of `plain`, the answers of a plain evaluation; at least half a unit in the last place
    /// of the largest answer.
    #[must_use]
    pub fn with_plain(mut self, shape: &ShapeSpec, plain: &[ExpectedOutput]) -> Self {
        let of_output = |(at, plain): (usize, &ExpectedOutput)| {
            let dtype = shape.buffers[plain.buffer].dtype;
            let yardstick = ErrorScale { scale: self.scales[at], allclose: None };
            let error = DifferenceTally::of_values(&plain.values, &self.expected[at].values, yardstick);
            let largest = self.largest[at] / self.scales[at];
            error.differences(None, None, None).max_abs.max(element::unit_roundoff(dtype) * largest)
        };
        self.plain_error = Some(plain.iter().enumerate().map(of_output).fold(0.0, f64::max));
        self
    }

    /// The same with the distance to `perturbed`, the answers to inputs perturbed by one rounding.
    #[must_use]
    pub fn with_perturbed(mut self, shape: &ShapeSpec, perturbed: &[ExpectedOutput], tolerance: &Tolerance) -> Self {
        self.moved = Some(self.differences(&self.tally_values(shape, perturbed, tolerance), tolerance).into());
        self
    }

    /// Two poisons for the outputs, from a fresh key, shared by all kernels launched on this draw. A kernel meets
    /// each of them once. Drawing them again for each kernel took most of the checking time.
    pub fn poisons(&self, shape: &ShapeSpec) -> &[Poison; 2] {
        self.poisons
            .get_or_init(|| Poison::draw(shape, &self.expected, PoisonKey::random()).pair(shape, PoisonKey::random()))
    }

    /// Buffer contents before a timed launch: inputs, state, and poison in all other outputs. The poison is drawn on
    /// first use.
    pub fn poisoned(&self, shape: &ShapeSpec) -> Vec<&[u8]> {
        let Poison(poison) = self.poison.get_or_init(|| Poison::draw(shape, &self.expected, PoisonKey::random()));
        let inputs = self.inputs.bytes.iter();
        inputs.zip(poison).map(|(input, poison)| if poison.is_empty() { &**input } else { &**poison }).collect()
    }

    /// Buffer contents before a launch whose answer is not compared: other inputs, with fresh poison like that of
    /// this draw.
    pub fn disguised(&self, shape: &ShapeSpec, inputs: CaseInputs) -> Vec<Vec<u8>> {
        let Poison(poison) = Poison::draw(shape, &self.expected, PoisonKey::random());
        let both = inputs.bytes.into_iter().zip(poison);
        both.map(|(input, poison)| if poison.is_empty() { input } else { poison }).collect()
    }

    /// Whether a law makes outputs infinite or almost so, compared with the draw of the declared inputs: honest partial
    /// results overflow there too.
    pub fn exceeds(&self, declared: &Self, shape: &ShapeSpec) -> bool {
        let outputs = self.expected.iter().zip(&declared.expected).zip(self.largest.iter().zip(&declared.largest));
        outputs.into_iter().any(|((output, usual), (largest, usual_largest))| {
            let dtype = shape.buffers[output.buffer].dtype;
            FiniteValues::of(&output.values).count < FiniteValues::of(&usual.values).count
                || largest > usual_largest && *largest > element::largest(dtype) / HEADROOM
        })
    }

    /// The error scale of the output at that index.
    pub fn yardstick(&self, shape: &ShapeSpec, output: usize, tolerance: &Tolerance) -> ErrorScale {
        let scale = self.scales[output];
        let allclose = shape.allclose(self.expected[output].buffer, tolerance).map(|bound| match bound.unit {
            BoundUnit::One => bound,
            BoundUnit::Derived => {
                // Without a derived bound, nothing but equality is right.
                let own = self.derived.map_or((0.0, 0.0), |own| (own.absolute, own.relative));
                let (atol, rtol) = (bound.atol * own.0 / scale, bound.rtol * own.1);
                AllClose { atol, rtol, unit: BoundUnit::One, ..bound }
            }
        });
        ErrorScale { scale, allclose }
    }

    /// Compares values, as their dtype holds them, with the expected ones; for answers without a launch.
    pub fn compare(&self, shape: &ShapeSpec, answers: &[ExpectedOutput], tolerance: &Tolerance) -> DrawResult {
        let tally = self.tally_values(shape, answers, tolerance);
        let refusal =
            if shape.checks.is_empty() { None } else { self.refusals(shape, &[answers.to_vec()]).pop().flatten() };
        let defects = tally.defects().into_iter().chain(refusal).collect();
        DrawResult { differences: self.differences(&tally, tolerance), defects, element: None }
    }

    fn tally_values(&self, shape: &ShapeSpec, answers: &[ExpectedOutput], tolerance: &Tolerance) -> DifferenceTally {
        answers.iter().enumerate().fold(DifferenceTally::default(), |tally, (at, answer)| {
            let values = partial::held(&shape.buffers[answer.buffer], &answer.values);
            tally.and(self.tally(shape, at, &values, tolerance))
        })
    }

    /// The first output whose content before a launch the tolerance accepts, so that a kernel that does nothing would
    /// pass. Only outputs with content before a launch are considered.
    pub fn unmoved<'s>(&self, shape: &'s ShapeSpec, tolerance: &Tolerance) -> Option<&'s str> {
        let outputs = self.expected.iter().enumerate();
        let mut state = outputs.filter(|(_, output)| shape.buffers[output.buffer].is_state());
        state.find_map(|(at, output)| {
            let buffer = &shape.buffers[output.buffer];
            let before = element::decode(buffer.dtype, &self.inputs.bytes[output.buffer]);
            let before = partial::compared_values(buffer, before);
            let tally = self.tally(shape, at, &before, tolerance);
            let mut defects = tally.defects();
            if !shape.checks.is_empty() {
                defects.extend(self.refusals(shape, &[self.with_output(shape, at, before)]).into_iter().flatten());
            }
            let outcome = CheckOutcome::of(self.differences(&tally, tolerance), defects, tolerance);
            matches!(outcome, CheckOutcome::Correct { .. }).then_some(buffer.name.as_str())
        })
    }

    /// Compares the bytes of a buffer, by its index in the shape, with the expected ones. Missing bytes count as NaN,
    /// and so does a buffer without expected values.
    pub fn tally_bytes(
        &self,
        (shape, extents): (&ShapeSpec, &VariantExtents),
        buffer: usize,
        bytes: &[u8],
        tolerance: &Tolerance,
    ) -> DifferenceTally {
        let Some(output) = self.expected.iter().position(|expected| expected.buffer == buffer) else {
            return DifferenceTally::of_values(&[f64::NAN], &[0.0], ErrorScale::default());
        };
        let spec = &shape.buffers[buffer];
        if !extents.buffers.contains_key(&buffer) && spec.is_compared_in_place() && !shape.is_unbounded(buffer) {
            return self.tally_part(shape, buffer, (0, bytes, bytes.len()), tolerance);
        }
        self.tally(shape, output, &partial::compared(spec, buffer, extents, bytes), tolerance)
    }

    /// Compares a part of a buffer of `length` bytes, starting at byte `at`, like [`Self::tally_bytes`]. Only for
    /// buffers whose elements are compared where they are.
    pub fn tally_part(
        &self,
        shape: &ShapeSpec,
        buffer: usize,
        (at, bytes, length): (usize, &[u8], usize),
        tolerance: &Tolerance,
    ) -> DifferenceTally {
        let Some(output) = self.expected.iter().position(|expected| expected.buffer == buffer) else {
            return DifferenceTally::of_values(&[f64::NAN], &[0.0], ErrorScale::default());
        };
        let (dtype, values) = (shape.buffers[buffer].dtype, &self.expected[output].values);
        let first = (at / dtype.size()).min(values.len());
        // Expected values past the last part have no bytes.
        let is_last = at + bytes.len() >= length;
        let end = if is_last { values.len() } else { (first + bytes.len() / dtype.size()).min(values.len()) };
        DifferenceTally::of_bytes(dtype, &values[first..end], bytes, self.yardstick(shape, output, tolerance))
    }

    /// The outcome of one launch on it, from the tally over all its outputs and a function's refusal.
    pub fn outcome(&self, tally: &DifferenceTally, refusal: Option<Defect>, tolerance: &Tolerance) -> CheckOutcome {
        let defects = tally.defects().into_iter().chain(refusal).collect();
        case_outcome(
            vec![DrawResult { differences: self.differences(tally, tolerance), defects, element: None }],
            tolerance,
        )
    }

    /// Compares the values of the output at that index.
    pub fn tally(&self, shape: &ShapeSpec, output: usize, values: &[f64], tolerance: &Tolerance) -> DifferenceTally {
        let expected = &self.expected[output];
        match shape.is_unbounded(expected.buffer) {
            true => DifferenceTally::of_unbounded(values, &expected.values),
            false => DifferenceTally::of_values(values, &expected.values, self.yardstick(shape, output, tolerance)),
        }
    }

    /// Whether the outputs of a launch are wrong beyond the tolerance.
    pub fn is_wrong(&self, tally: &DifferenceTally, tolerance: &Tolerance) -> bool {
        let outcome = CheckOutcome::of(self.differences(tally, tolerance), tally.defects(), tolerance);
        matches!(outcome, CheckOutcome::Wrong { .. })
    }

    /// The element of an output that is most wrong, and how wrong: the first that is NaN or infinite and should not be,
    /// else the one farthest beyond its bound, else the one with the largest error. None if rows are sorted before they
    /// are compared, or any finite value is right.
    pub fn worst_element(
        &self,
        shape: &ShapeSpec,
        output: usize,
        values: &[f64],
        tolerance: &Tolerance,
    ) -> Option<(f64, WrongElement)> {
        let (expected, yardstick) = (&self.expected[output], self.yardstick(shape, output, tolerance));
        let spec = &shape.buffers[expected.buffer];
        if shape.is_unbounded(expected.buffer) || !spec.order.is_default() {
            return None;
        }
        let error = |(value, expected): (&f64, &f64)| match (value.is_finite(), expected.is_finite()) {
            (true, true) => {
                let difference = (value - expected).abs();
                let allowed = yardstick.allclose.map_or(1.0, |bound| bound.allowed(*expected, yardstick.scale));
                if difference > 0.0 { difference / allowed } else { 0.0 }
            }
            _ if value == expected || value.is_nan() && expected.is_nan() => 0.0,
            _ => f64::INFINITY,
        };
        let errors = values.iter().zip(&expected.values).map(error).enumerate();
        let (at, error) = errors.reduce(|worst, next| if next.1 > worst.1 { next } else { worst })?;
        let mut index = place(at, &spec.compared_extents(), values.len());
        index.iter_mut().zip(&spec.part).for_each(|(index, part)| *index += part.start as u64);
        let element =
            WrongElement { buffer: spec.name.clone(), index, actual: values[at], expected: expected.values[at] };
        (error > 0.0).then_some((error, element))
    }

    pub(super) fn differences(&self, tally: &DifferenceTally, tolerance: &Tolerance) -> Differences {
        let plain_error = self.plain_error.filter(|_| tolerance.times_error.is_some());
        Differences { moved: self.moved, ..tally.differences(tolerance.allclose, Some(self.law), plain_error) }
    }

    /// The combined result of launches: elements count once, differences are those of the worse launch.
    pub fn result(&self, launches: &[DifferenceTally], place: Option<String>, tolerance: &Tolerance) -> DrawResult {
        let all = launches.iter().map(|tally| self.differences(tally, tolerance));
        let together = all.reduce(|a, b| Differences {
            nonfinite: a.nonfinite.max(b.nonfinite),
            compared: a.compared.min(b.compared),
            ..a.and(b, tolerance)
        });
        let differences = together.unwrap_or_default();
        let mut defects: Vec<Defect> = place.map(|place| Defect::OutOfBoundsWrite { place }).into_iter().collect();
        let elements = unwritten(launches);
        if elements > 0 {
            defects.push(Defect::Unwritten { elements, compared: differences.compared });
        }
        defects.extend(launches.iter().flat_map(DifferenceTally::defects).take(1));
        DrawResult { differences, defects, element: None }
    }
}

/// The outcome of a case from the `results` of its draws; wrong if there are no results.
pub fn case_outcome(results: Vec<DrawResult>, tolerance: &Tolerance) -> CheckOutcome {
    let mut defects: Vec<Defect> = Vec::new();
    let mut together: Option<Differences> = None;
    let mut elements: Vec<(Option<Law>, WrongElement)> = Vec::new();
    for result in results {
        elements.extend(result.element.map(|element| (result.differences.law, element)));
        let differences = together.map_or(result.differences, |all| all.and(result.differences, tolerance));
        let spoiled = !result.defects.is_empty() && defects.is_empty();
        together = Some(if spoiled { Differences { law: result.differences.law, ..differences } } else { differences });
        defects.extend(result.defects.into_iter().filter(|defect| !defects.contains(defect)).collect::<Vec<_>>());
    }
    let together = together.unwrap_or_default();
    // The reason names the law of the worst draw.
    let of_law = elements.iter().position(|(law, _)| *law == together.law).unwrap_or(0);
    let element = elements.into_iter().nth(of_law).map(|(_, element)| element);
    CheckOutcome::of(together, defects, tolerance).with_element(element)
}

/// The index in each dimension of an element; its number alone if the values do not have these extents.
fn place(at: usize, extents: &[usize], values: usize) -> Vec<u64> {
    if extents.is_empty() || extents.iter().product::<usize>() != values {
        return vec![at as u64];
    }
    let (mut rest, mut index) = (at, Vec::new());
    for extent in extents.iter().rev() {
        index.push((rest % extent) as u64);
        rest /= extent;
    }
    index.reverse();
    index
}

/// The values as an output of the dtype holds them.
pub fn as_held(dtype: Dtype, values: &[f64]) -> Vec<f64> {
    element::decode(dtype, &element::encode(dtype, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;
    use ncugate_model::AllClose;
    use ncugate_model::Role;

    const TOLERANCE: Tolerance = Tolerance {
        max_abs: Some(1e-2),
        rel_l2: None,
        allclose: None,
        times_error: None,
        nan: ncugate_model::NanRule::Refused,
        ill_conditioned: ncugate_model::ConditioningRule::Judged,
    };

    fn output(values: &[f64]) -> Vec<ExpectedOutput> {
        vec![ExpectedOutput { buffer: 0, values: values.to_vec() }]
    }

    fn draw(law: Law, values: &[f64], usual: f64) -> CaseDraw {
        CaseDraw::new(law, CaseInputs { bytes: vec![Vec::new()], values: vec![Vec::new()] }, output(values), &[usual])
    }

    #[test]
    fn larger_answers_may_be_off_by_as_much_more_and_smaller_ones_by_no_less() {
        let shape = shape(vec![buffer("y", Dtype::F32, &[2], Role::Output)]);
        let large = draw(Law::Large, &[100.0, 1.0], 10.0);
        let result = large.compare(&shape, &output(&[100.0625, 1.0]), &TOLERANCE);
        assert_eq!(result.differences.max_abs, 0.00625);
        let small = draw(Law::Constant, &[0.125, 0.0], 10.0);
        assert_eq!(small.compare(&shape, &output(&[0.25, 0.0]), &TOLERANCE).differences.max_abs, 0.125);
    }

    #[test]
    fn answers_that_almost_overflow_under_a_law_alone_exceed_the_declared_ones() {
        let shape = shape(vec![buffer("y", Dtype::F16, &[2], Role::Output)]);
        let declared = draw(Law::Declared, &[9000.0, f64::INFINITY], 9000.0);
        let exceeds = |values: &[f64]| draw(Law::Shifted, values, 9000.0).exceeds(&declared, &shape);
        assert!(!exceeds(&[8.0, 1.0]) && !exceeds(&[9000.0, f64::INFINITY]), "as large as the declared ones");
        assert!(exceeds(&[9001.0, 1.0]), "a partial result may be eight times as large");
        assert!(exceeds(&[f64::INFINITY, f64::INFINITY]), "and no further one is infinite");
    }

    #[test]
    fn parts_of_a_buffer_give_what_all_of_it_gives_and_missing_bytes_are_found() {
        let shape = shape(vec![buffer("y", Dtype::F32, &[20], Role::Output)]);
        let values: Vec<f64> = (0..20).map(f64::from).collect();
        let right = draw(Law::Declared, &values, 20.0);
        let mut given = values.clone();
        given[13] = 99.0;
        let bytes = element::encode(Dtype::F32, &given);
        let whole = right.tally_bytes((&shape, &VariantExtents::default()), 0, &bytes, &TOLERANCE);
        let outcome = |tally: &DifferenceTally| right.outcome(tally, None, &TOLERANCE);
        let parts = |bytes: &[u8], length: usize| {
            let part =
                |(number, part): (usize, &[u8])| right.tally_part(&shape, 0, (number * 32, part, length), &TOLERANCE);
            bytes.chunks(32).enumerate().map(part).fold(DifferenceTally::default(), DifferenceTally::and)
        };
        assert_eq!(outcome(&parts(&bytes, bytes.len())), outcome(&whole));
        let reason = |tally: DifferenceTally| format!("{:?}", outcome(&tally));
        assert!(reason(parts(&bytes, bytes.len())).contains("86"), "{}", reason(parts(&bytes, bytes.len())));
        let exact = element::encode(Dtype::F32, &values);
        assert!(matches!(outcome(&parts(&exact, 80)), CheckOutcome::Correct { .. }));
        assert!(reason(parts(&exact[..72], 72)).contains("2 of 20"), "{}", reason(parts(&exact[..72], 72)));
    }

    #[test]
    fn state_that_a_tolerance_cannot_tell_from_its_result_is_named() {
        let mut state = buffer("p", Dtype::F32, &[2], Role::Inout);
        state.init = Some(ncugate_phase::config::Init::Constant { value: 1.0 });
        let shape = shape(vec![state]);
        let inputs = CaseInputs::draw(&shape, 0).unwrap();
        let draw = |values: &[f64]| CaseDraw::new(Law::Declared, inputs.clone(), output(values), &[1.0]);
        assert_eq!(draw(&[1.005, 1.0]).unmoved(&shape, &TOLERANCE), Some("p"));
        assert_eq!(draw(&[1.5, 1.0]).unmoved(&shape, &TOLERANCE), None);
        assert!(draw(&[1.5, 1.0]).poisons(&shape)[0].0[0].is_empty(), "state is not poisoned");
        assert_eq!(draw(&[1.5, 1.0]).poisoned(&shape), inputs.bytes);
    }

    #[test]
    fn an_output_is_held_to_its_own_bound() {
        let mut shape = shape(vec![buffer("y", Dtype::F32, &[2], Role::Output)]);
        let bound = AllClose { atol: 1e-1, ..AllClose::default() };
        let tolerance = Tolerance { max_abs: None, allclose: Some(bound), ..TOLERANCE };
        let draw = draw(Law::Declared, &[1.0, 2.0], 2.0);
        let is_right = |shape: &ShapeSpec| {
            let result = draw.compare(shape, &output(&[1.0, 2.0625]), &tolerance);
            matches!(case_outcome(vec![result], &tolerance), CheckOutcome::Correct { .. })
        };
        assert!(is_right(&shape));
        shape.bounds.insert(0, AllClose { atol: 1e-2, ..bound });
        assert!(!is_right(&shape));
        shape.bounds.insert(0, AllClose { atol: 0.0, ..bound });
        assert!(!is_right(&shape), "exact");
    }

    /// A row-major output of two rows of three.
    #[test]
    fn the_most_wrong_element_is_named_by_row_and_column() {
        let mut shape = shape(vec![buffer("y", Dtype::F32, &[2, 3], Role::Output)]);
        let right = [1.0, 2.0, 3.0, 4.0, 500.0, 6.0];
        let draw = draw(Law::Declared, &right, 500.0);
        let worst = |shape: &ShapeSpec, values: [f64; 6]| {
            draw.worst_element(shape, 0, &values, &TOLERANCE).map(|(_, element)| element.to_string())
        };
        assert_eq!(worst(&shape, right), None);
        let off = [1.0, 2.5, 3.0, 4.0, 501.0, 6.0];
        assert_eq!(worst(&shape, off).unwrap(), "largest error at `y[1, 1]`: 501, expected 500");
        // one is far beyond its bound, the other within it
        shape.bounds.insert(0, AllClose { atol: 1e-3, rtol: 1e-2, ..AllClose::default() });
        assert_eq!(worst(&shape, off).unwrap(), "largest error at `y[0, 1]`: 2.50, expected 2");
        let nan = [1.0, 2.5, f64::NAN, 4.0, f64::INFINITY, 6.0];
        assert!(worst(&shape, nan).unwrap().starts_with("largest error at `y[0, 2]`: NaN, expected 3"), "{nan:?}");
        let (_, element) = draw.worst_element(&shape, 0, &nan, &TOLERANCE).unwrap();
        let result = DrawResult {
            differences: Differences { max_abs: 1.0, compared: 6, law: Some(Law::Declared), ..Differences::default() },
            defects: Vec::new(),
            element: Some(element),
        };
        let outcome = case_outcome(vec![result], &TOLERANCE);
        let CheckOutcome::Wrong { reason, .. } = &outcome else { unreachable!() };
        assert!(
            reason.ends_with("exceeds the tolerance 1e-2; largest error at `y[0, 2]`: NaN, expected 3"),
            "{reason}"
        );
        let again = outcome.judged_by(&TOLERANCE);
        assert_eq!(format!("{again:?}"), format!("{outcome:?}"), "the reason stays when it is judged again");
        let text = serde_json::to_string(&outcome).unwrap();
        let read: CheckOutcome = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{read:?}"), format!("{outcome:?}"), "NaN has a form in JSON");
        let older = text.replace(&text[text.find(",\"element\"").unwrap()..text.len() - 1], "");
        assert!(matches!(serde_json::from_str(&older), Ok(CheckOutcome::Wrong { element: None, .. })), "{older}");
    }

    #[test]
    fn a_plain_error_is_that_of_rounding_at_least() {
        let shape = shape(vec![buffer("y", Dtype::F16, &[2], Role::Output)]);
        let tolerance = Tolerance { max_abs: None, times_error: Some(2.0), ..TOLERANCE };
        let exact = draw(Law::Declared, &[1.0, 0.5], 1.0).with_plain(&shape, &output(&[1.0, 0.5]));
        let times = |value: f64| exact.compare(&shape, &output(&[value, 0.5]), &tolerance).differences.times_error;
        assert_eq!((times(1.0), times(1.0 + 2f64.powi(-10))), (Some(0.0), Some(2.0)));
        let coarse = draw(Law::Declared, &[1.0, 0.5], 1.0).with_plain(&shape, &output(&[1.0, 0.25]));
        assert_eq!(coarse.plain_error, Some(0.25));
    }

    #[test]
    fn a_case_is_as_wrong_as_its_worst_draw_and_names_it() {
        let result = |law, max_abs, defects| DrawResult {
            differences: Differences { max_abs, compared: 2, law: Some(law), ..Differences::default() },
            defects,
            element: None,
        };
        let far = vec![result(Law::Declared, 0.001, Vec::new()), result(Law::Growing, 0.5, Vec::new())];
        let CheckOutcome::Wrong { reason, differences, .. } = case_outcome(far, &TOLERANCE) else { unreachable!() };
        assert_eq!(reason, "under growing inputs: max_abs 5.000e-1 exceeds the tolerance 1e-2");
        assert_eq!(differences.compared, 4);
        let unwritten = vec![Defect::Unwritten { elements: 1, compared: 2 }];
        let holes = vec![result(Law::Zeros, 0.0, unwritten), result(Law::Declared, 0.001, Vec::new())];
        let CheckOutcome::Wrong { reason, .. } = case_outcome(holes, &TOLERANCE) else { unreachable!() };
        assert!(reason.contains("1 of 2 output elements were never written"), "{reason}");
        assert!(matches!(case_outcome(Vec::new(), &TOLERANCE), CheckOutcome::Wrong { .. }), "nothing proves nothing");
    }

    #[test]
    fn right_bytes_are_correct_and_poison_or_missing_bytes_are_wrong() {
        let shape = shape(vec![buffer("y", Dtype::F32, &[2], Role::Output)]);
        let draw = draw(Law::Declared, &[1.0, 2.0], 2.0);
        let outcome = |values: &[f32]| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let tally = draw.tally_bytes((&shape, &VariantExtents::default()), 0, &bytes, &TOLERANCE);
            draw.outcome(&tally, None, &TOLERANCE)
        };
        assert!(matches!(outcome(&[1.0, 2.0]), CheckOutcome::Correct { .. }));
        for wrong in [&[1.0, 3.0][..], &[1.0, f32::NAN], &[1.0], &[]] {
            assert!(matches!(outcome(wrong), CheckOutcome::Wrong { .. }), "{wrong:?}");
        }
    }

    #[test]
    fn both_launches_of_a_draw_have_to_be_right() {
        let draw = draw(Law::Declared, &[1.0, 2.0], 2.0);
        let shape = shape(vec![buffer("y", Dtype::F32, &[2], Role::Output)]);
        let launch = |values: &[f64]| draw.tally(&shape, 0, values, &TOLERANCE);
        let result = draw.result(&[launch(&[1.0, 2.0]), launch(&[1.0, 2.5])], None, &TOLERANCE);
        assert_eq!((result.differences.max_abs, result.differences.compared), (0.5, 2));
        let result = draw.result(&[launch(&[1.0, f64::NAN]), launch(&[1.0, 2.0])], None, &TOLERANCE);
        assert_eq!(result.differences.nonfinite, 1);
    }
}
