//! Limits that differ from those of the measurement: every reader sees which, and every command ends with the same
//! status.

use crate::command::{Finished, Place, root};
use std::fs;
use std::path::PathBuf;

/// A project with a phase, its recording and the files that the recording measured.
fn project(phase: &str) -> (Place, PathBuf) {
    let place = Place::new();
    let recording = format!("profiles/{phase}/h200");
    let manifest = fs::read(root().join(&recording).join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    manifest["inputs"].as_object().unwrap().keys().for_each(|input| place.copy(input));
    place.copy(&recording);
    place.copy(&format!("configs/{phase}.toml"));
    let config = place.path().join(format!("configs/{phase}.toml"));
    (place, config)
}

fn words(text: &str) -> String {
    text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn recorded(place: &Place, config: &str) -> Finished {
    place.run(&["run", config, "--source", "recorded", "--comment", "comment.md"])
}

#[test]
fn limits_other_than_the_recorded_ones_are_named_everywhere() {
    let (place, config) = project("sdpa_fast");
    let text = fs::read_to_string(&config).unwrap();
    let honest = recorded(&place, "configs/sdpa_fast.toml");
    assert_eq!(honest.status, Some(0), "{honest:?}");
    assert!(!words(&honest.stdout).contains("from the recorded phase"), "{}", honest.stdout);

    let loose = text.replacen("sm_active_pct >= 70", "sm_active_pct >= 7", 1).replacen("spills == 0", "spills <= 9", 1);
    fs::write(&config, loose).unwrap();
    let judged = recorded(&place, "configs/sdpa_fast.toml");
    assert_eq!(judged.status, Some(0), "{judged:?}");
    let run = fs::read_dir(place.path().join("reports/sdpa_fast")).unwrap().next().unwrap().unwrap().path();
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    let page = read(run.join("report.html")).replace("<code>", "`").replace("</code>", "`").replace("&#x27;", "'");
    let shown = place.run(&["show", "profiles/sdpa_fast/h200"]);
    assert_eq!(shown.status, Some(0), "{shown:?}");
    for (what, text) in [
        ("terminal", judged.stdout.clone()),
        ("show", shown.stdout.clone()),
        ("Markdown", read(run.join("report.md"))),
        ("page", page),
        ("JSON", read(run.join("results.json"))),
        ("comment", read(place.path().join("comment.md")).split("<details>").next().unwrap().to_owned()),
    ] {
        let text = words(&text).replace("&gt;", ">").replace("&lt;", "<");
        for said in ["2 limits differ from the recorded phase", "became `>= 7`", "became `<= 9`"] {
            assert!(text.contains(said), "{what} does not say `{said}`: {text}");
        }
    }
    let results: serde_json::Value = serde_json::from_str(&read(run.join("results.json"))).unwrap();
    assert_eq!(results["changed_limits"].as_array().map(Vec::len), Some(1), "{}", results["changed_limits"]);
}

/// Its phase has a lower limit than the recording.
#[test]
fn every_command_judges_a_recording_by_the_phase_file_that_names_it() {
    let (place, config) = project("attention_steps");
    let statuses = |place: &Place| {
        let recorded = recorded(place, "configs/attention_steps.toml");
        let show = place.run(&["show", "profiles/attention_steps/h200"]);
        let page = place.run(&["page", "profiles/attention_steps/h200"]);
        let history = place.run(&["history", "--summary", "summary.md"]);
        assert_eq!(history.status, Some(0), "{history:?}");
        let summary = fs::read_to_string(place.path().join("summary.md")).unwrap();
        (recorded.status, show.status, page.status, summary.contains("INCONCLUSIVE"), show.stderr)
    };
    let (run, show, page, is_open, _) = statuses(&place);
    assert_eq!((run, show, page, is_open), (Some(0), Some(0), Some(0), false));
    // the cache of history follows the phase file
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replacen(">= 1.05", ">= 1.10", 1)).unwrap();
    let (run, show, page, is_open, _) = statuses(&place);
    assert_eq!((run, show, page, is_open), (Some(4), Some(4), Some(4), true));
    // a file that no longer fits does not judge it, and the reader is told which limits do
    fs::write(&config, text.replacen("seeds = [", "seeds = [77, ", 1)).unwrap();
    let show = place.run(&["show", "profiles/attention_steps/h200"]);
    assert_eq!(show.status, Some(4), "{show:?}");
    assert!(words(&show.stderr).contains("judged by the limits that it was measured with"), "{}", show.stderr);
}
