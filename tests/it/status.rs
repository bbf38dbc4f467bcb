//! Every exit status, produced by the real binary.

use crate::command::{Finished, Place, root};
use crate::stored::{Stored, reseal, wiggle};
use ncugate_cuda::host::external::measure;
use ncugate_judge::store::RunState;
use ncugate_model::{CheckOutcome, CheckRecord, VariantId};
use ncugate_phase::config::parse;
use ncugate_phase::plan::CommandPlan;
use serde::Serialize;
use std::path::Path;

/// Two candidates, no baseline, one required gate on registers and one on latency.
const PHASE: &str = concat!(
    include_str!("../data/copy.toml"),
    r#"
[sweep]
THREADS = [64, 128]
[[gate]]
name = "registers"
require = "registers <= 64"
[[gate]]
name = "latency"
require = "latency_p50 <= 10.5"
"#
);

fn run() -> Stored {
    Stored::new(PHASE, "run").latency(|_, round| 10.0 * (1.0 + 0.01 * wiggle(round, 1)))
}

fn gate(place: &Place, folder: &Path, text: &str) -> Finished {
    let config = place.write("status.toml", text);
    place.run(&["gate", config.to_str().unwrap(), folder.to_str().unwrap()])
}

fn judged(stored: &Stored) -> Finished {
    let place = Place::new();
    let folder = stored.write(&place);
    gate(&place, &folder, PHASE)
}

#[test]
fn status_0_when_all_required_gates_pass() {
    let passed = judged(&run());
    assert_eq!((passed.status, passed.stderr.as_str()), (Some(0), ""), "{passed:?}");
    assert!(passed.stdout.contains("2 gates"), "a pass says how much was judged: {}", passed.stdout);
    let place = Place::new();
    assert_eq!(place.run(&["--help"]).status, Some(0));
    assert_eq!(place.run(&["tools", "schema"]).status, Some(0));
    let results = place.run(&["tools", "schema", "--results"]);
    let committed = std::fs::read_to_string(crate::command::root().join("schema/results.schema.json")).unwrap();
    assert_eq!((results.status, results.stdout), (Some(0), committed));
}

#[test]
fn status_1_when_a_required_gate_fails() {
    assert_eq!(judged(&run().registers(70)).status, Some(1));
    assert_eq!(judged(&run().latency(|_, round| 12.0 + 0.1 * wiggle(round, 1))).status, Some(1));
    let wrong = judged(&run().wrong());
    assert_eq!(wrong.status, Some(1), "fast and wrong is a failure: {wrong:?}");
}

#[test]
fn an_advisory_gate_does_not_give_status_1() {
    let place = Place::new();
    let folder = run().registers(70).write(&place);
    let advisory = PHASE.replace("\"registers <= 64\"", "\"registers <= 64\"\nlevel = \"advisory\"");
    assert_eq!(gate(&place, &folder, &advisory).status, Some(0));
}

#[test]
fn status_2_when_command_line_or_config_is_wrong() {
    let place = Place::new();
    let folder = run().write(&place);
    assert_eq!(place.run(&["--nonsense"]).status, Some(2));
    assert_eq!(place.run(&["run"]).status, Some(2));
    assert_eq!(place.run(&["run", "absent.toml"]).status, Some(2));
    let broken = place.write("broken.toml", "[phase");
    let broken = place.run(&["run", &broken.display().to_string()]);
    assert_eq!(broken.status, Some(2));
    assert!(broken.stderr.starts_with("error: not TOML: unclosed table"), "{}", broken.stderr);
    let unknown = gate(&place, &folder, &PHASE.replace("registers <= 64", "regsters <= 64"));
    assert_eq!(unknown.status, Some(2), "{unknown:?}");
    assert!(unknown.stderr.contains("registers"), "the nearest name is suggested: {}", unknown.stderr);
    assert_eq!(gate(&place, Path::new("nowhere"), PHASE).status, Some(2));
}

#[test]
fn status_3_when_environment_or_stored_run_fails() {
    let place = Place::new();
    let folder = run().write(&place);
    let config = place.write("status.toml", PHASE);
    let no_gpu = place.run(&["run", config.to_str().unwrap(), "--source", "gpu"]);
    assert_eq!(no_gpu.status, Some(3), "{no_gpu:?}");
    assert_eq!(place.run(&["tools", "calibrate", config.to_str().unwrap()]).status, Some(3));
    std::fs::write(folder.join("latencies.jsonl"), "{}\n").unwrap();
    let damaged = gate(&place, &folder, PHASE);
    assert_eq!(damaged.status, Some(3), "{damaged:?}");
    std::fs::remove_file(folder.join("manifest.json")).unwrap();
    assert_eq!(gate(&place, &folder, PHASE).status, Some(3));
}

#[test]
fn runs_that_cannot_be_compared_are_refused_before_anything_is_measured() {
    let place = Place::new();
    let then = run().write(&place);
    let measure = |text: &str, more: &[&str]| {
        let config = place.write("status.toml", text);
        let mut args = vec!["run", config.to_str().unwrap(), "--source", "gpu"];
        args.extend(more);
        place.run(&args)
    };
    assert_eq!(measure(PHASE, &["--against", "nobody"]).status, Some(2));
    let [then, other] = [then.to_str().unwrap(), &PHASE.replace("S = 2048", "S = 4096")];
    for name in ["run", then] {
        let refused = measure(other, &["--against", name]);
        assert_eq!(refused.status, Some(3), "{refused:?}");
        assert!(refused.stderr.contains("the workload (shapes, buffers or scalars)"), "{}", refused.stderr);
        // an equal workload or an allowed mismatch passes this check; the run then fails for lack of a GPU
        for (text, more) in [(PHASE, &["--against", name][..]), (other, &["--against", name, "--allow-mismatch"])] {
            let unmeasured = measure(text, more);
            assert_eq!(unmeasured.status, Some(3), "{unmeasured:?}");
            assert!(!unmeasured.stderr.contains("the workload"), "{}", unmeasured.stderr);
        }
    }
}

#[test]
fn a_precondition_of_the_workload_needs_no_gpu_to_stop_a_run() {
    let place = Place::new();
    let measure = |require: &str| {
        let text = format!("{PHASE}[[precondition]]\nname = \"ready\"\nrequire = '{require}'\n");
        let config = place.write("status.toml", &text);
        place.run(&["run", config.to_str().unwrap()])
    };
    let stopped = measure("S % 4096 == 0");
    assert_eq!((stopped.status, stopped.stderr.as_str()), (Some(1), ""), "{stopped:?}");
    assert_eq!(
        stopped.stdout,
        "FAIL precondition 'ready': 'S % 4096 == 0' is false at shape 'only'; nothing was built\n"
    );
    for require in ["S % 16 == 0", "cc >= 8.9"] {
        let unmeasured = measure(require);
        assert_eq!((unmeasured.status, unmeasured.stdout.as_str()), (Some(3), ""), "{unmeasured:?}");
    }
    assert!(!place.path().join("profiles").exists(), "nothing was measured");
}

#[test]
fn status_4_when_a_required_gate_is_inconclusive() {
    let noisy = judged(&run().latency(|_, round| 10.5 * (1.0 + 0.05 * wiggle(round, 1))));
    assert_eq!(noisy.status, Some(4), "{noisy:?}");
    assert!(noisy.stdout.contains("noise"), "{}", noisy.stdout);
    let place = Place::new();
    let folder = run().write(&place);
    let nothing = PHASE.split("[[gate]]").next().unwrap();
    assert_eq!(gate(&place, &folder, nothing).status, Some(4), "a check over nothing does not pass");
    let uncounted = PHASE.replace("registers <= 64", "eligible_warps >= 2");
    assert_eq!(gate(&place, &folder, &uncounted).status, Some(4), "a gate on unprofiled counters does not pass");
}

/// `git bisect run` takes 1 to 127 but 125 as bad: noise must not name a commit.
#[test]
fn noise_skips_a_commit_that_git_bisects() {
    let place = Place::new();
    for path in ["kernels/softmax", "profiles/softmax/h200", "configs/softmax.toml"] {
        place.copy(path);
    }
    let text = std::fs::read_to_string(place.path().join("configs/softmax.toml")).unwrap();
    let text = text.replace("shapes = [\"narrow\", \"wide\"]", "shapes = [\"wide\"]");
    let other = "[[gate]]\nname = \"narrow\"\nrequire = \"latency_p50 <= 9 * baseline.latency_p50\"\nshapes = [\"narrow\"]\nlevel = \"advisory\"\n";
    // the recording has 0.7438 times the median of its baseline, and resolves 0.004
    for (limit, status, skipped) in [("1.02", 0, 0), ("0.7", 1, 1), ("0.7444", 4, 125)] {
        let moved = text.replace("1.02 * baseline", &format!("{limit} * baseline"));
        place.write("configs/softmax.toml", &format!("{moved}{other}"));
        let args = ["run", "configs/softmax.toml", "--source", "recorded", "--bisect-status"];
        let [usual, bisecting] = [place.run(&args[..4]), place.run(&args)];
        assert_eq!((usual.status, bisecting.status), (Some(status), Some(skipped)), "{limit}: {bisecting:?}");
        assert_eq!(bisecting.stdout.contains("noise: needs more rounds"), skipped == 125, "{bisecting:?}");
    }
}

/// Appends records, which override earlier ones.
fn append(file: &Path, records: &[impl Serialize]) {
    let lines: String = records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect();
    std::fs::write(file, std::fs::read_to_string(file).unwrap() + &lines).unwrap();
}

/// The real program of a baseline, on a machine without PyTorch or a GPU.
#[test]
fn status_4_when_the_software_of_a_baseline_is_absent() {
    if which::which("python3").is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI has to have python3");
        return eprintln!("skipped: python3, which the baseline is written in, is not here");
    }
    let name = "torch";
    let program = root().join("kernels/baselines/sdpa_torch.py").display().to_string();
    let argv = ["env", "CUDA_VISIBLE_DEVICES=", "python3", "-B", &program].map(str::to_owned).to_vec();
    let baseline = format!("[[baseline]]\nname = \"{name}\"\ncommand = {argv:?}\n");
    let against = "[[gate]]\nname = \"against\"\nrequire = \"speedup('torch') > 0.1\"\n".replace('\'', "\\\"");
    let text =
        PHASE.replace("[[gate]]\nname = \"latency\"", &format!("{baseline}{against}[[gate]]\nname = \"latency\""));
    let place = Place::new();
    let folder = Stored::new(&text, "run").write(&place);
    assert_eq!(gate(&place, &folder, &text).status, Some(0), "with the baseline present the gate is decided");

    let phase = parse(Path::new("phase.toml"), &text).unwrap();
    let plan = CommandPlan { argv, kernel_filter: None };
    let asked = VariantId(name.into());
    let measured = measure(&phase, &asked, &plan, place.path(), None, &mut |_| Ok(())).unwrap();
    let absent =
        |c: &CheckRecord| matches!(&c.outcome, CheckOutcome::Skipped { reason } if reason.starts_with("absent: "));
    assert!(!measured.checks.is_empty() && measured.checks.iter().all(absent), "{measured:?}");
    append(&folder.join("checks.jsonl"), &measured.checks);
    append(&folder.join("latencies.jsonl"), &measured.latencies);
    reseal(&folder);
    let judged = gate(&place, &folder, &text);
    assert_eq!(judged.status, Some(4), "{judged:?}");
    assert!(judged.stdout.contains("absent: "), "{}", judged.stdout);
}

#[test]
fn a_run_that_stopped_is_never_better_than_four() {
    let stopped = judged(&run().state(RunState::Interrupted));
    assert_eq!(stopped.status, Some(4));
    assert!(stopped.stdout.contains("INCONCLUSIVE The run is incomplete; otherwise"), "{}", stopped.stdout);
    assert_eq!(judged(&run().state(RunState::Running)).status, Some(4));
    assert_eq!(judged(&run().state(RunState::Running).registers(70)).status, Some(1));
}

#[test]
fn noise_counts_as_the_gate_says() {
    for (inconclusive, status) in [("inconclusive", 4), ("fail", 1), ("warn", 0)] {
        let place = Place::new();
        // all rounds that the phase allows were measured
        let text = format!("{PHASE}inconclusive = \"{inconclusive}\"\n[bench]\nmax_rounds = 60\n");
        let run = Stored::new(&text, "run").latency(|_, round| 10.49 * (1.0 + 0.05 * wiggle(round, 1)));
        let folder = run.write(&place);
        assert_eq!(gate(&place, &folder, &text).status, Some(status), "{inconclusive}");
    }
}

#[test]
fn no_command_line_makes_it_panic() {
    let place = Place::new();
    let lines: [&[&str]; 7] = [
        &["gate"],
        &["page", "."],
        &["tools", "record", ".", "-o", "x"],
        &["show", "."],
        &["leaderboard", "promote", "."],
        &["leaderboard", "list", "../.."],
        &["worker", "/nonexistent"],
    ];
    for line in lines {
        let status = place.run(line).status;
        assert!(matches!(status, Some(0..=4)), "{line:?}: {status:?}");
    }
}
