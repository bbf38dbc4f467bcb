//! A phase measured in shards, then merged and judged.

use crate::command::{Finished, Place};
use crate::concurrent::{folders, manifest};
use crate::live::machine_of_kernels;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

type Variables = Vec<(&'static str, String)>;
const NAMES: [&str; 4] = ["copy_honest", "copy_slow", "copy_wrong", "copy_a"];

fn run(place: &Place, variables: &Variables, args: &[&str]) -> Finished {
    Finished::of(place.ncugate(args).envs(variables.clone()).timeout(Duration::from_secs(100)))
}

/// A machine with the measured shards of a phase with four candidates.
fn sharded(count: u32) -> (Place, Variables, Vec<PathBuf>) {
    let (place, variables) = machine_of_kernels(&NAMES, "rounds = 5");
    for index in 1..=count {
        let measured =
            run(&place, &variables, &["run", "phase.toml", "--source", "gpu", "--shard", &format!("{index}/{count}")]);
        assert_eq!(measured.status, Some(4), "nothing was judged: {measured:?}");
        assert!(measured.stdout.starts_with(&format!("shard {index}/{count} measured in ")), "{measured:?}");
    }
    let folders = folders(&place);
    assert_eq!(folders.len(), count as usize, "a shard is not continued as another: {folders:?}");
    (place, variables, folders)
}

fn merge(place: &Place, folders: &[PathBuf]) -> Finished {
    let folders: Vec<&str> = folders.iter().map(|folder| folder.to_str().unwrap()).collect();
    place.run(&[&["cluster", "merge"][..], &folders].concat())
}

fn edit(folder: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = manifest(folder);
    change(&mut value);
    fs::write(folder.join("manifest.json"), serde_json::to_string_pretty(&value).unwrap() + "\n").unwrap();
    crate::stored::reseal(folder);
}

#[test]
fn shards_are_merged_and_the_run_goes_on_to_the_verdict_of_one_that_was_measured_whole() {
    let (place, variables, shards) = sharded(3);
    let ids: Vec<BTreeSet<String>> = shards
        .iter()
        .map(|shard| {
            let plan: Value = serde_json::from_str(&fs::read_to_string(shard.join("plan.json")).unwrap()).unwrap();
            plan["variants"].as_array().unwrap().iter().map(|v| v["id"].as_str().unwrap().to_owned()).collect()
        })
        .collect();
    assert_eq!(ids.iter().map(BTreeSet::len).sum::<usize>(), NAMES.len(), "each in one: {ids:?}");
    assert_eq!(ids.iter().flatten().collect::<BTreeSet<_>>().len(), NAMES.len());

    // one shard alone passes nothing
    let alone = place.run(&["page", shards[0].to_str().unwrap()]);
    assert_ne!(alone.status, Some(0), "{alone:?}");

    let merged = merge(&place, &shards);
    assert_eq!(merged.status, Some(0), "{merged:?}");
    assert!(merged.stdout.contains("merged 3 shards, measured on 1 GPU, into "), "{}", merged.stdout);
    let folder = folders(&place).into_iter().find(|folder| !shards.contains(folder)).unwrap();
    let said = manifest(&folder);
    assert_eq!((&said["state"], said["merged"].as_array().map(Vec::len)), (&json!("running"), Some(3)));
    let open = place.run(&["page", folder.to_str().unwrap()]);
    assert!(open.status != Some(0) && open.stdout.contains("merged"), "nothing was confirmed yet: {open:?}");

    let judged = run(&place, &variables, &["run", "phase.toml", "--source", "gpu"]);
    assert!(judged.stderr.contains("continuing the unfinished run in"), "{judged:?}");
    let after = manifest(&folder);
    assert_eq!(after["state"], "complete", "{judged:?}");
    let checks = fs::read_to_string(folder.join("checks.jsonl")).unwrap();
    assert_eq!(checks.lines().count(), 2 * NAMES.len(), "nothing was checked again");
    let whole = run(&place, &variables, &["run", "phase.toml", "--source", "gpu", "--fresh"]);
    let verdict = |finished: &Finished| {
        let lines =
            finished.stdout.lines().filter(|line| line.contains("proven correct") || line.starts_with("INCONCLUSIVE"));
        let without_time = |line: &str| line.split(", 20").next().unwrap().to_owned();
        (finished.status, lines.map(without_time).collect::<Vec<_>>())
    };
    assert_eq!(verdict(&judged), verdict(&whole));
}

#[test]
fn a_shard_that_is_missing_twice_unfinished_or_damaged_is_named() {
    let (place, _, shards) = sharded(2);
    let refused = |folders: &[PathBuf], said: &str| {
        let merged = merge(&place, folders);
        assert_eq!(merged.status, Some(3), "{merged:?}");
        assert!(merged.stderr.contains(said), "{said}: {}", merged.stderr);
    };
    refused(&shards[..1], "shard 2 of 2 is missing");
    refused(&[shards[0].clone(), shards[0].clone(), shards[1].clone()], "shard 1/2 is in both");
    let lines = fs::read_to_string(shards[1].join("checks.jsonl")).unwrap();
    fs::write(shards[1].join("checks.jsonl"), lines.lines().next().unwrap().to_owned() + "\n").unwrap();
    refused(&shards, "records instead of");
    fs::write(shards[1].join("checks.jsonl"), lines).unwrap();
    edit(&shards[1], |manifest| manifest["state"] = json!("interrupted"));
    refused(&shards, "it is incomplete");
    edit(&shards[1], |manifest| manifest["state"] = json!("complete"));
    edit(&shards[1], |manifest| manifest["shard"] = Value::Null);
    refused(&shards, "it is not a shard");
    assert_eq!(folders(&place).len(), 2, "nothing was written");
}

#[test]
fn shards_that_were_measured_with_other_things_are_refused_by_name() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 7] = [
        ("driver", |manifest| manifest["fingerprint"]["driver"] = json!("570.1")),
        ("GPU Double and NVIDIA L4", |manifest| manifest["fingerprint"]["gpu"]["name"] = json!("NVIDIA L4")),
        ("ncu 2025.3.1.0 and 2026.1.0.0", |manifest| manifest["fingerprint"]["ncu"] = json!("2026.1.0.0")),
        ("bench.rounds = 5, not 60", |manifest| manifest["settings"]["bench.rounds"] = json!("60")),
        ("a different 'copy.cu'", |manifest| manifest["inputs"]["copy.cu"] = json!("0")),
        ("other programs", |manifest| manifest["shard"]["whole_sha256"] = json!("0")),
        ("ncugate 0.1.0 and 0.0.9", |manifest| manifest["ncugate"] = json!("0.0.9")),
    ];
    let (place, _, shards) = sharded(2);
    let original = fs::read_to_string(shards[1].join("manifest.json")).unwrap();
    for (said, change) in changes {
        edit(&shards[1], change);
        let merged = merge(&place, &shards);
        assert_eq!(merged.status, Some(3), "{said}: {merged:?}");
        assert!(merged.stderr.contains(said), "{said}: {}", merged.stderr);
        fs::write(shards[1].join("manifest.json"), &original).unwrap();
    }
    assert_eq!(merge(&place, &shards).status, Some(0));
}

#[test]
fn a_shard_is_a_fraction_and_is_measured() {
    let (place, variables) = machine_of_kernels(&["copy_honest"], "rounds = 5");
    for wrong in ["0/2", "3/2", "one"] {
        assert_eq!(run(&place, &variables, &["run", "phase.toml", "--shard", wrong]).status, Some(2));
    }
    let recorded = run(&place, &variables, &["run", "phase.toml", "--shard", "1/2", "--source", "recorded"]);
    assert_eq!(recorded.status, Some(2), "{recorded:?}");
    assert!(recorded.stderr.contains("--shard needs a measurement"), "{}", recorded.stderr);
}
