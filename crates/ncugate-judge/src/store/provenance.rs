//! What a run has to remember of where it came from: hashes, commit, command line.

use super::settings::settings;
use super::{Fingerprint, Git, Manifest, RunState, SCHEMA, ShardOf, inputs};
use jiff::Timestamp;
use ncugate_model::digest::sha256;
use ncugate_model::process;
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Plan, Shard, compiler_environment};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

/// git answers in milliseconds or not at all.
const GIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The manifest of a run that starts now.
pub fn manifest(phase: &Phase, plan: &Plan, fingerprint: Fingerprint) -> Manifest {
    let started = Timestamp::now();
    let settings = settings(phase);
    Manifest {
        schema: SCHEMA,
        ncugate: env!("CARGO_PKG_VERSION").to_owned(),
        phase: phase.name.clone(),
        run: started.strftime("%Y%m%dT%H%M%SZ").to_string(),
        state: RunState::Running,
        started,
        finished: None,
        continued: Vec::new(),
        argv: argv(std::env::args_os()),
        fingerprint,
        config_sha256: sha256(phase.text.as_bytes()),
        plan_sha256: measured_sha256(phase, plan, &settings),
        sources: inputs::hashes(inputs::sources(plan)).into_iter().collect(),
        null_test: None,
        inputs: Some(inputs::hashes(inputs::named(phase, plan))),
        settings,
        project: phase.project.clone(),
        git: git(),
        stage_seconds: Vec::new(),
        software: BTreeMap::new(),
        redacted: false,
        verdict: None,
        stopped: None,
        shard: None,
        narrowed: None,
        others: Vec::new(),
        merged: Vec::new(),
        warnings: compiler_environment::added_flags().map(flags_of_environment).collect(),
        seal: None,
    }
}

fn flags_of_environment((name, flags): (&'static str, String)) -> String {
    format!("nvcc was given more flags by the environment: {name}={flags}")
}

/// The manifest of a run that measures a shard of `plan` and starts now.
pub fn shard_manifest(phase: &Phase, plan: &Plan, shard: Shard, fingerprint: Fingerprint) -> Manifest {
    let whole_sha256 = measured_sha256(phase, plan, &settings(phase));
    let manifest = manifest(phase, &plan.shard(shard), fingerprint);
    let run = format!("{}-s{}of{}", manifest.run, shard.index, shard.count);
    Manifest { run, shard: Some(ShardOf { shard, whole_sha256 }), ..manifest }
}

/// The command line as text. An argument that is not UTF-8 keeps what is, with U+FFFD for the rest.
fn argv(arguments: impl Iterator<Item = OsString>) -> Vec<String> {
    arguments.map(|argument| argument.to_string_lossy().into_owned()).collect()
}

/// What decides what is measured, without the content of files: not gates, titles or tiers, so that a run whose gates were
/// edited can go on.
fn measured_sha256(phase: &Phase, plan: &Plan, settings: &BTreeMap<String, String>) -> String {
    let parts = serde_json::json!({
        "plan": plan,
        "workload": phase.workload,
        "settings": settings,
        "profiled": format!("{:?}", phase.profile),
        "programs": inputs::programs(plan),
        "compiler": compiler_environment::variables(),
    });
    sha256(parts.to_string().as_bytes())
}

/// The commit of the working directory, if it is in a git repository.
fn git() -> Option<Git> {
    let ask = |args: &[&str]| {
        let output = process::run(process::git().args(args), GIT_TIMEOUT).ok()?;
        output.ending.completed().then(|| output.stdout.trim().to_owned())
    };
    let commit = ask(&["rev-parse", "HEAD"])?;
    let dirty = ask(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|text| !text.is_empty());
    Some(Git { commit, dirty })
}

#[cfg(test)]
mod tests {
    use super::argv;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn an_argument_that_is_not_utf_8_is_kept_as_far_as_it_is_text() {
        let given = [OsString::from("run"), OsString::from_vec(b"caf\xe9.toml".to_vec())];
        assert_eq!(argv(given.into_iter()), ["run", "caf\u{fffd}.toml"]);
    }
}
