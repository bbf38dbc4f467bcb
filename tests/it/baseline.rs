//! Regression: stored runs and the leaderboard, through the real binary.

use crate::command::{Finished, Place, root};
use crate::stored::{Stored, calibrate, wiggle};
use std::path::Path;

fn regression() -> String {
    std::fs::read_to_string(root().join("configs/regression.toml")).unwrap()
}

/// A run with a latency of `us` and 0.3 % noise.
fn timed(id: &str, us: f64) -> Stored {
    Stored::new(&regression(), id).latency(move |_, round| us * (1.0 + 0.003 * wiggle(round, 1)))
}

fn gate(place: &Place, run: &Path, more: &[&str]) -> Finished {
    let config = place.write("regression.toml", &regression());
    let mut args = vec!["gate", config.to_str().unwrap(), run.to_str().unwrap()];
    args.extend(more);
    place.run(&args)
}

fn promote(place: &Place, run: &Path, more: &[&str]) -> Finished {
    let mut args = vec!["leaderboard", "promote", run.to_str().unwrap()];
    args.extend(more);
    place.run(&args)
}

#[test]
fn the_regression_phase_needs_a_leaderboard_then_passes_and_fails_by_it() {
    let place = Place::new();
    let first = timed("a", 10.0).write(&place);
    let bare = gate(&place, &first, &[]);
    assert_eq!(bare.status, Some(4), "{bare:?}");
    assert!(bare.stdout.contains("has no entry 'best'"), "{}", bare.stdout);

    let promoted = promote(&place, &first, &[]);
    assert_eq!(promoted.status, Some(0), "{promoted:?}");
    assert!(promoted.stdout.contains("the first under these conditions"), "{}", promoted.stdout);

    let unknown = gate(&place, &timed("b", 10.05).write(&place), &[]);
    assert_eq!(unknown.status, Some(4), "the noise between runs is unknown: {unknown:?}");
    assert!(unknown.stdout.contains("--runs 5"), "{}", unknown.stdout);
    calibrate(&place, &regression(), 0.2);

    let same = timed("bb", 10.05).write(&place);
    assert_eq!(gate(&place, &same, &[]).status, Some(0), "half a percent is inside 2 %");
    let slower = timed("ccc", 10.4).write(&place);
    let failed = gate(&place, &slower, &[]);
    assert_eq!(failed.status, Some(1), "{failed:?}");
    let edge = timed("dddd", 10.2).write(&place);
    assert_eq!(gate(&place, &edge, &[]).status, Some(4), "2 % exactly is across the limit");
}

#[test]
fn a_worse_run_is_promoted_only_on_request_and_history_stays() {
    let place = Place::new();
    let (fast, slow) = (timed("fast", 10.0).write(&place), timed("slower", 11.0).write(&place));
    assert_eq!(promote(&place, &fast, &[]).status, Some(0));
    let refused = promote(&place, &slow, &[]);
    assert_eq!(refused.status, Some(1), "{refused:?}");
    assert!(refused.stdout.contains("+10.00 %") && refused.stdout.contains("--accept-worse"), "{}", refused.stdout);
    let again = promote(&place, &fast, &["--accept-worse"]);
    assert!(again.status == Some(1) && again.stdout.contains("already"), "{again:?}");
    assert_eq!(promote(&place, &slow, &["--accept-worse"]).status, Some(0));

    let board = std::fs::read_to_string(place.path().join("profiles/regression/leaderboard.jsonl")).unwrap();
    assert_eq!(board.lines().count(), 2);
    assert!(board.len() < 32_000, "{} bytes are too many to commit", board.len());
    let list = place.run(&["leaderboard", "list"]);
    assert!(list.stdout.contains("run slower") && !list.stdout.contains("run fast"), "{}", list.stdout);
    assert!(list.stdout.contains("accepted although worse"), "{}", list.stdout);
    assert!(list.stdout.contains("not in a git repository"), "an entry has its commit: {}", list.stdout);
    let config = place.write("regression.toml", &regression());
    let by_file = place.run(&["leaderboard", "list", config.to_str().unwrap()]);
    assert_eq!(by_file.stdout, list.stdout, "{by_file:?}");
    let show = place.run(&["leaderboard", "show", "regression"]);
    assert!(show.stdout.contains("run fast") && show.stdout.contains("120 latency samples"), "{}", show.stdout);
    assert_eq!(place.run(&["leaderboard", "show", "nothing"]).status, Some(2));
}

#[test]
fn unlike_conditions_are_refused_by_name_and_warned_of_where_allowed() {
    let place = Place::new();
    let then = timed("then", 10.0).write(&place);
    let other = |f: &mut ncugate_judge::store::Fingerprint| f.driver = Some("999.1".to_owned());
    let now = timed("now", 10.0).fingerprint(other).write(&place);
    assert_eq!(promote(&place, &then, &[]).status, Some(0));
    calibrate(&place, &regression(), 0.2);
    let best = gate(&place, &now, &[]);
    assert_eq!(best.status, Some(4), "a best of another driver is none: {best:?}");
    assert!(best.stdout.contains("driver: 999.1 now, 580.159.04 then"), "{}", best.stdout);
    for name in ["then", then.to_str().unwrap(), "best"] {
        let refused = gate(&place, &now, &["--against", name]);
        assert_eq!(refused.status, Some(3), "{refused:?}");
        assert!(refused.stderr.contains("driver: 999.1 now, 580.159.04 then"), "{}", refused.stderr);
    }
    let allowed = gate(&place, &now, &["--against", "then", "--allow-mismatch"]);
    assert_eq!(allowed.status, Some(4), "nothing was calibrated with that driver: {allowed:?}");
    assert!(allowed.stdout.contains("measured under other conditions"), "{}", allowed.stdout);
    assert_eq!(gate(&place, &now, &["--against", "nobody"]).status, Some(2));
}

#[test]
fn a_stored_run_answers_for_the_baseline() {
    const GATES: &str = "\n[[gate]]\nname = \"no slower\"\nrequire = \"latency_p50 <= baseline.latency_p50\"\n\
                         [[gate]]\nname = \"no faster\"\nrequire = 'speedup(\"baseline\") < 1.5'\n\
                         [[gate]]\nname = \"as before\"\nrequire = \"latency_p50 <= 1.02 * previous.latency_p50\"\n";
    let place = Place::new();
    let before = timed("before", 10.0).write(&place);
    let after = timed("afterwards", 9.0).write(&place);
    let text = regression().split("[[gate]]").next().unwrap().to_owned() + GATES;
    let config = place.write("own.toml", &text);
    calibrate(&place, &regression(), 0.2);
    let judged = |run: &Path, more: &[&str]| {
        let mut args = vec!["gate", config.to_str().unwrap(), run.to_str().unwrap()];
        args.extend(more);
        place.run(&args)
    };
    let alone = judged(&after, &[]);
    assert_eq!(alone.status, Some(4), "{alone:?}");
    assert!(alone.stdout.contains("no baseline"), "{}", alone.stdout);
    let passed = judged(&after, &["--against", "before"]);
    assert_eq!(passed.status, Some(0), "{passed:?}");
    let failed = judged(&before, &["--against", "afterwards"]);
    assert_eq!(failed.status, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("no earlier run of this phase is complete, passed"), "{}", failed.stdout);
}

#[test]
fn a_damaged_leaderboard_is_an_error() {
    let place = Place::new();
    let run = timed("run", 10.0).write(&place);
    assert_eq!(promote(&place, &run, &[]).status, Some(0));
    let path = place.path().join("profiles/regression/leaderboard.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    let damaged = gate(&place, &run, &[]);
    assert_eq!(damaged.status, Some(3), "{damaged:?}");
    assert!(damaged.stderr.contains("leaderboard.jsonl:1"), "{}", damaged.stderr);
}

#[test]
fn a_run_that_failed_is_not_promoted() {
    let place = Place::new();
    let run = timed("a", 10.0).registers(255).write(&place);
    let refused = promote(&place, &run, &["--accept-worse"]);
    assert_eq!(refused.status, Some(1), "{refused:?}");
    assert!(refused.stdout.contains("not promoted: the run itself did not pass"), "{}", refused.stdout);
    assert!(!place.path().join("profiles/regression/leaderboard.jsonl").exists());
}

#[test]
fn the_same_machine_code_is_no_regression_whatever_the_clock_says() {
    let place = Place::new();
    let first = timed("a", 10.0).code("k1").write(&place);
    assert_eq!(promote(&place, &first, &[]).status, Some(0));
    calibrate(&place, &regression(), 0.2);
    let same = gate(&place, &timed("bb", 10.6).code("k1").write(&place), &[]);
    assert_eq!(same.status, Some(0), "{same:?}");
    let other = gate(&place, &timed("ccc", 10.6).code("k2").write(&place), &[]);
    assert_eq!(other.status, Some(1), "{other:?}");
}

#[test]
fn another_gpu_is_never_compared_with() {
    let place = Place::new();
    let then = timed("then", 10.0).write(&place);
    let other = |f: &mut ncugate_judge::store::Fingerprint| f.machine.gpu = Some("another".to_owned());
    let now = timed("now", 10.0).fingerprint(other).write(&place);
    assert_eq!(promote(&place, &then, &[]).status, Some(0));
    let allowed = gate(&place, &now, &["--against", "then", "--allow-mismatch"]);
    assert_eq!(allowed.status, Some(4), "{allowed:?}");
}

/// Of what a gate on a stored run leaves open, only that is no obstacle.
#[test]
fn a_run_that_does_not_pass_for_another_reason_is_not_promoted() {
    let copy = std::fs::read_to_string(root().join("tests/data/copy.toml")).unwrap() + "[sweep]\nTHREADS = [64, 128]\n";
    let gate = |require: &str| format!("[[gate]]\nrequire = \"{require}\"\n");
    let best = gate("latency_p50 <= 1.02 * best.latency_p50");
    let fallback = "[fallback]\nvariant = \"THREADS=128\"\nrequire = [\"registers <= 64\"]\n";
    for (rules, tried, status, said) in [
        (best.clone(), true, 0, "promoted to 'best'"),
        (best.clone(), false, 1, "the tolerance was not tested on wrong answers"),
        (gate("registers <= 64"), true, 0, "promoted to 'best'"),
        (gate("registers <= 64"), false, 1, "the tolerance was not tested on wrong answers"),
        (best.clone() + "level = \"advisory\"\n", true, 1, "no required gate"),
        (gate("registers <= 64") + "on = \"THREADS=128\"\n", true, 1, "No required gate judged the selected variant"),
        (gate("latency_p50 <= 9") + fallback, true, 1, "did not pass, and the fallback THREADS=128 is used"),
    ] {
        let place = Place::new();
        let stored = Stored::new(&(copy.clone() + &rules), "run");
        let stored = stored.latency(|id, round| {
            let us = if id.0.contains("64") { 10.0 } else { 11.0 };
            us * (1.0 + 0.003 * wiggle(round, 1))
        });
        let run = stored.write(&place);
        if !tried {
            let path = run.join("manifest.json");
            let text = std::fs::read_to_string(&path).unwrap();
            let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
            manifest.as_object_mut().unwrap().remove("null_test");
            std::fs::write(&path, manifest.to_string()).unwrap();
            crate::stored::reseal(&run);
        }
        let promoted = promote(&place, &run, &[]);
        let printed = promoted.stdout.to_lowercase();
        assert_eq!(promoted.status, Some(status), "{rules}: {promoted:?}");
        assert!(printed.contains(&said.to_lowercase()), "{rules}: {printed}");
    }
}

#[test]
fn a_gate_of_a_stage_reads_the_leaderboard() {
    let staged = |limit: &str| {
        let text = regression();
        let own = text.split("[[gate]]").next().unwrap();
        format!("{own}[[stage]]\nname = \"s\"\nvariant = \"*\"\nrequire = [\"{limit} * best.registers\"]\n")
    };
    let place = Place::new();
    let run = timed("a", 10.0).write(&place);
    let judged = |limit: &str| {
        let config = place.write("staged.toml", &staged(limit));
        place.run(&["gate", config.to_str().unwrap(), run.to_str().unwrap()])
    };
    let absent = judged("registers <= 1.0");
    assert!(absent.status == Some(4) && absent.stdout.contains("has no entry 'best'"), "{absent:?}");
    assert_eq!(promote(&place, &run, &[]).status, Some(0));
    for (limit, status) in [("registers <= 1.0", 0), ("registers <= 0.5", 1)] {
        let found = judged(limit);
        assert_eq!(found.status, Some(status), "{limit}: {found:?}");
    }
}
