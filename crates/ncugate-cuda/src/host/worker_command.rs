//! How a worker is started.

use ncugate_model::process;
use std::path::PathBuf;
use std::process::Command;

/// The program that works, and its arguments before the job file.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// The program, usually this one.
    pub program: PathBuf,
    /// Its arguments, usually the hidden subcommand.
    pub args: Vec<String>,
    /// The GPU that it works on, as `CUDA_VISIBLE_DEVICES` names it, where that is not the run's first.
    pub gpu: Option<String>,
}

impl WorkerCommand {
    /// A worker on the run's first GPU.
    pub fn new(program: PathBuf, args: Vec<String>) -> Self {
        Self { program, args, gpu: None }
    }

    /// The worker on another GPU.
    #[must_use]
    pub fn on(&self, gpu: String) -> Self {
        Self { gpu: Some(gpu), ..self.clone() }
    }

    /// The command, to which the job file is added.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        if let Some(gpu) = &self.gpu {
            command.env(process::VISIBLE_GPUS, gpu);
        }
        command
    }
}
