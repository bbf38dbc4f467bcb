//! Every key a phase may have: its kind, default and meaning, in one place.
//!
//! The reader refuses what is not here, the JSON Schema and the tables of `docs/config.md` are made from it.

mod argument;
mod base;
mod gate;
mod imported;
mod init;
mod launch;
mod rule;
mod search;
mod workload;

pub use argument::*;
pub use base::*;
pub use gate::*;
pub use imported::*;
pub use init::*;
pub use launch::*;
pub use rule::*;
pub use search::*;
pub use workload::*;

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub enum KeyKind {
    Text,
    /// A name: letters, digits and `_ . - + =`.
    Name,
    /// A text that is an expression over names in scope, or a number.
    Expr,
    /// A text with expressions over a variant's parameters in double braces.
    Template,
    /// A requirement of a gate.
    Requirement,
    /// `true` or `false`.
    Bool,
    /// A whole number, at least this.
    Whole(i64),
    /// A whole number between these, both included.
    Between(i64, i64),
    Number,
    Date,
    /// A parameter's value: a truth value, a number, or a short text.
    Param,
    /// One of these words.
    OneOf(&'static [&'static str]),
    List(&'static KeyKind),
    Table(&'static Spec),
    /// A table of which any part may be given.
    Part(&'static Spec),
    /// A table of the kind that this one is in.
    Again(&'static Spec),
    /// One of several kinds.
    Either(&'static [KeyKind]),
}

/// A key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// As written.
    pub name: &'static str,
    /// What its value may be.
    pub kind: KeyKind,
    /// Whether the file has to have it.
    pub required: bool,
    /// What holds when the file does not have it.
    pub default: Option<&'static str>,
    pub doc: &'static str,
}

/// The keys of a table.
#[derive(Debug)]
pub struct Spec {
    /// How the file writes the table (`[bench]`, `[[gate]]`).
    pub title: &'static str,
    pub doc: &'static str,
    /// Keys with a fixed name.
    pub keys: &'static [Key],
    /// What a key of any other name holds; none when other names are errors.
    pub free: Option<KeyKind>,
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

const fn key(name: &'static str, kind: KeyKind, doc: &'static str) -> Key {
    Key { name, kind, required: false, default: None, doc }
}

const fn spec(title: &'static str, doc: &'static str, keys: &'static [Key]) -> Spec {
    Spec { title, doc, keys, free: None }
}

const TEXTS: KeyKind = KeyKind::List(&KeyKind::Text);
const NAMES: KeyKind = KeyKind::List(&KeyKind::Name);
const EXPRS: KeyKind = KeyKind::List(&KeyKind::Expr);
const TEMPLATES: KeyKind = KeyKind::List(&KeyKind::Template);

pub static ROOT: Spec = spec(
    "the file",
    "One phase: one experiment.",
    &[
        key("phase", KeyKind::Table(&PHASE), "Name, title and objective.").required(),
        key("build", KeyKind::Table(&BUILD), "How variants are compiled."),
        key("bench", KeyKind::Table(&BENCH), "How latency is measured."),
        key("profile", KeyKind::Table(&PROFILE), "How counters are collected."),
        key("machine", KeyKind::Table(&MACHINE), "What it is measured on."),
        key(
            "workload",
            KeyKind::Table(&WORKLOAD),
            "What is computed, and what counts as right. A phase whose variants are launches of ncu reports (`match`) has none; every other phase has to have it.",
        ),
        key("kernel", KeyKind::Table(&KERNEL), "The kernel that is swept."),
        key("sweep", KeyKind::Table(&SWEEP), "Parameter values to combine."),
        key("search", KeyKind::Table(&SEARCH), "Which combinations are built, where not all are."),
        key("variant", KeyKind::List(&KeyKind::Table(&VARIANT)), "A variant named by itself."),
        key(
            "baseline",
            KeyKind::List(&KeyKind::Table(&VARIANT)),
            "What candidates are compared with; the first is `baseline` in requirements.",
        ),
        key("gate", GATES, "One requirement: a table, or its text alone."),
        key(
            "tier",
            KeyKind::List(&KeyKind::Table(&TIER)),
            "A named group of gates, from the easiest tier to the hardest.",
        ),
        key("stage", KeyKind::List(&KeyKind::Table(&STAGE)), "A step of a staged plan, in order."),
        key("fallback", KeyKind::Table(&FALLBACK), "What to use when required gates fail."),
        key(
            "precondition",
            KeyKind::List(&KeyKind::Table(&PRECONDITION)),
            "A go/no-go condition, checked before anything is built.",
        ),
        key("waiver", KeyKind::List(&KeyKind::Table(&WAIVER)), "A gate that may fail for a while."),
        key(
            "rule",
            KeyKind::List(&KeyKind::Table(&RULE)),
            "A rule of the diagnosis, beside those that the program has.",
        ),
        key("imported", KeyKind::Table(&IMPORTED), "Whose problem the phase was made of by `ncugate import`."),
        key("explain", KeyKind::Table(&EXPLAIN), "What the diagnosis compares with."),
        key("base", KeyKind::Table(&BASE), "The commit that a run compares with, written by `ncugate run --base`."),
    ],
);

/// `ncugate.toml`.
pub static PROJECT: Spec = spec(
    "ncugate.toml",
    "What all phases below its folder share. A key of a phase goes before it.",
    &[
        key("build", KeyKind::Table(&BUILD), "How variants are compiled."),
        key("bench", KeyKind::Table(&BENCH), "How latency is measured."),
        key("profile", KeyKind::Table(&PROFILE), "How counters are collected."),
        key("explain", KeyKind::Table(&EXPLAIN), "What the diagnosis compares with."),
    ],
);

pub static PHASE: Spec = spec("[phase]", "Name, title and objective.", &[
    key("name", KeyKind::Name, "Short name; runs and reports are kept in folders of this name.").required(),
    key("title", KeyKind::Text, "Title for people.").default("the name"),
    key(
        "objective",
        KeyKind::Either(&[KeyKind::Text, KeyKind::Table(&OBJECTIVE)]),
        "The metric that the selected variant is best at, among correct candidates. A text takes the direction from the metric; a table says it.",
    )
    .default("\"latency_p50\""),
    key("objective_shape", KeyKind::Name, "The shape at which the objective is read.").default("the last declared shape"),
    key(
        "select",
        KeyKind::OneOf(&["best", "best that passes"]),
        "Which correct candidate is selected: the best by the objective, or the best of those that hold every required gate by themselves. Where none does, it is the best all the same, and the phase does not pass.",
    )
    .default("\"best\""),
    key("recording", KeyKind::Text, "Folder of a run kept in the repository. It is shown where nothing can be measured, and judged with `--source recorded`.")
        .default("none"),
]);

pub static OBJECTIVE: Spec = spec(
    "objective = { ... }",
    "Exactly one of the two.",
    &[
        key("minimise", KeyKind::Text, "Less of this metric is better."),
        key("maximise", KeyKind::Text, "More of this metric is better."),
    ],
);

pub static BUILD: Spec = spec(
    "[build]",
    "How variants are compiled.",
    &[
        key("nvcc", KeyKind::Text, "The compiler.").default("`nvcc` on `PATH`"),
        key("arch", KeyKind::Text, "Architecture, such as `sm_90`.").default("the GPU's own"),
        key(
            "python",
            KeyKind::Text,
            "The Python whose Triton, Numba or CuTe DSL compiles kernels, and in which Python functions and references run.",
        )
        .default("`python3` on `PATH`"),
        key("cache", KeyKind::Text, "Folder that keeps what was built; `$NCUGATE_CACHE` goes before it.")
            .default("`ncugate` in `$XDG_CACHE_HOME` or `~/.cache`"),
    ],
);

pub static BENCH: Spec = spec(
    "[bench]",
    "How latency is measured. Correctness is checked at every shape, whatever `shapes` says.",
    &[
        key("warmup", KeyKind::Whole(0), "Untimed graph launches before the first sample.").default("5"),
        key("rounds", KeyKind::Between(1, 10_000), "Samples of a variant at a shape; rounds are interleaved over variants.")
            .default("60"),
        key(
            "max_rounds",
            KeyKind::Between(1, 10_000),
            "Most samples of a confirmation. What was selected and what it is compared with are timed anew in `rounds` rounds; while noise leaves a required latency gate inconclusive, in twice as many each time, up to this many.",
        )
        .default("240"),
        key(
            "processes",
            KeyKind::Whole(1),
            "Processes that an external command is started as for a confirmation, each for its part of the rounds, in turn with the kernels. With fewer than 3 no gate can tell how much a command differs from process to process.",
        )
        .default("5"),
        key(
            "min_sample_us",
            KeyKind::Whole(1),
            "A sample takes at least this many microseconds: a graph holds as many launches as that needs.",
        )
        .default("200"),
        key("max_launches", KeyKind::Whole(1), "Most launches in one graph.").default("50"),
        key("buffer_sets", KeyKind::Whole(1), "Sets of buffers that a graph rotates over, each with its own inputs; where `l2` is `rotate`. At most two where one set takes more than twice the L2 cache.").default("4"),
        key(
            "l2",
            KeyKind::OneOf(&["cold", "rotate", "warm"]),
            "What the L2 cache holds when a timed launch starts. `rotate`: what launches on the other sets of buffers \
             left. `warm`: one set of buffers, launched on again and again. `cold`: twice the cache is written over \
             before each launch, outside of the time, and every launch is a sample by itself.",
        )
        .default("\"rotate\""),
        key(
            "verify",
            KeyKind::OneOf(&["audited", "none"]),
            "Whether the outputs of timed launches are verified. With `none` no latency of a kernel counts in a gate: it shows what verifying costs.",
        )
        .default("\"audited\""),
        key("timeout_s", KeyKind::Whole(1), "A correctness case or a sample that takes longer, in seconds, is a hang.")
            .default("30"),
        key("shapes", NAMES, "Shapes that are timed.").default("the objective's, and those that gates name"),
    ],
);

pub static PROFILE: Spec = spec(
    "[profile]",
    "How counters are collected.",
    &[
        key("ncu", KeyKind::Text, "The profiler.").default("`ncu` on `PATH`"),
        key("shapes", NAMES, "Shapes that are profiled.").default("the objective's, and those that gates name"),
        key("metrics", TEXTS, "Metrics to collect beside those that gates and report use, of external baselines too: logical names, or ncu's.")
            .default("[]"),
        key("timeout_s", KeyKind::Whole(1), "One ncu process may take this many seconds.").default("300"),
        key("repeat", KeyKind::Whole(1), "Profiled launches of each variant and shape, for the spread of counters.")
            .default("1"),
        key(
            "close_look",
            KeyKind::OneOf(&["selected", "none"]),
            "The deep profile: what is profiled once more after the sweep, for the report alone (warp states, \
             throughputs, hot source lines, ncu's rules). No gate is judged by it.",
        )
        .default("\"selected\""),
        key(
            "require",
            KeyKind::Bool,
            "Whether the run ends with status 3 where no counters can be collected (no ncu, no permission). Otherwise everything \
             else is measured, and gates on counters are inconclusive.",
        )
        .default("false"),
    ],
);

pub static MACHINE: Spec = spec(
    "[machine]",
    "What the phase is measured on.",
    &[key(
        "groups",
        TEXTS,
        "Kinds of GPUs, each by whole words of its name (`[\"H200\", \"L4\"]`). `run --gpus` may take GPUs of all these kinds: each kind has a run \
         and a verdict of its own, and the gravest counts. A kind that is named and takes no part leaves the phase inconclusive.",
    )
    .default("GPUs that take part together have to be of one kind")],
);

pub static KERNEL: Spec = spec(
    "[kernel]",
    "A kernel source and how to build and launch it. Expressions see dimensions and the variant's parameters.",
    &[
        key(
            "source",
            KeyKind::Template,
            "The `.cu` file, or a header with kernels. A kernel has exactly one of `source`, `ptx`, `cubin` and `python`.",
        ),
        key("ptx", KeyKind::Template, "A file of PTX, which nvcc assembles for the architecture."),
        key("cubin", KeyKind::Template, "A cubin, whoever compiled it; it is launched as it is."),
        key(
            "python",
            KeyKind::Template,
            "`FILE.py:FUNCTION`: a function under `@triton.jit`, `@cuda.jit` (Numba) or `@cute.jit` (CuTe DSL), or one that gives such a \
             kernel, compiled by the packages of `[build] python`. Parameters are its constants by name (constexprs, globals of a \
             Numba module), or options of the compiler (`num_warps`, `max_registers`); `args` are its other parameters in order. \
             Triton says what a block has, CuTe DSL how the kernel is launched; for Numba `block` and `grid` are given (python.md).",
        ),
        ENTRY.default("each launch has its own"),
        key("flags", TEMPLATES, "nvcc flags; `{{ NAME }}` is replaced by the parameter.")
            .default("[\"-O3\", \"-lineinfo\"]"),
        key("defines", NAMES, "Parameters passed as `-DNAME=value`.").default("[]"),
        GRID.default("each launch has its own"),
        BLOCK.default("each launch has its own"),
        CLUSTER.default("no cluster"),
        DYNAMIC_SHARED.default("0"),
        COOPERATIVE.default("false"),
        CARVEOUT.default("the driver's choice"),
        key(
            "tensor_maps",
            KeyKind::Table(&TENSOR_MAPS),
            "Buffers as bulk tensor copies (TMA) see them, to name in `args`.",
        )
        .default("{}"),
        key(
            "symbols",
            KeyKind::Table(&SYMBOLS),
            "`__constant__` and `__device__` variables to write before the kernel is launched, as `cudaMemcpyToSymbol` does.",
        )
        .default("{}"),
        key(
            "where",
            KeyKind::Expr,
            "Keeps the shapes at which it is true. At the others the variant is not launched, and every metric of it is absent there with that reason.",
        )
        .default("all shapes"),
        ARGS.default("each launch has its own"),
        WORKSPACE.default("[]"),
        key(
            "launch",
            KeyKind::List(&KeyKind::Table(&LAUNCH)),
            "What one evaluation does, in order. Left out, it is one launch of `entry` with `grid`, `block` and `args`.",
        )
        .default("one launch"),
    ],
);

/// `[kernel.tensor_maps]`.
pub static TENSOR_MAPS: Spec = Spec {
    title: "[kernel.tensor_maps]",
    doc: "`name = { buffer = \"k\", box = [\"TILE_N\", \"D\"] }`: a `const __grid_constant__ CUtensorMap` argument.",
    keys: &[],
    free: Some(KeyKind::Table(&TENSOR_MAP)),
};

pub static TENSOR_MAP: Spec = spec(
    "[kernel.tensor_maps] NAME = { ... }",
    "A buffer of 1 to 5 axes as it lies in memory. Expressions see dimensions and the variant's parameters.",
    &[
        key("buffer", KeyKind::Name, "The buffer: its shape, strides, type and address are the map's.").required(),
        key(
            "box",
            EXPRS,
            "Elements of one copy, 1 to 256 along each axis of the buffer, in the buffer's order (outermost first).",
        )
        .required(),
        key(
            "swizzle",
            KeyKind::Expr,
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
    free: Some(KeyKind::Expr),
};

pub static SWEEP: Spec = Spec {
    title: "[sweep]",
    doc: "`NAME = [values]`: every combination is a candidate, the last axis fastest.",
    keys: &[
        key("where", KeyKind::Expr, "Keeps the combinations for which it is true.").default("all"),
        key(
            "points",
            KeyKind::List(&KeyKind::Table(&PARAMS)),
            "The candidates, a value of every axis each, instead of every combination. A run of a search has what it chose here.",
        )
        .default("every combination"),
    ],
    free: Some(KeyKind::List(&KeyKind::Param)),
};

/// `[[variant]]` and `[[baseline]]`.
pub static VARIANT: Spec = spec(
    "[[variant]], [[baseline]]",
    "A variant named by itself; it is `[kernel]` with its own parameters, a Python function, or a command.",
    &[
        key("name", KeyKind::Name, "Its name, also its id.").required(),
        key("params", KeyKind::Table(&PARAMS), "Its parameters.").default("{}"),
        key(
            "kernel",
            KeyKind::Part(&KERNEL),
            "Keys of `[kernel]` that differ; all of them where the file has no `[kernel]`.",
        )
        .default("{}"),
        key(
            "python",
            KeyKind::Template,
            "`FILE.py:FUNCTION`: a Python function over tensors, instead of a kernel. It is called with the buffers, dimensions, \
             scalars and parameters that it names, returns the outputs or writes to them, and is checked, captured into a CUDA \
             graph, timed and profiled as kernels are. It runs in `[build] python`.",
        ),
        key(
            "command",
            TEMPLATES,
            "Program and arguments of an external command, instead of a kernel. It grades itself.",
        ),
        key("kernel_filter", KeyKind::Text, "Regular expression of the function's or command's kernels that count.")
            .default("every kernel in the variant's NVTX range"),
        key(
            "match",
            KeyKind::Table(&LAUNCH_PATTERN),
            "Launches of ncu reports that another program made, instead of a kernel: `ncugate gate CONFIG --profile REPORT` judges \
             them. Then every variant and baseline has `match`, and the file has no `[workload]`.",
        ),
    ],
);

/// `match`.
pub static LAUNCH_PATTERN: Spec = spec(
    "match = { ... }",
    "Which launches of a report are the variant: those that fit every key given, at least one. A launch is of one variant alone. \
     Where several launches match, each metric is the median over them, and a gate holds or fails only where every launch agrees.",
    &[
        key(
            "kernel",
            KeyKind::Text,
            "Glob over the kernel's name: of the function (`softmax_warp_forward`), with scopes and template arguments \
             (`at::native::reduce<float>`), or the whole signature.",
        ),
        key(
            "nvtx",
            KeyKind::Text,
            "Glob over one of the NVTX ranges that were open, or over all of them (`outer > inner`).",
        ),
        key(
            "launch",
            KeyKind::Either(&[KeyKind::Whole(0), KeyKind::List(&KeyKind::Whole(0))]),
            "Number of the launch in its report, or several, as ncu and `ncugate show` write it; the first is 0.",
        ),
        key("report", KeyKind::Text, "Glob over the file name of the report, where several are given."),
    ],
);

pub static PARAMS: Spec =
    Spec { title: "params = { ... }", doc: "Parameter and value.", keys: &[], free: Some(KeyKind::Param) };
