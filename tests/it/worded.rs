//! Words and colours of verdicts: inconclusive is never shown as failed, every output gives the reason, and no output
//! recommends a losing variant.

use crate::command::{Finished, Place, root};
use crate::stored::Stored;
use std::fs;
use std::time::Duration;

/// Two candidates that were not re-timed, and a gate over two shapes: it fails at one, and passes unconfirmed at the
/// other.
const PHASE: &str = concat!(
    include_str!("../data/copy.toml"),
    "[sweep]\nTHREADS = [64, 128]\n[[gate]]\nname = \"both\"\nrequire = \"latency_p50 <= 30000 / S\"\n",
    "shapes = [\"only\", \"large\"]\n"
);

/// A shipped recording, judged and rendered into a folder of the place.
fn rendered(place: &Place, phase: &str) -> Finished {
    let run = root().join(format!("profiles/{phase}/h200"));
    place.run(&["page", run.to_str().unwrap(), "--output", phase])
}

fn read(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_reason_of_an_inconclusive_shape_is_in_every_output_of_a_gate_that_fails_at_another() {
    let place = Place::new();
    let text = PHASE.replace("only = { S = 2048 }", "only = { S = 2048 }\nlarge = { S = 4096 }");
    let folder = Stored::new(&text, "run").unconfirmed().write(&place);
    let config = place.write("worded.toml", &text);
    let args = ["gate", config.to_str().unwrap(), folder.to_str().unwrap(), "--comment", "comment.md"];
    let judged = Finished::of(place.ncugate(&args).env("GITHUB_ACTIONS", "true"));
    assert_eq!(judged.status, Some(1), "{judged:?}");
    let reason = "not confirmed on fresh samples";
    assert!(unwrapped(&judged.stdout).contains(reason), "{}", judged.stdout);
    assert!(judged.stdout.lines().any(|line| line.starts_with("::error") && line.contains(reason)), "{judged:?}");
    for name in ["report.html", "report.md", "results.json", "junit.xml", "results.sarif"] {
        let text = read(&place, &format!("reports/copy/run/{name}"));
        assert!(text.contains(reason) && text.contains("inconclusive at only"), "{name}");
    }
    assert!(read(&place, "comment.md").contains(reason));
}

#[test]
fn an_undecided_gate_is_not_reported_as_failed() {
    let place = Place::new();
    let text = PHASE.replace("shapes = [\"only\", \"large\"]\n", "");
    let folder = Stored::new(&text, "run").unconfirmed().write(&place);
    let config = place.write("worded.toml", &text);
    let args = ["gate", config.to_str().unwrap(), folder.to_str().unwrap()];
    let judged = Finished::of(place.ncugate(&args).env("GITHUB_ACTIONS", "true"));
    assert_eq!(judged.status, Some(4), "{judged:?}");
    assert!(unwrapped(&judged.stdout).contains("note: 'both': inconclusive: "), "{}", judged.stdout);
    assert!(judged.stdout.contains("both::inconclusive: "), "{}", judged.stdout);
    let sarif: serde_json::Value = serde_json::from_str(&read(&place, "reports/copy/run/results.sarif")).unwrap();
    let rules: Vec<&str> = sarif
        .pointer("/runs/0/results")
        .unwrap()
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["ruleId"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["phase", "inconclusive"]);
    let junit = read(&place, "reports/copy/run/junit.xml");
    assert!(junit.contains("failures=\"0\"") && !junit.contains("failures=\"1\""), "{junit}");
}

#[test]
fn variants_that_nothing_was_compared_with_are_neither_failed_nor_open() {
    let place = Place::new();
    assert_eq!(rendered(&place, "sdpa_fast").status, Some(0));
    let page = read(&place, "sdpa_fast/report.html");
    assert!(!page.contains("fails a gate"), "no gate fails for any variant");
    assert!(!page.contains("\"verdict\":\"inconclusive\""));
    let markdown = read(&place, "sdpa_fast/report.md");
    assert!(!markdown.contains("| INCONCLUSIVE |"));
    let results = read(&place, "sdpa_fast/results.json");
    assert!(results.contains("\"inconclusive\"") && !results.contains("not compared"));
}

#[test]
fn a_variant_that_loses_to_the_baseline_is_never_recommended() {
    let place = Place::new();
    let fallback = rendered(&place, "phase_3");
    assert_eq!(fallback.status, Some(0), "{fallback:?}");
    let cost = "13.2× slower than sdpa_default at pair";
    assert!(unwrapped(&fallback.stdout).contains(cost), "{}", fallback.stdout);
    for text in [fallback.stdout, read(&place, "phase_3/report.md"), read(&place, "phase_3/report.html")] {
        assert!(!unwrapped(&text).contains("Use the fallback"), "{text}");
    }
    assert!(
        unwrapped(&read(&place, "phase_3/report.md")).contains(&cost.replace('_', "\\_"))
            || read(&place, "phase_3/report.md").contains(cost)
    );
    // a phase that looks for the worst variant recommends nothing
    let worst = rendered(&place, "inversion");
    assert_eq!(worst.status, Some(0), "{worst:?}");
    let said = unwrapped(&worst.stdout);
    assert!(said.contains("No variant is recommended: the phase selects the worst latency p50."), "{said}");
    assert!(!said.contains("Use debug_build"), "{said}");
    let results: serde_json::Value = serde_json::from_str(&read(&place, "inversion/results.json")).unwrap();
    assert_eq!((&results["use"]["variant"], &results["use"]["basis"]), (&serde_json::Value::Null, &"nothing".into()));
}

/// The first screen of a page, without markup.
fn banner(page: &str) -> String {
    let start = page.find("<section class=\"banner").unwrap();
    let end = page[start..].find("</section>").unwrap();
    let mut text = String::new();
    // A place where a long name may break is no space.
    for part in page[start..start + end].replace("<wbr>", "").split('<') {
        text.push_str(part.split_once('>').map_or(part, |(_, text)| text));
        text.push(' ');
    }
    unwrapped(&text)
}

#[test]
fn the_first_screen_names_the_limit_that_no_variant_can_reach_and_one_latency() {
    let place = Place::new();
    let failed = rendered(&place, "phase_d");
    assert_eq!(failed.status, Some(1), "{failed:?}");
    let page = banner(&read(&place, "phase_d/report.html"));
    let markdown = unwrapped(&read(&place, "phase_d/report.md")).replace('\\', "");
    let reason =
        "No variant can reach 20 % achieved occupancy at mission: 128 blocks of 8 warps on 132 SMs give at most 12.5 %";
    let times = ["29.9 µs", "3.05× slower than sdpa_flash"];
    let variant = "REGCAP=96,THREADS=256,TILE_M=32,K_TILE=64";
    for text in [&unwrapped(&failed.stdout), &markdown, &page] {
        for part in
            [reason, variant, times[0], times[1], "No variant passes.", "Use mma, wmma or wgmma", "medium confidence"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("7 notes on how far to trust this"), "{text}");
    }
    // The witness compares with the shortest median: that of the sweep.
    assert_eq!(page.matches("29.7 µs").count(), page.matches("29.7 µs undisturbed").count(), "{page}");
    assert!(read(&place, "phase_d/report.html").contains("<tr class=\"not_recommended\">"), "nothing is bold");
}

#[test]
fn a_selected_variant_that_fails_next_to_a_passing_one_is_not_called_the_only_one() {
    let place = Place::new();
    let failed = rendered(&place, "softmax");
    assert_eq!(failed.status, Some(1), "{failed:?}");
    let said = unwrapped(&failed.stdout);
    assert!(said.contains("The selected variant does not pass.") && !said.contains("No variant passes"), "{said}");
    assert!(said.contains("The best variant that passes every required gate is THREADS=128,ROWS_PER_BLOCK=1,VEC=4"));
}

#[test]
fn a_condition_that_holds_or_not_is_not_the_closest_gate() {
    let place = Place::new();
    let judged = rendered(&place, "attention_bf16");
    assert_eq!(judged.status, Some(0), "{judged:?}");
    let said = unwrapped(&judged.stdout);
    assert!(said.contains("the closest is '") && !said.contains("(1 against 1)"), "{said}");
    assert!(said.contains("pass correctness holds for 4 variants") && !said.contains("1 == 1"), "{said}");
    let page = read(&place, "attention_bf16/report.html");
    assert!(page.contains("the others are not launched (<code>where</code>)"), "names are code");
}

#[test]
fn the_index_has_the_newest_phase_first() {
    let place = Place::new();
    let started = |phase: &str| {
        place.copy(&format!("profiles/{phase}/h200"));
        let text = read(&place, &format!("profiles/{phase}/h200/manifest.json"));
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        manifest["started"].as_str().unwrap().to_owned()
    };
    let mut phases = ["scaling", "softmax", "whole_kv"].map(|phase| (started(phase), phase));
    phases.sort();
    phases.reverse();
    assert_eq!(place.run(&["history"]).status, Some(0));
    let page = read(&place, "reports/index.html");
    let places: Vec<usize> =
        phases.iter().map(|(_, phase)| page.find(&format!("<tr data-range=\"{phase}\"")).unwrap()).collect();
    assert!(places.is_sorted(), "{phases:?} {places:?}");
}

#[test]
fn an_agent_is_given_status_and_both_streams() {
    let place = Place::new();
    place.write("broken.toml", "[phase\n");
    place.copy("kernels/softmax");
    place.copy("configs/softmax.toml");
    let path = place.path().join("nothing").display().to_string();
    let check = |config: &str| {
        let mut command = place.agent_call("check", &serde_json::json!({ "config": config }));
        let called = Finished::of(command.env("PATH", &path).env_remove("CUDA_HOME").timeout(Duration::from_secs(60)));
        serde_json::from_str::<serde_json::Value>(&called.stdout).unwrap_or_else(|error| panic!("{error}: {called:?}"))
    };
    // without nvcc nothing passes, although candidates are printed
    let checked = check("configs/softmax.toml");
    assert_eq!((&checked["isError"], &checked["structuredContent"]["status"]), (&true.into(), &3.into()), "{checked}");
    let stderr = checked["structuredContent"]["stderr"].as_str().unwrap();
    assert!(stderr.contains("nvcc") && checked["content"].to_string().contains("status 3: error"), "{checked}");
    let refused = check("broken.toml");
    assert_eq!((&refused["isError"], &refused["structuredContent"]["status"]), (&true.into(), &2.into()), "{refused}");
}

/// A gate that asks for more is not shown as a limit that was exceeded.
#[test]
fn the_closest_gate_says_what_it_needs() {
    let place = Place::new();
    let judged = rendered(&place, "inversion");
    assert_eq!(judged.status, Some(0), "{judged:?}");
    let said = unwrapped(&judged.stdout);
    assert!(
        said.contains("the closest is 'each defect costs time' at 1 of 2 shapes (509 µs, needs > 469 µs)"),
        "{said}"
    );
}

#[test]
fn the_first_screen_the_comment_and_the_quiet_output_count_cheats() {
    let place = Place::new();
    let judged = rendered(&place, "cheats");
    let said = unwrapped(&judged.stdout);
    assert!(said.contains("; 8 variants cheat; "), "{said}");
    let page = read(&place, "cheats/report.html");
    let counts = page.split("<p class=\"origin\">").nth(1).and_then(|rest| rest.split("</p>").next());
    assert!(counts.is_some_and(|counts| counts.contains("; 8 variants cheat; ")), "{counts:?}");
    let run = root().join("profiles/cheats/h200");
    let quiet = place.run(&["show", run.to_str().unwrap(), "-q"]);
    assert!(quiet.stdout.starts_with("8 variants cheat\n") && quiet.stdout.lines().count() <= 3, "{quiet:?}");
    let markdown = read(&place, "cheats/report.md");
    assert!(markdown.contains("; 8 variants cheat; "), "{markdown}");
    let clean = place.run(&["show", root().join("profiles/sdpa_fast/h200").to_str().unwrap(), "-q"]);
    assert!(!clean.stdout.contains("cheat"), "{clean:?}");
}

/// Estimates of ncu's rules do not stand as findings beside the sentence that there is none.
#[test]
fn estimates_of_ncu_are_folded_where_no_rule_found_a_cause() {
    let place = Place::new();
    let judged = rendered(&place, "sdpa_fast");
    let said = unwrapped(&judged.stdout);
    let clean = "next: Nothing obvious is left. No rule found a significant cause. ";
    assert!(said.contains(clean) && said.contains(" rules were evaluated; the others need "), "{said}");
    let page = read(&place, "sdpa_fast/report.html");
    assert!(page.contains("<details><summary><bdi>Estimates of Nsight Compute&#x27;s rules: "), "no fold");
    assert!(!page.contains("<h3><bdi>Nsight Compute: "), "an estimate stands as a finding");
    let markdown = read(&place, "sdpa_fast/report.md");
    assert!(markdown.contains("none of ncugate's rules confirms them here"), "{markdown}");
}
