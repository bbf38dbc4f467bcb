//! `ncugate problem export`: results in the formats of other projects.

use super::CommandError;
use super::run_name::{PROFILES, run_folder};
use crate::cli::ExportCommand;
use crate::console::{Output, warn};
use crate::exit::Outcome;
use jiff::civil::Date;
use ncugate_exchange::{ExportedRun, ProblemScore, kernel_results, problem_number, ranking, score, scored, traces};
use ncugate_judge::store;
use ncugate_judge::{JudgedRun, PhaseRun};
use ncugate_model::disk::{Durability, replace};
use ncugate_model::number::text::escaped_json;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes the requested format; lists omitted results on standard error.
pub fn export(command: &ExportCommand, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    let (text, left_out, output) = match command {
        ExportCommand::FlashInfer(args) => {
            let (text, left_out) = of_run(&args.run, today, |run| Ok(traces(run)))?;
            (text, left_out, &args.output)
        }
        ExportCommand::GpuMode(args) => {
            let (text, left_out) = of_run(&args.run, today, |run| Ok(ranking(run)))?;
            (text, left_out, &args.output)
        }
        ExportCommand::KernelBench(args) => {
            let (results, left_out) = results(&args.runs, args.problem, today)?;
            (format!("{results:#}\n"), left_out, &args.output)
        }
        ExportCommand::FastP(args) => {
            let (problems, left_out) = problems(&args.profiles, today)?;
            (format!("{:#}\n", score(&problems, &args.thresholds)), left_out, &args.output)
        }
    };
    let text = escaped_json(&text);
    for sentence in left_out {
        warn(&format!("note: {sentence}"));
    }
    match output {
        Some(path) => replace(path, text.as_bytes(), Durability::Synced)
            .map_err(|source| CommandError::Output { path: path.clone(), source })?,
        None => out.machine().write_all(text.as_bytes())?,
    }
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

/// Entries by problem number, in ascending order.
fn results(runs: &[PathBuf], number: Option<u64>, today: Date) -> Result<(Value, Vec<String>), CommandError> {
    if number.is_some() && runs.len() > 1 {
        return Err(CommandError::Usage("--problem takes one run, not several".to_owned()));
    }
    let (mut by_number, mut left_out): (BTreeMap<u64, Vec<Value>>, Vec<String>) = (BTreeMap::new(), Vec::new());
    for folder in runs {
        of_run(folder, today, |run| {
            let number = number.or_else(|| problem_number(run)).ok_or_else(|| {
                let what = "the name of its problem does not begin with a number: give --problem";
                CommandError::Usage(format!("{}: {what}", folder.display()))
            })?;
            let (entries, graded) = kernel_results(run);
            if by_number.insert(number, entries).is_some() {
                return Err(CommandError::Usage(format!("two runs are of problem {number}")));
            }
            left_out.extend(graded);
            Ok(())
        })?;
    }
    let all: Map<String, Value> =
        by_number.into_iter().map(|(number, entries)| (number.to_string(), entries.into())).collect();
    Ok((all.into(), left_out))
}

/// The latest run of every phase in a folder of runs. A run that cannot be exported counts as an unsolved problem.
fn problems(profiles: &Path, today: Date) -> Result<(Vec<ProblemScore>, Vec<String>), CommandError> {
    let mut latest: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for folder in store::runs(profiles)? {
        let phase = folder.parent().map(Path::to_owned).unwrap_or_default();
        let newest = latest.entry(phase).or_insert_with(|| folder.clone());
        if folder.file_name() > newest.file_name() {
            *newest = folder;
        }
    }
    if latest.is_empty() {
        return Err(CommandError::Usage(format!("{}: the folder has no runs", profiles.display())));
    }
    let (mut found, mut said) = (Vec::new(), Vec::new());
    for folder in latest.values() {
        match of_run(folder, today, |run| Ok(scored(run))) {
            Ok(problem) => found.push(problem),
            Err(error) => {
                said.push(format!("{} counts as not solved: {error}", folder.display()));
                found.push(ProblemScore::Absent);
            }
        }
    }
    Ok((found, said))
}
