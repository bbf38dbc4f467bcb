//! A program that is started before its turn, so that an interpreter and its libraries load while nvcc compiles.
//!
//! Instead of its request it finds a named pipe ([`RequestPipe`]), so it cannot know its measurements before its turn. If it is
//! not idle in time, ends, or cannot read a pipe, it is started again at its turn, with a file.

use super::error::ExternalError;
use super::request::{Request, command, request_path};
use ncugate_model::process::{PipedChild, PrestartedChild, ProcessOutput, RequestPipe};
use ncugate_phase::plan::CommandPlan;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// A program that is started before its turn. Dropping it terminates the program and removes its pipe.
#[derive(Debug)]
pub struct PrestartedCommand(PrestartedChild<PipedChild>);

impl PrestartedCommand {
    /// Starts the program of `plan`, which waits for its request in `folder`. None if it cannot be started: the start at its
    /// turn reports why.
    pub fn start(plan: &CommandPlan, folder: &Path) -> Option<Self> {
        let path = request_path(folder);
        let mut command = command(plan, &path)?;
        let pipe = RequestPipe::make(&path).ok()?;
        let child = PipedChild::spawn(&mut command, None).ok()?;
        Some(Self(PrestartedChild::new(child, pipe)))
    }

    /// Whether its request belongs in this folder.
    pub fn is_of(&self, folder: &Path) -> bool {
        self.0.path() == request_path(folder)
    }

    /// Waits until it is idle, at most until `deadline`; returns whether it is.
    pub fn settle(&mut self, deadline: Instant) -> bool {
        self.0.settle(deadline)
    }

    /// Hands it `request` and waits until it ends.
    pub(super) fn release(
        self,
        request: &Request,
        limit: Duration,
    ) -> Result<io::Result<ProcessOutput>, ExternalError> {
        let text = request.write(self.0.path())?;
        Ok(self.0.hand(&text, limit).and_then(PipedChild::finish))
    }
}
