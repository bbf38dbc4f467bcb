//! `demo`: a page without a repository, a GPU or CUDA.

use crate::command::Place;

#[test]
fn demo_renders_a_passing_recording_and_states_that_nothing_is_measured() {
    let place = Place::new();
    let finished = place.run(&["demo"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let first = finished.stdout.lines().next().unwrap();
    assert!(
        first.starts_with("nothing is measured here: this is a recording of the phase sdpa_fast_causal"),
        "{first}"
    );
    assert!(finished.stdout.contains("recorded on NVIDIA H200") && finished.stdout.contains("\nPASS "), "{finished:?}");
    let page = std::fs::read_to_string(place.path().join("ncugate-demo/report/report.html")).unwrap();
    assert!(page.contains("sdpa_fast against PyTorch"));
    let next = finished.stdout.split("\nnext: ").nth(1).unwrap();
    assert!(next.starts_with("Split the work into smaller pieces") && next.contains("could save at most"), "{next}");
    assert_eq!(place.run(&["demo"]).status, Some(0), "again");
    let json = place.run(&["demo", "--format", "json", "-o", "other"]);
    let results: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.status, results["verdict"].as_str()), (Some(0), Some("pass")));
}

#[test]
fn a_demo_whose_recording_was_changed_or_is_somebody_elses_is_refused() {
    let place = Place::new();
    place.write("ncugate-demo/profiles/sdpa_fast_causal/h200/phase.toml", "mine");
    let refused = place.run(&["demo"]);
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("name another folder"), "{refused:?}");
    let other = place.run(&["demo", "-o", "more"]);
    assert_eq!(other.status, Some(0));
    place.write("more/profiles/sdpa_fast_causal/h200/latencies.jsonl.zst", "x");
    assert_eq!(place.run(&["demo", "-o", "more"]).status, Some(2));
}
