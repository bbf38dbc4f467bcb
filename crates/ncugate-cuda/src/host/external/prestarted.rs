//! Programs started before their turn, so that an interpreter and its libraries load while nvcc compiles.
//!
//! Such a program finds a named pipe where its request will be ([`RequestPipe`]), and cannot know what to measure before its turn.
//! Nothing is timed beside a program that still loads. A program that is not ready in time, that ends, or that a pipe does not suit
//! is taken back and started at its turn, with a file.

use super::error::ExternalError;
use super::request::{Request, command, request_path};
use ncugate_model::VariantId;
use ncugate_model::process::{self, PipedChild, ProcessOutput, RequestPipe};
use ncugate_phase::plan::CommandPlan;
use std::io;
use std::path::Path;
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
    child: PipedChild,
    pipe: RequestPipe,
}

impl PrestartedCommand {
    fn start(variant: &VariantId, plan: &CommandPlan, path: &Path) -> Option<Self> {
        let mut command = command(plan, path)?;
        let pipe = RequestPipe::make(path).ok()?;
        let child = PipedChild::spawn(&mut command, None).ok()?;
        Some(Self { variant: variant.clone(), child, pipe })
    }

    fn state(&mut self) -> CommandState {
        if !matches!(self.child.poll(), Ok(None)) {
            return CommandState::Over;
        }
        match self.pipe.has_reader() {
            Ok(true) => CommandState::Ready,
            Ok(false) => CommandState::Loading,
            Err(_) => CommandState::Over,
        }
    }

    /// Lets it have `request`, and waits until it ends.
    pub(super) fn release(
        self,
        request: &Request,
        limit: Duration,
    ) -> Result<io::Result<ProcessOutput>, ExternalError> {
        let Self { mut child, pipe, .. } = self;
        let text = request.write(pipe.path())?;
        child.extend(limit);
        let handed = pipe.hand(&text, || Ok(child.poll()?.is_none()));
        Ok(handed.and_then(|()| child.finish()))
    }
}
