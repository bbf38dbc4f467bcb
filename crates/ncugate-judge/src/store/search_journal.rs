//! The journal of a running search: `profiles/<phase>/search/<key>/search.jsonl`, until the run of the chosen
//! variants takes it over.

use super::StoreError;
use super::folder::claim;
use super::journal::{self, Journal};
use super::ledger::Ledger;
use ncugate_model::SearchRecord;
use ncugate_model::disk::{FileLock, open};
use std::path::{Path, PathBuf};

/// Name of the journal in a run's folder.
const NAME: &str = "search.jsonl";
/// Maximum size in bytes of an existing journal.
const MAX_BYTES: u64 = 1 << 30;

#[derive(Debug)]
pub struct SearchJournal {
    folder: PathBuf,
    journal: Journal,
    /// Only one process searches.
    _lock: FileLock,
    ledger: Ledger,
    records: Vec<SearchRecord>,
    refused: Option<String>,
}

impl SearchJournal {
    /// Opens or creates the search journal with this key. A journal that another user or a checkout may have added is
    /// emptied.
    ///
    /// # Errors
    /// The file cannot be read or written, or contains an invalid line.
    pub fn open(profiles: &Path, phase: &str, key: &str) -> Result<Self, StoreError> {
        let folder = profiles.join(phase).join("search").join(key.chars().take(16).collect::<String>());
        let failed = |source| StoreError::Write { path: folder.clone(), source };
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let lock = claim(&folder)?;
        let is_begun = std::fs::symlink_metadata(folder.join(NAME)).is_ok_and(|found| found.len() > 0);
        let (resumed, refused) = match is_begun.then(|| Ledger::resume_search(&folder)) {
            None => (None, None),
            Some(Ok(ledger)) => (Some(ledger), None),
            Some(Err(why)) => (None, Some(why)),
        };
        let (ledger, records) = match resumed {
            Some(ledger) => (ledger, journal::read(&folder, "search")?),
            None => {
                super::write_atomically(&folder.join(NAME), b"")?;
                (Ledger::begin(&folder), Vec::new())
            }
        };
        let journal = Journal::open(&folder.join(NAME))?;
        Ok(Self { folder, journal, _lock: lock, ledger, records, refused })
    }

    /// Why earlier trials are discarded, if there were any.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    pub fn records(&self) -> &[SearchRecord] {
        &self.records
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// Appends a record; it is on disk on return.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append(&mut self, record: SearchRecord) -> Result<(), StoreError> {
        self.journal.append(&record)?;
        let (name, bytes, hash) = self.journal.state();
        self.ledger.note(&name, bytes, &hash);
        self.records.push(record);
        Ok(())
    }

    /// Removes all records, for a search that starts over.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn clear(&mut self) -> Result<(), StoreError> {
        super::write_atomically(&self.path(), b"")?;
        self.journal = Journal::open(&self.path())?;
        self.ledger = Ledger::begin(&self.folder);
        self.records.clear();
        Ok(())
    }
}

/// Removes a search journal that a run has copied, and its ledger.
pub fn forget_search(journal: &Path) {
    let folder = journal.with_file_name("");
    Ledger::forget(&folder);
    // The next run of the same search uses the remaining files.
    let _ = std::fs::remove_dir_all(folder);
}

/// Copies a search journal into the folder of the run that measures the chosen variants.
///
/// # Errors
/// It cannot be read or written.
pub fn take_search(journal: &Path, run: &Path) -> Result<(), StoreError> {
    let bytes =
        open::bytes(journal, MAX_BYTES).map_err(|source| StoreError::Read { path: journal.to_owned(), source })?;
    super::write_atomically(&run.join(NAME), &bytes)
}

#[cfg(test)]
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

    #[test]
    fn a_journal_that_somebody_else_wrote_or_changed_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let record = |batch| SearchRecord::Proposed { batch, points: Vec::new(), seconds: 0.5 };
        let open = || SearchJournal::open(folder.path(), "phase", "0123456789abcdef").unwrap();
        let mut journal = open();
        assert_eq!(journal.refused(), None);
        journal.append(record(0)).unwrap();
        journal.append(record(1)).unwrap();
        let path = journal.path();
        drop(journal);
        let text = std::fs::read_to_string(&path).unwrap();
        // bytes after the last ledger entry are truncated
        std::fs::write(&path, text.clone() + &text).unwrap();
        assert_eq!(open().records(), [record(0), record(1)]);
        std::fs::write(&path, text.replacen("\"batch\":0", "\"batch\":7", 1)).unwrap();
        let changed = open();
        assert_eq!(
            (changed.records(), changed.refused()),
            (&[][..], Some("'search.jsonl' is not as ncugate wrote it"))
        );
        drop(changed);
        let other = folder.path().join("phase/search/planted");
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(other.join(NAME), &text).unwrap();
        let planted = SearchJournal::open(folder.path(), "phase", "planted").unwrap();
        assert!(
            planted.records().is_empty()
                && planted.refused().is_some_and(|why| why.contains("this user has no record"))
        );
    }
}
