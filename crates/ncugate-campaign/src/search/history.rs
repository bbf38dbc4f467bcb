//! The attempts, their parents and their results: `profiles/<phase>/attempts/history.jsonl`, append-only, with a copy
//! of every accepted source.

use super::attempt::AttemptSource;
use ncugate_judge::store::{Journal, StoreError, replace};
use ncugate_model::Verdict;
use ncugate_model::digest::sha256;
use ncugate_model::disk::{Turn, open};
use ncugate_model::expr::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Size limit of a history in bytes: some hundred thousand attempts.
const MAX_HISTORY: u64 = 256 << 20;
/// Size limit of a source in bytes.
pub const MAX_SOURCE: u64 = 64 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// Its number, from 0.
    pub attempt: usize,
    /// The attempt that it was derived from.
    pub parent: Option<usize>,
    /// The idea, in its author's words.
    pub idea: String,
    /// SHA-256 of its source.
    pub source_sha256: String,
    /// The folder of its source, for includes.
    pub include: PathBuf,
    pub params: Vec<(String, Value)>,
    pub run: String,
    /// The commit that was checked out.
    pub commit: Option<String>,
    /// The verdict of the required gates.
    pub verdict: Verdict,
    /// Whether it became the new best.
    pub accepted: bool,
    /// Speedup over the previous best, by shape.
    pub speedup: BTreeMap<String, Option<f64>>,
}

/// The attempts of a phase.
#[derive(Debug)]
pub struct AttemptHistory {
    folder: PathBuf,
    /// The attempts, in order.
    pub attempts: Vec<AttemptRecord>,
}

impl AttemptHistory {
    /// Reads the history of a phase; a missing file is an empty history.
    ///
    /// # Errors
    /// It cannot be read, or a line is not an attempt. An unterminated last line, left by a process that was killed
    /// while writing, is ignored.
    pub fn open(profiles: &Path, phase: &str) -> Result<Self, StoreError> {
        let folder = profiles.join(phase).join("attempts");
        Ok(Self { attempts: Self::read(&folder)?, folder })
    }

    fn read(folder: &Path) -> Result<Vec<AttemptRecord>, StoreError> {
        let path = folder.join("history.jsonl");
        let unread = |source| StoreError::Read { path: path.clone(), source };
        let text = open::text_if_there(&path, MAX_HISTORY).map_err(unread)?.unwrap_or_default();
        let parse = |(line, text): (usize, &str)| {
            serde_json::from_str(text).map_err(|e| StoreError::Record {
                path: path.clone(),
                line: line + 1,
                reason: e.to_string(),
            })
        };
        let whole = text.rfind('\n').map_or("", |at| &text[..at]);
        whole.lines().enumerate().map(parse).collect()
    }

    /// The best so far: the last accepted attempt, with the copy of its source.
    ///
    /// # Errors
    /// The copy is missing or has changed, so that the measured source is not available for comparison.
    pub fn elite(&self) -> Result<Option<(usize, AttemptSource)>, StoreError> {
        let Some(best) = self.best() else { return Ok(None) };
        let path = self.copy(&best.source_sha256);
        let bytes = open::bytes(&path, MAX_SOURCE).map_err(|source| StoreError::Read { path: path.clone(), source })?;
        if sha256(&bytes) != best.source_sha256 {
            return Err(StoreError::Seal { path, reason: "changed after its measurement".to_owned() });
        }
        let source =
            AttemptSource { file: Some(path), include: Some(best.include.clone()), params: best.params.clone() };
        Ok(Some((best.attempt, source)))
    }

    fn best(&self) -> Option<&AttemptRecord> {
        self.attempts.iter().rev().find(|attempt| attempt.accepted)
    }

    /// Stores an attempt under the next number, with a copy of the source if it is accepted; returns the stored
    /// record. An attempt is not accepted if another has replaced its comparison partner meanwhile.
    ///
    /// # Errors
    /// It cannot be written, or the history cannot be read.
    pub fn keep(&mut self, attempt: AttemptRecord, source: &[u8]) -> Result<AttemptRecord, StoreError> {
        let path = self.folder.join("history.jsonl");
        let failed = |source| StoreError::Write { path: path.clone(), source };
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        let _turn = Turn::wait(&self.folder.join("history.lock")).map_err(failed)?;
        let number = |best: Option<&AttemptRecord>| best.map(|best| best.attempt);
        let now = Self { attempts: Self::read(&self.folder)?, folder: self.folder.clone() };
        let accepted = attempt.accepted && number(now.best()) == number(self.best());
        let attempt = AttemptRecord { attempt: now.attempts.len(), accepted, ..attempt };
        self.attempts = now.attempts;
        if attempt.accepted {
            replace(&self.copy(&attempt.source_sha256), source).map_err(failed)?;
        }
        let mut journal = Journal::open(&path)?;
        journal.append(&attempt)?;
        journal.sync()?;
        self.attempts.push(attempt.clone());
        Ok(attempt)
    }

    fn copy(&self, sha256: &str) -> PathBuf {
        self.folder.join(format!("{sha256}.cu"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(attempt: usize, accepted: bool, source: &[u8]) -> AttemptRecord {
        AttemptRecord {
            attempt,
            parent: attempt.checked_sub(1),
            idea: "wider loads".to_owned(),
            source_sha256: sha256(source),
            include: PathBuf::from("kernels"),
            params: vec![("THREADS".to_owned(), Value::Int(128))],
            run: "r".to_owned(),
            commit: None,
            verdict: Verdict::Pass,
            accepted,
            speedup: BTreeMap::new(),
        }
    }

    #[test]
    fn the_best_is_the_last_that_was_accepted_and_its_source_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut history = AttemptHistory::open(folder.path(), "softmax").unwrap();
        assert!(history.elite().unwrap().is_none());
        history.keep(record(0, true, b"first"), b"first").unwrap();
        history.keep(record(1, false, b"second"), b"second").unwrap();
        let history = AttemptHistory::open(folder.path(), "softmax").unwrap();
        let (attempt, source) = history.elite().unwrap().unwrap();
        assert_eq!((attempt, history.attempts.len()), (0, 2));
        let copy = source.file.unwrap();
        assert_eq!(std::fs::read(&copy).unwrap(), b"first");
        std::fs::write(&copy, b"another").unwrap();
        assert!(history.elite().is_err(), "a source that was changed is not the one that was measured");
    }

    #[test]
    fn a_torn_last_line_is_forgiven_and_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut history = AttemptHistory::open(folder.path(), "p").unwrap();
        history.keep(record(0, true, b"first"), b"first").unwrap();
        let path = folder.path().join("p/attempts/history.jsonl");
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{}", &whole[..40])).unwrap();
        let mut history = AttemptHistory::open(folder.path(), "p").unwrap();
        assert_eq!((history.attempts.len(), history.elite().unwrap().unwrap().0), (1, 0));
        assert_eq!(history.keep(record(1, false, b"second"), b"second").unwrap().attempt, 1);
        assert_eq!(AttemptHistory::open(folder.path(), "p").unwrap().attempts.len(), 2);
        std::fs::write(&path, format!("{whole}{}\n", &whole[..40])).unwrap();
        assert!(AttemptHistory::open(folder.path(), "p").is_err(), "a whole line without a record");
    }

    #[test]
    fn attempts_at_once_have_their_own_numbers_and_one_of_them_takes_the_place_of_the_best() {
        let folder = tempfile::tempdir().unwrap();
        let at_once = |number: usize| {
            let mut history = AttemptHistory::open(folder.path(), "p").unwrap();
            move || history.keep(record(0, number < 4, b"source"), b"source").unwrap()
        };
        let threads: Vec<_> = (0..8).map(at_once).collect();
        let kept: Vec<AttemptRecord> = std::thread::scope(|scope| {
            let working: Vec<_> = threads.into_iter().map(|keep| scope.spawn(keep)).collect();
            working.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut numbers: Vec<usize> = kept.iter().map(|attempt| attempt.attempt).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..8).collect::<Vec<_>>());
        assert_eq!(kept.iter().filter(|attempt| attempt.accepted).count(), 1, "the others were compared with another");
        assert_eq!(AttemptHistory::open(folder.path(), "p").unwrap().attempts.len(), 8);
    }
}
