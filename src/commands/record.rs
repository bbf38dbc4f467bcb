//! `ncugate tools record`: keeps a run in the repository.

use super::run_name::{PROFILES, run_folder};
use super::{CommandError, print, refuse};
use crate::cli::{OutputFormat, RecordArgs};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_judge::store::{self, Run};
use ncugate_model::number::text::line;
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Writes the recording and prints its size.
pub fn record(args: &RecordArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let run = Run::load(&run_folder(&args.run, Path::new(PROFILES))?)?;
    let captured = "its phase was captured, so the run has arguments and values of the captured program, which may be private; if they may be kept, add --captured";
    refuse(run.is_captured() && !args.captured, captured)?;
    let bytes = store::record(&run, &args.output, &invocation.here)?;
    let variants = run.plan.variants.len();
    let paths = store::absolute_paths(&run.phase);
    if args.format == OutputFormat::Json {
        let (id, folder) = (&run.manifest.run, &args.output);
        let said = json!({ "run": id, "recording": folder, "variants": variants, "bytes": bytes, "paths": paths });
        print::json(&said, out)?;
        return Ok(Outcome::Passed);
    }
    writeln!(
        out,
        "recorded {variants} variants of run {} in {} ({bytes} bytes)",
        run.manifest.run,
        args.output.display()
    )?;
    if !paths.is_empty() {
        let paths: Vec<String> = paths.iter().map(|path| line(path)).collect();
        writeln!(
            out,
            "warning: its phase.toml contains paths of this machine, and is kept unchanged: {}",
            paths.join(", ")
        )?;
    }
    Ok(Outcome::Passed)
}
