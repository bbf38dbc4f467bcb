//! Claims of the page on trust that other files do not test: memory without answers, reloaded modules, weakened
//! phases, missing work, bands that are too wide.

use crate::command::{Finished, Place};
use crate::concurrent::folders;
use crate::live::{latencies, machine_that_counts};
use crate::stored::{Stored, report_of};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

type Variables = Vec<(&'static str, String)>;

fn run(place: &Place, variables: &Variables) -> Finished {
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)))
}

fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The texts that readers of the only report of a place see first, and the cautions of its results.
fn first_screens(place: &Place) -> Vec<(&'static str, String)> {
    let folder = fs::read_dir(place.path().join("reports/copy")).unwrap().next().unwrap().unwrap().path();
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let results: Value = serde_json::from_str(&read("results.json")).unwrap();
    let cautions: Vec<&str> = results["cautions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    vec![("report.md", read("report.md")), ("report.html", read("report.html")), ("results.json", cautions.join(" "))]
}

/// Whether a text contains these words, ignoring line breaks, marks and escapes.
fn says(what: &str, text: &str, words: &str) {
    let unescaped = text.replace("&quot;", "\"").replace("&#x27;", "'").replace("&#x2f;", "/");
    let plain = unescaped.replace(['\\', '`'], "").replace("<code>", "").replace("</code>", "");
    assert!(unwrapped(&plain.to_lowercase()).contains(&words.to_lowercase()), "{what} does not say '{words}'");
}

/// The reference is a kernel with its result on the device, and the candidate searches all device memory for the
/// answer. Other candidates cheat, but are right in a fresh launch on inputs of a hidden seed.
#[test]
fn a_kernel_that_reads_all_memory_finds_no_expected_output() {
    let (place, variables) =
        machine_that_counts(&["turn_later_a", "turn_later_b", "turn_scan", "turn_honest"], "rounds = 30");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let reference = "reference = { entry = \"turn_honest\", source = \"copy.cu\", grid = [32], block = [128] }";
    let changed = phase
        .replace("reference = \"copy\"", reference)
        .replace("S = 2048", "S = 4096")
        .replace("\"f16\", shape = [\"S\"], init = \"normal\"", "\"u8\", shape = [\"S\"], init = { indices = 256 }")
        .replace("\"f16\", shape = [\"S\"], role", "\"u8\", shape = [\"S\"], role");
    assert_eq!(changed.matches("u8").count(), 2);
    place.write("phase.toml", &changed);
    let finished = run(&place, &variables);
    let records = latencies(&place);
    let of = |name: &str| records.iter().find(|(variant, _)| variant == name).unwrap().1.clone();
    for later in ["turn_later_a", "turn_later_b"] {
        assert_eq!(of(later)["status"], "cheats", "{finished:?}");
    }
    let (scan, honest) = (of("turn_scan"), of("turn_honest"));
    assert!(scan["samples"][0].as_f64() < Some(5.0), "it finds its own earlier outputs: {scan} {finished:?}");
    for outcome in [scan, honest] {
        let unrepeated = &outcome["audit"]["unrepeated"][0];
        let whole = 10.0 * unrepeated["launches"].as_f64().unwrap();
        let samples = unrepeated["samples"].as_array().unwrap();
        assert!(
            samples.len() == 4 && samples.iter().all(|us| (us.as_f64().unwrap() - whole).abs() < 1e-3),
            "{outcome}"
        );
    }
    assert_eq!(finished.status, Some(0), "{finished:?}");
    says("terminal", &finished.stdout, "turn_scan (at shape");
    says("terminal", &finished.stdout, "repeats take less time");
}

#[test]
fn modules_are_loaded_again_for_timing_and_each_profiled_repeat_and_confirmations_are_verified_too() {
    let (place, mut variables) =
        machine_that_counts(&["copy_honest", "copy_again"], "rounds = 60\n[profile]\nrepeat = 3");
    let launches = ["copy_honest", "copy_again"].repeat(3);
    fs::write(place.path().join("counted.ncu-rep"), report_of(&launches, 10_000.0)).unwrap();
    let firsts = place.path().join("firsts.txt");
    variables.push(("NCUGATE_DOUBLE_FIRSTS", firsts.display().to_string()));
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let firsts = fs::read_to_string(firsts).unwrap();
    // the process that checks and times loads a module twice, one that profiles once a repeat, and one that re-times once
    let loads = |line: &str| firsts.lines().filter(|other| *other == line).count();
    let of = |times: usize| firsts.lines().any(|line| loads(line) == times);
    assert!(of(2) && of(3) && of(1), "{firsts}");

    let text = fs::read_to_string(folders(&place)[0].join("confirmations.jsonl")).unwrap();
    let audits = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let launches: Vec<u64> = audits.map(|record| audit(&record)["launches"].as_u64().unwrap()).collect();
    assert!(!launches.is_empty() && launches.iter().all(|launches| *launches >= 299), "{text}");
}

/// The audit of a record, wherever its outcome is.
fn audit(record: &Value) -> &Value {
    let outcome = record.get("outcome").or_else(|| record.pointer("/timed/outcome"));
    &outcome.unwrap_or_else(|| panic!("{record}"))["audit"]
}

const PHASE: &str = concat!(
    include_str!("../data/copy.toml"),
    "[sweep]\nTHREADS = [64, 128]\n[[gate]]\nname = \"latency\"\nrequire = \"latency_p50 <= 10.5\"\n"
);

/// A stored run judged by its own phase.
fn judged(text: &str, stored: &Stored) -> (Place, Finished) {
    let place = Place::new();
    let folder = stored.write(&place);
    place.write("phase.toml", text);
    let finished = place.run(&["gate", "phase.toml", folder.to_str().unwrap()]);
    (place, finished)
}

#[test]
fn weakened_checks_are_on_the_first_screen_and_in_check() {
    let bounds =
        "{ atol = 1e-3, rtol = 1e-3, mismatches = 0.01, allow_nan = true, shapes = { only = { atol = 2e-3 } } }";
    let weak = PHASE
        .replace("tolerance = { max_abs = 2e-3 }", &format!("tolerance = {bounds}"))
        .replace("seeds = [0, 1]", "seeds = [0]\nlaws = [\"declared\"]");
    let (place, finished) = judged(&weak, &Stored::new(&weak, "run"));
    let checked = place.run(&["check", "phase.toml", "--no-build"]);
    let screens = [("terminal", finished.stdout), ("check", checked.stdout)];
    for (what, text) in screens.into_iter().chain(first_screens(&place)) {
        for words in [
            "inputs have only the laws \"declared\" (laws)",
            "inputs have 1 seed (seeds)",
            "1 % of an output may be wrong (mismatches)",
            "answers may be NaN (allow_nan)",
            "shape only with a larger tolerance",
            "witnessed only by duration",
        ] {
            says(what, &text, words);
        }
    }
    let declared = PHASE.replace("[workload.shapes]", "bytes = \"4 * S\"\n[workload.shapes]");
    let (place, finished) = judged(&declared, &Stored::new(&declared, "run"));
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let checked = place.run(&["check", "phase.toml", "--no-build"]);
    for text in [&finished.stdout, &checked.stdout] {
        let text = text.to_lowercase();
        assert!(!text.contains("weakened") && !text.contains("only by duration"), "{text}");
    }
}

#[test]
fn a_tool_of_the_project_is_listed_and_an_edit_of_it_is_another_run() {
    let (place, mut variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    place.write("phase.toml", &format!("{phase}[profile]\nncu = \"bin/ncu\"\n"));
    variables.push(("NVCC_APPEND_FLAGS", "-DFASTER".to_owned()));
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    for (what, text) in first_screens(&place) {
        says(what, &text, "[profile] ncu is the project's own bin/ncu");
        if what == "report.md" {
            says(what, &text, "the environment adds flags to nvcc: NVCC_APPEND_FLAGS=-DFASTER");
        }
    }
    let run = folders(&place).remove(0);
    let gate = || {
        let mut command = place.ncugate(&["gate", "phase.toml", run.to_str().unwrap()]);
        Finished::of(command.envs(variables.clone()))
    };
    assert_eq!(gate().status, Some(0), "{:?}", gate());
    let ncu = fs::read_to_string(place.path().join("bin/ncu")).unwrap();
    place.write_program("bin/ncu", &format!("{ncu}# another\n"));
    let edited = gate();
    assert!(edited.status == Some(3) && edited.stderr.contains("bin/ncu"), "{edited:?}");
}

#[test]
fn bytes_below_the_declared_ones_are_work_that_was_not_done() {
    // 80 KiB are declared, and the outputs may still be in L2: at least 76 KiB must be counted
    let declared = PHASE.replace("[workload.shapes]", "bytes = \"40 * S\"\n[workload.shapes]");
    for (counted, status) in [(80_000.0, 0), (60_000.0, 4), (3_000.0, 4)] {
        let (_, finished) = judged(&declared, &Stored::new(&declared, "run").dram_bytes(counted));
        assert_eq!(finished.status, Some(status), "{counted}: {finished:?}");
        let printed = unwrapped(&finished.stdout);
        assert_eq!(printed.contains("work was not done"), status != 0, "{counted}: {printed}");
        assert!(!printed.contains("variants cheat"), "a declaration proves no cheat: {counted}: {printed}");
    }
}

/// A record that lost a field, or that was made before ncugate wrote it, proves less.
#[test]
fn evidence_that_a_run_does_not_have_does_not_count() {
    fn remove(value: &mut Value, key: &str) {
        match value {
            Value::Object(fields) => {
                fields.remove(key);
                fields.values_mut().for_each(|value| remove(value, key));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| remove(value, key)),
            _ => {}
        }
    }
    let place = Place::new();
    let folder = Stored::new(PHASE, "run").write(&place);
    place.write("phase.toml", PHASE);
    let whole = ["manifest.json", "latencies.jsonl", "confirmations.jsonl", "profiles.jsonl"]
        .map(|name| (name, fs::read_to_string(folder.join(name)).unwrap()));
    for (key, status, words) in [
        ("-", 0, ""),
        ("unrepeated", 4, "0 samples without repeats, 3 are needed"),
        ("outputs", 4, "outputs of its profiled launches at shape 'only' were not verified"),
        ("null_test", 4, "was not tested on wrong answers at 'only': the run does not record the test"),
    ] {
        for (name, text) in &whole {
            let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            let less = values.map(|value| {
                let mut value = value.unwrap();
                remove(&mut value, key);
                format!("{value}\n")
            });
            fs::write(folder.join(name), less.collect::<String>()).unwrap();
        }
        crate::stored::reseal(&folder);
        let finished = place.run(&["gate", "phase.toml", folder.to_str().unwrap()]);
        assert_eq!(finished.status, Some(status), "{key}: {finished:?}");
        assert!(unwrapped(&finished.stdout).contains(words), "{key}: {}", finished.stdout);
    }
}

#[test]
fn a_baseline_that_is_slower_than_its_duration_is_no_standard() {
    let with_twin = PHASE.replace("latency_p50 <= 10.5", "latency_p50 <= baseline.latency_p50");
    let with_twin = format!("{with_twin}[[baseline]]\nname = \"twin\"\nparams = {{ THREADS = 32 }}\n");
    // ncu's durations are 10 us
    for (slow, status) in [(10.4, 0), (20.0, 4)] {
        let stored = Stored::new(&with_twin, "run").duration(10.0);
        let stored = stored.latency(move |id, _| if id.0 == "twin" { slow } else { 10.0 });
        let (_, finished) = judged(&with_twin, &stored);
        assert_eq!(finished.status, Some(status), "{slow}: {finished:?}");
        let printed = unwrapped(&finished.stdout);
        assert!(status == 0 || printed.contains("two durations disagree"), "{slow}: {printed}");
        assert!(!printed.contains("cheat"), "slowness is not a cheat: {printed}");
    }
}

/// An agent receives the verdict of a check, and the number of rules without an answer.
#[test]
fn an_agent_gets_failures_and_unjudged_rules() {
    let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    place.write("phase.toml", &phase.replace("latency_p50 <= 10.5", "registers <= 8"));
    let run = "profiles/sdpa_fast/h200";
    place.copy(run);
    // Without its deep profile most rules lack counters.
    fs::remove_file(place.path().join(run).join("deep_profiles.jsonl.zst")).unwrap();
    crate::stored::reseal(&place.path().join(run));
    let calls = [("check", json!({ "config": "phase.toml" })), ("next", json!({ "run": run }))];
    let [checked, next] = calls.map(|(name, arguments)| {
        let mut command = place.agent_call(name, &arguments);
        let called = Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(60)));
        serde_json::from_str::<Value>(&called.stdout).unwrap_or_else(|error| panic!("{error}: {called:?}"))
    });
    assert_eq!((&checked["isError"], &checked["structuredContent"]["status"]), (&json!(false), &json!(1)), "{checked}");
    assert!(checked["content"].to_string().contains("status 1: fail"), "{checked}");
    let next: Value = serde_json::from_str(next.pointer("/content/0/text").unwrap().as_str().unwrap()).unwrap();
    let diagnosis = &next["diagnosis"];
    assert!(diagnosis["outcome"] == "not_judged" && diagnosis["not_asked"].as_u64() > Some(20), "{next}");
    assert!(diagnosis["of"].as_u64() > Some(40), "{next}");
}

/// A stored run is data: no command that judges, shows or passes it on starts a program from it.
#[test]
fn a_stored_run_starts_no_program() {
    let place = Place::new();
    for path in ["configs/whole_kv.toml", "kernels/sdpa_scalar", "profiles/whole_kv/h200"] {
        place.copy(path);
    }
    let log = place.path().join("started.txt");
    for name in ["git", "sh", "nvcc", "ncu", "python3", "nvdisasm", "cuobjdump", "nvidia-smi", "cc", "c++filt"] {
        let shim = format!("#!/bin/sh\necho \"{name} $*\" >> '{}'\nexit 1\n", log.display());
        place.write_program(&format!("bin/{name}"), &shim);
    }
    let (run, phase) = ("profiles/whole_kv/h200", "configs/whole_kv.toml");
    for (args, status) in [
        (&["run", phase, "--source", "recorded"][..], 1),
        (&["gate", phase, run], 1),
        (&["page", run], 1),
        (&["compare", run, run], 0),
        (&["explain", run], 0),
        (&["agent", "next", run], 0),
        (&["export", run], 0),
        (&["show", "profiles/whole_kv/h200/reports/launched-0-other-1.ncu-repz"], 0),
        (&["tools", "record", run, "-o", "kept"], 0),
        (&["history"], 0),
    ] {
        let mut command = place.ncugate(args);
        let finished = Finished::of(command.env("PATH", place.path().join("bin")).env_remove("CUDA_HOME"));
        assert_eq!(finished.status, Some(status), "{args:?}: {finished:?}");
        assert!(!log.exists(), "{args:?} started {}", fs::read_to_string(&log).unwrap());
    }
}
