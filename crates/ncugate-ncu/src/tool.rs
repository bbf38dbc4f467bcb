//! Finds ncu and its version.

use ncugate_model::process;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// Time limit of `ncu --version`; a cold start from a network disk is slow.
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// Install locations outside of `PATH`.
const USUAL_PLACES: [&str; 2] = ["/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu"];

/// ncu's version, four numbers (`2025.3.1.0`), ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NcuVersion(pub [u32; 4]);

impl fmt::Display for NcuVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [year, release, patch, build] = self.0;
        write!(f, "{year}.{release}.{patch}.{build}")
    }
}

impl FromStr for NcuVersion {
    type Err = ();

    /// Reads `2025.3.1.0`. Missing numbers are 0, but the year is required.
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut numbers = [0; 4];
        let mut parts = text.trim().split('.');
        for (number, part) in numbers.iter_mut().zip(&mut parts) {
            *number = part.parse().map_err(|_| ())?;
        }
        if parts.next().is_some() || numbers[0] < 2000 { Err(()) } else { Ok(Self(numbers)) }
    }
}

/// A working ncu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ncu {
    pub path: PathBuf,
    /// Its reported version.
    pub version: NcuVersion,
}

/// Why no ncu is usable.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ToolError {
    /// No file of that name.
    #[error("ncu not found ({searched}); install Nsight Compute, add it to PATH, or set `ncu` under [profile]")]
    NotFound {
        /// The searched places.
        searched: String,
    },
    /// It exists but does not run.
    #[error("`{}` does not run: {reason}; try `{} --version`", path.display(), path.display())]
    Unusable { path: PathBuf, reason: String },
    /// It runs but is something else.
    #[error("`{}` does not print a version of Nsight Compute (it printed `{printed}`); set `ncu` under [profile] to the right file", path.display())]
    NotNcu {
        path: PathBuf,
        /// The first line it printed.
        printed: String,
    },
}

impl Ncu {
    /// The ncu at `explicit`, else the first on `PATH`, else the newest of the usual places.
    pub fn find(explicit: Option<&Path>) -> Result<Self, ToolError> {
        Self::query(locate(explicit)?)
    }

    fn query(path: PathBuf) -> Result<Self, ToolError> {
        let unusable = |reason: String| ToolError::Unusable { path: path.clone(), reason };
        let output = process::run(Command::new(&path).arg("--version"), VERSION_LIMIT)
            .map_err(|error| unusable(error.to_string()))?;
        if !output.ending.completed() {
            let said = output.stderr.lines().next().unwrap_or_default();
            return Err(unusable(format!("`--version` {} {said}", output.ending).trim_end().to_owned()));
        }
        match parse_version(&output.stdout) {
            Some(version) => Ok(Self { path, version }),
            None => Err(ToolError::NotNcu { path, printed: output.stdout.lines().next().unwrap_or("").to_owned() }),
        }
    }
}

fn locate(explicit: Option<&Path>) -> Result<PathBuf, ToolError> {
    if let Some(named) = explicit {
        return which::which(named)
            .map_err(|error| ToolError::NotFound { searched: format!("`{}`: {error}", named.display()) });
    }
    if let Ok(found) = which::which("ncu") {
        return Ok(found);
    }
    newest_usual().ok_or_else(|| ToolError::NotFound { searched: format!("PATH, {}", USUAL_PLACES.join(", ")) })
}

fn newest_usual() -> Option<PathBuf> {
    USUAL_PLACES.iter().find_map(|pattern| {
        let release = |path: &PathBuf| -> Option<NcuVersion> { path.parent()?.file_name()?.to_str()?.parse().ok() };
        glob::glob(pattern).ok()?.flatten().filter(|path| path.is_file()).max_by_key(release)
    })
}

/// The version in the output of `ncu --version`: `Version 2025.3.1.0 (build 36398880) (public-release)`.
fn parse_version(printed: &str) -> Option<NcuVersion> {
    if !printed.contains("Nsight Compute") {
        return None;
    }
    let line = printed.lines().find_map(|line| line.trim().strip_prefix("Version "))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "NVIDIA (R) Nsight Compute Command Line Profiler\n\
        Copyright (c) 2018-2025 NVIDIA Corporation\nVersion 2025.3.1.0 (build 36398880) (public-release)\n";

    #[test]
    fn the_version_is_read_and_ordered() {
        let version = parse_version(PRINTED).unwrap();
        assert_eq!(version.to_string(), "2025.3.1.0");
        assert!(version > "2025.2.1".parse().unwrap());
        assert!("2026.1.0".parse::<NcuVersion>().unwrap() > version);
        assert_eq!(parse_version("cuda-gdb 13.0\nVersion 1.0\n"), None);
        assert!("12.4".parse::<NcuVersion>().is_err());
        assert!("2025.3.x".parse::<NcuVersion>().is_err());
    }

    #[test]
    fn a_missing_program_and_one_that_is_not_ncu_are_errors() {
        let absent = Ncu::find(Some(Path::new("/nowhere/ncu"))).unwrap_err();
        assert!(absent.to_string().contains("/nowhere/ncu"), "{absent}");
        let other = Ncu::find(Some(Path::new("echo"))).unwrap_err();
        assert!(matches!(other, ToolError::NotNcu { .. }), "{other}");
        let broken = Ncu::find(Some(Path::new("false"))).unwrap_err();
        assert!(broken.to_string().contains("exited with status 1"), "{broken}");
    }
}
