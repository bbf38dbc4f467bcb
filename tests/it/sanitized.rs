//! Runs with compute-sanitizer, of which there is a double.

use crate::command::{Finished, Place, root};
use crate::concurrent::{folders, manifest};
use crate::live::{latencies, machine_that_counts};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

const ALL: &str = "sanitize = [\"memcheck\", \"racecheck\", \"synccheck\", \"initcheck\"]";

/// A machine with compute-sanitizer and a phase with this `[check]`.
fn machine(names: &[&str], check: &str) -> (Place, Vec<(&'static str, String)>) {
    let (place, variables) = machine_that_counts(names, "rounds = 30");
    place.write_program(
        "bin/compute-sanitizer",
        &fs::read_to_string(root().join("tests/doubles/compute-sanitizer")).unwrap(),
    );
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    place.write("phase.toml", &format!("{phase}[check]\n{check}\n"));
    (place, variables)
}

fn run(place: &Place, variables: &[(&'static str, String)], defects: &str, more: &[&str]) -> Finished {
    let mut command = place.ncugate(&[&["run", "phase.toml", "--source", "gpu"][..], more].concat());
    let command = command.envs(variables.iter().cloned()).env("NCUGATE_DOUBLE_DEFECTS", defects);
    Finished::of(command.timeout(Duration::from_secs(100)))
}

/// The statuses of a run's records, by variant and tool.
fn outcomes(place: &Place) -> BTreeMap<(String, String), String> {
    let text = fs::read_to_string(folders(place).remove(0).join("sanitizer.jsonl")).unwrap_or_default();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let entry = |record: Value| {
        assert_eq!(record["version"], "2025.3.1.0", "{record}");
        ((word(&record["variant"]), word(&record["tool"])), word(&record["outcome"]["status"]))
    };
    records.map(entry).collect()
}

/// The printed text with single spaces.
fn printed(finished: &Finished) -> String {
    finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn clean_variants_pass_and_the_time_is_told() {
    let (place, variables) = machine(&["copy_honest", "copy_again"], ALL);
    let finished = run(&place, &variables, "", &[]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let outcomes = outcomes(&place);
    assert!(outcomes.len() == 8 && outcomes.values().all(|status| status == "clean"), "{outcomes:?}");
    // one process a tool
    let logs = fs::read_dir(folders(&place).remove(0).join("logs/sanitizer")).unwrap();
    assert_eq!(logs.filter(|file| file.as_ref().unwrap().path().extension().unwrap() == "log").count(), 4);
    let clean = "compute-sanitizer 2025.3.1.0 (memcheck, racecheck, synccheck, initcheck): 2 variants clean.";
    assert!(printed(&finished).contains(clean), "{finished:?}");
    let spent = &manifest(&folders(&place).remove(0))["stage_seconds"];
    assert!(spent.to_string().contains("bench: compute-sanitizer"), "{spent}");
    // "initcheck: 4 of 2": steps of the timing behind it were counted there
    let counts: Vec<(&str, &str)> = finished
        .stderr
        .lines()
        .filter_map(|line| line.split_once(": ")?.1.split_once(" in ")?.0.split_once(" of "))
        .collect();
    assert!(counts.len() >= 7 && counts.iter().all(|(done, all)| done == all), "{}", finished.stderr);
}

#[test]
fn a_finding_makes_its_variant_incorrect_and_it_is_not_timed() {
    for (tool, words) in [
        (
            "memcheck",
            "Invalid __global__ write of size 2 bytes in `copy_again(const __half *, __half *)` at copy.cu:12",
        ),
        ("racecheck", "Race reported between Write access in `copy_again(const __half *, __half *)` at copy.cu:21"),
        ("synccheck", "Barrier error detected. Divergent thread(s) in block. in `copy_again"),
        ("initcheck", "Uninitialized __global__ memory read of size 2 bytes in `copy_again"),
    ] {
        let (place, variables) = machine(&["copy_honest", "copy_again", "copy_a"], ALL);
        let finished = run(&place, &variables, &format!("{tool}:copy_again"), &["--format", "json"]);
        let results: Value = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(finished.status, Some(0), "another variant is selected: {finished:?}");
        let again = results["variants"].as_array().unwrap().iter().find(|v| v["id"] == "copy_again").unwrap();
        assert_eq!(again["correct"], "fail", "{again}");
        let reason = again["correctness"].as_str().unwrap();
        assert!(reason.contains(&format!("compute-sanitizer {tool} at shape 'only'")), "{reason}");
        assert!(reason.contains(words), "{reason}");
        let (_, latency) = latencies(&place).into_iter().find(|(variant, _)| variant == "copy_again").unwrap();
        assert!(latency["reason"].as_str().unwrap().starts_with("not timed: compute-sanitizer"), "{latency}");
        let clean =
            outcomes(&place).into_iter().filter(|((variant, _), status)| variant != "copy_again" && status == "clean");
        assert_eq!(clean.count(), 8);
    }
}

#[test]
fn a_missing_or_failed_tool_is_inconclusive() {
    let (place, variables) = machine(&["copy_honest"], ALL);
    let finished = run(&place, &variables, "lost:racecheck", &[]);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    let said = printed(&finished);
    assert!(said.contains("compute-sanitizer racecheck has no result at shape 'only'"), "{said}");
    assert!(said.contains("terminated before first instrumented API call"), "{said}");
    assert_eq!(outcomes(&place)[&("copy_honest".to_owned(), "racecheck".to_owned())], "failed");

    let (place, variables) = machine(&["copy_honest"], "sanitize = [\"memcheck\"]");
    fs::remove_file(place.path().join("bin/compute-sanitizer")).unwrap();
    let finished = run(&place, &variables, "", &[]);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    assert!(printed(&finished).contains("compute-sanitizer was not found"), "{finished:?}");
}

#[test]
fn a_finding_that_no_single_variant_has_is_inconclusive_for_all() {
    let (place, variables) = machine(&["copy_honest", "copy_again"], "sanitize = [\"racecheck\"]");
    let finished = run(&place, &variables, "together:racecheck", &[]);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    assert!(outcomes(&place).values().all(|status| status == "failed"), "{:?}", outcomes(&place));
}

#[test]
fn a_suppression_needs_a_reason_and_is_listed() {
    let suppress = |reason: &str| {
        format!(
            "sanitize = [\"racecheck\"]\n[[check.suppress]]\ntool = \"racecheck\"\nkernel = \"copy_*\"\nreason = \"{reason}\""
        )
    };
    let (place, variables) = machine(&["copy_honest"], &suppress("warps own their rows"));
    let finished = run(&place, &variables, "racecheck:copy_honest", &[]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let caution = "findings of racecheck in `copy_*` do not count: warps own their rows (`suppress`)";
    assert!(printed(&finished).contains(caution), "{finished:?}");

    let (place, variables) = machine(&["copy_honest"], &suppress("benign"));
    let finished = run(&place, &variables, "", &[]);
    assert_eq!(finished.status, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("a reason of at least 3 words"), "{finished:?}");
}

#[test]
fn the_command_line_adds_tools_to_those_of_the_phase() {
    let (place, variables) = machine(&["copy_honest"], "");
    let finished = run(&place, &variables, "initcheck:copy_honest", &["--sanitize"]);
    assert_eq!(finished.status, Some(1), "{finished:?}");
    assert!(printed(&finished).contains("compute-sanitizer initcheck at shape 'only'"), "{finished:?}");
    let (place, variables) = machine(&["copy_honest"], "");
    let finished = run(&place, &variables, "initcheck:copy_honest", &["--sanitize=memcheck"]);
    assert_eq!((finished.status, outcomes(&place).len()), (Some(0), 1), "{finished:?}");
}
