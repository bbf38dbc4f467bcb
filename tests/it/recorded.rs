//! Phases judged and rendered from the shipped recordings, as on any machine without a GPU.

use crate::command::{Place, root};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Everything that phase D's recording needs, copied so that a test can damage it.
fn phase_d() -> Place {
    let place = Place::new();
    for path in ["configs/phase_d.toml", "kernels/baselines", "kernels/sdpa_scalar", "profiles/phase_d/h200"] {
        place.copy(path);
    }
    place
}

fn edit(place: &Place, name: &str, from: &str, to: &str) {
    let path = place.path().join(name);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{name} holds {from}");
    fs::write(path, text.replace(from, to)).unwrap();
}

const RUN: [&str; 4] = ["run", "configs/phase_d.toml", "--source", "recorded"];

fn report_folder(place: &Place) -> PathBuf {
    let mut folders = fs::read_dir(place.path().join("reports/phase_d")).unwrap();
    let folder = folders.next().unwrap().unwrap().path();
    assert!(folders.next().is_none());
    folder
}

#[test]
fn phase_d_fails_its_gates_and_says_which() {
    let place = Place::new();
    let finished = place.run_at_root(&RUN);
    assert_eq!(finished.status, Some(1), "{}", finished.stderr);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert!(lines.iter().any(|line| line.starts_with("recorded on NVIDIA H200")), "{}", finished.stdout);
    assert!(
        lines.iter().any(|line| line.starts_with("FAIL") && line.contains("theoretical occupancy")),
        "{}",
        finished.stdout
    );
    assert!(finished.stdout.contains("90 proven correct over"), "{}", finished.stdout);
    let last = finished.stdout.trim_end();
    assert!(last.rfind("\nFAIL ").is_some_and(|at| at > last.len() / 2), "the verdict comes last: {last}");
}

#[test]
fn a_report_has_its_four_files_and_they_agree() {
    let place = Place::new();
    place.run_at_root(&RUN);
    let folder = report_folder(&place);
    let results: Value = serde_json::from_str(&fs::read_to_string(folder.join("results.json")).unwrap()).unwrap();
    assert_eq!(results["verdict"], "fail");
    let variants = results["variants"].as_array().unwrap();
    assert_eq!(variants.iter().filter(|v| v["standing"] == "candidate").count(), 90);
    let junit = fs::read_to_string(folder.join("junit.xml")).unwrap();
    let failed = results["gates"].as_array().unwrap().iter().filter(|g| g["verdict"] == "fail").count();
    assert!(failed >= 1);
    assert!(junit.matches("<failure").count() >= failed, "{junit}");
    assert!(fs::read_to_string(folder.join("report.md")).unwrap().contains("Phase D: occupancy attack"));
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("Content-Security-Policy"));
    assert!(!page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org").count());
}

#[test]
fn the_same_recording_renders_to_the_same_bytes() {
    let (one, two) = (Place::new(), Place::new());
    for place in [&one, &two] {
        place.run_at_root(&RUN);
    }
    let svg = |place: &Place| {
        let charts = report_folder(place).join("charts");
        let mut files: Vec<_> = fs::read_dir(charts).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        files.iter().map(|path| fs::read_to_string(path).unwrap()).collect::<Vec<_>>()
    };
    assert!(!svg(&one).is_empty());
    assert_eq!(svg(&one), svg(&two));
}

#[test]
fn without_a_gpu_auto_takes_the_recording_and_says_so() {
    let place = Place::new();
    let finished = place.run_at_root(&["run", "configs/phase_d.toml"]);
    assert_eq!(finished.status, Some(1));
    assert!(finished.stderr.starts_with("not measuring: no GPU to measure on"), "{}", finished.stderr);
    let asked = place.run_at_root(&["run", "configs/phase_d.toml", "--source", "gpu"]);
    assert_eq!(asked.status, Some(3));
    assert!(asked.stderr.contains("no GPU to measure on"), "{}", asked.stderr);
}

#[test]
fn json_goes_to_standard_output_alone() {
    let finished =
        Place::new().run_at_root(&["run", "configs/phase_d.toml", "--source", "recorded", "--format", "json"]);
    let results: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(results["schema"], 1);
    assert_eq!(results["verdict"], "fail");
}

#[test]
fn a_variant_that_was_not_recorded_is_named() {
    let place = phase_d();
    edit(&place, "configs/phase_d.toml", "REGCAP = [64,", "REGCAP = [56, 64,");
    let finished = place.run(&RUN);
    assert_eq!(finished.status, Some(3), "{}", finished.stdout);
    assert!(finished.stderr.contains("no variant 'REGCAP=56,THREADS=128,TILE_M=32,K_TILE=16'"), "{}", finished.stderr);
}

#[test]
fn a_kernel_that_was_edited_since_is_not_judged_by_its_past() {
    let place = phase_d();
    let source = place.path().join("kernels/sdpa_scalar/sdpa_scalar.cu");
    fs::write(&source, fs::read_to_string(&source).unwrap() + "\n// edited\n").unwrap();
    let finished = place.run(&RUN);
    assert_eq!(finished.status, Some(3), "{}", finished.stdout);
    assert!(finished.stderr.contains("an older 'kernels/sdpa_scalar/sdpa_scalar.cu'"), "{}", finished.stderr);
    let gate = place.run(&["gate", "configs/phase_d.toml", "profiles/phase_d/h200"]);
    assert_eq!(gate.status, Some(3), "{}", gate.stdout);
    assert!(gate.stderr.contains("an older"), "{}", gate.stderr);
}

#[test]
fn a_recommendation_has_the_speedup_of_its_own_variant() {
    let place = Place::new();
    let folder = |name: &str| root().join(name).to_str().unwrap().to_owned();
    let (config, profile) = (folder("configs/attention_f16.toml"), folder("profiles/attention_f16/h200"));
    let judged = place.run(&["gate", &config, &profile, "--format", "json"]);
    let results: Value = serde_json::from_str(&judged.stdout).unwrap();
    let sentence = results["use"]["sentence"].as_str().unwrap();
    assert_eq!(results["selected"], "d128", "{sentence}");
    assert!(sentence.starts_with("Use short_d64 at prompt_128_d64"), "{sentence}");
    assert!(sentence.ends_with("× faster than torch_default at batch_512_d128."), "{sentence}");
    assert!(sentence.contains(". d128 is 1."), "{sentence}");
}

#[test]
fn a_shape_with_only_advisory_gates_recommends_their_variant() {
    let place = Place::new();
    place.copy("kernels");
    place.copy("configs/attention_bf16.toml");
    let config = place.path().join("configs/attention_bf16.toml");
    let text = fs::read_to_string(&config).unwrap();
    let (head, gates) = text.split_once("[[gate]]").unwrap();
    let (required, advisory) = gates.split_once("# Not required").unwrap();
    let elsewhere = required
        .replace("\"context_*\"", "\"context_1024_d128\", \"context_2048_*\", \"context_8192_*\"")
        .replace("\"context_*_d64\"", "\"context_2048_d64\"");
    let advisory = advisory.replacen("on = \"d128\"", "on = \"each\"", 1);
    let advisory = advisory.replacen("\"batch_512_d128\"", "\"batch_512_d128\", \"context_1024_d64\"", 1);
    fs::write(&config, format!("{head}[[gate]]{elsewhere}# Not required{advisory}")).unwrap();
    let profile = root().join("profiles/attention_bf16/h200");
    let judged = place.run(&["gate", config.to_str().unwrap(), profile.to_str().unwrap(), "--format", "json"]);
    let results: Value = serde_json::from_str(&judged.stdout).unwrap();
    let shapes = results["use"]["shapes"].as_array().unwrap();
    let used = shapes.iter().find(|shape| shape["shape"] == "context_1024_d64").unwrap();
    assert_eq!((&used["variant"], &used["best"]), (&"d64".into(), &"d64".into()), "{used}");
    assert_eq!(used["judged_by"][0], "10 % faster than PyTorch, 512 tiles of 128 dimensions", "{used}");
}

#[test]
fn a_metric_that_was_not_recorded_is_named() {
    let place = phase_d();
    edit(&place, "configs/phase_d.toml", "require = \"spills == 0\"", "require = \"l2_hit_pct >= 50\"");
    let finished = place.run(&RUN);
    assert_eq!(finished.status, Some(3), "{}", finished.stdout);
    assert!(finished.stderr.contains("no counter 'lts__t_sector_hit_rate.pct'"), "{}", finished.stderr);
}

#[test]
fn a_recommendation_has_the_numbers_of_its_gates() {
    let place = Place::new();
    let folder = |name: &str| root().join(name).to_str().unwrap().to_owned();
    let (config, profile) = (folder("configs/sdpa_fast.toml"), folder("profiles/sdpa_fast/h200"));
    let judged = place.run(&["gate", &config, &profile, "--format", "json"]);
    let results: Value = serde_json::from_str(&judged.stdout).unwrap();
    let gates = results["gates"].as_array().unwrap();
    let speedup = gates.iter().find(|gate| gate["name"] == "10 % faster than PyTorch, mission").unwrap();
    let times = (speedup["measured"].as_f64().unwrap() * 100.0).round() / 100.0;
    let sentence = results["use"]["sentence"].as_str().unwrap();
    assert!(sentence.ends_with(&format!("The first is {times}× faster than sdpa_default at mission.")), "{sentence}");
    assert!(sentence.contains("at mission (4.50 µs); wide_grid at medium and large (13.5 µs at medium"), "{sentence}");
}

/// ncu's SM busy is 40 % for the whole grid, below the target, like the serial grid.
#[test]
fn the_time_that_multiprocessors_have_work_tells_a_serial_grid_from_a_whole_one() {
    let place = Place::new();
    let judged = place.run_at_root(&["run", "configs/v3_report.toml", "--source", "recorded", "--format", "json"]);
    assert_eq!(judged.status, Some(1), "{}", judged.stderr);
    let results: Value = serde_json::from_str(&judged.stdout).unwrap();
    let variants = results["variants"].as_array().unwrap();
    let active = |name: &str| {
        let variant = variants.iter().find(|variant| variant["id"] == name).unwrap();
        variant["shapes"]["batches_causal0_bfloat0"]["values"]["sm_active_pct"].as_f64().unwrap()
    };
    assert!(active("serial") < 70.0 && active("whole_grid") >= 70.0, "{} {}", active("serial"), active("whole_grid"));
    let gate = results["gates"].as_array().unwrap().iter().find(|gate| gate["name"] == "multiprocessors busy").unwrap();
    assert_eq!(gate["verdict"], "fail", "{gate}");
    let cautions = results["cautions"].to_string();
    assert!(!cautions.contains("Check the units"), "{cautions}");
}

/// A percentile of samples has no interval against a baseline. Its difference is shown as neither better nor worse.
#[test]
fn a_difference_without_a_spread_has_no_verdict() {
    let place = Place::new();
    let judged = place.run_at_root(&["run", "configs/phase_d.toml", "--source", "recorded", "--format", "json"]);
    let results: Value = serde_json::from_str(&judged.stdout).unwrap();
    let delta = results["deltas"].as_array().unwrap().iter().find(|delta| delta["against"] == "sdpa_flash").unwrap();
    let judged = |metric: &str| delta["metrics"][metric]["judged"].as_str().unwrap();
    for unspread in ["latency_p90", "latency_mean", "latency_min"] {
        assert_eq!(judged(unspread), "", "{unspread}: {delta}");
    }
    for (known, word) in [("latency_p50", "worse"), ("tflops", "worse"), ("registers", "better")] {
        assert_eq!(judged(known), word, "{known}: {delta}");
    }
}

/// The recording has the table's counters of its libraries at the shape that the phase profiles.
#[test]
fn a_shape_that_is_not_profiled_is_the_reason_of_an_absent_counter() {
    let place = Place::new();
    let judged = place.run_at_root(&["run", "configs/phase_d.toml", "--source", "recorded", "--format", "json"]);
    let results: Value = serde_json::from_str(&judged.stdout).unwrap();
    let variants = results["variants"].as_array().unwrap();
    let library = variants.iter().find(|variant| variant["id"] == "sdpa_flash").unwrap();
    let shapes = library["shapes"].as_object().unwrap();
    assert!(shapes["mission"]["values"]["achieved_occupancy"].is_number(), "{library}");
    let reason = &shapes["small"]["missing"]["achieved_occupancy"];
    assert_eq!(reason, "not collected at shape 'small': `[profile] shapes` does not list it");
}

/// The recording has the counters of PyTorch's kernels.
#[test]
fn a_recorded_library_has_counters_for_gates_and_for_the_comparison() {
    let place = Place::new();
    let config = "configs/triton_attention.toml";
    for path in [config, "kernels/triton", "kernels/sdpa_fast", "kernels/baselines", "profiles/triton_attention/h200"] {
        place.copy(path);
    }
    let gate = |name: &str, factor: &str| {
        format!("[[gate]]\nname = \"{name}\"\nrequire = \"eligible_warps > {factor} * torch_flash.eligible_warps\"\n")
    };
    let text = fs::read_to_string(place.path().join(config)).unwrap();
    place.write(config, &format!("{text}\n{}{}", gate("some", "0.01"), gate("many", "100")));
    let judged = place.run(&["run", config, "--source", "recorded", "--format", "json"]);
    let results: Value = serde_json::from_str(&judged.stdout).unwrap();
    let named = |list: &str, key: &str, name: &str| {
        results[list].as_array().unwrap().iter().find(|item| item[key] == name).unwrap().clone()
    };
    assert_eq!(named("gates", "name", "some")["verdict"], "pass", "{judged:?}");
    assert_eq!(named("gates", "name", "many")["verdict"], "fail");
    let values = &named("variants", "id", "torch_flash")["shapes"]["large"]["values"];
    for counter in ["theoretical_occupancy", "achieved_occupancy", "eligible_warps", "issue_slot_utilisation"] {
        assert!(values[counter].is_number(), "{counter}: {values}");
    }
    let report = fs::read_dir(place.path().join("reports/triton_attention")).unwrap().next().unwrap().unwrap().path();
    let report = fs::read_to_string(report.join("report.md")).unwrap();
    let limited = report.lines().find(|line| line.starts_with("Blocks per SM limited by")).unwrap();
    assert!(limited.contains("registers, shared_mem"), "{limited}");
}

#[test]
fn gates_may_change_after_the_measurement() {
    let place = phase_d();
    edit(
        &place,
        "configs/phase_d.toml",
        "require = \"theoretical_occupancy >= 33\"",
        "require = \"theoretical_occupancy >= 25\"",
    );
    let finished = place.run(&RUN);
    assert_eq!(finished.status, Some(1), "{}", finished.stderr);
    assert!(finished.stdout.lines().any(|line| line.starts_with("pass") && line.contains("theoretical occupancy")));
}

#[test]
fn a_damaged_report_is_an_error_that_names_it() {
    let place = phase_d();
    let report =
        fs::read_dir(place.path().join("profiles/phase_d/h200/reports")).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&report).unwrap();
    fs::write(&report, &bytes[..bytes.len() / 2]).unwrap();
    let finished = place.run(&RUN);
    assert_eq!(finished.status, Some(3), "{}", finished.stdout);
    assert!(finished.stderr.contains(&*report.file_name().unwrap().to_string_lossy()), "{}", finished.stderr);
}

#[test]
fn a_report_folder_that_cannot_be_written_is_found_out_first() {
    let place = phase_d();
    place.write("reports", "a file");
    let finished = place.run(&RUN);
    assert_eq!(finished.status, Some(3));
    assert!(finished.stderr.contains("reports"), "{}", finished.stderr);
}

#[test]
fn a_recording_can_be_judged_by_name_and_rendered_again() {
    let place = Place::new();
    let gate = place.run_at_root(&["gate", "configs/phase_d.toml", "profiles/phase_d/h200"]);
    assert_eq!(gate.status, Some(1), "{}", gate.stderr);
    let report = place.run_at_root(&["page", "profiles/phase_d/h200"]);
    assert_eq!(report.status, Some(1), "{}", report.stderr);
    let none = place.run_at_root(&["gate", "configs/phase_d.toml", "configs"]);
    assert_eq!(none.status, Some(3));
    assert!(none.stderr.contains("configs is not a run: it has no manifest.json"), "{}", none.stderr);
}

/// The phases of `profiles/` with a recording on this GPU.
fn recorded_on(gpu: &str) -> Vec<String> {
    let phases = fs::read_dir(root().join("profiles")).unwrap();
    let phases = phases.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    phases.filter(|phase| root().join(format!("profiles/{phase}/{gpu}/manifest.json")).is_file()).collect()
}

#[test]
fn every_shipped_recording_is_judged_without_a_gpu() {
    let place = Place::new();
    let phases = recorded_on("h200");
    for phase in &phases {
        let finished = place.run_at_root(&["run", &format!("configs/{phase}.toml"), "--source", "recorded"]);
        assert!(matches!(finished.status, Some(0 | 1)), "{phase}: {}", finished.stderr);
    }
    assert_eq!(phases.len(), 21, "{phases:?}");
}

#[test]
fn a_phase_has_the_same_verdict_on_both_chips() {
    let place = Place::new();
    let phases = recorded_on("h100");
    for phase in &phases {
        let gate = |gpu: &str| {
            let run = format!("profiles/{phase}/{gpu}");
            let judged = place.run_at_root(&["gate", &format!("configs/{phase}.toml"), &run, "--format", "json"]);
            let results: Value = serde_json::from_str(&judged.stdout).unwrap();
            let gates = results["gates"].as_array().unwrap().iter();
            let required: Vec<(Value, Value)> = gates
                .filter(|gate| gate["level"] == "required")
                .map(|gate| (gate["name"].clone(), gate["verdict"].clone()))
                .collect();
            assert!(!required.is_empty(), "{phase}");
            (judged.status, results["verdict"].clone(), results["selected"].clone(), required)
        };
        assert_eq!(gate("h100"), gate("h200"), "{phase}");
    }
    assert_eq!(phases.len(), 4, "{phases:?}");
}

/// Both recordings have the machine code of the same commit.
#[test]
fn a_comparison_of_two_chips_names_them_and_says_which_values_compare_the_code() {
    let place = Place::new();
    let recordings = ["profiles/phase_d/h200", "profiles/phase_d/h100"];
    let compare = |more: &[&str]| {
        let args = [&["compare"], &recordings[..], more].concat();
        crate::command::Finished::of(place.ncugate(&args).current_dir(root()))
    };
    let compared = compare(&[]);
    assert_eq!(compared.status, Some(0), "{compared:?}");
    let text = compared.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "note: another GPU: NVIDIA H200 (compute capability 9.0, 132 SMs, 140 GiB), then NVIDIA H100 80GB HBM3",
        "note: latencies, rates and cache hits compare the GPUs too; registers, shared memory and instructions the code alone",
        "Verdict Fail on both sides; 92 pairs timed on both sides: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json: Value = serde_json::from_str(&compare(&["--format", "json"]).stdout).unwrap();
    let pairs = json["pairs"].as_array().unwrap();
    let registers =
        pairs.iter().flat_map(|pair| pair["rows"].as_array().unwrap()).filter(|row| row["metric"] == "registers");
    assert!(registers.clone().count() >= 90, "{json}");
    assert!(registers.into_iter().all(|row| row["other"] == row["selected"]), "{json}");
}
