//! The folder for ncu's locks and other files of a process.

use crate::digest::sha256;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;

/// Maximum length of the path of a scratch folder: ncu creates sockets in it, and a socket's path is limited to 107 bytes.
const LONGEST_SCRATCH: usize = 50;

/// A folder of this user for ncu's locks and sockets, created if needed. All runs of a user on a GPU share it, so
/// that they still wait for each other's lock; other users and other GPUs have different folders.
pub fn scratch_folder(gpu: Option<&str>) -> io::Result<PathBuf> {
    let user = fs::metadata("/proc/self")?.uid();
    let base = Some(std::env::temp_dir()).filter(|folder| folder.as_os_str().len() <= LONGEST_SCRATCH);
    let base = base.unwrap_or_else(|| PathBuf::from("/tmp"));
    // Long enough to distinguish the GPUs of a machine.
    let gpu = gpu.map(|gpu| format!("-{}", &sha256(gpu.as_bytes())[..8])).unwrap_or_default();
    private_folder(std::path::absolute(base)?.join(format!("ncugate-{user}{gpu}")), user)
}

fn private_folder(folder: PathBuf, user: u32) -> io::Result<PathBuf> {
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let found = fs::symlink_metadata(&folder)?;
    if found.is_dir() && found.uid() == user {
        return Ok(folder);
    }
    let reason = format!("`{}` is not a folder of this user; remove it or set TMPDIR", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scratch_folder_is_private_and_never_a_strangers() {
        let base = tempfile::tempdir().unwrap();
        let user = fs::metadata("/proc/self").unwrap().uid();
        let folder = private_folder(base.path().join("own"), user).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        assert_eq!(private_folder(folder.clone(), user).unwrap(), folder);
        assert!(private_folder(folder.clone(), user + 1).is_err());
        std::os::unix::fs::symlink(&folder, base.path().join("link")).unwrap();
        assert!(private_folder(base.path().join("link"), user).is_err());
    }
}
