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

    /// What a Python program prints that has the importer and these files; `None` without Python.
    fn printed(files: &[(&str, &str)], program: &str) -> Option<String> {
        which::which(PYTHON).ok()?;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["own", "pk/sub"] {
            std::fs::create_dir_all(path(name)).unwrap();
        }
        write_program(&path("own"), &[IMPORTER, ("program.py", program)]).unwrap();
        write_program(folder.path(), files).unwrap();
        let output = Command::new(PYTHON).arg(path("own/program.py")).current_dir(folder.path()).output().unwrap();
        Some(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
    }

    #[test]
    fn a_file_of_a_package_is_imported_once_a_process() {
        let files =
            [("pk/__init__.py", "from . import kern"), ("pk/kern.py", "print(__name__)"), ("lone.py", "print(1)")];
        let program = "from ncugate_import import loaded\n\
                       assert loaded('pk/kern.py') is loaded('pk/kern.py')\nimport pk.kern\n\
                       assert loaded('pk/kern.py') is pk.kern and loaded('lone.py') is loaded('lone.py')\n";
        let printed = printed(&files, program);
        assert!(printed.as_deref().is_none_or(|printed| printed == "pk.kern\n1\n"), "{printed:?}");
    }

    #[test]
    fn an_import_that_failed_fails_again_although_a_part_of_its_package_is_known() {
        let files = [
            ("pk/__init__.py", "from pk.sub import kern\nimport absent_module"),
            ("pk/sub/__init__.py", ""),
            ("pk/sub/kern.py", ""),
            ("pk/sub/other.py", ""),
            ("exits.py", "print('run')\nraise SystemExit('no GPU')"),
        ];
        let program = "from ncugate_import import loaded\n\
                       for file in ['pk/sub/kern.py', 'pk/sub/kern.py', 'pk/sub/other.py', 'exits.py', 'exits.py']:\n    \
                       try:\n        print(loaded(file))\n    except BaseException as error:\n        print(error)\n";
        let absent = "No module named 'absent_module'\n";
        let expected = format!("{absent}{absent}{absent}run\nno GPU\nno GPU\n");
        let printed = printed(&files, program);
        assert!(printed.as_ref().is_none_or(|printed| *printed == expected), "{printed:?}");
    }
}
