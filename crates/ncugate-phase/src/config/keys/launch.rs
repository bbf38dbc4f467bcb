//! `[[kernel.launch]]`: the steps of one evaluation of a kernel.

use super::{KERNEL, Key, KeyKind, key};

keys! {
    /// A step of an evaluation, in order: a launch, `memset` or `memcpy`. A launch inherits missing keys from
    /// `[kernel]`.
    LAUNCH: LaunchKeys = "[[kernel.launch]]";
    entry = of_kernel(KERNEL.entry);
    grid = of_kernel(KERNEL.grid);
    block = of_kernel(KERNEL.block);
    cluster = of_kernel(KERNEL.cluster);
    dynamic_shared = of_kernel(KERNEL.dynamic_shared);
    cooperative = of_kernel(KERNEL.cooperative);
    /// Programmatic dependent launch: whether it may start before the previous launch has ended; the kernel itself
    /// waits (`cudaGridDependencySynchronize`). Compute capability 9.0 or later.
    pdl = key(KeyKind::Bool).default("false");
    carveout = of_kernel(KERNEL.carveout);
    l2_window = of_kernel(KERNEL.l2_window);
    args = of_kernel(KERNEL.args);
    workspace = of_kernel(KERNEL.workspace);
    /// Instead of a launch: the buffer to fill, by `cuMemsetD8Async`.
    memset = key(KeyKind::Name);
    /// The value of each byte.
    byte = key(KeyKind::Between(0, 255)).default("0");
    /// Instead of a launch: a copy of one buffer to another, by `cuMemcpyDtoDAsync`.
    memcpy = key(KeyKind::Table(&COPY.spec));
    /// A [loop](#several-launches) of the host program; the index is a name in expressions and in `args` (passed as
    /// `int`). An evaluation has at most 1,000 steps.
    repeat = key(KeyKind::Table(&INDICES)).otherwise("once");
    /// With `repeat`, instead of a launch: the steps of the loop's body, in order.
    steps = key(KeyKind::List(&KeyKind::Again(&LAUNCH.spec))).otherwise("the step itself");
}

/// A key that belongs to a launch, and that a step shares with `[kernel]`.
const fn of_kernel(key: Key) -> Key {
    key.otherwise("that of [kernel]")
}

names! {
    /// `i = "log2(N)"`: an index that counts from 0, and its number of values. Several indices are nested loops, the
    /// first is the outermost; a count sees the indices before it.
    INDICES = "repeat = { ... }", KeyKind::Expr;
}

keys! {
    /// A copy of a whole buffer to another of the same size.
    COPY: CopyKeys = "memcpy = { ... }";
    /// The buffer that is read.
    from = key(KeyKind::Name).required();
    /// The buffer that is written.
    to = key(KeyKind::Name).required();
}
