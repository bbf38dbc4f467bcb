//! `run` with everything but a GPU: doubles of the driver, of nvcc and of ncu. Phases run external commands and
//! kernels that the double of the driver knows by name.

use crate::command::{Finished, Place, binary, root, wait_for, write_double};
use crate::concurrent::folders;
use crate::stored::{report_of, report_of_eligible_warps, report_of_variants};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Writes the result of a good program to the path in `$result`.
pub const GOOD: &str = r#"
result=$(sed -n 's/.*"result": "\(.*\)".*/\1/p' "$NCUGATE_REQUEST")
check='"shape": "only", "max_abs": 0, "rel_l2": 0, "nonfinite": 0, "compared": 2048'
samples=$(seq -s, 10.001 0.001 10.060)
printf '{"version": 1, "status": "ok", "checks": [{"seed": 0, %s}, {"seed": 1, %s}],
  "latency": [{"shape": "only", "unit": "us", "launches": 20, "samples": [%s]}]}' "$check" "$check" "$samples" > "$result"
"#;

/// A double of nvcc: the source holds the assembly of a file laid out like a cubin.
const NVCC: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo 'Cuda compilation tools, release 13.0, V13.0.88' && exit
action=$1
while [ $# -gt 0 ]; do
    case "$1" in
        -o) out=$2; shift 2 ;;
        -MF) rule=$2; shift 2 ;;
        *.cu) source=$1; shift ;;
        *self_test.ptx) exec cp "$SELF_TEST" "$out" ;;
        *.cubin) parts="$parts $1"; shift ;;
        *) shift ;;
    esac
done
[ "$action" = -dlink ] && exec ld -r -o "$out" $parts
echo "cubin: $source" > "$rule"
cc -c -x assembler "$source" -o "$out"
"#;

/// A place with the doubles and no phase; returns the environment variables for runs.
pub fn machine() -> (Place, Vec<(&'static str, String)>) {
    let place = Place::new();
    let driver = place.write("driver/.keep", "").parent().unwrap().to_owned();
    write_double("cuda.c", &driver.join("libcuda.so.1"));
    let tool = |name: &str, text: &str| {
        place.write_program(&format!("bin/{name}"), text);
    };
    tool("nvcc", NVCC);
    tool("ncu", &fs::read_to_string(root().join("tests/doubles/ncu")).unwrap());
    let path = format!("{}:{}", place.path().join("bin").display(), std::env::var("PATH").unwrap());
    let locks = place.path().display().to_string();
    let variables = vec![
        ("LD_LIBRARY_PATH", driver.display().to_string()),
        ("PATH", path),
        ("NCUGATE_LOCKS", locks),
        ("XDG_STATE_HOME", place.path().join("state").display().to_string()),
    ];
    (place, variables)
}

/// A machine with `phase.toml`, whose only candidate is the shell script.
pub fn machine_of_program(script: &str) -> (Place, Vec<(&'static str, String)>) {
    let (place, variables) = machine();
    let (workload, _) = include_str!("../data/copy.toml").split_once("[kernel]").unwrap();
    let program = place.write("program.sh", script);
    let candidate = format!("[[variant]]\nname = \"program\"\ncommand = [\"sh\", \"{}\"]\n", program.display());
    let gate = "[[gate]]\nname = \"latency\"\nrequire = \"latency_p50 <= 10.5\"\n";
    place.write("phase.toml", &format!("{workload}{candidate}{gate}"));
    (place, variables)
}

/// A machine with `phase.toml`, whose candidates are kernels of the double of the driver.
pub fn machine_of_kernels(names: &[&str], bench: &str) -> (Place, Vec<(&'static str, String)>) {
    let (place, variables) = machine();
    let (mut source, mut variants) = (String::new(), String::new());
    for (at, name) in names.iter().enumerate() {
        let code = match *name {
            // a load from and a store to global memory
            "copy_frail" => ".quad 0x402057981, 0x1ea8000c1e1900, 0x402007986, 0x1fe2000c101904\n".to_owned(),
            _ => format!(".byte {at}\n.zero 15\n"),
        };
        let code = format!(".section .text.{name},\"ax\"\n{code}");
        let registers = format!(".section .nv.info.{name}\n.byte 4, 0x2f\n.short 8\n.long 0, 32\n");
        // two parameters of eight bytes: ordinal and offset, then the size above bit 18
        let pointer =
            |ordinal: u32| format!(".byte 4, 0x17\n.short 12\n.long 0, {}, {}\n", ordinal | ordinal << 19, 8 << 18);
        write!(source, "{code}{registers}{}{}", pointer(0), pointer(1)).unwrap();
        let params = "params = { THREADS = 128 }";
        write!(variants, "[[variant]]\nname = \"{name}\"\n{params}\nkernel = {{ entry = \"{name}\" }}\n").unwrap();
    }
    let variable = ".type _ZN2ns5tableE,@object\n.size _ZN2ns5tableE,4096\n_ZN2ns5tableE: .zero 4096\n";
    write!(source, ".section .nv.constant3,\"a\"\n.globl _ZN2ns5tableE\n{variable}").unwrap();
    place.write("copy.cu", &source);
    // the double of the driver counts launches, and its cheats are honest for the first few
    let phase = include_str!("../data/copy.toml").replace("seeds = [0, 1]", "seeds = [0, 1]\nlaws = [\"declared\"]");
    let gate = "[[gate]]\nname = \"latency\"\nrequire = \"latency_p50 <= 10.5\"\n";
    place.write("phase.toml", &format!("{phase}{variants}{gate}[bench]\n{bench}\n"));
    (place, variables)
}

/// Like [`machine_of_kernels`], with an ncu whose reports have a launch of every kernel, with the double's durations.
pub fn machine_that_counts(names: &[&str], bench: &str) -> (Place, Vec<(&'static str, String)>) {
    let (place, mut variables) = machine_of_kernels(names, bench);
    let report = place.path().join("counted.ncu-rep");
    fs::write(&report, report_of(names, 10_000.0)).unwrap();
    variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
    (place, variables)
}

/// Latency records of the only run in a place, by variant.
pub fn latencies(place: &Place) -> Vec<(String, Value)> {
    let run = fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(run.join("latencies.jsonl")).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.map(|record| (record["variant"].as_str().unwrap().to_owned(), record["outcome"].clone())).collect()
}

#[test]
fn a_latency_of_launches_that_were_not_verified_does_not_pass() {
    for (bench, status, audited) in [("rounds = 60", Some(0), true), ("rounds = 60\nverify = \"none\"", Some(4), false)]
    {
        let (place, variables) = machine_that_counts(&["copy_honest"], bench);
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        assert_eq!(finished.status, status, "{bench}: {finished:?}");
        let (_, outcome) = latencies(&place).remove(0);
        assert_eq!((outcome["status"].as_str(), outcome["audit"].is_object()), (Some("timed"), audited), "{outcome}");
        let printed = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(printed.contains("outputs of its timed launches were not verified"), !audited, "{printed}");
    }
}

#[test]
fn every_shape_of_a_product_is_checked_in_its_type_and_a_variant_runs_where_it_fits() {
    let (place, variables) = machine_that_counts(&["copy_honest", "copy_slow"], "rounds = 6");
    let text = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let shapes_start = text.find("[workload.shapes]").unwrap();
    let buffers_start = text.find("[workload.buffers]").unwrap();
    let kernel_start = text.find("[kernel]").unwrap();
    let shapes = "[workload.shapes]\nall = { S = 512, WIDE = [1, 0], P = [1, 2] }\n";
    let buffer =
        |more: &str| format!("{{ dtype = \"f32 if WIDE == 1 else f16\", shape = [\"S * (4 - 2 * WIDE)\"], {more} }}");
    let buffers =
        format!("[workload.buffers]\nx = {}\ny = {}\n", buffer("init = \"normal\""), buffer("role = \"output\""));
    let honest = "kernel = { entry = \"copy_honest\"";
    // the report of the double has no launch at these shapes
    let latency = "[[gate]]\nname = \"latency\"\nrequire = \"latency_p50 <= 10.5\"\n";
    let kernel = text[kernel_start..].replace(latency, "");
    let kernel = kernel.replace(honest, &format!("{honest}, where = \"WIDE == 0\""));
    let gate =
        "[[gate]]\nname = \"correct\"\nrequire = \"correct == 1\"\non = \"copy_honest\"\nshapes = [\"all_wide0_*\"]\n";
    assert!(shapes_start < buffers_start && buffers_start < kernel_start, "{text}");
    place.write("phase.toml", &[&text[..shapes_start], shapes, &buffers, &kernel, gate].concat());
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let run = fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    let checks = fs::read_to_string(run.join("checks.jsonl")).unwrap();
    let checks = checks.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut proven: Vec<(String, String)> = checks
        .map(|check| (check["variant"].as_str().unwrap().to_owned(), check["shape"].as_str().unwrap().to_owned()))
        .collect();
    proven.sort();
    proven.dedup();
    let of = |variant: &str, shapes: &[&str]| {
        shapes.iter().map(|shape| (variant.to_owned(), (*shape).to_owned())).collect::<Vec<_>>()
    };
    let (narrow, wide) = (["all_wide0_p1", "all_wide0_p2"], ["all_wide1_p1", "all_wide1_p2"]);
    assert_eq!(proven, [of("copy_honest", &narrow), of("copy_slow", &[narrow, wide].concat())].concat());
}

#[test]
fn a_kernel_of_two_sources_is_linked_and_measured() {
    let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
    place.write("table.cu", ".section .nv.constant3,\"a\"\n.globl values\n.size values, 8\nvalues: .zero 8\n");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    place.write("phase.toml", &phase.replace("source = \"copy.cu\"", "source = [\"copy.cu\", \"table.cu\"]"));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let run = fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    let manifest: Value = serde_json::from_str(&fs::read_to_string(run.join("manifest.json")).unwrap()).unwrap();
    for source in ["copy.cu", "table.cu"] {
        assert!(manifest["inputs"][source].is_string(), "{manifest}");
    }
}

#[test]
fn a_kernel_with_wrong_timed_launches_cheats_and_the_run_continues() {
    let names = ["copy_skip", "copy_later", "copy_count", "copy_replay", "copy_race", "copy_stray", "copy_honest"];
    let (place, variables) = machine_of_kernels(&names, "");
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    let records = latencies(&place);
    assert_eq!(records.len(), names.len(), "{finished:?}");
    assert!(finished.stdout.contains("1 proven correct") && finished.stdout.contains("cheats: copy_"), "{finished:?}");
    for (variant, outcome) in &records {
        if variant == "copy_honest" {
            assert_eq!(outcome["status"], "timed", "{outcome}");
            assert_eq!(outcome["samples"].as_array().unwrap().len(), 60);
            let audit = &outcome["audit"];
            assert!(audit["launches"].as_u64().unwrap() >= 299 && audit["chance"].as_f64().unwrap() >= 0.95, "{audit}");
            assert_eq!((audit["samples"].as_u64(), audit["seeds"].as_array().unwrap().len()), (Some(60), 5));
            let unrepeated = &audit["unrepeated"][0];
            let samples: Vec<f64> =
                unrepeated["samples"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
            assert!(samples.len() == 4 && samples.iter().all(|us| (us - 20.0).abs() < 1e-3), "two launches: {audit}");
            assert_eq!((unrepeated["launches"].as_u64(), unrepeated["unseen"].as_u64()), (Some(2), Some(2)));
            assert_eq!(audit["l2_share"], 0.5, "4 sets of 8 KiB in a cache of 64 KiB");
        } else {
            assert_eq!(outcome["status"], "cheats", "{variant}: {outcome}");
            let reason = outcome["reason"].as_str().unwrap();
            // Which launch shows it first depends on the hidden seeds: a timed one, or one before a sample.
            assert!(reason.contains(" differs: ") && reason.contains("round "), "{reason}");
        }
    }
}

#[test]
fn a_kernel_that_is_wrong_on_inputs_that_no_check_had_is_wrong_and_cheats_nobody() {
    let (place, variables) = machine_that_counts(&["copy_narrow", "copy_honest"], "rounds = 6");
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu", "--format", "json"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    let results: Value = serde_json::from_str(&finished.stdout).unwrap();
    let (_, outcome) = latencies(&place).into_iter().find(|(variant, _)| variant == "copy_narrow").unwrap();
    assert_eq!(outcome["status"], "wrong", "{outcome}");
    let narrow = results["variants"].as_array().unwrap().iter().find(|v| v["id"] == "copy_narrow").unwrap();
    assert_eq!((&narrow["cheats"], &narrow["correct"]), (&Value::Bool(false), &Value::from("fail")), "{narrow}");
    let reason = narrow["correctness"].as_str().unwrap();
    assert!(reason.contains("inputs of a hidden seed") && !reason.contains("cheats"), "{reason}");
    assert_eq!(results["selected"], "copy_honest", "{finished:?}");
}

/// A machine whose only candidate is a program of these steps over x, scratch t and y.
fn machine_of_steps(entries: &[&str], steps: &str) -> (Place, Vec<(&'static str, String)>) {
    let (place, variables) = machine_of_kernels(entries, "rounds = 30");
    let text = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (before, rest) = text.split_once("[[variant]]").unwrap();
    let (_, gate) = rest.split_once("[[gate]]").unwrap();
    let scratch = "[workload.buffers]\nt = { dtype = \"f16\", shape = [\"S\"], role = \"scratch\" }";
    let before = before.replacen("[workload.buffers]", scratch, 1);
    let variant = "[[variant]]\nname = \"steps\"\nparams = { THREADS = 128 }\n";
    place.write("phase.toml", &format!("{before}{variant}{steps}[[gate]]{gate}"));
    (place, variables)
}

fn step(entry: &str, from: &str, to: &str) -> String {
    format!("[[variant.kernel.launch]]\nentry = \"{entry}\"\nargs = [\"{from}\", \"{to}\"]\n")
}

#[test]
fn a_program_of_several_steps_is_proven_and_timed_whole() {
    let fills = "[[variant.kernel.launch]]\nmemset = \"t\"\nbyte = 17\n";
    let copies = "[[variant.kernel.launch]]\nmemcpy = { from = \"x\", to = \"t\" }\n";
    for (steps, microseconds) in [
        (step("copy_honest", "x", "t") + &step("copy_honest", "t", "y"), 20.0),
        // Memory copies take no time on the double.
        (copies.to_owned() + &step("copy_honest", "t", "y"), 10.0),
        (step("copy_honest", "t", "y") + fills + &step("copy_honest", "x", "y"), 20.0),
    ] {
        let (place, variables) = machine_of_steps(&["copy_honest"], &steps);
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        assert!(finished.stdout.contains("1 proven correct"), "{steps}: {finished:?}");
        let (_, outcome) = latencies(&place).remove(0);
        assert_eq!(outcome["status"], "timed", "{outcome}");
        let sample = outcome["samples"][0].as_f64().unwrap();
        assert!((sample - microseconds).abs() < 1e-3, "all launches of {steps}: {sample}");
    }
}

#[test]
fn a_window_of_the_l2_cache_is_over_its_buffer_and_for_its_variant_alone() {
    let window = "l2_window = { buffer = \"x\", hit_ratio = \"1 / 2\", miss = \"normal\", set_aside = \"S\" }";
    for (window, right) in
        [(window.to_owned(), 2), (window.replace("\"x\"", "\"y\""), 1), ("carveout = 50".to_owned(), 1)]
    {
        let (place, variables) = machine_of_kernels(&["copy_window", "copy_honest"], "rounds = 6");
        let text = fs::read_to_string(place.path().join("phase.toml")).unwrap();
        place.write(
            "phase.toml",
            &text.replace("entry = \"copy_window\"", &format!("entry = \"copy_window\", {window}")),
        );
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        assert!(finished.stdout.contains(&format!("{right} proven correct")), "{window}: {finished:?}");
        let timed = latencies(&place).into_iter().filter(|(_, outcome)| outcome["status"] == "timed");
        assert_eq!(timed.count(), right, "{window}: {finished:?}");
    }
}

#[test]
fn a_parameter_of_flags_compiles_every_variant_with_the_flags_of_its_value() {
    let (place, mut variables) = machine_of_kernels(&["copy_honest"], "rounds = 60");
    let ids = ["FAST=off,THREADS=128", "FAST=on,THREADS=128", "FAST=on,THREADS=256"];
    let report = place.path().join("counted.ncu-rep");
    fs::write(&report, report_of_variants(&ids.map(|id| ("copy_honest", id, 10_000.0)))).unwrap();
    variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
    let text = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (before, rest) = text.split_once("[[variant]]").unwrap();
    let (_, gate) = rest.split_once("[[gate]]").unwrap();
    let sweep = "[sweep]\nFAST = { off = [], on = [\"-use_fast_math\", \"-Xptxas=-dlcm=cg,-v\", \"-DTEXT=a b\"] }\n\
                 THREADS = [128, 256]\nwhere = \"FAST == 'on' or THREADS == 128\"\n";
    let before = before.replace("entry = \"copy\"", "entry = \"copy_honest\"");
    let gate = gate.replace("[bench]", "on = \"FAST=on,*\"\n[bench]");
    place.write("phase.toml", &format!("{before}{sweep}[[gate]]{gate}"));
    // The double of nvcc also tells what it is called with, in one write: several run at once.
    let nvcc = place.path().join("bin/nvcc");
    let double = fs::read_to_string(&nvcc).unwrap();
    let called = place.path().join("called");
    let tells = format!("#!/bin/sh\nline=$(printf '|%s' \"$@\")\nprintf '%s\\n' \"$line\" >> '{}'\n", called.display());
    fs::write(&nvcc, double.replacen("#!/bin/sh\n", &tells, 1)).unwrap();
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu", "--format", "json"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    let results: Value = serde_json::from_str(&finished.stdout).unwrap();
    let mut found: Vec<&str> =
        results["variants"].as_array().unwrap().iter().map(|variant| variant["id"].as_str().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, ids, "{finished:?}");
    let gate = &results["gates"][0];
    assert_eq!((gate["verdict"].as_str(), gate["passing"].as_u64()), (Some("pass"), Some(2)), "{gate}");
    assert!(gate["variant"].as_str().unwrap().starts_with("FAST=on,"), "{gate}");
    let called = fs::read_to_string(called).unwrap();
    for line in called.lines().filter(|line| line.contains("-DTHREADS=256")) {
        assert!(line.contains("|-use_fast_math|-Xptxas=-dlcm=cg,-v|-DTEXT=a b|"), "{line}");
    }
    let compiled =
        |flag: &str| called.lines().filter(|line| line.contains("-DTHREADS=") && line.contains(flag)).count();
    assert!(compiled("-use_fast_math") >= 2 && compiled("") > compiled("-use_fast_math"), "{called}");
}

#[test]
fn every_launch_of_a_loop_is_timed_and_matched_with_its_counters() {
    let looped = "[[variant.kernel.launch]]\nrepeat = { i = \"log2(S) - 9\" }\n";
    let body = |entry, from, to| step(entry, from, to).replace("kernel.launch", "kernel.launch.steps");
    let steps = looped.to_owned() + &body("copy_honest", "x", "t") + &body("copy_other", "t", "y");
    let names = ["copy_honest", "copy_other"];
    for (seen, counted) in [(&[0, 1, 0, 1][..], true), (&[0, 1], false), (&[0, 0, 1, 1], false)] {
        let (place, mut variables) = machine_of_steps(&names, &steps);
        let launches: Vec<(&str, &str, f64)> = seen.iter().map(|at| (names[*at], "steps", 10_000.0)).collect();
        let report = place.path().join("counted.ncu-rep");
        fs::write(&report, report_of_variants(&launches)).unwrap();
        variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu", "--format", "json"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        let results: Value = serde_json::from_str(&finished.stdout).unwrap();
        let (_, outcome) = latencies(&place).remove(0);
        let sample = outcome["samples"][0].as_f64().unwrap();
        assert!((sample - 40.0).abs() < 1e-3, "two launches twice: {sample}");
        let duration = results["variants"][0]["shapes"]["only"]["values"]["duration"].as_f64();
        assert_eq!(duration, counted.then_some(40_000.0), "{seen:?}: {results:#}");
    }
}

#[test]
fn a_program_that_is_wrong_in_one_step_or_cheats_in_it_is_found() {
    let fills = "[[variant.kernel.launch]]\nmemset = \"y\"\n";
    for (steps, outcome) in [
        (step("copy_honest", "x", "y") + fills, "failed"),
        (fills.to_owned() + &step("copy_honest", "t", "y"), "failed"),
        (step("copy_honest", "x", "t") + &step("copy_skip", "t", "y"), "cheats"),
        (step("copy_honest", "x", "t") + &step("copy_later", "t", "y"), "cheats"),
    ] {
        let (place, variables) = machine_of_steps(&["copy_honest", "copy_skip", "copy_later"], &steps);
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        let (_, found) = latencies(&place).remove(0);
        assert_eq!(found["status"], outcome, "{steps}: {found} {finished:?}");
        assert_ne!(finished.status, Some(0), "{finished:?}");
    }
}

#[test]
fn launches_that_add_to_state_find_it_restored_and_ones_that_idle_cheat() {
    for (l2, launches) in [("rotate", 50), ("cold", 1)] {
        let bench = format!("rounds = 6\nl2 = \"{l2}\"\nmin_sample_us = 600");
        let (place, variables) = machine_of_kernels(&["add_honest", "add_later"], &bench);
        let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
        let changed = phase
            .replace("S = 2048", "S = 4096")
            .replace(
                r#"dtype = "f16", shape = ["S"], init = "normal""#,
                r#"dtype = "u8", shape = ["S"], init = { indices = 50 }"#,
            )
            .replace(
                r#"dtype = "f16", shape = ["S"], role = "output""#,
                r#"dtype = "u8", shape = ["S"], role = "output", init = { constant = 0 }"#,
            );
        assert_eq!(changed.matches("u8").count(), 2);
        place.write("phase.toml", &changed);
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        let records = latencies(&place);
        let outcome = |name: &str| &records.iter().find(|(variant, _)| variant == name).unwrap().1;
        let honest = outcome("add_honest");
        assert_eq!((&honest["status"], &honest["launches"]), (&"timed".into(), &launches.into()), "{finished:?}");
        let least = if l2 == "rotate" { 300 } else { 12 };
        assert!(honest["audit"]["launches"].as_u64().unwrap() >= least, "{honest}");
        assert_eq!(outcome("add_later")["status"], "cheats", "{finished:?}");
    }
}

/// Status of `run`, and its output on one line, if ncu sees launches of 5 us.
fn run_with_quick_launches(
    place: &Place,
    variables: Vec<(&'static str, String)>,
    seen: &[(&str, &str, f64)],
) -> (Option<i32>, String) {
    let report = place.path().join("counted.ncu-rep");
    fs::write(&report, report_of_variants(seen)).unwrap();
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    command.envs(variables).env("NCUGATE_DOUBLE_REPORT", &report);
    let finished = Finished::of(command.timeout(Duration::from_secs(100)));
    (finished.status, finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ") + &finished.stderr)
}

/// Each kernel is correct in every check, sample and audit, and ncu sees a launch of 5 us.
#[test]
fn a_launch_that_finds_its_answer_is_held_against_launches_that_cannot() {
    for (name, status) in [("quick_honest", Some(0)), ("quick_epoch", Some(1)), ("quick_memo", Some(1))] {
        let (place, variables) = machine_of_kernels(&[name], "");
        let (found, printed) = run_with_quick_launches(&place, variables, &[(name, name, 5e3)]);
        assert_eq!(found, status, "{name}: {printed}");
        let cheats = printed.contains("repeats take less time");
        assert_eq!(cheats, name != "quick_honest", "{name}: {printed}");
        let durations = "4 µs alone, 4 µs under ncu, accepted ±1.15 µs";
        assert_eq!(printed.contains(durations), name == "quick_honest", "{name}: {printed}");
    }
}

/// Programs of eight launches of 5 us, one after the other or each overlapping the previous one.
#[test]
fn launches_of_a_program_that_find_their_answers_are_held_against_launches_that_cannot() {
    for (entry, pdl, status) in [
        ("quick_honest", false, Some(0)),
        ("quick_honest", true, Some(0)),
        ("quick_epoch", false, Some(4)),
        ("quick_epoch", true, Some(4)),
    ] {
        let mode = if pdl { "pdl = true\n" } else { "" };
        let steps: String = (0..8)
            .map(|at| {
                let (from, to) = if at == 0 {
                    ("x", "t")
                } else if at == 7 {
                    ("t", "y")
                } else {
                    ("t", "u")
                };
                let later = if at == 0 { "" } else { mode };
                step(entry, from, to) + later
            })
            .collect();
        let (place, variables) = machine_of_steps(&[entry], &steps);
        let text = fs::read_to_string(place.path().join("phase.toml")).unwrap();
        let scratch = "[workload.buffers]\nu = { dtype = \"f16\", shape = [\"S\"], role = \"scratch\" }";
        let wanted =
            text.replacen("[workload.buffers]", scratch, 1).replace("latency_p50 <= 10.5", "latency_p50 <= 42");
        place.write("phase.toml", &wanted);
        let (found, printed) = run_with_quick_launches(&place, variables, &[(entry, "steps", 5e3); 8]);
        assert_eq!(found, status, "{entry}, pdl {pdl}: {printed}");
        assert_eq!(printed.contains("repeats take less time"), status != Some(0), "{entry}, pdl {pdl}: {printed}");
    }
}

/// A machine with a second, larger shape at which one of two candidates is not launched, and with `gate`.
fn machine_of_two_shapes(gate: &str) -> (Place, Vec<(&'static str, String)>) {
    let (place, variables) =
        machine_of_kernels(&["copy_honest", "copy_table"], "rounds = 6\nshapes = [\"only\", \"wide\"]");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (before, rest) = phase.split_once("[[gate]]").unwrap();
    let (_, bench) = rest.split_once("[bench]").unwrap();
    // The larger shape has the same elements, because the double always copies the same number of bytes.
    let before = before
        .replace("only = { S = 2048 }", "wide = { S = 2048, R = 2 }\nonly = { S = 2048, R = 1 }")
        .replace("kernel = { entry = \"copy_honest\"", "kernel = { where = \"R == 1\", entry = \"copy_honest\"")
        .replace("entry = \"copy_table\"", "entry = \"copy_table\", symbols = { \"ns::table\" = \"x\" }");
    place.write("phase.toml", &format!("{before}{gate}[bench]{bench}"));
    (place, variables)
}

#[test]
fn a_variant_that_one_shape_cannot_launch_is_judged_at_the_others() {
    let gate = |rest: &str| format!("[[gate]]\nname = \"latency\"\nrequire = \"correct == 1\"\n{rest}\n");
    for (rest, status, said) in [
        ("shapes = [\"only\"]\non = \"copy_honest\"", Some(0), "2 proven correct"),
        (
            "shapes = [\"only\", \"wide\"]\non = \"copy_honest\"",
            Some(4),
            "not launched at shape `wide`: `where = \"R == 1\"` does not hold",
        ),
        // The gate passes for the variant launched at both shapes, which is not the selected one.
        ("shapes = [\"only\", \"wide\"]\non = \"copy_table\"", Some(4), "pass latency holds for 1 variant"),
        (
            "shapes = [\"only\", \"wide\"]\non = \"each\"",
            Some(0),
            "1 is judged at 3 of its 4 pairs of variant and shape",
        ),
        ("shapes = [\"only\", \"wide\"]", Some(4), "not launched at shape `wide`"),
    ] {
        let (place, variables) = machine_of_two_shapes(&gate(rest));
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        let printed = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(finished.status, status, "{rest}: {finished:?}");
        assert!(printed.contains(said), "{rest}: {printed}");
        let mut timed: Vec<String> = latencies(&place).into_iter().map(|(variant, _)| variant).collect();
        timed.sort();
        assert_eq!(timed, ["copy_honest", "copy_table", "copy_table"], "nothing is launched where it is left out");
    }
}

#[test]
fn a_shape_without_the_selected_variant_names_the_best_one_launched_there() {
    let gate = "[[gate]]\nname = \"lean\"\nrequire = \"correct == 1\"\non = \"each\"\n";
    let (place, variables) = machine_of_two_shapes(gate);
    let command = |arguments: &[&str]| {
        let mut command = place.ncugate(arguments);
        Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)))
    };
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let finished = command(&["run", "phase.toml", "--source", "gpu"]);
    let printed = words(&finished.stdout);
    assert!(printed.contains("wide: best copy_table: "), "{printed}");
    assert!(printed.contains("; the selected copy_honest is not launched there"), "{printed}");
    assert!(printed.contains("1 variant is launched only at the shapes of its `where`."), "{printed}");
    assert!(!printed.to_lowercase().contains("missing: not launched"), "{printed}");
    let folder = place.path().join("reports/copy").join(folders(&place)[0].file_name().unwrap());
    let results: Value = serde_json::from_str(&fs::read_to_string(folder.join("results.json")).unwrap()).unwrap();
    let at = |name: &str| {
        let shapes = results["use"]["shapes"].as_array().unwrap();
        shapes.iter().find(|shape| shape["shape"] == name).unwrap_or_else(|| panic!("{shapes:?}")).clone()
    };
    let wide = at("wide");
    assert!(wide["not_launched"] == "copy_honest" && wide["best"] == "copy_table", "{wide}");
    assert!(wide["variant"].is_null() && at("only").get("not_launched").is_none(), "{wide}");
    for page in ["report.md", "report.html"] {
        assert!(fs::read_to_string(folder.join(page)).unwrap().contains("is not launched there"), "{page}");
    }
    let checked = words(&command(&["check", "phase.toml"]).stdout);
    assert!(checked.contains("copy_honest: is not launched at shape wide; gates on `each` or a glob"), "{checked}");
}

#[test]
fn a_variant_that_no_shape_launches_is_a_mistake_in_the_phase() {
    let (place, variables) = machine_of_kernels(&["copy_honest"], "rounds = 3");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    for (condition, said) in [("S % 3 == 0", "excludes every shape"), ("S + 1", "where"), ("Z == 1", "Z")] {
        let changed =
            phase.replace("entry = \"copy_honest\"", &format!("where = \"{condition}\", entry = \"copy_honest\""));
        place.write("phase.toml", &changed);
        let finished = Finished::of(place.ncugate(&["check", "phase.toml", "--no-build"]).envs(variables.clone()));
        assert!(finished.status == Some(2) && finished.stderr.contains(said), "{condition}: {finished:?}");
    }
}

/// A machine whose candidate copies `ns::table`. The phase fills it as `symbols` says.
fn machine_of_table(symbols: &str, bench: &str) -> (Place, Vec<(&'static str, String)>) {
    let (place, variables) = machine_of_kernels(&["copy_table"], bench);
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let kernel = "kernel = { entry = \"copy_table\"";
    place.write("phase.toml", &phase.replace(kernel, &format!("{kernel}, symbols = {{ {symbols} }}")));
    (place, variables)
}

#[test]
fn a_variable_of_the_module_holds_the_inputs_of_every_launch() {
    for bench in ["rounds = 30", "rounds = 12\nl2 = \"cold\"", "rounds = 12\nl2 = \"warm\""] {
        let (place, variables) = machine_of_table("\"ns::table\" = \"x\"", bench);
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        assert!(finished.stdout.contains("1 proven correct"), "{bench}: {finished:?}");
        let (_, outcome) = latencies(&place).remove(0);
        assert_eq!(outcome["status"], "timed", "{bench}: {outcome}");
        assert!(outcome["audit"]["launches"].as_u64().unwrap() >= 24, "{outcome}");
    }
}

#[test]
fn a_module_variable_without_its_contents_is_wrong_or_refused() {
    for (symbols, said) in [
        ("", "0 proven correct"),
        ("\"ns::table\" = { value = 1, type = \"i32\" }", "0 proven correct"),
        ("tables = \"x\"", "no variable `tables` in the cubin; variables: ns::table"),
        (
            "\"ns::table\" = { struct = [{ value = 0, type = \"f64\", repeat = 513 }] }",
            "has 4096 bytes, but struct of 513 fields has 4104",
        ),
    ] {
        let (place, variables) = machine_of_table(symbols, "rounds = 3");
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        let printed =
            format!("{} {}", finished.stdout, finished.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains(said), "{symbols}: {printed}");
        assert_ne!(finished.status, Some(0), "{finished:?}");
    }
}

#[test]
fn a_module_variable_cannot_have_a_pointer_or_an_output() {
    for (symbols, said) in [
        ("\"ns::table\" = \"y\"", "which launches write"),
        ("\"ns::table\" = { pointers = [\"x\"] }", "has a pointer"),
        ("\"ns::table\" = { struct = [\"x\"] }", "has a pointer to `x`"),
        ("\"ns::table\" = \"z\"", "is `z`, which is not a buffer"),
    ] {
        let (place, variables) = machine_of_table(symbols, "rounds = 3");
        let mut command = place.ncugate(&["check", "phase.toml", "--no-build"]);
        let finished = Finished::of(command.envs(variables));
        assert!(finished.status == Some(2) && finished.stderr.contains(said), "{symbols}: {finished:?}");
    }
}

#[test]
fn a_texture_over_an_input_is_of_the_inputs_of_every_launch() {
    let (place, variables) = machine_of_kernels(&["copy_honest", "copy_later"], "rounds = 12");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let args = "args = [\"x\", \"y\"]";
    assert!(phase.contains(args));
    place.write("phase.toml", &phase.replace(args, "args = [{ texture = \"x\", address = \"border\" }, \"y\"]"));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)));
    let records = latencies(&place);
    let status = |name: &str| records.iter().find(|(variant, _)| variant == name).unwrap().1["status"].clone();
    assert_eq!((status("copy_honest"), status("copy_later")), ("timed".into(), "cheats".into()), "{finished:?}");
    for (argument, said) in [
        ("{ texture = \"y\" }", "has a texture over `y`, which launches write"),
        ("{ texture = \"z\" }", "is `z`, which is not a buffer"),
        ("{ texture = \"x\", channels = 3 }", "1, 2 or 4"),
        ("{ texture = \"x\", filter = \"linear\" }", "with a linear filter"),
        ("{ texture = \"x\", offset = 1 }", "`kernel.args[0].offset` applies only to `buffer`"),
        ("{ texture = \"x\", value = 1 }", "exactly one of"),
    ] {
        place.write("phase.toml", &phase.replace(args, &format!("args = [{argument}, \"y\"]")));
        let checked = Finished::of(place.ncugate(&["check", "phase.toml", "--no-build"]).envs(variables.clone()));
        assert!(checked.status == Some(2) && checked.stderr.contains(said), "{argument}: {checked:?}");
    }
}

#[test]
fn a_requested_but_missing_counter_is_on_the_first_screen() {
    // The double of ncu writes a report without launches.
    for ask in [
        "[[gate]]\nname = \"traffic\"\nrequire = \"dram_bytes >= 1 B\"\n[bench]",
        "[profile]\nmetrics = [\"dram_bytes\"]\n[bench]",
    ] {
        let (place, variables) = machine_of_kernels(&["copy_honest"], "rounds = 6");
        let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
        place.write("phase.toml", &phase.replace("[bench]", ask));
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        let printed = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains("1 proven correct"), "{finished:?}");
        assert!(printed.contains("Not counted: ") && printed.contains("of copy_honest at only: "), "{printed}");
    }
}

#[test]
fn surfaces_get_their_buffers_before_a_launch_and_are_copied_back_after_it() {
    let (place, variables) = machine_of_kernels(&["copy_honest", "copy_later", "copy_wrong"], "rounds = 12");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let args = "args = [\"x\", \"y\"]";
    let surfaces = "args = [{ surface = \"x\" }, { surface = \"y\" }]";
    place.write("phase.toml", &phase.replace(args, surfaces));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)));
    assert!(finished.stdout.contains("1 proven correct"), "{finished:?}");
    let records = latencies(&place);
    let outcome = |name: &str| &records.iter().find(|(variant, _)| variant == name).unwrap().1;
    let honest = outcome("copy_honest");
    assert_eq!(honest["status"], "timed", "{honest}");
    assert!(honest["audit"]["launches"].as_u64().unwrap() >= 60, "{honest}");
    assert_eq!(outcome("copy_later")["status"], "cheats", "{finished:?}");
    for (argument, said) in [
        ("{ surface = \"z\" }", "is `z`, which is not a buffer"),
        ("{ surface = \"x\", channels = 3 }", "1, 2 or 4"),
        ("{ surface = \"x\", address = \"clamp\" }", "`kernel.args[0].address` applies only to `texture`"),
        ("{ surface = \"y\" }", "has `y` as a surface, and also as buffer `y`"),
    ] {
        place.write("phase.toml", &phase.replace(args, &format!("args = [{argument}, \"y\"]")));
        let checked = Finished::of(place.ncugate(&["check", "phase.toml", "--no-build"]).envs(variables.clone()));
        assert!(checked.status == Some(2) && checked.stderr.contains(said), "{argument}: {checked:?}");
    }
}

#[test]
fn a_texture_of_a_surface_buffer_reads_the_writes_of_a_launch() {
    let launch =
        |from: &str, to: &str| format!("[[variant.kernel.launch]]\nentry = \"copy_honest\"\nargs = [{from}, {to}]\n");
    let (surface, texture) = ("{ surface = \"t\" }", "{ texture = \"t\", address = \"border\" }");
    let (place, variables) =
        machine_of_steps(&["copy_honest"], &(launch("\"x\"", surface) + &launch(texture, "\"y\"")));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)));
    assert!(finished.stdout.contains("1 proven correct"), "{finished:?}");
    assert_eq!(latencies(&place).remove(0).1["status"], "timed", "{finished:?}");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    for (other, said) in
        [("\"t\"", "and also as buffer `t`"), ("{ texture = \"t\", channels = 2 }", "also as texture over `t`")]
    {
        place.write("phase.toml", &phase.replace(texture, other));
        let checked = Finished::of(place.ncugate(&["check", "phase.toml", "--no-build"]).envs(variables.clone()));
        assert!(checked.status == Some(2) && checked.stderr.contains(said), "{other}: {checked:?}");
    }
}

#[test]
fn state_in_a_surface_is_restored_before_every_timed_launch() {
    let (place, variables) = machine_of_kernels(&["add_honest", "add_later"], "rounds = 6\nmin_sample_us = 600");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (input, output) =
        (r#"dtype = "f16", shape = ["S"], init = "normal""#, r#"dtype = "f16", shape = ["S"], role = "output""#);
    let changed = phase
        .replace("S = 2048", "S = 4096")
        .replace(input, r#"dtype = "u8", shape = ["S"], init = { indices = 50 }"#)
        .replace(output, r#"dtype = "u8", shape = ["S"], role = "output", init = { constant = 0 }"#)
        .replace("args = [\"x\", \"y\"]", "args = [\"x\", { surface = \"y\", channels = 4 }]");
    assert_eq!((changed.matches("u8").count(), changed.matches("surface").count()), (2, 1));
    place.write("phase.toml", &changed);
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    let records = latencies(&place);
    let status = |name: &str| records.iter().find(|(variant, _)| variant == name).unwrap().1["status"].clone();
    assert_eq!((status("add_honest"), status("add_later")), ("timed".into(), "cheats".into()), "{finished:?}");
}

#[test]
fn a_kernel_that_turns_the_poison_into_an_answer_is_wrong() {
    let (place, variables) = machine_of_kernels(&["copy_flip", "copy_honest"], "rounds = 3");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let changed = phase
        .replace("S = 2048", "S = 4096")
        .replace(
            r#"dtype = "f16", shape = ["S"], init = "normal""#,
            r#"dtype = "u8", shape = ["S"], init = { indices = 256 }"#,
        )
        .replace(r#"dtype = "f16", shape = ["S"], role = "output""#, r#"dtype = "u8", shape = ["S"], role = "output""#);
    assert_eq!(changed.matches("u8").count(), 2);
    place.write("phase.toml", &changed);
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert!(finished.stdout.contains("1 proven correct"), "{finished:?}");
    let records = latencies(&place);
    let status = |name: &str| records.iter().find(|(variant, _)| variant == name).unwrap().1["status"].clone();
    assert_eq!((status("copy_flip"), status("copy_honest")), ("failed".into(), "timed".into()), "{finished:?}");
}

#[test]
fn seeds_of_timed_inputs_are_other_ones_each_run() {
    let (place, variables) = machine_of_kernels(&["copy_honest"], "rounds = 3\nl2 = \"cold\"");
    let seeds = || {
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu", "--fresh"]);
        let finished = Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)));
        let (_, outcome) = latencies(&place).remove(0);
        assert_eq!(
            (outcome["status"].as_str(), outcome["launches"].as_u64()),
            (Some("timed"), Some(1)),
            "{finished:?}"
        );
        fs::remove_dir_all(place.path().join("profiles")).unwrap();
        outcome["audit"]["seeds"].clone()
    };
    let (first, second) = (seeds(), seeds());
    assert_eq!(first.as_array().unwrap().len(), 3, "one set and the lead-in have three contents that take turns");
    assert_ne!(first, second);
}

#[test]
fn a_run_ends_although_its_program_leaves_children_behind() {
    let (place, variables) = machine_of_program(&format!("{GOOD}\nsleep 40 &\nsetsid sleep 40 &\n"));
    let started = Instant::now();
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(4), "a self-reported result is not a pass: {finished:?}");
    assert!(finished.stdout.contains("Self-reported latency"), "{}", finished.stdout);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(finished.stdout.contains("measured on Double"), "{}", finished.stdout);
}

#[test]
fn a_run_is_interrupted_although_its_program_takes_no_notice() {
    let script = "cat \"$NCUGATE_REQUEST\" > /dev/null\ntrap '' TERM INT\nsetsid sleep 40 &\ntouch started\nsleep 40\n";
    let (place, variables) = machine_of_program(script);
    let mut command = Command::new(binary());
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

fn run_of(place: &Place) -> std::path::PathBuf {
    fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn ncu_starts_during_the_builds_and_gets_its_job_later() {
    let (place, mut variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
    let starts = place.path().join("starts.txt");
    variables.push(("NCUGATE_DOUBLE_STARTS", starts.display().to_string()));
    let run = |fresh: &[&str]| {
        let mut command = place.ncugate(&[&["run", "phase.toml", "--source", "gpu"], fresh].concat());
        Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)))
    };
    let finished = run(&[]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let logs = run_of(&place).join("logs");
    let job = |name: &str| serde_json::from_str::<Value>(&fs::read_to_string(logs.join(name)).unwrap()).unwrap();
    let waited: Vec<String> =
        fs::read_dir(&logs).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    let launched: Vec<&String> =
        waited.iter().filter(|name| name.starts_with("launched-") && name.ends_with(".json")).collect();
    let profiled = launched.iter().filter(|name| !name.ends_with(".preload.json"));
    let profiled: Vec<Value> = profiled.map(|name| job(name)).collect();
    assert!(!profiled.is_empty() && profiled.iter().all(|job| job["mode"]["mode"] == "profile"), "{waited:?}");
    let said = fs::read_to_string(&starts).unwrap();
    // beside the one of the deep profile
    assert!(said.lines().take(2).any(|line| line.starts_with("start ") && line.contains("launched-")), "{said}");
}

#[test]
fn each_of_several_ncu_processes_gets_its_own_job() {
    let gate = "[[gate]]\nname = \"latency\"\nrequire = \"latency_p50 <= 1 s\"\nshapes = [\"only\", \"wide\"]\n";
    let (place, variables) = machine_of_two_shapes(gate);
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    // Counters of one shape and latency witnesses of the other shape are two groups with one name. Fewer launches would be
    // counted together.
    let profile = "[profile]\nshapes = [\"only\"]\nrepeat = 9\ntimeout_s = 30\n";
    place.write("phase.toml", &phase.replace("[bench]", &format!("{profile}\n[bench]")));
    let started = Instant::now();
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert!(started.elapsed() < Duration::from_secs(25), "{:?}: {finished:?}", started.elapsed());
    let logs = run_of(&place).join("logs");
    let names = fs::read_dir(&logs).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_job =
        |name: &String| name.starts_with("launched-") && name.ends_with(".json") && !name.ends_with(".preload.json");
    let jobs: Vec<Value> = names
        .filter(is_job)
        .map(|name| serde_json::from_str(&fs::read_to_string(logs.join(name)).unwrap()).unwrap())
        .collect();
    let is_for = |job: &Value, shape: &str| {
        job["kernels"]
            .as_array()
            .unwrap()
            .iter()
            .any(|kernel| kernel["shapes"].as_array().unwrap().contains(&shape.into()))
    };
    let of_shape = |shape: &str| jobs.iter().filter(|job| is_for(job, shape)).count();
    assert_eq!((jobs.len(), of_shape("only"), of_shape("wide")), (2, 1, 1), "{jobs:?}");
}

#[test]
fn workers_open_the_device_during_the_builds() {
    let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let logs = run_of(&place).join("logs");
    let read = |name: &str| serde_json::from_str::<Value>(&fs::read_to_string(logs.join(name)).unwrap()).unwrap();
    for (number, checked) in [(0, true), (1, false)] {
        let job = read(&format!("prestarted-{number}.json"));
        let cases = job["kernels"][0]["cases"].as_array().unwrap();
        assert_eq!((job["mode"]["mode"].as_str(), !cases.is_empty()), (Some("bench"), checked), "{job}");
        assert_eq!(read(&format!("prestarted-{number}.preload.json"))["preload"], "device");
    }
}

/// Appends to the phase of a place, after `more`, the program [`GOOD`] as the baseline `other`, and a gate that
/// compares with it.
fn compare_with_a_program(place: &Place, more: &str) {
    let program = place.write("program.sh", GOOD);
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let baseline = format!("[[baseline]]\nname = \"other\"\ncommand = [\"sh\", \"{}\"]\n", program.display());
    let gate = "[[gate]]\nname = \"no slower\"\nrequire = \"latency_p50 <= 2 * other.latency_p50\"\n";
    place.write("phase.toml", &format!("{phase}{more}{baseline}{gate}"));
}

#[test]
fn ncu_over_an_external_baseline_waits_for_its_turn() {
    let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
    compare_with_a_program(&place, "");
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    let logs = run_of(&place).join("logs");
    let handed = fs::read_to_string(logs.join("other.waiting.json")).unwrap_or_default();
    let request: Value = serde_json::from_str(&handed).unwrap_or_default();
    assert_eq!(request["mode"], "profile", "{finished:?}");
    assert_eq!(handed, fs::read_to_string(logs.join("other.request.json")).unwrap());
    let started: Vec<String> =
        fs::read_dir(&logs).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(
        started.iter().filter(|name| name.starts_with("other-") && name.ends_with(".log")).count(),
        1,
        "{started:?}"
    );
}

/// The library launches two kernels: their eligible warps are averaged by duration, to (0.2 * 30 + 0.6 * 10) / 40 = 0.3.
#[test]
fn a_gate_on_the_counters_of_an_external_baseline_is_decided() {
    let bulk = ("bulk", "other", 30_000.0, 0.2);
    let merge = ("merge", "other", 10_000.0, 0.6);
    for (factor, library, status) in
        [("3", &[bulk, merge][..], Some(0)), ("4", &[bulk, merge], Some(1)), ("3", &[], Some(4))]
    {
        let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
        let launches = [&[("copy_honest", "copy_honest", 10_000.0, 1.0)][..], library].concat();
        fs::write(place.path().join("counted.ncu-rep"), report_of_eligible_warps(&launches)).unwrap();
        let gate =
            format!("[[gate]]\nname = \"fed\"\nrequire = \"eligible_warps > {factor} * other.eligible_warps\"\n");
        compare_with_a_program(&place, &gate);
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu", "--format", "json"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        assert_eq!(finished.status, status, "{factor} {library:?}: {finished:?}");
        let results: Value = serde_json::from_str(&finished.stdout).unwrap();
        let other = results["variants"].as_array().unwrap().iter().find(|variant| variant["id"] == "other").unwrap();
        let only = &other["shapes"]["only"];
        if library.is_empty() {
            let reason = only["missing"]["eligible_warps"].as_str().unwrap();
            assert!(reason.contains("its report does not have the launch"), "{reason}");
        } else {
            assert_eq!(only["values"]["eligible_warps"], 0.3, "{only}");
        }
    }
}

#[test]
fn an_external_baseline_is_profiled_in_one_process_with_the_counters_of_kernels() {
    let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 20");
    compare_with_a_program(&place, "[profile]\nmetrics = [\"sm__cycles_active.avg\"]\n");
    let asked = arguments_of_ncu(&place);
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    let asked = fs::read_to_string(asked).unwrap_or_default();
    let metrics = |line: &str| line.split("--metrics ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let (other, own): (Vec<&str>, Vec<&str>) = asked
        .lines()
        .filter(|line| line.contains("--metrics") && !line.contains("--section"))
        .partition(|line| line.contains("program.sh"));
    let [other] = other[..] else { panic!("{finished:?} {asked}") };
    for counter in ["smsp__warps_eligible.avg.per_cycle_active", "sm__warps_active.avg", "sm__cycles_active.avg"] {
        assert!(metrics(other).contains(counter), "{counter}: {other}");
    }
    assert!(own.iter().any(|line| metrics(line) == metrics(other)), "{asked}");
}

/// A file that gets the arguments of every start of ncu, one line each.
fn arguments_of_ncu(place: &Place) -> std::path::PathBuf {
    let (ncu, asked) = (place.path().join("bin/ncu"), place.path().join("asked.txt"));
    fs::rename(&ncu, place.path().join("bin/ncu.double")).unwrap();
    let shim = format!("#!/bin/sh\necho \"$@\" >> '{}'\nexec \"$0.double\" \"$@\"\n", asked.display());
    place.write_program("bin/ncu", &shim);
    asked
}

#[test]
fn a_deep_profile_requests_the_counters_of_its_chip() {
    const SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
    const COUNTERS: [&str; 4] =
        [SECTORS, "sm__inst_executed_pipe_tc.", "sm__inst_executed_pipe_tensor_op_gmma.", "dram__bytes.sum"];
    for (capability, expected) in [
        ("8.9", [true, false, false, true]),
        ("9.0", [true, false, true, true]),
        ("10.3", [true, true, false, true]),
        ("11.0", [true, true, false, false]),
        ("13.0", [false; 4]),
    ] {
        let (place, mut variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
        variables.push(("NCUGATE_DOUBLE_CAPABILITY", capability.to_owned()));
        let asked = arguments_of_ncu(&place);
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        let asked = fs::read_to_string(asked).unwrap_or_default();
        let deep = asked.lines().find(|line| line.contains("--section SourceCounters"));
        let deep = deep.unwrap_or_else(|| panic!("{capability}: {finished:?} {asked}"));
        assert_eq!(COUNTERS.map(|counter| deep.contains(counter)), expected, "{capability}: {deep}");
    }
}

#[test]
fn the_selected_variant_gets_a_deep_profile_unless_the_phase_wants_none() {
    for (deep_profile, report) in [("selected", Some("deep-early-1.ncu-rep")), ("none", None)] {
        let (place, mut variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
        let starts = place.path().join("starts.txt");
        variables.push(("NCUGATE_DOUBLE_STARTS", starts.display().to_string()));
        let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
        place.write("phase.toml", &format!("{phase}[profile]\ndeep_profile = \"{deep_profile}\"\n"));
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        let text = fs::read_to_string(run_of(&place).join("deep_profiles.jsonl")).unwrap_or_default();
        let record: Value = serde_json::from_str(text.lines().next().unwrap_or("null")).unwrap();
        assert_eq!(record["outcome"]["report"].as_str(), report, "{finished:?}");
        let said = fs::read_to_string(&starts).unwrap();
        let deep = said.lines().filter(|line| line.starts_with("start") && line.contains("/deep-"));
        assert_eq!(deep.count(), usize::from(report.is_some()), "{said}");
    }
}

#[test]
fn where_one_process_at_a_time_may_use_the_gpu_nothing_starts_before_its_turn() {
    let (place, mut variables) = machine_that_counts(&["copy_honest", "copy_again"], "rounds = 60");
    variables.push(("NCUGATE_DOUBLE_EXCLUSIVE", place.path().join("gpu.lock").display().to_string()));
    compare_with_a_program(&place, "");
    // a program that is started before its turn finds a pipe
    place.write("program.sh", &format!("[ -p \"$NCUGATE_REQUEST\" ] && touch \"$(dirname \"$0\")/waited\"\n{GOOD}"));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    // a ratio to a self-reported latency is judged only if ncu saw a kernel of the program, and the double of ncu
    // shows none
    assert_eq!(finished.status, Some(4), "{finished:?}");
    assert!(finished.stdout.contains("2 proven correct over 6 checks"), "{finished:?}");
    assert!(!finished.stdout.contains("incomplete"), "{finished:?}");
    assert!(!place.path().join("waited").exists(), "{finished:?}");
}
