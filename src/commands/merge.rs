//! `ncugate cluster merge`: the shards of a phase as one run.

use super::{CommandError, print};
use crate::cli::{MergeArgs, OutputFormat};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_judge::store::{self, MergeChoice};
use ncugate_model::number::counted;
use serde_json::json;
use std::io::Write;

/// Merges shards, and prints the next step.
pub fn merge(args: &MergeArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let choice = if args.newest { MergeChoice::Newest } else { MergeChoice::All };
    let merged = store::merge(&args.runs, &args.profiles, choice, invocation.started)?;
    if args.format == OutputFormat::Json {
        let store::MergedRun { folder, shards, gpus, warnings } = &merged;
        print::json(&json!({ "run": folder, "shards": shards, "gpus": gpus, "warnings": warnings }), out)?;
        return Ok(Outcome::Passed);
    }
    let (shards, gpus) = (counted(merged.shards, "shard"), counted(merged.gpus, "GPU"));
    writeln!(out, "merged {shards}, measured on {gpus}, into {}", merged.folder.display())?;
    for warning in &merged.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    writeln!(
        out,
        "nothing was judged: `ncugate run CONFIG --source gpu` confirms the selected variant on one GPU, and judges"
    )?;
    Ok(Outcome::Passed)
}
