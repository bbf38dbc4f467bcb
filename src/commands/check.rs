//! `ncugate check`: what can be known of a phase without a GPU.

use super::{CommandError, signal};
use crate::build::Arch;
use crate::campaign::{build_for, target};
use crate::cli::CheckArgs;
use crate::config::{self, Waiver};
use crate::exit::Outcome;
use crate::judge::{loosened, preconditions, static_gates, unlikely_limits};
use crate::model::Level;
use crate::plan::unroll;
use crate::report::static_check;
use std::io::Write;
use std::path::Path;

/// Checks every phase; the gravest outcome counts.
pub fn check(args: &CheckArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    signal::watch();
    let mut outcome = Outcome::Passed;
    for config in &args.configs {
        outcome = outcome.and(one(config, args, out)?);
    }
    Ok(outcome)
}

fn one(config: &Path, args: &CheckArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let phase = config::load(config)?;
    let plan = unroll(&phase)?;
    let (candidates, baselines) = (plan.candidates().count(), plan.baselines().count());
    writeln!(out, "{}: {candidates} candidates, {baselines} baselines", config.display())?;
    for caution in loosened(&phase, Waiver::today()).into_iter().chain(unlikely_limits(&phase)) {
        writeln!(out, "  {caution}")?;
    }
    if args.no_build {
        return Ok(Outcome::Passed);
    }
    let asked = args.arch.as_ref().or(phase.build.arch.as_ref()).map(|text| text.parse::<Arch>()).transpose()?;
    let (arch, target) = target(asked, args.sms)?;
    let mut outcome = Outcome::Passed;
    for result in preconditions(&phase, Some(target.capability)) {
        write!(out, "{}", static_check::verdict(&result.name, result.verdict, &result.reason))?;
        outcome = outcome.and(result.verdict.into());
    }
    if outcome == Outcome::Failed {
        writeln!(out, "  nothing is built: a precondition does not hold")?;
        return Ok(outcome);
    }
    let builds = build_for(&plan, &phase, &arch)?;
    let (text, built) = static_check::builds(&plan, &builds, &arch.to_string());
    write!(out, "{text}")?;
    let gates = static_gates(&phase, &plan, builds, target);
    write!(out, "{}", static_check::gates(&gates))?;
    if gates.impossible.is_some() {
        outcome = Outcome::Failed;
    }
    let required = gates.judged.iter().filter(|gate| gate.level == Level::Required);
    Ok(required.fold(outcome.and(built.into()), |outcome, gate| outcome.and(gate.verdict.into())))
}
