//! What was attempted, by whom it was inspired, and what came of it: `profiles/<phase>/attempts/history.jsonl`, only ever appended
//! to, with a copy of every source that was accepted.

use super::attempt::AttemptSource;
use crate::disk::open;
use crate::expr::Value;
use crate::model::Verdict;
use crate::store::{StoreError, replace, sha256};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Most bytes of a history: some hundred thousand attempts.
const MAX_HISTORY: u64 = 256 << 20;
/// Most bytes of a source.
pub const MAX_SOURCE: u64 = 64 << 20;

/// An attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// Its number, from 0.
    pub attempt: usize,
    /// The attempt that it was made from.
    pub parent: Option<usize>,
    /// What it tried, in the words of whoever made it.
    pub idea: String,
    /// SHA-256 of its source.
    pub source_sha256: String,
    /// The folder that its source lay in, for what it includes.
    pub include: PathBuf,
    /// Its parameters.
    pub params: Vec<(String, Value)>,
    /// The run.
    pub run: String,
    /// The commit that was checked out.
    pub commit: Option<String>,
    /// The verdict of the required gates.
    pub verdict: Verdict,
    /// Whether it took the place of the best.
    pub accepted: bool,
    /// Speed over the best until then, by shape.
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
    /// Reads the history of a phase; one that is not there has no attempts.
    ///
    /// # Errors
    /// It cannot be read, or a line is not an attempt.
    pub fn open(profiles: &Path, phase: &str) -> Result<Self, StoreError> {
        let folder = profiles.join(phase).join("attempts");
        let path = folder.join("history.jsonl");
        let text = match open::text_if_there(&path, MAX_HISTORY) {
            Ok(text) => text.unwrap_or_default(),
            Err(source) => return Err(StoreError::Read { path, source }),
        };
        let parse = |(line, text): (usize, &str)| {
            serde_json::from_str(text).map_err(|e| StoreError::Record {
                path: path.clone(),
                line: line + 1,
                reason: e.to_string(),
            })
        };
        let attempts = text.lines().enumerate().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { folder, attempts })
    }

    /// The best so far: the last that was accepted, with the copy of its source.
    ///
    /// # Errors
    /// The copy is gone, or is another: what was measured then is not there to be compared with.
    pub fn elite(&self) -> Result<Option<(usize, AttemptSource)>, StoreError> {
        let Some(best) = self.attempts.iter().rev().find(|attempt| attempt.accepted) else { return Ok(None) };
        let path = self.copy(&best.source_sha256);
        let bytes = open::bytes(&path, MAX_SOURCE).map_err(|source| StoreError::Read { path: path.clone(), source })?;
        if sha256(&bytes) != best.source_sha256 {
            return Err(StoreError::Seal { path, reason: "was changed after it was measured".to_owned() });
        }
        let source =
            AttemptSource { file: Some(path), include: Some(best.include.clone()), params: best.params.clone() };
        Ok(Some((best.attempt, source)))
    }

    /// Keeps an attempt, and a copy of the source of one that was accepted.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&mut self, attempt: AttemptRecord, source: &[u8]) -> Result<(), StoreError> {
        let path = self.folder.join("history.jsonl");
        let failed = |source| StoreError::Write { path: path.clone(), source };
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        if attempt.accepted {
            replace(&self.copy(&attempt.source_sha256), source).map_err(failed)?;
        }
        let mut line = serde_json::to_string(&attempt)
            .map_err(|e| StoreError::Encode { path: path.clone(), reason: e.to_string() })?;
        line.push('\n');
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
        file.write_all(line.as_bytes()).and_then(|()| file.sync_data()).map_err(failed)?;
        self.attempts.push(attempt);
        Ok(())
    }

    fn copy(&self, sha256: &str) -> PathBuf {
        self.folder.join(format!("{sha256}.cu"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
}
