//! The clock and the energy of the GPU, read from a double of NVML.

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

/// A machine whose phase also limits the energy of each variant. In the double, a launch takes 10 us at 310.4 W.
fn machine_that_meters(requirement: &str) -> (Place, Variables) {
    let gate = format!("[[gate]]\nname = \"energy\"\nrequire = \"{requirement}\"\non = \"each\"\n");
    machine_with(&format!("rounds = 30\nmax_rounds = 30\ntimeout_s = 5\n{gate}"))
}

/// The reason of the gate on the energy, which is the second.
fn reason(results: &Value) -> &str {
    assert_eq!(results["gates"][1]["name"], "energy", "{results}");
    results["gates"][1]["reason"].as_str().unwrap_or_default()
}

#[test]
fn the_energy_of_a_launch_is_measured_in_windows_if_a_gate_asks() {
    let (place, variables) = machine_that_meters("energy_per_launch <= 3.2 mJ");
    let (finished, results) = run(&place, &variables, &[]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let energy = &results["variants"][0]["shapes"]["only"]["energy"];
    assert_eq!((&energy["windows"], &energy["source"]), (&8.into(), &"NVML's energy counter".into()), "{energy}");
    let (launches, seconds) = (energy["launches"].as_f64().unwrap(), energy["seconds"].as_f64().unwrap());
    assert!(seconds > 2.0 && (seconds / launches - 10e-6).abs() < 1e-7, "{energy}");
    let interval = [0, 1].map(|end| energy["interval"][end].as_f64().unwrap());
    assert!(interval[0] > 3.0 && interval[0] <= interval[1] && interval[1] < 3.2, "{energy}");
    let rendered = place.path().join("reports/copy").join(results["run"].as_str().unwrap()).join("report.md");
    let text = std::fs::read_to_string(rendered).unwrap();
    assert!(text.contains("of the whole board, idle draw included"), "{text}");
    let manifest: Value = serde_json::from_str(&std::fs::read_to_string(manifest(&place)).unwrap()).unwrap();
    assert!(manifest["stage_seconds"].to_string().contains("bench: energy of launches"), "{manifest}");
    let folder = manifest_folder(&place);
    let export = Finished::of(&mut place.ncugate(&["export", &folder, "--to", "csv"]));
    let header = export.stdout.lines().next().unwrap();
    for column in ["energy_per_launch", "energy_per_launch.launches", "energy_per_launch.seconds"] {
        assert!(header.split(',').any(|name| name == column), "{export:?}");
    }
}

fn manifest_folder(place: &Place) -> String {
    manifest(place).parent().unwrap().display().to_string()
}

#[test]
fn nothing_is_launched_for_the_energy_unless_it_is_asked_for() {
    let (place, variables) = machine();
    let (finished, _) = run(&place, &variables, &[]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    assert!(latencies(&place).iter().all(|(_, outcome)| outcome.get("energy").is_none()));
}

#[test]
fn a_gate_on_the_energy_fails_beyond_its_limit_and_without_a_counter_the_power_is_integrated() {
    let (place, variables) = machine_that_meters("energy_per_launch <= 3 mJ");
    let (finished, results) = run(&place, &variables, &[("NCUGATE_DOUBLE_ENERGY", "power")]);
    assert_eq!(finished.status, Some(1), "{finished:?}");
    let energy = &results["variants"][0]["shapes"]["only"]["energy"];
    assert_eq!(energy["source"], "NVML's power readings, integrated", "{energy}");
}

#[test]
fn an_energy_that_nvml_does_not_vouch_for_is_missing_with_its_reason() {
    for (name, value, expected) in [
        ("NCUGATE_DOUBLE_NVML", "refuses", "NVML"),
        ("NCUGATE_DOUBLE_ENERGY", "sliced", "MIG slice"),
        ("NCUGATE_DOUBLE_ENERGY", "stands", "0 of at least 6 windows"),
        ("NCUGATE_DOUBLE_ENERGY", "backwards", "went backwards"),
        ("NCUGATE_DOUBLE_OTHERS", "2", "2 other processes on the GPU"),
        ("NCUGATE_DOUBLE_THROTTLE", "40", "all 8 windows ran under hardware thermal slowdown"),
    ] {
        let (place, variables) = machine_that_meters("energy_per_launch <= 3.2 mJ");
        let (finished, results) = run(&place, &variables, &[(name, value)]);
        assert_eq!(finished.status, Some(4), "{value}: {finished:?}");
        assert!(reason(&results).contains(expected), "{value}: {}", results["gates"][1]);
    }
}
