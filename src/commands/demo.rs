//! `ncugate demo`: the report of the embedded recording. Nothing is measured.

use super::CommandError;
use super::conclude::{conclude_in, session};
use super::embedded_recording::write_embedded;
use crate::cli::{DemoArgs, OutputFormat, StoredBaselineArgs};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_judge::PhaseRun;
use ncugate_report::RunSource;
use std::io::Write;

/// Writes the recording and its report, prints first that nothing is measured here, and returns the recording's verdict.
pub fn demo(args: &DemoArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let profiles = args.output.join("profiles");
    let recording = profiles.join("sdpa_fast_causal").join("h200");
    write_embedded(&recording)?;
    let run = PhaseRun::load(&recording)?;
    let is_text = args.saying.format == OutputFormat::Text;
    if is_text {
        let manifest = &run.run.manifest;
        let gpu = manifest.fingerprint.gpu.as_ref().map_or("an unknown GPU", |gpu| gpu.name.as_str());
        let date = manifest.started.strftime("%Y-%m-%d");
        let phase = &manifest.phase;
        writeln!(out, "nothing is measured here: this is a recording of the phase {phase}, made on {gpu} on {date}\n")?;
    }
    let session = session(&run, &StoredBaselineArgs::default(), &profiles, invocation.today())?;
    let source = RunSource::Recorded { folder: recording.display().to_string() };
    let outcome = conclude_in(&args.output.join("report"), &session, source, &args.saying, invocation, out)?;
    if is_text {
        writeln!(
            out,
            "\nnext: `ncugate init kernel.cu` drafts a phase for your kernel\n      \
             `ncugate page FILE.ncu-rep` renders an ncu report\n      `ncugate doctor` checks this machine"
        )?;
    }
    Ok(outcome)
}
