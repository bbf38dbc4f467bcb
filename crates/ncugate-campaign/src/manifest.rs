//! Provenance of a run: hashes, commit, command line.

use super::git::Repository;
use jiff::Timestamp;
use ncugate_cuda::build::compiler_environment;
use ncugate_judge::store::{Fingerprint, Git, Manifest, ShardOf, inputs, settings};
use ncugate_model::digest::sha256;
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Plan, Shard};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The manifest of a run that measures and starts now: also the commit of the project.
pub fn measured_manifest(phase: &Phase, plan: &Plan, fingerprint: Fingerprint) -> Manifest {
    let manifest = manifest(phase, plan, fingerprint);
    Manifest { git: git(phase, manifest.inputs.keys()), ..manifest }
}

/// The manifest of a run that starts now, without the commit of the project: where nothing is measured, the project can be
/// a stranger's, and no process starts.
pub fn manifest(phase: &Phase, plan: &Plan, fingerprint: Fingerprint) -> Manifest {
    let fresh = Manifest::new(phase, fingerprint, Timestamp::now());
    let inputs = inputs::hashes(&phase.root, inputs::named(phase, plan));
    Manifest {
        argv: argv(std::env::args_os()),
        plan_sha256: measured_sha256(phase, plan, &fresh.settings),
        sources: inputs::hashes(&phase.root, inputs::sources(&phase.root, plan)).into_iter().collect(),
        inputs,
        warnings: compiler_environment::added_flags().map(flags_of_environment).collect(),
        ..fresh
    }
}

fn flags_of_environment((name, flags): (&'static str, String)) -> String {
    format!("the environment adds flags to nvcc: {name}={flags}")
}

/// The manifest of a run that measures a shard of `plan` and starts now.
pub fn shard_manifest(phase: &Phase, plan: &Plan, shard: Shard, fingerprint: Fingerprint) -> Manifest {
    let whole_sha256 = measured_sha256(phase, plan, &settings(phase));
    let manifest = measured_manifest(phase, &plan.shard(shard), fingerprint);
    let run = format!("{}-s{}of{}", manifest.run, shard.index, shard.count);
    Manifest { run, shard: Some(ShardOf { shard, whole_sha256 }), ..manifest }
}

/// The command line as text. Invalid UTF-8 in an argument becomes U+FFFD.
fn argv(arguments: impl Iterator<Item = OsString>) -> Vec<String> {
    arguments.map(|argument| argument.to_string_lossy().into_owned()).collect()
}

/// Hash of everything that decides which measurements a run takes, except file contents. Gates, titles and tiers are
/// excluded, so that a run can resume after its gates were edited.
fn measured_sha256(phase: &Phase, plan: &Plan, settings: &BTreeMap<String, String>) -> String {
    let parts = serde_json::json!({
        "plan": plan,
        "workload": phase.workload,
        "settings": settings,
        "profiled": format!("{:?}", phase.profile),
        "programs": programs(&phase.root, plan),
        "compiler": compiler_environment::variables(),
    });
    sha256(parts.to_string().as_bytes())
}

/// Programs outside the project, by name, with their current hash. They belong to the machine: a run cannot continue
/// with different ones, but a recording can be judged on any machine.
fn programs(root: &Path, plan: &Plan) -> BTreeMap<String, Option<String>> {
    let program = |argv: &[String]| argv.first().filter(|name| inputs::own_program(root, name).is_none()).cloned();
    let hash = |name: &str| {
        let path = which::which(name).ok()?.canonicalize().ok()?;
        inputs::input_sha256(&path).ok()
    };
    let names = plan.commands().filter_map(|(_, command)| program(&command.argv));
    names.map(|name| (name.clone(), hash(&name))).collect()
}

/// The folders of runs and reports.
const RESULTS: [&str; 2] = ["profiles", "reports"];

/// The commit of the project, if it is in a git repository. It is dirty if a tracked file outside [`RESULTS`] differs from
/// the commit, or if the commit lacks an input of the run. (Files of `--base` are in `profiles`, and from its commit.)
fn git<'i>(phase: &Phase, inputs: impl Iterator<Item = &'i String>) -> Option<Git> {
    let repository = Repository::around(&phase.root).ok()?;
    let results = RESULTS.map(|folder| OsString::from(format!(":(exclude){folder}")));
    let tracked: Vec<&OsStr> =
        [OsStr::new(":(top)")].into_iter().chain(results.iter().map(OsString::as_os_str)).collect();
    let file = std::path::absolute(&phase.file).ok()?;
    let mut named: Vec<&OsStr> = vec![file.as_os_str()];
    let is_own = |path: &Path| path.is_relative() && !RESULTS.iter().any(|folder| path.starts_with(folder));
    inputs.filter(|path| is_own(Path::new(path))).for_each(|path| named.push(path.as_ref()));
    let dirty = repository.dirty(&phase.root, &tracked, &named).unwrap_or(true);
    Some(Git { commit: repository.commit, dirty })
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
