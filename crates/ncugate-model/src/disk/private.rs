//! Folders that only their user can write to: their files are trusted.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{env, io};

/// Creates `folder`, which lies in `root`, for this user alone.
///
/// # Errors
/// It cannot be created, or another user owns or can write to one of the two.
pub fn private_folder(root: &Path, folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let user = user()?;
    for path in [root, folder] {
        let found = fs::metadata(path)?;
        if found.uid() != user || found.mode() & 0o022 != 0 {
            let path = path.display();
            let reason = format!(
                "`{path}` is writable for other users, but ncugate trusts its files; run `chmod go-w` on it if it is yours"
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
    }
    Ok(())
}

/// The folder for what this user's ncugate remembers of files that a checkout could bring too: `$XDG_STATE_HOME/ncugate`, else below
/// `~/.local/state`; `None` without a home folder.
pub fn state_folder() -> Option<PathBuf> {
    let of = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = of("XDG_STATE_HOME").or_else(|| of("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("ncugate"))
}

/// The user id of this process.
///
/// # Errors
/// The system does not say.
pub fn user() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}
