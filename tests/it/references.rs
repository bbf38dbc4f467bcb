//! References and checks in Python through the real binary on the double of the driver: imported once per run, and ended with it.

use crate::command::{Finished, Place, wait_for};
use crate::concurrent::{folders, manifest, start};
use crate::gallery::python;
use crate::live::machine_that_counts;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

const RUN: [&str; 4] = ["run", "phase.toml", "--source", "gpu"];

/// A machine whose phase has this Python file as its reference and its check of outputs, and a Python that notes what it is
/// started with; `None` without NumPy.
fn machine(text: &str) -> Option<(Place, Vec<(&'static str, String)>)> {
    machine_of(&["copy_honest", "copy_wrong"], "rounds = 6", text)
}

fn machine_of(kernels: &[&str], bench: &str, text: &str) -> Option<(Place, Vec<(&'static str, String)>)> {
    let python = python()?;
    let (place, mut variables) = machine_that_counts(kernels, bench);
    let starts = place.path().join("starts");
    let shim = format!("#!/bin/sh\necho \"$@\" >> {}\nexec {} \"$@\"\n", starts.display(), python.display());
    let shim = place.write_program("counted/python", &shim);
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let phase = phase
        .replace("reference = \"copy\"", "reference = { python = \"ref.py:copy\", timeout_s = 30 }")
        .replace("max_abs = 2e-3", "max_abs = 2e-3, check = \"ref.py:same\"")
        .replace("seeds = [0, 1]", "seeds = [0, 1, 2, 3]")
        .replace("[phase]", &format!("[build]\npython = \"{}\"\n[phase]", shim.display()));
    place.write("phase.toml", &phase);
    place.write("ref.py", text);
    // Killed processes leave their folders.
    variables.push(("TMPDIR", place.path().display().to_string()));
    Some((place, variables))
}

/// Command lines with which the Python of a machine was started for references.
fn starts(place: &Place) -> Vec<String> {
    let text = fs::read_to_string(place.path().join("starts")).unwrap_or_default();
    text.lines().filter(|line| line.contains("ncugate_reference")).map(str::to_owned).collect()
}

const REFERENCE: &str = r#"
import os
import time

import numpy as np

SEEN = []


def copy(x, seed):
    # Without isolation the answer would be that of the first call, or an output of a candidate.
    SEEN.append(x)
    time.sleep(0.05)
    return SEEN[0]


def same(outputs, expected):
    SEEN.append(outputs["y"])
    return "" if np.allclose(outputs["y"], expected["y"]) else "it differs"
"#;

#[test]
fn a_run_imports_a_reference_once_for_all_its_cases() {
    let Some((place, variables)) = machine(REFERENCE) else { return };
    let finished = Finished::of(place.ncugate(&RUN).envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("1 proven correct"), "{finished:?}");
    let starts = starts(&place);
    assert!(starts.len() == 1 && starts[0].contains("ncugate_reference_server.py"), "{starts:?}");
    let run = manifest(&folders(&place)[0]);
    let stages = run["stage_seconds"].as_array().unwrap();
    let references = stages.iter().find(|stage| stage[0] == "bench: references").unwrap();
    assert!(references[1].as_f64().unwrap() >= 0.2, "four cases of 50 ms: {stages:?}");
    assert!(finished.stdout.contains(", references "), "{}", finished.stdout);
}

#[test]
fn a_reference_that_hangs_ends_with_a_killed_run() {
    let hangs = "open(\"pids\", \"a\").write(f\"{os.getppid()} {os.getpid()} \")\n    time.sleep(600)";
    let in_call = REFERENCE.replace("time.sleep(0.05)", hangs);
    let in_import = format!("{REFERENCE}\nopen(\"pids\", \"a\").write(f\"{{os.getpid()}} \")\ntime.sleep(600)\n");
    for text in [in_call, in_import] {
        let Some((place, variables)) = machine(&text) else { return };
        let mut run = start(&place, &variables, &RUN);
        let pids = place.path().join("pids");
        wait_for("the reference is called", || pids.exists() && !fs::read_to_string(&pids).unwrap().is_empty());
        kill(Pid::from_raw(run.id().cast_signed()), Signal::SIGKILL).unwrap();
        run.wait().unwrap();
        let pids = fs::read_to_string(pids).unwrap();
        for pid in pids.split_whitespace() {
            wait_for("the processes of a reference end", || !Path::new("/proc").join(pid).exists());
        }
    }
}

#[test]
fn check_imports_a_reference_once_too() {
    let Some((place, _)) = machine(REFERENCE) else { return };
    let finished = place.run(&["check", "phase.toml", "--no-build"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    assert_eq!(starts(&place).len(), 1, "{finished:?}");
}

/// Without the shared outputs, each of five processes called the reference for its own two to five seeds.
#[test]
fn a_confirmation_calls_the_reference_once_for_all_its_processes() {
    let noted = REFERENCE.replace("    time.sleep(0.05)", "    open(\"calls\", \"a\").write(f\"{seed}\\n\")");
    let Some((place, variables)) = machine_of(&["copy_honest", "copy_again"], "rounds = 60", &noted) else { return };
    let finished = Finished::of(place.ncugate(&RUN).envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let processes: Vec<_> = fs::read_dir(folders(&place)[0].join("logs/confirmation-1")).unwrap().collect();
    assert_eq!(processes.len(), 5, "{finished:?}");
    let records = fs::read_to_string(folders(&place)[0].join("confirmations.jsonl")).unwrap();
    let calls = fs::read_to_string(place.path().join("calls")).unwrap();
    let confirmed: BTreeSet<u64> = records
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .flat_map(|record| record["outcome"]["audit"]["seeds"].as_array().unwrap().clone())
        .map(|seed| seed.as_u64().unwrap())
        .collect();
    assert!((2..=5).contains(&confirmed.len()), "contents of one process: {confirmed:?}");
    for seed in confirmed {
        let calls = calls.lines().filter(|call| *call == seed.to_string()).count();
        assert_eq!(calls, 1, "seed {seed}");
    }
}

/// Calls for different inputs run together, and fewer hidden inputs are a note.
#[test]
fn a_slow_reference_is_called_in_parallel_and_for_fewer_hidden_inputs() {
    let text = "import os, time\n\n\ndef copy(x):\n    began = time.time()\n    time.sleep(0.4)\n    \
                with open('calls', 'a') as out:\n        out.write(f'{began} {time.time()}\\n')\n    return {'y': x}\n\n\n\
                def same(outputs, expected):\n    return ''\n";
    let Some((place, variables)) = machine_of(&["copy_honest"], "rounds = 6", text) else { return };
    let finished = Finished::of(place.ncugate(&RUN).envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let printed = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("the reference is slow: 2 instead of 5 hidden inputs at shape 'only'"), "{printed}");
    let calls = fs::read_to_string(place.path().join("calls")).unwrap();
    let number = |text: &str| text.parse::<f64>().unwrap();
    let calls: Vec<(f64, f64)> =
        calls.lines().filter_map(|line| line.split_once(' ')).map(|(from, to)| (number(from), number(to))).collect();
    let together = |at: f64| calls.iter().filter(|(from, to)| (*from..*to).contains(&at)).count();
    let most = calls.iter().map(|(from, _)| together(*from)).max();
    assert!(most >= Some(3), "{calls:?}");
}

/// `run` says it as `check` does, and not after an interpreter has started.
#[test]
fn a_reference_in_an_absent_file_is_named_before_anything_is_measured() {
    let Some((place, variables)) = machine_of(&["copy_honest"], "rounds = 6", "def copy(x):\n    return x\n") else {
        return;
    };
    fs::remove_file(place.path().join("ref.py")).unwrap();
    let finished = Finished::of(place.ncugate(&RUN).envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("`ref.py`, which does not exist"), "{finished:?}");
    assert!(finished.stderr.contains("relative paths start at the project's root"), "{finished:?}");
}
