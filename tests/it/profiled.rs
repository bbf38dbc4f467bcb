//! Launches profiled by ncu or traced by CUPTI start from the same memory as timed ones, and their outputs are
//! verified.

use crate::command::Place;
use crate::concurrent::folders;
use crate::cupti::{add, page, profiles, results, run, traced};
use crate::live::{latencies, machine_that_counts};
use serde_json::Value;
use std::fs;

type Variables = Vec<(&'static str, String)>;

/// A gate on a counter and a gate on latency.
const DURATION: &str = "[[gate]]\nname = \"time\"\nrequire = \"duration <= 12000\"\n";

/// Kernels on a machine where ncu counts, and on one where CUPTI traces.
fn machines(names: &[&str]) -> [(Place, Variables); 2] {
    let counted = machine_that_counts(names, "rounds = 20\ntimeout_s = 5");
    add(&counted.0, DURATION);
    [counted, traced(names, "ok", "")]
}

/// Verdicts on the outputs of a variant's profiled launches.
fn outputs(place: &Place, variant: &str) -> Vec<Value> {
    let launched = |record: &Value| record["variant"] == variant && record["outcome"]["status"] != "failed";
    let all = profiles(place).into_iter().filter(launched);
    all.map(|record| record["outputs"].clone()).collect()
}

fn is(outputs: &[Value], verdict: &str) -> bool {
    !outputs.is_empty() && outputs.iter().all(|outputs| outputs["verdict"] == verdict)
}

#[test]
fn no_fill_and_no_seed_reveals_the_purpose_of_a_launch_to_a_kernel() {
    for name in ["copy_tell", "copy_seed"] {
        for (place, variables) in machines(&[name]) {
            let finished = run(&place, &variables);
            assert_eq!(finished.status, Some(0), "{name} does its work in every launch: {finished:?}");
            let found = outputs(&place, name);
            assert!(is(&found, "right") && found[0]["evaluations"].as_u64() >= Some(1), "{name}: {found:?}");
            assert!(found[0]["seed"].as_u64() > Some(1), "a hidden seed: {found:?}");
            assert!(page(&place).contains("profiled launch"), "{}", page(&place));
        }
    }
}

#[test]
fn a_kernel_that_is_wrong_under_a_profiler_cheats_and_the_honest_one_is_selected() {
    let names = ["copy_idle", "copy_half", "copy_honest"];
    for (place, variables) in machines(&names) {
        let finished = run(&place, &variables);
        assert_eq!(finished.status, Some(0), "{finished:?}");
        let found = results(&place);
        assert_eq!(found["selected"], "copy_honest");
        for name in &names[..2] {
            assert!(is(&outputs(&place, name), "wrong"), "{name}: {:?}", outputs(&place, name));
            let row = found["variants"].as_array().unwrap().iter().find(|row| row["id"] == *name).unwrap();
            assert_eq!(row["cheats"], true, "{row}");
            assert!(row["correctness"].as_str().unwrap().contains("output of a profiled launch differs"), "{row}");
        }
        assert!(is(&outputs(&place, "copy_honest"), "right"));
    }
}

#[test]
fn no_gate_holds_for_a_kernel_that_is_wrong_under_a_profiler() {
    for (place, variables) in machines(&["copy_idle"]) {
        let finished = run(&place, &variables);
        assert_eq!(finished.status, Some(1), "{finished:?}");
        let (_, outcome) = latencies(&place).remove(0);
        assert_eq!(outcome["status"], "timed", "its timed launches are right: {outcome}");
        let gates = results(&place)["gates"].clone();
        assert!(gates.as_array().unwrap().iter().all(|gate| gate["verdict"] == "fail"), "{gates}");
        // a later record without the failure does not undo it
        let file = folders(&place)[0].join("profiles.jsonl");
        assert!(fs::read_to_string(file).unwrap().contains("\"wrong\""));
    }
}

#[test]
fn counters_of_launches_whose_outputs_nobody_saw_do_not_count() {
    let (place, variables) = machine_that_counts(&["copy_ends"], "rounds = 20");
    add(&place, DURATION);
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(4), "neither gate holds: {finished:?}");
    let printed = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("its profiled outputs were not verified"), "{printed}");
    assert!(profiles(&place).iter().all(|record| record["outcome"]["status"] == "failed"), "{:?}", profiles(&place));
}

#[test]
fn programs_of_several_launches_and_state_are_verified_whole() {
    let step = |entry: &str, from: &str, to: &str| {
        format!("[[variant.kernel.launch]]\nentry = \"{entry}\"\nargs = [\"{from}\", \"{to}\"]\n")
    };
    for (first, second, verdict) in [
        ("copy_honest", "copy_honest", "right"),
        ("copy_half", "copy_honest", "wrong"),
        ("copy_honest", "copy_idle", "wrong"),
    ] {
        let (place, variables) = traced(&[first, second], "ok", "");
        let text = fs::read_to_string(place.path().join("phase.toml")).unwrap();
        let (before, rest) = text.split_once("[[variant]]").unwrap();
        let (_, gates) = rest.split_once("[[gate]]").unwrap();
        let scratch = "[workload.buffers]\nt = { dtype = \"f16\", shape = [\"S\"], role = \"scratch\" }";
        let before = before.replacen("[workload.buffers]", scratch, 1);
        let variant = "[[variant]]\nname = \"steps\"\nparams = { THREADS = 128 }\n";
        let steps = step(first, "x", "t") + &step(second, "t", "y");
        let gates = gates.replace("10.5", "25").replace("12000", "25000");
        place.write("phase.toml", &format!("{before}{variant}{steps}[[gate]]{gates}"));
        let finished = run(&place, &variables);
        assert!(is(&outputs(&place, "steps"), verdict), "{first}, {second}: {finished:?}");
        assert_eq!(finished.status, Some(if verdict == "right" { 0 } else { 1 }), "{finished:?}");
    }
    for (name, verdict) in [("add_honest", "right"), ("add_idle", "wrong")] {
        let (place, variables) = traced(&[name], "ok", "");
        let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
        let state = phase
            .replace("S = 2048", "S = 4096")
            .replace(
                r#"dtype = "f16", shape = ["S"], init = "normal""#,
                r#"dtype = "u8", shape = ["S"], init = { indices = 50 }"#,
            )
            .replace(
                r#"dtype = "f16", shape = ["S"], role = "output""#,
                r#"dtype = "u8", shape = ["S"], role = "output", init = { constant = 0 }"#,
            );
        place.write("phase.toml", &state);
        let finished = run(&place, &variables);
        assert!(is(&outputs(&place, name), verdict), "{name}: {:?} {finished:?}", outputs(&place, name));
    }
}

#[test]
fn a_deep_profile_that_is_wrong_is_a_cheat_too() {
    let (place, variables) = machine_that_counts(&["copy_deep"], "rounds = 20");
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(1), "{finished:?}");
    assert!(is(&outputs(&place, "copy_deep"), "right"), "the counters that gates read were of right launches");
    assert!(page(&place).contains("output of a profiled launch differs"), "{}", page(&place));
}
