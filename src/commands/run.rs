//! `ncugate run`: measures a phase, or takes its recording, then judges and reports.

use super::against::Standings;
use super::check::{Meant, gates};
use super::judge::{Judged, Subject, conclude};
use super::{CommandError, report_error};
use crate::bench::DeviceFacts;
use crate::build::Sharing;
use crate::campaign::{self, Campaign, CampaignError, Cases, CloseLooks, Rounds, Terminal, Tools, wanted};
use crate::cli::{RunArgs, Source as Asked};
use crate::config::{self, Phase};
use crate::exit::Outcome;
use crate::judge::preconditions;
use crate::judge::unresolved;
use crate::model::ComputeCapability;
use crate::model::VariantId;
use crate::model::{BuildOutcome, BuildRecord};
use crate::model::{Level, Verdict};
use crate::plan::{Plan, unroll};
use crate::process;
use crate::report::RunSource;
use crate::report::write::prove_writable;
use crate::store::{self, Run, RunWriter};
use std::io::{self, Write};
use std::path::Path;

/// Where measurements come from, once decided.
enum Chosen {
    Gpu(Box<Tools>),
    Recording { why: Option<CampaignError> },
}

/// Runs a phase.
pub fn run(args: &RunArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let phase = config::load(&args.config)?;
    let plan = unroll(&phase)?;
    prove_writable(&args.folders.reports.join(&phase.name))?;
    if args.source != Asked::Recorded {
        Standings::foresee(&phase, None, &args.against, &args.folders.profiles)?;
        if let Some((stop, Outcome::Failed)) = no_go(&phase, None) {
            writeln!(out, "{stop}")?;
            return Ok(Outcome::Failed);
        }
    }
    match choose(args.source, &phase)? {
        Chosen::Gpu(tools) => live(args, phase, plan, &tools, out),
        Chosen::Recording { why } => {
            if let Some(why) = why {
                // Said, not failed: the reader must know that nothing is measured now.
                let _ = writeln!(io::stderr(), "not measuring: {why}");
            }
            recorded(args, phase, plan, out)
        }
    }
}

fn choose(asked: Asked, phase: &Phase) -> Result<Chosen, CommandError> {
    match asked {
        Asked::Recorded => Ok(Chosen::Recording { why: None }),
        Asked::Gpu => Ok(Chosen::Gpu(Box::new(Tools::find(phase)?))),
        Asked::Auto => match Tools::find(phase) {
            Ok(tools) => Ok(Chosen::Gpu(Box::new(tools))),
            Err(why) if phase.recording.is_some() => Ok(Chosen::Recording { why: Some(why) }),
            Err(why) => Err(why.into()),
        },
    }
}

fn recorded(args: &RunArgs, phase: Phase, plan: Plan, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let Some(folder) = phase.recording.clone() else {
        let name = phase.file.display();
        return Err(CommandError::Usage(format!("{name} names no recording; add `recording` under [phase]")));
    };
    let run = Run::load(&folder)?;
    let capability = run.manifest.fingerprint.gpu.as_ref().map(|gpu| gpu.compute_capability);
    let counters = wanted::counters(&wanted::metrics(&phase), capability);
    let lacks = store::lacks(&run, &phase, &plan, &campaign::sources(&plan), &counters);
    if !lacks.is_empty() {
        return Err(CommandError::Recording { folder, lacks });
    }
    let source = RunSource::Recorded { folder: folder.display().to_string() };
    conclude(&Subject { phase, plan, run, source, foreign: None }, &args.against, &args.folders, &args.saying, out)
}

fn live(args: &RunArgs, phase: Phase, plan: Plan, tools: &Tools, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    Standings::foresee(&phase, Some(&tools.fingerprint()), &args.against, &args.folders.profiles)?;
    if let Some((stop, outcome)) = no_go(&phase, Some(tools.device.compute_capability)) {
        writeln!(out, "{stop}")?;
        return Ok(outcome);
    }
    let _ = ctrlc::set_handler(process::interrupt);
    let progress = Terminal::default();
    let measured = measure(args, &phase, &plan, tools, &progress);
    progress.clear();
    let (folder, ended) = measured?;
    let run = Run::load(&folder)?;
    let subject = Subject { phase, plan, run, source: RunSource::Live, foreign: None };
    let judged = conclude(&subject, &args.against, &args.folders, &args.saying, out)?;
    match ended {
        Ok(()) => Ok(judged),
        Err(error) => Ok(report_error(&error).and(judged)),
    }
}

/// The precondition that does not hold, if there is one: then nothing is built. Without a chip, those that ask for it are
/// inconclusive.
fn no_go(phase: &Phase, chip: Option<ComputeCapability>) -> Option<(String, Outcome)> {
    let results = preconditions(phase, chip);
    let worst = results.iter().find(|result| result.verdict == Verdict::Fail);
    worst.or_else(|| results.iter().find(|result| result.verdict == Verdict::Inconclusive)).and_then(|result| {
        let (word, outcome) = match result.verdict {
            Verdict::Pass => return None,
            Verdict::Fail => ("FAIL", Outcome::Failed),
            Verdict::Inconclusive => ("INCONCLUSIVE", Outcome::Inconclusive),
        };
        Some((format!("{word} precondition '{}': {}; nothing was built", result.name, result.reason), outcome))
    })
}

/// Gates that fail whatever is measured, and variants that cannot be launched: said before anything is.
fn known_failures(phase: &Phase, plan: &Plan, builds: &[BuildRecord], device: &DeviceFacts) -> Vec<String> {
    let out = |record: &BuildRecord| match &record.outcome {
        BuildOutcome::Built { .. } | BuildOutcome::NotNeeded => None,
        BuildOutcome::Failed { message } => {
            Some(format!("{} does not build: {}", record.variant, message.lines().next().unwrap_or_default()))
        }
        BuildOutcome::Refused { reasons, .. } => {
            Some(format!("{} cannot be launched: {}", record.variant, reasons.join("; ")))
        }
    };
    let meant = Meant { capability: device.compute_capability, sms: Some(device.sms) };
    let gates = gates(phase, plan, builds.to_vec(), meant);
    let failed = gates.judged.iter().filter(|gate| gate.verdict == Verdict::Fail && gate.level == Level::Required);
    let failed = failed.map(|gate| format!("gate '{}' fails whatever is measured: {}", gate.name, gate.reason));
    builds.iter().filter_map(out).chain(failed).collect()
}

/// Measures, anew or where an unfinished run stopped; gives the run's folder and how measuring ended.
fn measure(
    args: &RunArgs,
    phase: &Phase,
    plan: &Plan,
    tools: &Tools,
    progress: &Terminal,
) -> Result<(std::path::PathBuf, Result<(), CommandError>), CommandError> {
    let fresh = campaign::manifest(phase, plan, tools.fingerprint());
    let profiles: &Path = &args.folders.profiles;
    let earlier = if args.fresh { None } else { store::unfinished(profiles, &fresh) };
    let manifest = earlier.as_ref().map_or_else(|| fresh.clone(), |run| run.manifest.clone());
    let folder = profiles.join(&phase.name).join(&manifest.run);
    if earlier.is_some() {
        let _ = writeln!(io::stderr(), "continuing the unfinished run in {}", folder.display());
    }
    let metrics = wanted::metrics(phase);
    let writer = RunWriter::open(&folder, manifest, &phase.text, plan, &phase.workload)?;
    let sharing = if args.no_share { Sharing::Each } else { Sharing::Share };
    let built = |builds: &[BuildRecord]| {
        for line in known_failures(phase, plan, builds, &tools.device) {
            progress.say(&line);
        }
    };
    let mut campaign = Campaign { phase, plan, tools, metrics: &metrics, sharing, writer, progress, built: &built };
    let ended = campaign.run(earlier.as_ref()).map_err(CommandError::from);
    let Campaign { mut writer, .. } = campaign;
    let mut rounds = Rounds { phase, plan, worker: &tools.worker, writer: &mut writer, progress };
    let ended = ended.and_then(|()| rounds.settle(|run| open(args, phase, plan, run)));
    let ended = ended.and_then(|()| {
        let selected = selected(args, phase, plan, &Run::load(&folder)?)?;
        let mut looks = CloseLooks { phase, plan, tools, writer: &mut writer, progress };
        selected.map_or(Ok(()), |selected| looks.take(&selected).map_err(CommandError::from))
    });
    Ok((folder, ended))
}

/// What noise leaves open of a run.
fn open(args: &RunArgs, phase: &Phase, plan: &Plan, run: &Run) -> Result<Cases, CommandError> {
    let (judged, standings) = judged(args, phase, plan, run)?;
    Ok(unresolved(phase, &judged.judgement, &standings.names()))
}

/// The variant that the objective selects, now that everything is measured.
fn selected(args: &RunArgs, phase: &Phase, plan: &Plan, run: &Run) -> Result<Option<VariantId>, CommandError> {
    let (judged, _) = judged(args, phase, plan, run)?;
    Ok(judged.judgement.selected.map(|selected| selected.variant))
}

fn judged(args: &RunArgs, phase: &Phase, plan: &Plan, run: &Run) -> Result<(Judged, Standings), CommandError> {
    let subject =
        Subject { phase: phase.clone(), plan: plan.clone(), run: run.clone(), source: RunSource::Live, foreign: None };
    let standings = Standings::find(&subject, &args.against, &args.folders.profiles)?;
    Ok((Judged::new(&subject, &[], &standings)?, standings))
}
