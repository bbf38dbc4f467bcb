//! `ncugate tools inputs`: writes the contents of a phase's buffers before a launch.

use super::project::open_phase;
use super::{CommandError, print};
use crate::cli::{InputsArgs, OutputFormat};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_cuda::host::input_arrays;
use ncugate_model::disk::{Durability, replace};
use ncugate_model::number::counted;
use serde_json::json;
use std::io::Write;

/// Writes every array and prints their number.
pub fn inputs(args: &InputsArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let unwritable = |source| CommandError::Output { path: args.output.clone(), source };
    let folder = std::path::absolute(&args.output).map_err(unwritable)?;
    let phase = open_phase(&args.config, invocation)?;
    let mut files = 0;
    input_arrays(&phase, |array| {
        let path = folder.join(&array.path);
        files += 1;
        replace(&path, &array.bytes, Durability::Cached).map_err(|source| CommandError::Output { path, source })
    })?;
    match args.format {
        OutputFormat::Json => print::json(&json!({ "folder": args.output, "arrays": files }), out)?,
        OutputFormat::Text => writeln!(out, "{} in {}", counted(files, "array"), args.output.display())?,
    }
    Ok(Outcome::Passed)
}
