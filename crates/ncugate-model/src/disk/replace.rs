//! Atomic writes: a file is written to a temporary path and then renamed, so that no reader sees a partial file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Folders whose entries are devices, or the open files of a process.
const DEVICES: [&str; 4] = ["/dev", "/dev/fd", "/proc/self/fd", "/dev/pts"];

/// The failure that a write has to survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A power loss: the bytes are on the disk before the rename.
    Synced,
    /// A crash of this process: for a cache that can be lost with the machine.
    Cached,
}

/// Writes a file with these bytes; creates its folder.
///
/// # Errors
/// System errors; the file is unchanged.
pub fn replace(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    replace_with(path, durability, |file| file.write_all(bytes), |error| error)
}

/// Whether both paths lead to the same file.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().map(|about| (about.dev(), about.ino())).ok();
    identity(one).is_some_and(|file| identity(other) == Some(file))
}

/// Writes a file with the output of `write`, in an existing folder. `failed` converts system errors. A device is written,
/// not replaced: a rename would remove it for the whole machine.
///
/// # Errors
/// Those of `write` and of the system; the file is unchanged.
pub fn replace_with<E>(
    path: &Path,
    durability: Durability,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    failed: impl Fn(io::Error) -> E,
) -> Result<(), E> {
    if is_device(path) {
        let mut file = BufWriter::new(OpenOptions::new().append(true).open(path).map_err(&failed)?);
        write(&mut file)?;
        return file.flush().map_err(&failed);
    }
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
        // The draft does not always exist; the first error is the one to report.
        let _ = fs::remove_file(&draft);
    }
    written
}

fn is_device(path: &Path) -> bool {
    let is_device_file = path.symlink_metadata().is_ok_and(|about| about.file_type().is_char_device());
    is_device_file || path.parent().is_some_and(|folder| DEVICES.iter().any(|known| folder == Path::new(known)))
}

/// The temporary path: in the same folder, under a name that no other thread or process uses.
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
    fn a_device_is_written_and_not_replaced() {
        for device in ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            assert!(is_device(Path::new(device)), "{device}");
        }
        assert!(!is_device(Path::new("/dev/shm/page.html")) && !is_device(Path::new("page.html")));
        replace(Path::new("/dev/null"), b"one", Durability::Cached).unwrap();
        assert!(fs::symlink_metadata("/dev/null").unwrap().file_type().is_char_device());
    }

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
