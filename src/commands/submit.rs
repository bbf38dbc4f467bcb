//! `ncugate submit`: a phase on a cluster.

use super::project::open_phase;
use super::run::refuse_reports;
use super::{CommandError, print, signal, verbosity};
use crate::cli::{OutputFormat, SubmitArgs, SubmitCommand};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_campaign::manifest;
use ncugate_cuda::build::Arch;
use ncugate_exchange::submit::{
    Engine, Follower, HyperQueue, Retries, Script, Slurm, SubmissionOutcome, SubmitFolder, Work, text,
};
use ncugate_judge::store::Fingerprint;
use ncugate_model::digest::sha256;
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Plan, unroll};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf, absolute};
use std::time::Duration;

/// Submits and follows a phase; the outcome is that of judging it.
pub fn submit(command: &SubmitCommand, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let (engine, at_once) = engine(command)?;
    let args = command.args();
    let config =
        args.config.canonicalize().map_err(|source| CommandError::Input { path: args.config.clone(), source })?;
    let phase = open_phase(&args.config, invocation)?;
    let plan = unroll(&phase)?;
    refuse(&phase)?;
    let shards = args.shards.unwrap_or(at_once);
    let work = work(args, &phase, config, shards)?;
    let jobs = absolute(&args.jobs)?;
    let key = key(&phase, &plan, shards);
    if args.dry_run {
        return dry_run(&*engine, &work, &SubmitFolder::preview(&jobs, &phase.name, &key), args.format, out);
    }
    signal::watch();
    let folder = SubmitFolder::open(&jobs, &phase.name, &key, args.fresh)?;
    let progress = verbosity::progress();
    let follower = Follower {
        engine: &*engine,
        work: &work,
        folder: &folder,
        retries: Retries(args.retries),
        interval: Duration::from_secs(args.interval),
        progress: &progress,
    };
    let submission = follower.begin()?;
    let is_text = args.format == OutputFormat::Text;
    if is_text {
        writeln!(out, "submitted to {}: {}", engine.name(), folder.path().display())?;
    }
    let followed = if args.detach { None } else { Some(follower.follow(submission)?) };
    // The follower takes no other status for a verdict.
    let outcome = followed
        .as_ref()
        .map_or(Outcome::Inconclusive, |followed| Outcome::of_status(followed.status).unwrap_or(Outcome::Environment));
    match &followed {
        Some(SubmissionOutcome { said, .. }) if is_text => write!(out, "{said}")?,
        None if is_text => {
            writeln!(out, "nothing was judged: the same command without --detach follows to the verdict")?
        }
        _ => {
            let said = followed.as_ref().map(|followed| &followed.said);
            let (engine, folder) = (engine.name(), folder.path());
            let found = json!({ "engine": engine, "folder": folder, "outcome": outcome.words(), "said": said });
            print::json(&found, out)?;
        }
    }
    Ok(outcome)
}

/// The engine, and how many tasks it may run at once.
fn engine(command: &SubmitCommand) -> Result<(Box<dyn Engine>, u32), CommandError> {
    match command {
        SubmitCommand::Slurm(args) => {
            let given = args.options.iter().chain(&args.cpu_options).chain(&args.time);
            given.clone().try_for_each(|option| one_line(option))?;
            let slurm = Slurm {
                gres: args.gres.clone(),
                nodes: args.nodes,
                time: args.time.clone(),
                options: args.options.clone(),
                cpu_options: args.cpu_options.clone(),
            };
            let at_once = slurm.at_once();
            Ok((Box::new(slurm), at_once))
        }
        SubmitCommand::Hq(args) => {
            let Some(shards) = args.submit.shards else {
                let what = "HyperQueue does not say how many GPUs there will be: give --shards N";
                return Err(CommandError::Usage(what.to_owned()));
            };
            Ok((Box::new(HyperQueue { resource: args.resource.clone(), options: args.options.clone() }), shards))
        }
    }
}

fn one_line(option: &str) -> Result<(), CommandError> {
    match option.chars().any(char::is_control) {
        true => Err(CommandError::Usage("an option of sbatch has a control character".to_owned())),
        false => Ok(()),
    }
}

/// Refuses phases that cannot be cut into shards.
fn refuse(phase: &Phase) -> Result<(), CommandError> {
    refuse_reports(phase)?;
    match phase.search.is_some() {
        true => Err(CommandError::Usage(
            "a search chooses its candidates on one machine: give the phase its sweep without [search] to submit it"
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
        None => absolute(&args.jobs)?.join("cache"),
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

/// What a submission is of: the phase with its files, and into how many shards it is cut.
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
    engine: &dyn Engine,
    work: &Work,
    folder: &SubmitFolder,
    format: OutputFormat,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let mut scripts = Vec::new();
    for stage in work.stages() {
        let script = Script { stage, work, folder: folder.path(), shards: (1..=work.shards).collect() };
        let path: &Path = &script.path();
        match format {
            OutputFormat::Json => scripts.push(json!({ "file": path, "text": text(&script, engine)? })),
            OutputFormat::Text => writeln!(out.machine(), "# {}\n{}", path.display(), text(&script, engine)?)?,
        }
    }
    if format == OutputFormat::Json {
        print::json(&json!({ "scripts": scripts }), out)?;
    }
    Ok(Outcome::Passed)
}
