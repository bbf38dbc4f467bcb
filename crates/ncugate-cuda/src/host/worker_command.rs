//! How a worker is started.

use ncugate_model::process;
use std::path::PathBuf;
use std::process::Command;

/// The worker's program, and its arguments before the job file.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// Usually this program.
    pub program: PathBuf,
    /// Usually the hidden subcommand.
    pub args: Vec<String>,
    /// The worker's GPU as `CUDA_VISIBLE_DEVICES` names it, if it is not the run's first.
    pub gpu: Option<String>,
}

impl WorkerCommand {
    /// A worker on the run's first GPU.
    pub fn new(program: PathBuf, args: Vec<String>) -> Self {
        Self { program, args, gpu: None }
    }

    /// The same worker on another GPU.
    #[must_use]
    pub fn on(&self, gpu: String) -> Self {
        Self { gpu: Some(gpu), ..self.clone() }
    }

    /// The command, without the job file.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        if let Some(gpu) = &self.gpu {
            command.env(process::VISIBLE_GPUS, gpu);
        }
        command
    }
}
