//! Opens the inputs on the command line: reports, ncu's CSV, and globs of them.

use std::path::{Path, PathBuf};

use super::ShowError;
use ncu_rep::Report;
use ncugate_judge::frame::launches::Capture;

pub(super) struct Input {
    pub name: String,
    pub report: Report,
}

impl Input {
    /// The input in the form for frames.
    pub fn capture(&self) -> Capture<'_> {
        Capture { name: &self.name, report: &self.report }
    }
}

/// Opens every matching file once, in the order of the patterns.
pub(super) fn open(patterns: &[String]) -> Result<Vec<Input>, ShowError> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for pattern in patterns {
        for path in expand(pattern)? {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths.iter().map(|path| read(path)).collect()
}

/// The files of a pattern: the file of that name if it exists, else the matches of the glob.
fn expand(pattern: &str) -> Result<Vec<PathBuf>, ShowError> {
    let is_glob = pattern.contains(['*', '?', '[']) && !Path::new(pattern).exists();
    if !is_glob {
        return Ok(vec![PathBuf::from(pattern)]);
    }
    let none = || ShowError::NoReport { pattern: pattern.to_owned() };
    let found: Vec<PathBuf> = glob::glob(pattern).map_err(|_| none())?.filter_map(Result::ok).collect();
    if found.is_empty() { Err(none()) } else { Ok(found) }
}

/// Reads a report.
pub(super) fn read(path: &Path) -> Result<Input, ShowError> {
    let report = Report::open(path).map_err(|source| ShowError::Report { path: path.to_path_buf(), source })?;
    Ok(Input { name: path.display().to_string(), report })
}
