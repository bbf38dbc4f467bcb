//! Compiles the library that is loaded into programs. Needs a C compiler and nothing else.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=src/capture.c");
    let library = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("capture.so");
    // Optimised in every profile: `dlsym` has to end in a jump.
    let mut compiler = cc::Build::new().opt_level(2).warnings(false).pic(true).get_compiler().to_command();
    compiler.args(["-shared", "-O2", "-o"]).arg(&library).args(["src/capture.c", "-ldl", "-lpthread"]);
    let status = compiler.status();
    assert!(status.as_ref().is_ok_and(std::process::ExitStatus::success), "cannot compile src/capture.c: {status:?}");
}
