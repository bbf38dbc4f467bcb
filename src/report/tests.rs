//! The renderers together, on the made-up run of [`super::fixture`].

use super::fixture::{Fixture, hostile};
use super::terminal::{Colours, Screen};
use super::{github, html, json, junit, markdown, terminal, write};
use crate::model::ComputeCapability;

fn small() -> super::Report {
    Fixture::new(6).report()
}

#[test]
fn markdown_reads_as_text() {
    insta::assert_snapshot!(markdown::markdown(&small()).unwrap());
}

#[test]
fn junit_counts_gates() {
    insta::assert_snapshot!(junit::junit(&small()).unwrap());
}

#[test]
fn json_holds_every_value() {
    let mut report = small();
    for shape in report.variants.iter_mut().flat_map(|v| &mut v.shapes) {
        shape.samples.truncate(2);
    }
    report.variants.truncate(2);
    let value: serde_json::Value = serde_json::from_str(&json::json(&report).unwrap()).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
}

#[test]
fn terminal_ends_with_the_verdict() {
    let screen = Screen { columns: 80, colours: Colours::Plain };
    let text = terminal::terminal(&small(), screen).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn files_of_charts_are_known_by_their_names() {
    let charts = small().charts;
    assert!(charts.len() > 8 && charts.iter().all(|chart| crate::chart::is_id(&chart.id)));
    assert!(!crate::chart::is_id("notes") && !crate::chart::is_id("gate-"));
}

#[test]
fn annotations_point_at_the_gate() {
    insta::assert_snapshot!(github::annotations(&small()).unwrap());
}

#[test]
fn colours_only_when_asked() {
    let with = |colours| terminal::terminal(&small(), Screen { columns: 100, colours }).unwrap();
    assert!(!with(Colours::Plain).contains('\u{1b}'));
    assert!(with(Colours::Ansi).contains("\u{1b}[1;31mFAIL\u{1b}[0m"));
}

#[test]
fn the_same_run_renders_to_the_same_bytes() {
    let (one, other) = (small(), small());
    assert_eq!(html::html(&one).unwrap(), html::html(&other).unwrap());
    assert_eq!(json::json(&one).unwrap(), json::json(&other).unwrap());
}

#[test]
fn the_schema_is_current() {
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/results.schema.json");
    let schema = json::schema().unwrap();
    if std::env::var_os("NCUGATE_BLESS").is_some() {
        write::replace(committed.as_ref(), &schema).unwrap();
    }
    assert_eq!(std::fs::read_to_string(committed).unwrap(), schema, "run this test with NCUGATE_BLESS=1");
}

#[test]
fn hostile_text_stays_text_everywhere() {
    let report = hostile().report();
    let page = html::html(&report).unwrap();
    assert!(!page.contains("<img"), "markup in the page");
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(!page.contains("<!--") && !page.contains('\0') && !page.contains('\u{202E}'));
    assert!(page.contains("{{ 7 * 7 }}") || page.contains("&#x7b;"), "a template in the data is not evaluated");
    let text = markdown::markdown(&report).unwrap();
    assert!(!text.contains("<img") && !text.contains("@everyone") && !text.contains('\0'));
    let xml = junit::junit(&report).unwrap();
    assert!(!xml.contains("<img") && !xml.contains('\0'));
    let lines = github::annotations(&report).unwrap();
    assert!(lines.lines().all(|l| l.starts_with("::") && l.contains("file=configs/<b>x</b>%2Cline=1.toml,line=")));
    assert!(!lines.contains("\n::error::smuggled"));
    let screen = Screen { columns: 80, colours: Colours::Plain };
    let shown = terminal::terminal(&report, screen).unwrap();
    assert!(!shown.contains('\u{1b}') && !shown.contains('\0'));
    assert!(shown.lines().all(|line| line.chars().count() <= 80));
    for chart in &report.charts {
        let svg = crate::chart::svg::draw(chart, crate::chart::svg::Setting::File).unwrap();
        assert!(!svg.contains("<img") && !svg.contains("<script"), "{}", chart.id);
    }
}

#[test]
fn what_ncu_says_is_on_the_page_and_in_the_results() {
    let report = Fixture::new(90).report();
    let page = html::html(&report).unwrap();
    assert!(
        page.contains(
            "\"rules\":[[\"Uncoalesced accesses\",\"Half of the sectors are not used.\",\"at most 12.5 %\"]]"
        )
    );
    assert!(page.contains("[\"+0x1a0\",\"1,234\",\"40\",\"long scoreboard\",\"LDS.128 R4, [R2+0x10]\",[\"kernels/sdpa_scalar/sdpa_scalar.cu:57\","));
    let results: serde_json::Value = serde_json::from_str(&json::json(&report).unwrap()).unwrap();
    let said: Vec<&serde_json::Value> = results["variants"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|v| v["shapes"].as_object().unwrap().values())
        .filter(|shape| shape.get("rules").is_some())
        .collect();
    assert_eq!((said.len(), &said[0]["hot"][0]["samples"]), (1, &serde_json::json!(1234.0)));
}

#[test]
fn a_comment_always_fits() {
    let report = Fixture::new(1_000).report();
    let mut hostile = hostile().report();
    hostile.gates = (0..2_000).flat_map(|_| hostile.gates.first().cloned()).collect();
    for report in [&report, &hostile] {
        let comment = github::comment(report).unwrap();
        assert!(comment.len() < 65_536, "{}", comment.len());
        assert!(github::summary(report).unwrap().len() < 1_048_576);
    }
}

#[test]
fn a_thousand_variants_stay_under_six_megabytes() {
    let page = html::html(&Fixture::new(1_000).report()).unwrap();
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
}

#[test]
fn every_chart_is_drawn_with_title_axes_and_words() {
    let report = Fixture::new(90).report();
    let ids: Vec<&str> = report.charts.iter().map(|c| c.id.as_str()).collect();
    for expected in [
        "gates-by-variant",
        "latency-occupancy",
        "latency-distribution",
        "gate-registers",
        "parameter-effects",
        "stages",
        "scaling-h",
        "roofline",
        "stalls",
        "occupancy-limiters",
    ] {
        assert!(ids.contains(&expected), "{expected} is not in {ids:?}");
    }
    for chart in &report.charts {
        let svg = crate::chart::svg::draw(chart, crate::chart::svg::Setting::File).unwrap();
        assert!(svg.contains("role=\"img\"") && svg.contains("<title>"), "{}", chart.id);
        assert!(!chart.alt.is_empty() && !chart.table.rows.is_empty(), "{}", chart.id);
        assert!(roxmltree::Document::parse(&svg).is_ok(), "{}", chart.id);
    }
}

#[test]
fn the_map_of_gates_says_what_the_judge_says() {
    use crate::config::Gate;
    use crate::expr::Requirement;
    use crate::judge::Context;
    use crate::model::{Level, OnInconclusive, Scope, Verdict};
    let mut fixture = Fixture::new(90);
    let gate = |text: &str, left: &str, limit: &str, on: Scope, level: Level| Gate {
        name: text.to_owned(),
        require: Requirement::parse(&format!("{left} <= {limit}")).unwrap(),
        on,
        level,
        shapes: vec![fixture.phase.objective.shape.clone()],
        at_least: None,
        inconclusive: OnInconclusive::Inconclusive,
        line: 1,
    };
    fixture.phase.gates = vec![
        gate("registers <= 7", "registers", "7", Scope::Any, Level::Required),
        gate("registers <= 72", "registers", "72", Scope::Selected, Level::Required),
        gate("spills <= 0", "spills", "0", Scope::Each, Level::Required),
        gate("shared_mem <= 20000", "shared_mem", "20000", Scope::Selected, Level::Advisory),
    ];
    for (at, gate) in fixture.phase.gates.iter_mut().enumerate() {
        gate.line = 10 + at;
    }
    // Two gates whose text begins alike, and two whose text is the same.
    let mut same = fixture.phase.gates[1].clone();
    (same.line, same.on) = (20, Scope::Matching("*THREADS=128*".to_owned()));
    same.require = fixture.phase.gates[0].require.clone();
    fixture.phase.gates.push(same);
    let proven = crate::judge::correctness(&fixture.phase, &fixture.plan, &fixture.checks, &fixture.builds);
    let context = Context::new(Some(ComputeCapability::new(9, 0)), "2026-11-21".parse().unwrap());
    fixture.judgement = crate::judge::judge(&fixture.phase, &fixture.plan, &fixture.quantities, &proven, &context);
    let report = fixture.report();
    let mut judged = 0;
    for variant in report.variants.iter().filter(|v| v.rank.is_some()) {
        for (at, metric, limit) in [(0, "registers", 7.0), (1, "registers", 72.0), (2, "spills", 0.0)] {
            let holds = report.value(variant, report.objective_shape, metric).unwrap() <= limit;
            let cell = variant.gates[at].as_ref().unwrap();
            let expected = if holds { Verdict::Pass } else { Verdict::Fail };
            assert_eq!(cell.verdict, expected, "{}: {} ({})", variant.id, cell.text, report.gates[at].name);
            judged += 1;
        }
        assert_eq!(variant.gates[3].is_some(), variant.selected, "{}", variant.id);
        assert_eq!(variant.gates[4].is_some(), variant.id.contains("THREADS=128"), "{}", variant.id);
    }
    assert!(judged > 200);
    html::html(&report).unwrap();
}

#[test]
fn a_fallback_warns_and_turns_nothing_red() {
    use crate::judge::FallbackResult;
    use crate::model::Verdict;
    let mut fixture = Fixture::new(6);
    let mut gate = fixture.judgement.gates[5].clone();
    gate.name = "fallback is lean".to_owned();
    fixture.judgement.fallback = Some(FallbackResult {
        variant: Some(fixture.plan.variants[1].id.clone()),
        verdict: Verdict::Pass,
        reason: "the fallback holds its gates".to_owned(),
        gates: vec![gate],
    });
    fixture.judgement.verdict = Verdict::Pass;
    let report = fixture.report();
    assert_eq!(report.headline.label, "Fallback");
    let xml = junit::junit(&report).unwrap();
    assert!(xml.contains("failures=\"0\" errors=\"0\"") && xml.contains("the fallback is taken"), "{xml}");
    assert!(!github::annotations(&report).unwrap().contains("::error"));
    let screen = Screen { columns: 80, colours: Colours::Ansi };
    assert!(terminal::terminal(&report, screen).unwrap().contains("\u{1b}[1;33mFALLBACK"));
    assert!(html::html(&report).unwrap().contains("banner inconclusive"));
}

#[test]
fn nothing_measured_is_a_report_too() {
    let mut fixture = Fixture::new(6);
    fixture.quantities = crate::frame::Quantities::default();
    fixture.judgement.selected = None;
    fixture.judgement.gates.clear();
    fixture.judgement.variants.clear();
    fixture.judgement.stages.clear();
    (fixture.builds, fixture.checks, fixture.latencies) = (Vec::new(), Vec::new(), Vec::new());
    let report = fixture.report();
    assert!(report.missing.iter().any(|line| line.contains("8 variants of the plan have no record")));
    html::html(&report).unwrap();
    markdown::markdown(&report).unwrap();
    junit::junit(&report).unwrap();
    json::json(&report).unwrap();
    terminal::terminal(&report, Screen { columns: 80, colours: Colours::Plain }).unwrap();
}

#[test]
fn a_written_report_has_its_files_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let written = write::write(&small(), folder.path()).unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["charts", "junit.xml", "report.html", "report.md", "results.json"]);
    assert!(written.page.ends_with("report.html"));
    let text = std::fs::read_to_string(folder.path().join("report.md")).unwrap();
    for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(folder.path().join(link).is_file(), "{link}");
    }
}

/// Pages for the browser test, in the folder that `NCUGATE_PAGES` names.
#[test]
#[ignore = "writes pages for tests/browser/run.sh"]
fn pages() {
    let folder = std::path::PathBuf::from(std::env::var("NCUGATE_PAGES").unwrap());
    let mut pages = vec![("hostile", hostile())];
    pages.extend([("p6", 6), ("p90", 90), ("p1000", 1_000), ("p10000", 10_000)].map(|(n, v)| (n, Fixture::new(v))));
    for (name, fixture) in pages {
        let folder = folder.join(name);
        write::prove_writable(&folder).unwrap();
        let started = std::time::Instant::now();
        let report = fixture.report();
        write::write(&report, &folder).unwrap();
        let took = started.elapsed().as_secs_f64();
        let bytes = std::fs::metadata(folder.join("report.html")).unwrap().len();
        std::fs::write(folder.join("texts.json"), serde_json::to_string(&texts(&report)).unwrap()).unwrap();
        std::fs::write(folder.join("took.txt"), format!("{took:.3} s, {bytes} bytes\n")).unwrap();
    }
    for (name, fixture) in [("", Fixture::new(90)), ("-hostile", hostile())] {
        for (kind, page) in [("compare", compared(&fixture)), ("index", indexed(&fixture))] {
            let folder = folder.join(format!("{kind}{name}"));
            write::prove_writable(&folder).unwrap();
            std::fs::write(folder.join("report.html"), page).unwrap();
        }
    }
}

/// Every number of the table of variants as the report writes it, by variant and title of the metric.
fn texts(report: &super::Report) -> serde_json::Value {
    let of = |variant: &super::VariantRow| {
        let values = report.metrics.iter().zip(&variant.shapes[report.objective_shape].values);
        let text = |(metric, value): (&super::MetricColumn, &super::Measure)| {
            Some((metric.title.clone(), serde_json::Value::from(value.number()?.text.as_str())))
        };
        (variant.id.clone(), serde_json::Value::Object(values.filter_map(text).collect()))
    };
    serde_json::Value::Object(report.variants.iter().take(100).map(of).collect())
}

/// A run beside itself.
fn compared(fixture: &Fixture) -> String {
    let side = crate::report::compare::Side::of_run(&fixture.phase.title, &fixture.report());
    let resampler = crate::stats::Resampler::default();
    crate::report::compare::html(&crate::report::compare::Comparison::new(&side, &side, &resampler)).unwrap()
}

/// Three runs of one phase.
fn indexed(fixture: &Fixture) -> String {
    let report = fixture.report();
    let entry = |at: i64| {
        let mut entry = crate::report::history::Entry::of(&report, &fixture.manifest, &fixture.phase.title, None);
        entry.run = format!("{} {at}", entry.run);
        entry.started += jiff::SignedDuration::from_hours(at);
        entry
    };
    let history = crate::report::history::History::new((0..3).map(entry).collect(), vec![fixture.phase.title.clone()]);
    crate::report::history::html(&history).unwrap()
}
