//! Launches traced by CUPTI without permission for ncu to read counters, on doubles of the driver and of CUPTI. Their
//! records have the layout of the header.

use crate::command::{Finished, Place, write_double};
use crate::concurrent::{folders, manifest};
use crate::live::{latencies, machine, machine_of_kernels, machine_that_counts};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

type Variables = Vec<(&'static str, String)>;

/// Installs a double of CUPTI next to that of the driver. `mode` selects its behaviour.
fn with_cupti(variables: &mut Variables, mode: &str) {
    let folder = variables.iter().find(|(name, _)| *name == "LD_LIBRARY_PATH").unwrap().1.clone();
    write_double("cupti.c", &Path::new(&folder).join("libcupti.so.13"));
    variables.push(("NCUGATE_DOUBLE_CUPTI", mode.to_owned()));
}

/// A machine with CUPTI and without ncu. Its kernels have a gate on duration, a gate on latency, and `more`.
pub fn traced(names: &[&str], mode: &str, more: &str) -> (Place, Variables) {
    let (place, mut variables) = machine_of_kernels(names, "rounds = 20\ntimeout_s = 1");
    add(&place, &format!("[[gate]]\nname = \"time\"\nrequire = \"duration <= 12000\"\n{more}"));
    add(&place, "[profile]\nncu = \"no-such-ncu\"\n");
    with_cupti(&mut variables, mode);
    (place, variables)
}

pub fn add(place: &Place, text: &str) {
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    place.write("phase.toml", &format!("{phase}{text}"));
}

pub fn run(place: &Place, variables: &Variables) -> Finished {
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)))
}

pub fn profiles(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(folders(place)[0].join("profiles.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The report on one line.
pub fn page(place: &Place) -> String {
    let folder = fs::read_dir(place.path().join("reports/copy")).unwrap().next().unwrap().unwrap().path();
    fs::read_to_string(folder.join("report.md")).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn results(place: &Place) -> Value {
    let folder = fs::read_dir(place.path().join("reports/copy")).unwrap().next().unwrap().unwrap().path();
    serde_json::from_str(&fs::read_to_string(folder.join("results.json")).unwrap()).unwrap()
}

#[test]
fn without_ncu_durations_come_from_cupti_with_a_caution() {
    for mode in ["ok", "older"] {
        let (place, variables) = traced(&["copy_honest"], mode, "");
        let finished = run(&place, &variables);
        assert_eq!(finished.status, Some(0), "latencies are compared with a duration: {finished:?}");
        let record = profiles(&place).into_iter().find(|record| record["outcome"]["status"] == "traced").unwrap();
        let trace = &record["outcome"]["trace"];
        let launch = &trace["evaluations"][0][0];
        assert_eq!(trace["cupti"], if mode == "ok" { "13.0" } else { "12.8" });
        let number = |at: usize| launch[1][at].as_u64().unwrap();
        assert_eq!((launch[0].as_str(), number(1) - number(0)), (Some("copy_honest"), 10_000));
        let (registers, shared, threads) = (number(2), number(3), number(9));
        assert_eq!((registers, shared, threads), (32, 512, 128), "{launch}");
        let page = page(&place);
        assert!(page.contains("Durations of copy_honest at only are from CUPTI"), "{page}");
        assert!(page.contains("but not with bytes and operations"), "{page}");
        assert_eq!(manifest(&folders(&place)[0])["state"], "complete");
    }
}

#[test]
fn a_gate_on_a_counter_is_inconclusive_while_one_on_a_duration_is_judged() {
    let dram = "[[gate]]\nname = \"dram\"\nrequire = \"dram_pct >= 1\"\n";
    let (place, variables) = traced(&["copy_honest"], "ok", dram);
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    let printed = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("ncu not found") && printed.contains("install Nsight Compute"), "{printed}");
    assert!(!printed.contains("has no value"), "the reason is why nobody counted: {printed}");
    let text = results(&place).to_string();
    assert!(text.contains("\"time\"") && text.contains("are from CUPTI (13.0)"), "{text}");
    // a duration above the limit fails
    let (place, variables) = traced(&["copy_honest"], "ok", &dram.replace("dram_pct >= 1", "duration <= 5000"));
    assert_eq!(run(&place, &variables).status, Some(1));
}

#[test]
fn without_permission_durations_are_those_of_cupti() {
    let (place, mut variables) = machine_of_kernels(&["copy_honest"], "rounds = 20");
    add(&place, "[[gate]]\nname = \"time\"\nrequire = \"duration <= 12000\"\n");
    add(&place, "[[gate]]\nname = \"dram\"\nrequire = \"dram_pct >= 1\"\n");
    variables.push(("NCUGATE_DOUBLE_SCENARIO", "permission".to_owned()));
    with_cupti(&mut variables, "ok");
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    let page = page(&place);
    assert!(page.contains("NVreg_RestrictProfilingToAdminUsers=0") && page.contains("are from CUPTI (13.0)"), "{page}");
    assert!(profiles(&place).iter().any(|record| record["outcome"]["status"] == "traced"));
}

#[test]
fn where_ncu_counts_nothing_is_traced() {
    let (place, mut variables) = machine_that_counts(&["copy_honest"], "rounds = 20");
    with_cupti(&mut variables, "ok");
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    assert!(profiles(&place).iter().all(|record| record["outcome"]["status"] == "profiled"));
    assert!(!page(&place).contains("CUPTI"), "{}", page(&place));
}

#[test]
fn a_latency_that_cupti_contradicts_does_not_pass() {
    let (place, variables) = traced(&["copy_honest"], "slow", "");
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(1), "{finished:?}");
    assert!(finished.stdout.contains("two durations disagree"), "{}", finished.stdout);
}

#[test]
fn a_cupti_that_is_absent_broken_or_unknown_leaves_a_run_as_it_was_without() {
    let reasons = [
        ("unknown", "the records of CUPTI 12.0 to 13.5 are known"),
        ("refuses", "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"),
        ("silent", "it has no time of the launched kernel"),
        ("untimed", "it has no time of the launched kernel"),
        ("stuck", "records overlap"),
        ("hang-later", "hung: no result within 1s"),
        ("crash-later", "SIGABRT"),
    ];
    for (mode, reason) in reasons {
        let (place, variables) = traced(&["copy_honest", "copy_slow", "copy_twice"], mode, "");
        let finished = run(&place, &variables);
        assert_eq!(finished.status, Some(4), "{mode}: {finished:?}");
        assert_eq!(latencies(&place).iter().filter(|(_, outcome)| outcome["status"] == "timed").count(), 3, "{mode}");
        let why = profiles(&place)[0]["outcome"]["reason"].as_str().unwrap().to_owned();
        assert!(why.contains("ncu not found") && why.contains("CUPTI did not trace it either"), "{mode}: {why}");
        assert!(why.contains(reason), "{mode}: {why}");
        assert_eq!(manifest(&folders(&place)[0])["state"], "complete", "{mode}");
    }
}

#[test]
fn a_cupti_that_hangs_when_it_is_tried_does_not_hang_the_run() {
    let (place, variables) = traced(&["copy_honest"], "hang", "");
    let started = Instant::now();
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    let why = profiles(&place)[0]["outcome"]["reason"].as_str().unwrap().to_owned();
    assert!(why.contains("the process that tried libcupti exceeded its time limit"), "{why}");
}

#[test]
fn doctor_says_which_cupti_there_is() {
    let (place, mut variables) = machine();
    with_cupti(&mut variables, "ok");
    for (mode, args, status) in [
        ("ok", &["doctor", "--format", "json"][..], "ok"),
        ("ok", &["doctor", "--format", "json", "--probe"], "ok"),
        ("refuses", &["doctor", "--format", "json", "--probe"], "either"),
        ("unknown", &["doctor", "--format", "json"], "either"),
    ] {
        variables.retain(|(name, _)| *name != "NCUGATE_DOUBLE_CUPTI");
        variables.push(("NCUGATE_DOUBLE_CUPTI", mode.to_owned()));
        let mut command = place.ncugate(args);
        let finished = Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(60)));
        let said: Value = serde_json::from_str(&finished.stdout).unwrap();
        let check = said["checks"].as_array().unwrap().iter().find(|check| check["name"] == "CUPTI").cloned().unwrap();
        let found = check["found"].as_str().unwrap();
        match status {
            "ok" => assert!(check["status"] == "ok" && found.starts_with("13.0 at libcupti.so.13"), "{check}"),
            // if ncu is permitted to read counters on this machine, nothing needs to be done
            _ => assert!(!found.starts_with("13.0"), "{check}"),
        }
    }
}
