//! `ncugate run` with a GPU: measures the phase.

use super::conclude::conclude_in;
use super::progress::Terminal;
use super::{CommandError, refuse, report_error, verbosity};
use crate::cli::RunArgs;
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_campaign::search::{Exploration, SearchOutcome, with_chosen};
use ncugate_campaign::{
    CampaignError, GpuWait, LiveError, LiveRun, MeasuredRun, Progress as _, ResumePolicy, Tools, unbuilt,
};
use ncugate_cuda::build::{Deduplication, prove_tools};
use ncugate_cuda::host::{check_reference, null_test};
use ncugate_judge::reference_runs::{ReferenceRequest, ReferenceRuns};
use ncugate_judge::unmet;
use ncugate_model::ComputeCapability;
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{PhaseSubset, Plan, unroll};
use ncugate_report::RunSource;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The measured phase and plan, or a part of them.
#[derive(Clone, Copy)]
pub struct MeasurementTarget<'a> {
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    /// The part, unless they are whole.
    pub narrowed: Option<&'a PhaseSubset>,
}

/// Measures the phase, then judges and reports it.
pub fn live(
    args: &RunArgs,
    measured: MeasurementTarget<'_>,
    tools: &Tools,
    invocation: &Invocation,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let MeasurementTarget { phase, plan, narrowed } = measured;
    let request = ReferenceRequest::from(&args.against);
    ReferenceRuns::validate(phase, Some(&tools.fingerprint()), &request, &args.folders.profiles, invocation.today())?;
    if let Some((stop, outcome)) = no_go(phase, Some(tools.device.compute_capability)) {
        writeln!(out, "{stop}")?;
        return Ok(unmeasured(args, outcome));
    }
    prove_tools(phase, plan, &tools.arch(phase)?)?;
    let progress = verbosity::progress();
    progress.stage("test the tolerance on wrong answers", 1);
    let tried = null_test(phase, &[]);
    let answered = tried.is_ok().then(|| check_reference(phase, plan)).transpose();
    progress.step("");
    progress.clear();
    let tried = tried?;
    answered?;
    let (profiles, request) = (args.folders.profiles.as_path(), &request);
    let start = if args.fresh { ResumePolicy::Fresh } else { ResumePolicy::Continue };
    let patience: GpuWait = args.waiting.into();
    let sharing = if args.no_share { Deduplication::Each } else { Deduplication::Share };
    let why = "a search chooses its candidates on one machine: remove [search] from the phase to shard its sweep";
    refuse(args.shard.is_some() && phase.search.is_some(), why)?;
    let searched = searched(phase, tools, profiles, start, patience, &progress)?;
    let searched = searched.as_ref();
    let (phase, plan) = searched.map_or((phase, plan), |(phase, plan, _)| (phase, plan));
    let journal = searched.map(|(_, _, journal)| journal.as_path());
    let known = args.deep.iter().try_for_each(|choice| choice.validate(plan));
    known.map_err(|unknown| CommandError::Usage(unknown.to_string()))?;
    let run = LiveRun {
        phase,
        plan,
        tools,
        profiles,
        request,
        today: invocation.today(),
        start,
        sharing,
        patience,
        progress: &progress,
        narrowed,
        searched: journal,
        deep: &args.deep,
        null_test: &tried,
        ablation: !args.no_measure,
    };
    if let Some(shard) = args.shard {
        let measured = run.measure_shard(shard);
        progress.clear();
        let folder = measured?;
        writeln!(
            out,
            "shard {shard} measured in {}\nnothing was judged: `ncugate cluster merge` merges all shards",
            folder.display()
        )?;
        return Ok(Outcome::Inconclusive);
    }
    let start = match run.measure_shards(&args.folders.reports) {
        Err(LiveError::Campaign(CampaignError::Interrupted)) if args.time_budget.is_some() => {
            progress.clear();
            return Ok(unmeasured(args, Outcome::Inconclusive));
        }
        start => start?,
    };
    let measured = LiveRun { start, ..run }.measure();
    progress.clear();
    let MeasuredRun { session, ended } = measured?;
    if let Some(journal) = journal.filter(|_| ended.is_ok()) {
        // The run has a copy; a remaining journal would end the next search at once.
        ncugate_judge::store::forget_search(journal);
    }
    let folder = args.folders.report(&phase.name, &session.measurements().run().manifest.run);
    let (judged, ended) = match (conclude_in(&folder, &session, RunSource::Live, &args.saying, invocation, out), ended)
    {
        (Ok(judged), ended) => (judged, ended),
        (Err(error), Ok(())) => return Err(error),
        (Err(error), Err(cause)) => {
            // The cause is the first error.
            report_error(&cause.into());
            return Err(error);
        }
    };
    let builds = session.measurements().run().builds.iter();
    let own: Vec<_> = builds.filter(|build| plan.candidates().any(|variant| variant.id == build.variant)).collect();
    let judged = if unbuilt(&own).is_some() { unmeasured(args, judged) } else { judged };
    Ok(match ended {
        Ok(()) => judged,
        // The request was fulfilled, but the run is incomplete and does not pass.
        Err(LiveError::Campaign(CampaignError::Interrupted)) if args.time_budget.is_some() => {
            unmeasured(args, judged.and(Outcome::Inconclusive))
        }
        Err(error) => report_error(&error.into()).and(judged),
    })
}

/// The candidates chosen by a search, as a phase and plan, with the journal of the search; `None` if nothing is left to choose.
fn searched(
    phase: &Phase,
    tools: &Tools,
    profiles: &Path,
    start: ResumePolicy,
    patience: GpuWait,
    progress: &Terminal,
) -> Result<Option<(Phase, Plan, PathBuf)>, CommandError> {
    let Some(settings) = phase.search.as_ref().filter(|_| phase.sweep.points.is_none()) else { return Ok(None) };
    let anew = start == ResumePolicy::Fresh;
    let explored = Exploration { phase, settings, tools, profiles, patience, anew, progress }.run();
    progress.clear();
    let SearchOutcome { chosen, journal } = explored?;
    let mut chosen = with_chosen(phase, &chosen)?;
    // The text that was read again has no waivers of the command line.
    chosen.gate_plan.waivers.clone_from(&phase.gate_plan.waivers);
    let phase = chosen;
    let plan = unroll(&phase)?;
    Ok(Some((phase, plan, journal)))
}

/// The outcome of a run that does not launch every candidate that it has to. For `git bisect` it decides nothing.
pub fn unmeasured(args: &RunArgs, outcome: Outcome) -> Outcome {
    if args.bisect_status { Outcome::Inconclusive } else { outcome }
}

/// The precondition that stops a run before anything is built.
pub fn no_go(phase: &Phase, gpu: Option<ComputeCapability>) -> Option<(String, Outcome)> {
    let result = unmet(phase, gpu)?;
    let word = result.verdict.mark();
    let text = format!("{word} precondition '{}': {}; nothing was built", result.name, result.reason);
    Some((text, result.verdict.into()))
}
