//! `ncugate problem`: problems and results of other projects, mostly by the Python package.

use super::CommandError;
use super::run_name::{PROFILES, run_folder};
use crate::cli::{ExportCommand, ExportKernelBenchArgs, PackageArgs, ProblemCommand};
use crate::console::{Output, warn};
use crate::exit::Outcome;
use jiff::civil::Date;
use ncugate_exchange::{ExportedRun, evaluations, kernel_results, problem_number, run_package};
use ncugate_judge::{JudgedRun, PhaseRun};
use ncugate_model::disk::{Durability, replace};
use ncugate_model::number::text::escaped_json;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

/// Imports a problem or exports results; lists omitted parts.
pub fn problem(command: &ProblemCommand, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    match command {
        ProblemCommand::Import(args) => package(&["import"], args, out),
        ProblemCommand::Export(ExportCommand::FlashInfer(args)) => package(&["export", "flashinfer"], args, out),
        ProblemCommand::Export(ExportCommand::GpuMode(args)) => package(&["export", "gpumode"], args, out),
        ProblemCommand::Export(ExportCommand::FastP(args)) => package(&["export", "fast-p"], args, out),
        ProblemCommand::Export(ExportCommand::KernelBench(args)) => results(args, today, out),
        ProblemCommand::Export(ExportCommand::Evaluations { run }) => {
            let found = of_run(run, today, |run| Ok(evaluations(run)))?;
            writeln!(out.machine(), "{found}")?;
            Ok(Outcome::Passed)
        }
    }
}

fn package(command: &[&str], args: &PackageArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let words: Vec<OsString> = command.iter().map(OsString::from).chain(args.words.iter().cloned()).collect();
    let output = run_package("ncugate.problem.__main__", &words)?;
    if !output.stderr.is_empty() {
        warn(output.stderr.trim_end());
    }
    write!(out, "{}", output.stdout)?;
    Ok(Outcome::Passed)
}

/// Judges a run and passes it on.
fn of_run<T>(
    name: &Path,
    today: Date,
    make: impl FnOnce(&ExportedRun<'_>) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let run = PhaseRun::load(&run_folder(name, Path::new(PROFILES))?)?;
    let session = JudgedRun::of_stored(&run, today)?;
    make(&ExportedRun::new(&run, &session)?)
}

/// Entries of KernelBench by problem number, in ascending order.
fn results(args: &ExportKernelBenchArgs, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    if args.problem.is_some() && args.runs.len() > 1 {
        return Err(CommandError::Usage("--problem takes one run, not several".to_owned()));
    }
    let mut by_number: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for folder in &args.runs {
        of_run(folder, today, |run| {
            let number = args.problem.or_else(|| problem_number(run)).ok_or_else(|| {
                let what = "the name of its problem does not begin with a number: give --problem";
                CommandError::Usage(format!("{}: {what}", folder.display()))
            })?;
            let (entries, left_out) = kernel_results(run);
            if by_number.insert(number, entries).is_some() {
                return Err(CommandError::Usage(format!("two runs are of problem {number}")));
            }
            left_out.iter().for_each(|sentence| warn(&format!("note: {sentence}")));
            Ok(())
        })?;
    }
    let all: Map<String, Value> =
        by_number.into_iter().map(|(number, entries)| (number.to_string(), entries.into())).collect();
    let text = escaped_json(&format!("{:#}\n", Value::from(all)));
    match &args.output {
        Some(path) => replace(path, text.as_bytes(), Durability::Synced)
            .map_err(|source| CommandError::Output { path: path.clone(), source })?,
        None => out.machine().write_all(text.as_bytes())?,
    }
    Ok(Outcome::Passed)
}
