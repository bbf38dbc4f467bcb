//! `ncugate complete`: candidates for the last word of a command line, for the shells' scripts in `src/completions`.
//!
//! The value name of an argument says what completes it: `RUN`, `REPORT`, `CONFIG`, `METRIC`, `VARIANT`, `SHAPE`, `PHASE`.

use super::CommandError;
use super::run_name::run_folder;
use crate::cli::{Cli, CompleteArgs};
use crate::console::Output;
use crate::exit::Outcome;
use clap::{Arg, Command, CommandFactory};
use jiff::civil::Date;
use ncugate_judge::store::{self, PlannedNames};
use ncugate_model::metric::Catalogue;
use ncugate_phase::config;
use ncugate_phase::plan::unroll;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Folder of the phases of a project.
const CONFIGS: &str = "configs";

/// Prints one candidate a line; its description follows after a tab. Nothing is an error: a shell has no place for it.
pub fn complete(args: &CompleteArgs, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    let mut command = Cli::command();
    command.build();
    for candidate in candidates(&command, &args.words, today) {
        match candidate.about.is_empty() {
            true => writeln!(out, "{}", candidate.value)?,
            false => writeln!(out, "{}\t{}", candidate.value, candidate.about)?,
        }
    }
    Ok(Outcome::Passed)
}

/// A word that the shell may insert.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    value: String,
    about: String,
}

impl Candidate {
    fn new(value: impl Into<String>, about: Option<&clap::builder::StyledStr>) -> Self {
        Self { value: value.into(), about: about.map(ToString::to_string).unwrap_or_default() }
    }
}

/// The words before the last one, as far as they are understood.
struct TypedLine<'c> {
    /// The innermost subcommand.
    command: &'c Command,
    /// The option that the last word is the value of.
    open: Option<&'c Arg>,
    /// Arguments with their values.
    values: Vec<(&'c Arg, &'c str)>,
    /// Words other than options.
    positionals: usize,
}

impl<'c> TypedLine<'c> {
    fn read(command: &'c Command, words: &'c [String]) -> Self {
        let mut line = Self { command, open: None, values: Vec::new(), positionals: 0 };
        for word in words {
            line.push(word);
        }
        line
    }

    fn push(&mut self, word: &'c str) {
        if let Some(option) = self.open.take() {
            self.values.push((option, word));
        } else if let Some(option) = word.strip_prefix("--") {
            let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let Some(found) = self.long(name) else { return };
            match value {
                Some(value) => self.values.push((found, value)),
                None => self.open = Some(found).filter(|option| !option.is_require_equals_set()),
            }
        } else if let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.is_empty()) {
            self.open = flags.chars().last().and_then(|flag| self.short(flag));
        } else if let Some(inner) = self.command.find_subcommand(word).filter(|_| self.positionals == 0) {
            self.command = inner;
        } else {
            self.values.extend(self.positional().map(|argument| (argument, word)));
            self.positionals += 1;
        }
    }

    fn takes_value(option: &&'c Arg) -> bool {
        option.get_action().takes_values()
    }

    fn long(&self, name: &str) -> Option<&'c Arg> {
        self.command.get_arguments().find(|option| option.get_long() == Some(name)).filter(Self::takes_value)
    }

    fn short(&self, flag: char) -> Option<&'c Arg> {
        self.command.get_arguments().find(|option| option.get_short() == Some(flag)).filter(Self::takes_value)
    }

    /// The positional argument of the next word. The last one may take several words.
    fn positional(&self) -> Option<&'c Arg> {
        let arguments = || self.command.get_positionals();
        arguments().nth(self.positionals).or_else(|| {
            let is_list = |last: &&Arg| last.get_num_args().is_some_and(|count| count.max_values() > 1);
            arguments().last().filter(is_list)
        })
    }

    /// The first value of an argument with this value name.
    fn value_of(&self, kind: &str) -> Option<&'c str> {
        self.values.iter().find(|(argument, _)| kinds(argument).any(|own| own == kind)).map(|(_, value)| *value)
    }

    fn profiles(&self) -> PathBuf {
        let given = self.values.iter().find(|(argument, _)| argument.get_long() == Some("profiles"));
        PathBuf::from(given.map_or("profiles", |(_, value)| value))
    }
}

fn candidates(command: &Command, words: &[String], today: Date) -> Vec<Candidate> {
    let (last, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    let line = TypedLine::read(command, before);
    let mut found = Vec::new();
    let mut prefix = String::new();
    if let Some(option) = line.open {
        found = values(&line, option, last, &mut prefix, today);
    } else if let Some((name, value)) = last.strip_prefix("--").and_then(|option| option.split_once('=')) {
        let option = line.long(name);
        found = option.map_or_else(Vec::new, |option| values(&line, option, value, &mut prefix, today));
        prefix = format!("--{name}={prefix}");
    } else if last.starts_with('-') {
        found.extend(
            line.command
                .get_arguments()
                .filter(|option| !option.is_hide_set())
                .filter_map(|option| Some(Candidate::new(format!("--{}", option.get_long()?), option.get_help()))),
        );
    } else {
        let inner = line.command.get_subcommands().filter(|inner| !inner.is_hide_set() && line.positionals == 0);
        found.extend(inner.map(|inner| Candidate::new(inner.get_name(), inner.get_about())));
        found.extend(
            line.positional().into_iter().flat_map(|argument| values(&line, argument, last, &mut prefix, today)),
        );
    }
    found.iter_mut().for_each(|candidate| candidate.value.insert_str(0, &prefix));
    found.retain(|candidate| candidate.value.starts_with(last) && is_plain(&candidate.value));
    found
}

/// Whether no shell expands or splits the word. Names of runs and variants come from files.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c))
}

/// Candidates for a value; `prefix` gets the values before it in a list.
fn values(line: &TypedLine<'_>, argument: &Arg, typed: &str, prefix: &mut String, today: Date) -> Vec<Candidate> {
    if argument.get_value_delimiter() == Some(',') {
        *prefix = typed.rfind(',').map_or_else(String::new, |at| typed[..=at].to_owned());
    }
    let possible = argument.get_possible_values();
    if !possible.is_empty() {
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        return shown.map(|value| Candidate::new(value.get_name(), value.get_help())).collect();
    }
    kinds(argument).flat_map(|kind| of_kind(line, kind, today)).collect()
}

/// The parts of a value name: `RUN` and `REPORT` of `RUN|REPORT`.
fn kinds(argument: &Arg) -> impl Iterator<Item = &str> {
    argument.get_value_names().unwrap_or_default().iter().flat_map(|name| name.split('|'))
}

fn of_kind(line: &TypedLine<'_>, kind: &str, today: Date) -> Vec<Candidate> {
    let plain = |names: BTreeSet<String>| names.into_iter().map(|name| Candidate::new(name, None)).collect();
    match kind {
        "CONFIG" => plain(files(Path::new(CONFIGS), |name| name.ends_with(".toml"))),
        "REPORT" => plain(files(Path::new(""), store::is_report_name)),
        "RUN" => plain(runs(&line.profiles())),
        "PHASE" => plain(phases(&line.profiles())),
        "METRIC" => {
            let metrics = Catalogue::embedded().metrics().iter();
            metrics.map(|metric| Candidate { value: metric.name.clone(), about: metric.title.clone() }).collect()
        }
        "VARIANT" => plain(planned(line, today).unwrap_or_default().variants),
        "SHAPE" => plain(planned(line, today).unwrap_or_default().shapes),
        // words that are values themselves, such as `each` of `VARIANT|top:N|each`
        word if word.chars().all(|c| c.is_ascii_lowercase()) => vec![Candidate::new(word, None)],
        _ => Vec::new(),
    }
}

/// Paths of the files in a folder whose names fit.
fn files(folder: &Path, fits: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(here).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| fits(name));
    names.map(|name| folder.join(name).display().to_string()).collect()
}

/// Ids of runs, their phases, and `latest`.
fn runs(profiles: &Path) -> BTreeSet<String> {
    let runs = store::runs(profiles).unwrap_or_default();
    let ids = runs.iter().filter_map(|run| Some(run.file_name()?.to_str()?.to_owned()));
    let mut names: BTreeSet<String> = ids.chain(phases(profiles)).collect();
    if !names.is_empty() {
        names.insert("latest".to_owned());
    }
    names
}

fn phases(profiles: &Path) -> BTreeSet<String> {
    let runs = store::runs(profiles).unwrap_or_default();
    runs.iter().filter_map(|run| Some(run.parent()?.file_name()?.to_str()?.to_owned())).collect()
}

/// Variants and shapes of the run or the phase that the line names.
fn planned(line: &TypedLine<'_>, today: Date) -> Option<PlannedNames> {
    if let Some(run) = line.value_of("RUN") {
        let folder = run_folder(Path::new(run), &line.profiles()).ok()?;
        return PlannedNames::read(&folder).ok();
    }
    let phase = config::load(Path::new(line.value_of("CONFIG")?), Path::new(""), today).ok()?;
    let plan = unroll(&phase).ok()?;
    Some(PlannedNames {
        variants: plan.variants.iter().map(|variant| variant.id.to_string()).collect(),
        shapes: phase.workload.shapes.iter().map(|shape| shape.name.to_string()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(words: &[&str]) -> Vec<String> {
        let mut command = Cli::command();
        command.build();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = candidates(&command, &words, jiff::civil::date(2026, 1, 1));
        found.into_iter().map(|candidate| candidate.value).collect()
    }

    #[test]
    fn commands_options_and_values_are_completed() {
        assert_eq!(completed(&["exp"]), ["explain", "export"]);
        assert_eq!(completed(&["tools", "occ"]), ["occupancy"]);
        assert!(!completed(&[""]).contains(&"worker".to_owned()), "hidden");
        assert_eq!(completed(&["export", "x", "--to", "dispatch"]), ["dispatch-header", "dispatch-json"]);
        assert_eq!(completed(&["export", "x", "--to=par"]), ["--to=parquet"]);
        assert_eq!(completed(&["show", "x", "--metric", "duration,achieved"]), ["duration,achieved_occupancy"]);
        assert_eq!(completed(&["explain", "stall_lon"]), ["stall_long_scoreboard"]);
        assert_eq!(completed(&["run", "configs/softmax.toml", "--sou"]), ["--source"]);
        assert_eq!(completed(&["show", "x", "-q", "--color", "al"]), ["always"]);
    }

    #[test]
    fn phases_runs_variants_and_shapes_are_those_of_the_project() {
        // tests run in the root of the repository
        assert_eq!(completed(&["run", "configs/sdpa"]), ["configs/sdpa_fast.toml", "configs/sdpa_fast_causal.toml"]);
        assert_eq!(completed(&["show", "lat"]), ["latest"]);
        assert_eq!(completed(&["page", "softm"]), ["softmax"]);
        assert_eq!(completed(&["explain", "inversion", "--variant", "bank"]), ["bank_conflicts"]);
        assert_eq!(completed(&["explain", "profiles/softmax/h200", "--shape", "w"]), ["wide"]);
        assert_eq!(completed(&["run", "configs/softmax.toml", "--deep", "ea"]), ["each"]);
        let variants = completed(&["run", "configs/softmax.toml", "--deep", "THREADS=128,"]);
        assert!(variants.contains(&"THREADS=128,ROWS_PER_BLOCK=1,VEC=1".to_owned()), "{variants:?}");
    }

    #[test]
    fn words_that_a_shell_would_expand_are_left_out() {
        assert!(is_plain("THREADS=128,VEC=1") && !is_plain("$(reboot)") && !is_plain("a b") && !is_plain("a\tb"));
    }
}
