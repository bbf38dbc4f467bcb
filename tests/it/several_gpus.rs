//! A run on several GPUs. The double of the driver shows the requested number.

use crate::command::{Finished, Place};
use crate::concurrent::{folders, manifest};
use crate::live::{latencies, machine_that_counts};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

type Variables = Vec<(&'static str, String)>;
const NAMES: [&str; 5] = ["copy_honest", "copy_slow", "copy_wrong", "copy_a", "copy_b"];
const FIRST: &str = "GPU-07070707-0707-0707-0707-070707070707";
const THIRD: &str = "GPU-09090909-0909-0909-0909-090909090909";

fn machine(devices: u32) -> (Place, Variables) {
    let (place, mut variables) = machine_that_counts(&NAMES, "rounds = 5");
    variables.push(("NCUGATE_DOUBLE_DEVICES", devices.to_string()));
    variables.push(("NCUGATE_DOUBLE_STARTS", place.path().join("starts").display().to_string()));
    (place, variables)
}

fn run(place: &Place, variables: &Variables, more: &[&str]) -> Finished {
    let mut command = place.ncugate(&[&["run", "phase.toml", "--source", "gpu"][..], more].concat());
    Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)))
}

/// Outcome of every variant: its checks, and whether it was timed and profiled.
fn outcomes(place: &Place) -> BTreeSet<String> {
    let folder = folders(place).remove(0);
    let mut found: BTreeSet<String> =
        latencies(place).into_iter().map(|(variant, outcome)| format!("{variant} {}", outcome["status"])).collect();
    for journal in ["checks.jsonl", "profiles.jsonl"] {
        for line in fs::read_to_string(folder.join(journal)).unwrap().lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            found.insert(format!("{journal} {} {} {}", record["variant"], record["seed"], record["outcome"]["status"]));
        }
    }
    found
}

/// Hashes of the GPUs that measured the shards of a run, in order.
fn shards(folder: &Path) -> Vec<String> {
    let merged = manifest(folder)["merged"].as_array().cloned().unwrap_or_default();
    merged.iter().map(|shard| shard["machine"]["gpu"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_gpu_measures_a_shard_and_the_first_confirms() {
    let (alone, variables) = machine(1);
    let undisturbed = run(&alone, &variables, &[]);
    let (place, variables) = machine(4);
    let finished = run(&place, &variables, &["--gpus", "0,2"]);
    assert_eq!((finished.status, undisturbed.status), (Some(0), Some(0)), "{finished:?} {undisturbed:?}");
    assert_eq!(outcomes(&place), outcomes(&alone));
    let [folder] = &folders(&place)[..] else { panic!("{:?}", folders(&place)) };
    assert_eq!(manifest(folder)["state"], "complete");
    // the manifest has only hashes of both UUIDs
    let said = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let home = manifest(folder)["fingerprint"]["machine"]["gpu"].as_str().unwrap().to_owned();
    let measured = shards(folder);
    assert!(measured.len() == 2 && measured[0] == home && measured[1] != home && !said.contains("GPU-0"), "{said}");
    // one ncu and one folder of locks per GPU
    let starts = fs::read_to_string(place.path().join("starts")).unwrap();
    let of = |gpu: &str| -> Vec<&str> { starts.lines().filter(|line| line.contains(gpu)).collect() };
    let scratch = |gpu: &str| of(gpu).iter().map(|line| line.split(' ').nth(3).unwrap()).collect::<BTreeSet<_>>();
    assert_eq!(of(FIRST).len() + of(THIRD).len(), starts.lines().count(), "{starts}");
    assert!(scratch(FIRST).len() == 1 && scratch(THIRD).len() == 1 && scratch(FIRST) != scratch(THIRD), "{starts}");
}

/// A complete run of a shard, as a checkout could bring it, is no measurement of this call.
#[test]
fn shards_of_another_call_do_not_count() {
    let (place, variables) = machine(2);
    let planted = run(&place, &variables, &["--shard", "2/2", "--profiles", "profiles/copy/shards-a/2"]);
    assert!(place.path().join("profiles/copy/shards-a/2/copy").is_dir(), "{planted:?}");
    let before = fs::read_to_string(place.path().join("starts")).unwrap().lines().count();
    let finished = run(&place, &variables, &["--gpus", "all"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let starts = fs::read_to_string(place.path().join("starts")).unwrap();
    assert!(starts.lines().skip(before).any(|line| !line.contains(FIRST)), "the second GPU measured: {starts}");
    let left: Vec<_> =
        fs::read_dir(place.path().join("profiles/copy")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.iter().filter(|name| name.to_str().unwrap().starts_with("shards-")).count(), 1, "{left:?}");
}

#[test]
fn what_cannot_be_split_is_measured_on_the_first_gpu() {
    let (place, variables) = machine(2);
    let part = run(&place, &variables, &["--gpus", "all", "--filter", "copy_a"]);
    assert!(part.stderr.contains("measuring on the first of 2 GPUs: a part of a phase is not split"), "{part:?}");
    let starts = fs::read_to_string(place.path().join("starts")).unwrap();
    assert!(!starts.is_empty() && starts.lines().all(|line| line.contains(FIRST)), "{starts}");
}

#[test]
fn gpus_are_found_by_uuid_and_by_being_free() {
    let (place, variables) = machine(3);
    let finished = run(&place, &variables, &["--gpus", "GPU-09090909"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let starts = fs::read_to_string(place.path().join("starts")).unwrap();
    assert!(starts.lines().all(|line| line.contains(THIRD)), "{starts}");
    for (gpus, said) in [
        ("0,7", "cannot use GPU 7: 3 are visible"),
        ("1,1", "it is listed twice"),
        ("GPU-ff", "the driver does not report it"),
    ] {
        let refused = run(&place, &variables, &["--fresh", "--gpus", gpus]);
        assert_eq!(refused.status, Some(3), "{gpus}: {refused:?}");
        assert!(refused.stderr.contains(said), "{gpus}: {}", refused.stderr);
    }
    assert_eq!(run(&place, &variables, &["--gpus", "h200"]).status, Some(2));
    let all = run(&place, &variables, &["--fresh", "--gpus", "auto"]);
    assert!(
        all.status == Some(0) && fs::read_to_string(place.path().join("starts")).unwrap().contains(FIRST),
        "{all:?}"
    );
}

#[test]
fn gpus_of_unlike_kind_are_refused_together() {
    let (place, mut variables) = machine(3);
    variables.push(("NCUGATE_DOUBLE_UNLIKE", "1".to_owned()));
    let refused = run(&place, &variables, &["--gpus", "all"]);
    assert_eq!(refused.status, Some(3), "{refused:?}");
    assert!(
        refused.stderr.contains("the GPUs are of different kinds") && refused.stderr.contains("Other"),
        "{}",
        refused.stderr
    );
    assert!(folders(&place).is_empty());
    let like = run(&place, &variables, &["--gpus", "auto"]);
    assert_eq!(like.status, Some(0), "{like:?}");
    assert!(like.stderr.is_empty() || !like.stderr.contains("Other"), "{}", like.stderr);
}

#[test]
fn each_gpu_model_that_a_phase_names_has_its_own_run_and_verdict() {
    let (place, mut variables) = machine(3);
    variables.push(("NCUGATE_DOUBLE_UNLIKE", "1".to_owned()));
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let named = |groups: &str| place.write("phase.toml", &format!("{phase}[machine]\ngroups = {groups}\n"));
    named(r#"["Double", "Other"]"#);
    let finished = run(&place, &variables, &["--gpus", "all"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let mut kinds: Vec<(String, usize)> = folders(&place)
        .iter()
        .map(|folder| {
            let gpu = manifest(folder)["fingerprint"]["gpu"]["name"].as_str().unwrap().to_owned();
            (gpu, shards(folder).len())
        })
        .collect();
    kinds.sort();
    assert_eq!(kinds, [("Double".to_owned(), 2), ("Other".to_owned(), 0)], "{finished:?}");
    for kind in ["Double", "Other"] {
        assert!(finished.stdout.contains(&format!("{:<12} on {kind}\n", "pass")), "{finished:?}");
    }
    // one named GPU that is missing, and one present GPU that is not named
    named(r#"["Double", "Other", "L4"]"#);
    let absent = run(&place, &variables, &["--fresh", "--gpus", "all"]);
    assert_eq!(absent.status, Some(4), "{absent:?}");
    assert!(absent.stdout.contains("on L4: no such GPU was selected"), "{absent:?}");
    named(r#"["Double"]"#);
    let refused = run(&place, &variables, &["--fresh", "--gpus", "all"]);
    assert_eq!(refused.status, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("it is Other, but the phase allows only Double"), "{refused:?}");
}

#[test]
fn every_phase_of_a_run_has_all_its_gpus() {
    let (place, variables) = machine(3);
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    place.write("second.toml", &phase.replace("name = \"copy\"", "name = \"second\""));
    let mut command = place.ncugate(&["run", "phase.toml", "second.toml", "--source", "gpu", "--gpus", "0,2"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(0), "{finished:?}");
    for phase in ["copy", "second"] {
        let runs = place.path().join("profiles").join(phase);
        let folder = fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
        assert_eq!(shards(&folder).len(), 2, "{}", folder.display());
    }
}
