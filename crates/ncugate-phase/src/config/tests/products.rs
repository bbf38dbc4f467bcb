//! Shapes as products of lists, and what depends on their dimensions: types, options of references, names in gates.

use super::{right, shown};
use crate::config::{BoundOf, BufferType, Phase, WorkloadReference, load};
use crate::plan::{Method, unroll};
use ncugate_fixtures::root;
use ncugate_model::Dtype;
use std::path::Path;

const TINY: &str = "tiny = { N = 64 }";
const BIG: &str = "big = { N = 4096 }";

fn names(phase: &Phase) -> Vec<&str> {
    phase.workload.shapes.iter().map(|shape| shape.name.0.as_str()).collect()
}

#[test]
fn lists_of_a_shape_are_a_product_and_its_names_have_their_values() {
    let phase = right(&[
        (TINY, "tiny = { N = [64, 128], MASK = [0, 1], K2 = [8] }"),
        (BIG, "big = { N = 4096, MASK = 1, K2 = 8 }"),
    ]);
    let product = ["tiny_n64_mask0_k2_8", "tiny_n64_mask1_k2_8", "tiny_n128_mask0_k2_8", "tiny_n128_mask1_k2_8", "big"];
    assert_eq!(names(&phase), product);
    let dims: Vec<(&str, i64)> = phase.workload.shapes[2].dims.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(dims, [("N", 128), ("MASK", 0), ("K2", 8)]);
    // a flag of 0 does not make a shape the smallest
    assert_eq!(phase.workload.smallest_shape().unwrap().name.0, "tiny_n64_mask0_k2_8");
    let big = right(&[(TINY, "tiny = { N = 64, MASK = 1 }"), (BIG, "big = { N = 4096, MASK = 0 }")]);
    assert_eq!(big.workload.smallest_shape().unwrap().name.0, "tiny");
}

#[test]
fn wrong_products_are_refused() {
    for (tiny, big, message) in [
        ("tiny = { N = [64, 64] }", BIG, "has 64 twice"),
        ("tiny = { N = [] }", BIG, "expected an array with at least one value"),
        ("tiny = { N = [-1] }", BIG, "expected a whole number of at least 0"),
        ("tiny = { N = [0, 64] }", BIG, "which gives 0 at shape `tiny_n0`"),
        ("tiny = { N = [64, 128] }", "tiny_n64 = { N = 4096 }", "two shapes have the name `tiny_n64`"),
        ("tiny = { N = [64], M = [1] }", BIG, "shape `big` has the dimensions N, but shape `tiny_n64_m1` has N, M"),
    ] {
        let said = shown(&[(TINY, tiny), (BIG, big)]);
        assert!(said.contains(message), "{tiny}: {said}");
    }
    let many: Vec<String> = (1..=40).map(|n| n.to_string()).collect();
    let list = many.join(", ");
    let said = shown(&[(TINY, &format!("tiny = {{ N = [{list}], M = [{list}] }}")), (BIG, "")]);
    assert!(said.contains("a product of more than 1000 shapes"), "{said}");
}

#[test]
fn shapes_of_gates_and_tolerances_can_be_globs() {
    let gate = |shapes: &str| {
        let require = format!("require = \"spills == 0\"\nshapes = {shapes}");
        let product = (TINY, "tiny = { N = [64, 128, 256] }");
        (product, ("require = \"spills == 0\"", require))
    };
    let (product, (from, to)) = gate("[\"tiny_*\", \"big\"]");
    let phase = right(&[product, (from, &to)]);
    let judged: Vec<&str> = phase.gates[0].shapes.iter().map(|shape| shape.0.as_str()).collect();
    assert_eq!(judged, ["tiny_n64", "tiny_n128", "tiny_n256", "big"]);
    let (product, (from, to)) = gate("[\"tiny_n{64,128}\", \"tiny*\"]");
    assert_eq!(right(&[product, (from, &to)]).gates[0].shapes.len(), 3);
    let (product, (from, to)) = gate("[\"huge*\"]");
    assert!(shown(&[product, (from, &to)]).contains("has \"huge*\", which matches no shape"));

    let tolerance = |shapes: &str| format!("tolerance = {{ atol = 1e-3, shapes = {{ {shapes} }} }}");
    let from = "tolerance = { max_abs = 0 }";
    let phase = right(&[gate("[\"big\"]").0, (from, &tolerance("\"tiny_n?*\" = { atol = 0.5 }"))]);
    let bounds: Vec<_> = phase.workload.own_bounds.iter().map(|bound| (bound.of.clone(), bound.atol)).collect();
    let of = |name: &str| (BoundOf::Shape(ncugate_model::ShapeName(name.into())), 0.5);
    assert_eq!(bounds, ["tiny_n64", "tiny_n128", "tiny_n256"].map(of));
    let twice = tolerance("\"tiny_*\" = { atol = 0.5 }, \"*64\" = { atol = 0.1 }");
    let said = shown(&[gate("[\"big\"]").0, (from, &twice)]);
    assert!(said.contains("shape `tiny_n64` has two bounds"), "{said}");
}

#[test]
fn types_depend_on_dimensions_and_stay_floats() {
    let (x, shapes) = ("x = { dtype = \"f32\"", [(TINY, "tiny = { N = 64, H = [0, 1] }"), (BIG, "")]);
    let typed = |dtype: &str| shown(&[shapes[0], shapes[1], (x, &format!("x = {{ dtype = \"{dtype}\""))]);
    assert_eq!(typed("f16 if H == 1 else f32"), "no error");
    assert_eq!(typed("'fp8-e4m3' if H == 1 else f32"), "no error");
    for (dtype, message) in [
        ("f16 if H == 1 else f33", "`f33` is not among the types and the dimensions"),
        ("f16 if H == 1 else N", "gives `64`, expected the name of a type"),
        ("f16 if H == 1 else i32", "has floats at some shapes and integers at others"),
        ("f33", "did you mean \"f32\"?"),
    ] {
        let said = typed(dtype);
        assert!(said.contains(message), "{dtype}: {said}");
    }
    let command = "[[baseline]]\nname = \"other\"\ncommand = [\"./other\"]\n\n[[gate]]";
    let typed = ("y = { dtype = \"f32\"", "y = { dtype = \"f16 if H == 1 else f32\"");
    let said = shown(&[shapes[0], shapes[1], typed, ("[[gate]]", command)]);
    assert!(said.contains("gets one type, but the type of `y` depends on the shape"), "{said}");
}

#[test]
fn a_flag_of_a_reference_can_be_a_condition_on_dimensions() {
    let reference = |causal: &str| {
        let buffers = "q = { dtype = \"f32\", shape = [\"N\"] }\nk = { dtype = \"f32\", shape = [\"N\"] }\nv = { dtype = \"f32\", shape = [\"N\"] }";
        shown(&[
            ("reference = \"copy\"", &format!("reference = {{ builtin = \"sdpa\", causal = {causal} }}")),
            ("x = { dtype = \"f32\", shape = [\"N\"] }", buffers),
            ("args = [\"x\", ", "args = [\"q\", "),
        ])
    };
    for right in ["true", "\"N == 64\"", "\"N > 64 and N < 100\""] {
        assert_eq!(reference(right), "no error", "{right}");
    }
    assert!(reference("\"M == 1\"").contains("`M` is not among the dimensions"));
    assert!(reference("\"N\"").contains("gives `64`, expected true or false"));
    assert!(reference("1").contains("expected one of true, false"));
}

#[test]
fn a_phase_has_types_masks_and_sizes_as_dimensions() {
    let path = Path::new("tests/gpu/traits/masks.toml");
    let phase = load(path, &root(), jiff::civil::date(2026, 6, 15)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(phase.workload.shapes.len(), 12);
    let options = vec![("causal".to_owned(), "CAUSAL == 1".to_owned())];
    assert_eq!(phase.workload.reference, WorkloadReference::Builtin { name: "sdpa".to_owned(), options });
    let q = &phase.workload.buffers[0];
    assert!(matches!(q.dtype, BufferType::ByShape(_)));
    let plan = unroll(&phase).unwrap_or_else(|e| panic!("{e}"));
    for variant in &plan.variants {
        let Method::Kernel(kernel) = &variant.method else { panic!("a kernel") };
        for (program, shape) in kernel.programs.iter().zip(&phase.workload.shapes) {
            let own = if variant.id.0 == "TYPE=bf16" { Dtype::Bf16 } else { Dtype::F16 };
            assert_eq!(program.left_out.is_none(), q.dtype.at(shape) == Ok(own), "{} {}", variant.id, shape.name);
        }
    }
    let bytes = phase.workload.bytes_of(&phase.workload.shapes[0], "q");
    assert_eq!(bytes, Some(2.0 * 77.0 * 64.0 * 2.0));
}
