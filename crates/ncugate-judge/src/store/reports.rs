//! Opens ncu reports by path. Opening maps a file and reads its directory; decoding happens later.

use super::{StoreError, prove_report};
use ncu_rep::{Report, ReportError};
use std::path::{Path, PathBuf};

/// Opens a report.
///
/// # Errors
/// [`StoreError::Report`] with the file's path.
pub fn open_report(path: &Path) -> Result<Report, StoreError> {
    Report::open(path).map_err(|error| {
        let reason = match &error {
            // The outer error already has the path.
            ReportError::Read { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        StoreError::Report { path: path.to_owned(), reason }
    })
}

/// Opens the reports of a run, each with its file name.
///
/// # Errors
/// [`StoreError::Report`] with the path of the first file that cannot be opened.
pub fn open_reports(paths: &[PathBuf]) -> Result<Vec<(String, Report)>, StoreError> {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let open = |path: &PathBuf| {
        prove_report(path).map_err(|e| StoreError::Report { path: path.clone(), reason: e.to_string() })?;
        Ok((name(path), open_report(path)?))
    };
    paths.iter().map(open).collect()
}
