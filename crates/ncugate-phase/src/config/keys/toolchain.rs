//! Keys of `[toolchains]`.

use super::{KeyKind, Spec, key};

/// `[toolchains]`.
pub static TOOLCHAINS: Spec = Spec {
    title: "[toolchains]",
    doc: "`NAME = { nvcc = \"...\" }`, two or more: every candidate with a kernel is [built by each](how-to/compare-toolchains.md) and \
          compared with its build by the first.",
    keys: &[],
    free: Some(KeyKind::Table(&TOOLCHAIN.spec)),
};

keys! {
    TOOLCHAIN: ToolchainKeys = "[toolchains] NAME = { ... }", "The programs of a toolchain, at least one. The first toolchain also builds and runs everything else.";
    nvcc = key(KeyKind::Text, "The compiler.").otherwise("that of the first toolchain, else of `[build]`");
    python = key(
        KeyKind::Text,
        "The Python with Triton, Numba or CuTe DSL.",
    ).otherwise("that of the first toolchain, else of `[build]`");
}
