//! The seal of a finished run: its manifest lists every file with its hash and number of records, and a hash of the
//! manifest itself. A run with different files is not read.
//!
//! This detects damage, mixed-up files, and manual edits. It does not prove who wrote the run: anyone who can write
//! all of its files can seal them again.

use super::{Manifest, Seal, SealedFile, StoreError, is_report_name, journal};
use ncugate_model::MAX_REPORT;
use ncugate_model::digest::sha256;
use ncugate_model::disk::open;
use sha2::{Digest, Sha256};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Files other than the manifest and the reports; a recording adds `.zst` to their names.
pub const FILES: [&str; 12] = [
    "phase.toml",
    "plan.json",
    "workload.json",
    "builds.jsonl",
    "checks.jsonl",
    "latencies.jsonl",
    "confirmations.jsonl",
    "profiles.jsonl",
    "deep_profiles.jsonl",
    "sanitizer.jsonl",
    "bitwise.jsonl",
    "search.jsonl",
];
/// Placeholder for the manifest's own hash during its computation.
const UNKNOWN: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Bytes hashed per read.
const BLOCK: usize = 1 << 20;

/// Lists the files of `folder` in the manifest and writes it.
pub fn seal(folder: &Path, manifest: &mut Manifest) -> Result<(), StoreError> {
    let paths = present(folder)?;
    let file = |path: String| Ok((path.clone(), sealed(folder, &path)?));
    let files = paths.into_iter().map(file).collect::<Result<_, StoreError>>()?;
    manifest.seal = Some(Seal { manifest_sha256: UNKNOWN.to_owned(), files });
    write(folder, manifest)
}

/// Writes a manifest; recomputes its hash if it has a seal.
pub fn write(folder: &Path, manifest: &mut Manifest) -> Result<(), StoreError> {
    let text = text(folder, manifest)?;
    super::write_atomically(&folder.join("manifest.json"), &text)
}

/// The text of a manifest; its hash is recomputed if it has a seal.
pub fn text(folder: &Path, manifest: &mut Manifest) -> Result<Vec<u8>, StoreError> {
    let path = folder.join("manifest.json");
    if let Some(seal) = &mut manifest.seal {
        UNKNOWN.clone_into(&mut seal.manifest_sha256);
        let hash = sha256(&super::json(&path, manifest)?);
        if let Some(seal) = &mut manifest.seal {
            seal.manifest_sha256 = hash;
        }
    }
    super::json(&path, manifest)
}

/// Verifies that the files in `folder` match the list in its manifest; `text` is the manifest as read.
///
/// # Errors
/// [`StoreError::Seal`] with the first file that differs, is missing or is not listed; [`StoreError::Form`] if it lists a
/// file that runs of this program do not have.
pub fn verify(folder: &Path, manifest: &Manifest, text: &str) -> Result<(), StoreError> {
    let Some(seal) = &manifest.seal else { return Ok(()) };
    let refused = |path: &str, reason: String| StoreError::Seal { path: folder.join(path), reason };
    if sha256(text.replacen(&seal.manifest_sha256, UNKNOWN, 1).as_bytes()) != seal.manifest_sha256 {
        return Err(refused("manifest.json", "was changed after the run was written".to_owned()));
    }
    if let Some(path) = seal.files.keys().find(|path| !is_of_a_run(path)) {
        if path.contains('/') {
            return Err(refused("manifest.json", format!("lists {path:?}, which is not a file of a run")));
        }
        // The manifest is as it was written, by a program whose runs have such a file.
        return Err(StoreError::form(folder, &manifest.ncugate, format!("it lists the file {path:?}")));
    }
    for (path, expected) in &seal.files {
        let found = match sealed(folder, path) {
            Err(StoreError::Read { source, .. })
                if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Err(refused(path, "is missing".to_owned()));
            }
            found => found?,
        };
        if found != *expected {
            return Err(refused(path, unlike(expected, &found)));
        }
    }
    match present(folder)?.into_iter().find(|path| !path.contains('/') && !seal.files.contains_key(path)) {
        Some(path) => Err(refused(&path, "was added after the run was written".to_owned())),
        None => Ok(()),
    }
}

/// Whether a run can have a file with this path. Other listed files are never opened.
fn is_of_a_run(path: &str) -> bool {
    FILES.contains(&path.strip_suffix(".zst").unwrap_or(path))
        || path.strip_prefix("reports/").is_some_and(is_report_name)
}

fn unlike(expected: &SealedFile, found: &SealedFile) -> String {
    match (expected.records, found.records) {
        (Some(expected), Some(found)) if expected != found => {
            format!("has {found} records instead of {expected}")
        }
        _ => "was changed after the run was written".to_owned(),
    }
}

/// Existing files that a run can have, sorted by path.
pub(super) fn present(folder: &Path) -> Result<Vec<String>, StoreError> {
    let there = |name: &String| std::fs::symlink_metadata(folder.join(name)).is_ok();
    let mut paths: Vec<String> =
        FILES.iter().flat_map(|name| [(*name).to_owned(), format!("{name}.zst")]).filter(there).collect();
    let reports = folder.join("reports");
    let failed = |source| StoreError::Read { path: reports.clone(), source };
    let entries = match std::fs::read_dir(&reports) {
        Ok(entries) => entries.collect::<Result<Vec<_>, _>>().map_err(failed)?,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed(error)),
    };
    // A file that no record can name is not part of the run.
    let files = entries
        .into_iter()
        .filter(|entry| entry.metadata().is_ok_and(|found| found.is_file() && found.len() <= MAX_REPORT));
    let names = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
    paths.extend(names.filter(|name| is_report_name(name)).map(|name| format!("reports/{name}")));
    paths.sort();
    Ok(paths)
}

/// The seal entry for a file's current content.
fn sealed(folder: &Path, path: &str) -> Result<SealedFile, StoreError> {
    let records = match path.trim_end_matches(".zst").ends_with(".jsonl") {
        true => Some(journal::count(&folder.join(path))?),
        false => None,
    };
    Ok(SealedFile { sha256: file_sha256(&folder.join(path), MAX_REPORT)?, records })
}

/// SHA-256 of a regular file of at most `limit` bytes; a larger file is not read.
///
/// # Errors
/// It is a link, a pipe or a folder, exceeds the limit, or cannot be read.
pub fn file_sha256(path: &Path, limit: u64) -> Result<String, StoreError> {
    let failed = |source| StoreError::Read { path: PathBuf::from(path), source };
    let mut file = open::regular(path, limit).map_err(failed)?.take(limit);
    let (mut digest, mut block) = (Sha256::new(), vec![0; BLOCK]);
    loop {
        match file.read(&mut block).map_err(failed)? {
            0 => return Ok(ncugate_model::digest::hex(&digest.finalize())),
            read => digest.update(&block[..read]),
        }
    }
}
