//! `ncugate agent try`: one candidate against the best so far.

use super::measure::no_go;
use super::project::open_phase;
use super::{CommandError, print, signal};
use crate::cli::TryArgs;
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_campaign::search::{
    AttemptAnswer, AttemptHistory, AttemptPhase, AttemptRecord, AttemptSource, MAX_SOURCE, attempt_phase, line,
    untried, usual_params,
};
use ncugate_campaign::{LiveRun, MeasuredRun, NoProgress, ResumePolicy, Tools};
use ncugate_cuda::build::Deduplication;
use ncugate_cuda::host::null_test;
use ncugate_judge::reference_runs::{MismatchPolicy, ReferenceRequest};
use ncugate_model::digest::sha256;
use ncugate_model::disk::open;
use ncugate_model::expr::Value;
use ncugate_phase::config::Phase;
use ncugate_phase::plan::unroll;
use ncugate_report::write::write;
use ncugate_report::{RunSource, assemble};
use std::io;
use std::path::Path;

/// Measures the candidate together with the best so far, keeps it in the history, and prints one line of JSON.
pub fn attempt(args: &TryArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let phase = open_phase(&args.config, invocation)?;
    let bytes = open::named(&args.source, MAX_SOURCE)
        .map_err(|e| CommandError::Usage(format!("cannot read --source {}: {e}", args.source.display())))?;
    let mut history = AttemptHistory::open(&args.folders.profiles, &phase.name)?;
    let usual = usual_params(&phase);
    let elite = history.elite()?;
    let parent = elite.as_ref().map(|(attempt, _)| *attempt);
    let elite = elite.map_or(AttemptSource { file: None, include: None, params: usual }, |(_, source)| source);
    let source =
        AttemptSource { file: Some(args.source.clone()), include: None, params: params(&elite.params, &args.params)? };
    let made = attempt_phase(&phase, &source, &elite)?;
    let (report, run, commit) = measured(args, &made, invocation)?;
    let number = history.attempts.len();
    let mut answer = AttemptAnswer::new(number, &report, &made.faster, &made.left_out, run.clone());
    let unchanged = open::named(&args.source, MAX_SOURCE).is_ok_and(|now| now == bytes);
    // The kept files must be the measured files.
    answer.accepted &= unchanged;
    let record = AttemptRecord {
        attempt: number,
        parent,
        idea: args.idea.clone().unwrap_or_default(),
        source_sha256: sha256(&bytes),
        include: args.source.parent().map(Path::to_owned).unwrap_or_default(),
        params: source.params,
        run,
        commit,
        verdict: answer.verdict,
        accepted: answer.accepted,
        speedup: answer.speedup.clone(),
    };
    let kept = history.keep(record, &bytes)?;
    (answer.attempt, answer.accepted) = (kept.attempt, kept.accepted);
    answer.proposals = untried(&phase, &history.attempts);
    let text = line(&mut answer, |answer| {
        answer.changes.pop().is_some()
            || answer.proposals.pop().is_some()
            || answer.finding.take().is_some()
            || answer.diagnosis.take().is_some()
            || answer.times.pop_last().is_some()
    });
    print::json_text(&text.map_err(io::Error::other)?, out)?;
    Ok(report.headline.verdict.into())
}

/// The report of an attempt, the folder of its run, and the commit.
fn measured(
    args: &TryArgs,
    made: &AttemptPhase,
    invocation: &Invocation,
) -> Result<(ncugate_report::RunReport, String, Option<String>), CommandError> {
    let phase: &Phase = &made.phase;
    unroll(phase)?;
    // The driver answers slowly, and the trial needs processor cores alone.
    let (tools, tried) = rayon::join(|| Tools::find(phase), || null_test(phase, &[]));
    let tools = tools?;
    let phase = &tools.on_gpu(phase);
    let plan = unroll(phase)?;
    if let Some((stop, _)) = no_go(phase, Some(tools.device.compute_capability)) {
        return Err(CommandError::Usage(stop));
    }
    let tried = tried?;
    signal::watch();
    let request = ReferenceRequest { name: None, mismatch: MismatchPolicy::Refuse };
    let run = LiveRun {
        deep: &[],
        phase,
        plan: &plan,
        tools: &tools,
        profiles: &args.folders.profiles,
        request: &request,
        today: invocation.today(),
        start: ResumePolicy::Fresh,
        sharing: Deduplication::Share,
        patience: args.waiting.into(),
        progress: &NoProgress,
        narrowed: None,
        searched: None,
        null_test: &tried,
        ablation: false,
    };
    let MeasuredRun { session, ended } = run.measure()?;
    ended?;
    let manifest = &session.measurements().run().manifest;
    let (id, commit) = (manifest.run.clone(), manifest.git.as_ref().map(|git| git.commit.clone()));
    let report = assemble(&session, RunSource::Live, Some(invocation.report_time))?;
    write(&report, &args.folders.report(&phase.name, &id))?;
    let folder = args.folders.profiles.join(&phase.name).join(&id);
    Ok((report, folder.display().to_string(), commit))
}

/// The parameters of the best, overridden by the given ones.
fn params(elite: &[(String, Value)], given: &[String]) -> Result<Vec<(String, Value)>, CommandError> {
    let mut params = elite.to_vec();
    for pair in given {
        let usage = || CommandError::Usage(format!("--set {pair} is not NAME=VALUE of a parameter of the phase"));
        let (name, value) = pair.split_once('=').ok_or_else(usage)?;
        let known = params.iter_mut().find(|(known, _)| known == name).ok_or_else(usage)?;
        known.1 = match value.parse() {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Text(value.to_owned()),
        };
    }
    Ok(params)
}
