//! Files written whole or not at all: beside their place first, then moved there, so that no reader ever sees half of one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What a file has to outlive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The machine losing power: its bytes are on the disk before it takes its place.
    Synced,
    /// This process alone: a cache that is empty again after a crash.
    Cached,
}

/// Writes a file with these bytes; makes its folder.
///
/// # Errors
/// What the system says; the file is as it was.
pub fn replace(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    replace_with(path, durability, |file| file.write_all(bytes), |error| error)
}

/// Writes a file with what `write` says, in a folder that is there. `failed` words what the system refuses.
///
/// # Errors
/// Those of `write` and of the system; the file is as it was.
pub fn replace_with<E>(
    path: &Path,
    durability: Durability,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    failed: impl Fn(io::Error) -> E,
) -> Result<(), E> {
    let draft = draft(path);
    let written = (|| {
        let mut file = BufWriter::new(File::create(&draft).map_err(&failed)?);
        write(&mut file)?;
        let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
        match durability {
            Durability::Synced => file.sync_all().map_err(&failed)?,
            Durability::Cached => {}
        }
        fs::rename(&draft, path).map_err(&failed)
    })();
    if written.is_err() {
        // The draft may not exist; the first error is the one to report.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Where a file is written first: beside its place, under a name that no other thread or process takes.
fn draft(path: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_fails_leaves_the_file_as_it_was_and_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/a.txt");
        replace(&path, b"one", Durability::Cached).unwrap();
        let refused = replace_with(
            &path,
            Durability::Synced,
            |file| {
                file.write_all(b"half of tw").unwrap();
                Err(io::Error::other("no more"))
            },
            |error| error,
        );
        assert_eq!(refused.unwrap_err().to_string(), "no more");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        replace(&path, b"two", Durability::Synced).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
