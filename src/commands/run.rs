//! `ncugate run`: measures a phase, or reads its recording, then judges and reports.

use super::conclude::conclude;
use super::init::phase_of_source;
use super::list::list;
use super::measure::{MeasurementTarget, live, no_go, unmeasured};
use super::progress::Verbosity;
use super::project::{open_phase, settle_run};
use super::{CommandError, refuse, report_error, signal, verbosity};
use crate::cli::{MeasurementSource, OutputFormat, RunArgs};
use crate::console::{Output, warn};
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_campaign::{
    self as campaign, BaseCheckout, CampaignError, Progress, Tools, difference, prove_files, with_base,
};
use ncugate_judge::PhaseRun;
use ncugate_judge::frame::required_metrics;
use ncugate_judge::reference_runs::ReferenceRuns;
use ncugate_judge::store::Run;
use ncugate_model::process;
use ncugate_phase::config::{Base, Phase};
use ncugate_phase::plan::{PhaseSubset, Plan, unroll};
use ncugate_report::RunSource;
use ncugate_report::comment::{PhaseComment, joint_comment};
use ncugate_report::write::{prove_writable, replace};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whether phases that do not differ from the base are left out: they have the verdict that they have there.
fn leaves_out_unchanged(args: &RunArgs) -> bool {
    let is_asked = args.no_share || args.list || !args.deep.is_empty() || !args.sanitize.is_empty();
    args.base.is_some() && args.configs.len() > 1 && !is_asked
}

/// How a phase of a command line ended.
enum PhaseEnd {
    Judged(Outcome),
    /// Nothing that it depends on differs from the base, so it was not measured.
    Unchanged,
}

impl PhaseEnd {
    const fn outcome(&self) -> Outcome {
        match self {
            Self::Judged(outcome) => *outcome,
            Self::Unchanged => Outcome::Passed,
        }
    }

    const fn words(&self) -> &'static str {
        match self {
            Self::Judged(outcome) => outcome.words(),
            Self::Unchanged => "unchanged",
        }
    }
}

/// Runs every phase, each from the root of its project. Returns the worst outcome; a failing phase does not stop the next.
pub fn run(args: &RunArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let args = &with_drafts(args, invocation)?;
    if let Some(seconds) = args.time_budget {
        budget(seconds);
    }
    if let [config] = args.configs.as_slice() {
        return Ok(settled(config, args, invocation, out)?.outcome());
    }
    let comment = args.saying.comment.as_ref().map(|path| invocation.here.join(path));
    let mut ends = Vec::new();
    let mut comments = Vec::new();
    for (at, config) in args.configs.iter().enumerate() {
        let part = comment.as_ref().map(|path| PathBuf::from(format!("{}.{at}.part", path.display())));
        let mut args = args.clone();
        args.saying.comment.clone_from(&part);
        let remove = || part.iter().for_each(|part| drop(fs::remove_file(part)));
        // A killed run may have left one.
        remove();
        let ended = settled(config, &args, invocation, out);
        let ended = ended.unwrap_or_else(|error| PhaseEnd::Judged(report_error(&error)));
        // A phase that was not judged has no comment.
        let body = part.as_ref().and_then(|part| fs::read_to_string(part).ok());
        remove();
        comments.push(PhaseComment { phase: config.display().to_string(), result: ended.words(), body });
        ends.push(ended);
        if process::interrupted() {
            break;
        }
    }
    let left = args.configs.iter().skip(ends.len());
    comments.extend(left.clone().map(|config| PhaseComment {
        phase: config.display().to_string(),
        result: "not run",
        body: None,
    }));
    if args.saying.format == OutputFormat::Text {
        writeln!(out)?;
        comments.iter().try_for_each(|end| writeln!(out, "{:<12} {}", end.result, end.phase))?;
    }
    if let Some(path) = &comment {
        replace(path, &joint_comment(&comments))?;
    }
    let all = ends.iter().map(PhaseEnd::outcome).reduce(Outcome::and).unwrap_or(Outcome::Inconclusive);
    Ok(if left.count() > 0 { all.and(Outcome::Inconclusive) } else { all })
}

/// Endings of CUDA sources, which `run` drafts a phase for.
const SOURCES: [&str; 7] = ["cu", "cuh", "h", "hpp", "cc", "cpp", "cxx"];

/// The arguments, with each CUDA source replaced by its drafted phase.
fn with_drafts(args: &RunArgs, invocation: &Invocation) -> Result<RunArgs, CommandError> {
    let mut args = args.clone();
    let is_source =
        |config: &PathBuf| config.extension().is_some_and(|end| SOURCES.iter().any(|source| end == *source));
    for config in args.configs.iter_mut().filter(|config| is_source(config)) {
        *config = phase_of_source(config, args.entry.as_deref(), invocation)?;
    }
    Ok(args)
}

/// Stops measuring after the given seconds, like the first Ctrl-C: records are kept.
fn budget(seconds: u64) {
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(seconds));
        if !process::interrupted() {
            process::interrupt();
            warn(&format!("the time budget of {seconds} s is spent; the same command continues the run"));
        }
    });
}

fn settled(config: &Path, args: &RunArgs, invocation: &Invocation, out: &mut Output) -> Result<PhaseEnd, CommandError> {
    let mut args = args.clone();
    settle_run(config, &mut args, invocation)?;
    one(config, &args, invocation, out)
}

fn one(config: &Path, args: &RunArgs, invocation: &Invocation, out: &mut Output) -> Result<PhaseEnd, CommandError> {
    let file = invocation.here.join(config);
    let mut whole = open_phase(config, invocation)?;
    whole.check.also(&args.sanitize);
    let base = args.base.as_deref().map(|reference| checked_out(reference, &whole, args)).transpose()?;
    let own = whole.clone();
    let mut whole = match &base {
        Some(checkout) => with_base(&whole, &file, checkout)?,
        None => whole,
    };
    whole.waive(&args.waived.waivers, invocation.today())?;
    if let Some(absent) = whole.base.as_ref().and_then(Base::absent) {
        // The gates that read it report it too.
        warn(&absent.to_string());
    }
    let whole_plan = unroll(&whole)?;
    refuse_reports(&whole)?;
    let asked = PhaseSubset::from(&args.part);
    let (phase, plan) = part(&asked, &whole, &whole_plan)?;
    let narrowed = (phase != whole || plan != whole_plan).then_some(asked);
    if args.list {
        return list(&phase, &plan, &whole_plan, narrowed.as_ref(), args.saying.format, out).map(PhaseEnd::Judged);
    }
    if let (Some(_), Some(part)) = (&phase.search, &narrowed) {
        let part = part.words();
        return Err(CommandError::Usage(format!(
            "{part}: a search chooses its candidates; shorten the axes of [sweep] instead"
        )));
    }
    prove_writable(&args.folders.reports.join(&phase.name))?;
    let measured_part = args.shard.map(|_| "--shard".to_owned()).or(narrowed.as_ref().map(PhaseSubset::words));
    if args.source == MeasurementSource::Recorded {
        let given = |is_given: bool, name: &str| is_given.then(|| name.to_owned());
        let refused = [
            (measured_part, "a recording is judged as a whole"),
            (given(args.gpus.is_some(), "--gpus"), "a recording is already measured"),
            (given(!args.sanitize.is_empty(), "--sanitize"), "a recording is already measured"),
            (given(!args.deep.is_empty(), "--deep"), "the deep profiles of a recording are fixed"),
        ];
        if let Some((what, why)) = refused.into_iter().find_map(|(what, why)| Some((what?, why))) {
            return Err(CommandError::Usage(format!("{what} needs a measurement; {why}")));
        }
        return recorded(args, phase, None, invocation, out).map(PhaseEnd::Judged);
    }
    ReferenceRuns::validate(&phase, None, &(&args.against).into(), &args.folders.profiles, invocation.today())?;
    if let Some((stop, Outcome::Failed)) = no_go(&phase, None) {
        writeln!(out, "{stop}")?;
        return Ok(PhaseEnd::Judged(unmeasured(args, Outcome::Failed)));
    }
    signal::watch();
    let tools = match &args.gpus {
        Some(gpus) => Tools::find_on(&phase, gpus),
        None => Tools::find(&phase).map(|tools| vec![tools]),
    };
    if let (Ok(kinds), Some(checkout), true, None) = (&tools, &base, leaves_out_unchanged(args), &measured_part) {
        match changed((&own, &file), checkout, kinds, invocation)? {
            Some(difference) => verbosity::progress().note(&format!("{}: {difference}", config.display())),
            None => {
                if args.saying.format == OutputFormat::Text {
                    writeln!(out, "{}: not measured; no change since {}", config.display(), base_label(checkout))?;
                }
                return Ok(PhaseEnd::Unchanged);
            }
        }
    }
    if tools.is_ok() {
        prove_files(&own, &unroll(&own)?)?;
    }
    let ended = match tools {
        Err(why @ (CampaignError::NoSuchGpu { .. } | CampaignError::UnlikeGpus { .. })) => Err(why.into()),
        Err(why) if measured_part.is_some() || base.is_some() => Err(why.into()),
        Ok(kinds) => on_each_kind(args, &whole, narrowed.as_ref(), &kinds, invocation, out),
        Err(why) if args.source == MeasurementSource::Auto && phase.recording.is_some() => {
            // The full reason; the report has a short one.
            if verbosity::volume() != Verbosity::Quiet {
                warn(&format!("not measuring: {why}"));
            }
            recorded(args, phase, Some(&why), invocation, out)
        }
        Err(why) => {
            // The error is the full reason; the hint depends on the phase.
            warn(&instead(&phase));
            Err(why.into())
        }
    };
    ended.map(PhaseEnd::Judged)
}

/// The first difference from the base on any kind of GPU.
fn changed(
    (phase, config): (&Phase, &Path),
    base: &BaseCheckout,
    kinds: &[Tools],
    invocation: &Invocation,
) -> Result<Option<String>, CommandError> {
    let plan = unroll(phase)?;
    let progress = verbosity::progress();
    for tools in kinds {
        let arch = tools.arch(phase)?;
        let difference = difference((phase, &plan, config), base, &arch, invocation.enter, &progress);
        progress.clear();
        if let Some(difference) = difference? {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

/// `origin/main (3f2a91c0b1d2)`.
fn base_label(base: &BaseCheckout) -> String {
    format!("{} ({})", base.reference, base.commit.get(..12).unwrap_or(&base.commit))
}

/// The alternative if the phase cannot be measured.
fn instead(phase: &Phase) -> String {
    let file = phase.file.display();
    match &phase.recording {
        Some(_) => format!("not measured; `ncugate run {file} --source recorded` judges its recording"),
        None => {
            format!("not measured, and {file} names no recording; `ncugate check {file} --arch sm_90` needs no GPU")
        }
    }
}

/// The files of the base, for the duration of the run.
fn checked_out(reference: &str, phase: &Phase, args: &RunArgs) -> Result<BaseCheckout, CommandError> {
    let is_measured = args.source == MeasurementSource::Recorded;
    refuse(is_measured, "--base needs a measurement; a recording is already measured")?;
    // It is removed even after an interrupt.
    signal::watch();
    Ok(BaseCheckout::of(reference, &phase.name, &args.folders.profiles)?)
}

/// Measures on each GPU model separately. Returns the worst outcome; if a model that the phase names is not selected, it is at best
/// inconclusive.
fn on_each_kind(
    args: &RunArgs,
    whole: &Phase,
    narrowed: Option<&PhaseSubset>,
    kinds: &[Tools],
    invocation: &Invocation,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let said = args.saying.format == OutputFormat::Text;
    let mut outcomes = Vec::new();
    let takes_one = args.shard.is_some() || args.saying.comment.is_some();
    refuse(kinds.len() > 1 && takes_one, "--shard and --comment take one GPU model: select it with --gpus")?;
    for tools in kinds {
        tools.show();
        let ended = on_kind(args, whole, narrowed, tools, invocation, out);
        outcomes.push(if kinds.len() > 1 { ended.unwrap_or_else(|error| report_error(&error)) } else { ended? });
        if process::interrupted() {
            break;
        }
    }
    if said && kinds.len() > 1 {
        writeln!(out)?;
        let ends = outcomes.iter().zip(kinds);
        ends.into_iter().try_for_each(|(end, tools)| writeln!(out, "{:<12} on {}", end.words(), tools.device.name))?;
    }
    let mut outcome = outcomes.iter().copied().reduce(Outcome::and).unwrap_or(Outcome::Inconclusive);
    if outcomes.len() < kinds.len() {
        outcome = outcome.and(Outcome::Inconclusive);
    }
    let is_absent = |group: &&String| !kinds.iter().any(|tools| campaign::is_of(&tools.device, group));
    for group in whole.groups.iter().filter(|_| args.gpus.is_some()).filter(is_absent) {
        outcome = outcome.and(Outcome::Inconclusive);
        if said {
            writeln!(out, "{:<12} on {group}: no such GPU was selected", Outcome::Inconclusive.words())?;
        }
    }
    Ok(outcome)
}

/// Measures on one GPU model, with the launches that the phase has there.
fn on_kind(
    args: &RunArgs,
    whole: &Phase,
    narrowed: Option<&PhaseSubset>,
    tools: &Tools,
    invocation: &Invocation,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let whole = tools.on_gpu(whole);
    let (phase, plan) = part(narrowed.unwrap_or(&PhaseSubset::default()), &whole, &unroll(&whole)?)?;
    live(args, MeasurementTarget { phase: &phase, plan: &plan, narrowed }, tools, invocation, out)
}

/// The part of a phase and of its plan.
fn part(asked: &PhaseSubset, whole: &Phase, plan: &Plan) -> Result<(Phase, Plan), CommandError> {
    asked.of(whole, plan).map_err(|error| CommandError::Usage(error.to_string()))
}

/// A phase of ncu reports measures nothing.
pub fn refuse_reports(phase: &Phase) -> Result<(), CommandError> {
    let file = phase.file.display();
    let why = format!(
        "{file} measures nothing: its variants are launches of ncu reports; judge them with `ncugate gate {file} REPORT`"
    );
    refuse(phase.is_of_reports(), &why)
}

/// Judges the recording of the phase; `why` is the reason if it was not requested.
fn recorded(
    args: &RunArgs,
    phase: Phase,
    why: Option<&CampaignError>,
    invocation: &Invocation,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let Some(folder) = phase.recording.clone() else {
        let name = phase.file.display();
        return Err(CommandError::Usage(format!("{name} names no recording; add `recording` under [phase]")));
    };
    let metrics = required_metrics::metrics(&phase);
    let capability = |run: &Run| run.manifest.fingerprint.gpu.as_ref().map(|gpu| gpu.compute_capability);
    let run = PhaseRun::of_phase(phase, &folder, |run| required_metrics::counters(&metrics, capability(run)))?;
    let folder = folder.display().to_string();
    let source = match why {
        None => RunSource::Recorded { folder },
        Some(why) => RunSource::Unasked { folder, why: why.lacking() },
    };
    conclude(&run, source, &args.against, &args.folders, &args.saying, invocation, out)
}
