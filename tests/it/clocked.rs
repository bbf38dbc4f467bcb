//! The clock of the GPU, read from a double of NVML.

use crate::command::{Finished, Place, write_double};
use crate::live::{latencies, machine_that_counts};
use serde_json::Value;
use std::time::Duration;

type Variables = Vec<(&'static str, String)>;

/// A machine with NVML.
fn machine() -> (Place, Variables) {
    machine_with("rounds = 30\nmax_rounds = 60")
}

fn machine_with(bench: &str) -> (Place, Variables) {
    let (place, variables) = machine_that_counts(&["copy_honest", "copy_again"], bench);
    write_double("nvml.c", &place.path().join("driver/libnvidia-ml.so.1"));
    (place, variables)
}

fn run(place: &Place, variables: &Variables, more: &[(&'static str, &str)]) -> (Finished, Value) {
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu", "--format", "json"]);
    let command =
        command.envs(variables.iter().cloned()).envs(more.iter().map(|(name, value)| (*name, value.to_string())));
    let finished = Finished::of(command.timeout(Duration::from_secs(100)));
    let results = serde_json::from_str(&finished.stdout).unwrap();
    (finished, results)
}

/// The clocks that `results.json` has for the selected variant.
fn clocks(results: &Value) -> &Value {
    let selected = &results["selected"];
    let variants = results["variants"].as_array().unwrap();
    let variant = variants.iter().find(|variant| variant["id"] == *selected).unwrap();
    &variant["shapes"]["only"]["clocks"]
}

#[test]
fn every_round_has_its_clocks() {
    let (place, variables) = machine();
    let (finished, results) = run(&place, &variables, &[]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    for (_, outcome) in latencies(&place) {
        let (gpu, samples) = (&outcome["gpu"], outcome["samples"].as_array().unwrap().len());
        for list in ["sm_mhz", "memory_mhz", "celsius", "watts", "throttle"] {
            assert_eq!(gpu[list].as_array().unwrap().len(), samples, "{list}: {gpu}");
        }
        assert_eq!((&gpu["sm_mhz"][0], &gpu["watts"][0], &gpu["throttle"][0]), (&1980.into(), &310.into(), &0.into()));
    }
    let clocks = clocks(&results);
    assert_eq!((&clocks["sm_mhz"], &clocks["throttled"]), (&serde_json::json!([1980, 1980]), &0.into()), "{clocks}");
    let manifest: Value = serde_json::from_str(&std::fs::read_to_string(manifest(&place)).unwrap()).unwrap();
    assert_eq!(manifest["fingerprint"]["machine"]["power_limit_w"], 700, "{manifest}");
}

fn manifest(place: &Place) -> std::path::PathBuf {
    let run = std::fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    run.join("manifest.json")
}

#[test]
fn a_gate_that_only_throttled_rounds_decide_is_inconclusive_after_more_rounds() {
    let (place, variables) = machine();
    // a hardware thermal slowdown in every round
    let (finished, results) = run(&place, &variables, &[("NCUGATE_DOUBLE_THROTTLE", "40")]);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    let gate = &results["gates"][0];
    assert!(gate["reason"].as_str().unwrap().contains("rounds ran under hardware thermal slowdown"), "{gate}");
    let run = manifest(&place).with_file_name("confirmations.jsonl");
    let text = std::fs::read_to_string(run).unwrap();
    let last: Value = serde_json::from_str(text.lines().next_back().unwrap()).unwrap();
    assert_eq!(last["outcome"]["samples"].as_array().unwrap().len(), 60, "all rounds were taken");
    assert_eq!(last["outcome"]["gpu"]["sm_mhz"].as_array().unwrap().len(), 60);
    let clocks = clocks(&results);
    assert_eq!(
        (&clocks["throttled"], &clocks["rounds"]),
        (&90.into(), &90.into()),
        "of sweep and confirmation: {clocks}"
    );
}

#[test]
fn the_power_limit_in_every_round_is_told_and_decides() {
    let (place, variables) = machine();
    let (finished, results) = run(&place, &variables, &[("NCUGATE_DOUBLE_THROTTLE", "4")]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let clocks = clocks(&results);
    assert_eq!(
        (&clocks["reasons"], &clocks["sm_mhz"]),
        (&"power cap".into(), &serde_json::json!([990, 990])),
        "{clocks}"
    );
}

#[test]
fn without_nvml_everything_else_is_measured() {
    for mode in ["refuses", "blind"] {
        let (place, variables) = machine();
        let (finished, results) = run(&place, &variables, &[("NCUGATE_DOUBLE_NVML", mode)]);
        assert_eq!(finished.status, Some(0), "{mode}: {finished:?}");
        assert!(latencies(&place).iter().all(|(_, outcome)| outcome["gpu"].is_null()), "{mode}");
        let said = &results["provenance"]["clocks while timed"];
        assert_eq!(said, "not read: NVML was not available", "{mode}");
    }
}
