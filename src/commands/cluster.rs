//! `ncugate cluster slurm`: a phase on a cluster.

use super::project::open_phase;
use super::run::refuse_reports;
use super::{CommandError, print, signal, verbosity};
use crate::cli::{OutputFormat, SlurmArgs, SubmitArgs};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_campaign::manifest;
use ncugate_cuda::build::Arch;
use ncugate_exchange::submit::{Follower, Scheduler, SubmissionOutcome, SubmitFolder, Work, script};
use ncugate_judge::store::Fingerprint;
use ncugate_model::digest::sha256;
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Plan, unroll};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf, absolute};
use std::time::Duration;

/// The folder of scripts, outputs and shards in the root of the project, on a disk that all nodes share.
const JOBS: &str = "jobs";

/// Submits and follows a phase on Slurm; returns the outcome of its judgement.
pub fn slurm(args: &SlurmArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let mut given = args.options.iter().chain(&args.cpu_options).chain(&args.time);
    given.try_for_each(|option| one_line(option))?;
    let gres = format!("--gres={}:1", args.gres.kind);
    let scheduler = Scheduler {
        at_once: args.gres.count.saturating_mul(args.nodes),
        options: args.options.clone(),
        gpu_options: [gres].into_iter().chain(args.time.iter().map(|time| format!("--time={time}"))).collect(),
        cpu_options: args.cpu_options.clone(),
    };
    submit(scheduler, &args.submit, invocation, out)
}

fn submit(
    scheduler: Scheduler,
    args: &SubmitArgs,
    invocation: &Invocation,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let config =
        args.config.canonicalize().map_err(|source| CommandError::Input { path: args.config.clone(), source })?;
    let phase = open_phase(&args.config, invocation)?;
    let plan = unroll(&phase)?;
    refuse(&phase)?;
    let shards = args.shards.unwrap_or(scheduler.at_once);
    let work = work(args, &phase, config, shards)?;
    let jobs = absolute(JOBS)?;
    let key = key(&phase, &plan, shards);
    if args.dry_run {
        return dry_run(&scheduler, &work, &SubmitFolder::name(&jobs, &phase.name, &key), args.format, out);
    }
    signal::watch();
    let folder = SubmitFolder::open(&jobs, &phase.name, &key, args.fresh)?;
    let progress = verbosity::progress();
    let follower = Follower {
        scheduler: &scheduler,
        work: &work,
        folder: &folder,
        retries: args.retries,
        interval: Duration::from_secs(args.interval),
        progress: &progress,
    };
    let jobs = follower.begin()?;
    let is_text = args.format == OutputFormat::Text;
    if is_text {
        writeln!(out, "submitted to Slurm: {}", folder.path().display())?;
    }
    let followed = if args.detach { None } else { Some(follower.follow(jobs)?) };
    // The follower accepts no other status as a verdict.
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
            let found = json!({ "engine": "Slurm", "folder": folder.path(), "outcome": outcome.words(), "said": said });
            print::json(&found, out)?;
        }
    }
    Ok(outcome)
}

fn one_line(option: &str) -> Result<(), CommandError> {
    match option.chars().any(char::is_control) {
        true => Err(CommandError::Usage("an option of sbatch has a control character".to_owned())),
        false => Ok(()),
    }
}

/// Refuses phases that cannot be split into shards.
fn refuse(phase: &Phase) -> Result<(), CommandError> {
    refuse_reports(phase)?;
    match phase.search.is_some() {
        true => Err(CommandError::Usage(
            "a search chooses its candidates on one machine: remove [search] from the phase to submit its sweep"
                .to_owned(),
        )),
        false => Ok(()),
    }
}

fn work(args: &SubmitArgs, phase: &Phase, config: PathBuf, shards: u32) -> Result<Work, CommandError> {
    let arch = args.arch.as_ref().or(phase.build.arch.as_ref());
    let arch = arch.map(|text| text.parse::<Arch>().map(|arch| arch.to_string())).transpose()?;
    let cache = std::env::var_os("NCUGATE_CACHE").map(PathBuf::from).or_else(|| phase.build.cache.clone());
    let cache = match cache {
        Some(cache) => absolute(cache)?,
        None => absolute(JOBS)?.join("cache"),
    };
    Ok(Work {
        phase: phase.name.clone(),
        config,
        root: phase.root.clone(),
        program: std::env::current_exe()?,
        shards,
        arch,
        cache,
        profiles: absolute(&args.folders.profiles)?,
        reports: absolute(&args.folders.reports)?,
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

fn dry_run(
    scheduler: &Scheduler,
    work: &Work,
    folder: &Path,
    format: OutputFormat,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let mut scripts = Vec::new();
    for stage in work.stages() {
        let (path, text) = (folder.join(format!("{stage}.sh")), script(stage, work, folder, scheduler)?);
        match format {
            OutputFormat::Json => scripts.push(json!({ "file": path, "text": text })),
            OutputFormat::Text => writeln!(out.machine(), "# {}\n{text}", path.display())?,
        }
    }
    if format == OutputFormat::Json {
        print::json(&json!({ "scripts": scripts }), out)?;
    }
    Ok(Outcome::Passed)
}
