//! `run` with everything but a GPU: doubles of the driver, of nvcc and of ncu, and a phase of external commands.

use crate::command::{Finished, Place, root, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a good program gives, at the path in `$result`.
pub const GOOD: &str = r#"
result=$(sed -n 's/.*"result": "\(.*\)".*/\1/p' "$NCUGATE_REQUEST")
check='"shape": "only", "max_abs": 0, "rel_l2": 0, "nonfinite": 0, "compared": 2048'
samples=$(seq -s, 10.001 0.001 10.060)
printf '{"version": 1, "status": "ok", "checks": [{"seed": 0, %s}, {"seed": 1, %s}],
  "latency": [{"shape": "only", "unit": "us", "launches": 20, "samples": [%s]}]}' "$check" "$check" "$samples" > "$result"
"#;

/// A place with the doubles and `phase.toml`, whose one candidate is the shell script; gives the variables to run it with.
pub fn machine(script: &str) -> (Place, Vec<(&'static str, String)>) {
    let place = Place::new();
    let driver = place.write("driver/.keep", "").parent().unwrap().to_owned();
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-w", "-o"]).arg(driver.join("libcuda.so.1"));
    assert!(compile.arg(root().join("tests/doubles/cuda.c")).status().unwrap().success());
    let tool = |name: &str, text: &str| {
        let path = place.write(&format!("bin/{name}"), text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    tool("nvcc", "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n");
    tool("ncu", &fs::read_to_string(root().join("tests/doubles/ncu")).unwrap());
    let (workload, _) = include_str!("../data/copy.toml").split_once("[kernel]").unwrap();
    let program = place.write("program.sh", script);
    let candidate = format!("[[variant]]\nname = \"program\"\ncommand = [\"sh\", \"{}\"]\n", program.display());
    let gate = "[[gate]]\nname = \"latency\"\nrequire = \"latency_p50 <= 10.5\"\n";
    place.write("phase.toml", &format!("{workload}{candidate}{gate}"));
    let path = format!("{}:{}", place.path().join("bin").display(), std::env::var("PATH").unwrap());
    (place, vec![("LD_LIBRARY_PATH", driver.display().to_string()), ("PATH", path)])
}

#[test]
fn a_run_ends_although_its_program_leaves_children_behind() {
    let (place, variables) = machine(&format!("{GOOD}\nsleep 40 &\nsetsid sleep 40 &\n"));
    let started = Instant::now();
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(4), "what a program says of itself is no pass: {finished:?}");
    assert!(finished.stdout.contains("graded by itself"), "{}", finished.stdout);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(finished.stdout.contains("live: measured on Double"), "{}", finished.stdout);
}

#[test]
fn a_run_is_interrupted_although_its_program_takes_no_notice() {
    let script = "cat \"$NCUGATE_REQUEST\" > /dev/null\ntrap '' TERM INT\nsetsid sleep 40 &\ntouch started\nsleep 40\n";
    let (place, variables) = machine(script);
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ncugate"));
    command.args(["run", "phase.toml", "--source", "gpu"]).current_dir(place.path()).envs(variables);
    let mut child = command.env("NCUGATE_CACHE", place.path().join("cache")).stdout(Stdio::null()).spawn().unwrap();
    wait_for("the program works", || place.path().join("started").exists());
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let mut status = None;
    wait_for("the run ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(3));
    let runs = fs::read_dir(place.path().join("profiles/copy")).unwrap().map(|entry| entry.unwrap().path());
    let states: Vec<String> = runs.map(|run| fs::read_to_string(run.join("manifest.json")).unwrap()).collect();
    assert!(states.len() == 1 && states[0].contains("\"state\": \"interrupted\""), "{states:?}");
}
