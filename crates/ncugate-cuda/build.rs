//! Compiles the C side of `src/gpu/nvtx.rs`. Needs a C compiler and nothing else.

const INCLUDE: &str = "nvtx/include";

fn main() {
    println!("cargo::rerun-if-changed=src/gpu/nvtx.c");
    println!("cargo::rerun-if-changed={INCLUDE}");
    cc::Build::new()
        .file("src/gpu/nvtx.c")
        .include(INCLUDE)
        // The headers make their callback tables global for other files to share, so the compiler must not warn about them.
        .warnings(false)
        .compile("ncugate_nvtx");
}
