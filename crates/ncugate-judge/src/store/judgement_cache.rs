//! A cache of judged runs, for long lists. No verdict of a command is read from it. A run whose entry is missing, damaged
//! or has another key is judged again.

use ncugate_model::disk::{self, Durability, open};
use ncugate_model::number::finite;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum size of an entry in bytes.
const MAX_ENTRY: u64 = 1 << 18;
/// Entries that stay when the oldest are removed.
const KEPT: usize = 4096;

/// Entries by key, one file each. Without a folder that only its user can write to, the cache stays empty.
#[derive(Debug)]
pub struct JudgementCache {
    folder: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct CachedJudgement<T> {
    key: String,
    judged: T,
}

impl JudgementCache {
    /// The cache below the user's cache folder.
    pub fn open(root: Option<PathBuf>) -> Self {
        let below = |root: PathBuf| {
            let folder = root.join("judged");
            disk::private_folder(&root, &folder).ok().map(|()| folder)
        };
        Self { folder: root.and_then(below) }
    }

    /// The entry of a key; `None` if it is missing or damaged.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let bytes = open::bytes(&self.path(key)?, MAX_ENTRY).ok()?;
        let entry: CachedJudgement<T> = serde_json::from_slice(&bytes).ok()?;
        (entry.key == key).then_some(entry.judged)
    }

    /// Stores an entry. If it is too large or the cache cannot be written, the run is judged again next time.
    pub fn put<T: Serialize>(&self, key: &str, judged: &T) {
        let Some(path) = self.path(key) else { return };
        let entry = CachedJudgement { key: key.to_owned(), judged };
        // JSON has no NaN: the entry would say that a value is missing.
        if finite::check(&entry).is_err() {
            return;
        }
        if let Ok(bytes) = serde_json::to_vec(&entry)
            && bytes.len() as u64 <= MAX_ENTRY
        {
            let _ = disk::replace(&path, &bytes, Durability::Cached);
        }
    }

    /// Removes all but the newest `KEPT` entries.
    pub fn prune(&self) {
        let Some(entries) = self.folder.as_deref().and_then(|folder| fs::read_dir(folder).ok()) else { return };
        let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        if paths.len() <= KEPT {
            return;
        }
        let written = |path: PathBuf| Some((fs::symlink_metadata(&path).ok()?.modified().ok()?, path));
        let mut files: Vec<_> = paths.into_iter().filter_map(written).collect();
        files.sort();
        let extra = files.len().saturating_sub(KEPT);
        files.iter().take(extra).for_each(|(_, path)| drop(fs::remove_file(path)));
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        Some(self.folder.as_deref()?.join(Path::new(key).with_extension("json")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn cache() -> (tempfile::TempDir, JudgementCache) {
        let place = tempfile::tempdir().unwrap();
        let cache = JudgementCache::open(Some(place.path().join("cache")));
        (place, cache)
    }

    #[test]
    fn an_entry_is_found_by_its_key_alone() {
        let (_place, cache) = cache();
        cache.put("a", &"judged");
        assert_eq!(cache.get::<String>("a").as_deref(), Some("judged"));
        assert_eq!(cache.get::<String>("b"), None);
        fs::rename(cache.path("a").unwrap(), cache.path("b").unwrap()).unwrap();
        assert_eq!(cache.get::<String>("b"), None, "its file names another key");
    }

    #[test]
    fn damaged_foreign_and_large_entries_are_none() {
        let (_place, cache) = cache();
        for bytes in ["", "{", "[]", "{\"key\":\"a\"}", "{\"key\":\"a\",\"judged\":1}"] {
            fs::write(cache.path("a").unwrap(), bytes).unwrap();
            assert_eq!(cache.get::<String>("a"), None, "{bytes}");
        }
        cache.put("a", &"x".repeat(MAX_ENTRY as usize));
        assert_eq!(cache.get::<String>("a"), None);
        cache.put("b", &f64::NAN);
        assert_eq!(cache.get::<f64>("b"), None);
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
        for root in [Some(place.path().to_owned()), None] {
            let cache = JudgementCache::open(root);
            cache.put("a", &1);
            assert_eq!(cache.get::<i32>("a"), None);
        }
    }

    #[test]
    fn the_oldest_entries_are_removed() {
        let (_place, cache) = cache();
        for number in 0..KEPT + 2 {
            fs::write(cache.path(&format!("k{number}")).unwrap(), "x").unwrap();
        }
        for old in ["k7", "k9"] {
            let file = fs::File::options().write(true).open(cache.path(old).unwrap()).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        }
        cache.prune();
        assert_eq!(fs::read_dir(cache.folder.as_ref().unwrap()).unwrap().count(), KEPT);
        assert!(!cache.path("k7").unwrap().exists() && cache.path("k8").unwrap().exists());
    }
}
