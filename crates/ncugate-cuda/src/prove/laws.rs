//! Applies each law to the inputs that buffers declare.
//!
//! Only inputs declared as normal change: a range, a progression or a constant in a phase means something to its
//! kernel. Attention's laws keep answers at about the declared size: values are scaled down if a few keys take all of
//! the weight.

use super::reference::{BoundBuiltin, Sdpa};
use super::shape::ShapeSpec;
use ncugate_array::element;
use ncugate_array::generator::mix;
use ncugate_array::laws::{HIGH_SCORE, RISEN_SCORE, elements, fill, power, rows, scale_by, ties};
use ncugate_model::Law;
use ncugate_phase::config::Init;
use rayon::prelude::*;

/// The standard deviation of widely spread scores.
const WIDE_SCORE: f64 = 36.0;
/// Scale of values if one of them may be the whole answer.
const SMALLER: f64 = 0.25;
/// Elements changed by one task.
const CHUNK: usize = 1 << 14;

/// Turns `values`, drawn by the buffers' `init` and not yet rounded, into inputs under `law`.
pub fn apply(law: Law, builtin: Option<&BoundBuiltin>, shape: &ShapeSpec, seed: u64, values: &mut [Vec<f64>]) {
    let free = |index: usize| {
        let buffer = &shape.buffers[index];
        buffer.role.is_read() && matches!(buffer.init, None | Some(Init::Normal { .. }))
    };
    match (law, builtin) {
        (Law::Declared, _) => {}
        (_, Some(BoundBuiltin::Sdpa(sdpa))) if [sdpa.q, sdpa.k, sdpa.v].into_iter().all(free) => {
            attention(law, sdpa, seed, values);
            [sdpa.q, sdpa.k].into_iter().for_each(|index| within_range(shape, index, values));
        }
        (_, Some(BoundBuiltin::Sdpa(_))) => {}
        (_, Some(BoundBuiltin::Softmax(softmax))) if free(softmax.x) => {
            rows(law, softmax.width, seed, &mut values[softmax.x]);
            within_range(shape, softmax.x, values);
        }
        (_, Some(BoundBuiltin::Softmax(_))) => {}
        (_, Some(BoundBuiltin::Gemm(_) | BoundBuiltin::Reduce(_) | BoundBuiltin::Copy(_)) | None) => {
            // Only a built-in reference is known to accept any integers.
            let applies = |index: usize| free(index) && (builtin.is_some() || shape.buffers[index].dtype.has_nan());
            for index in (0..values.len()).filter(|&index| applies(index)) {
                elements(law, seed, &mut values[index]);
            }
        }
    }
}

/// Clamps finite values to the range of the dtype.
fn within_range(shape: &ShapeSpec, index: usize, values: &mut [Vec<f64>]) {
    let largest = element::largest(shape.buffers[index].dtype);
    values[index].par_chunks_mut(CHUNK).for_each(|chunk| {
        for value in chunk.iter_mut().filter(|value| value.is_finite() && value.abs() > largest) {
            *value = value.clamp(-largest, largest);
        }
    });
}

fn attention(law: Law, sdpa: &Sdpa, seed: u64, values: &mut [Vec<f64>]) {
    let (depth, keys) = (sdpa.depth, sdpa.keys);
    // A score is scale * q . k: one dimension of this size in both makes `score` of it.
    let reach = |score: f64| (score / sdpa.scale.abs().max(f64::MIN_POSITIVE)).sqrt();
    let (risen, high) = (reach(RISEN_SCORE), reach(HIGH_SCORE));
    let first = |row: &mut [f64], value: f64| row[0] = value;
    let sign = |row: usize| if row.is_multiple_of(2) { sdpa.scale.signum() } else { -sdpa.scale.signum() };
    let each = |values: &mut Vec<f64>, change: &(dyn Fn(usize, &mut [f64]) + Sync)| {
        values.par_chunks_exact_mut(depth).enumerate().for_each(|(row, values)| change(row, values));
    };
    let smaller = |values: &mut Vec<f64>| values.par_iter_mut().for_each(|v| *v *= SMALLER);
    match law {
        Law::Growing => {
            each(&mut values[sdpa.q], &|_, row| first(row, risen * sdpa.scale.signum()));
            let share = |key: usize| (key % keys) as f64 / (keys.max(2) - 1) as f64;
            each(&mut values[sdpa.k], &|key, row| first(row, risen * share(key)));
            smaller(&mut values[sdpa.v]);
        }
        Law::Shifted => {
            each(&mut values[sdpa.q], &|row, values| first(values, high * sign(row)));
            each(&mut values[sdpa.k], &|_, row| first(row, high));
        }
        Law::Large => {
            let wide = (WIDE_SCORE / (sdpa.scale.abs() * (depth as f64).sqrt()).max(f64::MIN_POSITIVE)).sqrt();
            each(&mut values[sdpa.q], &|row, values| scale_by(values, wide * power(-((row % 8) as i32))));
            each(&mut values[sdpa.k], &|_, row| scale_by(row, wide));
            smaller(&mut values[sdpa.v]);
        }
        Law::Outlier => {
            let one = |key: usize| mix(seed, (key / keys) as u64) % keys as u64 == (key % keys) as u64;
            each(&mut values[sdpa.k], &|key, row| {
                if one(key) {
                    scale_by(row, 16.0)
                }
            });
            smaller(&mut values[sdpa.v]);
        }
        Law::Ties => [sdpa.q, sdpa.k].into_iter().for_each(|index| values[index].par_chunks_mut(CHUNK).for_each(ties)),
        Law::Constant => fill(&mut values[sdpa.v], 1.0),
        Law::Zeros => [sdpa.q, sdpa.k].into_iter().for_each(|index| fill(&mut values[index], 0.0)),
        Law::Declared | Law::Masked => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::expected::ReferenceSpec;
    use super::super::inputs::CaseInputs;
    use super::super::reference::Builtin;
    use super::*;
    use ncugate_model::Dtype;
    use ncugate_model::Role;

    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;

    const EXTENTS: [usize; 4] = [1, 2, 64, 16];

    fn attention_shape() -> ShapeSpec {
        let input = |name| buffer(name, Dtype::F16, &EXTENTS, Role::Input);
        shape(vec![input("q"), input("k"), input("v"), buffer("o", Dtype::F16, &EXTENTS, Role::Output)])
    }

    fn drawn(law: Law) -> CaseInputs {
        let reference = ReferenceSpec::Builtin(Builtin::parse("sdpa", &[]).unwrap());
        CaseInputs::under(law, &reference, &attention_shape(), 3).unwrap()
    }

    fn scores(inputs: &CaseInputs) -> Vec<Vec<f64>> {
        let row = |buffer: usize, at: usize| &inputs.values[buffer][at * 16..][..16];
        let score = |q: usize, k: usize| row(0, q).iter().zip(row(1, k)).map(|(a, b)| a * b).sum::<f64>() / 4.0;
        (0..64).map(|q| (0..64).map(|k| score(q, k)).collect()).collect()
    }

    fn highest(row: &[f64]) -> f64 {
        row.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    #[test]
    fn scores_reach_where_an_exponential_without_a_maximum_overflows() {
        assert!(scores(&drawn(Law::Declared)).iter().all(|row| highest(row) < 11.0));
        for law in [Law::Growing, Law::Shifted] {
            let overflowing = scores(&drawn(law)).iter().filter(|row| highest(row) > 88.8).count();
            assert!(overflowing >= 32, "{law}: {overflowing} of 64 rows");
        }
        let shifted = scores(&drawn(Law::Shifted));
        assert!(shifted.iter().filter(|row| highest(row) < -88.0).count() >= 24, "and others underflow to nothing");
        let growing = scores(&drawn(Law::Growing));
        let first_tile = |row: &Vec<f64>| highest(&row[..32]);
        assert!(growing.iter().all(|row| highest(row) - first_tile(row) > 30.0), "later keys matter most");
    }

    #[test]
    fn every_law_of_attention_changes_inputs_and_keeps_answers_in_range() {
        let declared = drawn(Law::Declared);
        for law in Law::ALL.into_iter().filter(|law| !matches!(law, Law::Declared | Law::Masked)) {
            let inputs = drawn(law);
            assert_ne!(inputs, declared, "{law}");
            assert!(inputs.values.iter().flatten().all(|v| v.is_finite()), "{law}");
            assert_eq!(drawn(law), inputs, "{law} is a function of the seed");
        }
    }

    #[test]
    fn what_a_phase_fixes_stays_fixed() {
        let mut shape = attention_shape();
        shape.buffers[1].init = Some(Init::Uniform { low: 0.5, high: 1.5 });
        let reference = ReferenceSpec::Builtin(Builtin::parse("sdpa", &[]).unwrap());
        let declared = CaseInputs::draw(&shape, 3).unwrap();
        assert!(Law::ALL.iter().all(|law| CaseInputs::under(*law, &reference, &shape, 3).unwrap() == declared));
        let plain = |law| {
            let reference = ReferenceSpec::Builtin(Builtin::Copy);
            let mut shape = self::shape(vec![
                buffer("x", Dtype::F32, &[100], Role::Input),
                buffer("y", Dtype::F32, &[100], Role::Output),
            ]);
            shape.buffers[0].init = Some(Init::Arange { start: 0.0, step: 1.0 });
            CaseInputs::under(law, &reference, &shape, 0).unwrap().values[0].clone()
        };
        assert_eq!(plain(Law::Zeros), plain(Law::Declared));
    }

    #[test]
    fn rows_of_a_softmax_overflow_underflow_and_are_masked_in_part() {
        let shape = shape(vec![
            buffer("x", Dtype::F32, &[2, 64], Role::Input),
            buffer("y", Dtype::F32, &[2, 64], Role::Output),
        ]);
        let row = |law, row: usize| {
            let inputs = CaseInputs::under(law, &ReferenceSpec::Builtin(Builtin::Softmax), &shape, 1).unwrap();
            inputs.values[0][row * 64..][..64].to_vec()
        };
        assert!(highest(&row(Law::Shifted, 0)) > 88.8 && highest(&row(Law::Shifted, 1)) < -88.0);
        let masked = row(Law::Masked, 0).iter().filter(|v| v.is_infinite()).count();
        assert_eq!(masked, 21);
        assert!(row(Law::Ties, 0).iter().all(|v| [-1.0, 0.0, 1.0].contains(v)));
    }
}
