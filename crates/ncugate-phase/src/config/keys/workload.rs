//! Keys of `[workload]` and the tables in it.

use super::init::{INIT, INIT_WORDS};
use super::{EXPRS, KeyKind, NAMES, Spec, TEXTS, key, spec};
use crate::config::workload::ScalarType;
use ncugate_model::Dtype;
use ncugate_model::Law;

/// A pair of f32, on a last axis of its own.
pub const COMPLEX64: &str = "complex64";

const fn dtype_names() -> [&'static str; Dtype::ALL.len() + 1] {
    let mut names = [COMPLEX64; Dtype::ALL.len() + 1];
    let mut at = 0;
    while at < Dtype::ALL.len() {
        names[at] = Dtype::ALL[at].name();
        at += 1;
    }
    names
}
static DTYPES: [&str; Dtype::ALL.len() + 1] = dtype_names();

const fn scalar_names() -> [&'static str; ScalarType::ALL.len()] {
    let mut names = [""; ScalarType::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = ScalarType::ALL[at].0;
        at += 1;
    }
    names
}
pub(super) static SCALAR_TYPES: [&str; ScalarType::ALL.len()] = scalar_names();

const fn law_names() -> [&'static str; Law::ALL.len()] {
    let mut names = [""; Law::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Law::ALL[at].name();
        at += 1;
    }
    names
}
static LAWS: [&str; Law::ALL.len()] = law_names();

pub const BUILTINS: &[&str] = &["sdpa", "gemm", "softmax", "reduce", "copy"];
const REDUCTIONS: &[&str] = &["sum", "max", "min"];
const ROLES: &[&str] = &["input", "output", "inout", "scratch"];

pub static WORKLOAD: Spec = spec(
    "[workload]",
    "What is computed, and what counts as right.",
    &[
        key(
            "seeds",
            KeyKind::List(&KeyKind::Whole(0)),
            "Seeds of the inputs; every one is a correctness case at every shape.",
        )
        .default("[0]"),
        key(
            "laws",
            KeyKind::List(&KeyKind::OneOf(&LAWS)),
            "Laws that inputs are drawn by, those with a normal `init`: the smallest shape is checked under all of them, every other one under a law a seed, the first seed under the first. Timing and profiling keep the declared inputs.",
        )
        .default("those that suit the reference"),
        key(
            "reference",
            KeyKind::Either(&[KeyKind::OneOf(BUILTINS), KeyKind::Table(&REFERENCE)]),
            "Where the right answer comes from. Built-ins are evaluated in float64 on the host.",
        )
        .required(),
        key(
            "tolerance",
            KeyKind::Table(&TOLERANCE),
            "How far an output may be from the reference; every bound given must hold.",
        )
        .required(),
        key("scalars", KeyKind::Table(&SCALARS), "Scalar arguments and options of the reference.").default("{}"),
        key("shapes", KeyKind::Table(&SHAPES), "Problem sizes by name.").required(),
        key("buffers", KeyKind::Table(&BUFFERS), "Device buffers by name.").required(),
        key(
            "flops",
            KeyKind::Expr,
            "Floating-point operations of one launch, over the dimensions: for TFLOP/s and the roofline.",
        )
        .default("none"),
        key("bytes", KeyKind::Expr, "Bytes that a launch moves at least, over the dimensions: for the roofline, and counted DRAM bytes are held against them.")
            .default("none"),
    ],
);

pub static REFERENCE: Spec = Spec {
    title: "reference = { ... }",
    doc: "Exactly one of `builtin`, `entry`, `npy`, `python` and `command`; [references.md](references.md) says what each computes. Options of a built-in stand beside it: `causal` (sdpa), `transpose_b` (gemm), `op` = sum, max, min or mean (reduce).",
    keys: &[
        key("builtin", KeyKind::OneOf(BUILTINS), "A built-in reference with options."),
        key("entry", KeyKind::Name, "Another kernel, launched with the same arguments, or with `args`."),
        key(
            "source",
            KeyKind::Text,
            "The `.cu` of `entry`, built with the kernel's flags and no macros. Left out, `entry` is in the kernel's own source, which is said on the first screen.",
        ),
        key("grid", EXPRS, "Grid of `entry`, over the dimensions."),
        key("block", EXPRS, "Block of `entry`, over the dimensions."),
        key("args", NAMES, "Arguments of `entry`: buffers, scalars, or dimensions.")
            .default("those of the kernel's first launch"),
        key(
            "npy",
            KeyKind::Text,
            "A NumPy file; `{{ shape }}`, `{{ seed }}`, `{{ buffer }}` and dimensions in its path are replaced.",
        ),
        key(
            "python",
            KeyKind::Text,
            "A function of a Python file, `\"ref.py:softmax\"`: it gets inputs, dimensions and scalars by the names of its parameters \
             (float64 NumPy arrays; tensors where a parameter is annotated as `torch.Tensor`) and returns the outputs.",
        ),
        key(
            "command",
            TEXTS,
            "A program and its arguments. It is given a folder as its last argument, reads `inputs/NAME.npy` there and writes `outputs/NAME.npy`.",
        ),
        key("timeout_s", KeyKind::Whole(1), "One call of `python` or `command` may take this many seconds.")
            .default("60"),
    ],
    free: Some(KeyKind::Param),
};

/// `outputs` and `shapes` of a tolerance.
pub static OWN_TOLERANCES: Spec = Spec {
    title: "tolerance.outputs, tolerance.shapes",
    doc: "`name = { atol = 1e-5, rtol = 1e-6 }`. An output's own bound goes before a shape's, and a shape's before that of all.",
    keys: &[],
    free: Some(KeyKind::Table(&OWN_TOLERANCE)),
};

pub static OWN_TOLERANCE: Spec = spec(
    "tolerance.outputs NAME = { ... }",
    "At least one of the two. `{ atol = 0 }` is exact, as indices have to be.",
    &[
        key("atol", KeyKind::Number, "As for all outputs.").default("0"),
        key("rtol", KeyKind::Number, "As for all outputs.").default("0"),
    ],
);

pub static TOLERANCE: Spec = spec(
    "tolerance = { ... }",
    "At least one bound. Where answers under a law are larger than those to the declared inputs, differences are divided by how many times.",
    &[
        key("max_abs", KeyKind::Number, "Largest absolute difference."),
        key("rel_l2", KeyKind::Number, "L2 norm of the difference over the L2 norm of the reference."),
        key(
            "atol",
            KeyKind::Number,
            "Every element is within `atol + rtol * |expected|`; 0 where only `rtol` is given.",
        ),
        key("rtol", KeyKind::Number, "See `atol`; 0 where only `atol` is given."),
        key(
            "mismatches",
            KeyKind::Number,
            "Share of the elements that may be farther off than `atol` and `rtol` say, from 0 to 0.05.",
        )
        .default("0"),
        key(
            "times_error",
            KeyKind::Number,
            "Largest difference over the error of a plain evaluation of a built-in reference in the precision of its buffers.",
        ),
        key(
            "outputs",
            KeyKind::Table(&OWN_TOLERANCES),
            "Outputs with an `atol` and `rtol` of their own; outputs of integers beside outputs of floats are exact where they have none. `max_abs` and `rel_l2` hold over all outputs, where they are given.",
        )
        .default("{}"),
        key(
            "shapes",
            KeyKind::Table(&OWN_TOLERANCES),
            "Shapes with an `atol` and `rtol` of their own, for outputs that have none.",
        )
        .default("{}"),
        key(
            "allow_nan",
            KeyKind::Bool,
            "Whether the reference may have NaN; the output has to be NaN there too. At least half of an output has to be finite.",
        )
        .default("false"),
        key(
            "untested_tolerance",
            KeyKind::OneOf(&["accept"]),
            "`accept`: a tolerance that could not be tried on wrong answers does not keep the phase from passing. The first screen says so.",
        )
        .default("the phase does not pass"),
    ],
);

pub static SCALARS: Spec = Spec {
    title: "[workload.scalars]",
    doc: "`name = \"expression\"` is an f32; a table says the type. Expressions see dimensions and the variant's parameters.",
    keys: &[],
    free: Some(KeyKind::Either(&[KeyKind::Expr, KeyKind::Table(&SCALAR)])),
};

pub static SCALAR: Spec = spec(
    "[workload.scalars] NAME = { ... }",
    "A scalar with its type.",
    &[
        key(
            "type",
            KeyKind::OneOf(&SCALAR_TYPES),
            "C type: `float`, `double`, `__half`, `__nv_bfloat16`, `long long`, `unsigned long long`, `int`, `unsigned`, `short`, `unsigned short`, `signed char`, `unsigned char`, `bool`.",
        )
        .default("\"f32\""),
        key("value", KeyKind::Expr, "Its value.").required(),
    ],
);

pub static SHAPES: Spec = Spec {
    title: "[workload.shapes]",
    doc: "`name = { B = 1, S = 512 }`: a problem size and its dimensions. Every shape has the same dimensions.",
    keys: &[],
    free: Some(KeyKind::Table(&DIMS)),
};

pub static DIMS: Spec = Spec {
    title: "[workload.shapes] NAME = { ... }",
    doc: "Dimension and extent.",
    keys: &[],
    free: Some(KeyKind::Whole(1)),
};

pub static BUFFERS: Spec = Spec {
    title: "[workload.buffers]",
    doc: "`name = { dtype = \"f16\", shape = [\"S\", \"D\"] }`: a device buffer.",
    keys: &[],
    free: Some(KeyKind::Table(&BUFFER)),
};

pub static BUFFER: Spec = spec(
    "[workload.buffers] NAME = { ... }",
    "A device buffer.",
    &[
        key(
            "dtype",
            KeyKind::OneOf(&DTYPES),
            "Type of an element. `complex64` is f32 with a last axis of 2, real and imaginary part.",
        )
        .required(),
        key(
            "shape",
            EXPRS,
            "Extent of each axis, over the dimensions; of outputs with `reduce`, and of scratch, also over the variant's parameters.",
        )
        .required(),
        key(
            "reduce",
            KeyKind::OneOf(REDUCTIONS),
            "How partial results are put together before they are compared, over the axes whose extents follow the variant's parameters.",
        ),
        key(
            "role",
            KeyKind::OneOf(ROLES),
            "Inputs are filled and must not be written; outputs are written whole and compared; `inout` is filled, written and compared; scratch is cleared and not compared.",
        )
        .default("\"input\""),
        key(
            "init",
            KeyKind::Either(&[KeyKind::OneOf(INIT_WORDS), KeyKind::Table(&INIT)]),
            "How it is filled. A word takes the defaults below. An output or scratch with `init` holds that before every launch, where a kernel accumulates into it.",
        )
        .default("\"normal\" for `input` and `inout`"),
    ],
);
