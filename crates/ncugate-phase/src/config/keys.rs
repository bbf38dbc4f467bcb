//! Every key of a phase: its name, kind, default and meaning, declared only here.
//!
//! The reader refuses other keys, takes words and bounds from the kind, and reads a default as if it were in the
//! file. The JSON Schema and the list in `docs/config.md` are generated from the same declarations.

/// Declares the keys of a table. The name of each key is the name of its field, and its comment is its meaning; without a
/// comment it has that of its table. The compiler reports an unread field, so that no declared key is ignored.
macro_rules! keys {
    (
        $(#[doc = $doc:literal])+
        $table:ident: $type:ident = $title:literal $(, $free:expr)?;
        $($(#[doc = $meaning:literal])* $field:ident = $key:expr;)+
    ) => {
        #[derive(Debug)]
        pub struct $type {
            pub spec: crate::config::keys::Spec,
            $(pub $field: crate::config::keys::Key,)+
        }

        pub static $table: $type = $type {
            spec: crate::config::keys::Spec {
                title: $title,
                doc: crate::config::keys::comment(concat!($($doc),+)),
                keys: &[$($key.named(stringify!($field), concat!($($meaning),*))),+],
                free: [$(Some($free),)? None][0],
            },
            $($field: $key.named(stringify!($field), concat!($($meaning),*)),)+
        };
    };
}

/// Declares a table whose keys have any names, with the kind of their values.
macro_rules! names {
    ($(#[doc = $doc:literal])+ $table:ident = $title:literal, $kind:expr;) => {
        pub static $table: crate::config::keys::Spec = crate::config::keys::Spec {
            title: $title,
            doc: crate::config::keys::comment(concat!($($doc),+)),
            keys: &[],
            free: Some($kind),
        };
    };
}

/// The text of a comment, whose lines begin with a space.
const fn comment(lines: &'static str) -> &'static str {
    lines.split_at(1).1
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
    /// The meaning of a table, or of the tables of an array.
    const fn doc(&self) -> &'static str {
        match self {
            Self::Table(spec) | Self::List(Self::Table(spec) | Self::Either([_, Self::Table(spec)])) => spec.doc,
            _ => "",
        }
    }

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
    /// Adds the name of its field, without the `r#` of a Rust keyword, and the comment with its meaning.
    const fn named(mut self, field: &'static str, meaning: &'static str) -> Self {
        self.name = match field.as_bytes() {
            [b'r', b'#', ..] => field.split_at(2).1,
            _ => field,
        };
        if !meaning.is_empty() {
            self.doc = comment(meaning);
        } else if self.doc.is_empty() {
            self.doc = self.kind.doc();
        }
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

const fn key(kind: KeyKind) -> Key {
    Key { name: "", kind, required: false, default: None, doc: "" }
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
    /// One phase: one experiment.
    ROOT: RootKeys = "the file";
    phase = key(KeyKind::Table(&PHASE.spec)).required();
    build = key(KeyKind::Table(&BUILD.spec));
    toolchains = key(KeyKind::Table(&TOOLCHAINS));
    bench = key(KeyKind::Table(&BENCH.spec));
    profile = key(KeyKind::Table(&PROFILE.spec));
    machine = key(KeyKind::Table(&MACHINE.spec));
    check = key(KeyKind::Table(&CHECK.spec));
    workload = key(KeyKind::Table(&WORKLOAD.spec));
    kernel = key(KeyKind::Table(&KERNEL.spec));
    sweep = key(KeyKind::Table(&SWEEP.spec));
    search = key(KeyKind::Table(&SEARCH.spec));
    variant = key(KeyKind::List(&KeyKind::Table(&VARIANT.spec)));
    /// A variant that candidates are compared with; the first is `baseline` in requirements.
    baseline = key(KeyKind::List(&KeyKind::Table(&VARIANT.spec)));
    gate = key(GATES);
    tier = key(KeyKind::List(&KeyKind::Table(&TIER.spec)));
    stage = key(KeyKind::List(&KeyKind::Table(&STAGE.spec)));
    fallback = key(KeyKind::Table(&FALLBACK.spec));
    precondition = key(KeyKind::List(&KeyKind::Table(&PRECONDITION.spec)));
    waiver = key(KeyKind::List(&KeyKind::Table(&WAIVER.spec)));
    rule = key(KeyKind::List(&KeyKind::Table(&RULE.spec)));
    imported = key(KeyKind::Table(&IMPORTED.spec));
    base = key(KeyKind::Table(&BASE.spec));
}

/// `ncugate.toml`.
pub static PROJECT: Spec = Spec {
    title: "ncugate.toml",
    doc: "Defaults of all phases below its folder. A key of a phase overrides them.",
    keys: &[ROOT.build, ROOT.bench, ROOT.profile],
    free: None,
};

keys! {
    /// Name, title and objective.
    PHASE: PhaseKeys = "[phase]";
    /// Short name; runs and reports are kept in folders of this name.
    name = key(KeyKind::Name).required();
    /// Title for people.
    title = key(KeyKind::Text).otherwise("the name");
    /// The metric by which the best correct candidate is selected. A text uses the metric's direction, a table sets
    /// it. For launches of ncu reports the default is `duration`.
    objective = key(KeyKind::Either(&[KeyKind::Text, KeyKind::Table(&OBJECTIVE.spec)])).default("\"latency_p50\"");
    /// The shape at which the objective is read.
    objective_shape = key(KeyKind::Name).otherwise("the last declared shape");
    /// Which correct candidate is selected: the best by the objective, or the best that passes every required gate
    /// (if none does, the best).
    select = key(KeyKind::OneOf(&words(&Selection::WORDS))).default("\"best\"");
    /// Folder of a run kept in the repository, shown if nothing can be measured and judged with `--source recorded`.
    recording = key(KeyKind::Text).otherwise("none");
}

keys! {
    /// Exactly one of the two.
    OBJECTIVE: ObjectiveKeys = "objective = { ... }";
    /// Lower values are better.
    minimise = key(KeyKind::Text);
    /// Higher values are better.
    maximise = key(KeyKind::Text);
}

keys! {
    /// How variants are compiled.
    BUILD: BuildKeys = "[build]";
    /// The compiler.
    nvcc = key(KeyKind::Text).otherwise("`nvcc` on `PATH`");
    /// Architecture, such as `sm_90`.
    arch = key(KeyKind::Text).otherwise("the GPU's own");
    /// The Python with Triton, Numba or CuTe DSL, which also runs Python functions and references.
    python = key(KeyKind::Text).otherwise("`python3` on `PATH`");
    /// Folders, relative to the project's root, in which this Python finds modules, ahead of its packages.
    /// `pkg.mod:f` then names `pkg/mod.py:f` in the first one.
    pythonpath = key(TEXTS).default("[]");
    /// Packages of this Python whose headers `#include` finds: `["torch"]`. They are not imported.
    include = key(TEXTS).default("[]");
    /// Folder of the compile cache; `$NCUGATE_CACHE` overrides it.
    cache = key(KeyKind::Text).otherwise("`ncugate` in `$XDG_CACHE_HOME` or `~/.cache`");
}

/// A number of samples.
const SAMPLES: KeyKind = KeyKind::Between(1, MOST_SAMPLES as i64);

keys! {
    /// How latency is measured. Correctness is checked at every shape, regardless of `shapes`.
    BENCH: BenchKeys = "[bench]";
    /// Untimed graph launches before the first sample.
    warmup = key(KeyKind::Whole(0)).default("5");
    /// Samples of a variant at a shape; rounds are interleaved over variants.
    rounds = key(SAMPLES).default("60");
    /// Maximum samples of a [confirmation](statistics.md#two-sets-of-samples), which doubles its rounds under noise.
    max_rounds = key(SAMPLES).default("240");
    /// Processes of each look of a confirmation, each for a part of its rounds. Verdicts hold between processes.
    processes = key(KeyKind::Whole(5)).default("5");
    /// Minimum duration of a sample in microseconds, which determines the launches in a graph.
    min_sample_us = key(KeyKind::Whole(1)).default("200");
    /// Maximum number of launches in a graph.
    max_launches = key(KeyKind::Whole(1)).default("50");
    /// Sets of buffers that a graph rotates over if `l2` is `rotate`, each with its own inputs. At most two if one
    /// set exceeds twice the L2 cache.
    buffer_sets = key(KeyKind::Whole(1)).default("4");
    /// Content of the L2 cache at a timed launch. `rotate`: left by the other sets of buffers. `warm`: left by the
    /// same set. `cold`: overwritten before each launch, outside the timed region, and every launch is a sample.
    l2 = key(KeyKind::OneOf(&words(&L2State::WORDS))).default("\"rotate\"");
    /// Whether the outputs of timed launches are verified. With `none`, gates accept no latency of a kernel.
    verify = key(KeyKind::OneOf(&words(&Verification::WORDS))).default("\"audited\"");
    /// A correctness case or a sample that takes longer (in seconds) is a hang.
    timeout_s = key(KeyKind::Whole(1)).default("30");
    /// Shapes that are timed, by name or glob.
    shapes = key(TEXTS).otherwise("the objective's, and those that gates name");
}

keys! {
    /// How counters are collected.
    PROFILE: ProfileKeys = "[profile]";
    /// The profiler.
    ncu = key(KeyKind::Text).otherwise("`ncu` on `PATH`");
    /// Shapes that are profiled, by name or glob. A few launches at other timed shapes are profiled with them.
    shapes = key(TEXTS).otherwise("the objective's, and those that gates name");
    /// Further metrics to collect: names of the catalogue or of ncu.
    metrics = key(TEXTS).default("[]");
    /// Time limit of one ncu process, in seconds.
    timeout_s = key(KeyKind::Whole(1)).default("300");
    /// Profiled launches of each variant and shape, for the spread of counters.
    repeat = key(KeyKind::Whole(1)).default("1");
    /// Which variant gets a deep profile after the sweep, for the report only.
    deep_profile = key(KeyKind::OneOf(&words(&DeepProfileTarget::WORDS))).default("\"selected\"");
    /// Whether the run ends with status 3 if counters cannot be collected. Otherwise gates on counters are
    /// inconclusive.
    require = key(KeyKind::Bool).default("false");
}

keys! {
    /// GPUs of the phase.
    MACHINE: MachineKeys = "[machine]";
    /// Kinds of GPUs, each by whole words of its name (`["H200", "L4"]`), for [`run
    /// --gpus`](how-to/use-several-gpus.md).
    groups = key(TEXTS).otherwise("one kind");
}

keys! {
    /// A kernel source and how to build and launch it. Expressions see dimensions and the variant's parameters.
    KERNEL: KernelKeys = "[kernel]";
    /// The `.cu` file, or a header with kernels. A kernel has exactly one of `source`, `ptx`, `cubin`, `python` and
    /// `host`. Several files (`["kernel.cu", "tables.cu"]`) are compiled with `-rdc=true` and linked; template
    /// instances come from the first.
    source = key(KeyKind::Either(&[KeyKind::Template, TEMPLATES]));
    /// A PTX file, assembled by nvcc for the architecture.
    ptx = key(KeyKind::Template);
    /// A cubin of any compiler, launched unchanged.
    cubin = key(KeyKind::Template);
    /// `FILE.py:FUNCTION`: a function under `@triton.jit`, `@cuda.jit` (Numba) or `@cute.jit` (CuTe DSL), or one that
    /// returns such a kernel ([Python](python.md)).
    python = key(KeyKind::Template);
    /// `FILE.cu:FUNCTION`: a [host function](#host-code-that-computes-the-launches) that launches kernels (CUB,
    /// CUTLASS, a library's launcher).
    host = key(KeyKind::Template);
    /// Name of the `__global__` function: a symbol (`extern "C"`, mangled), or as in C++: `ns::reduce<half, 2 * {{ W
    /// }}>` is instantiated, `scale(float*, int)` selects an overload. Namespaces can be omitted if only one kernel
    /// of the source fits.
    entry = key(KeyKind::Template).otherwise("each launch has its own");
    /// nvcc flags; the parameter replaces `{{ NAME }}`. PTX has no `-lineinfo` by default.
    flags = key(TEMPLATES).default("[\"-O3\", \"-lineinfo\"]");
    /// Parameters passed as `-DNAME=value`.
    defines = key(NAMES).otherwise("[]");
    /// Blocks per grid, 1 to 3 axes.
    grid = key(EXPRS).otherwise("each launch has its own");
    /// Threads per block, 1 to 3 axes.
    block = key(EXPRS).otherwise("each launch has its own");
    /// Blocks per cluster, 1 to 3 axes. For more than 8 blocks, up to 16, the launch permits non-portable cluster
    /// sizes.
    cluster = key(EXPRS).otherwise("no cluster");
    /// Dynamic shared memory per block, in bytes; or a table by array, so that errors can show the largest ones.
    dynamic_shared = key(KeyKind::Either(&[KeyKind::Expr, KeyKind::Table(&DYNAMIC_ARRAYS)])).otherwise("0");
    /// Whether all blocks are resident at once and can synchronise (`grid.sync()`). A grid that does not fit on the
    /// GPU is not launched.
    cooperative = key(KeyKind::Bool).otherwise("false");
    /// Preferred share of shared memory in L1, in percent, as for `cudaFuncAttributePreferredSharedMemoryCarveout`.
    /// The driver may choose more.
    carveout = key(KeyKind::Expr).otherwise("the driver's choice");
    /// An access-policy window, as `cudaLaunchAttributeAccessPolicyWindow` sets it.
    l2_window = key(KeyKind::Table(&L2_WINDOW.spec)).otherwise("none");
    /// Tensor maps for bulk tensor copies (TMA), to name in `args`.
    tensor_maps = key(KeyKind::Table(&TENSOR_MAPS)).otherwise("{}");
    /// Constants of a Triton or Gluon kernel that [follow the shape](python.md#triton).
    constexprs = key(KeyKind::Table(&CONSTEXPRS)).otherwise("{}");
    /// [Variables of the module](#variables-of-the-module) to write.
    symbols = key(KeyKind::Table(&SYMBOLS)).otherwise("{}");
    /// Condition on the shape. Where it is false, the variant is not launched and has no metrics.
    r#where = key(KeyKind::Expr).otherwise("all shapes");
    /// Arguments in the order of the signature, by name or as tables.
    args = key(ARGUMENTS).otherwise("each launch has its own");
    /// Bytes of memory for each pointer that the kernel takes after `args`; 0 passes a null pointer. A cubin of
    /// Triton takes two.
    workspace = key(EXPRS).otherwise("[]");
    /// The [steps](#several-launches) of one evaluation.
    launch = key(KeyKind::List(&KeyKind::Table(&LAUNCH.spec))).otherwise("one launch");
}

keys! {
    /// A part of the L2 cache is set aside for persisting lines while the variant is launched, and given back before
    /// others are. Compute capability 8.0 or later; sizes beyond the device's maximum are cut.
    L2_WINDOW: L2WindowKeys = "l2_window = { ... }";
    /// The buffer under the window, from its start.
    buffer = key(KeyKind::Name).required();
    /// Bytes of the window.
    bytes = key(KeyKind::Expr).otherwise("the whole buffer");
    /// The share of the window's lines with the property `hit`, 0 to 1.
    hit_ratio = key(KeyKind::Expr).default("1");
    /// Their property.
    hit = key(KeyKind::OneOf(&words(&L2Property::WORDS))).default("\"persisting\"");
    /// The property of the window's other lines.
    miss = key(KeyKind::OneOf(&words(&L2Property::OF_MISSES))).default("\"streaming\"");
    /// Bytes of the L2 cache for persisting lines, as `cudaLimitPersistingL2CacheSize`.
    set_aside = key(KeyKind::Expr).otherwise("the bytes of the window");
}

names! {
    /// `name = { buffer = "k", box = ["TILE_N", "D"] }`: a `const __grid_constant__ CUtensorMap` argument, or a map
    /// behind a `const CUtensorMap*` (`{ pointers = ["name"] }`).
    TENSOR_MAPS = "[kernel.tensor_maps]", KeyKind::Table(&TENSOR_MAP.spec);
}

keys! {
    /// A view of 1 to 5 axes over a buffer. Lists are in the buffer's order, outermost first. Expressions see
    /// dimensions and the variant's parameters.
    TENSOR_MAP: TensorMapKeys = "[kernel.tensor_maps] NAME = { ... }";
    /// The buffer, which determines type and address of the map.
    buffer = key(KeyKind::Name).required();
    /// Elements of the view along each axis.
    shape = key(EXPRS).otherwise("that of the buffer");
    /// Distance between neighbours along each axis except the innermost, in elements of the buffer: multiples of 16
    /// bytes. Axes can be in any order and overlap, but the view cannot reach outside the buffer.
    strides = key(EXPRS).otherwise("contiguous");
    /// Elements of one copy, 1 to 256 along each axis.
    r#box = key(EXPRS).required();
    /// Take every n-th element of the box along each axis, 1 to 8; 1 on the innermost.
    element_strides = key(EXPRS).otherwise("1 on every axis");
    /// Span in bytes within which 16-byte chunks of shared memory are swizzled: 0 (none), 32, 64 or 128.
    swizzle = key(KeyKind::Expr).default("0");
    /// Bytes that L2 fetches at a time: 0 (no promotion), 64, 128 or 256.
    l2_promotion = key(KeyKind::Expr).default("256");
    /// Elements outside the view: zeros, or NaN, which a multiply-add of tensor cores takes as zero (floating-point
    /// types).
    oob_fill = key(KeyKind::OneOf(&words(&OutOfBoundsFill::WORDS))).default("\"none\"");
}

names! {
    /// `NAME = "expression"` over dimensions and the variant's parameters: a constexpr or an option of the compiler.
    /// The kernel is compiled once for each set of values.
    CONSTEXPRS = "[kernel.constexprs]", KeyKind::Expr;
}

names! {
    /// `name = "expression"`: an array in dynamic shared memory and its bytes. A block gets the sum. `cpp =
    /// "Traits<{{ STAGES }}>::kSmemSize"` alone is a compile-time constant of the CUDA C++ source.
    DYNAMIC_ARRAYS = "[kernel] dynamic_shared = { ... }", KeyKind::Expr;
}

keys! {
    /// `NAME = [values]`: every combination is a candidate, the last axis fastest.
    SWEEP: SweepKeys = "[sweep]", KeyKind::Either(&[KeyKind::List(&KeyKind::Param), KeyKind::Table(&FLAG_VALUES)]);
    /// Condition on the combinations.
    r#where = key(KeyKind::Expr).otherwise("all");
    /// The candidates, each with a value of every axis. The run of a search lists its finalists here.
    points = key(KeyKind::List(&KeyKind::Table(&PARAMS))).otherwise("every combination");
}

names! {
    /// A parameter that chooses nvcc flags ([variants](#variants)).
    FLAG_VALUES = "[sweep] NAME = { ... }", TEMPLATES;
}

keys! {
    /// A named variant: `[kernel]` with its own parameters, a Python function, or a command.
    VARIANT: VariantKeys = "[[variant]], [[baseline]]";
    /// Its name, also its id.
    name = key(KeyKind::Name).required();
    /// Its parameters.
    params = key(KeyKind::Table(&PARAMS)).default("{}");
    /// Keys of `[kernel]` that differ; all of them if the file has no `[kernel]`.
    kernel = key(KeyKind::Part(&KERNEL.spec)).otherwise("{}");
    /// `FILE.py:FUNCTION`: a [function over tensors](python.md#a-function-over-tensors), instead of a kernel.
    python = key(KeyKind::Template);
    /// Program and arguments of an external command, instead of a kernel. Its latency is self-reported.
    command = key(TEMPLATES);
    /// Regular expression for the kernels of the function or command to profile.
    kernel_filter = key(KeyKind::Text).otherwise("every kernel in the variant's NVTX range");
    /// Launches in ncu reports of another program, instead of a kernel. Every variant and baseline then has `match`,
    /// and the file has no `[workload]`.
    r#match = key(KeyKind::Table(&LAUNCH_PATTERN.spec));
}

keys! {
    /// The launches of the variant: those that match every given key, at least one.
    LAUNCH_PATTERN: LaunchPatternKeys = "match = { ... }";
    /// Glob over the kernel's name: of the function (`softmax_warp_forward`), with scopes and template arguments
    /// (`at::native::reduce<float>`), or the whole signature.
    kernel = key(KeyKind::Text);
    /// Glob over one of the open NVTX ranges, or over all of them (`outer > inner`).
    nvtx = key(KeyKind::Text);
    /// Number of the launch in its report, or several, as ncu and `ncugate show` write it; the first is 0.
    launch = key(KeyKind::Either(&[KeyKind::Whole(0), KeyKind::List(&KeyKind::Whole(0))]));
    /// Glob over the file name of the report, if several are given.
    report = key(KeyKind::Text);
}

names! {
    /// Parameter and value. `FAST = { on = ["-use_fast_math"] }` is a value with its nvcc flags.
    PARAMS = "params = { ... }", KeyKind::Either(&[KeyKind::Param, KeyKind::Table(&FLAG_VALUES)]);
}

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
