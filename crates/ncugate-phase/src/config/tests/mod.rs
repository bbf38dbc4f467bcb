//! From text to phase, and every class of error with its displayed text.

mod code_forms;
mod declared;
mod errors;
mod fuzz;
mod products;
mod shipped;
mod tables;
mod tensor_maps;

use super::{ConfigErrors, Phase, parse};
use std::path::Path;

/// A small valid phase.
const SMALL: &str = r#"[phase]
name = "small"

[workload]
seeds = [0, 1]
reference = "copy"
tolerance = { max_abs = 0 }
scalars = { scale = "1 / N" }
[workload.shapes]
tiny = { N = 64 }
big = { N = 4096 }
[workload.buffers]
x = { dtype = "f32", shape = ["N"] }
y = { dtype = "f32", shape = ["N"], role = "output" }

[kernel]
source = "copy.cu"
entry = "copy"
flags = ["-O3", "-maxrregcount={{ CAP }}"]
defines = ["THREADS"]
grid = ["(N + THREADS - 1) // THREADS"]
block = ["THREADS"]
args = ["x", "y", "N", "scale"]

[sweep]
THREADS = [32, 64]
CAP = [32, 64]

[[gate]]
name = "spills"
require = "spills == 0"
"#;

/// `SMALL` with pieces replaced; each must occur.
fn edited(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(SMALL.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "'{from}' is not in the text");
        text.replacen(from, to, 1)
    })
}

fn read(text: &str) -> Result<Phase, ConfigErrors> {
    parse(Path::new("phase.toml"), text)
}

/// The displayed errors of the edited phase.
fn shown(edits: &[(&str, &str)]) -> String {
    match read(&edited(edits)) {
        Ok(phase) => super::super::plan::unroll(&phase).map_or_else(|e| e.to_string(), |_| "no error".to_owned()),
        Err(errors) => errors.to_string(),
    }
}

fn right(edits: &[(&str, &str)]) -> Phase {
    read(&edited(edits)).unwrap_or_else(|e| panic!("{e}"))
}
