//! The script of each stage, which writes its exit status to a file.

use super::scheduler::Scheduler;
use super::{SubmissionStage, SubmitError, Work};
use std::path::Path;

/// The text of the script of a stage.
///
/// # Errors
/// A path cannot be written into a script.
pub fn script(
    stage: SubmissionStage,
    work: &Work,
    folder: &Path,
    scheduler: &Scheduler,
) -> Result<String, SubmitError> {
    let Work { phase, config, root, program, shards, arch, cache, profiles, reports } = work;
    let (program, config, reports) = (path(program)?, path(config)?, path(reports)?);
    let (runs, profiles) = (path(&folder.join("shards"))?, path(profiles)?);
    let ended = format!("{}\"${{SLURM_JOB_ID}}\"", path(&folder.join("status").join(format!("{stage}.")))?);
    // The rename makes the status file appear atomically.
    let keep = format!("echo \"$status\" > {ended}.new && mv {ended}.new {ended}");
    let mut text = String::from("#!/bin/sh\n");
    for line in scheduler.directives(stage, work, folder) {
        text += &format!("{line}\n");
    }
    text += &format!("set -u\ncd {} || exit 3\nexport NCUGATE_CACHE={}\n", path(root)?, path(cache)?);
    text += WAITING;
    // A stage succeeds for the scheduler if the next can start.
    text += &match stage {
        SubmissionStage::Build => format!(
            "waited {program} check {config} --arch {}\n{keep}\ncase \"$status\" in 0|1|4) exit 0;; *) exit \"$status\";; esac\n",
            quoted(arch.as_deref().unwrap_or_default()),
        ),
        SubmissionStage::Measure => format!(
            "shard=${{SLURM_ARRAY_TASK_ID}}\ndone={done}\"$shard\"\n[ -s \"$done\" ] && exit 0\n\
             waited {program} run {config} --source gpu --shard \"$shard/{shards}\" --profiles {runs}/\"$shard\" --reports {reports}\n\
             # 4: measured, and nothing judged.\n\
             [ \"$status\" -eq 4 ] || exit \"$status\"\n\
             echo \"$status\" > \"$done.${{SLURM_JOB_ID}}\" && mv \"$done.${{SLURM_JOB_ID}}\" \"$done\"\n",
            done = path(&folder.join("done").join("shard-"))?,
        ),
        SubmissionStage::Merge => format!(
            "waited {program} cluster merge --newest --profiles {profiles} {runs}/*/{}/*-s*of{shards}\n{keep}\nexit \"$status\"\n",
            quoted(phase),
        ),
        SubmissionStage::Judge => format!(
            "waited {program} run {config} --source gpu --profiles {profiles} --reports {reports} > {said}\"${{SLURM_JOB_ID}}\"\n{keep}\nexit \"$status\"\n",
            said = path(&folder.join("said."))?,
        ),
    };
    Ok(text)
}

/// Runs a program and forwards TERM, which a scheduler sends before it takes a node away, so that results are stored.
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

/// A path as a shell word.
fn path(path: &Path) -> Result<String, SubmitError> {
    let refused =
        |reason| Err(SubmitError::Path { path: ncugate_model::number::text::line(&path.to_string_lossy()), reason });
    match path.to_str() {
        None => refused("it is not UTF-8 text"),
        Some(text) if text.chars().any(char::is_control) => refused("it has a control character"),
        // Schedulers replace it with job numbers.
        Some(text) if text.contains('%') => refused("it has a '%'"),
        Some(text) => Ok(quoted(text)),
    }
}

/// A text as a shell word.
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
