//! Random kills of every process of a run. The resumed run gives the result of an undisturbed run.
//!
//! Two kills of each kind here; twenty in `tests/hostile/kills.sh`.

use crate::command::{Finished, Place};
use crate::concurrent::{folders, manifest, start};
use crate::functions::{has_shared_python, machine_of_functions};
use crate::live::machine_that_counts;
use crate::stored::report_of;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

type Variables = Vec<(&'static str, String)>;
const RUN: [&str; 4] = ["run", "phase.toml", "--source", "gpu"];

/// Number of kills of each kind.
fn kills() -> u64 {
    std::env::var("NCUGATE_TEST_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(2)
}

fn machine() -> (Place, Variables) {
    machine_that_counts(&["copy_honest", "copy_slow", "copy_wrong", "copy_a", "copy_b"], "rounds = 20")
}

/// Outcomes of every variant, and the status.
fn outcome(place: &Place, finished: &Finished) -> (Option<i32>, BTreeSet<String>) {
    let whole = |folder: &std::path::PathBuf| manifest(folder)["state"] == "complete";
    let folder = folders(place).into_iter().find(whole).unwrap_or_else(|| panic!("no whole run: {finished:?}"));
    let mut found = BTreeSet::new();
    for journal in ["checks.jsonl", "latencies.jsonl", "profiles.jsonl"] {
        for line in fs::read_to_string(folder.join(journal)).unwrap().lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            // a profile that failed in a batch is retried
            if journal != "profiles.jsonl" || record["outcome"]["status"] == "profiled" {
                found.insert(format!(
                    "{journal} {} {} {}",
                    record["variant"], record["seed"], record["outcome"]["status"]
                ));
            }
        }
    }
    (finished.status, found)
}

fn run(place: &Place, variables: &Variables) -> Finished {
    Finished::of(place.ncugate(&RUN).envs(variables.clone()).timeout(Duration::from_secs(100)))
}

/// Processes whose command line has all these words.
fn processes(words: &[&str]) -> Vec<i32> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let line = |pid: &i32| {
        String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).replace('\0', " ")
    };
    pids.filter(|pid| words.iter().all(|word| line(pid).contains(word))).collect()
}

/// Kills the first such process seen later than `after`; returns whether there was one.
fn kill_one(child: &mut Child, words: &[&str], after: Duration) -> bool {
    let started = Instant::now();
    std::thread::sleep(after);
    while started.elapsed() < Duration::from_secs(30) && child.try_wait().unwrap().is_none() {
        // Without words, kill the parent: its command line also matches other processes.
        let parent = words.is_empty().then_some(child.id().cast_signed());
        if let Some(pid) = parent.or_else(|| processes(words).first().copied()) {
            return kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Repeatedly kills a process with these words in its command line, each time at another moment, and resumes the run
/// to its end.
fn killed_anywhere(what: &str, (place, variables): (Place, Variables), words: &[String]) {
    let started = Instant::now();
    let undisturbed = outcome(&place, &run(&place, &variables));
    let length = started.elapsed();
    let mut hits = 0;
    // If the process had already ended, try another moment.
    for number in 0..3 * kills() {
        if hits == kills() {
            break;
        }
        fs::remove_dir_all(place.path().join("profiles")).unwrap();
        let mut child = start(&place, &variables, &RUN);
        // another moment each time, spread over the run
        let after = length.mul_f64((number as f64 * 0.618_033_988_7 + 0.1) % 1.0 * 0.6);
        hits += u64::from(kill_one(&mut child, &words.iter().map(String::as_str).collect::<Vec<_>>(), after));
        let output = child.wait_with_output().unwrap();
        let mut finished = Finished {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        if finished.status.is_none() || finished.status == Some(3) {
            finished = run(&place, &variables);
        }
        assert_eq!(outcome(&place, &finished), undisturbed, "{what} killed after {after:?}: {finished:?}");
    }
    eprintln!("{what}: killed {hits} times, and each run ended as an undisturbed one");
    assert_eq!(hits, kills(), "{what} was not there to be killed");
}

/// Words in the command line of a worker.
fn worker_of(place: &Place) -> [String; 2] {
    ["ncugate worker ".to_owned(), place.path().display().to_string()]
}

#[test]
fn a_parent_that_is_killed() {
    killed_anywhere("the parent", machine(), &[]);
}

#[test]
fn a_worker_that_is_killed() {
    let machine = machine();
    let words = worker_of(&machine.0);
    killed_anywhere("a worker", machine, &words);
}

#[test]
fn an_ncu_that_is_killed() {
    let machine = machine();
    let words = [machine.0.path().join("bin/ncu").display().to_string(), "--export".to_owned()];
    killed_anywhere("ncu", machine, &words);
}

#[test]
fn a_worker_with_an_interpreter_that_is_killed() {
    if !has_shared_python() {
        return;
    }
    let names = ["honest", "returned", "cached", "patched_and_right", "fails"];
    let (place, mut variables) = machine_of_functions(&names);
    let report = place.write("counted.ncu-rep", "");
    fs::write(&report, report_of(&names, 10_000.0)).unwrap();
    variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
    let words = worker_of(&place);
    killed_anywhere("a worker with an interpreter", (place, variables), &words);
}
