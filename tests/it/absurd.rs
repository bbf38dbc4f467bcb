//! Absurd output of a program: samples that are not times, paths that are not files, files larger than the disk. The
//! variant fails; the run continues.

use crate::command::{Finished, Place};
use crate::concurrent::{folders, manifest};
use crate::live::{GOOD, latencies, machine_of_kernels, machine_of_program, machine_that_counts};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

type Variables = Vec<(&'static str, String)>;

fn run(place: &Place, variables: &Variables) -> Finished {
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)))
}

#[test]
fn absurd_samples_and_results_cost_their_variant_and_not_the_run() {
    let (place, variables) = machine_of_program(GOOD);
    let good = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (head, gate) = good.split_once("[[gate]]").unwrap();
    let mut variants = String::new();
    let many = "samples=$(yes 10.0 | head -n 10001 | paste -sd,)";
    for (name, script) in [
        ("large", GOOD.replace("$(seq -s, 10.001 0.001 10.060)", "1e307,1e307,1e307")),
        ("sum", GOOD.replace("$(seq -s, 10.001 0.001 10.060)", "1.5e308,1.5e308")),
        ("many", GOOD.replace("samples=$(seq -s, 10.001 0.001 10.060)", many)),
        ("file", format!("{GOOD}\ntruncate -s 5G \"$result\"\n")),
    ] {
        let path = place.write(&format!("{name}.sh"), &script);
        variants += &format!("[[variant]]\nname = \"{name}\"\ncommand = [\"sh\", \"{}\"]\n", path.display());
    }
    place.write("phase.toml", &format!("{head}{variants}[[gate]]{gate}"));
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(4), "a self-reported result is not a pass: {finished:?}");
    let folder = folders(&place).remove(0);
    assert_eq!(manifest(&folder)["state"], "complete");
    for (variant, outcome) in latencies(&place) {
        let (status, reason) = (outcome["status"].as_str().unwrap(), outcome["reason"].as_str().unwrap_or_default());
        let said = match variant.as_str() {
            "large" | "sum" => "is not a latency",
            "many" => "it has 10001 samples; at most 10000 are allowed",
            "file" => "it has more than 67108864 bytes",
            _ => "",
        };
        assert_eq!(status, if said.is_empty() { "timed" } else { "failed" }, "{variant}: {outcome}");
        assert!(reason.contains(said), "{variant}: {reason}");
    }
    assert!(!folder.join("logs/file/result.json").exists(), "an invalid result is not kept");
    let again = place.run(&["page", folder.to_str().unwrap()]);
    assert_eq!(again.status, Some(4), "{again:?}");
    let json = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let seconds = &serde_json::from_str::<Value>(&json).unwrap()["stage_seconds"];
    assert!(seconds.as_array().unwrap().iter().all(|stage| stage[1].as_f64().is_some_and(f64::is_finite)), "{seconds}");
}

/// Makes the double of ncu run `script`, which can damage its report and its log, before it exits.
fn tamper(place: &Place, script: &str) {
    let ncu = place.path().join("bin/ncu");
    fs::rename(&ncu, place.path().join("bin/honest-ncu")).unwrap();
    let honest = place.path().join("bin/honest-ncu");
    let wrapper = format!(
        "#!/bin/sh\n{honest} \"$@\"\nstatus=$?\nwhile [ $# -gt 0 ]; do case \"$1\" in --export) report=$2.ncu-rep ;; \
         --log-file) log=$2 ;; esac; shift; done\n[ -z \"${{report:-}}\" ] && exit $status\n{script}\nexit $status\n",
        honest = honest.display()
    );
    place.write_program("bin/ncu", &wrapper);
}

#[test]
fn reports_and_logs_that_are_no_files_or_huge_are_not_profiled() {
    for (what, script) in [
        ("a pipe", "rm \"$report\"; mkfifo \"$report\""),
        ("a link", "mv \"$report\" \"$report.aside\"; ln -s \"$report.aside\" \"$report\""),
        ("a report of 40 GiB", "truncate -s 40G \"$report\""),
        ("a log of 5 GiB", "rm \"$report\"; truncate -s 5G \"$log\"; status=1"),
        ("a log that is a pipe", "rm \"$report\" \"$log\"; mkfifo \"$log\"; mkfifo \"${log%.log}.out\""),
    ] {
        let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 5");
        tamper(&place, script);
        let finished = run(&place, &variables);
        assert_eq!(finished.status, Some(4), "{what}: {finished:?}");
        let folder = folders(&place).remove(0);
        assert_eq!(manifest(&folder)["state"], "complete", "{what}: {finished:?}");
        let text = fs::read_to_string(folder.join("profiles.jsonl")).unwrap();
        assert!(text.contains("\"status\":\"failed\"") && !text.contains("profiled\""), "{what}: {text}");
        assert!(text.len() < 100_000, "{what}: {}", text.len());
        let logs = fs::read_dir(folder.join("logs")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().size());
        assert!(logs.max().unwrap() <= 16 << 20, "{what}");
        let again = place.run(&["page", folder.to_str().unwrap()]);
        assert_eq!(again.status, Some(4), "{what}: {again:?}");
    }
}

#[test]
fn machine_code_that_is_too_large_is_not_read() {
    let (place, variables) = machine_of_kernels(&["copy_honest"], "rounds = 5");
    let compiler = fs::read_to_string(place.path().join("bin/nvcc")).unwrap();
    place.write_program("bin/nvcc", &format!("{compiler}truncate -s 3G \"$out\"\n"));
    let mut command = place.ncugate(&["check", "phase.toml", "--arch", "sm_90"]);
    let checked = Finished::of(command.envs(variables).timeout(Duration::from_secs(20)));
    assert_eq!(checked.status, Some(1), "{checked:?}");
    assert!(format!("{checked:?}").contains("wrote 3221225472 bytes of machine code"), "{checked:?}");
    let left = fs::read_dir(place.path().join("cache/tmp")).unwrap().count();
    assert_eq!(left, 0);
}
