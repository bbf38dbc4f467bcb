//! A latency needs a witness, every verdict names a cheat, and a self-reported latency does not pass.

use crate::command::{Finished, Place};
use crate::stored::{Stored, reseal};
use ncugate_model::{LatencyOutcome, LatencyRecord, ShapeName, VariantId};
use std::fs;
use std::path::{Path, PathBuf};

/// Two candidates and a required gate on latency.
const PHASE: &str = concat!(
    include_str!("../data/copy.toml"),
    "[sweep]\nTHREADS = [64, 128]\n[[gate]]\nname = \"latency\"\nrequire = \"latency_p50 <= 10.5\"\n"
);

fn gate(place: &Place, folder: &Path, text: &str) -> Finished {
    let config = place.write("witness.toml", text);
    place.run(&["gate", config.to_str().unwrap(), folder.to_str().unwrap()])
}

/// Standard output on one line.
fn unwrapped(finished: &Finished) -> String {
    finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn judged(stored: &Stored) -> Finished {
    let place = Place::new();
    let folder = stored.write(&place);
    gate(&place, &folder, PHASE)
}

#[test]
fn a_latency_that_no_counter_saw_does_not_count() {
    assert_eq!(judged(&Stored::new(PHASE, "run")).status, Some(0));
    let unseen = judged(&Stored::new(PHASE, "run").unseen());
    assert_eq!(unseen.status, Some(4), "{unseen:?}");
    assert!(unwrapped(&unseen).contains("no counter saw this kernel"), "{}", unseen.stdout);
    let slow = judged(&Stored::new(PHASE, "run").unseen().latency(|_, _| 20.0));
    assert_eq!(slow.status, Some(4), "neither a pass nor a fail: {slow:?}");
}

#[test]
fn durations_that_disagree_are_inconclusive_and_by_a_factor_of_twenty_a_cheat() {
    for (stretch, status) in [(1.4, 0), (3.0, 4), (19.0, 4), (21.0, 1)] {
        let judged = judged(&Stored::new(PHASE, "run").stretch(stretch));
        assert_eq!(judged.status, Some(status), "{stretch}: {judged:?}");
        assert_eq!(unwrapped(&judged).contains("two durations disagree"), status != 0, "{}", judged.stdout);
        assert_eq!(judged.stdout.contains("2 variants cheat"), status == 1, "{}", judged.stdout);
    }
}

#[test]
fn confirmation_samples_are_compared_with_the_counters_too() {
    let faster = |factor: f64| Stored::new(PHASE, "run").confirmed(1, move |_, _| 10.0 / factor);
    assert_eq!(judged(&faster(1.1)).status, Some(0));
    let doubted = judged(&faster(5.0));
    assert_eq!(doubted.status, Some(4), "{doubted:?}");
    assert!(unwrapped(&doubted).contains("two durations disagree"), "{}", doubted.stdout);
}

/// A stored run in which these variants cheat.
fn cheating(place: &Place, cheats: &[&str]) -> PathBuf {
    let folder = Stored::new(PHASE, "run").write(place);
    let file = folder.join("latencies.jsonl");
    let mut lines = fs::read_to_string(&file).unwrap();
    for variant in cheats {
        let outcome = LatencyOutcome::Cheats { reason: "output of a timed launch differs".to_owned(), audit: None };
        let shape = ShapeName("only".into());
        let record = LatencyRecord { variant: VariantId((*variant).into()), shape, outcome };
        lines += &(serde_json::to_string(&record).unwrap() + "\n");
    }
    fs::write(file, lines).unwrap();
    reseal(&folder);
    folder
}

#[test]
fn a_cheat_among_honest_candidates_is_named_everywhere_and_does_not_fail_the_phase() {
    let place = Place::new();
    let folder = cheating(&place, &["THREADS=64"]);
    let judged = gate(&place, &folder, PHASE);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    assert!(judged.stdout.contains("1 variant cheats"), "{}", judged.stdout);
    let report = |name: &str| fs::read_to_string(place.path().join("reports/copy/run").join(name)).unwrap();
    for name in ["report.html", "report.md", "results.json", "junit.xml"] {
        assert!(report(name).contains("output of a timed launch differs"), "{name}");
    }
    assert!(report("report.html").contains("1 variant cheats") && report("report.md").contains("1 variant cheats"));
    assert!(report("junit.xml").contains("failures=\"1\""), "{}", report("junit.xml"));
    let results: serde_json::Value = serde_json::from_str(&report("results.json")).unwrap();
    assert_eq!(results["selected"], "THREADS=128");
    assert_eq!(results["cheats"][0]["variant"], "THREADS=64");
}

#[test]
fn a_phase_whose_gates_judge_a_cheat_fails() {
    let place = Place::new();
    let folder = cheating(&place, &["THREADS=64"]);
    let each = format!("{PHASE}on = \"each\"\n");
    assert_eq!(gate(&place, &folder, &each).status, Some(1));
    let place = Place::new();
    let folder = cheating(&place, &["THREADS=64", "THREADS=128"]);
    let judged = gate(&place, &folder, PHASE);
    assert_eq!(judged.status, Some(1), "{judged:?}");
    assert!(judged.stdout.contains("no variant is correct; THREADS=64: cheats: at shape 'only'"), "{}", judged.stdout);
}

/// The phase with a program as its only candidate or as its baseline.
fn with_program(table: &str) -> String {
    let (head, kernel) = include_str!("../data/copy.toml").split_once("[kernel]").unwrap();
    let program = format!("[[{table}]]\nname = \"program\"\ncommand = [\"true\"]\n");
    match table {
        "variant" => format!("{head}{program}[[gate]]\nname = \"g\"\nrequire = \"latency_p50 <= 10.5\"\n"),
        _ => {
            let gate = "[[gate]]\nname = \"g\"\nrequire = \"latency_p50 <= 1.1 * baseline.latency_p50\"\n";
            format!("{head}[kernel]{kernel}[sweep]\nTHREADS = [64]\n{program}{gate}")
        }
    }
}

#[test]
fn a_program_cannot_pass_by_its_self_reported_latency() {
    let (place, text) = (Place::new(), with_program("variant"));
    let folder = Stored::new(&text, "run").write(&place);
    let judged = gate(&place, &folder, &text);
    assert_eq!(judged.status, Some(4), "although ncu saw a kernel of it: {judged:?}");
    assert!(judged.stdout.contains("Self-reported latency"), "{}", judged.stdout);
}

#[test]
fn a_program_without_a_profiled_kernel_is_refused_as_a_comparison() {
    let (place, text) = (Place::new(), with_program("baseline"));
    let seen = Stored::new(&text, "seen").write(&place);
    let judged = gate(&place, &seen, &text);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    assert!(judged.stdout.contains("Self-reported latency: program (baseline)"), "{}", judged.stdout);
    let folder = Stored::new(&text, "never").unseen().write(&place);
    let judged = gate(&place, &folder, &text);
    assert_eq!(judged.status, Some(4), "{judged:?}");
}
