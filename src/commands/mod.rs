//! One file a subcommand: parses, calls, prints.

mod attempt;
mod baseline;
mod browser;
mod calibrate;
mod check;
mod compare;
mod conclude;
mod confinement;
mod demo;
mod doctor;
mod embedded_recording;
mod error;
mod explain;
mod export;
mod gate;
mod import;
mod index;
mod init;
mod inputs;
mod install;
mod library;
mod list;
mod mcp;
mod measure;
mod merge;
mod next;
mod occupancy;
mod print;
mod progress;
mod project;
mod promote;
mod record;
mod redact;
mod render;
mod run;
mod schema;
mod show;
mod signal;
mod submit;
mod table;
mod threads;
mod verbosity;
mod worker;

pub use error::{CommandError, report_error, report_usage};

use crate::cli::{Cli, Command};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_model::process;
use std::io;
use std::path::Path;

/// Does what the command line asks; `enter` changes the working directory.
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
    // A worker that crashes says so by its signal.
    signal::explain_shortened_files();
    let mut out = Output::standard();
    let outcome = act(&cli.command, invocation, &mut out);
    out.finish()?;
    outcome
}

fn act(command: &Command, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let today = invocation.today();
    match command {
        Command::Run(args) => run::run(args, invocation, out),
        Command::Check(args) => check::check(args, invocation, out),
        Command::Demo(args) => demo::demo(args, invocation, out),
        Command::Init(args) => init::init(args, out),
        Command::Completions(args) => install::completions(args, out),
        Command::Man(args) => install::man(args, out),
        Command::Doctor(args) => doctor::doctor(args, out),
        Command::Merge(args) => merge::merge(args, invocation, out),
        Command::Submit(command) => submit::submit(command, invocation, out),
        Command::Record(args) => record::record(args, invocation, out),
        Command::Redact(args) => redact::redact(args, out),
        Command::Baseline(command) => baseline::baseline(command, invocation, out),
        Command::Calibrate(args) => calibrate::calibrate(args, invocation, out),
        Command::Schema(args) => schema::schema(args, out),
        Command::Try(args) => attempt::attempt(args, invocation, out),
        Command::Next(args) => next::next_steps(args, today, out),
        Command::Mcp => mcp::mcp(io::BufReader::new(io::stdin()), out),
        Command::Show(args) => show::show(args, out),
        Command::Table(args) => table::table(args, today, out),
        Command::Export(command) => export::export(command, today, out),
        Command::Explain(args) => explain::explain(args, today, out),
        Command::Occupancy(args) => occupancy::occupancy(args, out),
        Command::Gate(args) => gate::gate(args, invocation, out),
        Command::Report(args) => render::render(args, invocation, out),
        Command::Import(command) => import::import(command, out),
        Command::Inputs(args) => inputs::inputs(args, invocation, out),
        Command::Index(args) => index::index(args, invocation, out),
        Command::Compare(args) => compare::compare(args, today, out),
        Command::Guard => {
            process::guard(io::stdin().lock())?;
            Ok(Outcome::Passed)
        }
        Command::Worker(args) => worker::worker(args),
    }
}
