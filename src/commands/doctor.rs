//! `ncugate doctor`: checks the tools for measuring, and prints a fix for each missing one.

use super::{CommandError, signal};
use crate::cli::{DoctorArgs, OutputFormat};
use crate::console::Output;
use crate::exit::Outcome;
use ncugate_campaign as campaign;
use ncugate_cuda::build::Nvcc;
use ncugate_cuda::gpu::GpuMonitor;
use ncugate_model::number::counted;
use ncugate_model::number::text::{self, escaped_json};
use ncugate_ncu::Ncu;
use ncugate_ncu::preflight::{self, Check, CheckStatus, CompilerFacts, Facts, VisibleGpu};
use serde::Serialize;
use std::io::{self, Write};

/// Examines the machine and prints every check.
pub fn doctor(args: &DoctorArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    signal::watch();
    let mut uuid = None;
    let device = match campaign::device() {
        Ok(Ok(facts)) => {
            uuid.clone_from(&facts.uuid);
            let (gpu, compute_mode) = (campaign::gpu(&facts), facts.compute_mode);
            Ok(VisibleGpu { gpu, count: 1, cuda: facts.cuda, compute_mode })
        }
        Ok(Err(reason)) => Err(reason),
        Err(error) => Err(error.to_string()),
    };
    let nvcc = Nvcc::find(None)
        .map(|nvcc| CompilerFacts { path: nvcc.path().to_owned(), version: nvcc.version().to_owned() })
        .map_err(|e| e.to_string());
    let facts = Facts::gather(device, nvcc, Ncu::find(None));
    let trial = match (&facts.device, &facts.ncu) {
        (Ok(_), Ok(ncu)) if args.probe => Some(campaign::count_once(ncu)),
        _ if args.probe => Some(Err("needs a GPU and ncu".to_owned())),
        _ => None,
    };
    let cupti = facts.device.is_ok().then(|| campaign::cupti(args.probe));
    let nvml = uuid.map(|uuid| GpuMonitor::open(&uuid).and_then(|monitor| monitor.read()));
    let facts = Facts { trial, cupti, nvml, ..facts };
    Ok(if args.format == OutputFormat::Json { write_json(&facts, &mut out.machine())? } else { say(&facts, out)? })
}

/// The checks as JSON.
#[derive(Serialize)]
struct CheckList<'a> {
    can_measure: bool,
    /// One line for an issue.
    fingerprint: String,
    checks: &'a [Check],
}

fn write_json(facts: &Facts, out: &mut dyn Write) -> io::Result<Outcome> {
    let checks = preflight::doctor(facts);
    let can_measure = checks.iter().all(|check| check.status != CheckStatus::Problem);
    let text = serde_json::to_string_pretty(&CheckList {
        can_measure,
        fingerprint: preflight::fingerprint(facts),
        checks: &checks,
    })?;
    writeln!(out, "{}", escaped_json(&text))?;
    Ok(if can_measure { Outcome::Passed } else { Outcome::Environment })
}

/// Prints every check of `facts` to `out`; [`Outcome::Environment`] if one of them prevents measuring.
fn say(facts: &Facts, out: &mut dyn Write) -> io::Result<Outcome> {
    let checks = preflight::doctor(facts);
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for check in &checks {
        write_check(check, width, out)?;
    }
    let problems = checks.iter().filter(|check| check.status == CheckStatus::Problem).count();
    let warnings = checks.iter().filter(|check| check.status == CheckStatus::Warning).count();
    writeln!(out, "\nFor an issue: {}\n", preflight::fingerprint(facts))?;
    if problems == 0 {
        writeln!(out, "This machine can measure ({}).", counted(warnings, "warning"))?;
        return Ok(Outcome::Passed);
    }
    writeln!(out, "This machine cannot measure ({}, {}).", counted(problems, "problem"), counted(warnings, "warning"))?;
    writeln!(out, "Recorded runs can be judged and rendered: `ncugate run CONFIG --source recorded`.")?;
    Ok(Outcome::Environment)
}

fn write_check(check: &Check, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mark = match check.status {
        CheckStatus::Ok => "ok",
        CheckStatus::Warning => "warning",
        CheckStatus::Problem => "problem",
    };
    writeln!(out, "{mark:<7}  {}  {}", text::left(check.name, width), check.found)?;
    if !check.advice.is_empty() {
        writeln!(out, "{:<7}  {}  -> {}", "", text::left("", width), check.advice)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "../../crates/ncugate-ncu/src/preflight/fixtures.rs"]
mod fixtures;

#[cfg(test)]
mod tests {
    use super::fixtures::{bare, healthy};
    use super::*;

    fn printed(facts: &Facts) -> (String, Outcome) {
        let mut out = Vec::new();
        let outcome = say(facts, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let own = [(std::env::consts::ARCH, "ARCH"), (env!("CARGO_PKG_VERSION"), "VERSION")];
        (own.iter().fold(text, |text, (word, name)| text.replace(word, name)), outcome)
    }

    #[test]
    fn a_machine_that_can_measure() {
        let (text, outcome) = printed(&healthy());
        assert_eq!(outcome, Outcome::Passed);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_machine_without_cuda() {
        let (text, outcome) = printed(&bare());
        assert_eq!(outcome, Outcome::Environment);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn checks_for_programs_say_whether_the_machine_can_measure() {
        for (facts, can_measure) in [(healthy(), true), (bare(), false)] {
            let mut out = Vec::new();
            let outcome = write_json(&facts, &mut out).unwrap();
            let said: serde_json::Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(said["can_measure"], can_measure);
            assert_eq!(outcome, if can_measure { Outcome::Passed } else { Outcome::Environment });
            let checks = said["checks"].as_array().unwrap();
            assert!(checks.iter().any(|check| check["status"] == "problem") != can_measure, "{said}");
            assert!(checks.iter().all(|check| check["name"].is_string() && check["found"].is_string()), "{said}");
        }
    }

    #[test]
    fn a_closed_pipe_is_an_error_and_not_a_panic() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(say(&healthy(), &mut Closed).is_err());
    }
}
