//! Writes a report's files atomically. The only part of the crate that touches the disk.

use super::error::WriteError;
use super::run_report::RunReport;
use super::{html, json, junit, markdown, sarif};
use crate::chart;
use crate::chart::svg::{self, Setting};
use ncugate_judge::store;
use std::fs;
use std::path::{Path, PathBuf};

/// Files of a written report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFiles {
    pub folder: PathBuf,
    /// `report.html`.
    pub page: PathBuf,
}

/// Checks before anything is measured that the folder is writable or can be created. Creates nothing that stays.
pub fn prove_writable(folder: &Path) -> Result<(), WriteError> {
    let is_there = |folder: &&Path| folder.symlink_metadata().is_ok();
    let nearest = folder.ancestors().find(is_there).unwrap_or(Path::new(""));
    let probe = nearest.join(format!(".ncugate-probe-{}", std::process::id()));
    fs::write(&probe, b"ncugate").map_err(|source| disk(folder, source))?;
    fs::remove_file(&probe).map_err(|source| disk(&probe, source))
}

/// Renders everything, then writes `report.html`, `report.md`, `results.json`, `junit.xml`, `results.sarif` and `charts/*.svg`.
pub fn write(report: &RunReport, folder: &Path) -> Result<ReportFiles, WriteError> {
    let files = [
        ("results.json", json::json(report)?),
        ("junit.xml", junit::junit(report)?),
        ("results.sarif", sarif::sarif(report)?),
        ("report.md", markdown::markdown(report)?),
        ("report.html", html::html(report)?),
    ];
    let drawn: Result<Vec<_>, _> =
        report.charts.iter().map(|c| Ok((format!("{}.svg", c.id), svg::draw(c, Setting::File)?))).collect();
    let drawn = drawn.map_err(super::RenderError::Chart)?;
    let charts = folder.join("charts");
    fs::create_dir_all(&charts).map_err(|source| disk(&charts, source))?;
    for (name, text) in &drawn {
        replace(&charts.join(name), text)?;
    }
    for (name, text) in &files {
        replace(&folder.join(name), text)?;
    }
    remove_older(&charts, &drawn)?;
    Ok(ReportFiles { folder: folder.to_owned(), page: folder.join("report.html") })
}

/// Removes chart files of an earlier rendering that this one does not have; all other files stay.
fn remove_older(charts: &Path, drawn: &[(String, String)]) -> Result<(), WriteError> {
    let entries = fs::read_dir(charts).map_err(|source| disk(charts, source))?;
    let files = entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let older = files.map(|entry| entry.file_name()).filter(|name| {
        let id = name.to_str().and_then(|name| name.strip_suffix(".svg"));
        id.is_some_and(chart::is_id) && drawn.iter().all(|(kept, _)| name != kept.as_str())
    });
    older
        .map(|name| charts.join(name))
        .try_for_each(|path| fs::remove_file(&path).map_err(|source| disk(&path, source)))
}

/// Writes a temporary file next to the target, then renames it.
pub fn replace(path: &Path, text: &str) -> Result<(), WriteError> {
    store::replace(path, text.as_bytes()).map_err(|source| disk(path, source))
}

fn disk(path: &Path, source: std::io::Error) -> WriteError {
    WriteError::Disk { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("taken");
        fs::write(&file, "x").unwrap();
        let error = prove_writable(&file.join("sub")).unwrap_err().to_string();
        assert!(error.contains("taken") && error.contains("choose another folder"), "{error}");
        prove_writable(&folder.path().join("new/deep")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn charts_of_an_earlier_rendering_go_and_other_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["stalls.svg", "roofline.svg", "older.svg", "notes.txt"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        remove_older(folder.path(), &[("stalls.svg".to_owned(), String::new())]).unwrap();
        for (name, stays) in [("stalls.svg", true), ("roofline.svg", false), ("older.svg", true), ("notes.txt", true)] {
            assert_eq!(folder.path().join(name).exists(), stays, "{name}");
        }
    }

    #[test]
    fn replacing_leaves_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        replace(&path, "one").unwrap();
        replace(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
