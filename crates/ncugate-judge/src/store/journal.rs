//! Records on disk as JSON lines: appended and flushed one by one. Reading tolerates a truncated last line.

use super::StoreError;
use ncugate_model::disk::open;
use ncugate_model::number::finite;
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// An append-only file of records. A record is with the operating system when [`Journal::append`] returns, and on
/// disk after [`Journal::sync`].
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Digest of its bytes.
    digest: Sha256,
    bytes: u64,
}

impl Journal {
    /// Opens `path` for appending; first removes a truncated last line of an earlier run.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Write { path: path.to_owned(), source };
        let mut file = open::writable(path).map_err(failed)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let whole = text.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        file.set_len(whole as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let digest = Sha256::new_with_prefix(&text[..whole]);
        Ok(Self { path: path.to_owned(), file, digest, bytes: whole as u64 })
    }

    /// Returns when all records are on disk and survive a power loss.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(|source| StoreError::Write { path: self.path.clone(), source })
    }

    /// Appends one record as a line, if its numbers are finite and it can be read back. A number that is not finite
    /// would make every later read fail, or an optional number would be read as not measured.
    pub fn append<T: Serialize + DeserializeOwned>(&mut self, record: &T) -> Result<(), StoreError> {
        let encode = |reason: String| StoreError::Encode { path: self.path.clone(), reason };
        finite::check(record).map_err(|e| encode(e.to_string()))?;
        let mut line = serde_json::to_vec(record).map_err(|e| encode(e.to_string()))?;
        serde_json::from_slice::<T>(&line).map_err(|e| encode(e.to_string()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(|source| StoreError::Write { path: self.path.clone(), source })?;
        self.digest.update(&line);
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Its name, its bytes and their SHA-256.
    pub fn state(&self) -> (String, u64, String) {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, self.bytes, ncugate_model::digest::hex(&self.digest.clone().finalize()))
    }
}

/// Every record of `<stem>.jsonl`, or of `<stem>.jsonl.zst` in a recording; empty if neither exists.
///
/// A crash can leave a last line without its end, which is dropped. Any other line that does not parse is an error.
pub fn read<T: DeserializeOwned>(folder: &Path, stem: &str) -> Result<Vec<T>, StoreError> {
    let Some((path, text)) = read_text(folder, &format!("{stem}.jsonl"))? else {
        return Ok(Vec::new());
    };
    let whole = text.rfind('\n').map_or("", |at| &text[..at]);
    whole
        .lines()
        .enumerate()
        .map(|(i, line)| {
            serde_json::from_str(line).map_err(|e| StoreError::Record {
                path: path.clone(),
                line: i + 1,
                reason: e.to_string(),
            })
        })
        .collect()
}

/// Number of records in a journal, plain or compressed, without a truncated last line.
pub fn count(path: &Path) -> Result<u64, StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let limit = limit(&name);
    let file = open::regular(path, limit).map_err(|source| StoreError::Read { path: path.to_owned(), source })?;
    let bytes = match name.ends_with(".zst") {
        true => unpacked(file, path, limit)?,
        false => open::all(file, limit).map_err(|source| StoreError::Read { path: path.to_owned(), source })?,
    };
    Ok(bytes.iter().filter(|&&byte| byte == b'\n').count() as u64)
}

/// Text of `name` in `folder`, or of `name.zst`, and the path it came from; `None` if neither exists.
///
/// # Errors
/// It is not a regular file, exceeds the size limit, or is not text.
pub fn read_text(folder: &Path, name: &str) -> Result<Option<(PathBuf, String)>, StoreError> {
    let limit = limit(name);
    let (plain, packed) = (folder.join(name), folder.join(format!("{name}.zst")));
    let (path, bytes) = if let Some(file) = opened(&plain, limit)? {
        let bytes = open::all(file, limit).map_err(|source| StoreError::Read { path: plain.clone(), source })?;
        (plain, bytes)
    } else if let Some(file) = opened(&packed, limit)? {
        let bytes = unpacked(file, &packed, limit)?;
        (packed, bytes)
    } else {
        return Ok(None);
    };
    String::from_utf8(bytes).map(|text| Some((path.clone(), text))).map_err(|e| StoreError::Record {
        path,
        line: 0,
        reason: e.to_string(),
    })
}

/// Opens a file of a run; `None` if it does not exist.
fn opened(path: &Path, limit: u64) -> Result<Option<File>, StoreError> {
    match open::regular(path, limit) {
        Ok(file) => Ok(Some(file)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(source) => Err(StoreError::Read { path: path.to_owned(), source }),
    }
}

fn unpacked(file: File, path: &Path, limit: u64) -> Result<Vec<u8>, StoreError> {
    let failed = |source| StoreError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let decoder = zstd::stream::read::Decoder::new(file).map_err(failed)?;
    decoder.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > limit {
        true => Err(StoreError::TooLarge { path: path.to_owned(), limit }),
        false => Ok(bytes),
    }
}

/// Maximum uncompressed size of a run's file in bytes.
fn limit(name: &str) -> u64 {
    match name {
        "phase.toml" => 4 << 20,
        "manifest.json" => super::MANIFEST,
        _ => 1 << 30,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_is_dropped_and_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n.jsonl");
        Journal::open(&path).unwrap().append(&1).unwrap();
        File::options().append(true).open(&path).unwrap().write_all(b"{\"half").unwrap();
        assert_eq!(read::<i32>(folder.path(), "n").unwrap(), [1]);
        Journal::open(&path).unwrap().append(&2).unwrap();
        assert_eq!(read::<i32>(folder.path(), "n").unwrap(), [1, 2]);
    }

    #[test]
    fn a_number_that_is_not_finite_is_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n.jsonl");
        let mut journal = Journal::open(&path).unwrap();
        journal.append(&1.5).unwrap();
        for number in [f64::NAN, f64::INFINITY] {
            assert!(matches!(journal.append(&number), Err(StoreError::Encode { .. })), "{number}");
            assert!(matches!(journal.append(&Some(number)), Err(StoreError::Encode { .. })), "optional {number}");
        }
        assert_eq!(read::<f64>(folder.path(), "n").unwrap(), [1.5]);
    }

    #[test]
    fn a_bad_line_in_the_middle_is_an_error_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("n.jsonl"), "1\nx\n3\n").unwrap();
        let error = read::<i32>(folder.path(), "n").unwrap_err().to_string();
        assert!(error.contains("n.jsonl:2"), "{error}");
    }
}
