//! `ncugate record`: keeps a run in the repository.

use super::CommandError;
use crate::cli::RecordArgs;
use crate::exit::Outcome;
use crate::number::text::line;
use crate::store::{self, Run};
use std::io::Write;

/// Writes the recording and says how large it is.
pub fn record(args: &RecordArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let run = Run::load(&args.run)?;
    let bytes = store::record(&run, &args.output)?;
    let variants = run.plan.variants.len();
    writeln!(
        out,
        "recorded {variants} variants of run {} in {} ({bytes} bytes)",
        run.manifest.run,
        args.output.display()
    )?;
    let paths = store::absolute_paths(&run.phase);
    if !paths.is_empty() {
        let paths: Vec<String> = paths.iter().map(|path| line(path)).collect();
        writeln!(
            out,
            "warning: its phase.toml names paths of this machine, and is kept as it was measured: {}",
            paths.join(", ")
        )?;
    }
    Ok(Outcome::Passed)
}
