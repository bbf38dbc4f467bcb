//! Known replay pass counts of metric sets, stored for the chip, ncu and driver that they were measured with.

use ncugate_model::ComputeCapability;
use ncugate_model::disk::{self, Durability};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The conditions that determine the number of passes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterConditions {
    /// `NVIDIA H200`.
    pub gpu: String,
    /// Compute capability, major and minor.
    pub compute_capability: ComputeCapability,
    /// ncu version (`2025.3.1.0`).
    pub ncu: String,
    /// Driver version (`580.159.04`).
    pub driver: String,
}

impl CounterConditions {
    fn file_name(&self) -> String {
        let text = format!("passes_{}_{}_{}_{}", self.gpu, self.compute_capability, self.ncu, self.driver);
        let safe = text.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' });
        safe.chain(".json".chars()).collect()
    }
}

/// A set and its passes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    metrics: BTreeSet<String>,
    passes: u32,
}

/// Measured passes of metric sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassBook {
    counters: CounterConditions,
    entries: Vec<Entry>,
    file: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct PassBookFile {
    counters: CounterConditions,
    entries: Vec<Entry>,
}

/// The book's knowledge of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassCount {
    /// This set was measured.
    Measured(u32),
    /// It is a subset of a set that fits one pass.
    FitsOne,
    /// It contains a set that needs at least this many passes.
    AtLeast(u32),
    Unknown,
}

impl PassBook {
    /// An empty book that is never saved.
    pub fn unkept(counters: CounterConditions) -> Self {
        Self { counters, entries: Vec::new(), file: None }
    }

    /// The book for `counters` in `folder`. It is empty if the file is missing, damaged or from another chip (it is a cache:
    /// missing sets are measured again).
    pub fn open(folder: &Path, counters: CounterConditions) -> Self {
        let file = folder.join(counters.file_name());
        let entries = fs::read(&file)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<PassBookFile>(&bytes).ok())
            .filter(|stored| stored.counters == counters)
            .map(|stored| stored.entries.into_iter().filter(|entry| !entry.metrics.is_empty()).collect())
            .unwrap_or_default();
        Self { counters, entries, file: Some(file) }
    }

    /// Writes it to its file atomically.
    pub fn save(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let stored = PassBookFile { counters: self.counters.clone(), entries: self.entries.clone() };
        let text = serde_json::to_vec_pretty(&stored)?;
        disk::replace(file, &text, Durability::Cached)
    }

    /// Stores the passes of a set, replacing an earlier measurement.
    pub fn note(&mut self, metrics: &[String], passes: u32) {
        let metrics: BTreeSet<String> = metrics.iter().cloned().collect();
        if metrics.is_empty() {
            return;
        }
        match self.entries.iter_mut().find(|entry| entry.metrics == metrics) {
            Some(entry) => entry.passes = passes,
            None => self.entries.push(Entry { metrics, passes }),
        }
    }

    /// The known passes of a set. Adding a metric never saves a pass, so subsets of a set that fits one pass fit one pass.
    pub fn passes(&self, metrics: &[String]) -> PassCount {
        let asked: BTreeSet<String> = metrics.iter().cloned().collect();
        if let Some(entry) = self.entries.iter().find(|entry| entry.metrics == asked) {
            return PassCount::Measured(entry.passes);
        }
        if self.entries.iter().any(|entry| entry.passes <= 1 && asked.is_subset(&entry.metrics)) {
            return PassCount::FitsOne;
        }
        let least = self.entries.iter().filter(|entry| entry.metrics.is_subset(&asked)).map(|entry| entry.passes).max();
        least.filter(|&passes| passes > 1).map_or(PassCount::Unknown, PassCount::AtLeast)
    }

    /// The largest part of a set that is known to fit one pass.
    pub fn largest_fitting(&self, metrics: &[String]) -> BTreeSet<String> {
        let asked: BTreeSet<String> = metrics.iter().cloned().collect();
        let fitting = self.entries.iter().filter(|entry| entry.passes <= 1);
        fitting.map(|entry| &entry.metrics & &asked).rev().max_by_key(BTreeSet::len).unwrap_or_default()
    }

    /// Whether nothing has been measured.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// `$NCUGATE_CACHE`, else `$XDG_CACHE_HOME/ncugate`, else `~/.cache/ncugate`; `lookup` reads the environment.
pub fn cache_folder(lookup: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let set = |name: &str| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("NCUGATE_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("ncugate")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/ncugate")))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn h200() -> CounterConditions {
        CounterConditions {
            gpu: "NVIDIA H200".into(),
            compute_capability: ComputeCapability::new(9, 0),
            ncu: "2025.3.1.0".into(),
            driver: "580.159.04".into(),
        }
    }

    fn set(names: &[&str]) -> Vec<String> {
        names.iter().map(|&n| n.to_owned()).collect()
    }

    #[test]
    fn parts_of_one_pass_fit_and_wholes_of_several_do_not() {
        let mut book = PassBook::unkept(h200());
        assert_eq!(book.passes(&set(&["a"])), PassCount::Unknown);
        book.note(&set(&["a", "b"]), 1);
        book.note(&set(&["a", "c"]), 3);
        assert_eq!(book.passes(&set(&["b", "a"])), PassCount::Measured(1));
        assert_eq!(book.passes(&set(&["a"])), PassCount::FitsOne);
        assert_eq!(book.passes(&set(&["a", "b", "c"])), PassCount::AtLeast(3));
        assert_eq!(book.passes(&set(&["c"])), PassCount::Unknown);
        book.note(&set(&["a", "c"]), 1);
        assert_eq!(book.passes(&set(&["c"])), PassCount::FitsOne);
    }

    #[test]
    fn a_book_is_kept_for_its_chip_and_a_damaged_one_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let mut book = PassBook::open(folder.path(), h200());
        book.note(&set(&["a"]), 2);
        book.save().unwrap();
        assert_eq!(PassBook::open(folder.path(), h200()), book);
        let other = CounterConditions { driver: "590.1".into(), ..h200() };
        assert!(PassBook::open(folder.path(), other).is_empty());
        fs::write(folder.path().join(h200().file_name()), "{").unwrap();
        assert!(PassBook::open(folder.path(), h200()).is_empty());
        assert_eq!(h200().file_name(), "passes_NVIDIA-H200_9.0_2025.3.1.0_580.159.04.json");
    }

    #[test]
    fn the_cache_folder_follows_the_environment() {
        let with = |pairs: &'static [(&str, &str)]| {
            cache_folder(move |name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into()))
        };
        assert_eq!(with(&[("NCUGATE_CACHE", "/c"), ("HOME", "/h")]), Some("/c".into()));
        assert_eq!(with(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]), Some("/x/ncugate".into()));
        assert_eq!(with(&[("NCUGATE_CACHE", ""), ("HOME", "/h")]), Some("/h/.cache/ncugate".into()));
        assert_eq!(with(&[]), None);
    }
}
