//! Measured causes with doubles of the driver and of nvcc, whose self-test is that of the real one.

use crate::command::{Finished, Place, root};
use crate::concurrent::folders;
use crate::live::machine_of_kernels;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

type Variables = Vec<(&'static str, String)>;

fn call(place: &Place, variables: &Variables, args: &[&str]) -> Finished {
    Finished::of(place.ncugate(args).envs(variables.clone()).timeout(Duration::from_secs(100)))
}

fn run(place: &Place, variables: &Variables, more: &[&str]) -> Finished {
    call(place, variables, &[&["run", "phase.toml", "--source", "gpu"], more].concat())
}

fn measure(place: &Place, variables: &Variables, folder: &Path) -> Finished {
    call(place, variables, &["explain", &folder.display().to_string(), "--measure"])
}

fn records(folder: &Path, journal: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(journal)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn machine() -> (Place, Variables) {
    let (place, mut variables) = machine_of_kernels(&["copy_frail"], "rounds = 5");
    let self_test = root().join("tests/data/ablation/self_test.cubin");
    variables.push(("SELF_TEST", self_test.display().to_string()));
    (place, variables)
}

fn outcome(records: &[Value], edit: &str) -> Value {
    records.iter().find(|record| record["edit"] == edit).unwrap_or_else(|| panic!("{records:?}"))["outcome"].clone()
}

#[test]
fn copies_that_crash_and_hang_cost_themselves_alone_and_the_verdict_is_the_same() {
    let (place, variables) = machine();
    let plain = run(&place, &variables, &["--no-measure"]);
    let folder = folders(&place).remove(0);
    assert!(!folder.join("ablations.jsonl").exists(), "{plain:?}");
    let explained = measure(&place, &variables, &folder);
    let found = records(&folder, "ablations.jsonl");
    assert_eq!(outcome(&found, "nothing")["outcome"], "measured", "{explained:?}");
    assert_eq!(outcome(&found, "idle_hardware")["outcome"], "measured");
    let reason = |edit: &str| outcome(&found, edit)["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason("global_loads").contains("SIGABRT"), "{}", reason("global_loads"));
    assert!(reason("global_stores").contains("hung: no result within 2s"), "{}", reason("global_stores"));
    assert!(explained.stdout.contains("without loads from global memory: could not be measured"), "{explained:?}");
    let copies = fs::read_dir(folder.join("logs/ablation")).unwrap().flatten();
    let left = copies.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "cubin")).count();
    assert_eq!(left, 0, "the copies are removed");
}

#[test]
fn what_is_written_into_the_file_of_measured_causes_changes_no_verdict() {
    let (place, variables) = machine();
    let before = run(&place, &variables, &["--no-measure"]);
    let folder = folders(&place).remove(0);
    let forged = r#"{"variant":"copy_frail","shape":"only","edit":"barriers","changed":1,"left":0,"outcome":{"outcome":"measured","percent":99.0,"low":98.0,"high":99.0}}"#;
    for text in [format!("{forged}\n"), "not a record\n".to_owned()] {
        fs::write(folder.join("ablations.jsonl"), text).unwrap();
        let judged = call(&place, &variables, &["gate", "phase.toml", &folder.display().to_string()]);
        assert_eq!(judged.status, before.status, "{judged:?}");
    }
}

#[test]
fn another_compute_capability_is_not_measured_and_says_so() {
    let (place, mut variables) = machine();
    run(&place, &variables, &["--no-measure"]);
    let folder = folders(&place).remove(0);
    variables.push(("NCUGATE_DOUBLE_CAPABILITY", "8.0".to_owned()));
    let finished = measure(&place, &variables, &folder);
    assert_eq!(finished.status, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("compute capability 9.0 alone, not on 8.0"), "{finished:?}");
    assert!(!folder.join("ablations.jsonl").exists());
}

#[test]
fn machine_code_outside_of_the_users_cache_is_not_launched() {
    let (place, mut variables) = machine();
    run(&place, &variables, &["--no-measure"]);
    let folder = folders(&place).remove(0);
    variables.push(("NCUGATE_CACHE", place.path().join("another").display().to_string()));
    let finished = measure(&place, &variables, &folder);
    assert_eq!(finished.status, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("its machine code is not in your build cache"), "{finished:?}");
}
