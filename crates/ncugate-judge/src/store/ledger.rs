//! A record of the files that ncugate wrote into an unfinished run or search, stored in a user folder outside the
//! checkout.
//!
//! Files of an unfinished run have no seal, and anyone who can add files to a checkout can add such a run. The ledger
//! has a line for each write: the hash of a journal up to that point, of the manifest, or of a report. A run or
//! search continues from the state in its ledger.

use super::seal::{FILES, file_sha256};
use jiff::Timestamp;
use ncugate_model::digest::sha256;
use ncugate_model::disk::{self, open};
use ncugate_model::{MAX_REPORT, ProfileOutcome};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Seconds after which an unfinished run cannot continue.
const AGE: i64 = 86_400;
/// Seconds after which the ledger of an abandoned run is removed.
const KEPT: i64 = 7 * AGE;
/// Maximum size of a ledger in bytes: ten million lines.
const MAX_LEDGER: u64 = 1 << 30;
/// Maximum size of a journal in bytes.
const MAX_JOURNAL: u64 = 1 << 30;
/// The first line of a ledger, followed by the inode number of its file, which a checkout cannot choose.
const HEAD: &str = "ncugate unfinished run 1";
/// The journal of a search, which is copied into the run.
const SEARCH: &str = "search.jsonl";
/// Why there is no ledger without a home folder.
const HOMELESS: &str = "no home folder for a record of it";
/// The file whose last two versions are valid: the process may have ended before it wrote the last one.
const MANIFEST: &str = "manifest.json";

/// The ledger of a run or search that this process writes.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    /// `None` if it could not be written: the run goes on, but another process cannot continue it.
    file: Option<File>,
    reports: BTreeSet<String>,
}

/// The valid lines of a ledger.
struct Entries {
    /// Time of the last line.
    written: Timestamp,
    /// Size and hash of each file, by its path in the run.
    last: BTreeMap<String, (u64, String)>,
    /// The hash of the second to last manifest.
    manifest_before: Option<String>,
}

/// The ledger of a run that continues, and the time of the run's last write.
pub type ResumedLedger = (Ledger, Timestamp);

impl Ledger {
    /// Starts the ledger of a run or search in `folder`.
    pub fn begin(folder: &Path) -> Self {
        let path = place(folder).unwrap_or_default();
        let file = created(&path).ok();
        Self { path, file, reports: BTreeSet::new() }
    }

    /// Records that a file of the run has `bytes` bytes with this hash.
    pub fn note(&mut self, name: &str, bytes: u64, hash: &str) {
        let Some(file) = &mut self.file else { return };
        if file.write_all(format!("{hash} {bytes} {name}\n").as_bytes()).is_err() {
            // The disk may be full. Lines after a truncated one would be invalid.
            self.end();
        }
    }

    /// Records the report of a profile record.
    pub fn note_report(&mut self, folder: &Path, outcome: &ProfileOutcome) {
        let ProfileOutcome::Profiled { report } = outcome else { return };
        if self.file.is_some() && self.reports.insert(report.clone()) {
            let name = format!("reports/{report}");
            match file_sha256(&folder.join(&name), MAX_REPORT) {
                Ok(hash) => self.note(&name, 0, &hash),
                Err(_) => self.end(),
            }
        }
    }

    /// Removes the ledger: the run is complete, or cannot continue.
    pub fn end(&mut self) {
        if self.file.take().is_some() {
            // A remaining ledger is harmless: the run is complete, or expires after a day.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Removes the ledger of `folder`.
    pub fn forget(folder: &Path) {
        if let Some(path) = place(folder) {
            // A remaining ledger is pruned later.
            let _ = fs::remove_file(path);
        }
    }

    /// Opens the ledger of a search, and truncates its journal to the recorded state.
    ///
    /// # Errors
    /// Why the search cannot continue.
    pub fn resume_search(folder: &Path) -> Result<Self, String> {
        let path = place(folder).ok_or(HOMELESS)?;
        let (file, entries) = opened(&path)?;
        let (bytes, hash) = entries.last.get(SEARCH).map_or((0, None), |(bytes, hash)| (*bytes, Some(hash)));
        cut(&folder.join(SEARCH), bytes, hash).map_err(|_| changed(SEARCH))?;
        Ok(Self { path, file: Some(file), reports: BTreeSet::new() })
    }

    /// Opens the ledger of an unfinished run, and truncates the run's journals to the recorded state.
    ///
    /// # Errors
    /// Why the run cannot continue.
    pub fn resume(folder: &Path) -> Result<ResumedLedger, String> {
        let path = place(folder).ok_or(HOMELESS)?;
        let (file, entries) = opened(&path)?;
        // The others are written whole, and the journal of a search is a copy.
        for name in FILES.iter().filter(|name| name.ends_with(".jsonl") && **name != SEARCH) {
            let (bytes, hash) = entries.last.get(*name).map_or((0, None), |(bytes, hash)| (*bytes, Some(hash)));
            cut(&folder.join(name), bytes, hash).map_err(|_| changed(name))?;
        }
        for name in FILES.iter().map(|name| format!("{name}.zst")) {
            if fs::symlink_metadata(folder.join(&name)).is_ok() {
                return Err(changed(&name));
            }
        }
        // A phase with a search writes it again.
        match fs::remove_file(folder.join(SEARCH)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.to_string()),
            Ok(()) | Err(_) => {}
        }
        let manifest = open::bytes(&folder.join(MANIFEST), super::MANIFEST).map_err(|error| error.to_string())?;
        let found = sha256(&manifest);
        let is_known = |known: Option<&String>| known == Some(&found);
        if !is_known(entries.last.get(MANIFEST).map(|(_, hash)| hash)) && !is_known(entries.manifest_before.as_ref()) {
            return Err(changed(MANIFEST));
        }
        let reports = BTreeSet::new();
        Ok((Self { path, file: Some(file), reports }, entries.written))
    }

    /// Verifies that reports of the run match the ledger.
    ///
    /// # Errors
    /// The first report that does not match.
    pub fn prove_reports(&self, reports: &[PathBuf]) -> Result<(), String> {
        let (_, entries) = opened(&self.path)?;
        for path in reports {
            let name = format!("reports/{}", path.file_name().unwrap_or_default().to_string_lossy());
            let known = entries.last.get(&name).map(|(_, hash)| hash.as_str());
            if known.is_none() || known != file_sha256(path, MAX_REPORT).ok().as_deref() {
                return Err(changed(&name));
            }
        }
        Ok(())
    }
}

fn changed(name: &str) -> String {
    format!("'{name}' is not as ncugate wrote it")
}

/// The ledger of the run or search in `folder`: `unfinished/<hash of the folder>` of the state folder.
fn place(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    Some(disk::state_folder()?.join("unfinished").join(sha256(folder.as_os_str().as_encoded_bytes())))
}

fn created(path: &Path) -> io::Result<File> {
    let (root, folder) = roots(path)?;
    disk::private_folder(root, folder)?;
    prune(folder);
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
    let number = file.metadata()?.ino();
    file.write_all(format!("{HEAD} {number}\n").as_bytes())?;
    Ok(file)
}

fn roots(path: &Path) -> io::Result<(&Path, &Path)> {
    let folder = path.parent();
    folder.and_then(Path::parent).zip(folder).ok_or_else(|| io::Error::other("no home folder"))
}

/// Removes expired ledgers.
fn prune(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let is_old = |entry: &fs::DirEntry| {
        entry.metadata().is_ok_and(|found| found.is_file() && Timestamp::now().as_second() - found.mtime() > KEPT)
    };
    for entry in entries.filter(is_old) {
        // The next run tries again.
        let _ = fs::remove_file(entry.path());
    }
}

/// Opens the file for further lines, and reads its lines.
fn opened(path: &Path) -> Result<(File, Entries), String> {
    let unknown = || "this user has no record that ncugate measured it here".to_owned();
    let read = || -> io::Result<(File, fs::Metadata, Vec<u8>)> {
        let (root, folder) = roots(path)?;
        disk::private_folder(root, folder)?;
        let mut options = OpenOptions::new();
        let file = open::checked(path, options.read(true).append(true))?;
        let (found, bytes) = (file.metadata()?, open::all(&file, MAX_LEDGER)?);
        Ok((file, found, bytes))
    };
    let (file, found, bytes) = match read() {
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(unknown()),
        Err(error) => return Err(error.to_string()),
    };
    let is_own = disk::user().is_ok_and(|user| user == found.uid()) && found.mode() & 0o077 == 0 && found.nlink() == 1;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let text = std::str::from_utf8(&bytes[..whole]).map_err(|_| unknown())?;
    let mut lines = text.lines();
    if !is_own || lines.next() != Some(&format!("{HEAD} {}", found.ino())) {
        return Err(unknown());
    }
    if (Timestamp::now().as_second() - found.mtime()).abs() > AGE {
        return Err("it was last written more than a day ago".to_owned());
    }
    let written = Timestamp::from_second(found.mtime()).map_err(|error| error.to_string())?;
    file.set_len(whole as u64).map_err(|error| error.to_string())?;
    let mut entries = Entries { written, last: BTreeMap::new(), manifest_before: None };
    for line in lines {
        let mut parts = line.splitn(3, ' ');
        let (Some(hash), Some(bytes), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(unknown());
        };
        let bytes = bytes.parse().map_err(|_| unknown())?;
        let before = entries.last.insert(name.to_owned(), (bytes, hash.to_owned()));
        if name == MANIFEST {
            entries.manifest_before = before.map(|(_, hash)| hash);
        }
    }
    Ok((file, entries))
}

/// Truncates a journal to its first `bytes` after checking their hash; a journal without a hash becomes empty.
fn cut(path: &Path, bytes: u64, hash: Option<&String>) -> io::Result<()> {
    let file = open::writable(path)?;
    let text = open::all(&file, MAX_JOURNAL)?;
    let kept = usize::try_from(bytes).ok().and_then(|bytes| text.get(..bytes));
    match kept {
        Some(kept) if hash.is_none_or(|hash| *hash == sha256(kept)) => file.set_len(bytes),
        Some(_) | None => Err(io::Error::other("it was changed")),
    }
}
