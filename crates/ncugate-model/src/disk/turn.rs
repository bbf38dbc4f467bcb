//! A machine-wide lock, across all users, that the system releases when its owner ends.

use super::LockOwner;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Maximum number of bytes read of the holder's description.
const SIZE: u64 = 4 << 10;

/// A turn that this process holds until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _file: Flock<File>,
}

/// The result of requesting a turn.
#[derive(Debug)]
pub enum TurnOutcome {
    /// This process holds it.
    Mine(Turn),
    /// Another process holds it; its owner, if that can be read.
    Taken(Option<LockOwner>),
}

impl Turn {
    /// Requests the turn that the file `path` represents; creates the file for all users.
    ///
    /// # Errors
    /// The file is not a plain file, or the system refuses it.
    pub fn try_acquire(path: &Path) -> io::Result<TurnOutcome> {
        match Flock::lock(shared(path)?, FlockArg::LockExclusiveNonblock) {
            Ok(mut file) => {
                // Another user's file can be read-only; then the holder stays anonymous.
                let _ = LockOwner::this().and_then(|owner| {
                    file.set_len(0)?;
                    file.write_all(serde_json::to_string(&owner)?.as_bytes())
                });
                Ok(TurnOutcome::Mine(Turn { _file: file }))
            }
            Err((file, Errno::EWOULDBLOCK)) => {
                let mut text = String::new();
                let read = file.take(SIZE).read_to_string(&mut text);
                Ok(TurnOutcome::Taken(read.ok().and_then(|_| serde_json::from_str(&text).ok())))
            }
            Err((_, error)) => Err(error.into()),
        }
    }

    /// Waits for the turn that the file `path` represents. Only for short operations.
    ///
    /// # Errors
    /// As for [`Self::try_acquire`].
    pub fn wait(path: &Path) -> io::Result<Self> {
        Ok(Self { _file: Flock::lock(shared(path)?, FlockArg::LockExclusive).map_err(|(_, error)| error)? })
    }
}

/// Opens a file that every user can open, and creates it if there is none. A link, or a file with a second name, is
/// refused: it can belong to anybody.
fn shared(path: &Path) -> io::Result<File> {
    let open = |options: &mut OpenOptions| options.custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path);
    let file = loop {
        match open(OpenOptions::new().read(true).write(true)) {
            Ok(file) => break file,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => break open(OpenOptions::new().read(true))?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        match open(OpenOptions::new().read(true).write(true).create_new(true)) {
            Ok(file) => {
                file.set_permissions(Permissions::from_mode(0o666))?;
                break file;
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    };
    let found = file.metadata()?;
    match found.is_file() && found.nlink() == 1 {
        true => Ok(file),
        false => Err(io::Error::other("it is a link, or not a regular file; remove it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_the_turn_and_the_others_hear_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpu.lock");
        let TurnOutcome::Mine(turn) = Turn::try_acquire(&path).unwrap() else { panic!("nobody has it") };
        let TurnOutcome::Taken(Some(owner)) = Turn::try_acquire(&path).unwrap() else { panic!("it is taken") };
        assert_eq!(owner.pid, std::process::id());
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o666, "for every user");
        drop(turn);
        std::fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
        assert!(matches!(Turn::try_acquire(&path).unwrap(), TurnOutcome::Mine(_)));
    }

    #[test]
    fn a_link_is_not_a_turn() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, path) = (folder.path().join("victim"), folder.path().join("gpu.lock"));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        assert!(Turn::try_acquire(&path).is_err());
        std::fs::remove_file(&path).unwrap();
        std::fs::hard_link(&victim, &path).unwrap();
        assert!(Turn::try_acquire(&path).is_err());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }
}
