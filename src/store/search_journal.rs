//! The journal of a search that goes on: `profiles/<phase>/search/<key>/search.jsonl`, until the run of what it chose takes it.

use super::StoreError;
use super::folder::own;
use super::journal::{self, Journal};
use crate::disk::{FileLock, open};
use crate::model::SearchRecord;
use std::path::{Path, PathBuf};

/// Name of the journal in the folder of a run.
const NAME: &str = "search.jsonl";
/// Most bytes of it that are taken over.
const MAX_BYTES: u64 = 1 << 30;

/// The journal of a search.
#[derive(Debug)]
pub struct SearchJournal {
    folder: PathBuf,
    journal: Journal,
    /// One process searches.
    _lock: FileLock,
    records: Vec<SearchRecord>,
}

impl SearchJournal {
    /// Opens the journal of the search of that key, whole or empty.
    ///
    /// # Errors
    /// It cannot be read or written, or a line of it is not a record.
    pub fn open(profiles: &Path, phase: &str, key: &str) -> Result<Self, StoreError> {
        let folder = profiles.join(phase).join("search").join(key.chars().take(16).collect::<String>());
        let failed = |source| StoreError::Write { path: folder.clone(), source };
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let lock = own(&folder)?;
        let records = journal::read(&folder, "search")?;
        let journal = Journal::open(&folder.join(NAME))?;
        Ok(Self { folder, journal, _lock: lock, records })
    }

    /// What it holds.
    pub fn records(&self) -> &[SearchRecord] {
        &self.records
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// Keeps a record, on disk before this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&mut self, record: SearchRecord) -> Result<(), StoreError> {
        self.journal.append(&record)?;
        self.records.push(record);
        Ok(())
    }

    /// Forgets everything, for a search that starts anew.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn clear(&mut self) -> Result<(), StoreError> {
        super::write_atomically(&self.path(), b"")?;
        self.journal = Journal::open(&self.path())?;
        self.records.clear();
        Ok(())
    }
}

/// Puts the journal of a search into the folder of the run that measures what it chose.
///
/// # Errors
/// It cannot be read or written.
pub fn take_search(journal: &Path, run: &Path) -> Result<(), StoreError> {
    let bytes =
        open::bytes(journal, MAX_BYTES).map_err(|source| StoreError::Read { path: journal.to_owned(), source })?;
    super::write_atomically(&run.join(NAME), &bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_was_killed_goes_on_with_its_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let record = |batch| SearchRecord::Proposed { batch, points: Vec::new(), seconds: 0.5 };
        let mut journal = SearchJournal::open(folder.path(), "phase", "0123456789abcdef0123").unwrap();
        journal.append(record(0)).unwrap();
        std::fs::OpenOptions::new()
            .append(true)
            .open(journal.path())
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"{\"event\": \"prop"))
            .unwrap();
        assert!(matches!(
            SearchJournal::open(folder.path(), "phase", "0123456789abcdef0123"),
            Err(StoreError::Held { .. })
        ));
        drop(journal);
        let mut journal = SearchJournal::open(folder.path(), "phase", "0123456789abcdef0123").unwrap();
        journal.append(record(1)).unwrap();
        drop(journal);
        let journal = SearchJournal::open(folder.path(), "phase", "0123456789abcdef0123").unwrap();
        assert_eq!(journal.records(), [record(0), record(1)]);
        assert!(SearchJournal::open(folder.path(), "phase", "another").unwrap().records().is_empty());
    }
}
