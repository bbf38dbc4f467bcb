//! The stored runs of a folder of profiles, each with a key over everything that its judgement follows from.
//!
//! The key does not read the files of a run. Like git's index it trusts size, change time and inode of each file, so
//! it serves caches and lists, not a judgement.

use super::run::{self, Run};
use super::{Manifest, PhaseFile, StoreError, journal, seal};
use jiff::Timestamp;
use jiff::civil::Date;
use ncugate_model::digest::Digest;
use ncugate_phase::config::PROJECT_FILE;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A run in a list, not judged yet.
#[derive(Debug)]
pub struct ListedRun {
    pub folder: PathBuf,
    pub manifest: Manifest,
    /// SHA-256 over the manifest with its seal, the state of all files, the earlier runs of the phase, its leaderboard
    /// and noise, the judging program, and the day if the phase has waivers.
    pub key: String,
}

/// A run, or the folder of one that cannot be listed and why.
pub type ListResult = Result<ListedRun, (PathBuf, StoreError)>;

/// The state of one run.
struct RunDigest {
    folder: PathBuf,
    manifest: Manifest,
    digest: String,
    has_waivers: bool,
}

/// Every run in a folder of profiles, or why it cannot be listed; sorted by folder. `program` identifies the judging
/// program.
///
/// # Errors
/// The folder cannot be read.
pub fn list(profiles: &Path, program: &str, today: Date) -> Result<Vec<ListResult>, StoreError> {
    let digests: Vec<Result<RunDigest, (PathBuf, StoreError)>> = run::runs(profiles)?
        .into_par_iter()
        .map(|folder| digest(&folder, today).map_err(|error| (folder, error)))
        .collect();
    let earlier = EarlierRuns::new(digests.iter().flatten());
    let listed = |run: RunDigest| {
        let phase = profiles.join(&run.manifest.phase);
        let mut key = Digest::default()
            .part(program)
            .part(run.folder.as_os_str().as_encoded_bytes())
            .part(&run.digest)
            .part(earlier.before(&phase, run.manifest.started))
            .part(state(&phase.join("leaderboard.jsonl")))
            .part(state(&phase.join("noise.json")));
        if run.has_waivers {
            key = key.part(today.to_string());
        }
        ListedRun { folder: run.folder, manifest: run.manifest, key: key.hex() }
    };
    Ok(digests.into_iter().map(|found| found.map(listed)).collect())
}

fn digest(folder: &Path, today: Date) -> Result<RunDigest, StoreError> {
    let (text, manifest) = Run::manifest_text(folder)?;
    let phase = journal::read_text(folder, "phase.toml")?
        .ok_or_else(|| StoreError::NotARun { folder: folder.to_owned(), missing: "phase.toml" })?
        .1;
    let files = seal::present(folder)?;
    let states: Vec<String> = files.iter().map(|file| format!("{file} {}", state(&folder.join(file)))).collect();
    let mut digest = Digest::default().part(text).part(&phase).list(states.iter());
    // A key can be written with escapes, which this search does not see.
    let may_waive = |phase: &str| phase.contains("waiver") || phase.contains("\\u");
    let mut has_waivers = may_waive(&phase);
    if let Some(PhaseFile { root, text, .. }) = PhaseFile::of(folder, &manifest, today) {
        let inputs = manifest.inputs.keys().map(|input| state(&root.join(input)));
        let states: Vec<String> = inputs.chain([state(&root.join(PROJECT_FILE))]).collect();
        digest = digest.part(&text).list(states.iter());
        has_waivers |= may_waive(&text);
    }
    let digest = digest.hex();
    Ok(RunDigest { folder: folder.to_owned(), manifest, digest, has_waivers })
}

/// Size, change times and inode of a file; `absent` if it cannot be examined.
fn state(path: &Path) -> String {
    fs::metadata(path).map_or_else(
        |_| "absent".to_owned(),
        |file| {
            let (modified, changed) = ((file.mtime(), file.mtime_nsec()), (file.ctime(), file.ctime_nsec()));
            format!("{} {modified:?} {changed:?} {}", file.len(), file.ino())
        },
    )
}

/// Runs by phase folder, oldest first, each with a digest over itself and all before it: a requirement can compare with
/// any earlier run of its phase.
struct EarlierRuns(BTreeMap<PathBuf, Vec<(Timestamp, String)>>);

impl EarlierRuns {
    fn new<'a>(runs: impl Iterator<Item = &'a RunDigest>) -> Self {
        let mut folders: BTreeMap<PathBuf, Vec<&RunDigest>> = BTreeMap::new();
        for run in runs {
            folders.entry(run.folder.parent().unwrap_or(Path::new("")).to_owned()).or_default().push(run);
        }
        let chain = |mut runs: Vec<&RunDigest>| {
            runs.sort_by_key(|run| (run.manifest.started, &run.folder));
            let mut last = String::new();
            let chained = runs.into_iter().map(|run| {
                last = Digest::default().part(&last).part(&run.digest).hex();
                (run.manifest.started, last.clone())
            });
            chained.collect()
        };
        Self(folders.into_iter().map(|(folder, runs)| (folder, chain(runs))).collect())
    }

    /// The digest of all runs in the folder of a phase that started before a time; empty without such runs.
    fn before(&self, phase: &Path, started: Timestamp) -> &str {
        let Some(runs) = self.0.get(phase) else { return "" };
        let earlier = runs.partition_point(|(other, _)| *other < started);
        earlier.checked_sub(1).and_then(|last| runs.get(last)).map_or("", |(_, digest)| digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures::root;

    const TODAY: Date = jiff::civil::date(2026, 6, 15);

    /// Three runs of a phase, a day apart.
    fn profiles() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for day in 1..=3 {
            let run = format!("2026010{day}T000000Z");
            let folder = place.path().join("softmax").join(&run);
            fs::create_dir_all(&folder).unwrap();
            for name in ["manifest.json", "phase.toml"] {
                fs::copy(root().join("profiles/softmax/h200").join(name), folder.join(name)).unwrap();
            }
            let path = folder.join("manifest.json");
            let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            manifest["run"] = run.into();
            manifest["started"] = format!("2026-01-0{day}T00:00:00Z").into();
            fs::write(path, manifest.to_string()).unwrap();
        }
        place
    }

    fn keys(profiles: &Path, program: &str, today: Date) -> Vec<String> {
        let listed = list(profiles, program, today).unwrap();
        listed.into_iter().map(|run| run.map_or_else(|(_, error)| error.to_string(), |run| run.key)).collect()
    }

    /// Which of the three keys changed.
    fn changes(place: &Path, change: impl FnOnce(&Path)) -> Vec<bool> {
        let before = keys(place, "p", TODAY);
        assert_eq!(before, keys(place, "p", TODAY));
        change(&place.join("softmax"));
        std::iter::zip(before, keys(place, "p", TODAY)).map(|(one, other)| one != other).collect()
    }

    #[test]
    fn a_key_changes_with_the_run_and_with_earlier_ones() {
        let place = profiles();
        let at = place.path();
        let middle = "20260102T000000Z";
        let appended = |name: &'static str| {
            move |phase: &Path| {
                let path = phase.join(middle).join(name);
                fs::write(&path, fs::read_to_string(&path).unwrap_or_default() + "\n").unwrap();
            }
        };
        assert_eq!(changes(at, |_| {}), [false; 3]);
        for name in ["manifest.json", "phase.toml", "builds.jsonl"] {
            assert_eq!(changes(at, appended(name)), [false, true, true], "{name}");
        }
        let rewritten = |phase: &Path| {
            let path = phase.join(middle).join("builds.jsonl");
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            fs::write(&path, "x").unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        assert_eq!(changes(at, rewritten), [false, true, true], "as long and as old as before");
        let report = |phase: &Path| {
            fs::create_dir(phase.join(middle).join("reports")).unwrap();
            fs::write(phase.join(middle).join("reports/core-1.ncu-rep"), "x").unwrap();
        };
        assert_eq!(changes(at, report), [false, true, true]);
        for name in ["leaderboard.jsonl", "noise.json"] {
            assert_eq!(changes(at, |phase| fs::write(phase.join(name), "{}").unwrap()), [true; 3], "{name}");
        }
    }

    #[test]
    fn a_key_changes_with_the_program_and_with_the_day_of_a_waiver() {
        let place = profiles();
        let at = place.path();
        let tomorrow = TODAY.tomorrow().unwrap();
        assert_ne!(keys(at, "p", TODAY), keys(at, "q", TODAY));
        assert_eq!(keys(at, "p", TODAY), keys(at, "p", tomorrow));
        let phase = at.join("softmax/20260101T000000Z/phase.toml");
        fs::write(&phase, fs::read_to_string(&phase).unwrap() + "\n[[waiver]]\n").unwrap();
        let (now, then) = (keys(at, "p", TODAY), keys(at, "p", tomorrow));
        assert_eq!(
            std::iter::zip(&now, &then).map(|(one, other)| one == other).collect::<Vec<_>>(),
            [false, true, true]
        );
    }

    #[test]
    fn a_run_without_a_manifest_that_can_be_read_is_named() {
        let place = profiles();
        fs::write(place.path().join("softmax/20260102T000000Z/manifest.json"), "{}").unwrap();
        let listed = list(place.path(), "p", TODAY).unwrap();
        assert_eq!(listed.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    }
}
