//! Keys of `[workload]` and the tables in it.

use super::init::{INIT, INIT_WORDS};
use super::{EXPRS, KeyKind, NAMES, Spec, TEXTS, key, words};
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

pub const LAWS: [(&str, Law); Law::ALL.len()] = {
    let mut laws = [("", Law::Declared); Law::ALL.len()];
    let mut at = 0;
    while at < Law::ALL.len() {
        laws[at] = (Law::ALL[at].name(), Law::ALL[at]);
        at += 1;
    }
    laws
};

keys! {
    WORKLOAD: WorkloadKeys = "[workload]", "The computation and its correctness. Required, except in phases whose variants are launches of ncu reports \
         (`match`).";
    seeds = key(
        KeyKind::List(&KeyKind::Whole(0)),
        "Seeds of the inputs; every one is a correctness case at every shape.",
    ).default("[0]");
    laws = key(
        KeyKind::List(&KeyKind::OneOf(&words(&LAWS))),
        "Distributions of the inputs with a normal `init` ([correctness](correctness.md#laws-of-inputs)).",
    ).otherwise("those that suit the reference");
    reference = key(
        KeyKind::Either(&[KeyKind::OneOf(&BUILTIN_NAMES), KeyKind::Table(&REFERENCE.spec)]),
        "Source of the expected outputs. Built-ins are evaluated in float64.",
    ).required();
    tolerance = key(
        KeyKind::Either(&[DERIVED_WORD, KeyKind::Table(&TOLERANCE.spec)]),
        "How far an output may be from the reference; every bound given must hold. `derived`: a bound for each case \
         ([correctness](correctness.md#which-tolerance)).",
    ).required();
    scalars = key(KeyKind::Table(&SCALARS), "Scalar arguments and options of the reference.").default("{}");
    shapes = key(KeyKind::Table(&SHAPES), "Problem sizes by name.").required();
    buffers = key(KeyKind::Table(&BUFFERS), "Device buffers by name.").required();
    flops = key(
        KeyKind::Expr,
        "Floating-point operations of one launch, over the dimensions: for TFLOP/s and the roofline.",
    ).otherwise("none");
    bytes = key(
        KeyKind::Expr,
        "Minimum bytes that a launch moves, over the dimensions: for the roofline, and as the lower limit of counted DRAM \
         bytes.",
    ).otherwise("none");
}

keys! {
    REFERENCE: ReferenceKeys = "reference = { ... }", "Exactly one of `builtin`, `entry`, `npy`, `python` and `command`, described in [references.md](references.md). \
         Options of a built-in are further keys: `causal` (sdpa), `transpose_b` (gemm), `op` = sum, max, min or mean \
         (reduce). The first two can be [conditions](#shapes) on dimensions.", Some(KeyKind::Param);
    builtin = key(KeyKind::OneOf(&BUILTIN_NAMES), "A built-in reference with options.");
    entry = key(KeyKind::Name, "Another kernel, launched with the same arguments, or with `args`.");
    source = key(
        KeyKind::Text,
        "The `.cu` of `entry`, built with the kernel's flags and no macros, or a cubin. By default `entry` is in the kernel's own \
         source, and the first screen says so.",
    );
    grid = key(EXPRS, "Grid of `entry`, over the dimensions.");
    block = key(EXPRS, "Block of `entry`, over the dimensions.");
    args = key(
        NAMES,
        "Arguments of `entry`: buffers, scalars, or dimensions.",
    ).otherwise("those of the kernel's first launch");
    npy = key(KeyKind::Text, "A NumPy file; its path has [names](#expressions) in braces.");
    python = key(KeyKind::Text, "A function of a Python file, `\"ref.py:softmax\"`, which returns the outputs.");
    params = key(
        NAMES,
        "Parameters of variants that `python` takes by name too. The outputs are computed for each combination of their values.",
    ).otherwise("none");
    command = key(TEXTS, "A program and its arguments.");
    timeout_s = key(KeyKind::Whole(1), "Time limit of one call of `python` or `command`, in seconds.").default("60");
}

const DERIVED_WORD: KeyKind = KeyKind::OneOf(&words(&DERIVED));

/// `outputs` and `shapes` of a tolerance.
pub static OWN_TOLERANCES: Spec = Spec {
    title: "tolerance.outputs, tolerance.shapes",
    doc: "`name = { atol = 1e-5, rtol = 1e-6 }`, or `name = \"derived\"`. An output's bound overrides a shape's, and a shape's overrides the general \
          one.",
    keys: &[],
    free: Some(KeyKind::Either(&[DERIVED_WORD, KeyKind::Table(&OWN_TOLERANCE.spec)])),
};

keys! {
    OWN_TOLERANCE: OwnToleranceKeys = "tolerance.outputs NAME = { ... }", "`atol`, `rtol` or both, or `check`. `{ atol = 0 }` requires equality, as for indices.";
    atol = key(KeyKind::Number, "As for all outputs.").default("0");
    rtol = key(KeyKind::Number, "As for all outputs.").default("0");
    check = key(KeyKind::Text, "As for all outputs; no bound applies to this output. Not for shapes.");
}

keys! {
    TOLERANCE: ToleranceKeys = "tolerance = { ... }", "At least one bound ([correctness](correctness.md#tolerance)).";
    max_abs = key(KeyKind::Number, "Largest absolute difference.");
    rel_l2 = key(KeyKind::Number, "L2 norm of the difference over the L2 norm of the reference.");
    atol = key(KeyKind::Number, "Every element is within `atol + rtol * |expected|`; 0 if only `rtol` is given.");
    rtol = key(KeyKind::Number, "See `atol`; 0 if only `atol` is given.");
    mismatches = key(
        KeyKind::Number,
        "Share of the elements that may exceed `atol` and `rtol`, from 0 to 0.05.",
    ).default("0");
    times_error = key(
        KeyKind::Number,
        "Largest difference, divided by the error of a plain evaluation of a built-in reference in the precision of its \
         buffers.",
    );
    outputs = key(
        KeyKind::Table(&OWN_TOLERANCES),
        "Outputs with separate `atol` and `rtol`; `max_abs` and `rel_l2` apply to all.",
    ).default("{}");
    shapes = key(
        KeyKind::Table(&OWN_TOLERANCES),
        "Shapes, by name or glob, with separate `atol` and `rtol`, for outputs without their own.",
    ).default("{}");
    check = key(
        KeyKind::Text,
        "A Python function that [judges the outputs](correctness.md#a-check), alone if there is no bound.",
    );
    allow_nan = key(
        KeyKind::Bool,
        "Whether the reference may contain NaN, where the output must be NaN too; at least half of an output is finite.",
    ).default("false");
    ill_conditioned = key(
        KeyKind::OneOf(&words(&ConditioningRule::WORDS)),
        "`inconclusive`: the reference is also computed for inputs perturbed by one rounding of their types. If the tolerance \
         rejects that answer, the case is inconclusive. Not for an `entry` or files.",
    ).otherwise("it is not tested");
    untested_tolerance = key(
        KeyKind::OneOf(&words(&UntestedTolerance::WORDS)),
        "`accept`: the phase can pass with an untested tolerance.",
    ).otherwise("the phase does not pass");
}

pub static SCALARS: Spec = Spec {
    title: "[workload.scalars]",
    doc: "`name = \"expression\"` is an f32; a table sets another type. Expressions see dimensions and the variant's \
          parameters.",
    keys: &[],
    free: Some(KeyKind::Either(&[KeyKind::Expr, KeyKind::Table(&SCALAR.spec)])),
};

keys! {
    SCALAR: ScalarKeys = "[workload.scalars] NAME = { ... }", "A scalar with its type.";
    r#type = key(
        KeyKind::OneOf(&words(&ScalarType::WORDS)),
        "Its C type: `int` for i32, `long long` for i64, `__half` for f16.",
    ).default("\"f32\"");
    value = key(KeyKind::Expr, "Its value.").required();
}

pub static SHAPES: Spec = Spec {
    title: "[workload.shapes]",
    doc: "`name = { B = 1, S = 512 }`: a problem size and its dimensions. Every shape has the same dimensions.",
    keys: &[],
    free: Some(KeyKind::Table(&DIMS)),
};

pub static DIMS: Spec = Spec {
    title: "[workload.shapes] NAME = { ... }",
    doc: "Dimension and extent, or a [list](#shapes) of extents. 0 is for flags.",
    keys: &[],
    free: Some(KeyKind::Either(&[KeyKind::Whole(0), KeyKind::List(&KeyKind::Whole(0))])),
};

pub static BUFFERS: Spec = Spec {
    title: "[workload.buffers]",
    doc: "`name = { dtype = \"f16\", shape = [\"S\", \"D\"] }`: a device buffer.",
    keys: &[],
    free: Some(KeyKind::Table(&BUFFER.spec)),
};

keys! {
    BUFFER: BufferKeys = "[workload.buffers] NAME = { ... }", "A device buffer.";
    dtype = key(
        KeyKind::Either(&[KeyKind::OneOf(&words(&DTYPES)), KeyKind::Expr]),
        "Type of an element. `complex64` is f32 with a last axis of 2, real and imaginary part. An expression over the \
         dimensions chooses it [by shape](#shapes); `'fp8-e4m3'` is quoted in it.",
    ).required();
    shape = key(
        EXPRS,
        "Extent of each axis, over the dimensions; of outputs with `reduce`, and of scratch, also over the variant's parameters and `sms`.",
    ).required();
    reduce = key(
        KeyKind::OneOf(&words(&Reduction::WORDS)),
        "How partial results are combined before the comparison, over the axes whose extents depend on the variant.",
    );
    compare = key(
        TEXTS,
        "The [part](correctness.md#a-part-of-an-output) of an output that counts, as slices over the dimensions: `[\"0:1\"]`, \
         `[\":M\", \":N\"]`.",
    ).otherwise("all of it");
    order = key(
        KeyKind::OneOf(&words(&RowOrder::WORDS)),
        "`any`: rows of an output, along the first axis, may be in [any order](correctness.md#rows-in-any-order).",
    ).otherwise("as the reference has them");
    role = key(
        KeyKind::OneOf(&words(&Role::WORDS)),
        "Its content before and after a launch ([buffers](#buffers)).",
    ).default("\"input\"");
    init = key(
        KeyKind::Either(&[KeyKind::OneOf(INIT_WORDS), KeyKind::Table(&INIT.spec)]),
        "Initial content. A word uses the defaults below. An output or scratch has no default; with `init` it has this content before every launch.",
    ).default("\"normal\"");
}
