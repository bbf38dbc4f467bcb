//! `ncugate check`: what can be known of a phase without a GPU.

use super::CommandError;
use crate::build::{Arch, Builder, Cache, Nvcc, Sharing};
use crate::campaign::{self, wanted};
use crate::cli::CheckArgs;
use crate::config::{self, Phase};
use crate::exit::Outcome;
use crate::frame::{Counted, Measured, quantities};
use crate::judge::{Context, StaticCheck, preconditions, static_check};
use crate::model::ComputeCapability;
use crate::model::{BuildOutcome, BuildRecord};
use crate::model::{Level, Verdict};
use crate::plan::{Plan, Standing, unroll};
use crate::store::{Fingerprint, Run};
use indexmap::IndexMap;
use jiff::Zoned;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What is built for where neither the command line nor the phase says.
const USUAL: ComputeCapability = ComputeCapability::new(9, 0);

/// Checks every phase; the gravest outcome counts.
pub fn check(args: &CheckArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
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
    if args.no_build {
        return Ok(Outcome::Passed);
    }
    let (arch, sms) = target(args, &phase)?;
    let meant = Meant { capability: arch.capability(), sms };
    let mut outcome = Outcome::Passed;
    for result in preconditions(&phase, Some(meant.capability)) {
        outcome = outcome.and(said(&result.name, result.verdict, &result.reason, out)?);
    }
    if outcome == Outcome::Failed {
        writeln!(out, "  nothing is built: a precondition does not hold")?;
        return Ok(outcome);
    }
    let builds = build(&plan, &phase, &arch)?;
    outcome = outcome.and(say_builds(&plan, &builds, &arch, out)?);
    Ok(outcome.and(say_gates(&gates(&phase, &plan, builds, meant), out)?))
}

/// The GPU that is meant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meant {
    /// Its compute capability.
    pub capability: ComputeCapability,
    /// Its multiprocessors, where they are known.
    pub sms: Option<u32>,
}

/// What to build for, and how many multiprocessors it has: as asked, else those of a GPU that is there and of that kind.
fn target(args: &CheckArgs, phase: &Phase) -> Result<(Arch, Option<u32>), CommandError> {
    let device = campaign::device()?.ok();
    let arch = match args.arch.as_ref().or(phase.build.arch.as_ref()) {
        Some(text) => text.parse()?,
        None => Arch::of(device.as_ref().map_or(USUAL, |device| device.compute_capability)),
    };
    let present = device.filter(|device| device.compute_capability == arch.capability()).map(|device| device.sms);
    Ok((arch, args.sms.or(present)))
}

/// Says how gates were judged, and which were not.
fn say_gates(told: &StaticCheck, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let mut outcome = Outcome::Passed;
    for gate in &told.judged {
        let of = said(&gate.name, gate.verdict, &gate.reason, out)?;
        if gate.level == Level::Required {
            outcome = outcome.and(of);
        }
    }
    let mut by_reason: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for gate in &told.unjudged {
        by_reason.entry(&gate.reason).or_default().push(&gate.name);
    }
    for (reason, gates) in by_reason {
        writeln!(out, "  {:12} {}: {reason}", "not judged", gates.join("; "))?;
    }
    Ok(outcome)
}

fn build(plan: &Plan, phase: &Phase, arch: &Arch) -> Result<Vec<BuildRecord>, CommandError> {
    let nvcc = Nvcc::find(phase.build.nvcc.as_deref())?;
    let cache = Cache::of_user()?;
    let mut sink = |_: &BuildRecord| io::Result::Ok(());
    Ok(Builder::new(&nvcc, arch, &cache, Sharing::Share).build(plan, &|_| {}, &mut sink)?)
}

/// Says what was built, and why the rest was not. Failed when no candidate that is a kernel is left, inconclusive when there is none:
/// an external command proves nothing here, nor does a baseline that builds.
fn say_builds(plan: &Plan, builds: &[BuildRecord], arch: &Arch, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let (mut standing, mut kernels, mut built) = (0, 0, 0);
    for (variant, build) in plan.variants.iter().zip(builds) {
        let candidate = usize::from(variant.standing == Standing::Candidate);
        if build.outcome != BuildOutcome::NotNeeded {
            kernels += candidate;
        }
        match &build.outcome {
            BuildOutcome::NotNeeded => standing += candidate,
            BuildOutcome::Built { .. } => {
                standing += candidate;
                built += candidate;
            }
            BuildOutcome::Failed { message } => {
                writeln!(out, "  {}: does not build for {arch}\n{}", variant.id, indented(message))?;
            }
            BuildOutcome::Refused { reasons, .. } => {
                writeln!(out, "  {}: cannot be launched on {arch}\n{}", variant.id, indented(&reasons.join("\n")))?;
            }
        }
    }
    let shared = builds.iter().filter(|b| b.shares.is_some()).count();
    let candidates = plan.candidates().count();
    writeln!(out, "  {standing} of {candidates} candidates build for {arch}; {shared} share another's machine code")?;
    if kernels == 0 {
        writeln!(out, "  nothing of it is built here: its variants are external commands")?;
        return Ok(Outcome::Inconclusive);
    }
    Ok(if built == 0 { Outcome::Failed } else { Outcome::Passed })
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// Gates that build and launch alone decide.
pub(super) fn gates(phase: &Phase, plan: &Plan, builds: Vec<BuildRecord>, meant: Meant) -> StaticCheck {
    let run = Run {
        folder: PathBuf::new(),
        manifest: campaign::manifest(phase, plan, Fingerprint::default()),
        phase: phase.text.clone(),
        plan: plan.clone(),
        workload: serde_json::Value::Null,
        builds,
        checks: Vec::new(),
        latencies: Vec::new(),
        profiles: Vec::new(),
        close_looks: Vec::new(),
    };
    let counted = Counted::default();
    let Meant { capability, sms } = meant;
    let measured = Measured { phase, plan, run: &run, counted: &counted, capability: Some(capability), sms };
    let table = quantities(&measured, &wanted::metrics(phase));
    let context = Context { sms, ..Context::new(Some(capability), Zoned::now().date()) };
    static_check(phase, plan, &table, &context)
}

fn said(name: &str, verdict: Verdict, reason: &str, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let word = if verdict == Verdict::Fail { verdict.mark() } else { verdict.word() };
    writeln!(out, "  {word:12} {name}: {reason}")?;
    Ok(verdict.into())
}
