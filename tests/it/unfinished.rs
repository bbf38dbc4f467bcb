//! An unfinished run is not trusted if somebody else may have planted or changed it.

use crate::command::{Finished, Place, SOON, binary, root};
use crate::concurrent::{folders, manifest, start};
use crate::live::machine_that_counts;
use crate::stored::report_of;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

const RUN: [&str; 4] = ["run", "phase.toml", "--source", "gpu"];
type Variables = Vec<(&'static str, String)>;

/// A machine whose kernel fails a gate on its duration: 10 us with a limit of 9.5 us.
fn machine() -> (Place, Variables) {
    let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    place.write("phase.toml", &phase.replace("latency_p50 <= 10.5", "duration <= 9.5 us"));
    (place, variables)
}

fn run(place: &Place, variables: &Variables) -> Finished {
    Finished::of(place.ncugate(&RUN).envs(variables.clone()).timeout(Duration::from_secs(100)))
}

fn reports(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder.join("reports")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn counters_of_a_planted_run_do_not_turn_a_fail_into_a_pass() {
    let (place, variables) = machine();
    let honest = run(&place, &variables);
    assert_eq!(honest.status, Some(1), "{honest:?}");
    assert!(!place.path().join("state/ncugate/unfinished").read_dir().unwrap().any(|_| true), "it is complete");
    let folder = folders(&place).remove(0);
    let mut changed = manifest(&folder);
    changed["state"] = json!("interrupted");
    changed.as_object_mut().unwrap().remove("seal");
    fs::write(folder.join("manifest.json"), changed.to_string()).unwrap();
    for report in reports(&folder) {
        fs::write(report, report_of(&["copy_honest"], 9_000.0)).unwrap();
    }
    let planted = run(&place, &variables);
    assert_eq!(planted.status, Some(1), "{planted:?}");
    assert!(planted.stderr.contains("starting a new"), "{planted:?}");
    assert_eq!(folders(&place).len(), 2, "measured again, in another folder");
}

/// A run killed after its counters were written.
fn killed(place: &Place, variables: &Variables) -> PathBuf {
    let mut child = start(place, variables, &RUN);
    let started = Instant::now();
    // A record counts only once it is in the ledger.
    let counted = || {
        let ledgers = fs::read_dir(place.path().join("state/ncugate/unfinished")).into_iter().flatten();
        let texts = ledgers.filter_map(|entry| fs::read_to_string(entry.unwrap().path()).ok());
        texts.into_iter().any(|text| text.contains(" profiles.jsonl\n"))
    };
    while !counted() {
        assert!(started.elapsed() < SOON, "no counters");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let folder = folders(place).remove(0);
    assert_eq!(manifest(&folder)["state"], "running", "killed in time");
    folder
}

#[test]
fn a_run_that_was_killed_continues_only_with_what_ncugate_wrote_and_within_a_day() {
    let (place, variables) = machine();
    let folder = killed(&place, &variables);
    let ledgers = place.path().join("state/ncugate/unfinished");
    let ledger = fs::read_dir(&ledgers).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::metadata(&ledger).unwrap().permissions().mode() & 0o777, 0o600);
    let fresh = |what: &str, said: &str| {
        let finished = run(&place, &variables);
        assert_eq!(finished.status, Some(1), "{what}: {finished:?}");
        assert!(finished.stderr.contains("starting a new") && finished.stderr.contains(said), "{what}: {finished:?}");
        assert!(!finished.stdout.contains("continued: "), "{what}: {finished:?}");
    };
    let report = reports(&folder).remove(0);
    for path in [&report, &folder.join("latencies.jsonl"), &folder.join("checks.jsonl"), &folder.join("manifest.json")]
    {
        let before = fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&before);
        let changed = match path.extension().unwrap().to_str().unwrap() {
            "ncu-rep" => report_of(&["copy_honest"], 9_000.0),
            "json" => text.replacen("phase.toml", "other.toml", 1).into_bytes(),
            _ => text.lines().skip(1).flat_map(|line| [line, "\n"]).collect::<String>().into_bytes(),
        };
        assert_ne!(changed, before);
        fs::write(path, changed).unwrap();
        fresh("another file", &format!("{}' is not as ncugate wrote it", path.file_name().unwrap().to_string_lossy()));
        fs::write(path, before).unwrap();
    }
    let packed = folder.join("confirmations.jsonl.zst");
    fs::write(&packed, "").unwrap();
    fresh("a file that was put there", "confirmations.jsonl.zst' is not as ncugate wrote it");
    fs::remove_file(packed).unwrap();

    let text = fs::read(&ledger).unwrap();
    let written = fs::metadata(&ledger).unwrap().modified().unwrap();
    fs::set_permissions(&ledger, fs::Permissions::from_mode(0o644)).unwrap();
    fresh("a ledger that others may read", "this user has no record");
    fs::set_permissions(&ledger, fs::Permissions::from_mode(0o600)).unwrap();
    let file = fs::File::options().write(true).open(&ledger).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(2 * 86_400)).unwrap();
    fresh("an old run", "more than a day ago");
    file.set_modified(written).unwrap();
    let aside = ledgers.join("aside");
    fs::rename(&ledger, &aside).unwrap();
    fs::write(&ledger, &text).unwrap();
    fs::set_permissions(&ledger, fs::Permissions::from_mode(0o600)).unwrap();
    fresh("a ledger that was copied", "this user has no record");
    fs::rename(&aside, &ledger).unwrap();

    // records that the ledger lacks are cut off, and so is a torn line
    let latencies = fs::read_to_string(folder.join("latencies.jsonl")).unwrap();
    fs::write(folder.join("latencies.jsonl"), latencies.clone() + &latencies + "{\"half").unwrap();
    fs::write(&ledger, [&text[..], b"0123"].concat()).unwrap();
    let count = folders(&place).len();
    let finished = run(&place, &variables);
    assert_eq!(finished.status, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("continuing the unfinished run in"), "{finished:?}");
    assert_eq!((folders(&place).len(), manifest(&folder)["state"].as_str()), (count, Some("complete")));
    assert_eq!(fs::read_to_string(folder.join("latencies.jsonl")).unwrap(), latencies);
    let name = folder.file_name().unwrap();
    let page = |file: &str| fs::read_to_string(place.path().join("reports/copy").join(name).join(file)).unwrap();
    let said = "continued: 4 of 4 records are of 20";
    let stdout = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for (what, text) in [
        ("terminal", stdout),
        ("report.html", page("report.html")),
        ("report.md", page("report.md")),
        ("results.json", page("results.json")),
    ] {
        assert!(text.contains(said), "{what}: {text}");
    }
    assert!(fs::read_dir(&ledgers).unwrap().next().is_none(), "it is complete");
}

#[test]
fn the_action_measures_fresh() {
    let (place, variables) = machine();
    killed(&place, &variables);
    let output = Command::new("bash")
        .arg(root().join(".ci/action.sh"))
        .current_dir(place.path())
        .envs(variables)
        .env("NCUGATE_CACHE", place.path().join("cache"))
        .env("NCUGATE", binary())
        .env("CONFIGS", "phase.toml")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(!stderr.contains("continuing") && folders(&place).len() == 2, "{stderr}");
}
