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
        if let (false, None, Some(report)) = (is_run, &newest, report_in(name)) {
            let text = format!(
                "`{}` is not a run: it holds ncu reports; name one of them, such as `{}`",
                name.display(),
                report.display()
            );
            return Err(CommandError::Usage(text));
        }
        return Ok(Some(newest.unwrap_or_else(|| name.to_owned())));
    }
    if let (true, Some(hint)) = (name.is_file(), FileKind::of(name).and_then(|kind| kind.instead_of_a_run(name))) {
        return Err(CommandError::Usage(hint));
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
            Err(CommandError::Usage(format!("several runs are named `{text}`: {}", folders.join(", "))))
        }
    }
}

/// The first ncu report of a folder by name.
fn report_in(folder: &Path) -> Option<PathBuf> {
    let files = folder.read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    files.filter(|file| FileKind::of(file) == Some(FileKind::Report)).min()
}

/// A kind of file by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Report,
    Source,
    Phase,
}

impl FileKind {
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let ends = |of: &[&str]| of.iter().any(|ending| name.ends_with(ending));
        match () {
            () if ends(&[".ncu-rep", ".ncu-repz", ".ncu-rep.zst"]) => Some(Self::Report),
            () if ends(&[".cu", ".cuh"]) => Some(Self::Source),
            () if ends(&[".toml"]) => Some(Self::Phase),
            () => None,
        }
    }

    /// What to do with the file, where a run or a report is expected.
    fn instead_of_a_run(self, path: &Path) -> Option<String> {
        let path = path.display();
        match self {
            Self::Report => None,
            Self::Source => {
                Some(format!("`{path}` is source code; `ncugate init {path}` drafts a phase of its kernel"))
            }
            Self::Phase => {
                Some(format!("`{path}` is a phase, not a run or a report; `ncugate run {path}` makes a run"))
            }
        }
    }

    /// What to do with the file, where a phase is expected.
    pub fn instead_of_a_phase(self, path: &Path) -> Option<String> {
        let path = path.display();
        match self {
            Self::Report => Some(format!(
                "`{path}` is an ncu report, not a phase; `ncugate explain {path}` explains it, and `ncugate gate CONFIG \
                 {path}` judges it by a phase"
            )),
            Self::Source => Some(format!(
                "`{path}` is source code, not a phase; `ncugate init {path}` drafts a phase of its kernel"
            )),
            Self::Phase => None,
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
    if runs.is_empty() && name == Path::new("latest") {
        return CommandError::Usage(format!("no runs in `{}` yet: `ncugate run CONFIG` makes one", profiles.display()));
    }
    let known = runs.iter().flat_map(|run| [phase(run), id(run)]).flatten();
    let hint =
        name.to_str().and_then(|name| nearest(name, known.chain(["latest"].into_iter().filter(|_| !runs.is_empty()))));
    let hint = hint.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    CommandError::Usage(format!(
        "`{}` is neither a file nor a folder, and `{}` has no run or phase of this name{hint}",
        name.display(),
        profiles.display()
    ))
}
