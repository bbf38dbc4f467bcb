//! Synthetic runs in order.

use super::*;
use crate::chart::Marks;
use crate::document::{html, markdown};
use crate::fixture::Fixture;
use crate::model::{Conclusion, ObjectiveRow};
use crate::number::Number;
use crate::run_report::RunReport;
use ncu_explain::CodeDiff;
use ncugate_judge::SampleOrigin;
use ncugate_judge::reference_runs::Conditions;
use ncugate_judge::store::{Git, Manifest};
use ncugate_model::Verdict;
use std::path::PathBuf;

/// The report of a run of phase `phase` with this latency.
fn report(phase: &str, run: &str, latency: f64) -> RunReport {
    let verdict = if latency < 20.0 { Verdict::Pass } else { Verdict::Fail };
    let mut report = Fixture::new(6).report();
    report.phase = phase.into();
    report.title = format!("Phase {phase}").into();
    report.run = run.into();
    report.headline.verdict = verdict;
    report.headline.conclusion = Conclusion::new(verdict, false);
    report.objective = report.objective.map(|o| ObjectiveRow { value: Some(Number::new(latency)), ..o });
    report.gates.retain(|gate| gate.name == "latency");
    report.gates[0].verdict = verdict;
    report.gates[0].summary.measured = Some(Number::new(latency));
    report.gates[0].summary.limit = Some(Number::new(20.0));
    report
}

fn conditions(manifest: &Manifest, workload: &str) -> Conditions {
    Conditions::new(&manifest.fingerprint, &serde_json::json!({ "shapes": workload }), &Fixture::new(6).phase.bench)
}

fn entry(phase: &str, run: &str, seconds: i64, latency: f64) -> HistoryEntry {
    let fixture = Fixture::new(6);
    let mut manifest = fixture.run.manifest.clone();
    manifest.phase = phase.to_owned();
    manifest.run = run.to_owned();
    manifest.started = jiff::Timestamp::from_second(1_700_000_000 + seconds).unwrap();
    HistoryEntry {
        folder: PathBuf::from(format!("profiles/{phase}/{run}")),
        summary: RunSummary::new(report(phase, run, latency), &fixture.plan, conditions(&manifest, "one")),
        manifest,
        page: Some(format!("{phase}/{run}/report.html")),
    }
}

fn history() -> History {
    let runs = vec![
        entry("b", "r1", 5, 30.0),
        entry("a", "r3", 9, 10.0),
        entry("a", "r2", 1, 25.0),
        entry("a", "r2", 1, 25.0),
    ];
    History::new(runs, vec!["profiles/a/broken: no manifest".into()])
}

/// The summary of the latest runs, whose reports `change` edits.
fn summarised(history: &History, reports: Option<&str>, change: impl Fn(&mut RunReport)) -> String {
    let latest = history.phases.iter().map(|phase| {
        let entry = phase.latest().unwrap();
        let latency = entry.summary.objective.as_ref().unwrap().value.as_ref().unwrap().value;
        let mut report = report(&phase.name, &entry.manifest.run, latency);
        report.title = entry.summary.title.clone();
        change(&mut report);
        LatestRun { phase, entry, report }
    });
    markdown(&summary(&latest.collect::<Vec<_>>(), &history.problems, reports))
}

fn commits(history: &mut History, commits: [&str; 2], dirty: bool) {
    for (run, commit) in history.phases[0].runs.iter_mut().zip(commits) {
        run.manifest.git = Some(Git { commit: commit.to_owned(), dirty });
    }
}

#[test]
fn runs_are_ordered_by_phase_and_date_and_kept_once() {
    let history = history();
    let run = |run: &HistoryEntry| run.manifest.run.clone();
    let names: Vec<(&str, Vec<String>)> =
        history.phases.iter().map(|p| (p.name.as_str(), p.runs.iter().map(run).collect())).collect();
    assert_eq!(names, [("a", vec!["r2".into(), "r3".into()]), ("b", vec!["r1".into()])]);
    assert_eq!(history.phases[0].latest().unwrap().manifest.run, "r3");
    assert_eq!(history.newest_first().into_iter().map(run).collect::<Vec<_>>(), ["r3", "r1", "r2"]);
}

#[test]
fn a_summary_is_stored_and_read_as_it_was() {
    let summary = entry("a", "r1", 1, 25.0).summary;
    let stored = serde_json::to_string(&summary).unwrap();
    assert_eq!(serde_json::from_str::<RunSummary>(&stored).unwrap(), summary);
}

#[test]
fn the_page_shows_runs_links_charts_and_problems() {
    let mut history = history();
    commits(&mut history, ["0123456789abcdef", "fedcba9876543210"], true);
    history.phases[1].runs[0].page = None;
    let page = html(&history.document()).unwrap().replace("&#x2f;", "/");
    assert!(page.contains("<h1><bdi>3 runs of 2 phases</bdi></h1>") && page.contains("1 of 2 phases pass"), "{page}");
    let body = page.split("Runs, newest first").nth(2).unwrap();
    let places: Vec<usize> = ["r3", "r1", "r2"].map(|run| body.find(&format!("<bdi>{run}</bdi>")).unwrap()).into();
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("href=\"a/r3/report.html\"") && !page.contains("b/r1/report.html"), "{page}");
    assert_eq!(page.matches("<figure").count(), 2, "phase a has two runs, phase b one");
    assert!(page.contains("25 µs in the first run, 10 µs in the last (-60.0 %)"), "{page}");
    let axis = ["2023-11-14 0123456", "2023-11-14 fedcba9"].map(str::to_owned).to_vec();
    assert_eq!(charts::charts(&history.phases[0])[0].panels[0].x.scale, crate::chart::Scale::Names(axis));
    assert!(page.contains("<code><bdi>fedcba9876+</bdi></code>"), "{page}");
    assert!(page.contains("broken") && page.matches("<script").count() == 1);
}

#[test]
fn a_gate_whose_value_never_changes_has_no_chart() {
    let runs = vec![entry("a", "r1", 1, 25.0), entry("a", "r2", 2, 25.0)];
    let page = html(&History::new(runs, Vec::new()).document()).unwrap();
    assert_eq!(page.matches("<figure").count(), 1, "the objective");
    assert!(page.contains("(0.0 %)"), "{page}");
}

/// A run of another GPU, driver or problem is another series.
#[test]
fn runs_under_unlike_conditions_are_not_compared() {
    let latencies = [30.0, 20.0, 40.0, 33.0];
    let changed = |edit: &dyn Fn(&mut HistoryEntry)| {
        let mut runs: Vec<HistoryEntry> =
            (1..).zip(latencies).map(|(at, latency)| entry("a", &format!("r{at}"), at, latency)).collect();
        runs.iter_mut().skip(2).for_each(edit);
        charts::charts(&History::new(runs, Vec::new()).phases[0]).remove(0)
    };
    let lines = |chart: &crate::chart::Chart| -> Vec<(String, usize)> {
        let points = |marks: &Marks| if let Marks::Line(_, points) = marks { Some(points.len()) } else { None };
        let lines = chart.panels[0].series.iter().filter_map(|one| Some((one.name.clone(), points(&one.marks)?)));
        lines.filter(|(_, points)| *points > 1).collect()
    };
    let same = changed(&|_| ());
    assert_eq!(lines(&same), [(String::new(), 4)]);
    assert!(same.note.contains("30 µs in the first run, 33 µs in the last (+10.0 %)"), "{}", same.note);
    let of = |run: &mut HistoryEntry| run.summary.conditions = conditions(&run.manifest, "one");
    let gpu = changed(&|run| {
        run.manifest.fingerprint.gpu.as_mut().unwrap().name = "another GPU".to_owned();
        of(run);
    });
    let first = lines(&gpu)[0].0.clone();
    assert_eq!(lines(&gpu), [(first.clone(), 2), ("another GPU".to_owned(), 2)]);
    assert!(
        gpu.note.contains(&format!("{first}: 30 µs in the first run, 20 µs in the last (-33.3 %); another GPU: 40 µs"))
            && !gpu.note.contains("+10.0 %"),
        "{}",
        gpu.note
    );
    let driver = changed(&|run| {
        run.manifest.fingerprint.driver = Some("999.1".to_owned());
        of(run);
    });
    assert_eq!(lines(&driver), [(format!("{first} (1)"), 2), (format!("{first} (2)"), 2)]);
    assert!(driver.note.contains("not compared (driver: 999.1 now"), "{}", driver.note);
    let unknown = changed(&|run| {
        run.manifest.fingerprint.gpu = None;
        of(run);
    });
    assert_eq!(lines(&unknown), [(first.clone(), 2)], "a GPU that is not known has no course");
    let problem = changed(&|run| run.summary.conditions = conditions(&run.manifest, "two"));
    assert_eq!(lines(&problem).len(), 2);
    assert!(problem.note.contains("(the workload (shapes, buffers or scalars))"), "{}", problem.note);
    for chart in [gpu, driver, unknown, problem] {
        assert!(!format!("{}{}", chart.note, chart.alt).contains("+10.0 %"), "{}", chart.note);
    }
}

#[test]
fn the_axis_names_some_of_many_runs() {
    let run = |at: i64| entry("a", &format!("r{at:02}"), at * 86_400, 25.0 + at as f64);
    let page = html(&History::new((0..66).map(run).collect(), Vec::new()).document()).unwrap();
    let drawing = page.split("<svg").find(|part| part.contains("svg-a-objective")).unwrap();
    let labels = drawing.matches("ffffff").count() - drawing.matches("ffffffffff").count();
    assert!((3..=20).contains(&labels), "{labels}");
}

#[test]
fn the_summary_counts_phases_that_pass() {
    let text = summarised(&history(), Some("reports"), |_| {});
    assert!(text.starts_with("# 1 of 2 phases pass\n"), "{text}");
    assert!(text.contains("[Phase a](<reports/a/r3/report.html>)") && text.contains("| Latency p50 10 µs"), "{text}");
    assert!(text.contains("| latency | FAIL    | 30 µs    | 20 µs |"), "{text}");
    assert!(text.contains("## Not in this summary"));
}

#[test]
fn the_summary_has_shapes_findings_and_what_changed_in_the_code() {
    let mut history = history();
    commits(&mut history, ["aa11", "bb22"], false);
    for (run, hash) in history.phases[0].runs.iter_mut().zip(["1", "2"]) {
        run.manifest.sources = vec![("k.cu".to_owned(), hash.to_owned()), ("same.cuh".to_owned(), "0".to_owned())];
    }
    let text = summarised(&history, None, |report| {
        report.findings.truncate(1);
        report.findings.iter_mut().for_each(|finding| finding.leading = true);
    });
    assert!(text.contains("| shape") && text.contains("sdpa_flash p50 / p90") && text.contains("speedup"), "{text}");
    assert!(text.contains("Main findings:\n\n1. **"), "{text}");
    assert!(text.contains("Sources that changed since run r2: k.cu."), "{text}");
    assert!(text.contains("    git diff aa11 bb22 -- k.cu\n"), "{text}");
    assert!(!text.contains("2. **"), "{text}");
}

#[test]
fn the_summary_compares_latencies_with_the_first_and_the_fastest_baseline_and_marks_the_sweep() {
    let timed = |name: &str, times: &str, speedup: Option<&str>| TimedVariant {
        name: name.into(),
        times: Some(times.into()).filter(|_| !times.is_empty()),
        rate: None,
        origin: SampleOrigin::Confirmation,
        speedup: speedup.map(Into::into),
        compared: SampleOrigin::Confirmation,
    };
    let row = |shape: &str, first: &str, fastest| ShapeComparison {
        shape: shape.into(),
        ours: timed("T=64", "10 µs / 11 µs", None),
        first: Some(timed("sdpa", first, Some("2×").filter(|_| !first.is_empty()))),
        fastest,
    };
    let swept = |timed: TimedVariant| TimedVariant {
        origin: SampleOrigin::Sweep,
        compared: SampleOrigin::Sweep,
        rate: Some("1.5 TFLOP/s".into()),
        ..timed
    };
    let wide = ShapeComparison {
        shape: "large".into(),
        ours: swept(timed("T=64", "10 µs / 11 µs", None)),
        first: Some(swept(timed("sdpa", "20 µs / 21 µs", Some("2×")))),
        fastest: None,
    };
    let flash = timed("flash", "15 µs / 16 µs", Some("1.5×"));
    let rows = [row("small", "20 µs / 21 µs", Some(flash)), row("wide", "", None), wide];
    let text = summarised(&history(), None, |report| report.times = rows.to_vec());
    let line = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {text}"));
        line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect::<Vec<_>>().join(", ")
    };
    let head = "sdpa p50 / p90, its TFLOP/s, speedup, fastest baseline, its p50 / p90, speedup";
    assert!(line("| shape").ends_with(head), "{text}");
    assert_eq!(line("| small"), "small, T=64, 10 µs / 11 µs, 20 µs / 21 µs, 2×, flash, 15 µs / 16 µs, 1.5×");
    assert_eq!(line("| wide"), "wide, T=64, 10 µs / 11 µs, not timed, none timed");
    let large = "large, T=64, 10 µs / 11 µs (sweep), 1.5, 20 µs / 21 µs (sweep), 1.5, 2× (sweep), none timed";
    assert_eq!(line("| large"), large);
    assert!(text.contains("(sweep): not re-timed"), "{text}");
}

#[test]
fn the_code_is_compared_with_the_last_promoted_run() {
    let runs = ["r1", "r2", "r3"].map(|run| entry("a", run, i64::from(run.as_bytes()[1]), 10.0));
    let mut history = History::new(runs.into(), Vec::new());
    let phase = &mut history.phases[0];
    assert_eq!(phase.reference().map(|of| of.words()), Some("run r2".to_owned()));
    phase.promoted = ["r1", "gone", "r3"].map(str::to_owned).to_vec();
    assert_eq!(phase.reference().map(|of| of.words()), Some("the promoted run r1".to_owned()));
    for (run, hash) in phase.runs.iter_mut().zip(["1", "2", "3"]) {
        run.manifest.sources = vec![("k.cu".to_owned(), hash.to_owned())];
    }
    let text = summarised(&history, None, |_| {});
    assert!(text.contains("Sources that changed since the promoted run r1: k.cu."), "{text}");
}

#[test]
fn the_summary_shows_the_difference_from_the_baseline() {
    let mut history = history();
    commits(&mut history, ["aa11", "aa11"], true);
    let phase = &mut history.phases[0];
    phase.runs[1].manifest.sources = ["good", "mine"].map(|name| (format!("{name}.cu"), name.to_owned())).to_vec();
    phase.runs[1].summary.kernels = Some(KernelPair {
        baseline: "good".into(),
        baseline_source: "good.cu".into(),
        used: "mine".into(),
        used_source: "mine.cu".into(),
    });
    let lines = (0..100).map(|n| format!("int a{n};\n")).collect::<String>();
    let text = |path: &str, hash: &str| {
        assert_eq!(path, format!("{hash}.cu"));
        Some(if hash == "mine" { lines.replace("int a7;", "<b>```</b>") } else { lines.clone() })
    };
    phase.compare_code(text);
    let found: Vec<(&str, usize)> = phase.diffs.iter().map(|diff| (diff.title.as_str(), diff.added)).collect();
    assert_eq!(found, [("mine.cu (mine) compared with good.cu (good)", 1)]);
    let page = html(&history.document()).unwrap();
    assert!(page.contains("int a8;") && page.contains("&lt;b&gt;") && !page.contains("<b>```"), "{page}");
    let markdown = summarised(&history, None, |_| {});
    assert!(markdown.contains("good.cu (good): 1 line added, 1 removed"), "{markdown}");
    assert!(!markdown.contains("git diff"), "files differed from the commit");
    assert!(
        markdown.contains("    @@ -5 +5 @@\n     int a4;\n") && markdown.contains("\n    -int a7;\n    +<b>```</b>\n"),
        "{markdown}"
    );
}

#[test]
fn a_long_difference_is_cut_with_a_count() {
    let mut history = history();
    let after = (0..200).map(|n| format!("b{n}\n")).collect::<String>();
    history.phases[0].diffs = vec![CodeDiff::between("k.cu".to_owned(), "", &after)];
    let markdown = summarised(&history, None, |_| {});
    assert!(markdown.contains("\n    +b58\n") && !markdown.contains("\n    +b59\n"), "{markdown}");
    assert!(markdown.contains("141 lines omitted; the page has them."), "{markdown}");
    assert!(html(&history.document()).unwrap().contains("+b199"), "the page has all of it");
}

#[test]
fn phases_can_be_chosen() {
    let (chosen, missing) = history().of(&["b".to_owned(), "c".to_owned()]);
    assert_eq!((chosen.phases.len(), missing), (1, vec!["c".to_owned()]));
}

#[test]
fn hostile_names_stay_text() {
    let mut run = entry("a", "r1", 1, 30.0);
    run.summary.title = "</style><img src=x onerror=alert(1)>".into();
    run.page = Some("./\"><img src=x>".to_owned());
    let history = History::new(vec![run], Vec::new());
    assert!(!html(&history.document()).unwrap().contains("<img"));
    assert!(!summarised(&history, Some("reports"), |_| {}).contains("<img src=x onerror"));
}
