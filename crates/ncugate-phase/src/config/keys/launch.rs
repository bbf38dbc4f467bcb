//! `[[kernel.launch]]`: what one evaluation of a kernel does, step by step.

use super::{EXPRS, Key, KeyKind, Spec, key, spec};

const BYTES_OR_ARRAYS: KeyKind = KeyKind::Either(&[KeyKind::Expr, KeyKind::Table(&super::DYNAMIC_ARRAYS)]);

/// Entry: keys that a launch may have, of its own or from `[kernel]`.
pub const ENTRY: Key = key(
    "entry",
    KeyKind::Template,
    "Name of the `__global__` function: an `extern \"C\"` one, a mangled one, or as in C++ (`reduce`, `ns::reduce`, \
     `reduce<float, {{ THREADS }}>`). A template is instantiated with the arguments that are written (enumerators too), if the source \
     does not. Namespaces may be left out while one kernel fits.",
);
pub const GRID: Key = key("grid", EXPRS, "Blocks a grid, 1 to 3 axes.");
pub const BLOCK: Key = key("block", EXPRS, "Threads a block, 1 to 3 axes.");
pub const CLUSTER: Key = key("cluster", EXPRS, "Blocks a cluster, 1 to 3 axes.");
pub const DYNAMIC_SHARED: Key = key(
    "dynamic_shared",
    BYTES_OR_ARRAYS,
    "Dynamic shared memory a block, in bytes; or array by array, so that a refusal can say what takes it.",
);
pub const COOPERATIVE: Key = key(
    "cooperative",
    KeyKind::Bool,
    "Whether all blocks are resident at once, so that they can wait for each other (`grid.sync()`). A grid that does not \
     fit on the GPU is not launched.",
);
/// Programmatic dependent launch.
pub const PDL: Key = key(
    "pdl",
    KeyKind::Bool,
    "Programmatic dependent launch: whether it may begin before the launch before it has ended, for which it waits itself \
     (`cudaGridDependencySynchronize`). Compute capability 9.0 or later.",
);
pub const CARVEOUT: Key = key(
    "carveout",
    KeyKind::Expr,
    "Preferred share of L1 and shared memory to use as shared memory, in percent, as \
     `cudaFuncAttributePreferredSharedMemoryCarveout` takes it. The driver may give more.",
);
pub const ARGS: Key = key(
    "args",
    super::ARGUMENTS,
    "Arguments in the order of the signature: buffers, tensor maps, scalars, or dimensions (passed as `int`) by name; other ones as tables.",
);

pub const WORKSPACE: Key = key(
    "workspace",
    EXPRS,
    "Bytes of memory behind each pointer that the kernel takes after `args`; 0 passes a null pointer. A cubin of Triton takes two: \
     scratch memory and the profiler's. Not for `python`, whose compiler says what it needs.",
);

/// `[[kernel.launch]]`.
pub static LAUNCH: Spec = spec(
    "[[kernel.launch]]",
    "A step of an evaluation, in order: a launch, `memset` or `memcpy`. A launch takes from `[kernel]` what it does not say.",
    &[
        ENTRY.default("that of [kernel]"),
        GRID.default("that of [kernel]"),
        BLOCK.default("that of [kernel]"),
        CLUSTER.default("that of [kernel]"),
        DYNAMIC_SHARED.default("that of [kernel]"),
        COOPERATIVE.default("that of [kernel]"),
        PDL.default("false"),
        CARVEOUT.default("that of [kernel]"),
        ARGS.default("that of [kernel]"),
        WORKSPACE.default("that of [kernel]"),
        key("memset", KeyKind::Name, "Instead of a launch: the buffer whose bytes are all set, by `cuMemsetD8Async`."),
        key("byte", KeyKind::Whole(0), "The byte that `memset` sets, at most 255.").default("0"),
        key(
            "memcpy",
            KeyKind::Table(&MEMCPY),
            "Instead of a launch: a copy of one buffer to another, by `cuMemcpyDtoDAsync`.",
        ),
    ],
);

pub static MEMCPY: Spec = spec(
    "memcpy = { ... }",
    "A copy of a whole buffer to one of as many bytes.",
    &[
        key("from", KeyKind::Name, "The buffer that is read.").required(),
        key("to", KeyKind::Name, "The buffer that is written.").required(),
    ],
);
