//! Sentences and tables of shipped recordings that a specialist checks by head.

use crate::command::{Finished, Place, root};
use serde_json::Value;
use std::fs;

/// A recording's terminal output, Markdown and page.
struct Texts {
    terminal: String,
    markdown: String,
    page: String,
}

fn texts(phase: &str) -> Texts {
    let place = Place::new();
    let run = place.run_at_root(&["run", &format!("configs/{phase}.toml"), "--source", "recorded"]);
    let folder = fs::read_dir(place.path().join("reports").join(phase)).unwrap().next().unwrap().unwrap().path();
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    Texts { terminal: words(&run.stdout), markdown: words(&read("report.md")), page: words(&read("report.html")) }
}

#[test]
fn a_fallback_is_blamed_for_nothing_of_the_rejected_variant() {
    let found = texts("phase_3");
    for text in [&found.terminal, &found.markdown, &found.page] {
        assert!(text.replace("&#x27;", "'").contains("4 of 6 stages kept, 3.51× over 'commit_2_softmax'"), "{text}");
    }
    // the mask is compiled in: the fallback is not launched there, and nothing unmeasured is called selected
    assert!(found.terminal.contains("pair_causal: best causal"), "{}", found.terminal);
    assert!(found.terminal.contains("; the fallback is not launched there"), "{}", found.terminal);
    assert!(!found.terminal.contains("not measured"), "{}", found.terminal);
    let next = found.terminal.split("next: ").nth(1).unwrap();
    assert!(next.contains("(for the rejected USE_WMMA=1,"), "{next}");
    assert!(found.markdown.contains("(for the rejected USE_WMMA=1,"), "{}", found.markdown);
    let banner = found.page.split("<section id=\"gates\"").next().unwrap();
    assert!(banner.contains("for the rejected <code><bdi>USE_WMMA=1,"), "{banner}");
    assert_eq!(banner.matches(">Copy flags</button>").count(), 3, "each row has a measured variant: {banner}");
}

#[test]
fn the_times_of_every_shape_stand_beside_the_baseline() {
    let found = texts("v3_report");
    // two times and a factor at 12 shapes, and the note
    assert_eq!(found.markdown.matches("(sweep)").count(), 37, "{}", found.markdown);
    for shape in ["small", "medium", "batches"] {
        for suffix in ["causal0_bfloat0", "causal1_bfloat0", "causal0_bfloat1", "causal1_bfloat1"] {
            let row = format!("<th scope=\"row\" data-label=\"shape\"><bdi>{shape}_{suffix}</bdi></th>");
            assert!(found.page.contains(&row), "{row}");
        }
    }
    let times = found.page.split("id=\"times\"").nth(1).unwrap().split("</section>").next().unwrap();
    let times = times.replace("&#x2f;", "/");
    for part in ["83.5 µs / 83.8 µs", "26.7 µs / 26.8 µs", "<bdi>103<", "0.32×"] {
        assert!(times.contains(part), "{part}: {times}");
    }
    // the recording has no counter that sees these loads: the reason names the metric that does
    for text in [&found.terminal, &found.page] {
        assert!(
            text.contains("gate `global_excessive_pct` instead")
                || text.contains("global_excessive_pct</code> instead")
        );
    }
    let same = "inconclusive for the same reason at medium_causal0_bfloat0, batches_causal0_bfloat0";
    assert!(found.terminal.contains(same), "{}", found.terminal);
    assert!(found.terminal.contains("requires achieved_occupancy of 50"), "{}", found.terminal);
    let place = Place::new();
    let file = place.path().join("summary.md");
    place.run_at_root(&["history", "configs/v3_report.toml", "--summary", file.to_str().unwrap()]);
    let summary = fs::read_to_string(file).unwrap();
    assert!(!summary.contains("not timed") && !summary.contains("not re-timed |"), "{summary}");
    assert_eq!(summary.lines().filter(|line| line.contains("_bfloat") && line.contains("(sweep)")).count(), 12);
}

#[test]
fn a_plan_with_a_producer_warp_is_not_told_to_even_its_warps() {
    let found = texts("stage_c");
    let next = found.terminal.split("next: ").nth(1).unwrap();
    assert!(!next.contains("equal work"), "{next}");
    assert!(found.markdown.contains("deeper ring of buffers"), "{}", found.markdown);
}

#[test]
fn a_pass_says_what_it_covers() {
    let found = texts("attention_f16");
    assert!(found.terminal.contains("'10 % faster than PyTorch' at 12 of 16 shapes ("), "{}", found.terminal);
    let fast = texts("sdpa_fast");
    assert!(fast.terminal.contains("; gates: 12 of the phase (8 required), 6 of tiers"), "{}", fast.terminal);
    assert!(fast.markdown.contains("difference from the limit +0.9"), "{}", fast.markdown);
}

#[test]
fn the_comparison_of_an_unused_variant_names_it() {
    let place = Place::new();
    let file = place.path().join("summary.md");
    place.run_at_root(&["history", "configs/inversion.toml", "--summary", file.to_str().unwrap()]);
    let summary = fs::read_to_string(file).unwrap();
    let row = summary.lines().find(|line| line.contains("| nothing")).unwrap();
    assert!(row.contains("(debug_build: ") && row.contains("slower than good"), "{row}");
    let page = fs::read_to_string(place.path().join("reports/index.html")).unwrap();
    assert!(page.contains("<bdi>debug_build: "), "{page}");
}

#[test]
fn a_front_has_no_variant_that_is_better_by_noise() {
    let place = Place::new();
    let args = ["explain", "profiles/phase_d/h200", "--sweep", "--metric", "latency_p50,achieved_occupancy"];
    let args = [&args[..], &["--format", "json"]].concat();
    let json = Finished::of(place.ncugate(&args).current_dir(root()));
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let front = json["front"]["front"].as_array().unwrap();
    assert!((1..=3).contains(&front.len()), "{front:?}");
    assert_eq!(front.len() as u64 + json["front"]["beaten"].as_u64().unwrap(), 90);
}
