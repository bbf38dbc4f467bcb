//! A phase on a cluster: a double of Slurm runs the scripts on the double of the driver.

use crate::command::{Finished, Place, root, wait_for};
use crate::concurrent::{ended, folders, manifest, start};
use crate::live::machine_of_kernels;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

type Variables = Vec<(&'static str, String)>;
const SUBMIT: [&str; 5] = ["cluster", "slurm", "phase.toml", "--shards", "3"];

/// A machine with four kernels, a cluster, and an empty queue.
fn cluster() -> (Place, Variables) {
    let (place, mut variables) =
        machine_of_kernels(&["copy_honest", "copy_slow", "copy_wrong", "copy_a"], "rounds = 5");
    let double = fs::read_to_string(root().join("tests/doubles/slurm")).unwrap();
    for name in ["sbatch", "squeue", "scancel"] {
        place.write_program(&format!("bin/{name}"), &double);
    }
    let queue = place.write("queue/.keep", "").parent().unwrap().display().to_string();
    variables.push(("NCUGATE_DOUBLE_JOBS", queue));
    (place, variables)
}

fn run(place: &Place, variables: &Variables, args: &[&str]) -> Finished {
    Finished::of(place.ncugate(args).envs(variables.clone()).timeout(Duration::from_secs(100)))
}

fn submissions(place: &Place) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place.path().join("jobs/copy")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Lines of a verdict without times of this machine.
fn verdict(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.starts_with("FAIL") || line.contains("proven correct")).collect()
}

#[test]
fn a_phase_on_a_cluster_has_the_verdict_of_one_machine() {
    let (place, variables) = cluster();
    let alone = run(&place, &variables, &["run", "phase.toml", "--source", "gpu"]);
    fs::remove_dir_all(place.path().join("profiles")).unwrap();
    let submitted = run(&place, &variables, &SUBMIT);
    assert_eq!(submitted.status, alone.status, "{submitted:?} {alone:?}");
    assert_eq!(verdict(&submitted.stdout), verdict(&alone.stdout));
    assert!(!verdict(&alone.stdout).is_empty() && submitted.stderr.contains("3 of 3 shards measured"), "{submitted:?}");
    let merged = folders(&place).remove(0);
    assert_eq!(
        (manifest(&merged)["state"].as_str(), manifest(&merged)["merged"].as_array().unwrap().len()),
        (Some("complete"), 3)
    );
    // an earlier verdict does not answer the next job
    let again = run(&place, &variables, &SUBMIT);
    assert_eq!((again.status, folders(&place).len()), (alone.status, 2), "{again:?}");
    let shard = submissions(&place)[0].join("shards/3/copy");
    assert_eq!(fs::read_dir(shard).unwrap().count(), 2, "each submission measures");
}

#[test]
fn a_task_that_is_lost_or_started_twice_is_measured_once() {
    let (place, variables) = cluster();
    place.write("queue/lose-2", "");
    place.write("queue/twice-3", "");
    let lost = run(&place, &variables, &SUBMIT);
    assert!(lost.status == Some(3) && lost.stderr.contains("1 shard not measured: 2"), "{lost:?}");
    assert!(folders(&place).is_empty(), "nothing is judged");
    let submitted = run(&place, &variables, &SUBMIT);
    assert_eq!(submitted.status, Some(4), "{submitted:?}");
    let arrays: Vec<String> = [101, 103]
        .iter()
        .map(|job| fs::read_to_string(place.path().join(format!("queue/{job}/array"))).unwrap())
        .collect();
    assert_eq!(arrays, ["1,2,3\n", "2\n"], "existing results are not measured again");
    assert_eq!(fs::read_dir(submissions(&place)[0].join("shards/3/copy")).unwrap().count(), 1);
}

#[test]
fn a_shard_that_cannot_be_measured_is_named_and_nothing_is_judged() {
    let (place, variables) = cluster();
    place.write("queue/break-2", "");
    let submitted = run(&place, &variables, &SUBMIT);
    assert_eq!(submitted.status, Some(3), "{submitted:?}");
    assert!(submitted.stderr.contains("1 shard not measured: 2 (error: no GPU on this node)"), "{submitted:?}");
    assert!(folders(&place).is_empty());
    // the node is repaired
    fs::remove_file(place.path().join("queue/break-2")).unwrap();
    let submitted = run(&place, &variables, &SUBMIT);
    assert_eq!((submitted.status, submissions(&place).len()), (Some(4), 1), "{submitted:?}");
}

#[test]
fn a_submission_that_a_checkout_brings_is_no_verdict() {
    let (place, variables) = cluster();
    let shown = run(&place, &variables, &[&SUBMIT[..], &["--dry-run", "--format", "json"]].concat());
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let script = PathBuf::from(shown["scripts"][0]["file"].as_str().unwrap());
    let folder = script.parent().unwrap().strip_prefix(place.path().canonicalize().unwrap()).unwrap().to_owned();
    let planted = |name: &str, text: &str| place.write(folder.join(name).to_str().unwrap(), text);
    planted("jobs", "7");
    planted("status.7", "0");
    let refused = run(&place, &variables, &SUBMIT);
    assert_eq!(refused.status, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("was not made by this user's `ncugate cluster slurm`: remove it"), "{refused:?}");
    fs::remove_dir_all(place.path().join("jobs")).unwrap();
    assert_eq!(run(&place, &variables, &SUBMIT).status, Some(4));
}

#[test]
fn a_dry_run_submits_nothing() {
    let (place, variables) = cluster();
    let shown = run(
        &place,
        &variables,
        &["cluster", "slurm", "phase.toml", "--gres", "gpu:h200:8", "--option=--time=30", "--dry-run"],
    );
    assert_eq!(shown.status, Some(0), "{shown:?}");
    for line in
        ["--gres=gpu:h200:1 --time=30 ", "--array=1,2,3,4,5,6,7,8%8", "shards=8", " merge --newest ", "afterok:ARRAY"]
    {
        assert!(shown.stdout.contains(line), "{line}: {}", shown.stdout);
    }
    assert!(submissions(&place).is_empty());
    for wrong in [&["--gres", "gpu:0"][..], &["--gres", "gpu\n#SBATCH --y"], &["--shards", "0"]] {
        assert_eq!(
            run(&place, &variables, &[&["cluster", "slurm", "phase.toml"], wrong].concat()).status,
            Some(2),
            "{wrong:?}"
        );
    }
}

#[test]
fn an_interrupt_cancels_the_jobs_and_the_same_command_goes_on() {
    let (place, variables) = cluster();
    place.write("queue/hold", "");
    let detached = run(&place, &variables, &[&SUBMIT[..], &["--detach"]].concat());
    assert_eq!(detached.status, Some(4), "{detached:?}");
    let jobs = || fs::read_to_string(submissions(&place)[0].join("jobs")).unwrap();
    assert_eq!(jobs(), "101 102");
    fs::remove_file(place.path().join("queue/looked")).unwrap();
    let follower = start(&place, &variables, &SUBMIT);
    wait_for("it follows", || place.path().join("queue/looked").exists());
    assert_eq!(jobs(), "101 102", "the submitted jobs are followed");
    kill(Pid::from_raw(follower.id().cast_signed()), Signal::SIGINT).unwrap();
    let (status, _, stderr) = ended(follower);
    assert_eq!(status, Some(3), "{stderr}");
    assert!(stderr.contains("were cancelled; the measurements are kept"), "{stderr}");
    assert!(place.path().join("queue/cancelled").exists());
    fs::remove_file(place.path().join("queue/hold")).unwrap();
    let submitted = run(&place, &variables, &SUBMIT);
    assert_eq!((submitted.status, submissions(&place).len()), (Some(4), 1), "{submitted:?}");
}
