//! Evaluations of several launches, judged and shown; requested counters that were lost.

use crate::command::{Finished, Place};
use crate::stored::Stored;
use std::fs;

/// A candidate of two launches and a fill, with gates on its latency and on a counter.
const PHASE: &str = r#"
[phase]
name = "copy"
objective = "latency_p50"
[workload]
seeds = [0, 1]
reference = "copy"
tolerance = { max_abs = 2e-3 }
[workload.shapes]
only = { S = 2048 }
[workload.buffers]
x = { dtype = "f16", shape = ["S"], init = "normal" }
t = { dtype = "f16", shape = ["S"], role = "scratch" }
y = { dtype = "f16", shape = ["S"], role = "output" }
[kernel]
source = "copy.cu"
grid = ["S // 128"]
block = [128]
[[kernel.launch]]
memset = "t"
byte = 1
[[kernel.launch]]
entry = "first"
args = ["x", "t"]
[[kernel.launch]]
entry = "second"
args = ["t", "y"]
[[gate]]
name = "latency"
require = "latency_p50 <= 10.5"
[[gate]]
name = "duration"
require = "duration <= 10500"
"#;

fn judged(stored: &Stored) -> (Place, Finished) {
    let place = Place::new();
    let folder = stored.write(&place);
    place.write("steps.toml", PHASE);
    let finished = place.run(&["gate", "steps.toml", folder.to_str().unwrap()]);
    (place, finished)
}

/// Standard output on one line.
fn unwrapped(finished: &Finished) -> String {
    finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn durations_of_launches_add_up_and_each_step_is_shown() {
    let (place, finished) = judged(&Stored::new(PHASE, "run"));
    assert_eq!(finished.status, Some(4), "{finished:?}");
    let printed = unwrapped(&finished);
    let words = "ncu does not count fills and copies (memset t): duration covers only its launches";
    assert!(printed.contains(words), "{printed}");
    for step in
        ["1 memset every byte", "2 first grid 16×1×1, ", "5,000 (50 %) 64 3 second grid", "5,000 (50 %) 64 note"]
    {
        assert!(printed.contains(step), "{step}: {printed}");
    }
    let report = |name: &str| fs::read_to_string(place.path().join("reports/copy/run").join(name)).unwrap();
    assert!(report("report.md").contains("## Steps of first at shape only"), "{}", report("report.md"));
    assert!(report("report.html").contains("Steps of"), "the page has them too");
    let results: serde_json::Value = serde_json::from_str(&report("results.json")).unwrap();
    let shape = &results["variants"][0]["shapes"]["only"];
    assert_eq!(shape["values"]["duration"], 10_000.0);
    let steps = shape["steps"].as_array().unwrap();
    let names: Vec<&str> = steps.iter().map(|step| step["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["memset", "first", "second"]);
    assert_eq!(steps[0]["about"], "every byte of t is 0x01");
    assert_eq!(
        (&steps[1]["values"]["duration"], &steps[1]["values"]["block_threads"]),
        (&5000.0.into(), &128.0.into())
    );
}

/// Launches have the numbers that the page shows: the fill is step 1.
#[test]
fn findings_name_the_step_and_its_share() {
    let place = Place::new();
    let folder = Stored::new(PHASE, "run").write(&place);
    let json = place.run(&["explain", folder.to_str().unwrap(), "--format", "json"]).stdout;
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    let insights = found[0]["insights"].as_array().unwrap().iter();
    let all: Vec<&serde_json::Value> = std::iter::once(&found[0]["bottleneck"]).chain(insights).collect();
    let small: Vec<_> = all.iter().filter(|row| row["rule"] == "small_grid").map(|row| &row["launches"]).collect();
    let launch = |kernel: &str, number: u32| serde_json::json!({ "kernel": kernel, "count": 1, "number": number, "percent": 50.0 });
    assert_eq!(small, [&launch("first", 2), &launch("second", 3)], "{all:?}");
    let short = all.iter().find(|row| row["rule"] == "many_launches").unwrap();
    assert!(short["launches"].is_null(), "{short}");
    let words = "between 2 launches of 5 µs on average";
    assert!(short["sentence"].as_str().unwrap().contains(words), "{short}");
    assert_eq!(short["saving"]["modelled"], 20.0, "2 of 10 µs");
}

/// Replaces the first launch by a copy, which ncu does not see: it reads and writes 4,096 bytes each.
fn moved(require: &str) -> Finished {
    let text = PHASE.replace("memset = \"t\"\nbyte = 1", "memcpy = { from = \"x\", to = \"t\" }");
    let text = text.replace("[[kernel.launch]]\nentry = \"first\"\nargs = [\"x\", \"t\"]\n", "");
    let (text, _) = text.split_once("[[gate]]\nname = \"duration\"").unwrap();
    let text = format!("{text}[[gate]]\nname = \"counter\"\nrequire = {require:?}\n");
    let place = Place::new();
    let folder = Stored::new(&text, "run").dram_bytes(8192.0).write(&place);
    let config = place.write("moved.toml", &text);
    place.run(&["gate", config.to_str().unwrap(), folder.to_str().unwrap()])
}

#[test]
fn work_moved_to_a_copy_counts_and_other_counters_report_its_absence() {
    let between = "ncu does not count fills and copies (memcpy x to t): dram_bytes is between 8,192 and 16,384";
    let alone = "ncu does not count fills and copies (memcpy x to t): duration covers only its launches";
    for (require, status, words) in [
        ("dram_bytes <= 17000", 0, ""),
        ("dram_bytes <= 9000", 4, between),
        ("dram_bytes <= 8000", 1, "16 KiB, needs <= 7.81 KiB"),
        ("dram_bytes >= 9000", 4, between),
        ("dram__bytes.sum <= 9000", 4, "dram__bytes.sum is between 8,192 and 16,384"),
        ("dram_bytes / 2 <= 6000", 4, between),
        ("dram_bytes <= 9000 or registers < 1", 4, between),
        ("duration <= 10500", 4, alone),
        ("duration <= 9000", 1, "10,000"),
        ("registers <= 64", 0, ""),
    ] {
        let finished = moved(require);
        assert_eq!(finished.status, Some(status), "{require}: {finished:?}");
        assert!(unwrapped(&finished).contains(words), "{require}: {}", finished.stdout);
    }
}

#[test]
fn a_counter_lost_to_another_name_is_reported_with_both_names() {
    let (_, finished) = judged(&Stored::new(PHASE, "run").profiled_as("first"));
    assert_eq!(finished.status, Some(4), "{finished:?}");
    let printed = unwrapped(&finished);
    let words = "ncu saw 'first', 'first' in the range, but the plan launches 'first', 'second'";
    assert!(printed.contains("Not counted: ") && printed.contains(words), "{printed}");
}

#[test]
fn a_launch_that_cannot_be_is_a_mistake_in_the_phase() {
    let place = Place::new();
    for (from, to, message) in [
        ("memset = \"t\"", "memset = \"s\"", "which is not a buffer"),
        ("byte = 1", "byte = 256", "byte"),
        ("args = [\"t\", \"y\"]", "args = [\"t\", \"z\"]", "`kernel.launch[2].args[1]` is `z`"),
        ("entry = \"second\"\n", "", "`kernel.launch[2].entry` is missing"),
        ("block = [128]\n[[", "block = [128]\nentry = \"all\"\n[[", "`kernel.entry` has no effect"),
        ("entry = \"first\"\n", "entry = \"first\"\npdl = true\n", "the step before it is not a launch"),
    ] {
        assert!(PHASE.contains(from), "{from}");
        place.write("steps.toml", &PHASE.replace(from, to));
        let finished = place.run(&["check", "steps.toml"]);
        assert_eq!(finished.status, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(message), "{message}: {}", finished.stderr);
    }
}
