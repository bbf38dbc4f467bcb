//! Programs started before their turn, so that an interpreter and its libraries load while nvcc compiles.
//!
//! Such a program finds a named pipe where its request will be. Opening that waits for a writer, and there is none before the
//! program's turn: it cannot know what to measure, and sits idle. Its having opened the pipe is also how it says that it is
//! ready, so that nothing is timed beside a program that still loads. A program that is not ready in time, that ends, or
//! that a pipe does not suit is taken back and started at its turn, with a file.

use super::error::ExternalError;
use super::request::{Request, command, request_path};
use crate::model::VariantId;
use crate::plan::CommandPlan;
use crate::process::{self, Output, Piped};
use nix::errno::Errno;
use nix::sys::stat::Mode;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long everything waits for programs that still load.
const LOAD_TIMEOUT: Duration = Duration::from_secs(120);
/// How often they are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Programs that were started before their turn.
#[derive(Debug, Default)]
pub struct PrestartedCommands {
    waiting: Vec<PrestartedCommand>,
}

impl PrestartedCommands {
    /// Starts the program of `plan`, to wait for the request that will be in `folder`; one that cannot be started so is
    /// left for its turn.
    pub fn start(&mut self, variant: &VariantId, plan: &CommandPlan, folder: &Path) {
        self.waiting.extend(PrestartedCommand::start(variant, plan, &request_path(folder)));
    }

    /// Whether nothing was started early.
    pub const fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Waits until every program is ready, that is idle; takes back those that are not within two minutes.
    pub fn settle(&mut self) {
        let deadline = Instant::now() + LOAD_TIMEOUT;
        self.waiting.retain_mut(|waiting| {
            loop {
                match waiting.state() {
                    CommandState::Ready => return true,
                    CommandState::Over => return false,
                    CommandState::Loading if Instant::now() >= deadline || process::interrupted() => return false,
                    CommandState::Loading => std::thread::sleep(POLL_INTERVAL),
                }
            }
        });
    }

    /// The program that waits for this variant's turn; every program has to be settled.
    pub(super) fn take(&mut self, variant: &VariantId) -> Option<PrestartedCommand> {
        let at = self.waiting.iter().position(|waiting| &waiting.variant == variant)?;
        let mut waiting = self.waiting.swap_remove(at);
        matches!(waiting.state(), CommandState::Ready).then_some(waiting)
    }
}

/// What a program that was started early is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandState {
    /// It has not asked for its request yet.
    Loading,
    /// It waits for its request.
    Ready,
    /// It has ended, or cannot be asked.
    Over,
}

/// A program that was started early. Dropped, it is ended and its pipe taken away.
#[derive(Debug)]
pub(super) struct PrestartedCommand {
    variant: VariantId,
    child: Option<Piped>,
    path: PathBuf,
    pipe: Option<File>,
}

impl PrestartedCommand {
    fn start(variant: &VariantId, plan: &CommandPlan, path: &Path) -> Option<Self> {
        let mut command = command(plan, path)?;
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return None,
            Ok(()) | Err(_) => {}
        }
        nix::unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR).ok()?;
        let mut waiting = Self { variant: variant.clone(), child: None, path: path.to_owned(), pipe: None };
        waiting.child = Some(Piped::spawn(&mut command, None).ok()?);
        Some(waiting)
    }

    fn state(&mut self) -> CommandState {
        let running = self.child.as_mut().is_some_and(|child| matches!(child.poll(), Ok(None)));
        if !running {
            return CommandState::Over;
        }
        if self.pipe.is_some() {
            return CommandState::Ready;
        }
        match OpenOptions::new().write(true).custom_flags(nix::libc::O_NONBLOCK).open(&self.path) {
            Ok(pipe) => {
                self.pipe = Some(pipe);
                CommandState::Ready
            }
            // Nobody has opened it for reading.
            Err(error) if error.raw_os_error() == Some(Errno::ENXIO as i32) => CommandState::Loading,
            Err(_) => CommandState::Over,
        }
    }

    /// Lets it have `request`, and waits until it ends.
    ///
    /// A file takes the pipe's place first, for a program that reads its request twice.
    pub(super) fn release(
        mut self,
        request: &Request,
        limit: Duration,
    ) -> Result<Option<io::Result<Output>>, ExternalError> {
        let text = request.write(&self.path)?;
        let (Some(mut child), Some(pipe)) = (self.child.take(), self.pipe.take()) else { return Ok(None) };
        child.extend(limit);
        Ok(Some(hand(pipe, &text, &mut child).and_then(|()| child.finish())))
    }
}

/// Writes the request into the pipe and closes it. A program that has closed it, or ended, gets no more.
fn hand(mut pipe: File, text: &[u8], child: &mut Piped) -> io::Result<()> {
    let mut left = text;
    while !left.is_empty() && child.poll()?.is_none() {
        match pipe.write(left) {
            Ok(written) => left = &left[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(POLL_INTERVAL),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Drop for PrestartedCommand {
    fn drop(&mut self) {
        use std::os::unix::fs::FileTypeExt;
        let pipe = std::fs::symlink_metadata(&self.path).is_ok_and(|about| about.file_type().is_fifo());
        if pipe {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
