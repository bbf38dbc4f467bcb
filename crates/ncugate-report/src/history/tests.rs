//! Synthetic runs in order.

use super::entry::KernelPair;
use super::*;
use crate::code_diff::CodeDiff;
use crate::fixture::Fixture;
use crate::model::{Conclusion, ObjectiveRow};
use crate::number::Number;
use ncugate_model::Verdict;

fn entry(phase: &str, run: &str, seconds: i64, latency: f64) -> HistoryEntry {
    let verdict = if latency < 20.0 { Verdict::Pass } else { Verdict::Fail };
    let fixture = Fixture::new(6);
    let mut report = fixture.report();
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
    let folder = format!("profiles/{phase}/{run}");
    HistoryEntry {
        started: jiff::Timestamp::from_second(1_700_000_000 + seconds).unwrap(),
        ..HistoryEntry::of(
            &report,
            &fixture.manifest,
            &fixture.plan,
            &folder,
            Some(format!("{phase}/{run}/report.html")),
        )
    }
}

fn history() -> History {
    let runs = vec![
        entry("b", "r1", 5, 30.0),
        entry("a", "r3", 9, 10.0),
        entry("a", "r2", 1, 25.0),
        entry("a", "r2", 1, 25.0),
    ];
    History::new(runs, vec!["profiles/a/broken: no manifest".to_owned()])
}

#[test]
fn runs_are_ordered_by_phase_and_date_and_kept_once() {
    let history = history();
    let names: Vec<(&str, Vec<&str>)> =
        history.phases.iter().map(|p| (p.name.as_str(), p.runs.iter().map(|r| r.run.as_str()).collect())).collect();
    assert_eq!(names, [("a", vec!["r2", "r3"]), ("b", vec!["r1"])]);
    assert_eq!(history.phases[0].latest().unwrap().run, "r3");
}

#[test]
fn the_page_shows_runs_links_charts_and_problems() {
    let page = html(&history()).unwrap();
    assert!(
        page.contains("href=\"a/r3/report.html\"") || page.contains("href=\"a&#x2f;r3&#x2f;report.html\""),
        "{page}"
    );
    assert!(page.contains("-60.0 %"), "the change from the first run to the last");
    assert_eq!(page.matches("<figure>").count(), 2, "phase a has two runs, phase b one");
    assert!(page.contains("broken") && !page.contains("<script"));
}

#[test]
fn the_summary_counts_phases_that_pass() {
    let text = summary(&history(), Some("reports"));
    assert!(text.starts_with("# 1 of 2 phases pass\n"), "{text}");
    assert!(text.contains("[Phase a](<reports/a/r3/report.html>)") && text.contains("| Latency p50 10 µs"), "{text}");
    assert!(text.contains("| latency | fail    | 30 µs    | 20 µs |"), "{text}");
    assert!(text.contains("## Not in this summary"));
}

#[test]
fn the_summary_has_shapes_findings_and_what_changed_in_the_code() {
    let mut history = history();
    let runs = &mut history.phases[0].runs;
    let commits = ["aa11", "bb22"].map(|commit| Some(commit.to_owned()));
    for ((run, commit), hash) in runs.iter_mut().zip(commits).zip(["1", "2"]) {
        run.code.commit = commit;
        run.code.sources = vec![("k.cu".to_owned(), hash.to_owned()), ("same.cuh".to_owned(), "0".to_owned())];
    }
    let findings = Fixture::new(6).report().findings;
    runs[1].findings = findings.into_iter().take(1).collect();
    let text = summary(&history, None);
    assert!(text.contains("| shape") && text.contains("its p50 / p90") && text.contains("speedup"), "{text}");
    let beside = &history.phases[0].runs[1].beside;
    assert!(!beside.is_empty() && beside[0].baseline.is_some() && beside[0].speedup.is_some(), "{beside:?}");
    assert!(text.contains("What costs most:\n\n1. **"), "{text}");
    assert!(text.contains("Sources that changed since run r2: k.cu."), "{text}");
    assert!(text.contains("    git diff aa11 bb22 -- k.cu\n"), "{text}");
    assert!(!text.contains("2. **"), "{text}");
}

#[test]
fn the_summary_shows_the_difference_of_the_code() {
    let mut history = history();
    let phase = &mut history.phases[0];
    for (run, hash) in phase.runs.iter_mut().zip(["1", "2"]) {
        run.code.near = Some("aa11".to_owned());
        run.code.sources = vec![("k.cu".to_owned(), hash.to_owned()), ("lost.cu".to_owned(), hash.to_owned())];
    }
    let beside = |used_source: &str| KernelPair {
        baseline: "good".to_owned(),
        baseline_source: "k.cu".to_owned(),
        used: "mine".to_owned(),
        used_source: used_source.to_owned(),
    };
    phase.runs[1].code.beside = Some(beside("k.cu"));
    let lines = (0..100).map(|n| format!("int a{n};\n")).collect::<String>();
    let text = |path: &str, hash: &str, commit: Option<&str>| {
        assert_eq!(commit, Some("aa11"));
        (path == "k.cu").then(|| if hash == "2" { lines.replace("int a7;", "<b>```</b>") } else { lines.clone() })
    };
    phase.compare_code(text);
    let found: Vec<(&str, usize)> = phase.diffs.iter().map(|diff| (diff.title.as_str(), diff.added)).collect();
    assert_eq!(found, [("k.cu since run r2", 1), ("k.cu (mine) beside k.cu (good)", 0)]);
    let page = html(&history).unwrap();
    assert!(page.contains("int a8;") && page.contains("&lt;b&gt;") && !page.contains("<b>```"), "{page}");
    let markdown = summary(&history, None);
    assert!(markdown.contains("k.cu since run r2: 1 line added, 1 removed."), "{markdown}");
    assert!(
        markdown.contains("````diff\n@@ -5 +5 @@\n int a4;\n") && markdown.contains("\n-int a7;\n+<b>```</b>\n"),
        "{markdown}"
    );
}

#[test]
fn a_long_difference_is_cut_with_a_count() {
    let mut history = history();
    let after = (0..200).map(|n| format!("b{n}\n")).collect::<String>();
    history.phases[0].diffs = vec![CodeDiff::between("k.cu".to_owned(), "", &after)];
    let markdown = summary(&history, None);
    assert!(markdown.contains("\n+b58\n") && !markdown.contains("\n+b59\n"), "{markdown}");
    assert!(
        markdown.contains("141 lines of the difference are left out; the page of all runs has them."),
        "{markdown}"
    );
    assert!(html(&history).unwrap().contains("+b199"), "the page has all of it");
}

#[test]
fn phases_can_be_chosen() {
    let (chosen, missing) = history().of(&["b".to_owned(), "c".to_owned()]);
    assert_eq!((chosen.phases.len(), missing), (1, vec!["c".to_owned()]));
}

#[test]
fn hostile_names_stay_text() {
    let mut run = entry("a", "r1", 1, 30.0);
    run.title = "</style><img src=x onerror=alert(1)>".into();
    run.page = Some("./\"><img src=x>".into());
    let history = History::new(vec![run], Vec::new());
    assert!(!html(&history).unwrap().contains("<img"));
    assert!(!summary(&history, Some("reports")).contains("<img src=x onerror"));
}
