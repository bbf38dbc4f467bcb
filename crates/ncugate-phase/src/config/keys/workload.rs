//! Keys of `[workload]` and the tables in it.

use super::init::{INIT, INIT_WORDS};
use super::{EXPRS, KeyKind, NAMES, TEXTS, key, words};
use crate::config::builtin::BUILTIN_NAMES;
use crate::config::{Reduction, RowOrder, ScalarType, UntestedTolerance};
use ncugate_model::{BoundUnit, ConditioningRule, Dtype, Law, Role};

/// Types of elements: the type of a number, and the last axis that the type adds to the shape.
pub const DTYPES: [(&str, (Dtype, Option<&str>)); Dtype::ALL.len() + 1] = {
    // A complex number is a pair of f32, on an additional last axis.
    let mut types = [("complex64", (Dtype::F32, Some("2"))); Dtype::ALL.len() + 1];
    let mut at = 0;
    while at < Dtype::ALL.len() {
        types[at] = (Dtype::ALL[at].name(), (Dtype::ALL[at], None));
        at += 1;
    }
    types
};

/// The tolerance that is derived for each case.
pub const DERIVED: [(&str, BoundUnit); 1] = [("derived", BoundUnit::Derived)];

keys! {
    /// The computation and its correctness. Required, except in phases whose variants are launches of ncu reports
    /// (`match`).
    WORKLOAD: WorkloadKeys = "[workload]";
    /// Seeds of the inputs; every one is a correctness case at every shape.
    seeds = key(KeyKind::List(&KeyKind::Whole(0))).default("[0]");
    /// Distributions of the inputs with a normal `init` ([correctness](correctness.md#laws-of-inputs)).
    laws = key(KeyKind::List(&KeyKind::OneOf(&words(&Law::WORDS)))).otherwise("those that suit the reference");
    /// Source of the expected outputs. Built-ins are evaluated in float64.
    reference = key(KeyKind::Either(&[KeyKind::OneOf(&BUILTIN_NAMES), KeyKind::Table(&REFERENCE.spec)])).required();
    /// How far an output may be from the reference; every bound given must hold. `derived`: a bound for each case
    /// ([correctness](correctness.md#which-tolerance)).
    tolerance = key(KeyKind::Either(&[DERIVED_WORD, KeyKind::Table(&TOLERANCE.spec)])).required();
    /// Scalar arguments and options of the reference.
    scalars = key(KeyKind::Table(&SCALARS)).default("{}");
    /// Problem sizes by name.
    shapes = key(KeyKind::Table(&SHAPES)).required();
    /// Device buffers by name.
    buffers = key(KeyKind::Table(&BUFFERS)).required();
    /// Floating-point operations of one launch, over the dimensions: for TFLOP/s and the roofline.
    flops = key(KeyKind::Expr).otherwise("none");
    /// Minimum bytes that a launch moves, over the dimensions: for the roofline, and as the lower limit of counted
    /// DRAM bytes.
    bytes = key(KeyKind::Expr).otherwise("none");
}

keys! {
    /// Exactly one of `builtin`, `entry`, `npy`, `python` and `command`, described in [references.md](references.md).
    /// Options of a built-in are further keys: `causal` (sdpa), `transpose_b` (gemm), `op` = sum, max, min or mean
    /// (reduce). The first two can be [conditions](#shapes) on dimensions.
    REFERENCE: ReferenceKeys = "reference = { ... }", KeyKind::Param;
    /// A built-in reference with options.
    builtin = key(KeyKind::OneOf(&BUILTIN_NAMES));
    /// Another kernel, launched with the same arguments, or with `args`.
    entry = key(KeyKind::Name);
    /// The `.cu` of `entry`, built with the kernel's flags and no macros, or a cubin. By default `entry` is in the
    /// kernel's own source, and the first screen says so.
    source = key(KeyKind::Text);
    /// Grid of `entry`, over the dimensions.
    grid = key(EXPRS);
    /// Block of `entry`, over the dimensions.
    block = key(EXPRS);
    /// Arguments of `entry`: buffers, scalars, or dimensions.
    args = key(NAMES).otherwise("those of the kernel's first launch");
    /// A NumPy file; its path has [names](#expressions) in braces.
    npy = key(KeyKind::Text);
    /// A function of a Python file, `"ref.py:softmax"`, which returns the outputs.
    python = key(KeyKind::Text);
    /// Parameters of variants that `python` takes by name too. The outputs are computed for each combination of their
    /// values.
    params = key(NAMES).otherwise("none");
    /// A program and its arguments.
    command = key(TEXTS);
    /// Time limit of one call of `python` or `command`, in seconds.
    timeout_s = key(KeyKind::Whole(1)).default("60");
}

const DERIVED_WORD: KeyKind = KeyKind::OneOf(&words(&DERIVED));

names! {
    /// `name = { atol = 1e-5, rtol = 1e-6 }`, or `name = "derived"`. An output's bound overrides a shape's, and a
    /// shape's overrides the general one.
    OWN_TOLERANCES = "tolerance.outputs, tolerance.shapes", KeyKind::Either(&[DERIVED_WORD, KeyKind::Table(&OWN_TOLERANCE.spec)]);
}

keys! {
    /// `atol`, `rtol` or both, or `check`. `{ atol = 0 }` requires equality, as for indices.
    OWN_TOLERANCE: OwnToleranceKeys = "tolerance.outputs NAME = { ... }";
    /// As for all outputs.
    atol = key(KeyKind::Number).default("0");
    /// As for all outputs.
    rtol = key(KeyKind::Number).default("0");
    /// As for all outputs; no bound applies to this output. Not for shapes.
    check = key(KeyKind::Text);
}

keys! {
    /// At least one bound ([correctness](correctness.md#tolerance)).
    TOLERANCE: ToleranceKeys = "tolerance = { ... }";
    /// Largest absolute difference.
    max_abs = key(KeyKind::Number);
    /// L2 norm of the difference over the L2 norm of the reference.
    rel_l2 = key(KeyKind::Number);
    /// Every element is within `atol + rtol * |expected|`; 0 if only `rtol` is given.
    atol = key(KeyKind::Number);
    /// See `atol`; 0 if only `atol` is given.
    rtol = key(KeyKind::Number);
    /// Share of the elements that may exceed `atol` and `rtol`, from 0 to 0.05.
    mismatches = key(KeyKind::Number).default("0");
    /// Largest difference, divided by the error of a plain evaluation of a built-in reference in the precision of its
    /// buffers.
    times_error = key(KeyKind::Number);
    /// Outputs with separate `atol` and `rtol`; `max_abs` and `rel_l2` apply to all.
    outputs = key(KeyKind::Table(&OWN_TOLERANCES)).default("{}");
    /// Shapes, by name or glob, with separate `atol` and `rtol`, for outputs without their own.
    shapes = key(KeyKind::Table(&OWN_TOLERANCES)).default("{}");
    /// A Python function that [judges the outputs](correctness.md#a-check), alone if there is no bound.
    check = key(KeyKind::Text);
    /// Whether the reference may contain NaN, where the output must be NaN too; at least half of an output is finite.
    allow_nan = key(KeyKind::Bool).default("false");
    /// `inconclusive`: the reference is also computed for inputs perturbed by one rounding of their types. If the
    /// tolerance rejects that answer, the case is inconclusive. Not for an `entry` or files.
    ill_conditioned = key(KeyKind::OneOf(&words(&ConditioningRule::WORDS))).otherwise("it is not tested");
    /// `accept`: the phase can pass with an untested tolerance.
    untested_tolerance = key(KeyKind::OneOf(&words(&UntestedTolerance::WORDS))).otherwise("the phase does not pass");
}

names! {
    /// `name = "expression"` is an f32; a table sets another type. Expressions see dimensions and the variant's
    /// parameters.
    SCALARS = "[workload.scalars]", KeyKind::Either(&[KeyKind::Expr, KeyKind::Table(&SCALAR.spec)]);
}

keys! {
    /// A scalar with its type.
    SCALAR: ScalarKeys = "[workload.scalars] NAME = { ... }";
    /// Its C type: `int` for i32, `long long` for i64, `__half` for f16.
    r#type = key(KeyKind::OneOf(&words(&ScalarType::WORDS))).default("\"f32\"");
    /// Its value.
    value = key(KeyKind::Expr).required();
}

names! {
    /// `name = { B = 1, S = 512 }`: a problem size and its dimensions. Every shape has the same dimensions.
    SHAPES = "[workload.shapes]", KeyKind::Table(&DIMS);
}

names! {
    /// Dimension and extent, or a [list](#shapes) of extents. 0 is for flags.
    DIMS = "[workload.shapes] NAME = { ... }", KeyKind::Either(&[KeyKind::Whole(0), KeyKind::List(&KeyKind::Whole(0))]);
}

names! {
    /// `name = { dtype = "f16", shape = ["S", "D"] }`: a device buffer.
    BUFFERS = "[workload.buffers]", KeyKind::Table(&BUFFER.spec);
}

keys! {
    /// A device buffer.
    BUFFER: BufferKeys = "[workload.buffers] NAME = { ... }";
    /// Type of an element. `complex64` is f32 with a last axis of 2, real and imaginary part. An expression over the
    /// dimensions chooses it [by shape](#shapes); `'fp8-e4m3'` is quoted in it.
    dtype = key(KeyKind::Either(&[KeyKind::OneOf(&words(&DTYPES)), KeyKind::Expr])).required();
    /// Extent of each axis, over the dimensions; of outputs with `reduce`, and of scratch, also over the variant's
    /// parameters and `sms`.
    shape = key(EXPRS).required();
    /// How partial results are combined before the comparison, over the axes whose extents depend on the variant.
    reduce = key(KeyKind::OneOf(&words(&Reduction::WORDS)));
    /// The [part](correctness.md#a-part-of-an-output) of an output that counts, as slices over the dimensions:
    /// `["0:1"]`, `[":M", ":N"]`.
    compare = key(TEXTS).otherwise("all of it");
    /// `any`: rows of an output, along the first axis, may be in [any order](correctness.md#rows-in-any-order).
    order = key(KeyKind::OneOf(&words(&RowOrder::WORDS))).otherwise("as the reference has them");
    /// Its content before and after a launch ([buffers](#buffers)).
    role = key(KeyKind::OneOf(&words(&Role::WORDS))).default("\"input\"");
    /// Initial content. A word uses the defaults below. An output or scratch has no default; with `init` it has this
    /// content before every launch.
    init = key(KeyKind::Either(&[KeyKind::OneOf(INIT_WORDS), KeyKind::Table(&INIT.spec)])).default("\"normal\"");
}
