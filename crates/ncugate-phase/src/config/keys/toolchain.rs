//! Keys of `[toolchains]`.

use super::{KeyKind, key};

names! {
    /// `NAME = { nvcc = "..." }`, two or more: every candidate with a kernel is [built by
    /// each](how-to/compare-toolchains.md) and compared with its build by the first.
    TOOLCHAINS = "[toolchains]", KeyKind::Table(&TOOLCHAIN.spec);
}

keys! {
    /// The programs of a toolchain, at least one. The first toolchain also builds and runs everything else.
    TOOLCHAIN: ToolchainKeys = "[toolchains] NAME = { ... }";
    /// The compiler.
    nvcc = key(KeyKind::Text).otherwise("that of the first toolchain, else of `[build]`");
    /// The Python with Triton, Numba or CuTe DSL.
    python = key(KeyKind::Text).otherwise("that of the first toolchain, else of `[build]`");
}
