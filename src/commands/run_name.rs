//! Finds the run that a command line names.

use super::CommandError;
use ncugate_judge::store;
use ncugate_model::nearest;
use std::path::{Path, PathBuf};

/// Folder of runs, relative to the working directory, for commands without `--profiles`.
pub const PROFILES: &str = "profiles";

/// The folder of a run, named by its path, its id, its phase (the newest run) or `latest`.
///
/// # Errors
/// Nothing has this name, several runs have this id, or it is unknown which run is the newest.
pub fn run_folder(name: &Path, profiles: &Path) -> Result<PathBuf, CommandError> {
    Ok(run_named(name, profiles)?.unwrap_or_else(|| name.to_owned()))
}

/// The same; `None` if the name is a file, which may be an ncu report.
pub fn run_named(name: &Path, profiles: &Path) -> Result<Option<PathBuf>, CommandError> {
    if name.is_dir() {
        let is_run = name.join("manifest.json").exists();
        // A folder of runs stands for the newest of them. Any other folder is refused when it is loaded.
        let newest = if is_run { None } else { store::newest(store::runs_of_phase(name)?)? };
        return Ok(Some(newest.unwrap_or_else(|| name.to_owned())));
    }
    // The command that reads the path reports a missing one.
    if is_path(name) {
        return Ok(None);
    }
    let runs = store::runs(profiles)?;
    let text = name.to_str().unwrap_or_default();
    let named = |part: fn(&Path) -> Option<&str>| {
        runs.iter().filter(|run| part(run) == Some(text)).cloned().collect::<Vec<_>>()
    };
    let of_phase = if text == "latest" { runs.clone() } else { named(phase) };
    if let Some(newest) = store::newest(of_phase)? {
        return Ok(Some(newest));
    }
    match named(id).as_slice() {
        [] => Err(unknown(name, profiles, &runs)),
        [run] => Ok(Some(run.clone())),
        several => {
            let folders: Vec<String> = several.iter().map(|run| run.display().to_string()).collect();
            Err(CommandError::Usage(format!("several runs are named '{text}': {}", folders.join(", "))))
        }
    }
}

/// Whether a name can only be a path, even a missing one.
pub fn is_path(name: &Path) -> bool {
    name.exists() || name.components().count() > 1 || name.to_str().is_some_and(store::is_report_name)
}

fn id(run: &Path) -> Option<&str> {
    run.file_name()?.to_str()
}

fn phase(run: &Path) -> Option<&str> {
    run.parent()?.file_name()?.to_str()
}

fn unknown(name: &Path, profiles: &Path, runs: &[PathBuf]) -> CommandError {
    let known = runs.iter().flat_map(|run| [phase(run), id(run)]).flatten();
    let hint = name.to_str().and_then(|name| nearest(name, known.chain(["latest"])));
    let hint = hint.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    CommandError::Usage(format!(
        "'{}' is neither a file nor a folder, and {} has no run or phase of this name{hint}",
        name.display(),
        profiles.display()
    ))
}
