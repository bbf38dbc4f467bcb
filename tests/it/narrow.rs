//! `run` of a part of a phase, of several phases, and with a time limit.

use crate::command::{Finished, Place};
use crate::live::{GOOD, machine_of_kernels, machine_of_program};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap()
}

#[test]
fn planned_measurements_are_listed_without_a_gpu() {
    let place = Place::new();
    let list = |more: &[&str]| place.run_at_root(&[&["run", "configs/softmax.toml", "--list"], more].concat());
    let whole = json(&list(&["--format", "json"]));
    assert_eq!((whole["candidates"].as_array().unwrap().len(), whole["left_out"].as_u64()), (12, Some(0)));
    assert_eq!((whole["timed"].as_array().unwrap().len(), whole["part"].is_null()), (2, true));
    let part = list(&["--filter", "VEC == 4", "--set", "THREADS=256", "--shape", "narrow", "--rounds", "9"]);
    assert_eq!(part.status, Some(0), "{part:?}");
    for line in [
        "softmax: 2 candidates, 1 baseline",
        "checked at narrow, ragged, wide; timed at narrow in 9 rounds",
        "  THREADS=256,ROWS_PER_BLOCK=4,VEC=4",
        "  plain (baseline)",
        "10 candidates left out; its run cannot pass",
    ] {
        assert!(part.stdout.contains(line), "{line}: {}", part.stdout);
    }
    // a selection of everything is the whole phase
    assert!(json(&list(&["--format", "json", "--filter", "*", "--shape", "narrow", "--shape", "wide", "--rounds", "60"]))["part"].is_string());
    assert!(json(&list(&["--format", "json", "--filter", "*"]))["part"].is_null());
}

#[test]
fn an_unknown_part_is_an_error_that_lists_the_known_ones() {
    let place = Place::new();
    for (option, said) in [
        (["--filter", "REGCAP=64"], "no candidate of the phase matches `--filter REGCAP=64`; it has THREADS=128"),
        (["--filter", "REGCAP == 64"], "REGCAP"),
        (["--set", "THREADS=100"], "one of 128, 256, 512"),
        (["--shape", "wyde"], "did you mean `wide`?"),
    ] {
        let finished = place.run_at_root(&[&["run", "configs/softmax.toml"][..], &option].concat());
        assert_eq!(finished.status, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(said), "{said}: {finished:?}");
    }
}

#[test]
fn a_recording_is_not_judged_in_part_asked_for_or_not() {
    let place = Place::new();
    let part = |source: &str| {
        place.run_at_root(&["run", "configs/sdpa_fast.toml", "--source", source, "--filter", "wide_grid"])
    };
    assert_eq!(part("recorded").status, Some(2));
    assert_eq!(part("auto").status, Some(3), "no GPU, and no recording of the part");
    // a filter that matches every variant is ignored
    let whole = place.run_at_root(&["run", "configs/sdpa_fast.toml", "--source", "recorded", "--filter", "*"]);
    assert_eq!(whole.status, Some(0), "{whole:?}");
}

fn run_of(place: &Place) -> PathBuf {
    fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_run_of_a_part_says_so_and_is_no_standard_for_others() {
    let (place, variables) = machine_of_kernels(&["copy_honest", "copy_skip"], "rounds = 60");
    let arguments = ["run", "phase.toml", "--source", "gpu", "--filter", "copy_honest", "--rounds", "8"];
    let mut command = place.ncugate(&arguments);
    let finished = Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(4), "{finished:?}");
    let said = "The run measured a part of the phase (--filter copy_honest --rounds 8)";
    assert!(finished.stdout.replace('\n', " ").contains(said), "{finished:?}");
    let run = run_of(&place);
    let manifest: Value = serde_json::from_slice(&fs::read(run.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["narrowed"]["rounds"], 8);
    assert!(!fs::read_to_string(run.join("builds.jsonl")).unwrap().contains("copy_skip"));
    let folder = run.display().to_string();
    let again = place.run(&["page", &folder]);
    assert!(again.status == Some(4) && again.stdout.replace('\n', " ").contains(said), "{again:?}");
    let gated = place.run(&["gate", "phase.toml", &folder]);
    assert!(gated.status == Some(3) && gated.stderr.contains("only a part of the phase"), "{gated:?}");
    let index = place.run(&["history", "--summary", "summary.md"]);
    assert_eq!(index.status, Some(2), "it is not the state of the phase: {index:?}");
    assert!(!place.path().join("summary.md").exists());
    let promoted = place.run(&["leaderboard", "promote", &folder]);
    assert!(promoted.status == Some(3) && promoted.stderr.contains("measured a part of its phase"), "{promoted:?}");
}

#[test]
fn several_phases_are_run_and_one_that_fails_does_not_stop_the_next() {
    let place = Place::new();
    place.write("broken.toml", "[phase]\nname = 3\n");
    let broken = place.path().join("broken.toml").display().to_string();
    let finished =
        place.run_at_root(&["run", "configs/phase_d.toml", &broken, "configs/sdpa_fast.toml", "--source", "recorded"]);
    assert_eq!(finished.status, Some(2), "{finished:?}");
    let ends: Vec<&str> = finished.stdout.lines().rev().take(3).collect();
    assert!(ends[0].starts_with("pass ") && ends[0].ends_with("configs/sdpa_fast.toml"), "{ends:?}");
    assert!(ends[1].starts_with("wrong usage ") && ends[2].starts_with("fail "), "{ends:?}");
    let two = place.run_at_root(&["run", "configs/phase_d.toml", "configs/sdpa_fast.toml", "--source", "recorded"]);
    assert_eq!(two.status, Some(1), "{two:?}");
    let file = place.path().join("c.md").display().to_string();
    let phases = ["run", "configs/phase_d.toml", "configs/sdpa_fast.toml"];
    let comment = place.run_at_root(&[&phases[..], &["--source", "recorded", "--comment", &file]].concat());
    assert_eq!(comment.status, Some(1), "{comment:?}");
    assert!(fs::read_to_string(&file).unwrap().contains("### 2 phases: 1 fail, 1 pass"));
}

#[test]
fn a_time_budget_ends_measuring_and_the_same_command_goes_on() {
    let slow = format!("[ -e slept ] || {{ touch slept; exec sleep 60; }}\n{GOOD}");
    let (place, variables) = machine_of_program(&slow);
    let arguments = ["run", "phase.toml", "--source", "gpu", "--time-budget", "3"];
    let started = Instant::now();
    let mut command = place.ncugate(&arguments);
    let finished = Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(60)));
    assert!(started.elapsed() < Duration::from_secs(40), "{finished:?}");
    assert!(finished.stderr.contains("the time budget of 3 s is spent"), "{finished:?}");
    assert!(matches!(finished.status, Some(3 | 4)), "{finished:?}");
    let manifest = fs::read(run_of(&place).join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_ne!(manifest["state"], "complete");
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu", "--time-budget", "100"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert!(finished.stderr.contains("continuing the unfinished run"), "{finished:?}");
    assert_eq!(fs::read_dir(place.path().join("profiles/copy")).unwrap().count(), 1);
}

/// What was not measured yet could pass.
#[test]
fn a_run_that_a_time_budget_ended_is_not_a_bad_commit() {
    let (place, variables) = machine_of_kernels(&["copy_honest", "copy_hang"], "rounds = 20\ntimeout_s = 60");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    place.write("phase.toml", &phase.replace("latency_p50 <= 10.5\"", "registers <= 8\"\non = \"each\""));
    for (more, status) in [(None, 1), (Some("--bisect-status"), 125)] {
        let arguments = ["run", "phase.toml", "--source", "gpu", "--time-budget", "2", "--fresh"];
        let arguments: Vec<&str> = arguments.into_iter().chain(more).collect();
        let mut command = place.ncugate(&arguments);
        let finished = Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(60)));
        assert_eq!(finished.status, Some(status), "{finished:?}");
    }
}

#[test]
fn a_variant_selected_for_passing_must_be_re_timed() {
    let place = Place::new();
    for folder in ["configs/softmax.toml", "kernels/softmax", "profiles/softmax/h200"] {
        place.copy(folder);
    }
    let text = fs::read_to_string(place.path().join("configs/softmax.toml")).unwrap();
    place.write("configs/softmax.toml", &text.replace("[phase]\n", "[phase]\nselect = \"best that passes\"\n"));
    let finished = place.run(&["run", "configs/softmax.toml", "--source", "recorded", "--format", "json"]);
    let results: Value = serde_json::from_str(&finished.stdout).unwrap();
    // the recording confirmed the fastest variant, which fails
    assert!(results["selected"].to_string().contains("THREADS=128"), "{}", results["selected"]);
    assert_eq!((finished.status, results["verdict"].as_str()), (Some(4), Some("inconclusive")));
}
