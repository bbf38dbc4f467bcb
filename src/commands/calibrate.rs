//! `ncugate calibrate`: what this machine can tell apart.

use super::{CommandError, signal};
use crate::baseline::{Calibration, Conditions, NoiseBook, ShapeNoise};
use crate::campaign::{CampaignError, Tools, aa_test, built};
use crate::cli::CalibrateArgs;
use crate::config;
use crate::exit::Outcome;
use crate::number;
use crate::plan::unroll;
use jiff::Timestamp;
use std::io::Write;

/// Times a variant against itself, keeps the noise, and says what differences can be told.
pub fn calibrate(args: &CalibrateArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let phase = config::load(&args.config)?;
    let plan = unroll(&phase)?;
    let unable = |reason: String| CommandError::Calibration { reason };
    if let Some(id) = args.variant.as_ref().filter(|id| !plan.candidates().any(|v| v.id.0 == **id)) {
        return Err(CommandError::Usage(format!("--variant {id}: the phase has no such candidate")));
    }
    let tools = Tools::find(&phase)?;
    signal::watch();
    let built = built(&phase, &plan, args.variant.as_deref(), &tools)?;
    let (variant, cubin) = built.ok_or_else(|| unable("no candidate kernel builds".to_owned()))?;
    let folder = args.profiles.join(&phase.name).join("calibration");
    std::fs::create_dir_all(&folder)
        .map_err(|source| CampaignError::Io { what: "make a folder for the calibration", source })?;
    let samples = aa_test(&phase, (variant, &cubin), &tools.worker, &folder)?.map_err(unable)?;
    let noise = |(shape, [a, b]): &(_, [Vec<f64>; 2])| ShapeNoise::of(shape, a, b).map_err(|e| unable(e.to_string()));
    let shapes = samples.iter().map(noise).collect::<Result<Vec<_>, _>>()?;
    let conditions = Conditions::ahead(&phase, &tools.fingerprint());
    writeln!(out, "{} against itself:", variant.id)?;
    for noise in &shapes {
        let p90 = noise.p90_pct.map_or_else(|| "not known".to_owned(), |p| format!("{} %", short(p)));
        let (shape, rounds, median) = (&noise.shape, noise.rounds, short(noise.median_pct));
        writeln!(out, "  {shape}, {rounds} rounds: medians within {median} %, 90th percentiles within {p90}")?;
    }
    let mut book = NoiseBook::open(&args.profiles, &phase.name)?;
    book.keep(Calibration { conditions, variant: variant.id.clone(), measured: Timestamp::now(), shapes })?;
    writeln!(out, "kept in {}", book.path().display())?;
    Ok(Outcome::Passed)
}

fn short(percent: f64) -> String {
    number::short((percent * 100.0).round() / 100.0)
}
