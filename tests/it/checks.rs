//! How outputs are compared, through the real binary on the double of the driver: a part of an output, rows in any order, and a
//! function that judges outputs.

use crate::command::{Finished, Place};
use crate::gallery::python;
use crate::live::{latencies, machine_that_counts};
use std::time::Duration;

const OUTPUT: &str = "y = { dtype = \"f16\", shape = [\"S\"], role = \"output\" }";
const TOLERANCE: &str = "tolerance = { max_abs = 2e-3 }";

/// Runs these kernels of the double with changes of the phase; returns the result and the variants that were timed.
fn run(names: &[&str], changes: &[(&str, &str)], files: &[(&str, &str)]) -> (Finished, Vec<String>, Place) {
    let (place, variables) = machine_that_counts(names, "rounds = 6");
    let mut phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
    for (from, to) in changes {
        assert!(phase.contains(from), "{from} is not in {phase}");
        phase = phase.replace(from, to);
    }
    place.write("phase.toml", &phase);
    files.iter().for_each(|(name, text)| drop(place.write(name, text)));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let run = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    let has_run = place.path().join("profiles/copy").is_dir();
    let records = if has_run { latencies(&place) } else { Vec::new() };
    let timed = records.into_iter().filter(|(_, outcome)| outcome["status"] == "timed").map(|(variant, _)| variant);
    (run, timed.collect(), place)
}

/// The printed text without line breaks.
fn printed(finished: &Finished) -> String {
    finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_part_of_an_output_is_compared_and_has_to_be_written() {
    let half = [("x = { dtype = \"f16\", shape = [\"S\"]", "x = { dtype = \"f16\", shape = [\"S // 2\"]")];
    let part = |slice: &str| format!("{}, compare = [\"{slice}\"] }}", OUTPUT.trim_end_matches(" }"));
    let names = ["copy_head", "copy_wrong", "copy_later", "copy_race"];
    let first = part(":S // 2");
    let (finished, timed, place) = run(&names, &[half[0], (OUTPUT, &first)], &[]);
    assert_eq!(timed, ["copy_head"], "{finished:?}");
    assert!(printed(&finished).contains("of y only [0:S // 2] counts (`compare`)"), "{}", finished.stdout);
    let reports = std::fs::read_dir(place.path().join("reports/copy")).unwrap().map(|entry| entry.unwrap().path());
    let page = reports.filter_map(|folder| std::fs::read_to_string(folder.join("report.html")).ok()).next().unwrap();
    assert!(page.contains("of y only [0:S"), "the page names it");
    // The rest alone: nobody writes it.
    let last = part("S // 2:");
    let (finished, timed, _) = run(&["copy_head"], &[half[0], (OUTPUT, &last)], &[]);
    assert!(timed.is_empty() && printed(&finished).contains("never written"), "{finished:?}");
    // All of it counts unless the phase says otherwise.
    let (finished, timed, place) = run(&["copy_head", "copy_honest", "copy_wrong"], &[], &[]);
    assert_eq!(timed, ["copy_honest"], "{finished:?}");
    // Every output and the record name the element with the largest error.
    assert!(printed(&finished).contains("; largest error at `y["), "{finished:?}");
    let reports = std::fs::read_dir(place.path().join("reports/copy")).unwrap();
    let report = reports.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    for name in ["report.html", "report.md"] {
        let text = std::fs::read_to_string(report.join(name)).unwrap();
        assert!(text.contains("largest error at") && text.contains(", expected "), "{name}");
    }
    let checks = std::fs::read_to_string(run_folder(&place).join("checks.jsonl")).unwrap();
    let wrong = checks.lines().find(|line| line.contains("\"copy_wrong\"")).unwrap();
    let record: serde_json::Value = serde_json::from_str(wrong).unwrap();
    let element = &record["outcome"]["element"];
    assert!(element["buffer"] == "y" && element["index"].as_array().is_some_and(|index| !index.is_empty()), "{record}");
}

/// The folder of the only run.
fn run_folder(place: &Place) -> std::path::PathBuf {
    let mut runs = std::fs::read_dir(place.path().join("profiles/copy")).unwrap().map(|entry| entry.unwrap().path());
    runs.find(|path| path.is_dir()).unwrap()
}

#[test]
fn rows_may_be_in_any_order_where_the_phase_says_so_and_are_the_right_ones() {
    let names = ["copy_turned", "copy_honest", "copy_wrong", "copy_later"];
    let any = format!("{}, order = \"any\" }}", OUTPUT.trim_end_matches(" }"));
    let (finished, timed, _) = run(&names, &[(OUTPUT, &any)], &[]);
    assert_eq!(timed, ["copy_turned", "copy_honest"], "{finished:?}");
    assert!(printed(&finished).contains("rows of y are in any order (`order`)"), "{}", finished.stdout);
    let (finished, timed, _) = run(&names, &[], &[]);
    assert_eq!(timed, ["copy_honest"], "{finished:?}");
    let rows = "shape = [\"S // 2\", 2], role = \"output\", order = \"any\" }";
    let pairs = [
        ("x = { dtype = \"f16\", shape = [\"S\"]", "x = { dtype = \"f16\", shape = [\"S // 2\", 2]"),
        ("shape = [\"S\"], role = \"output\" }", rows),
    ];
    let (finished, timed, _) = run(&names, &pairs, &[]);
    assert_eq!(timed, ["copy_honest"], "the elements of a row stay together: {finished:?}");
}

/// A function that takes rows in any order.
const CHECK: &str = r#"
import numpy as np


def same_elements(outputs, expected, x, S):
    assert S == x.size and np.array_equal(expected["y"], x)
    wrong = np.flatnonzero(np.sort(outputs["y"]) != np.sort(expected["y"]))
    return f"{wrong.size} elements differ" if wrong.size else ""


def anything(outputs, expected):
    return ""


def nothing(outputs, expected):
    np.allclose(outputs["y"], expected["y"])


def never(outputs, expected):
    return "it is never right"


def raises(outputs, expected):
    if not np.array_equal(outputs["y"], expected["y"]):
        raise IndexError("no such element")
    return ""
"#;

#[test]
fn a_function_judges_outputs_and_can_neither_accept_everything_nor_fail_in_silence() {
    let Some(python) = python() else { return };
    let build = format!("[build]\npython = \"{}\"\n[phase]", python.display());
    let with = |names: &[&str], function: &str| {
        let tolerance = format!("tolerance = {{ check = \"check.py:{function}\" }}");
        run(names, &[(TOLERANCE, &tolerance), ("[phase]", &build)], &[("check.py", CHECK)])
    };
    let names = ["copy_turned", "copy_wrong", "copy_head", "copy_later"];
    let (finished, timed, place) = with(&names, "same_elements");
    assert_eq!(timed, ["copy_turned"], "{finished:?}");
    let caution = "`check.py:same_elements` alone judges y (`check`)";
    assert!(printed(&finished).contains(caution), "{}", finished.stdout);
    let run = std::fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    let checks = std::fs::read_to_string(run.join("checks.jsonl")).unwrap();
    assert!(checks.contains("check.py:same_elements: 2048 elements differ"), "{checks}");
    assert!(checks.contains("1024 of 2048 output elements were never written"), "{checks}");
    let manifest = std::fs::read_to_string(run.join("manifest.json")).unwrap();
    assert!(manifest.contains("\"check.py\":"), "the function is an input of the run: {manifest}");

    let (finished, timed, _) = with(&["copy_turned", "copy_honest"], "raises");
    assert_eq!(timed, ["copy_honest"], "{finished:?}");
    for (function, said) in [
        ("anything", "the tolerance is too wide"),
        ("nothing", "returns None, expected a text"),
        ("never", "refuses the expected outputs: it is never right"),
        ("absent", "has no function `absent`"),
    ] {
        let (finished, timed, _) = with(&["copy_honest"], function);
        assert!(timed.is_empty() && finished.status == Some(2), "{function}: {finished:?}");
        assert!(finished.stderr.contains(said), "{function}: {finished:?}");
    }
}

#[test]
fn a_check_beside_bounds_is_a_further_condition() {
    let Some(python) = python() else { return };
    let build = format!("[build]\npython = \"{}\"\n[phase]", python.display());
    let tolerance = "tolerance = { max_abs = 2e-3, check = \"check.py:raises\" }";
    let changes = [(TOLERANCE, tolerance), ("[phase]", build.as_str())];
    let (finished, timed, _) = run(&["copy_turned", "copy_honest"], &changes, &[("check.py", CHECK)]);
    assert_eq!(timed, ["copy_honest"], "{finished:?}");
    assert!(!printed(&finished).contains("alone judges"), "{}", finished.stdout);
}

#[test]
fn a_reference_gets_parameters_of_variants_and_each_variant_has_its_own_answer() {
    let Some(python) = python() else { return };
    let build = format!("[build]\npython = \"{}\"\n[phase]", python.display());
    let reference = "reference = { python = \"ref.py:times\", params = [\"FACTOR\"] }";
    let text = "def times(x, FACTOR):\n    return FACTOR * x\n";
    let params = |name: &str, factor: &str| {
        let of = |more: &str| format!("name = \"{name}\"\nparams = {{ THREADS = 128{more} }}");
        (of(""), of(&format!(", FACTOR = {factor}")))
    };
    let defines = ("defines = [\"THREADS\"]", "defines = [\"THREADS\", \"FACTOR\"]");
    let names = ["copy_honest", "copy_slow", "copy_later"];
    let own = [params("copy_honest", "1"), params("copy_slow", "2"), params("copy_later", "1")];
    let mut changes = vec![("reference = \"copy\"", reference), ("[phase]", build.as_str()), defines];
    changes.extend(own.iter().map(|(from, to)| (from.as_str(), to.as_str())));
    let (finished, timed, place) = run(&names, &changes, &[("ref.py", text)]);
    assert_eq!(timed, ["copy_honest"], "a copy is not twice its input: {finished:?}");
    // Equal code with another answer is another measurement.
    let same = [("defines = [\"THREADS\"]", "defines = [\"THREADS\"]\nflags = [\"-DF={{ FACTOR }}\"]")];
    let twins = "[[variant]]\nname = \"twice\"\nparams = { THREADS = 128, FACTOR = 2 }\n\
                 kernel = { entry = \"copy_honest\" }\n[[gate]]";
    let honest = params("copy_honest", "1");
    let with_twin = [
        ("reference = \"copy\"", reference),
        ("[phase]", build.as_str()),
        same[0],
        (honest.0.as_str(), honest.1.as_str()),
        ("[[gate]]", twins),
    ];
    let (twin, timed, _) = self::run(&["copy_honest"], &with_twin, &[("ref.py", text)]);
    assert_eq!(timed, ["copy_honest"], "{twin:?}");
    let run = std::fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    let checks = std::fs::read_to_string(run.join("checks.jsonl")).unwrap();
    assert!(checks.lines().any(|line| line.contains("\"copy_later\"") && line.contains("\"correct\"")), "{checks}");
    let caution = "the expected outputs depend on FACTOR (`params` of the reference)";
    assert!(printed(&finished).contains(caution), "{}", finished.stdout);
    changes.pop();
    let kernel = "kernel = { entry = \"copy_later\" }";
    changes.push((kernel, "kernel = { entry = \"copy_later\", defines = [\"THREADS\"] }"));
    let (finished, ..) = self::run(&names, &changes, &[("ref.py", text)]);
    assert_eq!(finished.status, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("`FACTOR`, which this variant does not have"), "{finished:?}");
    changes[0].1 = "reference = { python = \"ref.py:times\", params = [\"FACTORS\"] }";
    let (finished, ..) = self::run(&names, &changes, &[("ref.py", text)]);
    assert!(finished.stderr.contains("did you mean `FACTOR`?"), "{finished:?}");
}
