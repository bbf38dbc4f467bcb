//! `ncugate capture`: a phase out of a running program.

use super::{CommandError, print, refuse, signal};
use crate::cli::{CaptureArgs, OutputFormat};
use crate::console::{Output, warn};
use crate::exit::Outcome;
use ncugate_capture::{CaptureRecord, CaptureSession, CodePolicy, KernelUse, PhaseRequest, Purpose, write_phase};
use ncugate_model::{demangled, glob};
use ncugate_phase::config::Project;
use serde_json::json;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, absolute};
use std::process::Command;

/// Captures a launch, or lists the kernels of a program.
pub fn capture(args: &CaptureArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    signal::watch();
    let Some((program, arguments)) = args.program.split_first() else {
        return Err(CommandError::Usage("name a program".to_owned()));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if args.format == OutputFormat::Json {
        command.stdout(io::stderr());
    }
    let (Some(pattern), Some(output)) = (&args.kernel, &args.output) else {
        let session = CaptureSession::run(&mut command, Purpose::Listing, &|_| {})?;
        session.prove(&command, Purpose::Listing)?;
        return list(&session, args.format, out);
    };
    let matcher = glob(pattern).map_err(|error| CommandError::Usage(error.to_string()))?;
    let exists = format!("{} exists; name a folder that does not", output.display());
    refuse(output.symlink_metadata().is_ok(), &exists)?;
    let unwritten = |source| CommandError::Output { path: output.clone(), source };
    let folder = absolute(output).map_err(unwritten)?;
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(CommandError::Usage(format!("{} is not a folder to create; name one with -o", output.display())));
    };
    std::fs::create_dir_all(parent).map_err(unwritten)?;
    // Next to the folder, so that it gets its name when everything is in it.
    let work = tempfile::Builder::new().prefix(".ncugate-capture-").tempdir_in(parent).map_err(unwritten)?;
    let purpose = Purpose::Launch {
        pattern,
        matcher: &matcher,
        launch: args.launch,
        max_bytes: args.max_bytes,
        folder: work.path(),
    };
    let session = CaptureSession::run(&mut command, purpose, &|kernel| {
        warn(&format!("captured {}; the program runs on to its end, or until Ctrl-C", demangled(kernel)));
    })?;
    session.prove(&command, purpose)?;
    if let Some(failure) = session.failure() {
        warn(&format!("the program {failure} after the capture"));
    }
    let capture = CaptureRecord::read(&work.path().join("whole"))?;
    let phase = work.path().join("phase");
    std::fs::create_dir(&phase).map_err(unwritten)?;
    let file = folder.join("phase.toml");
    let root = Project::of(&file)?.root;
    let request = PhaseRequest {
        folder: &phase,
        prefix: folder.strip_prefix(&root).unwrap_or(Path::new("")),
        name: &phase_name(name),
        launch: args.launch,
        code: if args.copy_code { CodePolicy::Libraries } else { CodePolicy::Own },
    };
    let (text, hidden) = write_phase(&capture, request)?;
    std::fs::rename(&phase, &folder).map_err(unwritten)?;
    let checks = text.matches("CHECK: ").count();
    let (kernel, phase) = (demangled(&capture.kernel), output.join("phase.toml"));
    let next = format!("ncugate run {}", phase.display());
    let hidden = hidden.map(|_| output.join("hidden.toml"));
    if args.format == OutputFormat::Json {
        let said = json!({ "kernel": kernel, "phase": phase, "hidden": hidden, "checks": checks, "next": next });
        print::json(&said, out)?;
        return Ok(Outcome::Passed);
    }
    writeln!(out, "captured launch {} of {kernel}", args.launch)?;
    writeln!(out, "{}: {checks} lines to CHECK; the folder holds data of the program", phase.display())?;
    match hidden {
        Some(hidden) => writeln!(out, "{}: hidden inputs, for candidates", hidden.display())?,
        None => writeln!(out, "no hidden inputs: no buffer has floating-point numbers, or the code is PTX")?,
    }
    writeln!(out, "next: {next}")?;
    Ok(Outcome::Passed)
}

/// A name that a phase can have.
fn phase_name(folder: &OsStr) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_-+=".contains(c);
    let name: String = folder.to_string_lossy().chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    if name.starts_with('-') { format!("_{name}") } else { name }
}

fn list(session: &CaptureSession, format: OutputFormat, out: &mut Output) -> Result<Outcome, CommandError> {
    let mut kernels: Vec<_> = session.kernels.iter().filter(|(_, own)| own.launches > 0).collect();
    kernels.sort_by(|a, b| b.1.milliseconds.total_cmp(&a.1.milliseconds).then(a.0.cmp(b.0)));
    let whole: f64 = kernels.iter().map(|(_, own)| own.milliseconds).sum();
    let rows = |out: &mut Output| -> io::Result<()> {
        writeln!(out, "{:>7} {:>12} {:>12} {:>9}  kernel", "share", "time", "median", "launches")?;
        for (symbol, own) in &kernels {
            let [share, time, median] = match own.timed {
                0 => ["-", "-", "-"].map(str::to_owned),
                _ => [
                    format!("{:.1} %", 100.0 * own.milliseconds / whole),
                    format!("{:.3} ms", own.milliseconds),
                    format!("{:.2} us", 1000.0 * own.median),
                ],
            };
            writeln!(out, "{share:>7} {time:>12} {median:>12} {:>9}  {}", own.launches, demangled(symbol))?;
        }
        let untimed: u64 = kernels.iter().map(|(_, own)| own.launches - own.timed).sum();
        if untimed > 0 {
            writeln!(
                out,
                "{untimed} launches have no time: they were recorded into CUDA graphs, or their process ended early"
            )?;
        }
        Ok(())
    };
    if format == OutputFormat::Json {
        let row = |(symbol, own): &(&String, &KernelUse)| {
            let [milliseconds, median] = [own.milliseconds, own.median].map(|time| (own.timed > 0).then_some(time));
            json!({ "kernel": demangled(symbol), "launches": own.launches, "timed": own.timed, "milliseconds": milliseconds, "median": median })
        };
        print::json(&kernels.iter().map(row).collect::<Vec<_>>(), out)?;
    } else {
        rows(out)?;
    }
    if let Some(failure) = session.failure() {
        warn(&format!("the program {failure}"));
        return Ok(Outcome::Environment);
    }
    Ok(if kernels.is_empty() { Outcome::Environment } else { Outcome::Passed })
}
