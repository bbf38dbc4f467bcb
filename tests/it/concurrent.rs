//! Several runs at once: one process writes each folder, and one run at a time measures on a GPU.

use crate::command::{Place, SOON, binary, wait_for};
use crate::live::{machine_of_kernels, machine_of_program};
use crate::safety::runs;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Environment variables of a machine with doubles.
type Variables = Vec<(&'static str, String)>;

/// Starts `ncugate` in the background, in a place with doubles.
pub fn start(place: &Place, variables: &Variables, args: &[&str]) -> Child {
    let mut command = Command::new(binary());
    command.args(args).current_dir(place.path()).envs(variables.clone());
    command.env("NCUGATE_CACHE", place.path().join("cache")).env("NO_COLOR", "1");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Status, standard output and standard error of a process that ends soon.
pub fn ended(child: Child) -> (Option<i32>, String, String) {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Folders of the runs in a place, sorted.
pub fn folders(place: &Place) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place.path().join("profiles/copy")) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

/// The manifest of a run.
pub fn manifest(folder: &std::path::Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("manifest.json")).unwrap_or_default()).unwrap_or_default()
}

const RUN: [&str; 4] = ["run", "phase.toml", "--source", "gpu"];

#[test]
fn two_runs_of_one_phase_at_once_are_two_whole_runs() {
    let (place, variables) = machine_of_kernels(&["copy_honest"], "");
    let children: Vec<Child> = (0..3).map(|_| start(&place, &variables, &RUN)).collect();
    let ended: Vec<_> = children.into_iter().map(ended).collect();
    assert!(ended.iter().all(|(status, ..)| *status == ended[0].0 && *status != Some(3)), "{ended:?}");
    let folders = folders(&place);
    assert_eq!(folders.len(), 3, "{folders:?}");
    for folder in folders {
        let manifest = manifest(&folder);
        assert_eq!(manifest["state"], "complete", "{}", folder.display());
        assert_eq!(manifest["run"].as_str(), folder.file_name().and_then(|name| name.to_str()));
        let checks = fs::read_to_string(folder.join("checks.jsonl")).unwrap();
        assert_eq!(checks.lines().count(), 2, "its own and no others: {checks}");
        assert!(!folder.join("run.lock").exists());
    }
}

/// A run whose only program sleeps for `seconds`.
fn sleeping(seconds: &str) -> (Place, Variables, Child) {
    let (place, variables) = machine_of_program(&format!("cat \"$NCUGATE_REQUEST\" > /dev/null\nsleep {seconds}\n"));
    let child = start(&place, &variables, &RUN);
    wait_for("the program works", || runs(seconds));
    (place, variables, child)
}

#[test]
fn a_gpu_that_is_measured_on_is_waited_for_or_refused() {
    let (place, variables, mut first) = sleeping("40.0404");
    let started = Instant::now();
    let (status, _, stderr) = ended(start(&place, &variables, &[&RUN[..], &["--wait", "0"]].concat()));
    assert_eq!(status, Some(3), "{stderr}");
    assert!(stderr.contains(&format!("Double is in use: process {} on ", first.id())), "{stderr}");
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    assert!(stderr.contains("is being written by process"), "the first one's run is not continued: {stderr}");

    let (status, _, stderr) = ended(start(&place, &variables, &["tools", "calibrate", "phase.toml", "--wait", "0"]));
    assert_eq!(status, Some(3), "{stderr}");

    let waiting = start(&place, &variables, &[&RUN[..], &["--fresh", "--wait", "1"]].concat());
    let (status, _, stderr) = ended(waiting);
    assert_eq!(status, Some(3), "{stderr}");
    assert!(stderr.contains(&format!("waiting for Double: process {} on ", first.id())), "{stderr}");

    // a killed process releases the GPU and the folder
    first.kill().unwrap();
    first.wait().unwrap();
    place.write("program.sh", "exit 1\n");
    let (_, _, stderr) = ended(start(&place, &variables, &[&RUN[..], &["--wait", "5"]].concat()));
    assert!(!stderr.contains("waiting for") && !stderr.contains("is taken"), "{stderr}");
}

#[test]
fn a_run_that_was_killed_is_taken_over_and_finished() {
    let (place, variables, mut first) = sleeping("40.0505");
    let folder = folders(&place).remove(0);
    assert!(folder.join("run.lock").exists());
    first.kill().unwrap();
    first.wait().unwrap();
    let second = start(&place, &variables, &RUN);
    wait_for("the run goes on", || {
        runs("40.0505")
            && fs::read_to_string(folder.join("run.lock"))
                .is_ok_and(|lock| lock.contains(&format!("\"pid\":{}", second.id())))
    });
    assert_eq!(folders(&place).len(), 1);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(second.id().cast_signed()), nix::sys::signal::Signal::SIGINT)
        .unwrap();
    let (status, _, stderr) = ended(second);
    assert_eq!(status, Some(3), "{stderr}");
    assert!(stderr.contains("continuing the unfinished run in"), "{stderr}");
    assert!(!folder.join("run.lock").exists(), "given back");
    wait_for("nothing is left", || !runs("40.0505"));
    std::thread::sleep(Duration::from_millis(10));
}

#[test]
fn a_gpu_is_free_for_others_while_a_run_compiles() {
    let (place, variables) = machine_of_kernels(&["copy_honest"], "");
    let quick = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    place.write("slow.toml", &quick.replace("copy.cu", "slow.cu").replace("name = \"copy\"", "name = \"slow\""));
    place.write("slow.cu", &fs::read_to_string(place.path().join("copy.cu")).unwrap());
    let compiler = fs::read_to_string(place.path().join("bin/nvcc")).unwrap();
    let slow = "case \"$source\" in *slow.cu) sleep 8.0808 ;; esac\ncc -c";
    place.write_program("bin/nvcc", &compiler.replace("cc -c", slow));
    let first = start(&place, &variables, &["run", "slow.toml", "--source", "gpu"]);
    wait_for("it compiles", || runs("8.0808"));
    // the process that waits for its turn has loaded by then
    std::thread::sleep(Duration::from_secs(3));
    let (status, _, stderr) = ended(start(&place, &variables, &[&RUN[..], &["--wait", "0"]].concat()));
    assert!(status != Some(3) && !stderr.contains("is taken"), "{status:?} {stderr}");
    assert!(runs("8.0808"), "the first one still compiles");
    let (status, stdout, stderr) = ended(first);
    assert!(matches!(status, Some(0 | 4)), "{status:?} {stdout}{stderr}");
}
