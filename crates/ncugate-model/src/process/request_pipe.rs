//! A named pipe in place of a program's input file: the program can start and load before its request is known.
//!
//! Opening the pipe blocks until there is a writer, so that the program sits idle until its turn. Opening it also
//! signals that the program is ready.

use super::SupervisedChild;
use nix::errno::Errno;
use nix::sys::stat::Mode;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time limit for programs that are still loading.
pub const LOAD_TIMEOUT: Duration = Duration::from_secs(120);
/// Interval at which a reader is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A child that was started before its turn and waits for its request at a pipe. Dropping it ends the child and
/// removes the pipe.
#[derive(Debug)]
pub struct PrestartedChild<C> {
    child: C,
    pipe: RequestPipe,
}

impl<C: AsMut<SupervisedChild>> PrestartedChild<C> {
    /// Takes a child that reads its request from `pipe`.
    pub const fn new(child: C, pipe: RequestPipe) -> Self {
        Self { child, pipe }
    }

    /// The pipe, in the place of the request.
    pub fn path(&self) -> &Path {
        &self.pipe.path
    }

    /// Waits until the child has opened its request, so that it is idle. False if it has ended, or is not idle before
    /// `deadline`.
    pub fn settle(&mut self, deadline: Instant) -> bool {
        loop {
            match (self.child.as_mut().poll(), self.pipe.has_reader()) {
                (Ok(None), Ok(true)) => return true,
                (Ok(None), Ok(false)) if Instant::now() < deadline && !super::interrupted() => {
                    std::thread::sleep(POLL_INTERVAL);
                }
                _ => return false,
            }
        }
    }

    /// Hands over the request; the child then has `limit`.
    ///
    /// # Errors
    /// The request cannot be written, or the pipe breaks.
    pub fn hand(self, request: &[u8], limit: Duration) -> io::Result<C> {
        let Self { mut child, pipe } = self;
        child.as_mut().extend(limit);
        pipe.hand(request, || Ok(child.as_mut().poll()?.is_none()))?;
        Ok(child)
    }
}

/// A pipe that waits for its reader. Dropping it removes it.
#[derive(Debug)]
pub struct RequestPipe {
    path: PathBuf,
    writer: Option<File>,
}

impl RequestPipe {
    /// Creates the pipe, replacing any file at `path`.
    ///
    /// # Errors
    /// The existing file cannot be removed, or the folder does not support pipes.
    pub fn make(path: &Path) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        nix::unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?;
        Ok(Self { path: path.to_owned(), writer: None })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a reader has opened it.
    ///
    /// # Errors
    /// It is gone, or cannot be opened.
    fn has_reader(&mut self) -> io::Result<bool> {
        if self.writer.is_some() {
            return Ok(true);
        }
        match OpenOptions::new().write(true).custom_flags(nix::libc::O_NONBLOCK).open(&self.path) {
            Ok(writer) => {
                self.writer = Some(writer);
                Ok(true)
            }
            // No reader has opened it.
            Err(error) if error.raw_os_error() == Some(Errno::ENXIO as i32) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Puts a file with the text in the place of the pipe, for a reader that reads twice, and writes the text to the
    /// open pipe. Stops if the reader has closed it, or if `runs` is false.
    ///
    /// # Errors
    /// The file cannot be written, or the pipe breaks in another way.
    fn hand(mut self, text: &[u8], mut runs: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
        let unfinished = self.path.with_extension("part");
        std::fs::write(&unfinished, text)?;
        std::fs::rename(&unfinished, &self.path)?;
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        let mut left = text;
        while !left.is_empty() && runs()? {
            match writer.write(left) {
                Ok(written) => left = &left[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(POLL_INTERVAL),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for RequestPipe {
    fn drop(&mut self) {
        use std::os::unix::fs::FileTypeExt;
        let is_pipe = std::fs::symlink_metadata(&self.path).is_ok_and(|about| about.file_type().is_fifo());
        if is_pipe {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_waits_for_its_text_and_finds_it_in_a_file_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("job.json");
        let mut pipe = RequestPipe::make(&path).unwrap();
        assert!(!pipe.has_reader().unwrap());
        let own = path.clone();
        let reader = std::thread::spawn(move || std::fs::read_to_string(own).unwrap());
        while !pipe.has_reader().unwrap() {
            std::thread::sleep(POLL_INTERVAL);
        }
        let text = "x".repeat(200_000);
        pipe.hand(text.as_bytes(), || Ok(true)).unwrap();
        assert_eq!(reader.join().unwrap(), text);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn a_pipe_that_nobody_needs_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("job.json");
        std::fs::write(&path, "old").unwrap();
        drop(RequestPipe::make(&path).unwrap());
        assert!(!path.exists());
    }
}
