//! `ncugate explain` through the real binary, on recordings with known defects and on reports of kernels that the
//! rules were not written for.

use crate::command::{Finished, Place, root};
use serde_json::Value;

/// `explain --format json` at the root of the repository.
fn explained(args: &[&str]) -> Vec<Value> {
    let args: Vec<&str> = ["explain"].iter().chain(args).copied().chain(["--format", "json"]).collect();
    let place = Place::new();
    let run = crate::command::Finished::of(place.ncugate(&args).current_dir(root()));
    assert_eq!(run.status, Some(0), "{args:?}: {}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

fn rule(explanation: &Value) -> &str {
    explanation["bottleneck"]["rule"].as_str().unwrap_or("none")
}

/// Severe findings: at least a quarter of the time, and more than a guess.
fn severe(explanation: &Value) -> Vec<&str> {
    let rest = explanation["insights"].as_array().unwrap().iter();
    let all = std::iter::once(&explanation["bottleneck"]).chain(rest);
    let is_severe = |row: &&Value| row["severity"] == "warning" && row["symptom_of"].is_null();
    all.filter(is_severe).filter_map(|row| row["rule"].as_str()).collect()
}

/// Variants of the inversion with a defect, and the rule for it.
const DEFECTS: [(&str, &str); 8] = [
    ("uncoalesced", "uncoalesced"),
    ("no_staging", "reread"),
    ("extra_syncs", "barriers"),
    ("divergent", "divergence"),
    ("over_unrolled", "spills"),
    ("tiny_blocks", "tiny_blocks"),
    ("bank_conflicts", "bank_conflicts"),
    ("debug_build", "debug_build"),
];

#[test]
fn a_stalled_line_names_the_load_that_it_waits_for() {
    let found = explained(&["profiles/inversion/h200", "--variant", "bank_conflicts"]);
    let lines = found[0]["bottleneck"]["lines"].as_array().unwrap();
    let awaited = &lines.iter().find(|line| line["stall"] == "short scoreboard").unwrap()["awaited"];
    assert_eq!(awaited["kind"], "load from shared memory", "{awaited}");
    assert!(awaited["instruction"].as_str().unwrap().starts_with("LDS"), "{awaited}");
    assert!(awaited["waiting"].as_str().unwrap().starts_with("HADD2.F32"), "{awaited}");
}

/// Each variant of the recording has one defect. Asked about one variant, the rules rank its defect first.
#[test]
fn each_defect_of_the_inversion_is_the_first_cause() {
    for (variant, expected) in DEFECTS {
        let found = explained(&["profiles/inversion/h200", "--variant", variant]);
        assert_eq!(rule(&found[0]), expected, "{variant}");
        let saving = &found[0]["bottleneck"]["saving"];
        assert_eq!(saving["pair"]["variant"], "good", "{variant}: measured against the good kernel");
        assert!(!found[0]["bottleneck"]["evidence"].as_array().unwrap().is_empty(), "{variant}");
        let launch = found[0]["bottleneck"]["launch"].as_str().unwrap_or_default();
        assert!(launch.contains(&format!("{variant}@large")), "{variant}: {launch}");
    }
}

#[test]
fn the_good_kernels_have_no_severe_finding() {
    for (run, variant) in [
        ("profiles/baselines/h200", Some("sdpa_tma")),
        ("profiles/softmax/h200", None),
        ("profiles/regression/h200", None),
    ] {
        let asked: Vec<&str> = variant.into_iter().flat_map(|variant| ["--variant", variant]).collect();
        let found = explained(&[&[run][..], &asked].concat());
        assert_eq!(severe(&found[0]), Vec::<&str>::new(), "{run}");
    }
}

#[test]
fn the_grid_that_does_not_grow_with_the_batch_is_named() {
    let found = explained(&["profiles/scaling/h200"]);
    let first = &found[0]["bottleneck"];
    assert_eq!(first["rule"], "serialised");
    let sentence = first["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("Serialised over B: compared with 'b1h16', 8 times the work"), "{sentence}");
    assert!(first["saving"]["pair"]["percent"].as_f64().unwrap() > 55.0, "{first}");
    let whole = explained(&["profiles/scaling/h200", "--variant", "whole_grid"]);
    assert_ne!(rule(&whole[0]), "serialised");
}

/// Both launches of the program have findings about their own counters, scaled by their shares of the time.
#[test]
fn each_launch_of_a_program_is_diagnosed() {
    let found = explained(&["examples/histogram/recording", "--variant", "merge"]);
    let first = &found[0]["bottleneck"];
    assert_eq!((&first["launches"]["kernel"], &first["launches"]["number"]), (&"count_blocks".into(), &1.into()));
    let sentence = first["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("Launch 1, count_blocks, 93.6 % of the time: "), "{sentence}");
    assert!(first["launch"].as_str().unwrap().ends_with(", merge@large, launch 1"), "{first}");
    let insights = found[0]["insights"].as_array().unwrap();
    let second = insights.iter().find(|row| row["launches"]["kernel"] == "merge_blocks").unwrap();
    assert_eq!(second["id"].as_str().unwrap(), format!("{}:merge@large#2", second["rule"].as_str().unwrap()));
    assert!(second["saving"]["percent"].as_f64().unwrap() < 6.5, "the share of the launch: {second}");
    let lines = insights.iter().flat_map(|row| row["lines"].as_array().unwrap().iter().map(move |line| (row, line)));
    for (row, line) in lines.filter(|(row, _)| row["launches"]["number"] == 2) {
        assert_ne!(line["place"], first["lines"][0]["place"], "{row}");
    }
    // PyTorch launches two kernels
    let function = at_root(&["explain", "profiles/phase_d/h200", "--variant", "sdpa_flash", "--format", "json"]);
    let function: Vec<Value> = serde_json::from_str(&function.stdout).unwrap();
    let all = function[0]["insights"].as_array().unwrap();
    assert!(all.iter().any(|row| row["launches"]["kernel"] == "flash_fwd_splitkv_kernel"), "{all:?}");
}

/// Attention with asynchronous products. ncu counts warps that wait for them like those at barriers, which the samples tell
/// apart; registers hold accumulators; and without counters of the tensor pipe the declared operations say how busy it is.
#[test]
fn asynchronous_products_are_no_barriers_and_their_registers_no_defect() {
    let found = explained(&["profiles/attention_steps/h200", "--variant", "d64_three", "--shape", "batch_512_d64"]);
    assert_eq!(rule(&found[0]), "products_not_overlapped");
    let lines = found[0]["bottleneck"]["lines"].as_array().unwrap();
    assert!(lines.iter().any(|line| line["stall"] == "asynchronous products"), "{lines:?}");
    let insights = found[0]["insights"].as_array().unwrap();
    let rules: Vec<&Value> = insights.iter().map(|row| &row["rule"]).collect();
    for wrong in ["uneven_warps", "registers_fill_the_sm", "low_occupancy"] {
        assert!(!rules.iter().any(|rule| *rule == wrong), "{rules:?}");
    }
    let unprofiled = ["profiles/attention_f16/h200", "--variant", "torch_default", "--shape", "batch_512_d128"];
    let text = at_root(&[&["explain"][..], &unprofiled].concat());
    assert_eq!(text.status, Some(4), "{}", text.stdout);
    let lines: Vec<&str> = text.stdout.lines().collect();
    assert!(lines[1].starts_with("The declared operations run at 50.7 % of the tensor pipe's FP16 peak."), "{lines:?}");
    assert!(lines[2..].iter().any(|line| line.starts_with("Not judged.")), "{lines:?}");
}

/// Consumers that wait at an mbarrier wait for data, which ncu counts like waits for loads. A producer that waits for a free
/// slot delays nobody.
#[test]
fn waits_at_mbarriers_are_for_data_or_for_a_free_slot() {
    for phase in ["attention_f16_causal", "attention_bf16_causal"] {
        let found = explained(&[&format!("profiles/{phase}/h200"), "--shape", "batch_512_d128"]);
        assert!(rule(&found[0]) == "bulk_copies" && !names(&found[0], "load_latency"), "{:?}", found[0]);
        let first = &found[0]["bottleneck"];
        let evidence = first["evidence"].as_array().unwrap();
        let number = |name: &str| evidence.iter().find(|one| one["name"] == name).unwrap()["value"].as_f64().unwrap();
        assert!((23.0..25.0).contains(&number("mbarrier_data_pct")), "{evidence:?}");
        assert!((5.0..7.0).contains(&number("mbarrier_slot_pct")), "{evidence:?}");
        let lines = first["lines"].as_array().unwrap();
        assert!(!lines.is_empty() && lines.iter().all(|line| line["stall"] == "mbarrier for data"), "{lines:?}");
    }
    let copies = explained(&["tests/data/further.ncu-rep.zst", "--kernel", "one_stage"]);
    assert!(rule(&copies[0]) == "bulk_copies" && !names(&copies[0], "load_latency"), "{:?}", copies[0]);
}

/// A report has no latency, so gaps between its launches are unknown.
#[test]
fn many_short_launches_of_a_report_are_a_finding() {
    let place = Place::new();
    let report = root().join("tests/data/torch_nvtx.ncu-rep.zst").display().to_string();
    let text = place.run(&["explain", &report]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Many short launches: a fix saves at most 36 %"), "{text}");
    assert!(text.contains("a fix saves at most 85 %, 25.1 % of all launches (high confidence)"), "{text}");
    let found = explained(&["tests/data/torch_nvtx.ncu-rep.zst"]);
    assert_eq!(found[0]["insights"][0]["rule"], "many_launches");
    let long = explained(&["tests/data/g1200.ncu-rep.zst"]);
    assert!(
        long.iter().all(|one| one["insights"].as_array().unwrap().iter().all(|row| row["rule"] != "many_launches"))
    );
}

#[test]
fn a_variant_as_a_second_word_names_its_option() {
    let place = Place::new();
    let finished = place.run(&["explain", "run", "full_d128_2"]);
    assert_eq!(finished.status, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("hint: `--variant full_d128_2` explains that variant"), "{finished:?}");
    for words in [["explain", "run", "--varaint"], ["page", "run", "full_d128_2"]] {
        let finished = place.run(&words);
        assert!(finished.status == Some(2) && !finished.stderr.contains("explains that variant"), "{finished:?}");
    }
}

/// Kernels with a known defect, written after the rules (`tests/gpu/defects`), explained from a report alone.
#[test]
fn defects_of_other_kernels_lead() {
    let expected = std::fs::read_to_string(root().join("tests/gpu/defects/expected.tsv")).unwrap();
    let found = explained(&["tests/data/defects.ncu-rep.zst"]);
    assert_eq!(found.len(), expected.lines().count());
    let total = |one: &Value| one["kernel"]["total_microseconds"].as_f64().unwrap();
    assert!(found.windows(2).all(|pair| total(&pair[0]) >= total(&pair[1])), "the longest first");
    for line in expected.lines() {
        let (kernel, expected) = line.split_once('\t').unwrap();
        let explanation = found.iter().find(|one| one["kernel"]["function"] == kernel).unwrap();
        assert_eq!(rule(explanation), expected, "{kernel}");
    }
}

/// The answer is below 2 KB and has the cause, an id to cite and the next experiment.
#[test]
fn a_brief_for_an_agent_fits_two_kilobytes() {
    for (variant, rule) in DEFECTS.into_iter().chain([("good", "tensor_idle")]) {
        let place = Place::new();
        let args = ["explain", "profiles/inversion/h200", "--variant", variant, "--for", "agent"];
        let run = crate::command::Finished::of(place.ncugate(&args).current_dir(root()));
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        assert!(run.stdout.len() <= 2_001, "{variant}: {} bytes", run.stdout.len());
        let brief: Value = serde_json::from_str(&run.stdout).unwrap();
        let id = brief["bottleneck"]["id"].as_str().unwrap();
        assert_eq!(id, format!("{rule}:{variant}@large"));
        assert!(brief["bottleneck"]["cause"].as_str().is_some_and(|cause| !cause.is_empty()), "{brief}");
        assert!(brief["next_experiment"].as_str().is_some_and(|next| !next.is_empty()), "{brief}");
        assert!(brief["task"]["phase"] == "inversion" && brief["bests"][0]["variant"] == "good", "{brief}");
    }
}

/// Two variants with a deep profile, line by line and instruction by instruction.
#[test]
fn two_variants_are_set_side_by_side() {
    let place = Place::new();
    let run = |args: &[&str]| {
        let args = [&["explain", "profiles/scaling/h200", "--variant", "sdpa_v3", "--beside"], args].concat();
        crate::command::Finished::of(place.ncugate(&args).current_dir(root()))
    };
    let pair: Value = serde_json::from_str(&run(&["whole_grid", "--format", "json"]).stdout).unwrap();
    let lines = pair["lines"].as_array().unwrap();
    assert!(lines.len() >= 3, "{}", lines.len());
    assert!(lines[0]["line"].as_str().unwrap().contains("kernels/"), "{}", lines[0]["line"]);
    assert!(lines[0]["change"].as_str().unwrap().starts_with('+'), "the one that is slower: {}", lines[0]["change"]);
    assert!(!lines[0]["states"].as_array().unwrap().is_empty());
    let both = |row: &&Value| !row["first"].is_null() && !row["other"].is_null();
    assert!(
        lines.iter().any(|line| line["code"].as_array().unwrap().iter().any(|row| both(&row))),
        "no code is aligned"
    );
    let text = run(&["whole_grid"]);
    assert!(text.status == Some(0) && text.stdout.contains("Line by line, with whole_grid"), "{}", text.stderr);
    let none = run(&["sdpa_fast"]);
    assert!(none.status == Some(2) && none.stderr.contains("run --deep"), "{}", none.stderr);
}

#[test]
fn words_of_the_output_are_explained_without_a_file() {
    let place = Place::new();
    let explain = |word: &str| place.run(&["explain", word]);
    for (word, said) in [
        ("few_warps", &["(rule)", "Meaning", "Measured", "holds if `", "Do"][..]),
        ("debug_build", &["Symptoms"]),
        ("warp_cycles", &["(fact)", "between two instructions", "computed from warp_latency"]),
        ("witness", &["(word)", "under ncu"]),
        ("4", &["(exit status)", "inconclusive"]),
        ("achieved_occupancy", &["Achieved occupancy"]),
    ] {
        let entry = explain(word);
        assert!(entry.status == Some(0) && said.iter().all(|part| entry.stdout.contains(part)), "{word}: {entry:?}");
        assert!(!entry.stdout.contains("{{"), "{}", entry.stdout);
    }
    let entry = place.run(&["explain", "few_warps", "--format", "json"]);
    let entry: Value = serde_json::from_str(&entry.stdout).unwrap();
    assert!(entry["kind"] == "rule" && !entry["remedies"].as_array().unwrap().is_empty(), "{entry}");
    let near = explain("few_wraps");
    assert!(near.status == Some(2) && near.stderr.contains("did you mean `few_warps`?"), "{near:?}");
    assert_eq!(explain("7").status, Some(2));
}

#[test]
fn missing_things_are_named() {
    let place = Place::new();
    let run = |args: &[&str]| crate::command::Finished::of(place.ncugate(args).current_dir(root()));
    let wrong = run(&["explain", "profiles/inversion/h200", "--variant", "divergen"]);
    assert_eq!(wrong.status, Some(2));
    assert!(wrong.stderr.contains("did you mean 'divergent'?"), "{}", wrong.stderr);
    let wrong = run(&["explain", "profiles/inversion/h200", "--shape", "huge"]);
    assert!(wrong.status == Some(2) && wrong.stderr.contains("no shape 'huge'"), "{}", wrong.stderr);
    assert_eq!(run(&["explain", "no/such/report.ncu-rep"]).status, Some(3));
    let none = run(&["explain", "tests/data/full1.ncu-rep.zst", "--kernel", "no_such_kernel"]);
    assert!(none.status == Some(2) && none.stderr.contains("no launch of"), "{}", none.stderr);
    let variant = run(&["explain", "tests/data/full1.ncu-rep.zst", "--variant", "attn"]);
    assert!(variant.status == Some(2) && variant.stderr.contains("--kernel"), "{}", variant.stderr);
}

/// Bounds by counters beside what a variant without the cause gains, over every recording of the repository. `--nocapture`
/// prints the table.
#[test]
fn bounds_hold_for_the_measured_pairs_of_all_recordings() {
    let recordings = ["profiles/*/h200", "examples/*/recording"];
    let paths = recordings.iter().flat_map(|path| glob::glob(root().join(path).to_str().unwrap()).unwrap());
    let (mut compared, mut inside) = (0, 0);
    for path in paths.map(Result::unwrap) {
        for explanation in explained(&[path.to_str().unwrap(), "--each"]) {
            let rest = explanation["insights"].as_array().unwrap().iter();
            for row in std::iter::once(&explanation["bottleneck"]).chain(rest) {
                let saving = &row["saving"];
                let Some(gain) = saving["pair"]["percent"].as_f64() else { continue };
                let bound = saving["percent"].as_f64().unwrap();
                compared += 1;
                // a gain beyond the bound takes its place
                inside += u32::from(gain < bound);
                println!("{} by {}: at most {bound:.0} %, measured {gain:.0} %", row["id"], saving["pair"]["variant"]);
                assert!(bound >= gain, "{row}");
                let is_disproved = row["confidence"] == "high" && bound > 15.0 && gain < bound / 3.0;
                assert!(!is_disproved, "{row}");
            }
        }
    }
    println!("{inside} of {compared} measured gains are inside the bound");
    assert!(compared >= 15 && f64::from(inside) >= 0.9 * f64::from(compared), "{inside} of {compared}");
    let page = std::fs::read_to_string(root().join("docs/diagnosis.md")).unwrap();
    assert!(page.contains(&format!("{inside} of {compared} gains are inside the bound")), "{inside} of {compared}");
}

/// The recordings of `tests/gpu/planted` give the findings and bounds that docs/diagnosis.md lists.
#[test]
fn planted_defects_are_found_as_the_page_says() {
    let page = std::fs::read_to_string(root().join("docs/diagnosis.md")).unwrap();
    let answers = std::fs::read_to_string(root().join("tests/gpu/planted/answers.tsv")).unwrap();
    let answers: Vec<Vec<&str>> = answers.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let mut phases: std::collections::BTreeMap<&str, Vec<Value>> = std::collections::BTreeMap::new();
    for answer in &answers {
        let [phase, kernel, set, first, ..] = answer[..] else { panic!("{answer:?}") };
        let each =
            phases.entry(phase).or_insert_with(|| explained(&[&format!("tests/data/planted/{phase}"), "--each"]));
        let explanation = each.iter().find(|one| one["variant"] == kernel).unwrap();
        let rest = explanation["insights"].as_array().unwrap().iter();
        let found: Vec<String> = std::iter::once(&explanation["bottleneck"])
            .chain(rest)
            .filter(|row| row["symptom_of"].is_null() && (row["kind"] == "defect" || row["kind"] == "redesign"))
            .take(3)
            .map(|row| match row["saving"]["percent"].as_f64() {
                Some(percent) => format!("`{}` {percent:.0}", row["rule"].as_str().unwrap()),
                None => format!("`{}`", row["rule"].as_str().unwrap()),
            })
            .collect();
        if ["tuning", "held_out"].contains(&set) {
            let row = page.lines().find(|line| line.starts_with(&format!("| {kernel} | "))).unwrap();
            assert!(row.contains(&format!("| {} |", found.join(", "))), "{row}\n{found:?}");
        }
        let second = answer[4];
        let leads = first.split('|').chain(second.split('|')).any(|rule| found[0].starts_with(&format!("`{rule}`")));
        assert!(leads, "{kernel}: {found:?}");
    }
    assert_eq!(answers.len(), 63);
}

/// A variant that lacks the cause and is slower speaks against it.
#[test]
fn a_slower_variant_without_the_cause_lowers_confidence_and_is_shown() {
    let found = explained(&["profiles/inversion/h200", "--variant", "good"]);
    let row =
        found[0]["insights"].as_array().unwrap().iter().find(|row| row["rule"] == "registers_fill_the_sm").unwrap();
    assert_eq!(row["confidence"], "low");
    let words = row["saving"]["words"].as_str().unwrap();
    assert!(
        words.contains("but bank_conflicts, which differs in BANK_CONFLICTS and lacks this, takes 31 % more time"),
        "{words}"
    );
}

/// Rules that hold for no variant or launch of the repository's recordings and captures, except those of
/// `tests/gpu/defects/further.sh`, which cover each of these rules.
const HOLD_IN_FURTHER_ALONE: [&str; 8] = [
    "branches",
    "fences",
    "fills_and_copies",
    "old_tensor_instructions",
    "sleeping",
    "superlinear",
    "system_memory",
    "unoptimised_build",
];
/// Rules that no recording or only one of another chip could hold for; unit tests have their cases.
const HOLD_IN_NO_RECORDING: [&str; 3] = ["host_bound", "partial_warps", "single_cta_products"];
/// Rules that are never denied by any of them.
const NEVER_DENIED: [&str; 0] = [];

/// For each rule, the numbers of recorded cases for which it holds and does not hold.
fn answered(paths: impl Iterator<Item = std::path::PathBuf>) -> std::collections::BTreeMap<String, [u64; 2]> {
    let mut sums: std::collections::BTreeMap<String, [u64; 2]> = std::collections::BTreeMap::new();
    for path in paths {
        for answer in explained(&[path.to_str().unwrap(), "--rules"]) {
            let sum = sums.entry(answer["rule"].as_str().unwrap().to_owned()).or_default();
            sum[0] += answer["holds"].as_u64().unwrap();
            sum[1] += answer["does_not_hold"].as_u64().unwrap();
        }
    }
    sums
}

/// Each rule holds for one recorded case and does not hold for another, except the listed rules.
#[test]
fn rules_have_recorded_cases_for_and_against() {
    let glob = |path: &str| glob::glob(root().join(path).to_str().unwrap()).unwrap();
    let runs = glob("profiles/*/h200").chain(glob("tests/data/planted/*"));
    let captures =
        ["full1", "source", "deep", "defects"].map(|name| root().join(format!("tests/data/{name}.ncu-rep.zst")));
    let sums = answered(runs.map(Result::unwrap).chain(captures));
    let without = |at: usize| -> Vec<&str> {
        sums.iter().filter(|(_, sum)| sum[at] == 0).map(|(rule, _)| rule.as_str()).collect()
    };
    assert!(sums.len() >= 40, "{}", sums.len());
    let mut unheld = [&HOLD_IN_FURTHER_ALONE[..], &HOLD_IN_NO_RECORDING].concat();
    unheld.sort_unstable();
    assert_eq!((without(0), without(1)), (unheld, NEVER_DENIED.to_vec()));
}

/// Each kernel of `further.cu` and each variant of `further.toml` is a case of its rule in `further.tsv`.
#[test]
fn rules_hold_for_the_kernels_written_for_them() {
    let (report, run) = (root().join("tests/data/further.ncu-rep.zst"), root().join("tests/data/further"));
    let expected = std::fs::read_to_string(root().join("tests/gpu/defects/further.tsv")).unwrap();
    let launches = explained(&[report.to_str().unwrap()]);
    let kernels = expected.lines().filter_map(|line| line.split_once('\t')).filter(|(name, _)| !name.contains('@'));
    assert_eq!(launches.len(), kernels.clone().count());
    for (kernel, rule) in kernels {
        let launch = launches.iter().find(|one| one["kernel"]["function"] == kernel).unwrap();
        assert!(names(launch, rule), "{kernel}: {rule} is not among the findings");
    }
    for (case, rule) in expected.lines().filter_map(|line| line.split_once('\t')) {
        let Some((variant, shape)) = case.split_once('@') else { continue };
        let found = explained(&[run.to_str().unwrap(), "--variant", variant, "--shape", shape]);
        assert!(names(&found[0], rule), "{case}: {rule} is not among the findings");
    }
    let sums = answered([report, run].into_iter());
    let missing: Vec<&&str> = HOLD_IN_FURTHER_ALONE.iter().filter(|rule| sums[**rule][0] == 0).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Whether a rule is among the findings of an explanation.
fn names(explanation: &Value, rule: &str) -> bool {
    let rest = explanation["insights"].as_array().unwrap().iter();
    std::iter::once(&explanation["bottleneck"]).chain(rest).any(|row| row["rule"] == rule)
}

#[test]
fn a_sweep_explains_the_effects_of_its_parameters() {
    let place = Place::new();
    let run = |args: &[&str]| {
        let args = [&["explain", "profiles/phase_d/h200", "--sweep"], args].concat();
        crate::command::Finished::of(place.ncugate(&args).current_dir(root()))
    };
    let json: Value = serde_json::from_str(&run(&["--format", "json"]).stdout).unwrap();
    assert_eq!(json["objective"], "latency_p50");
    let effects = json["analysis"]["effects"].as_array().unwrap();
    assert!(effects.len() >= 3, "{effects:?}");
    let first = &effects[0]["metrics"][0];
    let change = &first["change"];
    let (low, by, high) =
        (change["low"].as_f64().unwrap(), change["by"].as_f64().unwrap(), change["high"].as_f64().unwrap());
    assert!(first["name"] == "latency_p50" && low <= by && by <= high && change["separation"] == "clear", "{first}");
    let front = json["front"]["front"].as_array().unwrap();
    assert!(!front.is_empty() && front[0]["values"].as_array().unwrap().len() == 2);
    let chosen = run(&["--metric", "latency_p50,registers,shared_mem"]);
    assert!(
        chosen.stdout.contains("Front over latency_p50, registers, shared_mem"),
        "{}{}",
        chosen.stdout,
        chosen.stderr
    );
    let picture = place.path().join("front.svg");
    let drawn = run(&["--metric", "latency_p50,registers,shared_mem", "--svg", picture.to_str().unwrap()]);
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(
        drawn.status == Some(0) && svg.contains("Which variants are best over 3 objectives together?"),
        "{}",
        drawn.stderr
    );
    let alone = run(&["--metric", "latency_p50", "--svg", picture.to_str().unwrap()]);
    assert!(alone.status == Some(2) && alone.stderr.contains("--svg has nothing to draw"), "{}", alone.stderr);
    let unknown = run(&["--metric", "latency_p51"]);
    assert_eq!(unknown.status, Some(2), "{}", unknown.stderr);
    assert!(
        unknown.stderr.contains("'latency_p51' is not a metric of the run; did you mean 'latency_p50'?"),
        "{}",
        unknown.stderr
    );
}

/// The means over the 18 pairs of variants were computed from the exported table.
#[test]
fn a_register_cap_raises_the_theoretical_occupancy_alone_and_costs_time() {
    let json = at_root(&["explain", "profiles/phase_d/h200", "--sweep", "--format", "json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let effects = json["analysis"]["effects"].as_array().unwrap();
    let cap = effects.iter().find(|effect| effect["parameter"] == "REGCAP").unwrap();
    assert_eq!((&cap["from"], &cap["to"], &cap["pairs"]), (&"96".into(), &"64".into(), &18.into()));
    let rows = cap["metrics"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    let gated = ["max_abs", "eligible_warps", "issue_slot_utilisation", "theoretical_occupancy", "achieved_occupancy"];
    assert_eq!(names, [&["latency_p50"], &gated[..], &["spills", "shared_mem"]].concat());
    let expected = [
        ("latency_p50", 65.75, 91.74, 39.53, "percent", "clear"),
        ("theoretical_occupancy", 27.78, 45.66, 17.88, "metric", "clear"),
        ("achieved_occupancy", 9.357, 9.358, 0.001, "metric", "noise"),
        ("eligible_warps", 0.4365, 0.3493, -19.97, "percent", "clear"),
        ("issue_slot_utilisation", 35.45, 29.91, -5.54, "metric", "clear"),
        ("spills", 25.83, 81.22, 55.39, "metric", "clear"),
        ("shared_mem", 29_013.0, 29_013.0, 0.0, "percent", "noise"),
    ];
    for (name, before, after, by, unit, separation) in expected {
        let row = &rows[names.iter().position(|other| *other == name).unwrap()];
        let near =
            |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() <= 2e-3 * expected.abs().max(1.0);
        let change = &row["change"];
        assert!(near(&row["means"][0], before) && near(&row["means"][1], after) && near(&change["by"], by), "{row}");
        assert!(change["unit"] == unit && change["separation"] == separation, "{row}");
        let [low, high] = ["low", "high"].map(|end| change[end].as_f64().unwrap());
        assert!(separation == "clear" && low * high > 0.0 || low <= 0.0 && high >= 0.0, "{row}");
    }
    let text = at_root(&["explain", "profiles/phase_d/h200", "--sweep"]).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cap = text.split("REGCAP ").nth(1).unwrap();
    for part in [
        "96 → 64 (18 pairs) Latency p50 65.8 µs 91.7 µs +39.5 % (",
        "Eligible warps 0.437 0.349 -20.0 % (",
        "Theoretical occupancy 27.8 % 45.7 % +17.9 pp (",
        "Achieved occupancy 9.36 % 9.36 % ",
        "Shared memory 28.3 KiB 28.3 KiB no change",
    ] {
        assert!(cap.contains(part), "{part}: {cap}");
    }
}

/// `d64` is in use at `batch_512_d64`, and other variants at the other shapes.
#[test]
fn advice_is_for_the_variant_in_use_at_a_shape() {
    let recording = "profiles/attention_bf16/h200";
    let [whole] = &explained(&[recording])[..] else { panic!("one explanation") };
    let elsewhere = whole["elsewhere"].as_array().unwrap().iter().find(|row| row["shape"] == "batch_512_d64").unwrap();
    let here = at_root(&["explain", recording, "--shape", "batch_512_d64", "--format", "json"]);
    let here: Value = serde_json::from_str::<Vec<Value>>(&here.stdout).unwrap().remove(0);
    assert_eq!((&here["variant"], &here["shape"]), (&"d64".into(), &"batch_512_d64".into()));
    assert_eq!((&here["variant"], &here["bottleneck"]["title"]), (&elsewhere["variant"], &elsewhere["cause"]));
    let place = Place::new();
    let out = place.path().join("page");
    let page = Finished::of(place.ncugate(&["page", recording, "-o", out.to_str().unwrap()]).current_dir(root()));
    assert_eq!(page.status, Some(0), "{}", page.stderr);
    let results = std::fs::read_to_string(out.join("results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    let used = results["use"]["shapes"].as_array().unwrap();
    let in_use =
        |row: &Value| used.iter().find(|used| used["shape"] == row["shape"]).unwrap()["variant"] == row["variant"];
    let (here, others): (Vec<&Value>, Vec<&Value>) =
        results["findings"].as_array().unwrap().iter().partition(|row| in_use(row));
    assert!(here.iter().any(|row| row["advice"] != "") && others.len() >= 2, "{} {}", here.len(), others.len());
    assert!(others.iter().all(|row| row["advice"] == "" && row["further"] == serde_json::json!([])), "{others:?}");
}

/// Its grid covers H and not B.
#[test]
fn the_grid_of_v3_that_forgets_the_batch_is_named() {
    let serial = at_root(&["explain", "profiles/v3_report/h200", "--variant", "serial", "--shape", "batches"]);
    let lines: Vec<&str> = serial.stdout.lines().collect();
    assert_eq!(lines[2], "The grid does not cover a dimension: its work is serialised", "{}", serial.stdout);
    assert!(
        lines[3].contains("Serialised over B: compared with 'medium_causal0_bfloat0', 2 times the work"),
        "{}",
        serial.stdout
    );
    let each = at_root(&["explain", "profiles/v3_report/h200", "--each"]);
    let serialised = |line: &str| line.starts_with("| serial ") && line.contains("its work is serialised");
    assert!(each.stdout.lines().any(serialised), "{}", each.stdout);
    let whole = at_root(&["explain", "profiles/v3_report/h200", "--variant", "whole_grid", "--shape", "batches"]);
    assert!(!whole.stdout.contains("erialised over"), "{}", whole.stdout);
}

#[test]
fn a_report_of_another_program_is_one_short_answer_for_an_agent_and_short_names_for_people() {
    let place = Place::new();
    let report = root().join("tests/data/torch_nvtx.ncu-rep.zst").display().to_string();
    let agent = place.run(&["explain", &report, "--for", "agent"]);
    assert_eq!(agent.stdout.lines().count(), 1, "{agent:?}");
    assert!(agent.stdout.len() <= 2048, "{} bytes", agent.stdout.len());
    let brief: Value = serde_json::from_str(&agent.stdout).unwrap();
    let json = place.run(&["explain", &report, "--format", "json"]).stdout;
    let all: Vec<Value> = serde_json::from_str(&json).unwrap();
    // the kernel with the longest total time comes first
    assert!(all.len() > 2 && brief["us"] == all[0]["microseconds"], "{brief}");
    let text = place.run(&["explain", &report, "--each"]).stdout;
    assert!(text.contains("softmax_warp_forward, in outer") && !text.contains("c10::Half"), "{text}");
    let whole = place.run(&["explain", &report, "--kernel", "softmax_warp_forward"]).stdout;
    assert!(whole.contains("softmax_warp_forward<c10::Half, c10::Half, float"), "the full name on demand: {whole}");
}

/// Any report: the longest kernels first on one screen, with a bound or the reason for none, and the next command.
#[test]
fn a_report_is_explained_on_one_screen() {
    let reports = glob::glob(root().join("tests/data/*.ncu-rep.zst").to_str().unwrap()).unwrap();
    let mut seen = 0;
    for report in reports.map(Result::unwrap) {
        let report = report.to_str().unwrap();
        let place = Place::new();
        let shown = Finished::of(place.ncugate(&["explain", report]).env("COLUMNS", "80"));
        assert!(matches!(shown.status, Some(0 | 4)), "{shown:?}");
        let text = &shown.stdout;
        let lines: usize = text.lines().map(|line| line.chars().count().div_ceil(80).max(1)).sum();
        assert!(lines <= 42, "{report}: {lines} lines\n{text}");
        assert!(!text.contains('…') && !text.contains("..."), "{text}");
        assert!(text.contains(&format!("ncugate page {report}")), "{text}");
        let all: Vec<Value> =
            serde_json::from_str(&place.run(&["explain", report, "--format", "json"]).stdout).unwrap();
        let lacks = all.iter().any(|one| one["not_asked"].is_object());
        assert_eq!(lacks, text.contains("ncu --set full"), "{text}");
        // a kernel without a cause is either clean or not judged
        for one in all.iter().filter(|one| one["bottleneck"].is_null()) {
            assert!(one["outcome"] == "not_judged" || one["outcome"] == "clean", "{one}");
        }
        seen += 1;
    }
    assert!(seen >= 10, "{seen}");
    let text = at_root(&["explain", "tests/data/g1200.ncu-rep.zst"]).stdout;
    assert!(text.starts_with("g1200.ncu-rep.zst: 1,200 launches of 1 kernel, "), "{text}");
    assert!(text.contains("\n1. attn, grid 8×8, block 128, 40 registers: "), "{text}");
    assert!(text.contains(" in 200 launches, "), "{text}");
    let ranges = at_root(&["explain", "tests/data/torch_nvtx.ncu-rep.zst"]).stdout;
    assert!(ranges.starts_with("torch_nvtx.ncu-rep.zst: 5 launches of 3 kernels, "), "{ranges}");
    assert!(ranges.contains("\n3 more take 41.6 % of the time: "), "{ranges}");
    assert!(text.contains("Fewer blocks than SMs: a fix saves at most "), "{text}");
}

/// Where most rules lack counters, the estimates of ncu's rules are quoted as ncu's.
#[test]
fn the_estimates_of_ncu_are_quoted_where_rules_lack_counters() {
    let report = "tests/data/graph_whole.ncu-rep.zst";
    let found = explained(&[report]);
    let quoted = &found[0]["ncu"][0];
    assert_eq!((&quoted["rule"], &quoted["saving"]["source"]), (&"ncu".into(), &"ncu_rule".into()), "{quoted}");
    let text = at_root(&["explain", report]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Nsight Compute: Small Grid: ") && text.contains("as if nothing else limited"), "{text}");
    // a report with all counters needs no other opinion
    assert!(explained(&["tests/data/full1.ncu-rep.zst"])[0]["ncu"].is_null());
}

/// Standard output and status of a command at the root of the repository.
fn at_root(args: &[&str]) -> Finished {
    Finished::of(Place::new().ncugate(args).current_dir(root()))
}

/// Uncollected counters found nothing: no output may claim that nothing costs much.
#[test]
fn rules_without_counters_are_not_called_clean() {
    let nothing = "No rule found a significant cause";
    for report in
        ["tests/data/g12.ncu-rep.zst", "tests/data/torch_nvtx.ncu-rep.zst", "tests/data/processes.ncu-rep.zst"]
    {
        let text = at_root(&["explain", report]);
        assert!(!text.stdout.contains(nothing), "{}", text.stdout);
        assert!(text.stdout.contains(" rules lack counters"), "{}", text.stdout);
        assert!(
            text.stdout.contains("  ncu --set full --metrics lts__t_sectors_aperture_sysmem.sum,"),
            "{}",
            text.stdout
        );
        let all: Vec<Value> = serde_json::from_str(&at_root(&["explain", report, "--format", "json"]).stdout).unwrap();
        for one in &all {
            assert!(one["not_asked"]["rules"].as_u64().unwrap() > 20, "{one}");
            assert!(one["not_asked"]["metrics"].as_array().unwrap().contains(&"warp_latency".into()), "{one}");
            assert_eq!(one["bottleneck"].is_null(), one["outcome"] == "not_judged", "{one}");
        }
    }
    // no finding, and not judged: the command cannot tell
    let open = ["explain", "profiles/softmax/h200", "--variant", "THREADS=512,ROWS_PER_BLOCK=1,VEC=4"];
    let one = at_root(&open);
    assert_eq!(one.status, Some(4), "{}", one.stdout);
    assert!(!one.stdout.contains(nothing) && one.stdout.contains("Not judged. "), "{}", one.stdout);
    assert!(one.stdout.contains("--deep THREADS=512,ROWS_PER_BLOCK=1,VEC=4`"), "{}", one.stdout);
    let agent = at_root(&[&open[..], &["--for", "agent"]].concat());
    let brief: Value = serde_json::from_str(&agent.stdout).unwrap();
    assert!(brief["outcome"] == "not_judged" && brief["not_asked"]["of"].as_u64() > Some(40), "{brief}");
    assert!(
        brief["next_experiment"].as_str().unwrap().ends_with(" --deep THREADS=512,ROWS_PER_BLOCK=1,VEC=4"),
        "{brief}"
    );
    assert!(agent.stdout.len() <= 2_001, "{}", agent.stdout.len());
    // a library that is not installed on the machine has neither counters nor a latency
    let table = at_root(&["explain", "profiles/baselines/h200", "--each"]).stdout;
    let row = |name: &str| table.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(row("flash_attention").contains("not judged: "), "{table}");
    assert!(!table.contains("no significant cause"), "{table}");
    let untimed = at_root(&["explain", "profiles/baselines/h200", "--variant", "flash_attention"]);
    assert_eq!(untimed.status, Some(4));
    assert!(untimed.stdout.contains("The time is not known: "), "{}", untimed.stdout);
}

/// With every counter that rules read, a clean variant is reported as clean, and other missing inputs of a rule are
/// named.
#[test]
fn judged_rules_without_findings_are_clean() {
    let found = explained(&["tests/data/defects.ncu-rep.zst"]);
    // the report is older than the counter of one rule
    let lacks = |one: &Value| one["not_asked"]["counters"].as_array().is_some_and(|all| all.len() == 1);
    assert!(found.iter().all(|one| lacks(one) && one["outcome"] == "found"), "{found:?}");
    // a report of ncu's full set lacks at most the counters that the command adds to that set
    let full: Vec<Value> =
        serde_json::from_str(&at_root(&["explain", "tests/data/source.ncu-rep.zst", "--format", "json"]).stdout)
            .unwrap();
    for one in &full {
        let lacks = one["not_asked"]["counters"].as_array().unwrap();
        let command = one["not_asked"]["command"].as_str().unwrap();
        assert!(!lacks.is_empty() && lacks.iter().all(|name| command.contains(name.as_str().unwrap())), "{one}");
    }
    // a rule that compares shapes needs a smaller one
    let clean = explained(&["profiles/sdpa_fast/h200", "--shape", "mission"]);
    assert!(clean[0]["outcome"] == "clean" && clean[0]["not_asked"].is_null(), "{}", clean[0]);
    let says = clean[0]["says"].as_str().unwrap();
    assert!(says.contains(" rules were evaluated; the others need a shape that is smaller"), "{says}");
}

/// The page leads with causes for the variants and shapes in use, like `explain`.
#[test]
fn a_page_and_explain_agree() {
    for run in ["profiles/sdpa_fast/h200", "profiles/softmax/h200", "profiles/phase_d/h200", "profiles/cheats/h200"] {
        let place = Place::new();
        let copied = place.path().join("report");
        let shown = Finished::of(place.ncugate(&["page", run, "-o", copied.to_str().unwrap()]).current_dir(root()));
        assert!(copied.join("results.json").exists(), "{}", shown.stderr);
        let results: Value =
            serde_json::from_str(&std::fs::read_to_string(copied.join("results.json")).unwrap()).unwrap();
        let markdown = std::fs::read_to_string(copied.join("report.md")).unwrap();
        let explained: Vec<Value> =
            serde_json::from_str(&at_root(&["explain", run, "--format", "json"]).stdout).unwrap();
        let (said, first) = (&results["diagnosis"][0], &explained[0]);
        assert_eq!(
            (&said["variant"], &said["shape"], &said["outcome"]),
            (&first["variant"], &first["shape"], &first["outcome"]),
            "{run}"
        );
        assert_eq!(said["not_asked"], first["not_asked"], "{run}");
        let subjects: Vec<(&Value, &Value)> =
            results["diagnosis"].as_array().unwrap().iter().map(|row| (&row["variant"], &row["shape"])).collect();
        let leading = results["findings"].as_array().unwrap().iter().filter(|row| row["leading"] == true);
        let leading: Vec<&Value> = leading.collect();
        assert!(leading.iter().all(|row| subjects.contains(&(&row["variant"], &row["shape"]))), "{run}");
        assert_eq!(first["elsewhere"].as_array().unwrap().len() + 1, subjects.len(), "{run}");
        let here = leading.iter().find(|row| row["shape"] == first["shape"] && row["kind"] != "doubt");
        assert_eq!(here.map(|row| &row["rule"]), first["bottleneck"].get("rule"), "{run}");
        if first["outcome"] == "clean" {
            assert!(markdown.contains("No rule found a significant cause."), "{markdown}");
            let is_quoted = markdown.contains("Nsight Compute: ");
            assert_eq!(is_quoted, markdown.contains("estimates are not followed"), "{run}: {markdown}");
        }
    }
}
