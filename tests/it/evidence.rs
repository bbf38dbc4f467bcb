//! Changed, mixed-up or foreign evidence never passes.

use crate::command::{Finished, Place, wait_for};
use crate::concurrent::start;
use crate::live::{GOOD, machine_of_program, machine_that_counts};
use crate::stored::{Stored, reseal, wiggle};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Two candidates with required gates on latency and registers that pass.
const PHASE: &str = concat!(
    include_str!("../data/copy.toml"),
    r#"
[sweep]
THREADS = [64, 128]
[[gate]]
name = "latency"
require = "latency_p50 <= 10.5"
[[gate]]
name = "registers"
require = "registers <= 64"
"#
);
const RUN: &str = "profiles/copy/run";

fn passing() -> Stored {
    Stored::new(PHASE, "run").latency(|_, round| 10.0 * (1.0 + 0.01 * wiggle(round, 1)))
}

/// A place with a run that passes.
fn place() -> Place {
    let place = Place::new();
    passing().write(&place);
    place
}

fn gate(place: &Place) -> Finished {
    place.write("phase.toml", PHASE);
    place.run(&["gate", "phase.toml", RUN])
}

/// A place with a run, judged.
fn judged(stored: &Stored) -> Finished {
    let place = Place::new();
    stored.write(&place);
    gate(&place)
}

fn edit(place: &Place, name: &str, change: impl FnOnce(String) -> String) {
    let path = place.path().join(name);
    let text = fs::read_to_string(&path).unwrap();
    let changed = change(text.clone());
    assert_ne!(text, changed, "{name} is changed");
    fs::write(path, changed).unwrap();
}

fn edit_json(place: &Place, name: &str, change: impl FnOnce(&mut Value)) {
    edit(place, name, |text| {
        let mut value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        serde_json::to_string_pretty(&value).unwrap()
    });
}

/// Changes every record of a journal.
fn edit_records(place: &Place, name: &str, change: impl Fn(&mut Value)) {
    edit(place, name, |text| {
        let record = |line: &str| {
            let mut record = serde_json::from_str(line).unwrap();
            change(&mut record);
            format!("{record}\n")
        };
        text.lines().map(record).collect()
    });
}

#[test]
fn an_unchanged_run_passes_as_a_run_and_as_a_recording() {
    let place = place();
    assert_eq!(gate(&place).status, Some(0), "{:?}", gate(&place));
    assert_eq!(place.run(&["tools", "record", RUN, "-o", "kept"]).status, Some(0));
    let kept = place.run(&["gate", "phase.toml", "kept"]);
    assert_eq!(kept.status, Some(0), "{kept:?}");
}

#[test]
fn a_file_of_a_run_that_was_changed_is_named() {
    type Tamper = (&'static str, fn(&Place));
    let tampered: [Tamper; 8] = [
        ("latencies.jsonl", |place| {
            edit_records(place, &format!("{RUN}/latencies.jsonl"), |record| {
                for sample in record["outcome"]["samples"].as_array_mut().unwrap() {
                    *sample = json!(sample.as_f64().unwrap() * 0.9);
                }
            });
        }),
        ("checks.jsonl", |place| {
            edit_records(place, &format!("{RUN}/checks.jsonl"), |record| {
                record["outcome"]["differences"]["compared"] = json!(1);
                record["outcome"]["differences"]["max_abs"] = json!(0.0);
            });
        }),
        ("builds.jsonl", |place| {
            edit(place, &format!("{RUN}/builds.jsonl"), |text| format!("{}\n", text.lines().next().unwrap()));
        }),
        ("phase.toml", |place| edit(place, &format!("{RUN}/phase.toml"), |text| format!("{text}# edited\n"))),
        ("plan.json", |place| edit(place, &format!("{RUN}/plan.json"), |text| format!("{text}\n"))),
        ("workload.json", |place| edit(place, &format!("{RUN}/workload.json"), |text| format!("{text}\n"))),
        ("profiles.jsonl", |place| fs::remove_file(place.path().join(RUN).join("profiles.jsonl")).unwrap()),
        ("reports/other-1.ncu-rep", |place| {
            fs::write(place.path().join(RUN).join("reports/other-1.ncu-rep"), "a report of another phase").unwrap();
        }),
    ];
    for (name, tamper) in tampered {
        let place = place();
        place.write(&format!("{RUN}/reports/other-1.ncu-rep"), "a report");
        reseal(&place.path().join(RUN));
        assert_eq!(gate(&place).status, Some(0), "before {name} is changed");
        tamper(&place);
        for command in [&["gate", "phase.toml", RUN][..], &["page", RUN], &["tools", "record", RUN, "-o", "kept"]] {
            let refused = place.run(command);
            assert_eq!(refused.status, Some(3), "{name}: {refused:?}");
            assert!(refused.stderr.contains(name), "{name}: {}", refused.stderr);
        }
    }
}

#[test]
fn a_manifest_that_was_changed_is_not_read() {
    let changes: [fn(&mut Value); 7] = [
        |manifest| manifest["config_sha256"] = json!("0"),
        |manifest| manifest["plan_sha256"] = json!("0"),
        |manifest| manifest["git"] = json!({"commit": "0", "dirty": false}),
        |manifest| manifest["fingerprint"]["gpu"]["name"] = json!("NVIDIA B9000"),
        |manifest| manifest["fingerprint"]["driver"] = Value::Null,
        |manifest| manifest["started"] = json!("1999-01-01T00:00:00Z"),
        |manifest| manifest["inputs"] = json!({}),
    ];
    for change in changes {
        let place = place();
        edit_json(&place, &format!("{RUN}/manifest.json"), change);
        let refused = gate(&place);
        assert_eq!(refused.status, Some(3), "{refused:?}");
        assert!(refused.stderr.contains("manifest.json was changed"), "{}", refused.stderr);
    }
}

#[test]
fn a_journal_added_to_a_recording_is_not_read() {
    let place = place();
    place.write("phase.toml", PHASE);
    assert_eq!(place.run(&["tools", "record", RUN, "-o", "kept"]).status, Some(0));
    fs::copy(place.path().join(RUN).join("checks.jsonl"), place.path().join("kept/checks.jsonl")).unwrap();
    let refused = place.run(&["gate", "phase.toml", "kept"]);
    assert_eq!(refused.status, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("kept/checks.jsonl was added after"), "{}", refused.stderr);
}

#[test]
fn a_run_that_does_not_list_its_files_is_shown_and_does_not_pass() {
    let place = place();
    edit_json(&place, &format!("{RUN}/manifest.json"), |manifest| {
        manifest.as_object_mut().unwrap().remove("seal");
    });
    let withheld = gate(&place);
    assert_eq!(withheld.status, Some(4), "{withheld:?}");
    assert!(withheld.stdout.contains("not sealed"), "{}", withheld.stdout);
    // recording the run does not seal it either
    assert_eq!(place.run(&["tools", "record", RUN, "-o", "kept"]).status, Some(0));
    assert_eq!(place.run(&["gate", "phase.toml", "kept"]).status, Some(4));
    // a failure remains a failure
    let failing = Place::new();
    passing().registers(70).write(&failing);
    edit_json(&failing, &format!("{RUN}/manifest.json"), |manifest| {
        manifest.as_object_mut().unwrap().remove("seal");
    });
    assert_eq!(gate(&failing).status, Some(1));
}

#[test]
fn an_unfinished_run_is_not_sealed_and_does_not_pass() {
    let unfinished = judged(&passing().state(ncugate_judge::store::RunState::Interrupted));
    assert_eq!(unfinished.status, Some(4), "{unfinished:?}");
}

#[test]
fn samples_that_are_not_times_do_not_pass() {
    for us in [-1.0, 0.0, 1e-300, 1e12] {
        let refused = judged(&Stored::new(PHASE, "run").latency(move |_, _| us));
        assert_ne!(refused.status, Some(0), "{us}: {refused:?}");
        assert!(!refused.stdout.contains("\nPASS"), "{us}: {}", refused.stdout);
    }
    // one of many is enough
    let one = judged(&passing().latency(|_, round| if round == 7 { -1.0 } else { 10.0 }));
    assert_eq!(one.status, Some(4), "{one:?}");
    assert!(one.stdout.contains("is not a latency"), "{}", one.stdout);
}

#[test]
fn fewer_samples_than_the_phase_asks_for_do_not_pass() {
    let few = judged(&passing().rounds(6));
    assert_eq!(few.status, Some(4), "{few:?}");
    let words: Vec<&str> = few.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("6 of 60 rounds"), "{}", few.stdout);
}

#[test]
fn a_command_that_gives_fewer_samples_than_it_is_asked_for_does_not_pass() {
    let few = GOOD.replace("10.001 0.001 10.060", "10.001 0.001 10.006");
    assert_ne!(few, GOOD);
    let (place, variables) = machine_of_program(&few);
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(4), "{finished:?}");
    assert!(finished.stdout.contains("6 of 60 rounds"), "{}", finished.stdout);
}

#[test]
fn a_wrong_record_is_not_healed_by_a_right_one() {
    type Wrong = (&'static str, fn(&mut Value));
    let wrong: [Wrong; 3] = [
        ("checks.jsonl", |record| record["outcome"] = json!({"status": "crashed", "reason": "a hang"})),
        ("checks.jsonl", |record| {
            let differences = json!({"max_abs": 1.0, "rel_l2": 1.0, "nonfinite": 0, "compared": 2048});
            record["outcome"] =
                json!({"status": "wrong", "differences": differences, "reason": "far off", "defects": []});
        }),
        ("latencies.jsonl", |record| record["outcome"] = json!({"status": "failed", "reason": "crashed while timed"})),
    ];
    for (name, change) in wrong {
        let place = place();
        edit(&place, &format!("{RUN}/{name}"), |text| {
            let record = |line: &str| {
                let mut record = serde_json::from_str(line).unwrap();
                change(&mut record);
                format!("{record}\n")
            };
            text.lines().map(record).collect::<String>() + &text
        });
        reseal(&place.path().join(RUN));
        let refused = gate(&place);
        assert!(matches!(refused.status, Some(1 | 4)), "{name}: {refused:?}");
    }
}

#[test]
fn a_value_beyond_the_peak_of_the_chip_is_refused() {
    let text = PHASE.replace("[workload.shapes]", "flops = \"1e15\"\n[workload.shapes]");
    let place = Place::new();
    Stored::new(&text, "run").write(&place);
    place.write("phase.toml", &text);
    let refused = place.run(&["gate", "phase.toml", RUN]);
    assert_eq!(refused.status, Some(4), "{refused:?}");
    assert!(refused.stdout.contains("faster than the chip's peak"), "{}", refused.stdout);
}

#[test]
fn another_way_to_measure_is_another_measurement() {
    let settings = [
        ("bench.rounds", "[bench]\nrounds = 30\n"),
        ("bench.min_sample", "[bench]\nmin_sample_us = 100000\n"),
        ("bench.buffer_sets", "[bench]\nbuffer_sets = 64\n"),
        ("bench.max_launches", "[bench]\nmax_launches = 1\n"),
        ("bench.warmup", "[bench]\nwarmup = 99\n"),
        ("build.arch", "[build]\narch = \"sm_100a\"\n"),
        ("build.nvcc", "[build]\nnvcc = \"/opt/other/nvcc\"\n"),
        ("profile.repeat", "[profile]\nrepeat = 10\n"),
    ];
    let place = place();
    for (name, table) in settings {
        place.write("other.toml", &format!("{PHASE}{table}"));
        let refused = place.run(&["gate", "other.toml", RUN]);
        assert_eq!(refused.status, Some(3), "{name}: {refused:?}");
        assert!(refused.stderr.contains(name), "{name}: {}", refused.stderr);
    }
    // a wait timeout is not part of the measurement
    place.write("other.toml", &format!("{PHASE}[bench]\ntimeout_s = 7\n"));
    let patient = place.run(&["gate", "other.toml", RUN]);
    assert_eq!(patient.status, Some(0), "{patient:?}");
}

/// A place with a shipped recording and all its inputs.
fn shipped(phase: &str) -> Place {
    let place = Place::new();
    for path in [&format!("configs/{phase}.toml"), "kernels", &format!("profiles/{phase}/h200")] {
        place.copy(path);
    }
    place
}

fn replayed(place: &Place, phase: &str) -> Finished {
    place.run(&["run", &format!("configs/{phase}.toml"), "--source", "recorded"])
}

#[test]
fn a_recording_with_changed_inputs_is_not_judged() {
    type Change = (&'static str, &'static str, fn(&Path));
    let changes: [Change; 5] = [
        ("sdpa_fast", "kernels/sdpa_fast/sdpa_fast.cu', which cannot be read", |root| {
            fs::remove_dir_all(root.join("kernels")).unwrap();
        }),
        ("stage_c", "kernels/sdpa_fast/ptx.cuh", |root| {
            fs::write(root.join("kernels/sdpa_fast/ptx.cuh"), "#error\n").unwrap();
        }),
        ("sdpa_fast", "kernels/baselines/torch_attention.py", |root| {
            let text = "raise SystemExit(\"sabotaged\")\n";
            fs::write(root.join("kernels/baselines/torch_attention.py"), text).unwrap();
        }),
        ("sdpa_fast", "kernels/baselines/torch_attention.py', which cannot be read", |root| {
            fs::remove_file(root.join("kernels/baselines/torch_attention.py")).unwrap();
        }),
        ("sdpa_fast", "kernels/sdpa_fast/new.cuh", |root| {
            fs::write(root.join("kernels/sdpa_fast/new.cuh"), "\n").unwrap();
        }),
    ];
    for (phase, named, change) in changes {
        let place = shipped(phase);
        let before = replayed(&place, phase);
        assert_ne!(before.status, Some(3), "{phase}: {before:?}");
        change(place.path());
        let recording = format!("profiles/{phase}/h200");
        let gate = place.run(&["gate", &format!("configs/{phase}.toml"), &recording]);
        for refused in [replayed(&place, phase), gate] {
            assert_eq!(refused.status, Some(3), "{named}: {refused:?}");
            assert!(refused.stderr.contains(named), "{named}: {}", refused.stderr);
        }
    }
}

/// A kernel reads a header in the second of three folders, which flags and a variable name, and asks for one that no folder has.
fn machine_of_headers() -> (Place, Vec<(&'static str, String)>) {
    let (place, mut variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
    let source = fs::read_to_string(place.path().join("copy.cu")).unwrap();
    // Directives are comments to the double's compiler.
    let asked = "#include \"lib/impl.cuh\"\n#if __has_include(<extra.cuh>)\n#endif\n";
    place.write("copy.cu", &format!("{asked}{source}"));
    place.write("inc/b/lib/impl.cuh", "");
    for folder in ["inc/a", "inc/early"] {
        fs::create_dir_all(place.path().join(folder)).unwrap();
    }
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let flags = "entry = \"copy\"\nflags = [\"-Iinc/a\", \"-isystem=inc/b\"]\n";
    place.write("phase.toml", &phase.replace("entry = \"copy\"\n", flags));
    let nvcc = fs::read_to_string(place.path().join("bin/nvcc")).unwrap();
    let rule = "echo compiled >> compiled; echo \"cubin: $source inc/b/lib/impl.cuh\"";
    place.write_program("bin/nvcc", &nvcc.replace("echo \"cubin: $source\"", rule));
    variables.push(("CPATH", "inc/early".to_owned()));
    variables.push(("NCUGATE_CACHE", place.path().join("cache").display().to_string()));
    (place, variables)
}

/// Neither a stored run nor a cached cubin is of the code that would be compiled now.
#[test]
fn a_header_that_would_be_read_in_place_of_another_is_a_change_when_it_is_added() {
    let (place, variables) = machine_of_headers();
    let timeout = Duration::from_secs(100);
    let run = |args: &[&str]| Finished::of(place.ncugate(args).envs(variables.clone()).timeout(timeout));
    let finished = run(&["run", "phase.toml", "--source", "gpu"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let folder = fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    let folder = folder.to_str().unwrap();
    let compiled = || fs::read_to_string(place.path().join("compiled")).unwrap().lines().count();
    let judged = || (run(&["gate", "phase.toml", folder]), run(&["check", "phase.toml"]));
    // Folders of the name, headers of other names, and folders that are searched later.
    place.write("inc/a/lib/other.cuh", "");
    place.write("inc/b/lib/other.cuh", "");
    let before = compiled();
    let (gate, check) = judged();
    assert_eq!((gate.status, check.status, compiled()), (Some(0), Some(0), before), "{gate:?}");
    for added in
        ["inc/a/lib/impl.cuh", "inc/early/lib/impl.cuh", "lib/impl.cuh", "inc/b/extra.cuh", "inc/a/cuda_runtime.h"]
    {
        let path = place.write(added, "");
        let before = compiled();
        let (gate, check) = judged();
        assert_eq!(gate.status, Some(3), "{added}: {gate:?}");
        assert!(gate.stderr.contains(&format!("no '{added}'")), "{added}: {}", gate.stderr);
        assert_eq!((check.status, compiled()), (Some(0), before + 1), "{added}: {check:?}");
        fs::remove_file(path).unwrap();
    }
    assert_eq!(judged().0.status, Some(0));
}

/// Unpacks a journal of a recording, changes it and reseals the recording.
fn forge(place: &Place, recording: &str, name: &str, change: impl FnOnce(String) -> String) {
    let path = place.path().join(recording).join(name);
    let text = String::from_utf8(zstd::decode_all(fs::File::open(&path).unwrap()).unwrap()).unwrap();
    fs::write(&path, zstd::encode_all(change(text).as_bytes(), 1).unwrap()).unwrap();
    reseal(&place.path().join(recording));
}

#[test]
fn a_profile_that_failed_gives_no_values_although_its_report_is_there() {
    let place = shipped("sdpa_fast");
    place.write(
        "configs/sdpa_fast.toml",
        &(fs::read_to_string(place.path().join("configs/sdpa_fast.toml")).unwrap()
            + "\n[[gate]]\nname = \"counted\"\nrequire = \"duration >= 1\"\non = \"selected\"\n"),
    );
    let gate = |place: &Place| {
        let page = place.run(&["gate", "configs/sdpa_fast.toml", "profiles/sdpa_fast/h200", "--format", "json"]);
        let results: Value = serde_json::from_str(&page.stdout).unwrap();
        let gates = results["gates"].as_array().unwrap();
        gates.iter().find(|gate| gate["name"] == "counted").unwrap()["verdict"].clone()
    };
    assert_eq!(gate(&place), "pass");
    forge(&place, "profiles/sdpa_fast/h200", "profiles.jsonl.zst", |text| {
        let last = text.lines().last().unwrap();
        let record = |line: &str| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            if line != last {
                record["outcome"] = json!({"status": "failed", "reason": "ncu crashed"});
            }
            format!("{record}\n")
        };
        text.lines().map(record).collect()
    });
    assert_ne!(gate(&place), "pass");
}

#[test]
fn a_report_of_another_phase_is_noticed() {
    let place = shipped("sdpa_fast");
    place.copy("profiles/sdpa_fast_causal/h200");
    let report = "h200/reports/launched-0-core-1.ncu-repz";
    fs::copy(
        place.path().join("profiles/sdpa_fast_causal").join(report),
        place.path().join("profiles/sdpa_fast").join(report),
    )
    .unwrap();
    let refused = replayed(&place, "sdpa_fast");
    assert_eq!(refused.status, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("launched-0-core-1.ncu-repz"), "{}", refused.stderr);
}

/// A run of an external command, killed during the first call of the command.
fn killed(script: &str) -> (Place, Vec<(&'static str, String)>) {
    let (place, variables) =
        machine_of_program(&format!("[ -e worked ] || {{ touch worked; exec sleep 40.0909; }}\n{script}"));
    place.write("library.sh", "true\n");
    let mut child = start(&place, &variables, &["run", "phase.toml", "--source", "gpu"]);
    wait_for("the program works", || place.path().join("worked").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    (place, variables)
}

fn live(place: &Place, variables: &[(&'static str, String)]) -> Finished {
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    Finished::of(command.envs(variables.iter().cloned()).timeout(Duration::from_secs(100)))
}

#[test]
fn an_unfinished_run_goes_on_with_the_same_programs_only() {
    let (place, variables) = killed(GOOD);
    let same = live(&place, &variables);
    assert_eq!(same.status, Some(4), "{same:?}");
    assert!(same.stderr.contains("continuing the unfinished run"), "{}", same.stderr);

    let (place, variables) = killed(GOOD);
    place.write("program.sh", "echo broken >&2; exit 1\n");
    let broken = live(&place, &variables);
    assert_eq!(broken.status, Some(1), "{broken:?}");
    assert!(broken.stderr.contains("starting a new") && broken.stderr.contains("program.sh"), "{}", broken.stderr);

    let (place, variables) = killed(GOOD);
    place.write("library.sh", "false\n");
    let library = live(&place, &variables);
    assert!(library.stderr.contains("starting a new") && library.stderr.contains("library.sh"), "{}", library.stderr);
}

#[test]
fn a_program_that_is_changed_while_it_is_measured_does_not_pass() {
    let (place, variables) = machine_of_program(&format!("{GOOD}\necho '# changed' >> \"$0\"\n"));
    let changed = live(&place, &variables);
    assert_eq!(changed.status, Some(4), "{changed:?}");
}

#[test]
fn an_entry_of_a_leaderboard_that_cannot_have_been_measured_is_refused() {
    let place = place();
    place.write("phase.toml", PHASE);
    let promoted = place.run(&["leaderboard", "promote", RUN]);
    assert_eq!(promoted.status, Some(0), "{promoted:?}");
    let board = "profiles/copy/leaderboard.jsonl";
    let text = fs::read_to_string(place.path().join(board)).unwrap();
    let changes: [fn(&mut Value); 3] = [
        |entry| entry["latencies"][0]["samples"][0] = json!(-1.0),
        |entry| entry["latencies"][0]["samples"] = json!([]),
        |entry| entry["latencies"] = json!([]),
    ];
    for change in changes {
        place.write(board, &text);
        edit_records(&place, board, change);
        let refused = place.run(&["leaderboard", "list"]);
        assert_eq!(refused.status, Some(3), "{refused:?}");
        assert!(refused.stderr.contains("leaderboard.jsonl:1"), "{}", refused.stderr);
    }
}

#[test]
fn a_run_that_does_not_list_its_files_is_nothing_to_compare_with() {
    let place = place();
    edit_json(&place, &format!("{RUN}/manifest.json"), |manifest| {
        manifest.as_object_mut().unwrap().remove("seal");
    });
    let promoted = place.run(&["leaderboard", "promote", RUN]);
    assert_eq!(promoted.status, Some(3), "{promoted:?}");
    assert!(promoted.stderr.contains("not sealed"), "{}", promoted.stderr);
    let again = Stored::new(PHASE, "later").latency(|_, round| 10.0 * (1.0 + 0.01 * wiggle(round, 1)));
    again.write(&place);
    place.write("phase.toml", PHASE);
    let against = place.run(&["gate", "phase.toml", "profiles/copy/later", "--against", RUN]);
    assert_eq!(against.status, Some(3), "{against:?}");
}

/// Result of the command on a run whose manifest lists this file outside the project, with this hash, in its seal or
/// its inputs.
fn listing(place: &Place, where_: &str, path: &str, hash: &str, command: &[&str]) -> Finished {
    let folder = place.path().join(RUN);
    let mut manifest: Value = serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    match where_ {
        "inputs" => manifest["inputs"][path] = json!(hash),
        _ => manifest["seal"]["files"][path] = json!({ "sha256": hash }),
    }
    let unknown = "0".repeat(64);
    manifest["seal"]["manifest_sha256"] = json!(unknown);
    let text = serde_json::to_string_pretty(&manifest).unwrap();
    let own = ncugate_model::digest::sha256(text.as_bytes());
    fs::write(folder.join("manifest.json"), text.replacen(&unknown, &own, 1)).unwrap();
    let finished = place.run(command);
    fs::remove_dir_all(place.path().join("profiles")).unwrap();
    passing().write(place);
    finished
}

#[test]
fn a_recording_is_judged_without_the_files_outside_its_project_and_says_so() {
    let place = place();
    place.write("phase.toml", PHASE);
    edit_json(&place, &format!("{RUN}/manifest.json"), |manifest| {
        manifest["inputs"]["/opt/library/array.h"] = json!("1".repeat(64));
    });
    reseal(&place.path().join(RUN));
    let recorded = place.run(&["tools", "record", RUN, "-o", "profiles/phase/h200"]);
    assert_eq!(recorded.status, Some(0), "{recorded:?}");
    let judged = place.run(&["gate", "phase.toml", "profiles/phase/h200"]);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    let text = judged.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("1 file outside the project ('array.h') cannot be compared"), "{text}");
}

#[test]
fn listed_files_outside_a_run_or_project_are_not_read() {
    let place = place();
    place.write("phase.toml", PHASE);
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), "SECRET").unwrap();
    let path = outside.path().to_str().unwrap().to_owned();
    let (right, wrong) = (ncugate_model::digest::sha256(b"SECRET"), "1".repeat(64));
    let up = format!("../../../{path}");
    for (where_, said) in [("seal", "not a file of a run"), ("inputs", "a file outside the project")] {
        for path in [path.as_str(), &up, "/nothing/there"] {
            let gate = ["gate", "phase.toml", RUN];
            let of = |hash: &str| listing(&place, where_, path, hash, &gate);
            let (known, unknown) = (of(&right), of(&wrong));
            assert_eq!(known.status, Some(3), "{where_} {path}: {known:?}");
            assert!(known.stderr.contains(said), "{where_} {path}: {known:?}");
            assert_eq!(known.stderr, unknown.stderr, "the hash of a file is not revealed");
        }
    }
    // A sparse file is refused before it is hashed.
    let place = self::place();
    let huge = place.write(&format!("{RUN}/reports/huge.ncu-rep"), "");
    reseal(&place.path().join(RUN));
    fs::File::options().write(true).open(huge).unwrap().set_len(40 << 30).unwrap();
    let begun = std::time::Instant::now();
    assert_eq!(gate(&place).status, Some(3));
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// A base excuses missing files of its folder, and `base.` names a commit: the file of a phase cannot claim either.
#[test]
fn a_phase_file_cannot_have_a_base() {
    let place = Place::new();
    let run = Stored::new(PHASE, "run").write(&place);
    let base = "[base]\nref = \"main\"\ncommit = \"0123456789abcdef\"\nfolder = \"kernels\"\nabsent = \"none\"\n";
    let config = place.write("based.toml", &format!("{PHASE}{base}"));
    let judged = place.run(&["gate", config.to_str().unwrap(), run.to_str().unwrap()]);
    assert_eq!(judged.status, Some(2), "{judged:?}");
    assert!(judged.stderr.contains("only runs have a `[base]`"), "{}", judged.stderr);
    assert!(judged.stderr.contains("remove the table"), "{}", judged.stderr);
}
