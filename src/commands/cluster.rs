//! `ncugate cluster slurm`: a phase on a cluster.

use super::project::open_phase;
use super::run::refuse_reports;
use super::{CommandError, print, signal, verbosity};
use crate::cli::{OutputFormat, SlurmArgs};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_campaign::manifest;
use ncugate_exchange::{Submission, SubmissionOutcome};
use ncugate_judge::store::Fingerprint;
use ncugate_model::digest::sha256;
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Plan, unroll};
use serde_json::json;
use std::io::Write;
use std::path::{PathBuf, absolute};

/// The folder of scripts, outputs and shards in the root of the project, on a disk that all nodes share.
const JOBS: &str = "jobs";

/// Submits and follows a phase on Slurm; returns the outcome of its judgement.
pub fn slurm(args: &SlurmArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let submission = submission(args, invocation)?;
    let is_text = args.format == OutputFormat::Text;
    if args.dry_run {
        let shards: Vec<u32> = (1..=submission.shards).collect();
        let (file, text) = (submission.script(), submission.text()?);
        let submits = [submission.arguments(&shards, None), submission.arguments(&[], Some("ARRAY"))];
        if is_text {
            writeln!(out.machine(), "# {}\n{text}", file.display())?;
            submits.iter().try_for_each(|words| writeln!(out, "sbatch {}", words.join(" ")))?;
        } else {
            print::json(&json!({ "scripts": [{ "file": file, "text": text }], "sbatch": submits }), out)?;
        }
        return Ok(Outcome::Passed);
    }
    signal::watch();
    let progress = verbosity::progress();
    let (jobs, _lock) = submission.begin(&progress)?;
    if is_text {
        writeln!(out, "submitted to Slurm: {}", submission.folder.display())?;
    }
    let followed = if args.detach { None } else { Some(submission.follow(jobs, &progress)?) };
    // A submission accepts no other status as a verdict.
    let outcome = followed
        .as_ref()
        .map_or(Outcome::Inconclusive, |followed| Outcome::of_status(followed.status).unwrap_or(Outcome::Environment));
    match &followed {
        Some(SubmissionOutcome { output, .. }) if is_text => write!(out, "{output}")?,
        None if is_text => {
            writeln!(out, "nothing was judged: the same command without --detach waits for the verdict")?
        }
        _ => {
            let said = followed.as_ref().map(|followed| &followed.output);
            let found = json!({ "folder": submission.folder, "outcome": outcome.words(), "said": said });
            print::json(&found, out)?;
        }
    }
    Ok(outcome)
}

/// # Errors
/// The phase cannot be split into shards.
fn submission(args: &SlurmArgs, invocation: &Invocation) -> Result<Submission, CommandError> {
    let config =
        args.config.canonicalize().map_err(|source| CommandError::Input { path: args.config.clone(), source })?;
    let phase = open_phase(&args.config, invocation)?;
    let plan = unroll(&phase)?;
    refuse_reports(&phase)?;
    if phase.search.is_some() {
        return Err(CommandError::Usage(
            "a search chooses its candidates on one machine: remove [search] from the phase to submit its sweep"
                .to_owned(),
        ));
    }
    let shards = args.shards.unwrap_or(args.gres.count);
    let jobs = absolute(JOBS)?;
    let cache = std::env::var_os("NCUGATE_CACHE").map(PathBuf::from).or_else(|| phase.build.cache.clone());
    let gres = format!("--gres={}:1", args.gres.kind);
    Ok(Submission {
        folder: jobs.join(&phase.name).join(key(&phase, &plan, shards)),
        phase: phase.name.clone(),
        config,
        root: phase.root.clone(),
        program: std::env::current_exe()?,
        cache: cache.map_or_else(|| Ok(jobs.join("cache")), absolute)?,
        profiles: absolute(&args.folders.profiles)?,
        reports: absolute(&args.folders.reports)?,
        shards,
        at_once: args.gres.count,
        options: [gres].into_iter().chain(args.options.iter().cloned()).collect(),
    })
}

/// The identity of a submission: the phase with its files, and the number of shards.
fn key(phase: &Phase, plan: &Plan, shards: u32) -> String {
    let manifest = manifest(phase, plan, Fingerprint::default());
    let parts = serde_json::json!([
        env!("NCUGATE_VERSION"),
        manifest.config_sha256,
        manifest.project,
        manifest.plan_sha256,
        manifest.sources,
        manifest.inputs,
        shards,
    ]);
    sha256(parts.to_string().as_bytes()).chars().take(12).collect()
}
