//! The Python of a phase, with the folders in which it finds modules.

use ncugate_phase::config::BuildSettings;
use serde::{Deserialize, Serialize};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The default Python, if the phase names none.
const PYTHON: &str = "python3";
/// The variable with the search path.
const PYTHONPATH: &str = "PYTHONPATH";

/// The import of files; programs of this crate in Python find it next to them.
pub const IMPORTER: (&str, &str) = ("ncugate_import.py", include_str!("ncugate_import.py"));

/// A Python, and folders in which it finds modules ahead of its packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonEnvironment {
    pub program: PathBuf,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
}

impl Default for PythonEnvironment {
    fn default() -> Self {
        Self { program: PathBuf::from(PYTHON), folders: Vec::new() }
    }
}

impl PythonEnvironment {
    /// The Python of a phase.
    pub fn of(build: &BuildSettings) -> Self {
        let program = build.python.clone().unwrap_or_else(|| PathBuf::from(PYTHON));
        Self { program, folders: build.pythonpath.clone() }
    }

    /// A command that starts it, with its folders ahead of those of the user's `PYTHONPATH`.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(path) = self.search_path() {
            command.env(PYTHONPATH, path);
        }
        command
    }

    /// The value of `PYTHONPATH`; none if it is the user's.
    pub fn search_path(&self) -> Option<OsString> {
        let own = self.folders.iter().map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.clone()));
        let given = env::var_os(PYTHONPATH).filter(|path| !path.is_empty());
        let given = given.iter().flat_map(env::split_paths);
        // A phase is refused if a folder has the separator.
        (!self.folders.is_empty()).then(|| env::join_paths(own.chain(given)).ok()).flatten()
    }
}

/// Writes programs in Python to a folder.
///
/// # Errors
/// A file cannot be written.
pub fn write_program(folder: &Path, files: &[(&str, &str)]) -> std::io::Result<()> {
    files.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_of_a_phase_come_first_and_a_phase_without_any_changes_nothing() {
        assert_eq!(PythonEnvironment::default().search_path(), None);
        let build = BuildSettings { pythonpath: vec!["src".into(), "/opt/other".into()], ..BuildSettings::default() };
        let path = PythonEnvironment::of(&build).search_path().unwrap();
        let folders: Vec<PathBuf> = env::split_paths(&path).take(2).collect();
        assert_eq!(folders, [env::current_dir().unwrap().join("src"), "/opt/other".into()]);
    }
}
