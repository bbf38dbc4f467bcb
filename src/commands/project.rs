//! The folder that paths of a phase are relative to. Commands change to it; paths of the command line keep their meaning.

use super::CommandError;
use super::run_name::{FileKind, is_path};
use crate::cli::{AgentCommand, ClusterCommand, Command, FolderArgs, OutputArgs, RunArgs, ToolsCommand};
use crate::invocation::Invocation;
use ncugate_phase::config::{self, Phase, Project};
use std::path::{Path, PathBuf};

/// Reads a phase, and changes to the root of its project, where its compilers and commands run.
pub fn open_phase(config: &Path, invocation: &Invocation) -> Result<Phase, CommandError> {
    if let (true, Some(hint)) =
        (config.is_file(), FileKind::of(config).and_then(|kind| kind.instead_of_a_phase(config)))
    {
        return Err(CommandError::Usage(hint));
    }
    let phase = config::load(config, &invocation.here, invocation.today())?;
    (invocation.enter)(&phase.root).map_err(|e| {
        CommandError::Usage(format!(
            "cannot change to {}, the base of the paths in {}: {e}",
            phase.root.display(),
            config.display()
        ))
    })?;
    Ok(phase)
}

/// Makes the paths of a command line absolute if the phase's root is not the working directory. Default folders of profiles
/// and reports are relative to the root.
pub fn settle(command: &mut Command, invocation: &Invocation) -> Result<(), CommandError> {
    let (config, paths) = match command {
        Command::Gate(args) => {
            let named = args.paths.iter_mut().filter(|path| is_path(path));
            (&args.config, paths(&mut args.folders, &mut args.saying).into_iter().chain(named).collect())
        }
        Command::Cluster(ClusterCommand::Slurm(args)) => {
            (&args.config, vec![&mut args.folders.profiles, &mut args.folders.reports])
        }
        Command::Tools(ToolsCommand::Calibrate(args)) => (&args.config, vec![&mut args.profiles]),
        Command::Agent(AgentCommand::Try(args)) => {
            let folders = &mut args.folders;
            (&args.config, vec![&mut folders.profiles, &mut folders.reports, &mut args.source])
        }
        _ => return Ok(()),
    };
    settle_paths(config, paths, &invocation.here)
}

/// Makes the paths of `run` for one of its phases absolute.
pub fn settle_run(config: &Path, args: &mut RunArgs, invocation: &Invocation) -> Result<(), CommandError> {
    settle_paths(config, paths(&mut args.folders, &mut args.saying), &invocation.here)
}

fn settle_paths(config: &Path, paths: Vec<&mut PathBuf>, here: &Path) -> Result<(), CommandError> {
    let root = Project::of(&here.join(config))?.root;
    if here == root || here.canonicalize().ok() == root.canonicalize().ok() {
        return Ok(());
    }
    for path in paths.into_iter().filter(|path| path.is_relative()) {
        let of_root = ["profiles", "reports"].map(Path::new).contains(&path.as_path());
        *path = if of_root { root.join(&path) } else { here.join(&path) };
    }
    Ok(())
}

fn paths<'a>(folders: &'a mut FolderArgs, saying: &'a mut OutputArgs) -> Vec<&'a mut PathBuf> {
    [&mut folders.profiles, &mut folders.reports].into_iter().chain(saying.comment.as_mut()).collect()
}
