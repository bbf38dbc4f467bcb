//! References against values worked out by hand or by plain loops.

use super::*;
use crate::gpu::BufferSpec;
use crate::gpu::fixtures::buffer;
use crate::prove::fill;
use crate::prove::fixtures::shape;
use ncugate_model::Dtype;
use ncugate_model::Role;
use ncugate_phase::config::Init;

fn input(name: &str, extents: &[usize]) -> BufferSpec {
    buffer(name, Dtype::F32, extents, Role::Input)
}

fn output(name: &str, extents: &[usize]) -> BufferSpec {
    buffer(name, Dtype::F32, extents, Role::Output)
}

fn parse(name: &str, options: &[(&str, &str)]) -> Result<Builtin, ReferenceError> {
    let options: Vec<_> = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Builtin::parse(name, &options)
}

fn compute(builtin: &Builtin, shape: &ShapeSpec, inputs: &[&[f64]]) -> Vec<f64> {
    let mut values: Vec<Vec<f64>> = inputs.iter().map(|v| v.to_vec()).collect();
    values.resize(shape.buffers.len(), Vec::new());
    builtin.bind(shape).unwrap().compute(&values).1
}

fn near(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }
}

#[test]
fn attention_of_two_tokens_by_hand() {
    let mut shape = shape(vec![
        input("q", &[1, 1, 2, 1]),
        input("k", &[1, 1, 2, 1]),
        input("v", &[1, 1, 2, 1]),
        output("o", &[1, 1, 2, 1]),
    ]);
    let inputs: [&[f64]; 3] = [&[1.0, 2.0], &[0.0, 1.0], &[10.0, 20.0]];
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let plain = parse("sdpa", &[]).unwrap();
    near(&compute(&plain, &shape, &inputs), &[10.0 + 10.0 * sigmoid(1.0), 10.0 + 10.0 * sigmoid(2.0)]);
    let causal = parse("sdpa", &[("causal", "true")]).unwrap();
    near(&compute(&causal, &shape, &inputs), &[10.0, 10.0 + 10.0 * sigmoid(2.0)]);
    let by_shape = parse("sdpa", &[("causal", "MASK == 1")]).unwrap();
    assert!(by_shape.bind(&shape).unwrap_err().to_string().contains("unknown name `MASK`"));
    for (mask, builtin) in [(0, &plain), (1, &causal)] {
        shape.dims = vec![("MASK".to_owned(), mask)];
        near(&compute(&by_shape, &shape, &inputs), &compute(builtin, &shape, &inputs));
    }
    shape.scalars.insert("scale".to_owned(), 0.5);
    near(&compute(&plain, &shape, &inputs), &[10.0 + 10.0 * sigmoid(0.5), 10.0 + 10.0 * sigmoid(1.0)]);
}

#[test]
fn attention_agrees_with_plain_loops_over_heads_and_blocks() {
    let (heads, rows, depth) = (3, 70, 20);
    let extents = [1, heads, rows, depth];
    let shape = shape(vec![
        input("q", &extents),
        input("k", &extents),
        input("v", &extents),
        input("k_scale", &[heads]),
        input("v_scale", &[heads]),
        output("o", &extents),
    ]);
    let normal = Init::Normal { mean: 0.0, std: 1.0 };
    let values: Vec<Vec<f64>> =
        shape.buffers[..5].iter().map(|b| fill::values(&normal, 3, &b.name, &b.extents).unwrap()).collect();
    let inputs: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
    let got = compute(&parse("sdpa", &[]).unwrap(), &shape, &inputs);
    let at = |b: usize, h: usize, r: usize, d: usize| values[b][(h * rows + r) * depth + d];
    let mut expected = Vec::new();
    for (h, (k_scale, v_scale)) in values[3].iter().zip(&values[4]).enumerate() {
        for r in 0..rows {
            let score = |t: usize| (0..depth).map(|d| at(0, h, r, d) * at(1, h, t, d)).sum::<f64>();
            let weights: Vec<f64> = (0..rows).map(|t| (score(t) * k_scale / (depth as f64).sqrt()).exp()).collect();
            let total: f64 = weights.iter().sum();
            for d in 0..depth {
                let sum: f64 = (0..rows).map(|t| weights[t] * at(2, h, t, d)).sum();
                expected.push(sum / total * v_scale);
            }
        }
    }
    assert_eq!(got.len(), expected.len());
    assert!(got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-10 * b.abs().max(1.0)));
}

#[test]
fn products_by_hand() {
    let a: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let plain = shape(vec![input("a", &[2, 3]), input("b", &[3, 2]), output("c", &[2, 2])]);
    let b: &[f64] = &[7.0, 8.0, 9.0, 10.0, 11.0, 12.0];
    near(&compute(&parse("gemm", &[]).unwrap(), &plain, &[a, b]), &[58.0, 64.0, 139.0, 154.0]);
    let transposed = shape(vec![input("a", &[2, 3]), input("b", &[2, 3]), output("c", &[2, 2])]);
    let bt: &[f64] = &[7.0, 9.0, 11.0, 8.0, 10.0, 12.0];
    let builtin = parse("gemm", &[("transpose_b", "true")]).unwrap();
    near(&compute(&builtin, &transposed, &[a, bt]), &[58.0, 64.0, 139.0, 154.0]);
}

#[test]
fn alpha_and_beta_scale_the_product() {
    let mut shape = shape(vec![input("a", &[1, 1]), input("b", &[1, 1]), input("c_in", &[1, 1]), output("c", &[1, 1])]);
    shape.scalars.extend([("alpha".to_owned(), 2.0), ("beta".to_owned(), 10.0)]);
    near(&compute(&parse("gemm", &[]).unwrap(), &shape, &[&[3.0], &[5.0], &[1.0]]), &[40.0]);
    shape.buffers.remove(2);
    assert!(parse("gemm", &[]).unwrap().bind(&shape).unwrap_err().to_string().contains("needs an input `c_in`"));
}

#[test]
fn products_wider_than_a_block_agree_both_ways() {
    let (m, k, n) = (19, 33, 530);
    let normal = Init::Normal { mean: 0.0, std: 1.0 };
    let (a, b) = (fill::values(&normal, 0, "a", &[m * k]).unwrap(), fill::values(&normal, 0, "b", &[k * n]).unwrap());
    let transposed: Vec<f64> = (0..n * k).map(|i| b[(i % k) * n + i / k]).collect();
    let plain = shape(vec![input("a", &[m, k]), input("b", &[k, n]), output("c", &[m, n])]);
    let turned = shape(vec![input("a", &[m, k]), input("b", &[n, k]), output("c", &[m, n])]);
    let builtin = parse("gemm", &[("transpose_b", "true")]).unwrap();
    near(&compute(&parse("gemm", &[]).unwrap(), &plain, &[&a, &b]), &compute(&builtin, &turned, &[&a, &transposed]));
}

#[test]
fn rows_by_hand() {
    let flat = shape(vec![input("x", &[2, 2]), output("y", &[2])]);
    let kept = shape(vec![input("x", &[2, 2]), output("y", &[2, 1])]);
    let x: &[f64] = &[1.0, 3.0, -5.0, 2.0];
    for (op, expected) in [("sum", [4.0, -3.0]), ("max", [3.0, 2.0]), ("min", [1.0, -5.0]), ("mean", [2.0, -1.5])] {
        let builtin = parse("reduce", &[("op", op)]).unwrap();
        near(&compute(&builtin, &flat, &[x]), &expected);
        near(&compute(&builtin, &kept, &[x]), &expected);
    }
    let same = shape(vec![input("x", &[2, 2]), output("y", &[2, 2])]);
    near(&compute(&parse("copy", &[]).unwrap(), &same, &[x]), x);
    let e = std::f64::consts::E;
    let softmax = compute(&parse("softmax", &[]).unwrap(), &same, &[&[1000.0, 1001.0, 0.0, 0.0]]);
    near(&softmax, &[1.0 / (1.0 + e), e / (1.0 + e), 0.5, 0.5]);
}

#[test]
fn buffers_are_found_by_role_when_names_differ() {
    let renamed = shape(vec![output("result", &[2]), input("data", &[2])]);
    let bound = parse("copy", &[]).unwrap().bind(&renamed).unwrap();
    assert_eq!(bound.compute(&[vec![], vec![1.0, 2.0]]), (0, vec![1.0, 2.0]));
}

#[test]
fn misfits_are_named() {
    let error = |name: &str, shape: &ShapeSpec| parse(name, &[]).unwrap().bind(shape).unwrap_err().to_string();
    let q = [1, 2, 8, 4];
    let bad = shape(vec![input("q", &q), input("k", &[1, 2, 8, 5]), input("v", &q), output("o", &q)]);
    assert_eq!(
        error("sdpa", &bad),
        "reference `sdpa` at shape `s`: `k` has extents [1, 2, 8, 5], expected [1, 2, 8, 4]"
    );
    let flat = shape(vec![input("q", &[8]), input("k", &q), input("v", &q), output("o", &q)]);
    assert!(error("sdpa", &flat).contains("expected [B, H, S, D]"));
    let missing = shape(vec![input("q", &q), output("o", &q)]);
    assert!(error("sdpa", &missing).contains("needs an input buffer named `k`"));
    let two = shape(vec![input("x", &[2]), output("y", &[2]), output("z", &[2])]);
    assert!(error("copy", &two).contains("output `z` would be unchecked"));
    let mut varying = shape(vec![input("q", &q), input("k", &q), input("v", &q), output("o", &q)]);
    varying.varying.push("scale".to_owned());
    assert!(error("sdpa", &varying).contains("depends on a variant's parameters"));
}

#[test]
fn names_and_options_are_checked() {
    assert!(parse("spda", &[]).unwrap_err().to_string().contains("did you mean `sdpa`?"));
    assert!(parse("sdpa", &[("causal", "yes or")]).unwrap_err().to_string().contains("causal = true or false"));
    assert!(parse("reduce", &[("op", "product")]).is_err());
    assert!(parse("copy", &[("op", "sum")]).unwrap_err().to_string().contains("no options"));
    for name in Builtin::NAMES {
        assert_eq!(parse(name, &[]).unwrap().name(), name);
    }
}
