//! The texts of scripts. Each stage leaves a file with how it ended.

use super::engine::Engine;
use super::error::SubmitError;
use super::script::Script;
use super::stage::{SubmissionStage, Work};
use std::path::Path;

/// The text of a script.
///
/// # Errors
/// A path cannot be written into a script.
pub fn text(script: &Script<'_>, engine: &dyn Engine) -> Result<String, SubmitError> {
    let Work { phase, config, root, program, shards, arch, cache, profiles, reports } = script.work;
    let folder = script.folder;
    let (program, config, reports) = (path(program)?, path(config)?, path(reports)?);
    let (runs, profiles) = (path(&folder.join("shards"))?, path(profiles)?);
    let job = engine.job_variable();
    let ended = path(&folder.join("status").join(format!("{}.", script.stage)))?;
    let mut text = String::from("#!/bin/sh\n");
    for line in engine.directives(script) {
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(&format!("set -u\ncd {} || exit 3\nexport NCUGATE_CACHE={}\n", path(root)?, path(cache)?));
    text.push_str(WAITING);
    // A stage ends well for the engine where the next can begin.
    text.push_str(&match script.stage {
        SubmissionStage::Build => format!(
            "waited {program} check {config} --arch {}\n{}case \"$status\" in 0|1|4) exit 0;; *) exit \"$status\";; esac\n",
            quoted(arch.as_deref().unwrap_or_default()),
            keep(&ended, job),
        ),
        SubmissionStage::Measure => format!(
            "shard=${{{task}}}\ndone={done}\"$shard\"\n[ -s \"$done\" ] && exit 0\n\
             waited {program} run {config} --source gpu --shard \"$shard/{shards}\" --profiles {runs}/\"$shard\" --reports {reports}\n\
             # 4: measured, and nothing judged.\n\
             [ \"$status\" -eq 4 ] || exit \"$status\"\n\
             echo \"$status\" > \"$done.${{{job}}}\" && mv \"$done.${{{job}}}\" \"$done\"\n",
            task = engine.task_variable(),
            done = path(&folder.join("done").join("shard-"))?,
        ),
        SubmissionStage::Merge => format!(
            "waited {program} merge --newest --profiles {profiles} {runs}/*/{}/*-s*of{shards}\n{}exit \"$status\"\n",
            quoted(phase),
            keep(&ended, job),
        ),
        SubmissionStage::Judge => format!(
            "waited {program} run {config} --source gpu --profiles {profiles} --reports {reports} > {said}\"${{{job}}}\"\n{}exit \"$status\"\n",
            keep(&ended, job),
            said = path(&folder.join("said."))?,
        ),
    });
    Ok(text)
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
        let value = ncugate_model::number::text::line(&path.to_string_lossy());
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
