//! Headers of Python packages, for kernels that include them.

use super::cache::Cache;
use super::error::BuildError;
use crate::python_environment::PythonEnvironment;
use ncugate_model::process::{self, ProcessExit};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The program that finds them.
const PROGRAM: (&str, &str) = ("ncugate_headers.py", include_str!("python/ncugate_headers.py"));
/// Finding packages takes a moment; on a cold disk some seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// Folders with headers of Python packages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackageHeaders {
    /// All folders, in the order of the packages.
    pub folders: Vec<PathBuf>,
    /// The folders for which a version stands.
    pub versioned: Vec<PathBuf>,
    /// The packages with their versions.
    pub versions: BTreeMap<String, String>,
}

/// The program's answer.
#[derive(Deserialize)]
struct Answer {
    /// Python's own headers, which those of packages include.
    python: FoundPackage,
    packages: BTreeMap<String, Option<FoundPackage>>,
}

#[derive(Clone, Deserialize)]
struct FoundPackage {
    version: Option<String>,
    folders: Vec<PathBuf>,
}

impl PackageHeaders {
    /// The headers of the packages of a Python.
    ///
    /// # Errors
    /// The Python does not start, or does not have a package, or a package has no headers.
    pub fn find(packages: &[String], python: &PythonEnvironment, cache: &Cache) -> Result<Self, BuildError> {
        if packages.is_empty() {
            return Ok(Self::default());
        }
        let program = cache.program(&[PROGRAM])?.join(PROGRAM.0);
        let output = process::run(python.command().arg(program).args(packages), LIMIT)
            .map_err(|source| BuildError::Start { path: python.program.clone(), source })?;
        if output.ending == ProcessExit::Interrupted {
            return Err(BuildError::Interrupted);
        }
        let none = |package: &str, reason: String| BuildError::NoHeaders {
            python: python.program.clone(),
            package: package.to_owned(),
            reason,
        };
        let answer: Answer = serde_json::from_str(&output.stdout)
            .map_err(|_| none(&packages.join(", "), format!("the Python {} without finding them", output.ending)))?;
        let mut all = Self::default();
        for name in packages {
            match answer.packages.get(name).cloned().flatten() {
                None => return Err(none(name, "it has no such package".to_owned())),
                Some(found) if found.folders.is_empty() => {
                    return Err(none(name, "the package has no folder `include`".to_owned()));
                }
                Some(found) => all.add(name, found),
            }
        }
        all.add("python", answer.python);
        Ok(all)
    }

    fn add(&mut self, name: &str, package: FoundPackage) {
        if let Some(version) = package.version {
            self.versioned.extend(package.folders.iter().cloned());
            self.versions.insert(name.to_owned(), version);
        }
        self.folders.extend(package.folders);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// A package that cannot be imported, with headers.
    fn package(folder: &Path) {
        for (file, text) in [
            ("torch/__init__.py", "raise RuntimeError('imported')\n"),
            ("torch/include/ATen/ATen.h", ""),
            ("torch/include/torch/csrc/api/include/torch/all.h", ""),
            ("bare/__init__.py", ""),
        ] {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    /// Whether there is a Python to ask: tests run on machines without one too.
    fn has_python() -> bool {
        std::process::Command::new("python3").arg("--version").output().is_ok()
    }

    #[test]
    fn headers_are_found_without_an_import_and_only_a_distribution_has_a_version() {
        if !has_python() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (place, cache) = (folder.path().join("site"), Cache::at(&folder.path().join("cache")).unwrap());
        package(&place);
        let python = PythonEnvironment { folders: vec![place.clone()], ..PythonEnvironment::default() };
        let find = |name: &str| PackageHeaders::find(&[name.to_owned()], &python, &cache);
        let own = [place.join("torch/include"), place.join("torch/include/torch/csrc/api/include")];
        let found = find("torch").unwrap();
        assert!(found.folders.starts_with(&own), "{found:?}");
        assert!(!found.versions.contains_key("torch") && !found.versioned.contains(&own[0]), "{found:?}");
        let about = place.join("torch-2.11.0.dist-info");
        fs::create_dir_all(&about).unwrap();
        fs::write(about.join("METADATA"), "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n").unwrap();
        let found = find("torch").unwrap();
        assert_eq!(found.versions["torch"], "2.11.0");
        assert!(found.versions.contains_key("python") && found.versioned.starts_with(&own), "{found:?}");
        for (name, reason) in [("no_such_package", "it has no such package"), ("bare", "has no folder `include`")] {
            let error = find(name).unwrap_err().to_string();
            assert!(
                error.contains("`python3`") && error.contains(reason) && error.contains("hint: install"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_package_of_the_project_has_no_version_of_an_installed_one() {
        if !has_python() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (own, installed) = (folder.path().join("own"), folder.path().join("installed"));
        package(&own);
        package(&installed);
        let about = installed.join("torch-2.11.0.dist-info");
        fs::create_dir_all(&about).unwrap();
        fs::write(about.join("METADATA"), "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n").unwrap();
        let python = PythonEnvironment { folders: vec![own.clone(), installed], ..PythonEnvironment::default() };
        let cache = Cache::at(&folder.path().join("cache")).unwrap();
        let found = PackageHeaders::find(&["torch".to_owned()], &python, &cache).unwrap();
        assert!(
            found.folders.contains(&own.join("torch/include")) && !found.versions.contains_key("torch"),
            "{found:?}"
        );
    }
}
