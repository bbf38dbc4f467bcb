//! `ncugate run --list`: the planned measurements.

use super::{CommandError, print};
use crate::cli::OutputFormat;
use crate::console::Output;
use crate::exit::Outcome;
use ncugate_model::ShapeName;
use ncugate_model::number::counted;
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{PhaseSubset, Plan};
use serde::Serialize;
use std::io::{self, Write};

/// The planned measurements.
#[derive(Serialize)]
struct PhaseListing<'a> {
    phase: &'a str,
    candidates: Vec<&'a str>,
    baselines: Vec<&'a str>,
    /// Every shape that is checked.
    checked: Vec<&'a str>,
    timed: Vec<&'a str>,
    rounds: u32,
    /// Number of candidates of the phase that are left out.
    left_out: usize,
    /// The requested part; `None` for the whole phase.
    part: Option<String>,
    /// Whether a search chooses candidates when the phase runs.
    is_searched: bool,
}

/// Prints variants, shapes and rounds; measures and judges nothing.
pub fn list(
    phase: &Phase,
    plan: &Plan,
    whole: &Plan,
    narrowed: Option<&PhaseSubset>,
    format: OutputFormat,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let names = |shapes: &'_ [ShapeName]| -> Vec<String> { shapes.iter().map(|shape| shape.0.to_string()).collect() };
    let timed = names(&phase.bench.shapes);
    let listed = PhaseListing {
        phase: &phase.name,
        candidates: plan.candidates().map(|variant| variant.id.0.as_str()).collect(),
        baselines: plan.baselines().map(|variant| variant.id.0.as_str()).collect(),
        checked: phase.workload.shapes.iter().map(|shape| shape.name.0.as_str()).collect(),
        timed: timed.iter().map(String::as_str).collect(),
        rounds: phase.bench.rounds,
        left_out: whole.candidates().count() - plan.candidates().count(),
        part: narrowed.map(PhaseSubset::words),
        is_searched: phase.search.is_some() && phase.sweep.points.is_none(),
    };
    match format {
        OutputFormat::Json => print::json(&listed, out)?,
        OutputFormat::Text => text(&listed, out)?,
    }
    Ok(Outcome::Passed)
}

fn text(listed: &PhaseListing<'_>, out: &mut Output) -> io::Result<()> {
    let (candidates, baselines) = (listed.candidates.len(), listed.baselines.len());
    writeln!(out, "{}: {}, {}", listed.phase, counted(candidates, "candidate"), counted(baselines, "baseline"))?;
    if listed.is_searched {
        writeln!(out, "the search chooses more candidates during the run")?;
    }
    writeln!(
        out,
        "checked at {}; timed at {} in {} rounds",
        listed.checked.join(", "),
        listed.timed.join(", "),
        listed.rounds
    )?;
    listed.candidates.iter().try_for_each(|id| writeln!(out, "  {id}"))?;
    listed.baselines.iter().try_for_each(|id| writeln!(out, "  {id} (baseline)"))?;
    if let Some(part) = &listed.part {
        let left_out = counted(listed.left_out, "candidate");
        writeln!(out, "a part of the phase ({part}): {left_out} left out; its run cannot pass")?;
    }
    Ok(())
}
