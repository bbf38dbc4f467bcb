//! Results in the formats of other projects, validated with schemas of those formats.

use crate::command::{Finished, Place, has_python, root};
use crate::live::machine_of_kernels;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Schema violations of a value, for the part of JSON Schema that the schemas here use.
fn broken(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let kind = |word: &str| match word {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        other => panic!("type {other}"),
    };
    for (key, rule) in schema.as_object().unwrap() {
        let holds = match key.as_str() {
            "$schema" | "$comment" | "title" => true,
            "type" => match rule {
                Value::Array(words) => words.iter().any(|word| kind(word.as_str().unwrap())),
                word => kind(word.as_str().unwrap()),
            },
            "enum" => rule.as_array().unwrap().contains(value),
            "const" => rule == value,
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "minLength" => value.as_str().is_none_or(|text| !text.is_empty()),
            "required" => rule.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
            "propertyNames" => {
                assert_eq!(rule["pattern"], "^[0-9]+$");
                let mut names = value.as_object().into_iter().flat_map(|map| map.keys());
                names.all(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()))
            }
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    if let Some(inner) = value.get(name) {
                        broken(rule, inner, &format!("{at}.{name}"), found);
                    }
                }
                true
            }
            "additionalProperties" => {
                let named = schema["properties"].as_object();
                let others = value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .filter(|(name, _)| named.is_none_or(|n| !n.contains_key(*name)));
                for (name, inner) in others {
                    match rule {
                        Value::Bool(false) => found.push(format!("{at} has {name}")),
                        rule => broken(rule, inner, &format!("{at}.{name}"), found),
                    }
                }
                true
            }
            "items" => {
                for (number, inner) in value.as_array().into_iter().flatten().enumerate() {
                    broken(rule, inner, &format!("{at}[{number}]"), found);
                }
                true
            }
            "anyOf" | "oneOf" => {
                let fits = |rule: &&Value| {
                    let mut inner = Vec::new();
                    broken(rule, value, at, &mut inner);
                    inner.is_empty()
                };
                let count = rule.as_array().unwrap().iter().filter(fits).count();
                count == 1 || (key == "anyOf" && count > 1)
            }
            other => panic!("keyword {other}"),
        };
        if !holds {
            found.push(format!("{at}: {key} {rule} of {value}"));
        }
    }
}

fn hold(schema: &str, value: &Value) {
    let text = fs::read_to_string(root().join("tests/data/problems").join(schema)).unwrap();
    let mut found = Vec::new();
    broken(&serde_json::from_str(&text).unwrap(), value, "", &mut found);
    assert!(found.is_empty(), "{found:#?}\n{value:#}");
}

fn traces(finished: &Finished) -> Vec<Value> {
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let traces: Vec<Value> = finished.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    traces.iter().for_each(|trace| hold("trace.schema.json", trace));
    traces
}

fn at_root(place: &Place, args: &[&str]) -> Finished {
    Finished::of(place.ncugate(args).current_dir(root()))
}

#[test]
fn the_schemas_refuse_unknown_fields() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    let good = traces(&at_root(&place, &["problem", "export", "flashinfer", "profiles/softmax/h200"])).remove(0);
    let text = fs::read_to_string(root().join("tests/data/problems/trace.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    for (pointer, wrong) in [
        ("/evaluation/status", json!("OK")),
        ("/evaluation/performance", Value::Null),
        ("/evaluation/performance/latency_ms", json!(-1)),
        ("/workload/inputs/x", json!({ "type": "random", "value": 1 })),
        ("/solution", json!("")),
    ] {
        let mut trace = good.clone();
        *trace.pointer_mut(pointer).unwrap() = wrong;
        let mut found = Vec::new();
        broken(&schema, &trace, "", &mut found);
        assert!(!found.is_empty(), "{pointer}");
    }
}

#[test]
fn recordings_are_exported_and_cheats_and_wrong_kernels_have_not_passed() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    let passed = traces(&at_root(&place, &["problem", "export", "flashinfer", "profiles/softmax/h200"]));
    assert!(passed.iter().all(|trace| trace["evaluation"]["status"] == "PASSED"), "{passed:#?}");
    assert!(passed.iter().all(|trace| trace["evaluation"]["performance"]["speedup_factor"].as_f64() > Some(0.0)));
    let cheats = traces(&at_root(&place, &["problem", "export", "flashinfer", "profiles/cheats/h200"]));
    let honest = |trace: &Value| trace["evaluation"]["status"] == "PASSED";
    let names: Vec<&str> = cheats.iter().filter(|t| honest(t)).map(|t| t["solution"].as_str().unwrap()).collect();
    // the variant that pins its inputs in L2 is correct, and is timed with them, which is slower
    assert_eq!(names, ["honest", "evict_last"]);

    let results = at_root(&place, &["problem", "export", "kernelbench", "profiles/cheats/h200", "--problem", "7"]);
    let results: Value = serde_json::from_str(&results.stdout).unwrap();
    hold("eval_results.schema.json", &results);
    for entry in results["7"].as_array().unwrap() {
        let correct = names.contains(&entry["metadata"]["variant"].as_str().unwrap());
        assert_eq!((&entry["correctness"], entry["runtime"] != -1.0), (&json!(correct), correct), "{entry:#}");
    }
    let nameless = at_root(&place, &["problem", "export", "kernelbench", "profiles/cheats/h200"]);
    assert_eq!(nameless.status, Some(2), "{nameless:?}");
    assert!(nameless.stderr.contains("does not begin with a number: give --problem"), "{nameless:?}");
}

/// A run of an imported phase on the double of the driver: an honest candidate, one that cheats, and a baseline.
fn run_of_imported() -> (Place, PathBuf) {
    let names = ["copy_honest", "copy_later", "copy_wrong", "copy_crash", "copy_hang", "copy_plain"];
    let (place, variables) = machine_of_kernels(&names, "rounds = 12\nmax_rounds = 12\ntimeout_s = 1");
    place.write("broken.cu", "this is not assembly\n");
    let text = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (before, last) = text.rsplit_once("[[variant]]").unwrap();
    let phase = format!(
        "{before}[[variant]]\nname = \"broken\"\nparams = {{ THREADS = 128 }}\nkernel = {{ source = \"broken.cu\", entry = \"broken\" }}\n\
         [[baseline]]{last}\n[imported]\nformat = \"kernelbench\"\nproblem = \"19_Copy\"\n\
         workloads = {{ only = '{{\"uuid\": \"u1\", \"axes\": {{}}, \"inputs\": {{\"x\": {{\"type\": \"random\"}}}}}}' }}\n\
         solutions = {{ copy_honest = \"honest v1\" }}\n"
    );
    place.write("phase.toml", &phase);
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    let run = fs::read_dir(place.path().join("profiles/copy")).unwrap().next();
    let run = run.unwrap_or_else(|| panic!("{finished:?}")).unwrap().path();
    (place, run)
}

#[test]
fn a_run_of_an_imported_problem_is_handed_on_under_its_names() {
    if !has_python() {
        return;
    }
    let (place, run) = run_of_imported();
    let run = run.to_str().unwrap();
    let traces = traces(&place.run(&["problem", "export", "flashinfer", run]));
    let told: Vec<(&str, &str)> =
        traces.iter().map(|t| (t["solution"].as_str().unwrap(), t["evaluation"]["status"].as_str().unwrap())).collect();
    let expected = [
        ("honest v1", "PASSED"),
        ("copy_later", "INCORRECT_NUMERICAL"),
        ("copy_wrong", "INCORRECT_NUMERICAL"),
        ("copy_crash", "RUNTIME_ERROR"),
        ("copy_hang", "TIMEOUT"),
        ("broken", "COMPILE_ERROR"),
    ];
    assert_eq!(told, expected);
    assert_eq!((&traces[0]["definition"], &traces[0]["workload"]["uuid"]), (&json!("19_Copy"), &json!("u1")));
    let performance = &traces[0]["evaluation"]["performance"];
    assert!(performance["reference_latency_ms"].as_f64() > Some(0.0), "{performance}");

    let results: Value = serde_json::from_str(&place.run(&["problem", "export", "kernelbench", run]).stdout).unwrap();
    hold("eval_results.schema.json", &results);
    let entries = results["19"].as_array().unwrap();
    assert_eq!((&entries[0]["correctness"], &entries[1]["correctness"]), (&json!(true), &json!(false)));
    let compiled: Vec<bool> = entries.iter().map(|entry| entry["compiled"].as_bool().unwrap()).collect();
    assert_eq!(compiled, [true, true, true, true, true, false]);
    assert_eq!(entries[1]["runtime"], -1.0);
    assert!(entries[1]["metadata"]["correctness_issue"].as_str().unwrap().contains("launch differs"), "{entries:#?}");

    // a problem with an incomplete run counts as not solved
    let unfinished = place.path().join("profiles/other/20260101T000000");
    place.write("profiles/other/20260101T000000/manifest.json", "{}");
    let score = place.run(&["problem", "export", "fast-p", "--threshold", "0.5", "--threshold", "2"]);
    let found: Value = serde_json::from_str(&score.stdout).unwrap_or_else(|_| panic!("{score:?}"));
    assert_eq!((&found["total_count"], &found["correct_count"]), (&json!(2), &json!(1)));
    assert_eq!(found["fast_p"], json!({ "0.5": 0.5, "2.0": 0.0 }));
    assert!(score.stderr.contains("counts as not solved"), "{score:?}");
    let refused = place.run(&["problem", "export", "flashinfer", unfinished.to_str().unwrap()]);
    assert_eq!((refused.status, refused.stdout.as_str()), (Some(3), ""), "{refused:?}");
}

/// gpu-mode ranks submissions by one score over the benchmarks. A wrong, cheating or untimed submission has no score.
#[test]
fn a_ranking_scores_only_correct_and_timed_submissions() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    let said = at_root(&place, &["problem", "export", "gpumode", "profiles/softmax/h200"]).stdout;
    let ranking: Value = serde_json::from_str(&said).unwrap();
    let of = |at: usize, key: &str| ranking["submissions"][at][key].clone();
    assert_eq!((ranking["ranking_by"].as_str(), ranking["unit"].as_str()), (Some("last"), Some("s")));
    assert_eq!((of(0, "rank"), of(0, "reason")), (json!(1), Value::Null));
    let benchmarks = of(0, "benchmarks");
    let last = benchmarks.as_array().unwrap().last().unwrap();
    assert_eq!((last["benchmark"].as_str(), &last["mean"]), (Some("wide"), &of(0, "score")));
    let scores: Vec<f64> = (0..12).filter_map(|at| of(at, "score").as_f64()).collect();
    assert!(scores.len() > 1 && scores.is_sorted() && scores[0] > 1e-5 && scores[0] < 1e-4, "{scores:?}");
    let cheats: Value =
        serde_json::from_str(&at_root(&place, &["problem", "export", "gpumode", "profiles/cheats/h200"]).stdout)
            .unwrap();
    let unscored = cheats["submissions"].as_array().unwrap().iter().filter(|entry| entry["score"].is_null());
    let reasons: Vec<&str> = unscored.filter_map(|entry| entry["reason"].as_str()).collect();
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| !reason.is_empty()), "{cheats}");
}
