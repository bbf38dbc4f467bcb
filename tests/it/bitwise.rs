//! Bitwise comparisons of outputs: `deterministic` and `batch_invariant("B")`.

use crate::command::{Finished, Place};
use crate::live::machine_of_kernels;
use serde_json::Value;
use std::fs;
use std::time::Duration;

/// Runs kernels of the double of the driver with a gate over them.
fn run(names: &[&str], gate: &str, change: impl Fn(String) -> String) -> (Place, Finished) {
    let (place, variables) = machine_of_kernels(names, "rounds = 6");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (before, rest) = phase.split_once("[[gate]]").unwrap();
    let (_, bench) = rest.split_once("[bench]").unwrap();
    place.write("phase.toml", &change(format!("{before}[[gate]]\n{gate}\n[bench]{bench}")));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    (place, finished)
}

/// The records of the only run in a place; none if it compared nothing.
fn records(place: &Place) -> Vec<Value> {
    let run = fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(run.join("bitwise.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn outputs_that_delays_or_another_process_change_are_not_deterministic() {
    let gate = "name = \"bits\"\nrequire = \"deterministic == 1\"\non = \"each\"";
    for (name, status, said) in [
        ("bits_never", Some(0), "pass bits"),
        ("bits_delayed", Some(1), "element 32 of `y` has other bits in launch 2, and 0 further cases"),
        ("bits_process", Some(1), "outputs of one process differ from those of another"),
        // A variant that is not proven correct is not compared.
        ("copy_wrong", Some(1), "no variant is proven correct"),
    ] {
        let (place, finished) = run(&[name], gate, |phase| phase);
        let printed = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(finished.status, status, "{name}: {finished:?}");
        assert!(printed.contains(said), "{name}: {printed}");
        assert_eq!(records(&place).len(), usize::from(name != "copy_wrong"), "{name}");
    }
}

#[test]
fn outputs_that_nothing_asks_about_are_not_compared() {
    let (place, finished) = run(&["bits_never"], "require = \"correct == 1\"", |phase| phase);
    assert_eq!((finished.status, records(&place)), (Some(0), Vec::new()), "{finished:?}");
}

#[test]
fn a_row_that_the_extent_of_its_batch_changes_is_not_batch_invariant() {
    let batched = |phase: String| {
        phase
            .replace("only = { S = 2048 }", "one = { B = 1, S = 1024 }\ntwo = { B = 2, S = 1024 }")
            .replace("shape = [\"S\"]", "shape = [\"B\", \"S\"]")
            .replace("grid = [\"S // THREADS\"]", "grid = [\"B\"]")
    };
    for (names, on, status, said) in [
        (&["rows_honest"][..], "each", Some(0), "pass rows"),
        (
            &["rows_split"],
            "each",
            Some(1),
            "`rows_split` at shape 'one': element 0 of `y` has other bits at shape 'two'",
        ),
        (&["rows_honest", "rows_split"], "rows_honest", Some(0), "pass rows"),
    ] {
        let gate = format!("name = \"rows\"\nrequire = 'batch_invariant(\"B\") == 1'\non = \"{on}\"\nshapes = [\"*\"]");
        let (place, finished) = run(names, &gate, batched);
        let printed = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(finished.status, status, "{names:?}: {finished:?}");
        assert!(printed.contains(said), "{names:?}: {printed}");
        let shapes: Vec<Value> = records(&place).into_iter().map(|record| record["shape"].clone()).collect();
        assert_eq!(shapes, vec![Value::from("one"); names.len()], "the largest shape is what others are compared with");
    }
}
