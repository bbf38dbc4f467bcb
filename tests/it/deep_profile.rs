//! A deep profile next to a recording: shown, traced to its report, and without effect on verdicts.

use crate::captures;
use crate::command::{Finished, Place};
use crate::stored::reseal;
use ncu_rep::Report;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const LOOKED_AT: &str = "REGCAP=96,THREADS=256,TILE_M=32,K_TILE=64";
const RUN: [&str; 4] = ["run", "configs/phase_d.toml", "--source", "recorded"];
const STATE: &str = "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio";

/// Phase D's recording with its deep profile replaced by that of `tests/data`.
fn place() -> Place {
    let place = Place::new();
    for path in ["configs/phase_d.toml", "kernels/baselines", "kernels/sdpa_scalar", "profiles/phase_d/h200"] {
        place.copy(path);
    }
    let deep = json!({
        "variant": LOOKED_AT, "shape": "mission", "metrics": [STATE], "sections": ["SourceCounters"], "passes": 25,
        "seconds": 2.5, "outcome": { "status": "profiled", "report": "deep-9.ncu-repz" },
        "outputs": { "verdict": "right", "seed": 1, "evaluations": 1 },
        "listing": {
            "instructions": [{ "offset": 0x1060, "text": "@!P0 STS.128 [R69], R16", "line": 0 }],
            "lines": [{ "file": "kernels/sdpa_scalar/sdpa_scalar.cu", "line": 141, "text": "k_tile[key] = <b>zero</b>;" }],
            "lacks": [],
        },
    });
    place.write("profiles/phase_d/h200/deep_profiles.jsonl", &format!("{deep}\n"));
    fs::copy(captures::data("deep.ncu-rep.zst"), report(&place)).unwrap();
    reseal(&place.path().join("profiles/phase_d/h200"));
    place
}

fn report(place: &Place) -> PathBuf {
    place.path().join("profiles/phase_d/h200/reports/deep-9.ncu-repz")
}

fn rendered(place: &Place, name: &str) -> String {
    let folder = fs::read_dir(place.path().join("reports/phase_d")).unwrap().next().unwrap().unwrap().path();
    fs::read_to_string(folder.join(name)).unwrap()
}

fn results(place: &Place) -> (Finished, Value) {
    let finished = place.run(&RUN);
    let results = serde_json::from_str(&rendered(place, "results.json")).unwrap();
    (finished, results)
}

#[test]
fn the_deep_profile_is_on_the_page_in_markdown_and_in_the_results() {
    let place = place();
    let (finished, results) = results(&place);
    assert_eq!(finished.status, Some(1), "{}", finished.stderr);
    let page = rendered(&place, "report.html");
    for text in [
        "id=\"deep-profile\"",
        "@!P0 STS.128 [R69], R16",
        "k_tile[key] = &lt;b&gt;zero&lt;&#x2f;b&gt;;",
        "id=\"chart-roofline\"",
    ] {
        assert!(page.contains(text), "the page lacks {text}");
    }
    let markdown = rendered(&place, "report.md");
    assert!(markdown.contains("## Deep profile") && markdown.contains("sdpa_scalar.cu:141"), "{markdown}");
    assert!(markdown.contains("charts/stalls.svg") && markdown.contains("Nsight Compute: Theoretical Occupancy"));
    let deep = &results["deep_profiles"][0];
    assert_eq!((deep["variant"].as_str(), deep["passes"].as_u64()), (Some(LOOKED_AT), Some(25)));
    let capture = Report::open(report(&place)).unwrap();
    let counted = capture.launch(0).unwrap().metric(STATE).unwrap().unwrap().as_f64();
    assert_eq!(deep["values"]["stall_long_scoreboard"].as_f64(), counted);
    assert!(counted.is_some());
}

#[test]
fn the_deep_profile_changes_no_verdict_and_no_judged_counter() {
    let with = results(&place()).1;
    let without = place();
    fs::remove_file(without.path().join("profiles/phase_d/h200/deep_profiles.jsonl")).unwrap();
    let packed = without.path().join("profiles/phase_d/h200/deep_profiles.jsonl.zst");
    if packed.exists() {
        fs::remove_file(packed).unwrap();
    }
    reseal(&without.path().join("profiles/phase_d/h200"));
    let without = results(&without).1;
    for key in ["verdict", "reason", "selected", "gates", "tiers", "metrics"] {
        assert_eq!(with[key], without[key], "{key}");
    }
    let values = |results: &Value| -> Vec<Value> {
        results["variants"].as_array().unwrap().iter().map(|v| v["shapes"]["mission"]["values"].clone()).collect()
    };
    assert_eq!(values(&with), values(&without));
    assert_eq!(without["deep_profiles"], json!([]));
    let missing = without["missing"].to_string();
    assert!(missing.contains("no deep profile of the selected variant: missing in this run"), "{missing}");
}

#[test]
fn an_unreadable_deep_profile_is_reported_and_changes_nothing() {
    let place = place();
    let bytes = fs::read(report(&place)).unwrap();
    fs::write(report(&place), &bytes[..bytes.len() / 2]).unwrap();
    reseal(&place.path().join("profiles/phase_d/h200"));
    let (finished, results) = results(&place);
    assert_eq!(finished.status, Some(1), "{}", finished.stderr);
    let missing = results["missing"].to_string();
    assert!(
        missing.contains("no deep profile of the selected variant: ") && missing.contains("deep-9.ncu-repz"),
        "{missing}"
    );
    assert_eq!(results["deep_profiles"], json!([]));
}
