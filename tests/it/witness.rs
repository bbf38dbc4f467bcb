//! A latency needs a witness, every verdict names a cheat, and a self-reported latency does not pass.

use crate::command::{Finished, Place};
use crate::cupti::{profiles, run};
use crate::live::machine_that_counts;
use crate::stored::{Stored, report_of, reseal};
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
    for (stretch, status) in [(1.08, 0), (3.0, 4), (19.0, 4), (21.0, 1)] {
        let judged = judged(&Stored::new(PHASE, "run").stretch(stretch));
        assert_eq!(judged.status, Some(status), "{stretch}: {judged:?}");
        assert_eq!(unwrapped(&judged).contains("two durations disagree"), status != 0, "{}", judged.stdout);
        assert_eq!(judged.stdout.contains("2 variants cheat"), status == 1, "{}", judged.stdout);
    }
}

/// The texts that a reader sees first: the terminal, and the files of the only report of a place.
fn first_screens(place: &Place, finished: &Finished) -> Vec<(&'static str, String)> {
    let folder = fs::read_dir(place.path().join("reports/copy")).unwrap().next().unwrap().unwrap().path();
    let file = |name: &'static str| (name, fs::read_to_string(folder.join(name)).unwrap());
    let mut texts = vec![("terminal", finished.stdout.clone())];
    texts.extend(["report.md", "report.html", "results.json"].map(file));
    texts.iter_mut().for_each(|(_, text)| *text = text.split_whitespace().collect::<Vec<_>>().join(" "));
    texts
}

/// A kernel that takes another path under a profiler has right outputs, and counters of that path.
#[test]
fn counters_of_a_case_whose_durations_disagree_do_not_count() {
    let gates = |objective: &str, gates: &[&str]| {
        let head = PHASE.split("[[gate]]").next().unwrap().replace("\"latency_p50\"", &format!("\"{objective}\""));
        head + &gates.iter().map(|gate| format!("[[gate]]\nrequire = \"{gate}\"\n")).collect::<String>()
    };
    for objective in ["latency_p50", "duration"] {
        for (require, honest) in [
            ("duration <= 200000", 0),
            ("duration <= 1000", 1),
            ("gpu__time_duration.sum <= 200000", 0),
            ("dram_bytes <= 90000", 0),
            ("duration <= 200000 and registers <= 64", 0),
            ("2 * dram_bytes - duration <= 1e9", 0),
        ] {
            let text = gates(objective, &[require]);
            let stored =
                |stretch: f64| Stored::new(&text, "run").latency(|_, _| 50.0).stretch(stretch).dram_bytes(80_000.0);
            for (stretch, status) in [(1.0, honest), (0.2, 4), (3.0, 4)] {
                let place = Place::new();
                let folder = stored(stretch).write(&place);
                // 50 us while timed, 10 us or 150 us under ncu.
                let judged = gate(&place, &folder, &text);
                assert_eq!(judged.status, Some(status), "{objective} {require} {stretch}: {judged:?}");
                if status == 4 {
                    for (what, screen) in first_screens(&place, &judged) {
                        let reason = "the counters do not count: two durations disagree";
                        assert!(screen.contains(reason), "{require}, {what}: {screen}");
                    }
                }
            }
        }
    }
    // Facts of the build hold; the first screen says what does not.
    let text = gates("latency_p50", &["registers <= 64"]);
    for (stretch, is_said) in [(1.0, false), (3.0, true)] {
        let place = Place::new();
        let folder = Stored::new(&text, "run").stretch(stretch).write(&place);
        let judged = gate(&place, &folder, &text);
        assert_eq!(judged.status, Some(0), "{judged:?}");
        for (what, screen) in first_screens(&place, &judged) {
            let words = "o gate holds by a latency or counter of THREADS=128 at only: two durations disagree";
            assert_eq!(screen.contains(words), is_said, "{what}: {screen}");
            assert_eq!(screen.contains("and of 1 more case"), is_said, "{what}: {screen}");
        }
    }
}

#[test]
fn counters_are_compared_only_with_counters_of_a_case_that_is_not_contradictory() {
    let text = PHASE.replace("latency_p50 <= 10.5", "duration <= 2 * baseline.duration");
    let text = format!("{text}[[baseline]]\nname = \"twin\"\nparams = {{ THREADS = 32 }}\n");
    // The duration of every launch is 10 us under ncu.
    for (slow, status) in [(10.0, 0), (40.0, 4)] {
        let stored = Stored::new(&text, "run").duration(10.0);
        let stored = stored.latency(move |id, _| if id.0 == "twin" { slow } else { 10.0 });
        let place = Place::new();
        let folder = stored.write(&place);
        let judged = gate(&place, &folder, &text);
        assert_eq!(judged.status, Some(status), "{slow}: {judged:?}");
        let words = "the counters of 'twin' do not count: two durations disagree";
        assert_eq!(unwrapped(&judged).contains(words), status == 4, "{}", judged.stdout);
    }
}

#[test]
fn counters_without_a_latency_to_compare_with_count() {
    let text = PHASE.replace("latency_p50 <= 10.5", "duration <= 35000").replace("\"latency_p50\"", "\"duration\"");
    let place = Place::new();
    let folder = Stored::new(&text, "run").stretch(3.0).write(&place);
    assert_eq!(gate(&place, &folder, &text).status, Some(4), "the latencies contradict them");
    for name in ["latencies.jsonl", "confirmations.jsonl"] {
        fs::write(folder.join(name), "").unwrap();
    }
    reseal(&folder);
    let judged = gate(&place, &folder, &text);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    assert!(!judged.stdout.contains("do not count"), "{}", judged.stdout);
}

#[test]
fn confirmation_samples_are_compared_with_the_counters_too() {
    let faster = |factor: f64| Stored::new(PHASE, "run").confirmed(1, move |_, _| 10.0 / factor);
    assert_eq!(judged(&faster(1.05)).status, Some(0));
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

/// ncu measures one launch, which may be an outlier; a kernel that takes another path under it differs each time.
#[test]
fn a_case_whose_durations_disagree_is_profiled_again_and_doubted_if_they_still_do() {
    let (place, mut variables) = machine_that_counts(&["copy_honest"], "rounds = 20");
    let first = place.path().join("first.ncu-rep");
    fs::write(&first, report_of(&["copy_honest"], 17_000.0)).unwrap();
    variables.push(("NCUGATE_DOUBLE_FIRST_REPORT", first.display().to_string()));
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    assert_eq!(profiles(&place).len(), 2, "the second profile counts");

    let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 20");
    fs::write(place.path().join("counted.ncu-rep"), report_of(&["copy_honest"], 17_000.0)).unwrap();
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    let said = unwrapped(&finished);
    assert!(
        said.contains("two durations disagree under equal conditions: 9 µs timed alone, 16 µs under ncu"),
        "{said}"
    );
}
