//! `ncugate tools profile`: runs a program once under ncu.

use super::{CommandError, signal, verbosity};
use crate::cli::ProfileArgs;
use crate::console::Output;
use crate::exit::Outcome;
use ncugate_campaign::ProgramProfile;
use ncugate_report::write::prove_writable;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

/// Writes the report of the program's launches.
pub fn profile(args: &ProfileArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let Some((program, arguments)) = args.program.split_first() else {
        return Err(CommandError::Usage("name a program".to_owned()));
    };
    // The program can take hours.
    args.output.parent().map_or(Ok(()), prove_writable)?;
    if args.output.is_dir() {
        let folder = args.output.display();
        return Err(CommandError::Usage(format!("`{folder}` is a folder; name the report's file with --output")));
    }
    let mut command = Command::new(program);
    command.args(arguments);
    signal::watch();
    let progress = verbosity::progress();
    let profile = ProgramProfile {
        program: &command,
        metrics: &args.metrics,
        ranges: &args.ranges,
        timeout: Duration::from_secs(args.timeout),
        output: &args.output,
    };
    let taken = profile.take(args.waiting.into(), &progress);
    progress.clear();
    taken?;
    writeln!(out, "{}", args.output.display())?;
    Ok(Outcome::Passed)
}
