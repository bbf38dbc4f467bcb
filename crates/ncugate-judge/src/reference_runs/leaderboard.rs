//! The leaderboard of a phase: one line per entry, append-only, small enough to commit.

use super::{Conditions, LeaderboardEntry};
use crate::store::{StoreError, write_atomically};
use ncugate_model::Better;
use ncugate_model::disk::open;
use ncugate_model::number::finite;
use std::path::{Path, PathBuf};

/// Maximum size of a leaderboard in bytes; an entry has a few KB.
const MAX_BYTES: u64 = 256 << 20;

/// The entry name for `best.` in a requirement.
pub const BEST: &str = "best";

/// Number of promoted runs with the same machine code whose median represents them.
pub const MEDIAN_OF: usize = 5;

/// Entries of a phase, oldest first.
#[derive(Debug, Clone)]
pub struct Leaderboard {
    path: PathBuf,
    text: String,
    entries: Vec<LeaderboardEntry>,
}

/// The result of a lookup by name.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup<'a> {
    /// The last comparable entry.
    Alike(&'a LeaderboardEntry),
    /// Entries exist but are not comparable: the last one, and its differences.
    Unlike(&'a LeaderboardEntry, Vec<String>),
    Absent,
}

/// Names of the phases with a leaderboard in a folder of runs, sorted.
pub fn phases_with_entries(profiles: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(profiles)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.path().join("leaderboard.jsonl").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

impl Leaderboard {
    /// Reads `<profiles>/<phase>/leaderboard.jsonl`. A missing file has no entries; a damaged file is an error.
    pub fn open(profiles: &Path, phase: &str) -> Result<Self, StoreError> {
        let path = profiles.join(phase).join("leaderboard.jsonl");
        let unread = |source| StoreError::Read { path: path.clone(), source };
        let text = open::text_if_there(&path, MAX_BYTES).map_err(unread)?.unwrap_or_default();
        let parse = |(at, line): (usize, &str)| {
            let refused = |reason: String| StoreError::Record { path: path.clone(), line: at + 1, reason };
            let entry: LeaderboardEntry = serde_json::from_str(line).map_err(|e| refused(e.to_string()))?;
            match entry.unsound() {
                Some(reason) => Err(refused(reason)),
                None => Ok(entry),
            }
        };
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let entries = lines.map(parse).collect::<Result<_, _>>()?;
        Ok(Self { entries, text, path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every entry, oldest first.
    pub fn entries(&self) -> &[LeaderboardEntry] {
        &self.entries
    }

    /// Current entries: the last one for each combination of name and conditions.
    pub fn present(&self) -> Vec<&LeaderboardEntry> {
        let replaced = |at: usize, entry: &LeaderboardEntry| {
            let mut later = self.entries[at + 1..].iter();
            later.any(|e| e.name == entry.name && e.conditions.differences(&entry.conditions).is_empty())
        };
        self.entries.iter().enumerate().filter(|(at, entry)| !replaced(*at, entry)).map(|(_, entry)| entry).collect()
    }

    /// The last entry of a name that was measured under these conditions.
    pub fn find(&self, name: &str, conditions: &Conditions) -> Lookup<'_> {
        let mut named = self.entries.iter().rev().filter(|e| e.name == name).peekable();
        let Some(&last) = named.peek() else { return Lookup::Absent };
        match named.find(|entry| conditions.differences(&entry.conditions).is_empty()) {
            Some(entry) => Lookup::Alike(entry),
            None => Lookup::Unlike(last, conditions.differences(&last.conditions)),
        }
    }

    /// The entry that represents a name: among the last [`MEDIAN_OF`] entries with the most recently promoted machine
    /// code, the one with the median objective (for an even number, the better of the middle two).
    ///
    /// The minimum of many measurements of one kernel is biased, increasingly so with each measurement. New machine
    /// code starts a new series, so that a real gain counts at once.
    pub fn standing(&self, name: &str, conditions: &Conditions) -> Lookup<'_> {
        let Lookup::Alike(last) = self.find(name, conditions) else { return self.find(name, conditions) };
        let repeats = |entry: &&LeaderboardEntry| {
            entry.name == name
                && conditions.differences(&entry.conditions).is_empty()
                && (entry.run == last.run || entry.is_same_code(last))
        };
        let mut repeats: Vec<&LeaderboardEntry> = self.entries.iter().rev().filter(repeats).take(MEDIAN_OF).collect();
        repeats.sort_by(|a, b| {
            let order = a.objective.value.total_cmp(&b.objective.value);
            if last.objective.better == Better::Higher { order.reverse() } else { order }
        });
        Lookup::Alike(repeats.get(repeats.len().saturating_sub(1) / 2).copied().unwrap_or(last))
    }

    /// Adds an entry and writes the file.
    pub fn append(&mut self, entry: LeaderboardEntry) -> Result<(), StoreError> {
        let encode = |reason: String| StoreError::Encode { path: self.path.clone(), reason };
        finite::check(&entry).map_err(|e| encode(e.to_string()))?;
        let line = serde_json::to_string(&entry).map_err(|e| encode(e.to_string()))?;
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(&line);
        self.text.push('\n');
        write_atomically(&self.path, self.text.as_bytes())?;
        self.entries.push(entry);
        Ok(())
    }
}
