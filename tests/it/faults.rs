//! Faults around a run and the state they leave behind: the faults of docs/limits.md that need no GPU.

use crate::command::{Finished, Place, SOON, binary, wait_for, write_double};
use crate::concurrent::{ended, folders, manifest, start};
use crate::live::{GOOD, latencies, machine_of_kernels, machine_of_program};
use crate::safety::runs;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const RUN: [&str; 4] = ["run", "phase.toml", "--source", "gpu"];
type Variables = Vec<(&'static str, String)>;

fn run(place: &Place, variables: &Variables, more: &[&str]) -> Finished {
    let mut command = place.ncugate(&[&RUN[..], more].concat());
    Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)))
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Records of a journal of a run.
fn records(folder: &Path, journal: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(journal)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The Markdown report, which lists missing results.
fn missing(place: &Place) -> String {
    let folder = fs::read_dir(place.path().join("reports/copy")).unwrap().next().unwrap().unwrap().path();
    fs::read_to_string(folder.join("report.md")).unwrap()
}

#[test]
fn children_end_with_a_parent_that_is_killed() {
    // a child in the process group, and a grandchild
    let script = "cat \"$NCUGATE_REQUEST\" > /dev/null\nsh -c 'sleep 40.0606; true' &\nsleep 40.0707\n";
    let (place, variables) = machine_of_program(script);
    let child = start(&place, &variables, &RUN);
    wait_for("the program works", || runs("40.0606") && runs("40.0707"));
    kill(child);
    wait_for("its children are ended", || !runs("40.0606") && !runs("40.0707"));
}

#[test]
fn a_run_goes_on_without_its_guard() {
    let script = format!("touch started\nuntil [ -e killed ]; do sleep 0.05; done\n{GOOD}");
    let (place, variables) = machine_of_program(&script);
    let child = start(&place, &variables, &RUN);
    wait_for("the program works", || place.path().join("started").exists());
    let parent = child.id();
    let is_guard = |pid: &u32| {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        read("cmdline").ends_with("ncugate\0guard\0") && read("status").contains(&format!("PPid:\t{parent}\n"))
    };
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let guard = pids.filter(is_guard).last().expect("there is a guard");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(guard.cast_signed()), nix::sys::signal::Signal::SIGKILL).unwrap();
    place.write("killed", "");
    let (status, stdout, stderr) = ended(child);
    assert_eq!(status, Some(4), "{stdout} {stderr}");
    assert_eq!(manifest(&folders(&place)[0])["state"], "complete");
}

#[test]
fn a_run_that_is_killed_at_any_moment_goes_on_to_the_same_verdict() {
    let (place, variables) = machine_of_kernels(&["copy_honest", "copy_slow", "copy_wrong"], "rounds = 20");
    let undisturbed = run(&place, &variables, &[]);
    let verdict = |finished: &Finished| {
        let lines = finished.stdout.lines().filter(|line| line.starts_with("FAIL") || line.contains("proven correct"));
        (finished.status, lines.map(str::to_owned).collect::<Vec<_>>())
    };
    for after in [20, 150, 300, 500, 800, 1200] {
        let _ = fs::remove_dir_all(place.path().join("profiles"));
        let child = start(&place, &variables, &RUN);
        std::thread::sleep(Duration::from_millis(after));
        kill(child);
        let resumed = run(&place, &variables, &[]);
        assert_eq!(verdict(&resumed), verdict(&undisturbed), "killed after {after} ms: {resumed:?}");
        let states: Vec<Value> = folders(&place).iter().map(|folder| manifest(folder)["state"].clone()).collect();
        assert!(states.iter().any(|state| state == "complete"), "killed after {after} ms: {states:?}");
    }
}

#[test]
fn kernels_that_hang_crash_print_and_are_wrong_are_results_and_the_innocent_are_measured() {
    let names = ["copy_hang", "copy_crash", "copy_loud", "copy_wrong", "copy_honest"];
    let (place, variables) = machine_of_kernels(&names, "rounds = 5\ntimeout_s = 2");
    let finished = run(&place, &variables, &[]);
    let folder = folders(&place).remove(0);
    assert_eq!(manifest(&folder)["state"], "complete", "{finished:?}");
    let first = |name: &str| {
        let mut checks = records(&folder, "checks.jsonl").into_iter().filter(|record| record["variant"] == name);
        let outcome = checks.next().unwrap()["outcome"].clone();
        (outcome["status"].as_str().unwrap().to_owned(), outcome["reason"].as_str().unwrap_or_default().to_owned())
    };
    let (status, reason) = first("copy_hang");
    assert!(status == "crashed" && reason.contains("hung: no result within 2s"), "{status}: {reason}");
    let (status, reason) = first("copy_crash");
    assert!(status == "crashed" && reason.contains("SIGABRT"), "{status}: {reason}");
    assert_eq!(first("copy_wrong").0, "wrong");
    for name in ["copy_loud", "copy_honest"] {
        assert_eq!(first(name).0, "correct");
        let timed = latencies(&place).into_iter().find(|(variant, _)| variant == name).unwrap();
        assert_eq!(timed.1["status"], "timed");
    }
    let logs = fs::read_dir(folder.join("logs")).unwrap().filter_map(|entry| entry.unwrap().metadata().ok());
    assert!(logs.map(|log| log.len()).max().unwrap() < 1 << 20, "only the ends of a kernel's output are kept");
}

/// A machine with one kernel that passes a gate on compiler output and has a gate on its latency.
fn honest(more: &str) -> (Place, Variables) {
    let (place, variables) = machine_of_kernels(&["copy_honest"], "rounds = 5");
    let text = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let gate = "[[gate]]\nname = \"registers\"\nrequire = \"registers <= 64\"\n";
    place.write("phase.toml", &format!("{text}{gate}{more}"));
    (place, variables)
}

#[test]
fn without_ncu_everything_else_is_measured_and_gates_name_missing_counters() {
    for required in [false, true] {
        let more = format!("[profile]\nncu = \"no-such-ncu\"\nrequire = {required}\n");
        let (place, variables) = honest(&more);
        let finished = run(&place, &variables, &[]);
        if required {
            assert_eq!(finished.status, Some(3), "{finished:?}");
            assert!(finished.stderr.contains("ncu not found") && folders(&place).is_empty(), "{finished:?}");
            continue;
        }
        assert_eq!(finished.status, Some(4), "{finished:?}");
        let folder = folders(&place).remove(0);
        let manifest = manifest(&folder);
        assert_eq!((&manifest["state"], &manifest["fingerprint"]["ncu"]), (&"complete".into(), &Value::Null));
        assert_eq!(latencies(&place)[0].1["status"], "timed");
        let page = missing(&place);
        assert!(page.contains("ncu not found") && page.contains("install Nsight Compute"), "{page}");
        assert!(finished.stdout.contains("1 proven correct"), "{}", finished.stdout);
    }
}

#[test]
fn an_ncu_that_hangs_ends_soon_after_its_limit_and_its_kernel_is_named() {
    for scenario in ["hang", "hang-after"] {
        let (place, mut variables) = honest("[profile]\ntimeout_s = 3\n");
        variables.push(("NCUGATE_DOUBLE_SCENARIO", scenario.to_owned()));
        let started = Instant::now();
        let finished = run(&place, &variables, &[]);
        let took = started.elapsed();
        println!("{scenario}: {took:?}");
        assert!(took < Duration::from_secs(40), "{scenario}: {took:?}: {finished:?}");
        // The latency has no witness.
        assert_eq!(finished.status, Some(4), "{scenario}: {finished:?}");
        let profiles = records(&folders(&place)[0], "profiles.jsonl");
        let last = profiles.last().unwrap();
        assert_eq!((&last["variant"], &last["outcome"]["status"]), (&"copy_honest".into(), &"failed".into()), "{last}");
        assert!(last["outcome"]["reason"].as_str().unwrap().contains("time limit"), "{last}");
        let page = missing(&place);
        assert!(page.contains("time limit") && page.contains("copy_honest"), "{page}");
    }
}

#[test]
fn without_permission_everything_else_is_measured_and_the_page_says_how_to_get_it() {
    for required in [false, true] {
        let (place, mut variables) = honest(&format!("[profile]\nrequire = {required}\n"));
        variables.push(("NCUGATE_DOUBLE_SCENARIO", "permission".to_owned()));
        let finished = run(&place, &variables, &[]);
        assert_eq!(finished.status, Some(if required { 3 } else { 4 }), "{finished:?}");
        let folder = folders(&place).remove(0);
        assert_eq!(manifest(&folder)["state"], if required { "running" } else { "complete" });
        let page = missing(&place);
        assert!(page.contains("NVreg_RestrictProfilingToAdminUsers=0"), "{page}");
        assert!(!page.contains("its end was not recorded"), "{page}");
        assert_eq!(latencies(&place)[0].1["status"], "timed");
    }
}

#[test]
fn counters_that_another_tool_holds_are_asked_for_again() {
    let (place, mut variables) = honest("");
    variables.push(("NCUGATE_DOUBLE_SCENARIO", "resource-unavailable".to_owned()));
    let finished = run(&place, &variables, &[]);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    assert_eq!(finished.stderr.matches("another tool holds the counters; retrying").count(), 3, "{}", finished.stderr);
    assert!(missing(&place).contains("dcgmi profile --pause"));
}

#[test]
fn a_folder_removed_during_the_run_ends_it_with_a_remedy() {
    let (place, variables) = machine_of_program(&format!("rm -rf profiles\n{GOOD}"));
    let finished = run(&place, &variables, &[]);
    assert_eq!(finished.status, Some(3), "{finished:?}");
    assert!(finished.stderr.contains("profiles") && finished.stderr.contains("error: "), "{}", finished.stderr);
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_its_records() {
    let script = format!("{GOOD}\ncp \"$result\" copy-of-result\n");
    let (place, variables) = machine_of_program(&script);
    let started = Instant::now();
    let mut command = Command::new("sh");
    // the file-size limit stands in for a full disk
    let limited = "ulimit -f 2; exec \"$0\" \"$@\"";
    command.args(["-c", limited]).arg(binary()).args(RUN).current_dir(place.path());
    let output = command.envs(variables.clone()).env("NCUGATE_CACHE", place.path().join("cache")).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("earlier records are kept: free disk space"), "{stderr}");
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    let finished = run(&place, &variables, &[]);
    assert_eq!(finished.status, Some(4), "with room: {finished:?}");
    assert_eq!(manifest(folders(&place).last().unwrap())["state"], "complete");
}

#[test]
fn a_clock_that_was_set_back_stops_nothing() {
    let (place, mut variables) = machine_of_program(GOOD);
    let clock = place.path().join("clock.so");
    write_double("clock.c", &clock);
    place.write("program.sh", "sleep 40.0808\n");
    let child = start(&place, &variables, &RUN);
    wait_for("the program works", || runs("40.0808"));
    kill(child);
    place.write("program.sh", GOOD);
    variables.push(("LD_PRELOAD", clock.display().to_string()));
    let finished = run(&place, &variables, &[]);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    let states: Vec<Value> = folders(&place).iter().map(|folder| manifest(folder)["state"].clone()).collect();
    assert!(states.iter().any(|state| state == "complete"), "{states:?}");
    let started = |folder: &std::path::PathBuf| manifest(folder)["finished"].as_str().unwrap_or_default().to_owned();
    assert!(folders(&place).iter().any(|folder| started(folder).as_str() < "2026"), "the clock was set back");
}

#[test]
fn a_path_that_is_not_a_phase_file_is_refused_at_once() {
    let place = Place::new();
    nix::unistd::mkfifo(&place.path().join("pipe.toml"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    place.write("large.toml", &format!("#{}", "x".repeat(5 << 20)));
    place.write("bytes.toml", "");
    fs::write(place.path().join("bytes.toml"), b"# \xff\n").unwrap();
    for (file, said) in [
        ("pipe.toml", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("large.toml", "larger than 4194304 bytes"),
        ("bytes.toml", "not UTF-8"),
    ] {
        let refused = Finished::of(place.ncugate(&["check", file, "--no-build"]).timeout(SOON));
        assert_eq!(refused.status, Some(2), "{file}: {refused:?}");
        assert!(refused.stderr.contains(said), "{file}: {}", refused.stderr);
    }
    let phase = include_str!("../data/copy.toml");
    place.write("real.toml", &format!("{phase}[[variant]]\nname = \"a\"\nparams = {{ THREADS = 64 }}\n"));
    std::os::unix::fs::symlink("real.toml", place.path().join("link.toml")).unwrap();
    assert_eq!(place.run(&["check", "link.toml", "--no-build"]).status, Some(0));
}

#[test]
fn a_pipe_where_a_file_should_be_is_refused_and_not_waited_for() {
    let place = Place::new();
    let pipe = |name: &str| {
        place.write(&format!("{name}/.keep"), "");
        fs::remove_dir_all(place.path().join(name)).unwrap();
        nix::unistd::mkfifo(&place.path().join(name), nix::sys::stat::Mode::S_IRWXU).unwrap();
    };
    for name in
        ["pipe", "profiles/copy/leaderboard.jsonl", "profiles/copy/noise.json", "profiles/copy/attempts/history.jsonl"]
    {
        pipe(name);
    }
    let phase = include_str!("../data/copy.toml");
    let phase = format!("{phase}[[variant]]\nname = \"a\"\nparams = {{ THREADS = 64 }}\n");
    place.write("phase.toml", &phase);
    place.write("npy.toml", &phase.replace("reference = \"copy\"", "reference = { npy = \"pipe\" }"));
    for (args, status) in [
        (&["leaderboard", "show", "copy"][..], 3),
        (&["agent", "try", "phase.toml", "--source", "pipe"], 2),
        (&["agent", "try", "phase.toml", "--source", "phase.toml"], 3),
        (&["tools", "redact", "pipe", "-o", "out.ncu-rep"], 3),
        (&["tools", "inputs", "pipe", "-o", "inputs"], 2),
    ] {
        let refused = Finished::of(place.ncugate(args).timeout(SOON));
        assert_eq!(refused.status, Some(status), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("not a regular file"), "{args:?}: {}", refused.stderr);
    }
    let checked = Finished::of(place.ncugate(&["check", "npy.toml", "--no-build"]).timeout(SOON));
    assert!(checked.status.is_some_and(|status| status != 0), "{checked:?}");
}

#[test]
fn a_source_that_is_not_a_file_is_not_read() {
    let (place, variables) = machine_of_kernels(&["copy_honest"], "rounds = 5");
    nix::unistd::mkfifo(&place.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    for source in ["pipe", "/dev/null"] {
        place.write("phase.toml", &phase.replace("\"copy.cu\"", &format!("\"{source}\"")));
        let mut command = place.ncugate(&["check", "phase.toml"]);
        let checked = Finished::of(command.envs(variables.clone()).timeout(SOON));
        assert!(checked.status.is_some_and(|status| status != 0), "{checked:?}");
        assert!(format!("{checked:?}").contains("not a regular file"), "{checked:?}");
    }
}

#[test]
fn time_and_messages_grow_no_faster_than_the_file() {
    let place = Place::new();
    let phase = include_str!("../data/copy.toml");
    let variant = |at: usize| format!("[[variant]]\nname = \"v{at}\"\nparams = {{ THREADS = 64 }}\n");
    let many: String = (0..2000).map(variant).collect();
    place.write("many.toml", &format!("{phase}{many}"));
    let started = Instant::now();
    let checked = Finished::of(place.ncugate(&["check", "many.toml", "--no-build"]).timeout(Duration::from_secs(60)));
    assert_eq!(checked.status, Some(0), "after {:?}: {checked:?}", started.elapsed());
    let seeds: Vec<u32> = (0..100_000).collect();
    let seeded = phase.replace("seeds = [0, 1]", &format!("seeds = {seeds:?}"));
    place.write("seeds.toml", &format!("{seeded}{}", variant(0)));
    let checked = Finished::of(place.ncugate(&["check", "seeds.toml", "--no-build"]).timeout(Duration::from_secs(60)));
    assert_eq!(checked.status, Some(0), "{checked:?}");
    let unknown: String = (0..20_000).map(|at| format!("k{at} = 1\n")).collect();
    place.write("unknown.toml", &format!("{phase}[zzz]\na = 1\n[sweepy]\n{unknown}[[variant]]\n{unknown}"));
    let refused =
        Finished::of(place.ncugate(&["check", "unknown.toml", "--no-build"]).timeout(Duration::from_secs(60)));
    assert_eq!(refused.status, Some(2));
    assert!(
        refused.stderr.contains("more problems are not listed") && refused.stderr.len() < 200_000,
        "{}",
        refused.stderr.len()
    );
}
