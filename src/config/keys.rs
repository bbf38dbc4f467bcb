//! Every key a phase may have: its kind, default and meaning, in one place.
//!
//! The reader refuses what is not here, the JSON Schema and the tables of `docs/config.md` are made from it.

use super::workload::Dtype;

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A text.
    Text,
    /// A name: letters, digits and `_ . - + =`.
    Name,
    /// A text that is an expression over names in scope, or a number.
    Expr,
    /// A minijinja template over a variant's parameters.
    Template,
    /// A requirement of a gate.
    Requirement,
    /// `true` or `false`.
    Bool,
    /// A whole number, at least this.
    Whole(i64),
    /// A number.
    Number,
    /// A day.
    Date,
    /// A parameter's value: a truth value, a number, or a short text.
    Param,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// An array.
    List(&'static Kind),
    /// A table.
    Table(&'static Spec),
    /// A table of which any part may be given.
    Part(&'static Spec),
    /// One of several kinds.
    Either(&'static [Kind]),
}

/// A key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// As written.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// Whether the file has to have it.
    pub required: bool,
    /// What holds when the file does not have it.
    pub default: Option<&'static str>,
    /// What it means.
    pub doc: &'static str,
}

/// The keys of a table.
#[derive(Debug)]
pub struct Spec {
    /// How the file writes the table (`[bench]`, `[[gate]]`).
    pub title: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Keys with a fixed name.
    pub keys: &'static [Key],
    /// What a key of any other name holds; none when other names are errors.
    pub free: Option<Kind>,
}

impl Spec {
    /// The declared key of that name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl Key {
    const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }

    const fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, required: false, default: None, doc }
}

const fn spec(title: &'static str, doc: &'static str, keys: &'static [Key]) -> Spec {
    Spec { title, doc, keys, free: None }
}

const TEXTS: Kind = Kind::List(&Kind::Text);
const NAMES: Kind = Kind::List(&Kind::Name);
const EXPRS: Kind = Kind::List(&Kind::Expr);
const TEMPLATES: Kind = Kind::List(&Kind::Template);

const fn dtype_names() -> [&'static str; Dtype::ALL.len()] {
    let mut names = [""; Dtype::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Dtype::ALL[at].name();
        at += 1;
    }
    names
}
static DTYPES: [&str; Dtype::ALL.len()] = dtype_names();

/// Built-in references.
pub const BUILTINS: &[&str] = &["sdpa", "gemm", "softmax", "reduce", "copy"];
const INITS: &[&str] = &["normal", "uniform", "arange", "constant"];
const ROLES: &[&str] = &["input", "output", "scratch"];
const SCALAR_TYPES: &[&str] = &["f32", "f64", "i32", "i64", "u32"];

/// The file.
pub static ROOT: Spec = spec(
    "the file",
    "One phase: one experiment.",
    &[
        key("phase", Kind::Table(&PHASE), "Name, title and objective.").required(),
        key("build", Kind::Table(&BUILD), "How variants are compiled."),
        key("bench", Kind::Table(&BENCH), "How latency is measured."),
        key("profile", Kind::Table(&PROFILE), "How counters are collected."),
        key("workload", Kind::Table(&WORKLOAD), "What is computed, and what counts as right.").required(),
        key("kernel", Kind::Table(&KERNEL), "The kernel that is swept."),
        key("sweep", Kind::Table(&SWEEP), "Parameter values to combine."),
        key("variant", Kind::List(&Kind::Table(&VARIANT)), "A variant named by itself."),
        key(
            "baseline",
            Kind::List(&Kind::Table(&VARIANT)),
            "What candidates are compared with; the first is `baseline` in requirements.",
        ),
        key("gate", Kind::List(&Kind::Table(&GATE)), "One requirement."),
        key("tier", Kind::List(&Kind::Table(&TIER)), "A named group of gates, from the easiest tier to the hardest."),
        key("stage", Kind::List(&Kind::Table(&STAGE)), "A step of a staged plan, in order."),
        key("fallback", Kind::Table(&FALLBACK), "What to use when required gates fail."),
        key(
            "precondition",
            Kind::List(&Kind::Table(&PRECONDITION)),
            "A go/no-go condition, checked before anything is built.",
        ),
        key("waiver", Kind::List(&Kind::Table(&WAIVER)), "A gate that is let pass for a while."),
    ],
);

/// `[phase]`.
pub static PHASE: Spec = spec("[phase]", "Name, title and objective.", &[
    key("name", Kind::Name, "Short name; runs and reports are kept in folders of this name.").required(),
    key("title", Kind::Text, "Title for people.").default("the name"),
    key(
        "objective",
        Kind::Either(&[Kind::Text, Kind::Table(&OBJECTIVE)]),
        "The metric that the selected variant is best at, among correct candidates. A text takes the direction from the metric; a table says it.",
    )
    .default("\"latency_p50\""),
    key("objective_shape", Kind::Name, "The shape at which the objective is read.").default("the last declared shape"),
    key("recording", Kind::Text, "Folder of the run kept in the repository, which is judged where there is no GPU.")
        .default("none"),
]);

/// `objective = { ... }`.
pub static OBJECTIVE: Spec = spec(
    "objective = { ... }",
    "Exactly one of the two.",
    &[
        key("minimise", Kind::Text, "Less of this metric is better."),
        key("maximise", Kind::Text, "More of this metric is better."),
    ],
);

/// `[build]`.
pub static BUILD: Spec = spec(
    "[build]",
    "How variants are compiled.",
    &[
        key("nvcc", Kind::Text, "The compiler.").default("`nvcc` on `PATH`"),
        key("arch", Kind::Text, "Architecture, such as `sm_90`.").default("the GPU's own"),
    ],
);

/// `[bench]`.
pub static BENCH: Spec = spec(
    "[bench]",
    "How latency is measured. Correctness is checked at every shape, whatever `shapes` says.",
    &[
        key("warmup", Kind::Whole(0), "Untimed graph launches before the first sample.").default("5"),
        key("rounds", Kind::Whole(1), "Samples of a variant at a shape; rounds are interleaved over variants.")
            .default("60"),
        key(
            "max_rounds",
            Kind::Whole(1),
            "Samples at most: where noise leaves a required latency gate open, the variants it compares are timed in more rounds, up to so many.",
        )
        .default("240"),
        key(
            "min_sample_us",
            Kind::Whole(1),
            "A sample lasts at least this many microseconds: a graph holds as many launches as that takes.",
        )
        .default("200"),
        key("max_launches", Kind::Whole(1), "Most launches in one graph.").default("50"),
        key("buffer_sets", Kind::Whole(1), "Sets of buffers that a graph rotates over.").default("4"),
        key("timeout_s", Kind::Whole(1), "A correctness case or a sample that takes longer, in seconds, is a hang.")
            .default("30"),
        key("shapes", NAMES, "Shapes that are timed.").default("the objective's, and those that gates name"),
    ],
);

/// `[profile]`.
pub static PROFILE: Spec = spec(
    "[profile]",
    "How counters are collected.",
    &[
        key("ncu", Kind::Text, "The profiler.").default("`ncu` on `PATH`"),
        key("shapes", NAMES, "Shapes that are profiled.").default("the objective's, and those that gates name"),
        key("metrics", TEXTS, "Metrics to collect beside those that gates and report use: logical names, or ncu's.")
            .default("[]"),
        key("timeout_s", Kind::Whole(1), "One ncu process may take this many seconds.").default("300"),
        key("repeat", Kind::Whole(1), "Profiled launches of each variant and shape, for the spread of counters.")
            .default("1"),
        key(
            "close_look",
            Kind::OneOf(&["selected", "none"]),
            "What is profiled once more after the sweep, for the report alone: warp states, throughputs, hot source \
             lines, ncu's rules. No gate is judged by it.",
        )
        .default("\"selected\""),
    ],
);

/// `[workload]`.
pub static WORKLOAD: Spec = spec(
    "[workload]",
    "What is computed, and what counts as right.",
    &[
        key(
            "seeds",
            Kind::List(&Kind::Whole(0)),
            "Seeds of the inputs; every one is a correctness case at every shape.",
        )
        .default("[0]"),
        key(
            "reference",
            Kind::Either(&[Kind::OneOf(BUILTINS), Kind::Table(&REFERENCE)]),
            "Where the right answer comes from. Built-ins are evaluated in float64 on the host.",
        )
        .required(),
        key(
            "tolerance",
            Kind::Table(&TOLERANCE),
            "How far an output may be from the reference; every bound given must hold.",
        )
        .required(),
        key("scalars", Kind::Table(&SCALARS), "Scalar arguments and options of the reference.").default("{}"),
        key("shapes", Kind::Table(&SHAPES), "Problem sizes by name.").required(),
        key("buffers", Kind::Table(&BUFFERS), "Device buffers by name.").required(),
        key(
            "flops",
            Kind::Expr,
            "Floating-point operations of one launch, over the dimensions: for TFLOP/s and the roofline.",
        )
        .default("none"),
        key("bytes", Kind::Expr, "Bytes that have to move at least, over the dimensions: for the roofline.")
            .default("none"),
    ],
);

/// `reference = { ... }`.
pub static REFERENCE: Spec = Spec {
    title: "reference = { ... }",
    doc: "Exactly one of `builtin`, `entry` and `npy`. Options of a built-in stand beside it: `causal` (sdpa), `transpose_b` (gemm), `op` = sum, max, min or mean (reduce).",
    keys: &[
        key("builtin", Kind::OneOf(BUILTINS), "A built-in reference with options."),
        key("entry", Kind::Name, "Another entry of the kernel's source, launched with the same arguments."),
        key("grid", EXPRS, "Grid of `entry`, over the dimensions."),
        key("block", EXPRS, "Block of `entry`, over the dimensions."),
        key(
            "npy",
            Kind::Text,
            "A NumPy file; `{{ shape }}`, `{{ seed }}`, `{{ buffer }}` and dimensions in its path are replaced.",
        ),
    ],
    free: Some(Kind::Param),
};

/// `tolerance = { ... }`.
pub static TOLERANCE: Spec = spec(
    "tolerance = { ... }",
    "At least one of the two.",
    &[
        key("max_abs", Kind::Number, "Largest absolute difference."),
        key("rel_l2", Kind::Number, "L2 norm of the difference over the L2 norm of the reference."),
    ],
);

/// `scalars`.
pub static SCALARS: Spec = Spec {
    title: "[workload.scalars]",
    doc: "`name = \"expression\"` is an f32; a table says the type. Expressions see dimensions and the variant's parameters.",
    keys: &[],
    free: Some(Kind::Either(&[Kind::Expr, Kind::Table(&SCALAR)])),
};

/// One scalar.
pub static SCALAR: Spec = spec(
    "[workload.scalars] NAME = { ... }",
    "A scalar with its type.",
    &[
        key("type", Kind::OneOf(SCALAR_TYPES), "C type: `float`, `double`, `int`, `long long`, `unsigned`.")
            .default("\"f32\""),
        key("value", Kind::Expr, "Its value.").required(),
    ],
);

/// `[workload.shapes]`.
pub static SHAPES: Spec = Spec {
    title: "[workload.shapes]",
    doc: "`name = { B = 1, S = 512 }`: a problem size and its dimensions. Every shape has the same dimensions.",
    keys: &[],
    free: Some(Kind::Table(&DIMS)),
};

/// One shape.
pub static DIMS: Spec = Spec {
    title: "[workload.shapes] NAME = { ... }",
    doc: "Dimension and extent.",
    keys: &[],
    free: Some(Kind::Whole(1)),
};

/// `[workload.buffers]`.
pub static BUFFERS: Spec = Spec {
    title: "[workload.buffers]",
    doc: "`name = { dtype = \"f16\", shape = [\"S\", \"D\"] }`: a device buffer.",
    keys: &[],
    free: Some(Kind::Table(&BUFFER)),
};

/// One buffer.
pub static BUFFER: Spec = spec(
    "[workload.buffers] NAME = { ... }",
    "A device buffer.",
    &[
        key("dtype", Kind::OneOf(&DTYPES), "Type of an element.").required(),
        key("shape", EXPRS, "Extent of each axis, over the dimensions.").required(),
        key(
            "role",
            Kind::OneOf(ROLES),
            "Inputs are filled and must not be written; outputs are compared; scratch is cleared.",
        )
        .default("\"input\""),
        key(
            "init",
            Kind::Either(&[Kind::OneOf(INITS), Kind::Table(&INIT)]),
            "How an input is filled. A word takes the defaults below.",
        )
        .default("\"normal\""),
    ],
);

/// `init = { ... }`.
pub static INIT: Spec = spec(
    "init = { ... }",
    "Exactly one.",
    &[
        key("normal", Kind::Table(&NORMAL), "Gaussian."),
        key("uniform", Kind::Table(&UNIFORM), "Uniform on [low, high)."),
        key("arange", Kind::Table(&ARANGE), "start + step * index."),
        key("constant", Kind::Number, "The same value everywhere; the word alone is 1."),
    ],
);
/// `init = { normal = ... }`.
pub static NORMAL: Spec = spec(
    "init = { normal = { ... } }",
    "Gaussian.",
    &[key("mean", Kind::Number, "Mean.").default("0"), key("std", Kind::Number, "Standard deviation.").default("1")],
);
/// `init = { uniform = ... }`.
pub static UNIFORM: Spec = spec(
    "init = { uniform = { ... } }",
    "Uniform.",
    &[key("low", Kind::Number, "Lower end.").default("0"), key("high", Kind::Number, "Upper end.").default("1")],
);
/// `init = { arange = ... }`.
pub static ARANGE: Spec = spec(
    "init = { arange = { ... } }",
    "Arithmetic progression.",
    &[
        key("start", Kind::Number, "First value.").default("0"),
        key("step", Kind::Number, "Difference between neighbours.").default("1"),
    ],
);

/// `[kernel]`.
pub static KERNEL: Spec = spec(
    "[kernel]",
    "A kernel source and how to build and launch it. Expressions see dimensions and the variant's parameters.",
    &[
        key("source", Kind::Text, "The `.cu` file, relative to the working directory.").required(),
        key("entry", Kind::Name, "`extern \"C\"` name of the `__global__` function.").required(),
        key("flags", TEMPLATES, "nvcc flags; `{{ NAME }}` is replaced by the parameter.")
            .default("[\"-O3\", \"-lineinfo\"]"),
        key("defines", NAMES, "Parameters passed as `-DNAME=value`.").default("[]"),
        key("grid", EXPRS, "Blocks a grid, 1 to 3 axes.").required(),
        key("block", EXPRS, "Threads a block, 1 to 3 axes.").required(),
        key("cluster", EXPRS, "Blocks a cluster, 1 to 3 axes.").default("no cluster"),
        key(
            "dynamic_shared",
            Kind::Either(&[Kind::Expr, Kind::Table(&DYNAMIC_ARRAYS)]),
            "Dynamic shared memory a block, in bytes; or array by array, so that a refusal can say where it goes.",
        )
        .default("0"),
        key(
            "tensor_maps",
            Kind::Table(&TENSOR_MAPS),
            "Buffers as bulk tensor copies (TMA) see them, to name in `args`.",
        )
        .default("{}"),
        key(
            "args",
            NAMES,
            "Arguments in the order of the signature: buffers, tensor maps, scalars, or dimensions (passed as `int`).",
        )
        .required(),
    ],
);

/// `[kernel.tensor_maps]`.
pub static TENSOR_MAPS: Spec = Spec {
    title: "[kernel.tensor_maps]",
    doc: "`name = { buffer = \"k\", box = [\"TILE_N\", \"D\"] }`: a `const __grid_constant__ CUtensorMap` argument.",
    keys: &[],
    free: Some(Kind::Table(&TENSOR_MAP)),
};

/// One tensor map.
pub static TENSOR_MAP: Spec = spec(
    "[kernel.tensor_maps] NAME = { ... }",
    "A buffer of 1 to 5 axes as it lies in memory. Expressions see dimensions and the variant's parameters.",
    &[
        key("buffer", Kind::Name, "The buffer: its shape, strides, type and address are the map's.").required(),
        key(
            "box",
            EXPRS,
            "Elements of one copy, 1 to 256 along each axis of the buffer, in the buffer's order (outermost first).",
        )
        .required(),
        key(
            "swizzle",
            Kind::Expr,
            "Span in bytes within which shared memory is swizzled by chunks of 16: 0 (not at all), 32, 64 or 128.",
        )
        .default("0"),
    ],
);

/// `dynamic_shared`, array by array.
pub static DYNAMIC_ARRAYS: Spec = Spec {
    title: "[kernel] dynamic_shared = { ... }",
    doc: "`name = \"expression\"`: an array in dynamic shared memory and its bytes. A block gets the sum.",
    keys: &[],
    free: Some(Kind::Expr),
};

/// `[sweep]`.
pub static SWEEP: Spec = Spec {
    title: "[sweep]",
    doc: "`NAME = [values]`: every combination is a candidate, the last axis fastest.",
    keys: &[key("where", Kind::Expr, "Keeps the combinations for which it is true.").default("all")],
    free: Some(Kind::List(&Kind::Param)),
};

/// `[[variant]]` and `[[baseline]]`.
pub static VARIANT: Spec = spec(
    "[[variant]], [[baseline]]",
    "A variant named by itself; it is `[kernel]` with its own parameters, or a command.",
    &[
        key("name", Kind::Name, "Its name, also its id.").required(),
        key("params", Kind::Table(&PARAMS), "Its parameters.").default("{}"),
        key(
            "kernel",
            Kind::Part(&KERNEL),
            "Keys of `[kernel]` that differ; all of them where the file has no `[kernel]`.",
        )
        .default("{}"),
        key("command", TEMPLATES, "Program and arguments of an external command, instead of a kernel."),
        key("kernel_filter", Kind::Text, "Regular expression of the command's kernels that count.")
            .default("every kernel in the variant's NVTX range"),
    ],
);

/// `params`.
pub static PARAMS: Spec =
    Spec { title: "params = { ... }", doc: "Parameter and value.", keys: &[], free: Some(Kind::Param) };

/// `[[gate]]`.
pub static GATE: Spec = spec(
    "[[gate]]",
    "One requirement. The same keys serve where a tier, stage or fallback writes a gate as a table.",
    &[
        key("name", Kind::Text, "Its name.").default("the requirement's text"),
        key("require", Kind::Requirement, "What has to hold.").required(),
        key("on", Kind::Text, "`selected`, `each`, `any`, or a glob of variant ids.").default("\"selected\""),
        key("level", Kind::OneOf(&["required", "advisory"]), "Whether the phase fails with it.")
            .default("\"required\""),
        key("shapes", NAMES, "Shapes at which it is judged.").default("the objective's"),
        key("at_least", Kind::Whole(1), "How many of the shapes must hold.").default("all"),
        key(
            "inconclusive",
            Kind::OneOf(&["inconclusive", "fail", "warn"]),
            "What an inconclusive verdict counts as; `warn` only where noise is the reason.",
        )
        .default("\"inconclusive\""),
    ],
);

const GATES: Kind = Kind::List(&Kind::Either(&[Kind::Requirement, Kind::Table(&GATE)]));

/// `[[tier]]`.
pub static TIER: Spec = spec(
    "[[tier]]",
    "A named group of gates, from the easiest tier to the hardest.",
    &[
        key("name", Kind::Name, "Its name.").required(),
        key("require", GATES, "What has to hold: requirements, or gates as tables.").required(),
        key("on", Kind::Text, "As in a gate, for requirements written as texts.").default("\"selected\""),
        key("required", Kind::Bool, "Whether the phase fails when it is not reached.").default("false"),
    ],
);

/// `[[stage]]`.
pub static STAGE: Spec = spec(
    "[[stage]]",
    "A step of a staged plan.",
    &[
        key("name", Kind::Name, "Its name.").required(),
        key(
            "variant",
            Kind::Text,
            "Glob of the variants that implement it; the best correct one stands for the stage.",
        )
        .required(),
        key("expect", Kind::List(&Kind::Number), "Expected speedup over the last accepted stage, from and to.")
            .default("none"),
        key("require", GATES, "Exit gates; `previous.` is the last accepted stage.").default("[]"),
        key(
            "on_failure",
            Kind::OneOf(&["revert", "skip"]),
            "`revert` ends the plan there; `skip` goes on from the last accepted stage.",
        )
        .default("\"revert\""),
    ],
);

/// `[fallback]`.
pub static FALLBACK: Spec = spec(
    "[fallback]",
    "What to use when required gates fail.",
    &[
        key("variant", Kind::Text, "Glob of the variants; the best correct one is taken.").required(),
        key("require", GATES, "What it has to hold itself.").required(),
    ],
);

/// `[[precondition]]`.
pub static PRECONDITION: Spec = spec(
    "[[precondition]]",
    "A go/no-go condition.",
    &[
        key("name", Kind::Text, "Its name.").default("the condition's text"),
        key(
            "require",
            Kind::Expr,
            "True or false, over dimensions, `dtype` (of the first input) and `cc` (compute capability, `9.0`).",
        )
        .required(),
    ],
);

/// `[[waiver]]`.
pub static WAIVER: Spec = spec(
    "[[waiver]]",
    "A gate that is let pass for a while; every report shows it.",
    &[
        key("gate", Kind::Text, "Name of the gate.").required(),
        key("variant", Kind::Text, "Glob of variant ids.").default("\"*\""),
        key("reason", Kind::Text, "Why.").required(),
        key("owner", Kind::Text, "Who answers for it.").required(),
        key("expires", Kind::Date, "Last day it holds, a TOML date (`2026-12-31`).").required(),
    ],
);
