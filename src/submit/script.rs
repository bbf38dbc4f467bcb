//! The scripts of a submission. Each stage leaves a file with how it ended.

use super::{Engine, SubmitError, SubmitFolder};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// A step of a submission; each needs the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Variants are compiled into the shared cache, on a node without a GPU.
    Build,
    /// Shards are measured, each by a task of an array.
    Measure,
    /// Shards are put together.
    Merge,
    /// What was selected is confirmed on one GPU, and judged.
    Judge,
}

impl Stage {
    /// All, in order.
    pub const ALL: [Self; 4] = [Self::Build, Self::Measure, Self::Merge, Self::Judge];

    /// Its name, of scripts and outputs too.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Measure => "measure",
            Self::Merge => "merge",
            Self::Judge => "judge",
        }
    }

    /// Whether it runs on a GPU.
    pub const fn on_gpu(self) -> bool {
        match self {
            Self::Measure | Self::Judge => true,
            Self::Build | Self::Merge => false,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is submitted.
#[derive(Debug, Clone)]
pub struct Work {
    /// The phase's name.
    pub phase: String,
    /// Its file, absolute.
    pub config: PathBuf,
    /// The folder that its paths are relative to.
    pub root: PathBuf,
    /// This program.
    pub program: PathBuf,
    /// Into how many shards it is cut.
    pub shards: u32,
    /// What it is built for, before a GPU is there; none where each shard builds its own.
    pub arch: Option<String>,
    /// The compile cache that all nodes share.
    pub cache: PathBuf,
    /// The folder of runs.
    pub profiles: PathBuf,
    /// The folder of reports.
    pub reports: PathBuf,
}

impl Work {
    /// Its stages.
    pub fn stages(&self) -> impl Iterator<Item = Stage> + '_ {
        Stage::ALL.into_iter().filter(|stage| *stage != Stage::Build || self.arch.is_some())
    }
}

/// A script about to be submitted.
#[derive(Debug)]
pub struct Script<'a> {
    /// Its stage.
    pub stage: Stage,
    /// What is submitted.
    pub work: &'a Work,
    /// The folder of the submission.
    pub folder: &'a SubmitFolder,
    /// The shards of an array; none of other stages.
    pub shards: Vec<u32>,
}

impl Script<'_> {
    /// Its file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(format!("{}.sh", self.stage))
    }

    /// Its text.
    ///
    /// # Errors
    /// A path cannot be written into a script.
    pub fn text(&self, engine: &dyn Engine) -> Result<String, SubmitError> {
        let Work { phase, config, root, program, shards, arch, cache, profiles, reports } = self.work;
        let folder = self.folder.path();
        let (program, config, reports) = (path(program)?, path(config)?, path(reports)?);
        let (runs, profiles) = (path(&folder.join("shards"))?, path(profiles)?);
        let job = engine.job_variable();
        let ended = path(&folder.join("status").join(format!("{}.", self.stage)))?;
        let mut text = String::from("#!/bin/sh\n");
        for line in engine.directives(self) {
            text.push_str(&line);
            text.push('\n');
        }
        text.push_str(&format!("set -u\ncd {} || exit 3\nexport NCUGATE_CACHE={}\n", path(root)?, path(cache)?));
        text.push_str(WAITING);
        // A stage ends well for the engine where the next can begin.
        text.push_str(&match self.stage {
            Stage::Build => format!(
                "waited {program} check {config} --arch {}\n{}case \"$status\" in 0|1|4) exit 0;; *) exit \"$status\";; esac\n",
                quoted(arch.as_deref().unwrap_or_default()),
                keep(&ended, job),
            ),
            Stage::Measure => format!(
                "shard=${{{task}}}\ndone={done}\"$shard\"\n[ -s \"$done\" ] && exit 0\n\
                 waited {program} run {config} --source gpu --shard \"$shard/{shards}\" --profiles {runs}/\"$shard\" --reports {reports}\n\
                 # 4: measured, and nothing judged.\n\
                 [ \"$status\" -eq 4 ] || exit \"$status\"\n\
                 echo \"$status\" > \"$done.${{{job}}}\" && mv \"$done.${{{job}}}\" \"$done\"\n",
                task = engine.task_variable(),
                done = path(&folder.join("done").join("shard-"))?,
            ),
            Stage::Merge => format!(
                "waited {program} merge --newest --profiles {profiles} {runs}/*/{}/*-s*of{shards}\n{}exit \"$status\"\n",
                quoted(phase),
                keep(&ended, job),
            ),
            Stage::Judge => format!(
                "waited {program} run {config} --source gpu --profiles {profiles} --reports {reports} > {said}\"${{{job}}}\"\n{}exit \"$status\"\n",
                keep(&ended, job),
                said = path(&folder.join("said."))?,
            ),
        });
        Ok(text)
    }
}

/// Runs a program so that TERM, which an engine sends before it takes a node away, reaches it: what it has is kept.
const WAITING: &str = "\
waited() {
    \"$@\" &
    child=$!
    trap 'kill -TERM \"$child\" 2>/dev/null' TERM INT HUP
    wait \"$child\"
    status=$?
    # A signal ends the first wait, and not the program.
    while kill -0 \"$child\" 2>/dev/null; do
        wait \"$child\"
        status=$?
    done
}
";

/// Keeps the status of a stage where it is looked for, whole or not at all.
fn keep(ended: &str, job: &str) -> String {
    let file = format!("{ended}\"${{{job}}}\"");
    format!("echo \"$status\" > {file}.new && mv {file}.new {file}\n")
}

/// A path as a word of a shell.
fn path(path: &Path) -> Result<String, SubmitError> {
    let refused = |reason| {
        let value = crate::number::text::line(&path.to_string_lossy());
        Err(SubmitError::Unwritable { what: "the path", value, reason })
    };
    match path.to_str() {
        None => refused("it is not UTF-8 text"),
        Some(text) if text.chars().any(char::is_control) => refused("it has a control character"),
        // Engines put names of jobs in its place.
        Some(text) if text.contains('%') => refused("it has a '%'"),
        Some(text) => Ok(quoted(text)),
    }
}

/// A text as a word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell_or_refused() {
        assert_eq!(path(Path::new("/a b/it's $(x)")).unwrap(), r"'/a b/it'\''s $(x)'");
        for wrong in ["a\nb", "a%j", "a\u{1b}[0m"] {
            assert!(path(Path::new(wrong)).is_err(), "{wrong:?}");
        }
    }
}
