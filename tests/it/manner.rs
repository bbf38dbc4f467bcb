//! What every command can be asked for: JSON, fewer or more words, colours; and what a metric means.

use crate::command::Place;
use serde_json::Value;

fn json(place: &Place, arguments: &[&str]) -> Value {
    let finished = crate::command::Finished::of(place.ncugate(arguments).current_dir(crate::command::root()));
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"))
}

#[test]
fn commands_say_what_they_found_as_json_and_nothing_else() {
    let place = Place::new();
    let check =
        json(&place, &["check", "configs/softmax.toml", "configs/phase_d.toml", "--no-build", "--format", "json"]);
    assert_eq!((check[0]["candidates"].as_u64(), check[1]["candidates"].as_u64()), (Some(12), Some(90)));
    assert_eq!((check[0]["outcome"].as_str(), check[0]["arch"].is_null()), (Some("pass"), true));
    let recordings = ["profiles/softmax/h200", "profiles/phase_d/h200"];
    let compared = json(&place, &["compare", recordings[0], recordings[0], "--format", "json"]);
    assert!(compared.is_object(), "{compared}");
    let entries = json(&place, &["baseline", "list", "regression", "--format", "json"]);
    assert_eq!(entries[0]["phase"], "regression");
    let history = json(&place, &["baseline", "show", "regression", "--format", "json"]);
    assert!(!history.as_array().unwrap().is_empty());
    assert!(json(&place, &["doctor", "--format", "json"])["checks"].is_array());
    let metric = json(&place, &["explain", "achieved_occupancy", "--format", "json"]);
    assert_eq!(metric["unit"], "%");
}

#[test]
fn a_metric_is_explained_by_its_name() {
    let place = Place::new();
    let own = place.run(&["explain", "bank_conflict_pct"]);
    assert!(
        own.status == Some(0) && own.stdout.contains("counted") && own.stdout.contains("better     lower"),
        "{own:?}"
    );
    let ncu = place.run(&["explain", "sm__throughput.avg.pct_of_peak_sustained_elapsed"]);
    assert!(ncu.status == Some(0) && ncu.stdout.contains("streaming multiprocessor"), "{ncu:?}");
    let near = place.run(&["explain", "achieved_ocupancy"]);
    assert!(
        near.status == Some(2) && near.stderr.contains("did you mean the metric 'achieved_occupancy'?"),
        "{near:?}"
    );
}

#[test]
fn quiet_says_the_verdict_alone_and_colours_are_as_asked() {
    let place = Place::new();
    let run =
        |more: &[&str]| place.run_at_root(&[&["run", "configs/phase_d.toml", "--source", "recorded"], more].concat());
    let quiet = run(&["-q"]);
    assert_eq!(quiet.status, Some(1));
    assert!(quiet.stdout.starts_with("FAIL ") && quiet.stdout.lines().count() < 6, "{quiet:?}");
    assert!(quiet.stderr.is_empty(), "{quiet:?}");
    assert!(run(&["--color", "always"]).stdout.contains('\u{1b}'));
    assert!(!run(&["--color", "never"]).stdout.contains('\u{1b}'));
    assert!(!run(&[]).stdout.contains('\u{1b}'), "NO_COLOR is set, and this is no terminal");
    assert_eq!(run(&["-q", "-v"]).status, Some(2));
    place.write("wrong.toml", "[phase]\nname = 3\n");
    let wrong = place.run(&["--color", "always", "check", "wrong.toml"]);
    assert!(wrong.status == Some(2) && wrong.stderr.contains('\u{1b}'), "{wrong:?}");
}
