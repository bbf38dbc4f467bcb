//! One file per subcommand: parses, calls, prints.

mod attempt;
mod browser;
mod calibrate;
mod call;
mod capture;
mod check;
mod cluster;
mod compare;
mod completions;
mod conclude;
mod confinement;
mod demo;
mod doctor;
mod embedded_recording;
mod error;
mod explain;
mod export;
mod gate;
mod history;
mod init;
mod inputs;
mod leaderboard;
mod library;
mod list;
mod measure;
mod merge;
mod next;
mod occupancy;
mod page;
mod print;
mod problem;
mod profile;
mod progress;
mod project;
mod promote;
mod record;
mod redact;
mod run;
mod run_name;
mod schema;
mod show;
mod signal;
mod threads;
mod verbosity;
mod worker;

pub use error::{CommandError, refuse, report_error, report_usage};

use crate::cli::{AgentCommand, Cli, ClusterCommand, Command, ToolsCommand};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_cuda::host::dismiss_references;
use ncugate_model::process;
use std::io;
use std::path::Path;

/// Runs the command; `enter` changes the working directory.
///
/// # Errors
/// Those of the command; [`report_error`] prints them.
pub fn dispatch(mut cli: Cli, enter: fn(&Path) -> io::Result<()>) -> Result<Outcome, CommandError> {
    verbosity::set(cli.manner);
    let invocation = &Invocation::read(enter)?;
    project::settle(&mut cli.command, invocation)?;
    threads::prove_bounded()?;
    signal::refuse_large_files();
    if let Command::Worker(args) = &cli.command {
        return worker::worker(args);
    }
    // A crashed worker is recognised by its signal.
    signal::explain_shortened_files();
    let mut out = Output::standard();
    let outcome = act(&cli.command, invocation, &mut out);
    dismiss_references();
    out.finish()?;
    outcome
}

fn act(command: &Command, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let today = invocation.today();
    match command {
        Command::Demo(args) => demo::demo(args, invocation, out),
        Command::Init(args) => init::init(args, out),
        Command::Capture(args) => capture::capture(args, out),
        Command::Check(args) => check::check(args, invocation, out),
        Command::Run(args) => run::run(args, invocation, out),
        Command::Show(args) => show::show(args, invocation, out),
        Command::Page(args) => page::page(args, invocation, out),
        Command::Explain(args) => explain::explain(args, today, out),
        Command::Compare(args) => compare::compare(args, today, out),
        Command::Export(args) => export::export(args, today, out),
        Command::History(args) => history::history(args, invocation, out),
        Command::Gate(args) => gate::gate(args, invocation, out),
        Command::Leaderboard(command) => leaderboard::leaderboard(command, invocation, out),
        Command::Doctor(args) => doctor::doctor(args, out),
        Command::Agent(AgentCommand::Try(args)) => attempt::attempt(args, invocation, out),
        Command::Agent(AgentCommand::Next(args)) => next::next_steps(args, today, out),
        Command::Agent(AgentCommand::Tools) => call::tools(out),
        Command::Agent(AgentCommand::Call(args)) => call::call(args, out),
        Command::Cluster(ClusterCommand::Merge(args)) => merge::merge(args, invocation, out),
        Command::Cluster(ClusterCommand::Slurm(args)) => cluster::slurm(args, invocation, out),
        Command::Problem(command) => problem::problem(command, today, out),
        Command::Tools(ToolsCommand::Occupancy(args)) => occupancy::occupancy(args, out),
        Command::Tools(ToolsCommand::Calibrate(args)) => calibrate::calibrate(args, invocation, out),
        Command::Tools(ToolsCommand::Profile(args)) => profile::profile(args, out),
        Command::Tools(ToolsCommand::Record(args)) => record::record(args, invocation, out),
        Command::Tools(ToolsCommand::Inputs(args)) => inputs::inputs(args, invocation, out),
        Command::Tools(ToolsCommand::Redact(args)) => redact::redact(args, out),
        Command::Tools(ToolsCommand::Schema(args)) => schema::schema(args, out),
        Command::Tools(ToolsCommand::Completions(args)) => completions::completions(args, out),
        Command::Guard => {
            process::guard(io::stdin().lock())?;
            Ok(Outcome::Passed)
        }
        Command::Worker(args) => worker::worker(args),
    }
}
