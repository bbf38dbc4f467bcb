//! Every key of a phase: its name, kind, default and meaning, declared only here.
//!
//! The reader refuses other keys, takes words and bounds from the kind, and reads a default as if it were in the
//! file. The JSON Schema and the list in `docs/config.md` are generated from the same declarations.

/// Declares the keys of a table. The name of each key is the name of its field. The compiler reports an unread field,
/// so that no declared key is ignored.
macro_rules! keys {
    ($table:ident: $type:ident = $title:expr, $doc:expr $(, $free:expr)?; $($field:ident = $key:expr;)+) => {
        #[derive(Debug)]
        pub struct $type {
            pub spec: crate::config::keys::Spec,
            $(pub $field: crate::config::keys::Key,)+
        }

        pub static $table: $type = $type {
            spec: crate::config::keys::Spec {
                title: $title,
                doc: $doc,
                keys: &[$($key.named(stringify!($field))),+],
                free: [$($free,)? None][0],
            },
            $($field: $key.named(stringify!($field)),)+
        };
    };
}

mod argument;
mod base;
mod check;
mod gate;
mod imported;
mod init;
mod launch;
mod rule;
mod search;
mod toolchain;
mod workload;

pub use argument::*;
pub use base::*;
pub use check::*;
pub use gate::*;
pub use imported::*;
pub use init::*;
pub use launch::*;
pub use rule::*;
pub use search::*;
pub use toolchain::*;
pub use workload::*;

use super::{DeepProfileTarget, L2State, OutOfBoundsFill, Selection, Verification};
use ncugate_model::{L2Property, MOST_SAMPLES};
use std::ops::RangeInclusive;

/// The permitted values of a key.
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
    /// A whole number with this minimum.
    Whole(i64),
    /// A whole number in this inclusive range.
    Between(i64, i64),
    Number,
    Date,
    /// A parameter's value: a truth value, a number, or a short text.
    Param,
    /// One of these words.
    OneOf(&'static [&'static str]),
    List(&'static KeyKind),
    Table(&'static Spec),
    /// A table with all keys optional.
    Part(&'static Spec),
    /// A table of the same kind as the enclosing one.
    Again(&'static Spec),
    /// One of several kinds.
    Either(&'static [KeyKind]),
}

impl KeyKind {
    /// The first result of `of` for this kind, or for its alternatives.
    fn find<T>(&'static self, of: impl Fn(&'static Self) -> Option<T> + Copy) -> Option<T> {
        match self {
            Self::Either(kinds) => kinds.iter().find_map(|kind| kind.find(of)),
            kind => of(kind),
        }
    }

    /// The keys, for a value that is a table.
    pub fn spec(&'static self) -> Option<&'static Spec> {
        self.find(|kind| match kind {
            Self::Table(spec) | Self::Part(spec) | Self::Again(spec) => Some(*spec),
            _ => None,
        })
    }

    /// The kind of the items, for a value that is an array.
    pub fn element(&'static self) -> Option<&'static Self> {
        self.find(|kind| if let Self::List(element) = kind { Some(*element) } else { None })
    }

    /// The permitted words.
    pub fn words(&'static self) -> &'static [&'static str] {
        self.find(|kind| if let Self::OneOf(words) = kind { Some(*words) } else { None }).unwrap_or_default()
    }

    /// The permitted whole numbers.
    pub fn range(&'static self) -> Option<RangeInclusive<i64>> {
        self.find(|kind| match kind {
            Self::Whole(low) => Some(*low..=i64::MAX),
            Self::Between(low, high) => Some(*low..=*high),
            _ => None,
        })
    }
}

/// The default of a key.
#[derive(Debug, Clone, Copy)]
pub enum KeyDefault {
    /// A value in TOML, which is read as if it were in the file.
    Value(&'static str),
    /// A default that is not a value of the key, in words.
    Words(&'static str),
}

impl KeyDefault {
    /// The text for readers.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Value(text) | Self::Words(text) => text,
        }
    }
}

/// A key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// As written.
    pub name: &'static str,
    /// Its permitted values.
    pub kind: KeyKind,
    /// Whether the file must contain it.
    pub required: bool,
    /// Its default.
    pub default: Option<KeyDefault>,
    pub doc: &'static str,
}

/// The name identifies a key within its table.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The keys of a table.
#[derive(Debug)]
pub struct Spec {
    /// The table as written in a file (`[bench]`, `[[gate]]`).
    pub title: &'static str,
    pub doc: &'static str,
    /// Keys with fixed names.
    pub keys: &'static [Key],
    /// The kind of keys with any other name; none if other names are errors.
    pub free: Option<KeyKind>,
}

impl Spec {
    /// The names of the declared keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.keys.iter().map(|key| key.name)
    }

    /// The declared key of that name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl Key {
    /// Adds the name of its field, without the `r#` of a Rust keyword.
    const fn named(mut self, field: &'static str) -> Self {
        self.name = match field.as_bytes() {
            [b'r', b'#', ..] => field.split_at(2).1,
            _ => field,
        };
        self
    }

    const fn default(mut self, toml: &'static str) -> Self {
        self.default = Some(KeyDefault::Value(toml));
        self
    }

    const fn otherwise(mut self, words: &'static str) -> Self {
        self.default = Some(KeyDefault::Words(words));
        self
    }

    const fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

const fn key(kind: KeyKind, doc: &'static str) -> Key {
    Key { name: "", kind, required: false, default: None, doc }
}

/// The words of pairs of a word and its value.
const fn words<T: Copy, const N: usize>(values: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut words = [""; N];
    let mut at = 0;
    while at < N {
        words[at] = values[at].0;
        at += 1;
    }
    words
}

const TEXTS: KeyKind = KeyKind::List(&KeyKind::Text);
const NAMES: KeyKind = KeyKind::List(&KeyKind::Name);
const EXPRS: KeyKind = KeyKind::List(&KeyKind::Expr);
const TEMPLATES: KeyKind = KeyKind::List(&KeyKind::Template);

keys! {
    ROOT: RootKeys = "the file", "One phase: one experiment.";
    phase = key(KeyKind::Table(&PHASE.spec), PHASE.spec.doc).required();
    build = key(KeyKind::Table(&BUILD.spec), BUILD.spec.doc);
    toolchains = key(KeyKind::Table(&TOOLCHAINS), TOOLCHAINS.doc);
    bench = key(KeyKind::Table(&BENCH.spec), BENCH.spec.doc);
    profile = key(KeyKind::Table(&PROFILE.spec), PROFILE.spec.doc);
    machine = key(KeyKind::Table(&MACHINE.spec), MACHINE.spec.doc);
    check = key(KeyKind::Table(&CHECK.spec), CHECK.spec.doc);
    workload = key(KeyKind::Table(&WORKLOAD.spec), WORKLOAD.spec.doc);
    kernel = key(KeyKind::Table(&KERNEL.spec), KERNEL.spec.doc);
    sweep = key(KeyKind::Table(&SWEEP.spec), SWEEP.spec.doc);
    search = key(KeyKind::Table(&SEARCH.spec), SEARCH.spec.doc);
    variant = key(KeyKind::List(&KeyKind::Table(&VARIANT.spec)), VARIANT.spec.doc);
    baseline = key(
        KeyKind::List(&KeyKind::Table(&VARIANT.spec)),
        "A variant that candidates are compared with; the first is `baseline` in requirements.",
    );
    gate = key(GATES, GATE.spec.doc);
    tier = key(KeyKind::List(&KeyKind::Table(&TIER.spec)), TIER.spec.doc);
    stage = key(KeyKind::List(&KeyKind::Table(&STAGE.spec)), STAGE.spec.doc);
    fallback = key(KeyKind::Table(&FALLBACK.spec), FALLBACK.spec.doc);
    precondition = key(KeyKind::List(&KeyKind::Table(&PRECONDITION.spec)), PRECONDITION.spec.doc);
    waiver = key(KeyKind::List(&KeyKind::Table(&WAIVER.spec)), WAIVER.spec.doc);
    rule = key(KeyKind::List(&KeyKind::Table(&RULE.spec)), RULE.spec.doc);
    imported = key(KeyKind::Table(&IMPORTED.spec), IMPORTED.spec.doc);
    base = key(KeyKind::Table(&BASE.spec), BASE.spec.doc);
}

/// `ncugate.toml`.
pub static PROJECT: Spec = Spec {
    title: "ncugate.toml",
    doc: "Defaults of all phases below its folder. A key of a phase overrides them.",
    keys: &[ROOT.build, ROOT.bench, ROOT.profile],
    free: None,
};

keys! {
    PHASE: PhaseKeys = "[phase]", "Name, title and objective.";
    name = key(KeyKind::Name, "Short name; runs and reports are kept in folders of this name.").required();
    title = key(KeyKind::Text, "Title for people.").otherwise("the name");
    objective = key(
        KeyKind::Either(&[KeyKind::Text, KeyKind::Table(&OBJECTIVE.spec)]),
        "The metric by which the best correct candidate is selected. A text uses the metric's direction, a table sets it. For launches of ncu reports the default is `duration`.",
    ).default("\"latency_p50\"");
    objective_shape = key(
        KeyKind::Name,
        "The shape at which the objective is read.",
    ).otherwise("the last declared shape");
    select = key(
        KeyKind::OneOf(&words(&Selection::WORDS)),
        "Which correct candidate is selected: the best by the objective, or the best that passes every required gate (if none does, the best).",
    ).default("\"best\"");
    recording = key(
        KeyKind::Text,
        "Folder of a run kept in the repository, shown if nothing can be measured and judged with `--source recorded`.",
    ).otherwise("none");
}

keys! {
    OBJECTIVE: ObjectiveKeys = "objective = { ... }", "Exactly one of the two.";
    minimise = key(KeyKind::Text, "Lower values are better.");
    maximise = key(KeyKind::Text, "Higher values are better.");
}

keys! {
    BUILD: BuildKeys = "[build]", "How variants are compiled.";
    nvcc = key(KeyKind::Text, "The compiler.").otherwise("`nvcc` on `PATH`");
    arch = key(KeyKind::Text, "Architecture, such as `sm_90`.").otherwise("the GPU's own");
    python = key(
        KeyKind::Text,
        "The Python with Triton, Numba or CuTe DSL, which also runs Python functions and references.",
    ).otherwise("`python3` on `PATH`");
    pythonpath = key(
        TEXTS,
        "Folders, relative to the project's root, in which this Python finds modules, ahead of its packages. `pkg.mod:f` then \
         names `pkg/mod.py:f` in the first one.",
    ).default("[]");
    include = key(
        TEXTS,
        "Packages of this Python whose headers `#include` finds: `[\"torch\"]`. They are not imported.",
    ).default("[]");
    cache = key(
        KeyKind::Text,
        "Folder of the compile cache; `$NCUGATE_CACHE` overrides it.",
    ).otherwise("`ncugate` in `$XDG_CACHE_HOME` or `~/.cache`");
}

/// A number of samples.
const SAMPLES: KeyKind = KeyKind::Between(1, MOST_SAMPLES as i64);

keys! {
    BENCH: BenchKeys = "[bench]", "How latency is measured. Correctness is checked at every shape, regardless of `shapes`.";
    warmup = key(KeyKind::Whole(0), "Untimed graph launches before the first sample.").default("5");
    rounds = key(SAMPLES, "Samples of a variant at a shape; rounds are interleaved over variants.").default("60");
    max_rounds = key(
        SAMPLES,
        "Maximum samples of a [confirmation](statistics.md#two-sets-of-samples), which doubles its rounds under noise.",
    ).default("240");
    processes = key(
        KeyKind::Whole(5),
        "Processes of each look of a confirmation, each for a part of its rounds. Verdicts hold between processes.",
    ).default("5");
    min_sample_us = key(
        KeyKind::Whole(1),
        "Minimum duration of a sample in microseconds, which determines the launches in a graph.",
    ).default("200");
    max_launches = key(KeyKind::Whole(1), "Maximum number of launches in a graph.").default("50");
    buffer_sets = key(
        KeyKind::Whole(1),
        "Sets of buffers that a graph rotates over if `l2` is `rotate`, each with its own inputs. At most two if one set \
         exceeds twice the L2 cache.",
    ).default("4");
    l2 = key(
        KeyKind::OneOf(&words(&L2State::WORDS)),
        "Content of the L2 cache at a timed launch. `rotate`: left by the other sets of buffers. `warm`: left by the same set. `cold`: overwritten before each launch, outside the timed region, and every launch is a sample.",
    ).default("\"rotate\"");
    verify = key(
        KeyKind::OneOf(&words(&Verification::WORDS)),
        "Whether the outputs of timed launches are verified. With `none`, gates accept no latency of a kernel.",
    ).default("\"audited\"");
    timeout_s = key(
        KeyKind::Whole(1),
        "A correctness case or a sample that takes longer (in seconds) is a hang.",
    ).default("30");
    shapes = key(TEXTS, "Shapes that are timed, by name or glob.").otherwise("the objective's, and those that gates name");
}

keys! {
    PROFILE: ProfileKeys = "[profile]", "How counters are collected.";
    ncu = key(KeyKind::Text, "The profiler.").otherwise("`ncu` on `PATH`");
    shapes = key(TEXTS, "Shapes that are profiled, by name or glob. A few launches at other timed shapes are profiled with them.").otherwise("the objective's, and those that gates name");
    metrics = key(TEXTS, "Further metrics to collect: names of the catalogue or of ncu.").default("[]");
    timeout_s = key(KeyKind::Whole(1), "Time limit of one ncu process, in seconds.").default("300");
    repeat = key(
        KeyKind::Whole(1),
        "Profiled launches of each variant and shape, for the spread of counters.",
    ).default("1");
    deep_profile = key(
        KeyKind::OneOf(&words(&DeepProfileTarget::WORDS)),
        "Which variant gets a deep profile after the sweep, for the report only.",
    ).default("\"selected\"");
    require = key(
        KeyKind::Bool,
        "Whether the run ends with status 3 if counters cannot be collected. Otherwise gates on counters are inconclusive.",
    ).default("false");
}

keys! {
    MACHINE: MachineKeys = "[machine]", "GPUs of the phase.";
    groups = key(
        TEXTS,
        "Kinds of GPUs, each by whole words of its name (`[\"H200\", \"L4\"]`), for [`run --gpus`](how-to/use-several-gpus.md).",
    ).otherwise("one kind");
}

keys! {
    KERNEL: KernelKeys = "[kernel]", "A kernel source and how to build and launch it. Expressions see dimensions and the variant's parameters.";
    source = key(
        KeyKind::Either(&[KeyKind::Template, TEMPLATES]),
        "The `.cu` file, or a header with kernels. A kernel has exactly one of `source`, `ptx`, `cubin`, `python` and `host`. Several \
         files (`[\"kernel.cu\", \"tables.cu\"]`) are compiled with `-rdc=true` and linked; template instances come from the first.",
    );
    ptx = key(KeyKind::Template, "A PTX file, assembled by nvcc for the architecture.");
    cubin = key(KeyKind::Template, "A cubin of any compiler, launched unchanged.");
    python = key(
        KeyKind::Template,
        "`FILE.py:FUNCTION`: a function under `@triton.jit`, `@cuda.jit` (Numba) or `@cute.jit` (CuTe DSL), or one that returns such a kernel ([Python](python.md)).",
    );
    host = key(
        KeyKind::Template,
        "`FILE.cu:FUNCTION`: a [host function](#host-code-that-computes-the-launches) that launches kernels (CUB, CUTLASS, a \
         library's launcher).",
    );
    entry = key(
        KeyKind::Template,
        "Name of the `__global__` function: a symbol (`extern \"C\"`, mangled), or as in C++: `ns::reduce<half, 2 * {{ W }}>` is \
         instantiated, `scale(float*, int)` selects an overload. Namespaces can be omitted if only one kernel of the source fits.",
    ).otherwise("each launch has its own");
    flags = key(
        TEMPLATES,
        "nvcc flags; the parameter replaces `{{ NAME }}`. PTX has no `-lineinfo` by default.",
    ).default("[\"-O3\", \"-lineinfo\"]");
    defines = key(NAMES, "Parameters passed as `-DNAME=value`.").otherwise("[]");
    grid = key(EXPRS, "Blocks per grid, 1 to 3 axes.").otherwise("each launch has its own");
    block = key(EXPRS, "Threads per block, 1 to 3 axes.").otherwise("each launch has its own");
    cluster = key(
        EXPRS,
        "Blocks per cluster, 1 to 3 axes. For more than 8 blocks, up to 16, the launch permits non-portable cluster sizes.",
    ).otherwise("no cluster");
    dynamic_shared = key(
        KeyKind::Either(&[KeyKind::Expr, KeyKind::Table(&DYNAMIC_ARRAYS)]),
        "Dynamic shared memory per block, in bytes; or a table by array, so that errors can show the largest ones.",
    ).otherwise("0");
    cooperative = key(
        KeyKind::Bool,
        "Whether all blocks are resident at once and can synchronise (`grid.sync()`). A grid that does not fit on the GPU is \
         not launched.",
    ).otherwise("false");
    carveout = key(
        KeyKind::Expr,
        "Preferred share of shared memory in L1, in percent, as for `cudaFuncAttributePreferredSharedMemoryCarveout`. The \
         driver may choose more.",
    ).otherwise("the driver's choice");
    l2_window = key(
        KeyKind::Table(&L2_WINDOW.spec),
        "An access-policy window, as `cudaLaunchAttributeAccessPolicyWindow` sets it.",
    ).otherwise("none");
    tensor_maps = key(
        KeyKind::Table(&TENSOR_MAPS),
        "Tensor maps for bulk tensor copies (TMA), to name in `args`.",
    ).otherwise("{}");
    constexprs = key(
        KeyKind::Table(&CONSTEXPRS),
        "Constants of a Triton or Gluon kernel that [follow the shape](python.md#triton).",
    ).otherwise("{}");
    symbols = key(
        KeyKind::Table(&SYMBOLS),
        "[Variables of the module](#variables-of-the-module) to write.",
    ).otherwise("{}");
    r#where = key(
        KeyKind::Expr,
        "Condition on the shape. Where it is false, the variant is not launched and has no metrics.",
    ).otherwise("all shapes");
    args = key(
        ARGUMENTS,
        "Arguments in the order of the signature, by name or as tables.",
    ).otherwise("each launch has its own");
    workspace = key(
        EXPRS,
        "Bytes of memory for each pointer that the kernel takes after `args`; 0 passes a null pointer. A cubin of Triton takes two.",
    ).otherwise("[]");
    launch = key(
        KeyKind::List(&KeyKind::Table(&LAUNCH)),
        "The [steps](#several-launches) of one evaluation.",
    ).otherwise("one launch");
}

keys! {
    L2_WINDOW: L2WindowKeys = "l2_window = { ... }", "A part of the L2 cache is set aside for persisting lines while the variant is launched, and given back before others are. Compute capability 8.0 or later; sizes beyond the device's maximum are cut.";
    buffer = key(KeyKind::Name, "The buffer under the window, from its start.").required();
    bytes = key(KeyKind::Expr, "Bytes of the window.").otherwise("the whole buffer");
    hit_ratio = key(KeyKind::Expr, "The share of the window's lines with the property `hit`, 0 to 1.").default("1");
    hit = key(KeyKind::OneOf(&words(&L2Property::WORDS)), "Their property.").default("\"persisting\"");
    miss = key(KeyKind::OneOf(&words(&L2Property::OF_MISSES)), "The property of the window's other lines.").default("\"streaming\"");
    set_aside = key(
        KeyKind::Expr,
        "Bytes of the L2 cache for persisting lines, as `cudaLimitPersistingL2CacheSize`.",
    ).otherwise("the bytes of the window");
}

/// `[kernel.tensor_maps]`.
pub static TENSOR_MAPS: Spec = Spec {
    title: "[kernel.tensor_maps]",
    doc: "`name = { buffer = \"k\", box = [\"TILE_N\", \"D\"] }`: a `const __grid_constant__ CUtensorMap` argument, or a map behind a `const CUtensorMap*` (`{ pointers = [\"name\"] }`).",
    keys: &[],
    free: Some(KeyKind::Table(&TENSOR_MAP.spec)),
};

keys! {
    TENSOR_MAP: TensorMapKeys = "[kernel.tensor_maps] NAME = { ... }", "A view of 1 to 5 axes over a buffer. Lists are in the buffer's order, outermost first. Expressions see dimensions and the variant's parameters.";
    buffer = key(KeyKind::Name, "The buffer, which determines type and address of the map.").required();
    shape = key(EXPRS, "Elements of the view along each axis.").otherwise("that of the buffer");
    strides = key(
        EXPRS,
        "Distance between neighbours along each axis except the innermost, in elements of the buffer: multiples of 16 bytes. \
         Axes can be in any order and overlap, but the view cannot reach outside the buffer.",
    ).otherwise("contiguous");
    r#box = key(EXPRS, "Elements of one copy, 1 to 256 along each axis.").required();
    element_strides = key(
        EXPRS,
        "Take every n-th element of the box along each axis, 1 to 8; 1 on the innermost.",
    ).otherwise("1 on every axis");
    swizzle = key(
        KeyKind::Expr,
        "Span in bytes within which 16-byte chunks of shared memory are swizzled: 0 (none), 32, 64 or 128.",
    ).default("0");
    l2_promotion = key(KeyKind::Expr, "Bytes that L2 fetches at a time: 0 (no promotion), 64, 128 or 256.").default("256");
    oob_fill = key(
        KeyKind::OneOf(&words(&OutOfBoundsFill::WORDS)),
        "Elements outside the view: zeros, or NaN, which a multiply-add of tensor cores takes as zero (floating-point types).",
    ).default("\"none\"");
}

/// `[kernel.constexprs]`.
pub static CONSTEXPRS: Spec = Spec {
    title: "[kernel.constexprs]",
    doc: "`NAME = \"expression\"` over dimensions and the variant's parameters: a constexpr or an option of the compiler. The \
          kernel is compiled once for each set of values.",
    keys: &[],
    free: Some(KeyKind::Expr),
};

/// `dynamic_shared`, array by array.
pub static DYNAMIC_ARRAYS: Spec = Spec {
    title: "[kernel] dynamic_shared = { ... }",
    doc: "`name = \"expression\"`: an array in dynamic shared memory and its bytes. A block gets the sum. \
          `cpp = \"Traits<{{ STAGES }}>::kSmemSize\"` alone is a compile-time constant of the CUDA C++ source.",
    keys: &[],
    free: Some(KeyKind::Expr),
};

keys! {
    SWEEP: SweepKeys = "[sweep]", "`NAME = [values]`: every combination is a candidate, the last axis fastest.", Some(KeyKind::Either(&[KeyKind::List(&KeyKind::Param), KeyKind::Table(&FLAG_VALUES)]));
    r#where = key(KeyKind::Expr, "Condition on the combinations.").otherwise("all");
    points = key(
        KeyKind::List(&KeyKind::Table(&PARAMS)),
        "The candidates, each with a value of every axis. The run of a search lists its finalists here.",
    ).otherwise("every combination");
}

/// A parameter of the sweep whose values are named lists of flags.
pub static FLAG_VALUES: Spec = Spec {
    title: "[sweep] NAME = { ... }",
    doc: "A parameter that chooses nvcc flags ([variants](#variants)).",
    keys: &[],
    free: Some(TEMPLATES),
};

keys! {
    VARIANT: VariantKeys = "[[variant]], [[baseline]]", "A named variant: `[kernel]` with its own parameters, a Python function, or a command.";
    name = key(KeyKind::Name, "Its name, also its id.").required();
    params = key(KeyKind::Table(&PARAMS), "Its parameters.").default("{}");
    kernel = key(
        KeyKind::Part(&KERNEL.spec),
        "Keys of `[kernel]` that differ; all of them if the file has no `[kernel]`.",
    ).otherwise("{}");
    python = key(
        KeyKind::Template,
        "`FILE.py:FUNCTION`: a [function over tensors](python.md#a-function-over-tensors), instead of a kernel.",
    );
    command = key(TEMPLATES, "Program and arguments of an external command, instead of a kernel. Its latency is self-reported.");
    kernel_filter = key(
        KeyKind::Text,
        "Regular expression for the kernels of the function or command to profile.",
    ).otherwise("every kernel in the variant's NVTX range");
    r#match = key(
        KeyKind::Table(&LAUNCH_PATTERN.spec),
        "Launches in ncu reports of another program, instead of a kernel. Every variant and baseline then has `match`, and the file has no `[workload]`.",
    );
}

keys! {
    LAUNCH_PATTERN: LaunchPatternKeys = "match = { ... }", "The launches of the variant: those that match every given key, at least one.";
    kernel = key(
        KeyKind::Text,
        "Glob over the kernel's name: of the function (`softmax_warp_forward`), with scopes and template arguments \
             (`at::native::reduce<float>`), or the whole signature.",
    );
    nvtx = key(KeyKind::Text, "Glob over one of the open NVTX ranges, or over all of them (`outer > inner`).");
    launch = key(
        KeyKind::Either(&[KeyKind::Whole(0), KeyKind::List(&KeyKind::Whole(0))]),
        "Number of the launch in its report, or several, as ncu and `ncugate show` write it; the first is 0.",
    );
    report = key(KeyKind::Text, "Glob over the file name of the report, if several are given.");
}

pub static PARAMS: Spec = Spec {
    title: "params = { ... }",
    doc: "Parameter and value. `FAST = { on = [\"-use_fast_math\"] }` is a value with its nvcc flags.",
    keys: &[],
    free: Some(KeyKind::Either(&[KeyKind::Param, KeyKind::Table(&FLAG_VALUES)])),
};

/// Every table that a file can contain, each once.
pub fn tables() -> Vec<&'static Spec> {
    let mut met = Vec::new();
    meet(&ROOT.spec, &mut met);
    met
}

/// Collects a table and those inside it, each once.
fn meet(spec: &'static Spec, met: &mut Vec<&'static Spec>) {
    if met.iter().any(|known| std::ptr::eq(*known, spec)) {
        return;
    }
    met.push(spec);
    for kind in spec.keys.iter().map(|key| &key.kind).chain(&spec.free) {
        meet_kind(kind, met);
    }
}

fn meet_kind(kind: &'static KeyKind, met: &mut Vec<&'static Spec>) {
    match kind {
        KeyKind::Table(spec) | KeyKind::Part(spec) => meet(spec, met),
        KeyKind::List(inner) => meet_kind(inner, met),
        KeyKind::Either(kinds) => kinds.iter().for_each(|kind| meet_kind(kind, met)),
        _ => {}
    }
}
