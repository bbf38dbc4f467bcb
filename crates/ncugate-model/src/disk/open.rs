//! Files opened without trust. A run can come from another machine, a result from any program: in place of the
//! expected file there can be a link to another one, an endless pipe, or more bytes than memory holds.

use nix::errno::Errno;
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file of at most `limit` bytes for reading.
///
/// # Errors
/// It is a link, a pipe, a folder or a device, is larger, or cannot be opened.
pub fn regular(path: &Path, limit: u64) -> io::Result<File> {
    let file = checked(path, OpenOptions::new().read(true))?;
    if file.metadata()?.len() > limit {
        return Err(too_large(limit));
    }
    Ok(file)
}

/// All bytes of a regular file; at most `limit`, even if it grows meanwhile.
///
/// # Errors
/// See [`regular`].
pub fn bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    all(regular(path, limit)?, limit)
}

/// All bytes of a regular file that a user names. Like [`bytes`], but follows a link.
///
/// # Errors
/// It is a pipe, a folder or a device, is larger than `limit`, or cannot be read.
pub fn named(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    bytes(&path.canonicalize()?, limit)
}

/// The text of a regular file of at most `limit` bytes; none if there is no file.
///
/// # Errors
/// It exists, and is a link, a pipe, a folder or a device, is larger, is not UTF-8, or cannot be read.
pub fn text_if_there(path: &Path, limit: u64) -> io::Result<Option<String>> {
    match bytes(path, limit) {
        Ok(bytes) => text_of(bytes).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Bytes as text.
///
/// # Errors
/// They are not UTF-8.
pub fn text_of(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::other(format!("it is not UTF-8 text: {error}")))
}

/// The last `count` bytes of a regular file of any size.
///
/// # Errors
/// It is not a regular file, or cannot be read.
pub fn end(path: &Path, count: u64) -> io::Result<Vec<u8>> {
    let mut file = regular(path, u64::MAX)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(count)))?;
    let mut bytes = Vec::new();
    file.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The rest of `source`, at most `limit` bytes.
///
/// # Errors
/// It is longer, or cannot be read.
pub fn all(source: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

/// Opens a regular file for reading and writing; creates it if there is none.
///
/// # Errors
/// The path is not a regular file, or it cannot be opened.
pub fn writable(path: &Path) -> io::Result<File> {
    checked(path, OpenOptions::new().create(true).read(true).write(true).truncate(false))
}

/// Verifies that `path` is a folder and not a link to one.
///
/// # Errors
/// It is not a folder.
pub fn folder(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path)?.is_dir() {
        true => Ok(()),
        false => Err(io::Error::other(format!("`{}` is not a folder", path.display()))),
    }
}

/// Opens a regular file without blocking.
///
/// # Errors
/// It is a link, a pipe, a folder or a device, or cannot be opened.
pub fn checked(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path).map_err(|error| {
        match error.raw_os_error() == Some(Errno::ELOOP as i32) {
            true => io::Error::other("it is a link, not a regular file"),
            false => error,
        }
    })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

fn too_large(limit: u64) -> io::Error {
    io::Error::other(format!("it is larger than {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(bytes(&file, 5).unwrap(), b"12345");
        assert!(bytes(&file, 4).unwrap_err().to_string().contains("larger than 4 bytes"));
        assert!(all(io::repeat(b'x'), 10).is_err());
        assert_eq!((end(&file, 2).unwrap(), end(&file, 9).unwrap()), (b"45".to_vec(), b"12345".to_vec()));
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let pipe = place.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for path in [link.as_path(), &pipe, place.path(), Path::new("/dev/zero")] {
            assert!(bytes(path, 5).is_err() && writable(path).is_err(), "{}", path.display());
        }
        assert!(folder(place.path()).is_ok() && folder(&file).is_err());
        assert_eq!((named(&link, 5).unwrap(), named(&pipe, 5).is_err()), (b"12345".to_vec(), true));
        assert!(text_if_there(&place.path().join("absent"), 5).unwrap().is_none() && text_if_there(&pipe, 5).is_err());
        assert_eq!(bytes(&place.path().join("absent"), 5).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
