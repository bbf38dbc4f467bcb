//! One file a subcommand: parses, calls, prints.

mod attempt;
mod baseline;
mod calibrate;
mod check;
mod compare;
mod conclude;
mod demo;
mod doctor;
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
mod live;
mod manner;
mod mcp;
mod merge;
mod next;
mod occupancy;
mod open;
mod output;
mod print;
mod project;
mod promote;
mod record;
mod redact;
mod render;
mod run;
mod schema;
mod search;
mod show;
mod signal;
mod submit;
mod table;
mod threads;
mod worker;

pub use error::{CommandError, report_error};

use crate::cli::{Cli, Command};
use crate::exit::Outcome;
use crate::process;
use output::Output;
use std::io;

/// Does what the command line asks.
///
/// # Errors
/// Those of the command; [`report_error`] prints them.
pub fn dispatch(mut cli: Cli) -> Result<Outcome, CommandError> {
    manner::ask(cli.manner);
    project::settle(&mut cli.command)?;
    threads::prove_bounded()?;
    signal::refuse_large_files();
    if !matches!(cli.command, Command::Worker(_)) {
        // A worker that crashes says so by its signal.
        signal::explain_shortened_files();
    }
    let mut out = Output::new(io::stdout().lock());
    match &cli.command {
        Command::Run(args) => run::run(args, &mut out),
        Command::Check(args) => check::check(args, &mut out),
        Command::Demo(args) => demo::demo(args, &mut out),
        Command::Init(args) => init::init(args, &mut out),
        Command::Completions(args) => install::completions(args, &mut out),
        Command::Man(args) => install::man(args, &mut out),
        Command::Doctor(args) => doctor::doctor(args, &mut out),
        Command::Merge(args) => merge::merge(args, &mut out),
        Command::Submit(command) => submit::submit(command, &mut out),
        Command::Record(args) => record::record(args, &mut out),
        Command::Redact(args) => redact::redact(args, &mut out),
        Command::Baseline(command) => baseline::baseline(command, &mut out),
        Command::Calibrate(args) => calibrate::calibrate(args, &mut out),
        Command::Schema(args) => schema::schema(args, &mut out),
        Command::Try(args) => attempt::attempt(args, &mut out),
        Command::Next(args) => next::next_steps(args, &mut out),
        Command::Mcp => mcp::mcp(&mut io::stdin().lock(), &mut out),
        Command::Search(args) => search::search(args, &mut out),
        Command::Show(args) => show::show(args, &mut out),
        Command::Table(args) => table::table(args, &mut out),
        Command::Export(command) => export::export(command, &mut out),
        Command::Explain(args) => explain::explain(args, &mut out),
        Command::Occupancy(args) => occupancy::occupancy(args, &mut out),
        Command::Gate(args) => gate::gate(args, &mut out),
        Command::Report(args) => render::render(args, &mut out),
        Command::Import(command) => import::import(command, &mut out),
        Command::Inputs(args) => inputs::inputs(args, &mut out),
        Command::Index(args) => index::index(args, &mut out),
        Command::Compare(args) => compare::compare(args, &mut out),
        Command::Guard => {
            process::guard(io::stdin().lock())?;
            Ok(Outcome::Passed)
        }
        Command::Worker(args) => {
            drop(out);
            worker::worker(args)
        }
    }
}
