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

names! {
    /// `i = "log2(N)"`: an index that counts from 0, and its number of values. Several indices are nested loops, the
    /// first is the outermost; a count sees the indices before it.
    INDICES = "repeat = { ... }", KeyKind::Expr;
}

const fn of_kernel(key: Key) -> Key {
    key.otherwise("that of [kernel]")
}

const fn of_step(name: &'static str, kind: KeyKind, doc: &'static str) -> Key {
    Key { name, doc, ..key(kind) }
}

/// Programmatic dependent launch.
pub static PDL: Key = of_step(
    "pdl",
    KeyKind::Bool,
    "Programmatic dependent launch: whether it may start before the previous launch has ended; the kernel itself waits \
     (`cudaGridDependencySynchronize`). Compute capability 9.0 or later.",
)
.default("false");
pub static MEMSET: Key =
    of_step("memset", KeyKind::Name, "Instead of a launch: the buffer to fill, by `cuMemsetD8Async`.");
pub static BYTE: Key = of_step("byte", KeyKind::Between(0, 255), "The value of each byte.").default("0");
pub static MEMCPY: Key = of_step(
    "memcpy",
    KeyKind::Table(&COPY.spec),
    "Instead of a launch: a copy of one buffer to another, by `cuMemcpyDtoDAsync`.",
);
pub static REPEAT: Key = of_step(
    "repeat",
    KeyKind::Table(&INDICES),
    "A [loop](#several-launches) of the host program; the index is a name in expressions and in `args` (passed as `int`). \
     An evaluation has at most 1,000 steps.",
)
.otherwise("once");
pub static STEPS: Key = of_step(
    "steps",
    KeyKind::List(&KeyKind::Again(&LAUNCH)),
    "With `repeat`, instead of a launch: the steps of the loop's body, in order.",
)
.otherwise("the step itself");

keys! {
    /// A copy of a whole buffer to another of the same size.
    COPY: CopyKeys = "memcpy = { ... }";
    /// The buffer that is read.
    from = key(KeyKind::Name).required();
    /// The buffer that is written.
    to = key(KeyKind::Name).required();
}
