//! Recordings: runs kept in the repository, small and without host names, addresses and paths.

use super::destination::{self, Destination};
use super::{Manifest, Run, SCHEMA, StoreError, write_atomically};
use ncu_rep::TextKind;
use ncugate_model::disk::open;
use ncugate_model::number::{self, finite};
use ncugate_model::{
    BuildOutcome, BuildRecord, DeepProfile, ProfileOutcome, ProfileRecord, SearchRecord, TriedOutcome, TriedPoint,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// zstd level of records: high, because a recording is written once and cloned often.
const LEVEL: i32 = 19;

/// Writes `run` as a recording into `folder`, relative to `here`: records are compressed, reports become `.ncu-repz`,
/// and host names, addresses, user folders and machine code are removed. An older recording in the folder is replaced
/// after the new one is complete. Returns the size in bytes.
///
/// # Errors
/// The run was measured from uncommitted files, `folder` is not a valid destination (see `Destination::new`), the run
/// cannot be read, or the recording cannot be written.
pub fn record(run: &Run, folder: &Path, here: &Path) -> Result<u64, StoreError> {
    if let Some(git) = run.manifest.git.as_ref().filter(|git| git.dirty) {
        return Err(StoreError::Uncommitted { run: run.manifest.run.clone(), commit: git.commit.clone() });
    }
    let destination = Destination::new(folder, &run.folder, here)?;
    let draft = destination.draft()?;
    if let Err(error) = write(run, &draft).and_then(|()| destination.take(&draft)) {
        // Removing the draft may also fail; the first error is reported.
        let _ = destination::remove(&draft);
        return Err(error);
    }
    size(&here.join(folder)).map_err(|source| StoreError::Read { path: folder.to_owned(), source })
}

fn write(run: &Run, draft: &Path) -> Result<(), StoreError> {
    let folder = draft.join("reports");
    std::fs::create_dir(&folder).map_err(|source| StoreError::Write { path: folder, source })?;
    let names = reports(run, draft)?;
    write_records(run, &names, draft)
}

fn size(folder: &Path) -> std::io::Result<u64> {
    std::fs::read_dir(folder)?.try_fold(0, |total, entry| {
        let entry = entry?;
        let metadata = entry.metadata()?;
        Ok(total + if metadata.is_dir() { size(&entry.path())? } else { metadata.len() })
    })
}

/// Redacts and compresses every report; returns the new name of each.
fn reports(run: &Run, draft: &Path) -> Result<BTreeMap<String, String>, StoreError> {
    let redaction = ncu_rep::Redaction { sources: ncu_rep::SourcePolicy::Drop };
    let mut names = BTreeMap::new();
    for path in run.reports().into_iter().chain(run.deep_reports()) {
        let failed = |reason: String| StoreError::Report { path: path.clone(), reason };
        super::prove_report(&path).map_err(|e| failed(e.to_string()))?;
        let bytes = open::bytes(&path, u64::MAX).map_err(|e| failed(e.to_string()))?;
        let redacted = ncu_rep::redact_with(&bytes, redaction).map_err(|e| failed(e.to_string()))?;
        let packed = ncu_rep::compress(&redacted).map_err(|e| failed(e.to_string()))?;
        let old = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let new = format!("{}.ncu-repz", old.trim_end_matches(".ncu-repz").trim_end_matches(".ncu-rep"));
        write_atomically(&draft.join("reports").join(&new), &packed)?;
        names.insert(old, new);
    }
    Ok(names)
}

fn write_records(run: &Run, names: &BTreeMap<String, String>, draft: &Path) -> Result<(), StoreError> {
    let mut manifest = redacted_manifest(&run.manifest);
    write_atomically(&draft.join("phase.toml"), run.phase.as_bytes())?;
    pack(draft, "plan.json", std::iter::once(&run.plan))?;
    pack(draft, "workload.json", std::iter::once(&run.workload))?;
    let builds: Vec<BuildRecord> = run.builds.iter().map(redacted_build).collect();
    pack(draft, "builds.jsonl", &builds)?;
    pack(draft, "checks.jsonl", &run.checks)?;
    pack(draft, "latencies.jsonl", &run.latencies)?;
    if !run.confirmations.is_empty() {
        pack(draft, "confirmations.jsonl", &run.confirmations)?;
    }
    let profiles: Vec<ProfileRecord> = run.profiles.iter().map(|p| renamed(p, names)).collect();
    pack(draft, "profiles.jsonl", &profiles)?;
    if !run.deep_profiles.is_empty() {
        let deep: Vec<DeepProfile> = run.deep_profiles.iter().map(|deep| redacted_deep(deep, names)).collect();
        pack(draft, "deep_profiles.jsonl", &deep)?;
    }
    let ablations = super::ablations(&run.folder);
    if !ablations.is_empty() {
        pack(draft, "ablations.jsonl", &ablations)?;
    }
    if !run.sanitizer.is_empty() {
        pack(draft, "sanitizer.jsonl", &run.sanitizer)?;
    }
    if !run.bitwise.is_empty() {
        pack(draft, "bitwise.jsonl", &run.bitwise)?;
    }
    if !run.search.is_empty() {
        let search: Vec<SearchRecord> = run.search.iter().map(redacted_search).collect();
        pack(draft, "search.jsonl", &search)?;
    }
    // If a run has no seal, its recording has none either.
    match run.is_sealed() {
        true => super::seal(draft, &mut manifest),
        false => super::write_json(&draft.join("manifest.json"), &manifest),
    }
}

/// Files outside the project, as a library's headers, are not on other machines: a recording does not list them, and says so.
fn redacted_manifest(manifest: &Manifest) -> Manifest {
    let mut manifest = Manifest { schema: SCHEMA, redacted: true, seal: None, ..manifest.clone() };
    manifest.argv = manifest.argv.iter().map(|word| without_folders(word)).collect();
    manifest.stopped = manifest.stopped.map(|why| without_folders(&why));
    manifest.warnings = manifest.warnings.iter().map(|text| without_folders(text)).collect();
    let (inputs, outside): (BTreeMap<_, _>, BTreeMap<_, _>) =
        manifest.inputs.into_iter().partition(|(path, _)| Path::new(path).is_relative());
    manifest.inputs = inputs;
    if let Some(path) = outside.keys().next() {
        let (files, name) = (number::counted(outside.len(), "file"), without_folders(path));
        manifest
            .warnings
            .push(format!("{files} outside the project ('{name}') cannot be compared with the measured ones"));
    }
    manifest
}

fn pack<'a, T: Serialize + 'a>(
    draft: &Path,
    name: &str,
    values: impl IntoIterator<Item = &'a T>,
) -> Result<(), StoreError> {
    let path = draft.join(format!("{name}.zst"));
    let mut text = Vec::new();
    for value in values {
        let encode = |reason: String| StoreError::Encode { path: path.clone(), reason };
        finite::check(value).map_err(|e| encode(e.to_string()))?;
        serde_json::to_writer(&mut text, value).map_err(|e| encode(e.to_string()))?;
        text.push(b'\n');
    }
    let packed =
        zstd::encode_all(text.as_slice(), LEVEL).map_err(|source| StoreError::Write { path: path.clone(), source })?;
    write_atomically(&path, &packed)
}

fn redacted_search(record: &SearchRecord) -> SearchRecord {
    let mut record = record.clone();
    if let SearchRecord::Tried(TriedPoint { outcome: TriedOutcome::Failed { reason }, .. }) = &mut record {
        *reason = without_folders(reason);
    }
    record
}

fn redacted_build(record: &BuildRecord) -> BuildRecord {
    let mut record = record.clone();
    match &mut record.outcome {
        BuildOutcome::Built { cubin, log, .. } => {
            *cubin = std::path::PathBuf::new();
            *log = without_folders(log);
        }
        BuildOutcome::Failed { message } => *message = without_folders(message),
        BuildOutcome::Refused { .. } | BuildOutcome::NotNeeded => {}
    }
    record
}

fn renamed(record: &ProfileRecord, names: &BTreeMap<String, String>) -> ProfileRecord {
    let mut record = record.clone();
    rename(&mut record.outcome, names);
    record
}

/// Instructions and lines are kept: the recorded report has neither machine code nor sources.
fn redacted_deep(deep: &DeepProfile, names: &BTreeMap<String, String>) -> DeepProfile {
    let mut deep = deep.clone();
    rename(&mut deep.outcome, names);
    for listing in std::iter::once(&mut deep.listing).chain(deep.other_listings.values_mut()) {
        listing.lacks = listing.lacks.iter().map(|text| without_folders(text)).collect();
    }
    deep
}

fn rename(outcome: &mut ProfileOutcome, names: &BTreeMap<String, String>) {
    match outcome {
        ProfileOutcome::Profiled { report } => {
            if let Some(new) = names.get(report.as_str()) {
                report.clone_from(new);
            }
        }
        ProfileOutcome::Traced { .. } => {}
        ProfileOutcome::Failed { reason } => *reason = without_folders(reason),
    }
}

/// Absolute paths in the text of a phase, each once. A recording keeps them, because the text must match the measured
/// one byte for byte.
pub fn absolute_paths(phase: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if let Ok(table) = phase.parse::<toml::Table>() {
        table.values().for_each(|value| paths_in(value, &mut found));
    }
    found
}

fn paths_in(value: &toml::Value, found: &mut BTreeSet<String>) {
    match value {
        toml::Value::String(text) => found.extend(path_in(text).map(str::to_owned)),
        toml::Value::Array(values) => values.iter().for_each(|value| paths_in(value, found)),
        toml::Value::Table(table) => table.values().for_each(|value| paths_in(value, found)),
        toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) | toml::Value::Datetime(_) => {}
    }
}

/// The absolute path in a text, also after a flag (`-I/opt/include`, `--sysroot=/opt`).
fn path_in(text: &str) -> Option<&str> {
    let flag = text.starts_with('-').then(|| text.find('/')).flatten();
    let path = match flag {
        Some(at) if at == 2 || text[..at].ends_with('=') => &text[at..],
        Some(_) => return None,
        None => text,
    };
    let is_path =
        path.strip_prefix('/').is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
    is_path.then_some(path)
}

/// `text` with every absolute path shortened to its last component.
fn without_folders(text: &str) -> String {
    ncu_rep::without_folders(text, TextKind::CommandLine)
}

#[cfg(test)]
mod tests {
    use super::{absolute_paths, without_folders};

    #[test]
    fn paths_of_the_machine_are_found_in_a_phase_and_expressions_are_none() {
        let phase = "[build]\nnvcc = \"/opt/cuda/bin/nvcc\"\n[kernel]\nsource = \"kernels/a.cu\"\ngrid = [\"S // 2\", \"/ 2\"]\n\
                     flags = [\"-I/home/ada/include\", \"-DN=4/2\", \"--x=/srv\"]\n[[baseline]]\ncommand = [\"python3\", \"/home/ada/b.py\"]\n";
        let found: Vec<String> = absolute_paths(phase).into_iter().collect();
        assert_eq!(found, ["/home/ada/b.py", "/home/ada/include", "/opt/cuda/bin/nvcc", "/srv"]);
    }

    #[test]
    fn absolute_paths_lose_their_folders_and_nothing_else_changes() {
        assert_eq!(without_folders("/home/ada/bin/ncugate run configs/d.toml"), "ncugate run configs/d.toml");
        assert_eq!(without_folders("cannot open '/tmp/x y/job.json': denied"), "cannot open 'job.json': denied");
        assert_eq!(without_folders("kernels/a.cu(3): error at 1/2"), "kernels/a.cu(3): error at 1/2");
        assert_eq!(without_folders("--out=/a/b/c.log,/d/e"), "--out=c.log,e");
        assert_eq!(without_folders("nvcc -I/home/ada/include a.cu"), "nvcc -Iinclude a.cu");
    }
}
