//! A file that names the process working in a folder. It needs no file-system lock: creating a file exclusively and
//! renaming one are atomic, on NFS too.
//!
//! The owner touches its file every half minute. A file is stale, and is taken over, if its owner has ended on this
//! machine or if it was not touched for five minutes by the clock of the file system.

use jiff::Timestamp;
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::sys::stat::futimens;
use nix::sys::time::TimeSpec;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How often an owner touches its file.
const BEAT: Duration = Duration::from_secs(30);
/// Seconds without a touch after which a file is stale.
const STALE: i64 = 300;
/// Maximum size of such a file in bytes.
const SIZE: u64 = 4 << 10;
/// Number of attempts if a lock changes hands meanwhile.
const TRIES: u32 = 20;

/// A process, as other processes identify and find it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockOwner {
    /// Unique to this owner.
    nonce: String,
    /// The machine's name.
    pub host: String,
    /// The boot of the machine, and the PID namespace.
    place: String,
    pub pid: u32,
    /// Start of the process, in clock ticks since boot.
    start: Option<u64>,
    pub since: Timestamp,
}

impl LockOwner {
    /// This process.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn this() -> io::Result<Self> {
        let nonce = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        let host = nix::unistd::gethostname().ok().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let pid = std::process::id();
        let nonce = format!("{nonce:016x}");
        Ok(Self { nonce, host, place: place(), pid, start: start_of(pid), since: Timestamp::now() })
    }

    /// Whether the owner is known to have ended. Unknown for other machines and containers.
    fn has_ended(&self) -> bool {
        self.place == place()
            && match start_of(self.pid) {
                Some(start) => self.start.is_some_and(|own| own != start),
                // Not running, or hidden from this user.
                None => kill(Pid::from_raw(self.pid.cast_signed()), None) == Err(Errno::ESRCH),
            }
    }
}

impl std::fmt::Display for LockOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let host: String = self.host.chars().filter(|c| c.is_ascii_alphanumeric() || "-._".contains(*c)).collect();
        write!(f, "process {} on {host}, since {}", self.pid, self.since.strftime("%Y-%m-%d %H:%M:%S UTC"))
    }
}

/// The boot of the machine, with the PID namespace.
fn place() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), namespace.display())
}

/// Start of a process, in clock ticks; none if there is no such process, and 0 if it is a zombie.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name can contain anything. After it comes the state; the 20th value is the start.
    let mut values = stat.rsplit_once(") ")?.1.split(' ');
    match values.next()? {
        "Z" | "X" => Some(0),
        _ => values.nth(18)?.parse().ok(),
    }
}

/// The result of taking a lock.
#[derive(Debug)]
pub enum LockAttempt {
    /// This process holds the lock until this is dropped.
    Acquired(FileLock),
    /// Another process holds it.
    HeldBy(LockOwner),
}

/// A lock that this process holds.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    owner: LockOwner,
    lost: Arc<AtomicBool>,
    stop: Option<Sender<()>>,
}

impl FileLock {
    /// Takes the lock that is the file `path`.
    ///
    /// # Errors
    /// A system error, or the file is not a lock.
    pub fn take(path: &Path) -> io::Result<LockAttempt> {
        let owner = LockOwner::this()?;
        for _ in 0..TRIES {
            if created(path, &owner)? {
                return Ok(LockAttempt::Acquired(Self::beating(path, owner)));
            }
            let Some((holder, touched)) = read_owner(path)? else { continue };
            match take_over(path, &owner, &holder, touched)? {
                Some(true) => return Ok(LockAttempt::Acquired(Self::beating(path, owner))),
                Some(false) => return Ok(LockAttempt::HeldBy(holder)),
                None => {}
            }
        }
        Err(io::Error::other(format!("other processes keep taking `{}`; try again", path.display())))
    }

    /// Whether another process took the lock over because it was not touched in time.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    fn beating(path: &Path, owner: LockOwner) -> Self {
        let (lost, (stop, stopped)) = (Arc::new(AtomicBool::new(false)), channel());
        let (beats, file, own) = (Arc::clone(&lost), path.to_owned(), owner.clone());
        std::thread::spawn(move || {
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                if !is_of(&file, &own) {
                    beats.store(true, Ordering::Relaxed);
                    return;
                }
                // The disk can be unavailable for a while: the next beat tries again.
                let _ = touch(&file);
            }
        });
        Self { path: path.to_owned(), owner, lost, stop: Some(stop) }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        drop(self.stop.take());
        if is_of(&self.path, &self.owner) {
            // The folder can be gone.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates the complete file if there is none: written to a temporary file, then linked.
fn created(path: &Path, owner: &LockOwner) -> io::Result<bool> {
    let draft = sibling(path, &owner.nonce);
    write_new(&draft, owner)?;
    let linked = fs::hard_link(&draft, path);
    let removed = fs::remove_file(&draft);
    match linked {
        Ok(()) => removed.map(|()| true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        // A file system without links.
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => {
            match write_new(path, owner) {
                Ok(()) => Ok(true),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

fn write_new(path: &Path, owner: &LockOwner) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(serde_json::to_string(owner)?.as_bytes())
}

/// The holder of the lock and the time of its last touch; none if it was just released.
fn read_owner(path: &Path) -> io::Result<Option<(LockOwner, i64)>> {
    let read = || -> io::Result<(Vec<u8>, i64)> {
        let file = super::open::regular(path, SIZE)?;
        let touched = file.metadata()?.mtime();
        Ok((super::open::all(file, SIZE)?, touched))
    };
    match read() {
        Ok((bytes, touched)) => match serde_json::from_slice(&bytes) {
            Ok(owner) => Ok(Some((owner, touched))),
            Err(_) => Err(io::Error::other("it is not a lock file of ncugate; remove it")),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes a stale lock over: `Some(true)`. `Some(false)` if it is not stale; none if it changed hands meanwhile.
///
/// Only the process that creates the file named after the stale owner can take over from that owner.
fn take_over(path: &Path, owner: &LockOwner, holder: &LockOwner, touched: i64) -> io::Result<Option<bool>> {
    let marker =
        sibling(path, &format!("{}.over", holder.nonce.chars().filter(char::is_ascii_hexdigit).collect::<String>()));
    match write_new(&marker, owner) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if read_owner(&marker).ok().flatten().is_some_and(|(other, _)| other.has_ended()) {
                // Its creator ended between two steps.
                let _ = fs::remove_file(&marker);
            }
            std::thread::sleep(Duration::from_millis(50));
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    let outcome = (|| {
        // The marker is new: both times are the file system's.
        let age = File::open(&marker)?.metadata()?.mtime().saturating_sub(touched);
        if !holder.has_ended() && age.abs() <= STALE {
            return Ok(Some(false));
        }
        if !is_of(path, holder) {
            return Ok(None);
        }
        let draft = sibling(path, &owner.nonce);
        write_new(&draft, owner)?;
        fs::rename(&draft, path)?;
        Ok(Some(true))
    })();
    // A leftover marker is found again and removed.
    let _ = fs::remove_file(&marker);
    outcome
}

fn is_of(path: &Path, owner: &LockOwner) -> bool {
    read_owner(path).ok().flatten().is_some_and(|(holder, _)| holder.nonce == owner.nonce)
}

/// Sets the modification time of a file by the clock of its file system.
fn touch(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let now = TimeSpec::UTIME_NOW;
    Ok(futimens(file, &now, &now)?)
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{suffix}"));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn mine(path: &Path) -> Option<FileLock> {
        match FileLock::take(path).unwrap() {
            LockAttempt::Acquired(lock) => Some(lock),
            LockAttempt::HeldBy(_) => None,
        }
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    /// A lock of an owner unknown to this process, touched `seconds` ago.
    fn foreign(path: &Path, seconds: u64) {
        let owner = LockOwner { place: "another machine".to_owned(), ..LockOwner::this().unwrap() };
        write_new(path, &owner).unwrap();
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn a_lock_has_one_owner_until_it_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = mine(&path).unwrap();
        let LockAttempt::HeldBy(owner) = FileLock::take(&path).unwrap() else { panic!("it is held") };
        assert_eq!(owner.pid, std::process::id());
        drop(lock);
        assert_eq!(files(folder.path()), 0);
        assert!(mine(&path).is_some());
    }

    #[test]
    fn a_lock_of_a_process_that_has_ended_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let start = Some(1);
        write_new(&path, &LockOwner { pid: child.id(), start, ..LockOwner::this().unwrap() }).unwrap();
        child.wait().unwrap();
        assert!(mine(&path).is_some(), "whatever its age");
        assert_eq!(files(folder.path()), 0);
    }

    #[test]
    fn a_lock_of_another_machine_is_stale_by_its_age_in_either_direction() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        foreign(&path, 60);
        assert!(mine(&path).is_none());
        fs::remove_file(&path).unwrap();
        foreign(&path, 400);
        assert!(mine(&path).is_some());
        foreign(&path, 0);
        let ahead = SystemTime::now() + Duration::from_secs(86_400);
        OpenOptions::new().write(true).open(&path).unwrap().set_modified(ahead).unwrap();
        assert!(mine(&path).is_some(), "the clock was set back");
    }

    #[test]
    fn of_many_that_take_a_stale_lock_one_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        foreign(&path, 1_000);
        let takers: Vec<_> = (0..8)
            .map(|_| {
                std::thread::spawn({
                    let path = path.clone();
                    move || mine(&path)
                })
            })
            .collect();
        let taken: Vec<FileLock> = takers.into_iter().filter_map(|taker| taker.join().unwrap()).collect();
        assert_eq!(taken.len(), 1);
        assert_eq!(files(folder.path()), 1, "nothing but the lock");
    }

    #[test]
    fn an_owner_whose_lock_was_taken_over_leaves_it_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = mine(&path).unwrap();
        fs::remove_file(&path).unwrap();
        foreign(&path, 0);
        drop(lock);
        assert!(path.exists());
    }

    #[test]
    fn a_beat_sets_the_time_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        foreign(&path, 1_000);
        touch(&path).unwrap();
        assert!(mine(&path).is_none());
    }
}
