//! Compiles the C side of `src/gpu/nvtx.rs` over NVIDIA's headers. Needs a C compiler and nothing else.

fn main() {
    println!("cargo::rerun-if-changed=src/gpu/nvtx.c");
    println!("cargo::rerun-if-changed=third_party/nvtx/include");
    cc::Build::new()
        .file("src/gpu/nvtx.c")
        .include("third_party/nvtx/include")
        // The headers make their callback tables global for other files to share; the compiler may not warn of theirs.
        .warnings(false)
        .compile("ncugate_nvtx");
}
