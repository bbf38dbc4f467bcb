//! Reports, comparisons and the index as written by the binary.

use crate::captures;
use crate::command::{Finished, Place, root};
use std::path::{Path, PathBuf};

const RECORDING: &str = "profiles/phase_d/h200";
/// Render time of the committed example, in seconds since 1970.
const MOMENT: &str = "1795737600";

fn recording() -> String {
    root().join(RECORDING).to_str().unwrap().to_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file below a folder with its content.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push((path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned(), read(&path)));
            }
        }
    }
    all.sort();
    all
}

/// Renders the recording like the committed example: from the repository's root, at a fixed time.
fn render(output: &Path) {
    let place = Place::new();
    // Runs of this machine have no influence.
    let none = place.path().join("profiles");
    let args = ["page", RECORDING, "--output", output.to_str().unwrap(), "--profiles", none.to_str().unwrap()];
    let status = place.ncugate(&args).current_dir(root()).env("SOURCE_DATE_EPOCH", MOMENT).output().unwrap().status;
    assert!(matches!(status.code(), Some(0 | 1 | 4)), "{status}");
}

#[test]
fn the_committed_example_equals_the_rendered_recording() {
    let example = root().join("reports/example");
    if std::env::var_os("NCUGATE_BLESS").is_some() {
        render(&example);
    }
    let place = Place::new();
    let rendered = place.path().join("example");
    render(&rendered);
    let (committed, now) = (files(&example), files(&rendered));
    let names = |files: &[(String, String)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&now), "run this test with NCUGATE_BLESS=1");
    let changed: Vec<&String> = committed.iter().zip(&now).filter(|(a, b)| a != b).map(|((name, _), _)| name).collect();
    assert!(changed.is_empty(), "{changed:?} changed: run this test with NCUGATE_BLESS=1");
}

#[test]
fn runs_of_different_workloads_have_a_warning() {
    let place = Place::new();
    let folder = |phase: &str| root().join(format!("profiles/{phase}/h200")).display().to_string();
    let unlike = place.run(&["compare", &folder("softmax"), &folder("phase_d")]);
    let said = unlike.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("another workload (reference, buffers"), "{said}");
    let causal = place.run(&["compare", &folder("sdpa_fast"), &folder("sdpa_fast_causal")]);
    assert!(causal.stdout.contains("another workload (reference"), "{}", causal.stdout);
    let sides = [folder("sdpa_fast"), folder("sdpa_fast_causal")];
    let in_format = |format: &str| place.run(&["compare", &sides[0], &sides[1], "--format", format]).stdout;
    let (json, file) = (in_format("json"), in_format("markdown"));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    for pair in value["pairs"].as_array().unwrap() {
        assert!(pair["latency"].is_null(), "{pair}");
        for row in pair["rows"].as_array().unwrap() {
            assert!(row["judged"] == "" && row["ratio"].is_null(), "{row}");
            let metric = row["metric"].as_str().unwrap();
            assert!(!metric.starts_with("latency") || row["change"] == "not compared", "{row}");
        }
    }
    assert_eq!(place.run(&["page", &sides[0], &sides[1], "-o", "u.html"]).status, Some(0));
    let page = read(&place.path().join("u.html"));
    for text in [&causal.stdout, &file, &json] {
        for word in ["are faster", "slower", "median change"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
    assert!(
        !page.contains("are faster") && !page.contains("class=\"num better") && !page.contains("class=\"num worse")
    );
    let alike = place.run(&["compare", &folder("phase_d"), &folder("phase_d")]);
    assert!(!alike.stdout.contains("another workload"), "{}", alike.stdout);
}

#[test]
fn a_recording_compared_with_itself_has_not_changed() {
    let place = Place::new();
    let finished = place.run(&["compare", &recording(), &recording()]);
    assert_eq!(finished.status, Some(0), "{}", finished.stderr);
    assert!(
        finished.stdout.contains("92 pairs timed on both sides: 0 faster, 92 within noise, 0 slower"),
        "{}",
        finished.stdout
    );
    let file = place.run(&["compare", &recording(), &recording(), "--format", "markdown"]).stdout;
    assert!(file.contains("## Gates") && !file.contains("turned"), "{file}");
    assert_eq!(place.run(&["page", &recording(), &recording()]).stdout, "page: compare.html\n");
    let page = read(&place.path().join("compare.html"));
    assert!(page.contains("within noise") && page.contains("No verdict changed."));
}

#[test]
fn reports_are_compared_by_kernel() {
    let place = Place::new();
    let [one, twelve] = ["full1.ncu-rep.zst", "g12.ncu-rep.zst"].map(captures::data);
    let Finished { status, stdout, stderr } = place.run(&["compare", one.to_str().unwrap(), twelve.to_str().unwrap()]);
    assert_eq!(status, Some(0), "{stderr}");
    // one launch has a twin among the twelve, and launches of different shapes are not compared
    assert!(!stdout.contains("Block size"), "{stdout}");
    assert!(
        stdout.contains("1 launch is in both reports: ") && stdout.contains("only in B: 11 launches, "),
        "{stdout}"
    );
    assert!(stdout.ends_with("1 pair compared by their counters.\n"), "{stdout}");
    let rows: Vec<&str> = stdout.lines().filter(|line| line.starts_with("  ")).collect();
    let words = |word: &str| rows.iter().filter(|line| line.trim_end().ends_with(word)).count();
    let duration = rows.iter().find(|line| line.contains("Duration")).map_or("", |line| line.trim_end());
    assert!(duration.ends_with("within noise"), "the spread of the catalogue: {stdout}");
    assert_eq!(words("better") + words("worse"), 0, "one launch each has no other known noise: {stdout}");
}

#[test]
fn comparisons_that_cannot_be_made_are_named() {
    let place = Place::new();
    let nothing = place.run(&["compare", "nothing.ncu-rep", &recording()]);
    assert_eq!(nothing.status, Some(3), "{nothing:?}");
    assert!(nothing.stderr.contains("nothing.ncu-rep"), "{}", nothing.stderr);
    let text = place.write("text.ncu-rep", "no report");
    let text = place.run(&["compare", text.to_str().unwrap(), &recording()]);
    assert_eq!(text.status, Some(3), "{text:?}");
}

#[test]
fn the_index_links_rendered_reports_and_lists_unjudged_runs() {
    let place = Place::new();
    place.write("profiles/phase_d/broken/manifest.json", "{}");
    let kept = place.path().join("profiles/phase_d/h200");
    copy(&root().join(RECORDING), &kept);
    let rendered = place.run(&["page", kept.to_str().unwrap()]);
    assert!(matches!(rendered.status, Some(0 | 1 | 4)), "{rendered:?}");
    let finished = place.run(&["history", "--summary", "final_summary.md"]);
    assert_eq!(finished.status, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("not judged: profiles/phase_d/broken"), "{}", finished.stderr);
    let page = read(&place.path().join("reports/index.html"));
    assert!(
        page.contains("<h1><bdi>1 run of 1 phase</bdi></h1>")
            && page.contains("report.html")
            && page.contains("broken")
    );
    let summary = read(&place.path().join("final_summary.md"));
    assert!(summary.contains("](<reports/phase_d/") && summary.contains("| gate"), "{summary}");
}

#[test]
fn a_folder_without_runs_leaves_the_index_of_runs_as_it_is() {
    let place = Place::new();
    copy(&root().join(RECORDING), &place.path().join("profiles/phase_d/h200"));
    assert_eq!(place.run(&["history", "--summary", "summary.md"]).status, Some(0));
    let index = || (read(&place.path().join("reports/index.html")), read(&place.path().join("summary.md")));
    let before = index();
    std::fs::create_dir_all(place.path().join("empty/phase_d")).unwrap();
    place.write("other.toml", &read(&root().join("configs/softmax.toml")));
    for (args, said) in [
        (&["history", "--summary", "summary.md", "--profiles", "typo"][..], "no folder `typo`"),
        (&["history", "--summary", "summary.md", "--profiles", "empty"], "no run to show in `empty`"),
        (&["history", "--summary", "summary.md", "other.toml"], "phase 'softmax' has no run"),
    ] {
        let finished = place.run(args);
        assert_eq!(finished.status, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(said), "{finished:?}");
        assert!(index() == before, "{args:?} replaced the page");
    }
    assert_eq!(place.run(&["history", "--profiles", "typo", "--reports", "new"]).status, Some(2));
    assert!(!place.path().join("new").exists(), "nothing is written");
}

#[test]
fn a_report_is_not_replaced_by_its_own_page_or_table() {
    let place = Place::new();
    let report = zstd::decode_all(std::fs::File::open(captures::data("g12.ncu-rep.zst")).unwrap()).unwrap();
    let path = place.path().join("x.ncu-rep");
    std::fs::write(&path, &report).unwrap();
    for args in [
        &["page", "x.ncu-rep", "-o", "x.ncu-rep"][..],
        &["page", "x.ncu-rep", "x.ncu-rep", "-o", "./x.ncu-rep"],
        &["export", "x.ncu-rep", "--to", "csv", "-o", "x.ncu-rep"],
        &["export", "*.ncu-rep", "--to", "json", "-o", "x.ncu-rep"],
    ] {
        let finished = place.run(args);
        assert_eq!(finished.status, Some(2), "{finished:?}");
        assert!(
            finished.stderr.contains("`x.ncu-rep` is the report to read") || args.contains(&"./x.ncu-rep"),
            "{finished:?}"
        );
        assert!(std::fs::read(&path).unwrap() == report, "{args:?}");
    }
}

/// The page links a report only where it is written, by a path from the page or from the summary.
#[test]
fn links_of_the_history_lead_to_pages() {
    let place = Place::new();
    let kept = place.path().join("profiles/phase_d/h200");
    copy(&root().join(RECORDING), &kept);
    let linked = |file: &str| {
        let text = read(&place.path().join(file)).replace("&#x2f;", "/");
        let (start, end) = if file.ends_with(".md") { ("](<", '>') } else { ("<a href=\"", '"') };
        let links = text.split(start).skip(1).map(|rest| rest.split(end).next().unwrap().to_owned());
        links.filter(|link| link.ends_with("report.html")).collect::<Vec<_>>()
    };
    let history = |reports: &str| {
        let finished = place.run(&["history", "--reports", reports, "--summary", "notes/state.md"]);
        assert_eq!(finished.status, Some(0), "{}", finished.stderr);
    };
    // A page elsewhere is not in the folder of reports.
    assert_eq!(place.run(&["page", kept.to_str().unwrap(), "--output", "elsewhere"]).status, Some(1));
    history("pages");
    assert!(linked("pages/index.html").is_empty() && linked("notes/state.md").is_empty());
    assert!(read(&place.path().join("pages/index.html")).contains("20261126T094118Z"), "it is named");
    assert_eq!(place.run(&["page", kept.to_str().unwrap(), "--reports", "pages"]).status, Some(1));
    history("pages");
    for (file, count) in [("pages/index.html", 2), ("notes/state.md", 1)] {
        let links = linked(file);
        assert_eq!(links.len(), count, "{file}: {links:?}");
        let folder = place.path().join(file).parent().unwrap().to_owned();
        assert!(links.iter().all(|link| folder.join(link).is_file()), "{file}: {links:?}");
    }
}

/// A cached judgement is a row of the page and nothing else.
#[test]
fn a_forged_cache_passes_no_phase() {
    let place = Place::new();
    let kept = place.path().join("profiles/phase_d/h200");
    copy(&root().join(RECORDING), &kept);
    let history = || {
        let finished = place.run(&["history", "--summary", "state.md"]);
        assert_eq!(finished.status, Some(0), "{}", finished.stderr);
        (read(&place.path().join("reports/index.html")), read(&place.path().join("state.md")), finished.stderr)
    };
    let judged = history();
    assert!(judged.0.contains("0 of 1 phase passes") && judged.1.starts_with("# 0 of 1 phase passes"), "{}", judged.1);
    let entries: Vec<PathBuf> =
        std::fs::read_dir(place.path().join("cache/judged")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [entry] = entries.as_slice() else { panic!("{entries:?}") };
    let text = read(entry);
    assert_eq!(history(), judged, "from the cache");
    for damaged in ["", "{", "{}", &text.replace("\"Fail\"", "\"Excellent\"")] {
        std::fs::write(entry, damaged).unwrap();
        assert_eq!(history(), judged, "judged again: {damaged:.20}");
        assert_eq!(read(entry), text);
    }
    let forged = text.replace("\"verdict\":\"fail\"", "\"verdict\":\"pass\"").replace("\"Fail\"", "\"Pass\"");
    std::fs::write(entry, &forged).unwrap();
    let (page, summary, _) = history();
    assert!(page.contains("1 of 1 phase passes") && page.contains("ncugate gate CONFIG RUN"), "{page}");
    assert_eq!(summary, judged.1);
    let config = root().join("configs/phase_d.toml");
    assert_eq!(place.run(&["gate", config.to_str().unwrap(), kept.to_str().unwrap()]).status, Some(1));
    // A change of the run makes the entry worthless.
    let builds = kept.join("builds.jsonl.zst");
    let bytes = std::fs::read(&builds).unwrap();
    std::fs::write(&builds, &bytes[..bytes.len() - 1]).unwrap();
    let (page, summary, warnings) = history();
    assert!(page.contains("builds.jsonl.zst") && !page.contains("1 of 1 phase passes"), "{page}");
    assert!(summary.starts_with("# 0 of 0 phases pass") && warnings.contains("builds.jsonl.zst"), "{warnings}");
}

/// The manifest of a run, with a start date before every recording.
fn dated(run: &Path) -> String {
    let mut manifest: serde_json::Value = serde_json::from_str(&read(&run.join("manifest.json"))).unwrap();
    manifest["started"] = "2026-11-20T09:00:00Z".into();
    // a run is compared with the last passing run
    manifest["verdict"] = serde_json::json!({ "verdict": "pass" });
    manifest.to_string()
}

#[test]
fn the_previous_run_is_compared_with_the_selected_variant() {
    let place = Place::new();
    let runs = place.path().join("profiles/phase_d");
    let (now, then) = (runs.join("h200"), runs.join("20261120T090000Z"));
    copy(&root().join(RECORDING), &now);
    copy(&now, &then);
    std::fs::write(then.join("manifest.json"), dated(&now)).unwrap();
    crate::stored::reseal(&then);
    let report = |folder: &Path, output: &str| {
        let finished = place.run(&["page", folder.to_str().unwrap(), "--output", output]);
        assert!(matches!(finished.status, Some(0 | 1 | 4)), "{finished:?}");
        let results = read(&place.path().join(output).join("results.json"));
        (finished.stdout, serde_json::from_str::<serde_json::Value>(&results).unwrap())
    };
    let (said, results) = report(&now, "now");
    assert!(said.contains("against previous run: latency p50"), "{said}");
    let delta = results["deltas"].as_array().unwrap().iter().find(|d| d["against"] == "previous run").unwrap();
    assert!(delta["about"].as_str().unwrap().contains("2026-11-20"), "{delta}");
    assert_eq!(delta["metrics"]["latency_p50"]["change"], "0.0 %");
    let page = read(&place.path().join("now/report.md"));
    assert!(page.contains("| previous run | change"), "{page}");
    let (_, first) = report(&then, "then");
    let previous = |d: &serde_json::Value| d["against"] == "previous run";
    assert!(!first["deltas"].as_array().unwrap().iter().any(previous), "nothing is before the first run");
}

#[test]
fn the_summary_names_changed_sources_and_the_command_that_shows_them() {
    let place = Place::new();
    let runs = place.path().join("profiles/phase_d");
    let (now, then) = (runs.join("h200"), runs.join("20261120T090000Z"));
    copy(&root().join(RECORDING), &now);
    copy(&now, &then);
    std::fs::write(then.join("manifest.json"), dated(&now)).unwrap();
    for (folder, run, commit) in [(&now, "20261121T090000Z", "bb22"), (&then, "20261120T090000Z", "aa11")] {
        let path = folder.join("manifest.json");
        let mut manifest: serde_json::Value = serde_json::from_str(&read(&path)).unwrap();
        manifest["run"] = run.into();
        manifest["git"] = serde_json::json!({ "commit": commit, "dirty": false });
        manifest["sources"] = serde_json::json!([["k.cu", ncugate_model::digest::sha256(run.as_bytes())]]);
        std::fs::write(&path, manifest.to_string()).unwrap();
        crate::stored::reseal(folder);
    }
    let finished = place.run(&["history", "--summary", "final_summary.md"]);
    assert_eq!(finished.status, Some(0), "{}", finished.stderr);
    let summary = read(&place.path().join("final_summary.md"));
    assert!(summary.contains("Sources that changed since run 20261120T090000Z: k.cu."), "{summary}");
    assert!(summary.contains("    git diff aa11 bb22 -- k.cu\n"), "{summary}");
}

#[test]
fn an_earlier_run_that_cannot_be_read_is_a_warning() {
    let place = Place::new();
    let runs = place.path().join("profiles/phase_d");
    let (now, then) = (runs.join("h200"), runs.join("20261120T090000Z"));
    copy(&root().join(RECORDING), &now);
    std::fs::create_dir_all(&then).unwrap();
    std::fs::write(then.join("manifest.json"), dated(&now)).unwrap();
    let finished = place.run(&["page", now.to_str().unwrap(), "--output", "now"]);
    assert_eq!(finished.status, Some(1), "{finished:?}");
    assert!(finished.stdout.contains("No comparison with the previous run"), "{}", finished.stdout);
}

#[test]
fn the_index_judges_a_run_by_its_leaderboard() {
    let place = Place::new();
    copy(&root().join("profiles/regression"), &place.path().join("profiles/regression"));
    let finished = place.run(&["history", "--summary", "final_summary.md"]);
    assert_eq!(finished.status, Some(0), "{}", finished.stderr);
    let summary = read(&place.path().join("final_summary.md"));
    assert!(summary.starts_with("# 1 of 1 phase passes"), "{summary}");
    let page = read(&place.path().join("reports/index.html"));
    assert!(page.contains("All 4 requirements hold"), "the verdict that `run` gives");
}

#[test]
fn a_run_of_several_variants_names_them_and_says_where() {
    let place = Place::new();
    place.copy("profiles/attention_bf16_causal/h200");
    let finished = place.run(&["history"]);
    assert_eq!(finished.status, Some(0), "{}", finished.stderr);
    let page = read(&place.path().join("reports/index.html"));
    assert_eq!(page.matches("short_d64, short_d128, d128, d64").count(), 2, "of its run and of its phase");
    assert!(page.contains("short_d64 at prompt_128_d64, "), "their shapes are there");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, target).unwrap();
        }
    }
}
