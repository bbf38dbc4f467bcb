//! CPU seconds of the host's part of one checked seed of attention: inputs, expected outputs, poison, wrong answers for the
//! tolerance, and the comparison of a launch's outputs. `GFLOP/s` counts the products of the reference, and is of one core.
//!
//! ```text
//! cargo bench -p ncugate-cuda --bench host [LARGEST S]
//! ```

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use ncugate_array::element;
use ncugate_cuda::gpu::{BufferSpec, VariantExtents};
use ncugate_cuda::prove::{
    Builtin, CaseDraw, CaseInputs, ReferenceSpec, ShapeSpec, expected_on_host, held_by_outputs, magnitudes,
};
use ncugate_model::{AllClose, Dtype, Law, NanRule, Role, ShapeName, Tolerance};
use ncugate_phase::config::{Init, RowOrder};
use std::collections::BTreeMap;
use std::hint::black_box;

/// Batch, heads, sequence and depth of each shape.
const SHAPES: [[usize; 4]; 4] = [[16, 12, 197, 64], [4, 16, 1024, 128], [2, 16, 3000, 64], [1, 8, 8192, 128]];

fn main() {
    let largest = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(4096);
    println!(
        "{:<24} {:>7} {:>9} {:>9} {:>7} {:>7} {:>8}",
        "shape", "inputs", "reference", "GFLOP/s", "poison", "nulls", "compare"
    );
    for extents in SHAPES.into_iter().filter(|extents| extents[2] <= largest) {
        for causal in ["false", "true"] {
            measure(extents, causal);
        }
    }
}

fn measure(extents: [usize; 4], causal: &str) {
    let shape = shape(extents);
    let options = [("causal".to_owned(), causal.to_owned())];
    let reference = ReferenceSpec::Builtin(Builtin::parse("sdpa", &options).unwrap());
    let allclose = Some(AllClose { atol: 1e-3, rtol: 1e-3, ..AllClose::default() });
    let tolerance = Tolerance { max_abs: Some(4e-3), allclose, ..Tolerance::default() };
    let (inputs, of_inputs) = timed(|| CaseInputs::under(Law::Declared, &reference, &shape, 1).unwrap());
    let (expected, of_reference) = timed(|| {
        let expected = expected_on_host(&reference, &shape, 1, &inputs.values).unwrap().unwrap();
        held_by_outputs(expected, &shape, NanRule::Refused).unwrap()
    });
    let mut other = expected.clone();
    other[0].values.reverse();
    let usual = magnitudes(&expected);
    let inputs = CaseInputs { values: Vec::new(), ..inputs };
    let draw = CaseDraw::new(Law::Declared, inputs, expected, &usual);
    let ((), of_poison) = timed(|| {
        black_box(draw.poisoned(&shape));
        black_box(draw.poisons(&shape));
    });
    let nulls = [draw.nulls(&shape, &tolerance), draw.nulls_of_other_seeds()].concat();
    let (said, of_nulls) = timed(|| draw.said_to_all(&nulls, &other, &shape, &tolerance));
    assert_eq!(said.len(), nulls.len());
    let answer = element::encode(Dtype::F16, &draw.expected[0].values);
    let extents_of_all = VariantExtents::default();
    let (_, of_comparison) = timed(|| draw.tally_bytes((&shape, &extents_of_all), 3, &answer, &tolerance));
    let [batch, heads, sequence, depth] = extents;
    let seen = if causal == "true" { (sequence + 1) as f64 / 2.0 } else { sequence as f64 };
    let products = 4.0 * (batch * heads * sequence * depth) as f64 * seen;
    println!(
        "{:<24} {of_inputs:>7.3} {of_reference:>9.3} {:>9.1} {of_poison:>7.3} {of_nulls:>7.3} {of_comparison:>8.3}",
        format!("{extents:?}{}", if causal == "true" { " causal" } else { "" }),
        products / of_reference / 1e9,
    );
}

/// The result, and the CPU seconds of all threads in it.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let started = cpu_seconds();
    let result = work();
    (result, cpu_seconds() - started)
}

/// CPU seconds of this process so far, in hundredths, as Linux counts them.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

fn shape(extents: [usize; 4]) -> ShapeSpec {
    let buffer = |name: &str, role| BufferSpec {
        name: name.to_owned(),
        dtype: Dtype::F16,
        extents: extents.to_vec(),
        init: (role == Role::Input).then_some(Init::Normal { mean: 0.0, std: 1.0 }),
        role,
        partial: None,
        part: Vec::new(),
        order: RowOrder::AsExpected,
    };
    let buffers =
        vec![buffer("q", Role::Input), buffer("k", Role::Input), buffer("v", Role::Input), buffer("o", Role::Output)];
    ShapeSpec {
        name: ShapeName("s".into()),
        dims: Vec::new(),
        buffers,
        scalars: BTreeMap::new(),
        bounds: BTreeMap::new(),
        checks: Vec::new(),
        varying: Vec::new(),
    }
}
