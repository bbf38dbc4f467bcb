//! Cases that must not end with status 0: requirements that judge nothing, gates unrelated to the selected variant,
//! fallbacks and stages that are not candidates, noise that hides a failure, failed references, waivers without an
//! end.

use crate::command::{Finished, Place};
use crate::forms::in_a_month;
use crate::stored::{Stored, calibrate, wiggle};
use ncugate_model::Verdict;
use std::path::Path;

/// Two candidates (10 and 11 us) and a baseline (12 us) at two shapes.
fn phase() -> String {
    let base = include_str!("../data/copy.toml")
        .replace("only = { S = 2048 }", "small = { S = 512 }\nlarge = { S = 2048 }")
        .replace("objective = \"latency_p50\"", "objective = \"latency_p50\"\nobjective_shape = \"large\"");
    base + "[sweep]\nTHREADS = [64, 128]\n[[baseline]]\nname = \"twin\"\nparams = { THREADS = 32 }\n"
}

fn gate(name: &str, require: &str) -> String {
    format!("[[gate]]\nname = \"{name}\"\nrequire = '{require}'\n")
}

fn stored(id: &str) -> Stored {
    Stored::new(&phase(), id).latency(|id, round| {
        let base = match id.0.as_str() {
            "THREADS=64" => 10.0,
            "THREADS=128" => 11.0,
            _ => 12.0,
        };
        base * (1.0 + 0.005 * wiggle(round, id.0.len()))
    })
}

/// The rules judged on a run, and the texts that a reader sees first: terminal, Markdown, page.
fn judged(place: &Place, run: &Path, rules: &str) -> (Finished, [String; 3]) {
    let config = place.write("verdicts.toml", &(phase() + rules));
    let judged = place.run(&["gate", config.to_str().unwrap(), run.to_str().unwrap()]);
    let folder = place.path().join("reports/copy").join(run.file_name().unwrap());
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let plain = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let texts = [judged.stdout.clone(), read("report.md").replace('\\', ""), read("report.html")].map(plain);
    (judged, texts)
}

fn says_first(texts: &[String; 3], words: &str) {
    let page = words.replace('\'', "&#x27;").replace('"', "&quot;");
    let [terminal, markdown, html] = texts;
    assert!(terminal.contains(words), "terminal: {terminal}");
    assert!(markdown.contains(words), "report.md: {markdown}");
    assert!(html.contains(words) || html.contains(&page), "the page does not say: {words}");
}

#[test]
fn a_requirement_that_no_measurement_decides_is_an_error_with_its_place() {
    let place = Place::new();
    let run = stored("run").write(&place);
    for (require, marked) in [
        ("S == 2048", "^^^^^^^^^"),
        ("THREADS >= 64", "^^^^^^^^^^^^^"),
        ("cc >= 7", "^^^^^^^"),
        ("latency_p50 == latency_p50", "^^^^^^^^^^^^^^^^^^^^^^^^^^"),
        ("registers <= 64 or true", "^^^^"),
        ("latency_p50 > 0", "^^^^^^^^^^^^^^^"),
        ("latency_p50 <= 2 * latency_p50", "^^^^^^^"),
        ("baseline.latency_p50 <= 30", "^^^^^^^"),
        ("registers <= 64 or registers > 64", "^^^^^^"),
    ] {
        let (judged, _) = judged(&place, &run, &gate("g", require));
        assert_eq!(judged.status, Some(2), "{require}: {judged:?}");
        assert!(judged.stderr.contains("gate[0].require") && judged.stderr.contains(marked), "{}", judged.stderr);
    }
}

#[test]
fn gates_that_do_not_judge_the_selected_variant_do_not_let_it_pass() {
    let place = Place::new();
    let run = stored("run").write(&place);
    let slim = gate("registers", "registers <= 64") + "on = \"THREADS=128\"\n";
    let (unjudged, texts) = judged(&place, &run, &slim);
    assert_eq!(unjudged.status, Some(4), "{unjudged:?}");
    says_first(&texts, "The selected variant THREADS=64 is not judged by 'registers' (on = \"THREADS=128\").");
    assert!(texts[0].contains("INCONCLUSIVE No required gate judged the selected variant THREADS=64"), "{}", texts[0]);

    let any = gate("slow", "latency_p50 >= 10.5")
        + "on = \"any\"\n"
        + &gate("slower", "latency_p50 >= 10.7")
        + "on = \"any\"\n";
    let (others, texts) = judged(&place, &run, &any);
    assert_eq!(others.status, Some(4), "{others:?}");
    says_first(&texts, "'slow' (on = \"any\", held by other variants)");

    let (both, texts) = judged(&place, &run, &(slim + &gate("latency", "latency_p50 <= 10.5")));
    assert_eq!(both.status, Some(0), "{both:?}");
    says_first(&texts, "is not judged by 'registers'");
}

#[test]
fn a_variant_compared_with_itself_does_not_pass() {
    let place = Place::new();
    let solo = "[[variant]]\nname = \"solo\"\nparams = { THREADS = 256 }\n";
    let run =
        Stored::new(&(phase() + solo), "run").latency(|id, _| if id.0 == "solo" { 9.0 } else { 10.0 }).write(&place);
    let (judged, _) = judged(&place, &run, &(solo.to_owned() + &gate("g", "speedup(\"solo\") >= 1")));
    assert_eq!(judged.status, Some(4), "{judged:?}");
    assert!(judged.stdout.contains("with itself"), "{}", judged.stdout);
}

#[test]
fn a_baseline_is_neither_a_fallback_nor_a_stage() {
    let place = Place::new();
    let wrong = stored("wrong").wrong_candidates().write(&place);
    let rules = gate("g", "latency_p50 <= 9");
    let fallback = |glob: &str| format!("{rules}[fallback]\nvariant = \"{glob}\"\nrequire = ['latency_p50 <= 20']\n");
    let (judged_wrong, _) = judged(&place, &wrong, &fallback("*"));
    assert_eq!(judged_wrong.status, Some(1), "{judged_wrong:?}");
    let stage =
        |glob: &str| format!("[[stage]]\nname = \"a\"\nvariant = \"{glob}\"\nrequire = ['latency_p50 <= 20']\n");
    let (judged_wrong, _) = judged(&place, &wrong, &stage("*"));
    assert_eq!(judged_wrong.status, Some(1), "{judged_wrong:?}");
    for rules in [fallback("twin"), stage("twin")] {
        let (refused, _) = judged(&place, &wrong, &rules);
        assert_eq!(refused.status, Some(2), "{refused:?}");
        assert!(refused.stderr.contains("matches no candidate"), "{}", refused.stderr);
    }
}

#[test]
fn a_fallback_reports_its_cost_and_junit_counts_it() {
    let place = Place::new();
    let run = stored("run").write(&place);
    let rules =
        gate("g", "latency_p50 <= 9") + "[fallback]\nvariant = \"THREADS=128\"\nrequire = ['latency_p50 <= 12']\n";
    let (taken, texts) = judged(&place, &run, &rules);
    assert_eq!(taken.status, Some(0), "{taken:?}");
    says_first(&texts, "The fallback THREADS=128 is used: latency_p50 11");
    says_first(&texts, "of the rejected 'THREADS=64' (+10.0 %)");
    says_first(&texts, "of the baseline 'twin'");
    let junit = std::fs::read_to_string(place.path().join("reports/copy/run/junit.xml")).unwrap();
    assert!(junit.contains("failures=\"1\"") && junit.contains("The fallback THREADS=128 is used"), "{junit}");
}

#[test]
fn noise_that_only_warns_hides_no_failure() {
    let place = Place::new();
    let few = |rounds: u32| format!("[bench]\nrounds = {rounds}\nmax_rounds = {rounds}\n");
    let warns = |limit: &str| gate("g", &format!("latency_p50 <= {limit}")) + "inconclusive = \"warn\"\n";
    // three samples have no interval, but fifty times the limit is not noise
    let three = Stored::new(&(phase() + &few(3)), "three").latency(|_, round| 10.0 + 0.1 * round as f64).write(&place);
    for limit in ["0.2", "30"] {
        let (judged, _) = judged(&place, &three, &(warns(limit) + &few(3)));
        assert_eq!(judged.status, Some(4), "{limit}: {judged:?}");
    }
    // after all rounds, the estimate decides
    let noisy = Stored::new(&(phase() + &few(60)), "noisy").latency(|_, round| 10.0 * (1.0 + 0.05 * wiggle(round, 1)));
    let noisy = noisy.write(&place);
    for (limit, status) in [("10.01", 0), ("9.99", 4)] {
        let (judged, _) = judged(&place, &noisy, &(warns(limit) + &few(60)));
        assert_eq!(judged.status, Some(status), "{limit}: {judged:?}");
    }
    // more rounds were allowed than measured
    let more = "[bench]\nrounds = 60\nmax_rounds = 240\n";
    let noisy = Stored::new(&(phase() + more), "more").latency(|_, round| 10.0 * (1.0 + 0.05 * wiggle(round, 1)));
    let noisy = noisy.write(&place);
    let (judged, _) = judged(&place, &noisy, &(warns("10.01") + more));
    assert_eq!(judged.status, Some(4), "{judged:?}");
}

#[test]
fn the_run_before_is_the_last_that_passed() {
    let place = Place::new();
    let rules = gate("g", "latency_p50 <= 1.02 * previous.latency_p50");
    calibrate(&place, &phase(), 0.2);
    let slower = |id: &str| Stored::new(&phase(), id).latency(|_, round| 11.0 * (1.0 + 0.001 * wiggle(round, 1)));
    let fast = Stored::new(&phase(), "a").latency(|_, round| 10.0 * (1.0 + 0.001 * wiggle(round, 1)));
    fast.write(&place);
    let failed = slower("bb").judged(Verdict::Fail).write(&place);
    assert_eq!(judged(&place, &failed, &rules).0.status, Some(1));
    let again = slower("ccc").write(&place);
    let (again, texts) = judged(&place, &again, &rules);
    assert_eq!(again.status, Some(1), "a run that failed is not what the next is measured by: {texts:?}");
}

#[test]
fn waivers_end_and_no_variable_revives_them() {
    let place = Place::new();
    let run = stored("run").write(&place);
    let waived = |reason: &str, expires: &str| {
        let waiver = format!("[[waiver]]\ngate = \"g\"\nreason = \"{reason}\"\nowner = \"ada\"\nexpires = {expires}\n");
        gate("g", "registers <= 32") + &waiver
    };
    let (long, _) = judged(&place, &run, &waived("a driver bug", "9999-12-31"));
    assert_eq!(long.status, Some(2), "{long:?}");
    assert!(long.stderr.contains("waiver[0].expires") && long.stderr.contains("366 days"), "{}", long.stderr);
    let (silent, _) = judged(&place, &run, &waived(".", &in_a_month()));
    assert_eq!(silent.status, Some(2), "{silent:?}");
    assert!(silent.stderr.contains("waiver[0].reason"), "{}", silent.stderr);
    let config = place.write("expired.toml", &(phase() + &waived("a driver bug", "2020-01-31")));
    let mut command = place.ncugate(&["gate", config.to_str().unwrap(), run.to_str().unwrap()]);
    let revived = Finished::of(command.env("SOURCE_DATE_EPOCH", "1577836800").env("TZ", "Pacific/Midway"));
    assert_eq!(revived.status, Some(1), "{revived:?}");
}

#[test]
fn a_staged_plan_selects_its_last_accepted_stage_and_an_early_end_is_not_its_end() {
    let place = Place::new();
    let run = stored("run").write(&place);
    let plan = |first: &str, second: &str, gain: &str, on_failure: &str| {
        format!(
            "[[stage]]\nname = \"a\"\nvariant = \"{first}\"\nrequire = ['registers <= 64']\n\
             [[stage]]\nname = \"b\"\nvariant = \"{second}\"\nexpect = [1.5, 2]\non_failure = \"{on_failure}\"\n\
             require = ['speedup(\"previous\") >= {gain}']\n"
        ) + &gate("goal", "latency_p50 <= 10.5 us")
    };
    // the faster stage is not kept: the plan selects the slower one, and the goal applies to it
    let (skipped, texts) = judged(&place, &run, &plan("THREADS=128", "THREADS=64", "1.5", "skip"));
    assert_eq!(skipped.status, Some(1), "{skipped:?}");
    says_first(&texts, "1 of 2 stages kept; 'b' is the first that was not (1.1× measured, 1.5× to 2× expected)");
    assert!(texts[1].contains("| large | THREADS=128 |"), "{}", texts[1]);
    // the gain is over the first kept stage, not over a rejected one
    let rejected =
        "[[stage]]\nname = \"zero\"\nvariant = \"THREADS=128\"\non_failure = \"skip\"\nrequire = ['registers <= 1']\n";
    let (_, texts) =
        judged(&place, &run, &(rejected.to_owned() + &plan("THREADS=128", "THREADS=64", "1.05", "revert")));
    says_first(&texts, "2 of 3 stages kept, 1.1× over 'a'; 'zero' is the first that was not");
    // kept: the goal applies to the kept stage and passes
    let (kept, texts) = judged(&place, &run, &plan("THREADS=128", "THREADS=64", "1.05", "revert"));
    assert_eq!(kept.status, Some(0), "{kept:?}");
    assert!(texts[1].contains("| large | **THREADS=64** |"), "{}", texts[1]);
    // a plan that ends early has not reached its goal, even if its last kept stage would pass
    let (ended, texts) = judged(&place, &run, &plan("THREADS=64", "THREADS=128", "1.5", "revert"));
    assert_eq!(ended.status, Some(1), "{ended:?}");
    assert!(texts[0].contains("the plan ended at stage 'b' and did not reach its final gates"), "{}", texts[0]);
    // a stage is not compared with itself
    let (same, _) = judged(&place, &run, &plan("THREADS=64", "*", "1", "skip"));
    assert_eq!(same.status, Some(4), "{same:?}");
}

#[test]
fn weakened_gates_are_on_the_first_screen() {
    let place = Place::new();
    let run = stored("run").write(&place);
    let waiver = |name: &str| {
        let until = in_a_month();
        format!("[[waiver]]\ngate = \"{name}\"\nreason = \"a driver bug\"\nowner = \"ada\"\nexpires = {until}\n")
    };
    let rules = gate("latency", "latency_p50 <= 10.5")
        + &gate("traffic", "registers <= 64")
        + "level = \"advisory\"\n"
        + &gate("lean", "registers <= 32")
        + &gate("leaner", "registers <= 16")
        + "inconclusive = \"warn\"\nshapes = [\"small\", \"large\"]\nat_least = 1\n"
        + "[[precondition]]\nrequire = \"S % 16 == 0\"\n"
        + &waiver("lean")
        + &waiver("leaner");
    let (loose, texts) = judged(&place, &run, &rules);
    assert_eq!(loose.status, Some(0), "{loose:?}");
    says_first(&texts, &format!("Of 4 gates, 1 is advisory, 2 are waived until {}", in_a_month()));
    says_first(&texts, "1 only warns about noise, 1 needs only some shapes");
    assert!(texts[0].contains("PASS 1 of 3 requirements holds, 2 are waived"), "{}", texts[0]);
    let config = place.write("check.toml", &(phase() + &rules));
    let checked = place.run(&["check", "--no-build", config.to_str().unwrap()]);
    assert!(checked.stdout.contains("of 4 gates, 1 is advisory"), "{checked:?}");
}

#[test]
fn limits_take_units_and_suspicious_ones_are_reported() {
    let place = Place::new();
    let run = stored("run").write(&place);
    for (require, status) in [
        ("latency_p50 <= 10.5 us", 0),
        ("latency_p50 <= 10.5 µs and registers <= 64 registers", 0),
        ("latency_p50 <= 0.0105 ms", 0),
        ("latency_p50 <= 9500 ns", 1),
        ("shared_mem <= 48 KiB", 0),
        ("theoretical_occupancy >= 1 % and latency_p50 < 1 ms", 0),
    ] {
        let (judged, _) = judged(&place, &run, &gate("g", require));
        assert!(judged.status == Some(status), "{require}: {judged:?}");
    }
    for (require, marked) in [
        ("latency_p50 <= 20 %", "^^^^"),
        ("registers <= 64 KiB", "^^^^^^"),
        ("speedup() >= 10 %", "^^^^"),
        ("latency_p50 <= 30us", "^^^^"),
        ("latency_p50 * registers <= 30 us", "^^^^^"),
    ] {
        let (refused, _) = judged(&place, &run, &gate("g", require));
        assert_eq!(refused.status, Some(2), "{require}: {refused:?}");
        assert!(refused.stderr.contains(marked) && refused.stderr.contains("gate[0].require"), "{}", refused.stderr);
    }
    for (require, said) in [
        ("theoretical_occupancy >= 0.2", "Check the units: 'g' compares theoretical_occupancy with 0.2 %"),
        ("latency_p50 <= 29650", "'g' compares latency_p50 with 29.65 ms"),
        ("shared_mem <= 48", "'g' compares shared_mem with 48 B"),
    ] {
        let (_, texts) = judged(&place, &run, &gate("g", require));
        says_first(&texts, said);
    }
}

#[test]
fn numbers_are_written_with_the_digits_in_which_they_differ() {
    let place = Place::new();
    let run = Stored::new(&phase(), "run").latency(|_, _| 29.6512).write(&place);
    let (failed, texts) = judged(&place, &run, &gate("g", "latency_p50 <= 29.65 us"));
    assert_eq!(failed.status, Some(1), "{failed:?}");
    assert!(texts[0].contains("29.651 µs, needs <= 29.65 µs"), "{}", texts[0]);
    assert!(texts[1].contains("| 29.651 µs (difference from the limit +0.0004 µs to +0.002 µs"), "{}", texts[1]);
}

#[test]
fn a_requirement_that_holds_by_the_order_of_its_metrics_is_refused_with_its_place() {
    let place = Place::new();
    let check = |require: &str| {
        place.write("phase.toml", &(phase() + &gate("order", require)));
        place.run(&["check", "phase.toml", "--no-build"])
    };
    for require in [
        "latency_p50 <= latency_p90",
        "latency_p50 <= 2 * latency_p95",
        "latency_min <= latency_mean",
        "latency_p90 >= latency_min",
        "dram_read_bytes <= dram_bytes",
        "dram_read_bytes + dram_write_bytes <= 1.5 * dram_bytes",
        "spill_instructions <= instructions",
        "theoretical_occupancy >= achieved_occupancy",
        "blocks_per_sm <= occupancy_limit_warps",
        "static_shared <= shared_mem",
        "eligible_warps <= active_warps",
        "stall_barrier <= warp_latency",
        "sm__warps_active.avg <= sm__warps_active.max",
    ] {
        let refused = check(require);
        assert_eq!(refused.status, Some(2), "{require}: {refused:?}");
        assert!(refused.stderr.contains("has the same result for every measurement"), "{require}: {refused:?}");
        assert!(refused.stderr.contains("--> phase.toml:"), "{require}: {refused:?}");
    }
    for require in [
        "latency_p90 <= 1.1 * latency_p50",
        "latency_p50 <= 0.99 * latency_p90",
        "dram_read_bytes <= 0.5 * dram_bytes",
        "achieved_occupancy >= 0.8 * theoretical_occupancy",
        "blocks_per_sm >= occupancy_limit_warps",
        "latency_p90 <= baseline.latency_p90",
    ] {
        assert_eq!(check(require).status, Some(0), "{require}");
    }
}
