//! Opens the inputs on the command line: reports, ncu's CSV, and globs of them.

use std::path::{Path, PathBuf};

use super::ShowError;
use ncu_rep::csv::{CsvError, CsvReport};
use ncu_rep::{Report, ReportError};
use ncugate_judge::frame::launches::{Capture, Origin};
use ncugate_model::disk::open;

/// Most bytes of a CSV.
const MAX_CSV: u64 = 2 << 30;

pub(super) struct Input {
    pub name: String,
    pub content: Content,
}

/// The content of the file.
pub(super) enum Content {
    Report(Box<Report>),
    Csv(CsvReport),
}

impl Input {
    /// The input in the form for frames.
    pub fn capture(&self) -> Capture<'_> {
        let origin = match &self.content {
            Content::Report(report) => Origin::Report(report),
            Content::Csv(csv) => Origin::Csv(csv),
        };
        Capture { name: &self.name, origin }
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

/// Reads a report, or ncu's CSV if the file is not a report.
pub(super) fn read(path: &Path) -> Result<Input, ShowError> {
    let name = path.display().to_string();
    match Report::open(path) {
        Ok(report) => Ok(Input { name, content: Content::Report(Box::new(report)) }),
        Err(source @ ReportError::NotAReport { .. }) => match open::named(path, MAX_CSV).and_then(open::text_of).ok() {
            Some(text) => match CsvReport::parse(&text) {
                Ok(csv) => Ok(Input { name, content: Content::Csv(csv) }),
                Err(CsvError::NoHeader) => Err(ShowError::Report { path: path.to_path_buf(), source }),
                Err(source) => Err(ShowError::Csv { path: path.to_path_buf(), source }),
            },
            None => Err(ShowError::Report { path: path.to_path_buf(), source }),
        },
        Err(source) => Err(ShowError::Report { path: path.to_path_buf(), source }),
    }
}
