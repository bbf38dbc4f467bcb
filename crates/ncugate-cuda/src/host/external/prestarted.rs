//! A program that was started before its turn, so that an interpreter and its libraries load while nvcc compiles.
//!
//! It finds a named pipe in the place of its request ([`RequestPipe`]), and cannot know what to measure before its turn. One that is not
//! idle in time, that ends, or that a pipe does not suit is started again at its turn, with a file.

use super::error::ExternalError;
use super::request::{Request, command, request_path};
use ncugate_model::process::{PipedChild, PrestartedChild, ProcessOutput, RequestPipe};
use ncugate_phase::plan::CommandPlan;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// A program that was started before its turn. Dropped, it is ended and its pipe removed.
#[derive(Debug)]
pub struct PrestartedCommand(PrestartedChild<PipedChild>);

impl PrestartedCommand {
    /// Starts the program of `plan`, to wait for the request that will be in `folder`; none if it cannot be started: its turn says why.
    pub fn start(plan: &CommandPlan, folder: &Path) -> Option<Self> {
        let path = request_path(folder);
        let mut command = command(plan, &path)?;
        let pipe = RequestPipe::make(&path).ok()?;
        let child = PipedChild::spawn(&mut command, None).ok()?;
        Some(Self(PrestartedChild::new(child, pipe)))
    }

    /// Whether its request will be in this folder.
    pub fn is_of(&self, folder: &Path) -> bool {
        self.0.path() == request_path(folder)
    }

    /// Whether it is idle before `deadline`, which is waited for.
    pub fn settle(&mut self, deadline: Instant) -> bool {
        self.0.settle(deadline)
    }

    /// Lets it have `request`, and waits until it ends.
    pub(super) fn release(
        self,
        request: &Request,
        limit: Duration,
    ) -> Result<io::Result<ProcessOutput>, ExternalError> {
        let text = request.write(self.0.path())?;
        Ok(self.0.hand(&text, limit).and_then(PipedChild::finish))
    }
}
