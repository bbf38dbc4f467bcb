//! The host's C++ preprocessor, which expands macros of a source for its draft.

use ncugate_model::process;
use std::io::Write as _;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The preprocessor takes milliseconds.
const LIMIT: Duration = Duration::from_secs(10);
/// Macros of nvcc that sources test. The body of a kernel is that of the device pass.
const DEFINES: [&str; 3] = ["-D__CUDACC__", "-D__NVCC__", "-D__CUDA_ARCH__=900"];

/// The number of the next file.
static FILES: AtomicU64 = AtomicU64::new(0);

/// A C++ text with expanded macros; none if `cc -E` does not work here. An `#error` of the text does not end it.
pub fn expand_macros(text: &str) -> Option<String> {
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("ncugate-source-{}-{number}.cpp", std::process::id()));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path).ok()?;
    let written = file.write_all(text.as_bytes());
    let mut command = Command::new("cc");
    command.args(["-E", "-x", "c++", "-undef", "-nostdinc", "-w"]).args(DEFINES).arg(&path);
    let output = written.and_then(|()| process::run_whole(&mut command, LIMIT));
    // A leftover stays in the system's temporary folder.
    let _ = std::fs::remove_file(&path);
    output.ok().map(|output| output.stdout).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_are_expanded_in_the_device_pass_and_an_error_does_not_matter() {
        let text = "#define K(name) __global__ void name() {}\n#error \"no\"\n#if __CUDA_ARCH__ >= 800\nK(f)\n#endif\n";
        let Some(expanded) = expand_macros(text) else {
            println!("left out: no C++ compiler");
            return;
        };
        assert!(expanded.contains("__global__ void f() {}"), "{expanded}");
    }
}
