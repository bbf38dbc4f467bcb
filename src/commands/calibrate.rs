//! `ncugate tools calibrate`: the A/A test, which measures the smallest difference that this machine can resolve.

use super::project::open_phase;
use super::{CommandError, print, signal, verbosity};
use crate::cli::{CalibrateArgs, OutputFormat};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_campaign::{self as campaign, GpuTurn, Tools};
use ncugate_model::number;
use ncugate_phase::plan::unroll;
use serde_json::json;
use std::io::Write;

/// Times a variant against itself, saves the noise, and prints it.
pub fn calibrate(args: &CalibrateArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let phase = open_phase(&args.config, invocation)?;
    let plan = unroll(&phase)?;
    if let Some(id) = args.variant.as_ref().filter(|id| !plan.candidates().any(|v| v.id.0 == **id)) {
        return Err(CommandError::Usage(format!("--variant {id}: the phase has no such candidate")));
    }
    signal::watch();
    let tools = Tools::find(&phase)?;
    let phase = tools.on_gpu(&phase);
    let plan = unroll(&phase)?;
    let progress = verbosity::progress();
    let turn = GpuTurn::new(&tools.device, args.waiting.into(), &progress);
    turn.take()?;
    let (found, book) = campaign::calibrate(&phase, &plan, args.variant.as_deref(), args.runs, &tools, &args.profiles)?;
    if args.format == OutputFormat::Json {
        print::json(&json!({ "calibration": found, "file": book.path() }), out)?;
        return Ok(Outcome::Passed);
    }
    writeln!(out, "{} against itself:", found.variant)?;
    for noise in &found.shapes {
        let p90 = noise.p90_pct.map_or_else(|| "unknown".to_owned(), |p| format!("{} %", short(p)));
        let (shape, rounds, median) = (&noise.shape, noise.rounds, short(noise.median_pct));
        writeln!(out, "  {shape}, {rounds} rounds: medians within {median} %, 90th percentiles within {p90}")?;
        match &noise.between {
            Some(between) => {
                let (runs, spread) = (between.runs, short(between.median_sd_pct));
                writeln!(out, "  {shape}, {runs} processes: medians with a standard deviation of {spread} %")?;
            }
            None => writeln!(out, "  {shape}: the noise between processes needs at least `--runs 3`")?,
        }
    }
    writeln!(out, "saved to {}", book.path().display())?;
    Ok(Outcome::Passed)
}

fn short(percent: f64) -> String {
    number::short((percent * 100.0).round() / 100.0)
}
