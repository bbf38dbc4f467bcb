//! Wrong answers that a tolerance should reject: built-in references with a fault in the answer, the inputs or the
//! arithmetic.
//!
//! The *nulls* are the mutants that no tolerance may accept: zeros, the mean, the answer to other inputs, an answer
//! off by one per cent, and one with a key or a row left out. The others show the resolution of a tolerance.

use super::check_buffers::have_equal_values;
use super::draw::CaseDraw;
use super::reference::{BoundBuiltin, BufferValues};
use super::shape::ShapeSpec;
use ncugate_array::arithmetic::{
    Exponential, KeySubset, Maximum, Rounding, SoftmaxArithmetic, SumArithmetic, plain_accumulator,
};
use ncugate_array::element;
use ncugate_model::Dtype;
use ncugate_model::MutantKind;

/// A fault in a built-in reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mutant {
    /// Its name in tables.
    pub name: &'static str,
    /// Whether no tolerance may accept it.
    pub standing: MutantKind,
    fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Plain,
    Zeros,
    Mean,
    OtherSeed,
    Off(f64),
    LargestElementZero,
    LastRowZero,
    /// The right answer to rounded inputs.
    Inputs(Dtype),
    /// The right answer to rounded values of attention.
    Values(Dtype),
    ValuesInt8,
    /// The keys, or the terms of sums, that take part.
    Kept(KeySubset),
    /// Sums of products and reductions.
    Sum(Dtype),
    /// Other arithmetic of scores and weights: attention and softmax.
    Factor(f64),
    Score(Dtype),
    Weight(Dtype),
    Exponential(Exponential),
    Maximum(Maximum),
    HalfExponential,
}

const fn mutant(name: &'static str, standing: MutantKind, fault: Fault) -> Mutant {
    Mutant { name, standing, fault }
}

/// Faults that apply to every reference. An answer off by one per cent is off by four roundings if the output's type
/// is too coarse for one per cent.
const COMMON: [Mutant; 9] = [
    mutant("plain evaluation", MutantKind::Honest, Fault::Plain),
    mutant("zeros", MutantKind::Null, Fault::Zeros),
    mutant("the mean everywhere", MutantKind::Null, Fault::Mean),
    mutant("another seed's output", MutantKind::Null, Fault::OtherSeed),
    mutant("output off by 1 %", MutantKind::Null, Fault::Off(0.01)),
    mutant("last row left out", MutantKind::Null, Fault::LastRowZero),
    mutant("output off by 0.3 %", MutantKind::Fault, Fault::Off(0.003)),
    mutant("largest element zero", MutantKind::Fault, Fault::LargestElementZero),
    mutant("bf16 inputs", MutantKind::Fault, Fault::Inputs(Dtype::Bf16)),
];

const fn score(name: &'static str, fault: Fault) -> Mutant {
    mutant(name, MutantKind::Fault, fault)
}

const SCORES: [Mutant; 10] = [
    score("one in 64 left out", Fault::Kept(KeySubset::ButOneIn(64))),
    score("second half left out", Fault::Kept(KeySubset::FirstHalf)),
    score("scale off by 0.3 %", Fault::Factor(1.003)),
    score("f16 scores", Fault::Score(Dtype::F16)),
    score("16-entry exponential table", Fault::Exponential(Exponential::Table(16))),
    score("64-entry exponential table", Fault::Exponential(Exponential::Table(64))),
    score("exponential by squaring", Fault::Exponential(Exponential::Squared)),
    score("no maximum subtracted", Fault::Maximum(Maximum::None)),
    score("maximum of the first 32 only", Fault::Maximum(Maximum::First(32))),
    score("no maximum, f16 exponentials", Fault::HalfExponential),
];

const ATTENTION: [Mutant; 4] = [
    mutant("last key left out", MutantKind::Null, Fault::Kept(KeySubset::ButLast)),
    score("bf16 weights", Fault::Weight(Dtype::Bf16)),
    mutant("int8 values", MutantKind::Fault, Fault::ValuesInt8),
    mutant("fp8-e4m3 values", MutantKind::Fault, Fault::Values(Dtype::Fp8E4m3)),
];

const SOFTMAX: [Mutant; 1] = [mutant("last column left out", MutantKind::Null, Fault::Kept(KeySubset::ButLast))];

const SUMS: [Mutant; 2] = [
    mutant("last term left out", MutantKind::Fault, Fault::Kept(KeySubset::ButLast)),
    mutant("f16 accumulation", MutantKind::Fault, Fault::Sum(Dtype::F16)),
];

impl Mutant {
    /// The mutants of a built-in reference: the honest one first, then the nulls.
    pub fn all(builtin: &BoundBuiltin) -> Vec<Self> {
        let own: Vec<Self> = match builtin {
            BoundBuiltin::Sdpa(_) => SCORES.iter().chain(&ATTENTION).copied().collect(),
            BoundBuiltin::Softmax(_) => SCORES.iter().chain(&SOFTMAX).copied().collect(),
            BoundBuiltin::Gemm(_) | BoundBuiltin::Reduce(_) => SUMS.to_vec(),
            BoundBuiltin::Copy(_) => Vec::new(),
        };
        let mut all: Vec<Self> = COMMON.into_iter().chain(own).collect();
        let place = |mutant: &Self| match mutant.standing {
            MutantKind::Honest => 0,
            MutantKind::Null => 1,
            MutantKind::Fault => 2,
        };
        all.sort_by_key(place);
        all
    }

    /// The mutant's answer to a draw of a shape, as the output holds it; `other` is the right answer to the inputs of
    /// another seed. `None` if it equals the right answer, which no tolerance could distinguish.
    pub fn answer(
        &self,
        builtin: &BoundBuiltin,
        shape: &ShapeSpec,
        draw: &CaseDraw,
        other: &[f64],
    ) -> Option<Vec<f64>> {
        let expected = draw.expected.first()?;
        let dtype = shape.buffers[expected.buffer].dtype;
        let answer = answer(self.fault, builtin, shape, draw, other)?;
        let held = |values: &[f64]| values.iter().map(|v| element::rounded(dtype, *v)).collect::<Vec<_>>();
        let (answer, right) = (held(&answer), held(&expected.values));
        (!have_equal_values(&answer, &right) || self.standing == MutantKind::Honest).then_some(answer)
    }
}

/// The answer with the fault; `None` if the fault does not apply to the reference or its types.
fn answer(fault: Fault, builtin: &BoundBuiltin, shape: &ShapeSpec, draw: &CaseDraw, other: &[f64]) -> Option<Vec<f64>> {
    let expected = draw.expected.first()?;
    let (buffer, right) = (&shape.buffers[expected.buffer], &expected.values);
    let finite = || right.iter().filter(|v| v.is_finite());
    let mut values = right.clone();
    match fault {
        Fault::Zeros => values.fill(0.0),
        Fault::Mean => values.fill(finite().sum::<f64>() / finite().count().max(1) as f64),
        Fault::OtherSeed => return Some(other.to_vec()).filter(|other| other.len() == right.len()),
        Fault::Off(share) => {
            let coarse = if share >= 0.01 { 4.0 * element::unit_roundoff(buffer.dtype) } else { 0.0 };
            values.iter_mut().for_each(|v| *v *= 1.0 + share.max(coarse));
        }
        Fault::LargestElementZero => {
            let finite = values.iter_mut().filter(|v| v.is_finite());
            if let Some(largest) = finite.max_by(|a, b| a.abs().total_cmp(&b.abs())) {
                *largest = 0.0;
            }
        }
        Fault::LastRowZero => {
            let width = buffer.extents.last().copied().unwrap_or(1).min(values.len());
            let start = values.len() - width;
            values[start..].fill(0.0);
        }
        Fault::Inputs(_) | Fault::Values(_) | Fault::ValuesInt8 => {
            return Some(builtin.compute(&inputs(fault, builtin, shape, &draw.inputs.values)?).1);
        }
        _ => return Some(computed(fault, buffer.dtype, builtin, &draw.inputs.values)),
    }
    Some(values)
}

/// Inputs with the fault; `None` if the fault does not apply to the reference or its types.
fn inputs(fault: Fault, builtin: &BoundBuiltin, shape: &ShapeSpec, inputs: &BufferValues) -> Option<Vec<Vec<f64>>> {
    let mut values = inputs.to_vec();
    let round = |values: &mut Vec<f64>, dtype| values.iter_mut().for_each(|v| *v = element::rounded(dtype, *v));
    match (fault, builtin) {
        (Fault::Inputs(dtype), _) => {
            let wide = |b: &crate::gpu::BufferSpec| b.role.is_read() && b.dtype.has_nan();
            for (index, _) in shape.buffers.iter().enumerate().filter(|(_, b)| wide(b)) {
                round(&mut values[index], dtype);
            }
        }
        (Fault::Values(dtype), BoundBuiltin::Sdpa(sdpa)) => round(&mut values[sdpa.v], dtype),
        (Fault::ValuesInt8, BoundBuiltin::Sdpa(sdpa)) => {
            let head = sdpa.keys * sdpa.value_depth;
            values[sdpa.v].chunks_exact_mut(head).for_each(int8);
        }
        _ => return None,
    }
    Some(values)
}

/// Rounds to 255 levels; the largest magnitude is one of them.
fn int8(values: &mut [f64]) {
    let largest = values.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()));
    if largest > 0.0 {
        values.iter_mut().for_each(|v| *v = (*v / largest * 127.0).round() / 127.0 * largest);
    }
}

/// The answer of another arithmetic.
fn computed(fault: Fault, dtype: Dtype, builtin: &BoundBuiltin, inputs: &BufferValues) -> Vec<f64> {
    let (mut sum, mut softmax) = (SumArithmetic::plain(dtype), SoftmaxArithmetic::plain(dtype));
    match fault {
        Fault::Kept(kept) => (sum.kept, softmax.kept) = (kept, kept),
        Fault::Sum(dtype) => sum.rounding = Rounding::To(dtype),
        Fault::Factor(factor) => softmax.factor = factor,
        Fault::Score(dtype) => softmax.score = Rounding::To(dtype),
        Fault::Weight(dtype) => softmax.weight = Rounding::To(dtype),
        Fault::Exponential(exponential) => softmax.exponential = exponential,
        // Weights overflow together with sums of single precision, whatever type they are rounded to.
        Fault::Maximum(maximum) => (softmax.maximum, softmax.weight) = (maximum, plain_accumulator(dtype)),
        Fault::HalfExponential => {
            let half = Rounding::To(Dtype::F16);
            (softmax.maximum, softmax.term, softmax.weight) = (Maximum::None, half, half);
        }
        _ => {}
    }
    builtin.compute_by(inputs, Some(sum), &softmax).1
}

#[cfg(test)]
mod tests {
    use super::super::mutation_test::MutationTest;
    use super::super::{Builtin, ReferenceSpec};
    use super::*;
    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;
    use ncugate_model::MutantOutcome;
    use ncugate_model::Role;
    use ncugate_model::{Law, Tolerance};

    /// The mutants of attention over 128 keys that a tolerance accepts, under these laws.
    fn accepted(max_abs: f64, laws: &[Law]) -> Vec<&'static str> {
        let extents = [1, 1, 128, 32];
        let input = |name| buffer(name, Dtype::F16, &extents, Role::Input);
        let shape = shape(vec![input("q"), input("k"), input("v"), buffer("o", Dtype::F16, &extents, Role::Output)]);
        let reference = ReferenceSpec::Builtin(Builtin::parse("sdpa", &[]).unwrap());
        let tolerance = Tolerance { max_abs: Some(max_abs), ..Tolerance::default() };
        let test = MutationTest::new(&reference, &shape, 0, laws, &tolerance).unwrap().unwrap();
        let cells = test.mutants().into_iter().map(|mutant| (mutant.name, test.judge(&mutant)));
        cells.filter(|(_, cell)| matches!(cell, MutantOutcome::Accepted { .. })).map(|(name, _)| name).collect()
    }

    const LAWS: [Law; 8] =
        [Law::Declared, Law::Growing, Law::Shifted, Law::Large, Law::Outlier, Law::Ties, Law::Constant, Law::Zeros];

    #[test]
    fn a_loose_tolerance_accepts_what_a_tight_one_finds() {
        let loose = accepted(1e-2, &[Law::Declared]);
        for name in ["plain evaluation", "no maximum subtracted", "bf16 weights", "f16 scores"] {
            assert!(loose.contains(&name), "{name} is not among {loose:?}");
        }
        assert!(accepted(2e-3, &[Law::Declared]).contains(&"no maximum subtracted"), "normal inputs never show it");
        let tight = accepted(2e-3, &LAWS);
        assert!(tight.contains(&"plain evaluation"), "{tight:?}");
        for name in [
            "zeros",
            "the mean everywhere",
            "another seed's output",
            "output off by 1 %",
            "last row left out",
            "last key left out",
            "no maximum subtracted",
            "maximum of the first 32 only",
            "no maximum, f16 exponentials",
            "f16 scores",
            "int8 values",
            "fp8-e4m3 values",
            "16-entry exponential table",
            "bf16 inputs",
        ] {
            assert!(!tight.contains(&name), "{name} is accepted: {tight:?}");
        }
    }

    #[test]
    fn a_tolerance_of_the_size_of_the_answer_accepts_nulls() {
        let anything = accepted(10.0, &[Law::Declared]);
        assert!(anything.contains(&"zeros") && anything.contains(&"last key left out"), "{anything:?}");
    }

    #[test]
    fn an_answer_that_is_the_right_one_is_not_a_mutant() {
        let shape =
            shape(vec![buffer("x", Dtype::I32, &[4, 8], Role::Input), buffer("y", Dtype::I32, &[4, 8], Role::Output)]);
        let reference = ReferenceSpec::Builtin(Builtin::Copy);
        let tolerance = Tolerance { max_abs: Some(0.0), ..Tolerance::default() };
        let test = MutationTest::new(&reference, &shape, 0, &[Law::Declared], &tolerance).unwrap().unwrap();
        let named = |name: &str| test.judge(test.mutants().iter().find(|m| m.name == name).unwrap());
        assert!(matches!(named("output off by 0.3 %"), MutantOutcome::Equivalent), "whole numbers do not show it");
        assert!(matches!(named("zeros"), MutantOutcome::Rejected { .. }));
        assert!(matches!(named("plain evaluation"), MutantOutcome::Accepted { .. }));
    }
}
