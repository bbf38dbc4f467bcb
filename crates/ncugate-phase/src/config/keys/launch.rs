//! `[[kernel.launch]]`: the steps of one evaluation of a kernel.

use super::{KERNEL, Key, KeyKind, Spec, key};

/// A step. The keys that it shares with `[kernel]` belong to a launch.
pub static LAUNCH: Spec = Spec {
    title: "[[kernel.launch]]",
    doc: "A step of an evaluation, in order: a launch, `memset` or `memcpy`. A launch inherits missing keys from `[kernel]`.",
    keys: &[
        of_kernel(KERNEL.entry),
        of_kernel(KERNEL.grid),
        of_kernel(KERNEL.block),
        of_kernel(KERNEL.cluster),
        of_kernel(KERNEL.dynamic_shared),
        of_kernel(KERNEL.cooperative),
        PDL,
        of_kernel(KERNEL.carveout),
        of_kernel(KERNEL.l2_window),
        of_kernel(KERNEL.args),
        of_kernel(KERNEL.workspace),
        MEMSET,
        BYTE,
        MEMCPY,
        REPEAT,
        STEPS,
    ],
    free: None,
};

/// The indices of a loop.
pub static INDICES: Spec = Spec {
    title: "repeat = { ... }",
    doc: "`i = \"log2(N)\"`: an index that counts from 0, and its number of values. Several indices are nested loops, the \
          first is the outermost; a count sees the indices before it.",
    keys: &[],
    free: Some(KeyKind::Expr),
};

const fn of_kernel(key: Key) -> Key {
    key.otherwise("that of [kernel]")
}

/// Programmatic dependent launch.
pub static PDL: Key = key(
    KeyKind::Bool,
    "Programmatic dependent launch: whether it may start before the previous launch has ended; the kernel itself waits \
     (`cudaGridDependencySynchronize`). Compute capability 9.0 or later.",
)
.named("pdl")
.default("false");
pub static MEMSET: Key =
    key(KeyKind::Name, "Instead of a launch: the buffer to fill, by `cuMemsetD8Async`.").named("memset");
pub static BYTE: Key = key(KeyKind::Between(0, 255), "The value of each byte.").named("byte").default("0");
pub static MEMCPY: Key =
    key(KeyKind::Table(&COPY.spec), "Instead of a launch: a copy of one buffer to another, by `cuMemcpyDtoDAsync`.")
        .named("memcpy");

pub static REPEAT: Key = key(
    KeyKind::Table(&INDICES),
    "A [loop](#several-launches) of the host program; the index is a name in expressions and in `args` (passed as `int`). \
     An evaluation has at most 1,000 steps.",
)
.named("repeat")
.otherwise("once");
pub static STEPS: Key = key(
    KeyKind::List(&KeyKind::Again(&LAUNCH)),
    "With `repeat`, instead of a launch: the steps of the loop's body, in order.",
)
.named("steps")
.otherwise("the step itself");

keys! {
    COPY: CopyKeys = "memcpy = { ... }", "A copy of a whole buffer to another of the same size.";
    from = key(KeyKind::Name, "The buffer that is read.").required();
    to = key(KeyKind::Name, "The buffer that is written.").required();
}
