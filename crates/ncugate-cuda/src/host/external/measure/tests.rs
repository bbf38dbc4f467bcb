//! External programs that are shell scripts, and results that are wrong in every way there is.

use super::super::result::unmeasured;
use super::*;
use ncugate_fixtures::phase;
use ncugate_model::process::LOAD_TIMEOUT;
use ncugate_model::{CheckOutcome, CheckRecord, LatencyOutcome};
use serde_json::{Value, json};
use std::path::PathBuf;

fn id() -> VariantId {
    VariantId("flash".into())
}

fn good() -> Value {
    let check = |shape: &str, seed: u64| json!({"shape": shape, "seed": seed, "max_abs": 1e-4, "rel_l2": 1e-5, "nonfinite": 0, "compared": 64});
    json!({
        "version": 1, "status": "ok", "reason": null, "software": {"torch": "2.9"},
        "checks": [check("s", 0), check("s", 1), check("l", 0), check("l", 1)],
        "latency": [{"shape": "l", "unit": "us", "launches": 20, "samples": [5.0, 6.0, 5.5]}],
    })
}

fn judge(edit: impl Fn(&mut Value)) -> ExternalRecords {
    let mut value = good();
    edit(&mut value);
    ExpectedRecords::new(&phase(), &id()).records(&value.to_string())
}

/// Kinds of the check outcomes, and the reason of the one latency if it failed.
fn summary(measured: &ExternalRecords) -> (String, Option<String>) {
    assert_eq!((measured.checks.len(), measured.latencies.len()), (4, 1), "every case and latency has a record");
    let letter = |c: &CheckRecord| match c.outcome {
        CheckOutcome::Correct { .. } => '.',
        CheckOutcome::Wrong { .. } => 'w',
        CheckOutcome::Crashed { .. } => 'c',
        CheckOutcome::Skipped { .. } => 's',
    };
    let latency = match &measured.latencies[0].outcome {
        LatencyOutcome::Timed { .. } => None,
        LatencyOutcome::Cheats { reason, .. }
        | LatencyOutcome::Wrong { reason, .. }
        | LatencyOutcome::Failed { reason } => Some(reason.clone()),
    };
    (measured.checks.iter().map(letter).collect(), latency)
}

#[test]
fn a_good_result_is_taken_whole() {
    let measured = judge(|_| ());
    assert_eq!(summary(&measured), ("....".to_owned(), None));
    assert_eq!(measured.software["torch"], "2.9");
    let samples = LatencyOutcome::Timed { samples: vec![5.0, 6.0, 5.5], launches: 20, audit: None, gpu: None };
    assert_eq!(measured.latencies[0].outcome, samples);
}

#[test]
fn a_program_does_not_judge_itself_by_the_tolerance() {
    let far = judge(|v| v["checks"][2]["max_abs"] = json!(0.5));
    assert_eq!(summary(&far), ("..w.".to_owned(), Some("not timed: not correct at l, seed 0".to_owned())));
    assert_eq!(summary(&judge(|v| v["checks"][0]["nonfinite"] = json!(1))).0, "w...");
}

#[test]
fn checks_missing_doubled_or_unasked_are_not_correct() {
    let missing = judge(|v| drop(v["checks"].as_array_mut().unwrap().remove(1)));
    assert_eq!(summary(&missing).0, ".c..");
    let twice = judge(|v| {
        let again = v["checks"][0].clone();
        v["checks"].as_array_mut().unwrap().push(again);
    });
    assert_eq!(summary(&twice).0, "c...");
    assert_eq!(summary(&judge(|v| v["checks"][0]["shape"] = json!("xl"))).0, "cccc");
    let none = judge(|v| v["latency"] = json!([]));
    assert_eq!(summary(&none).0, "....");
    assert!(summary(&none).1.unwrap().contains("exactly once"));
}

#[test]
fn numbers_that_mean_nothing_are_refused() {
    assert_eq!(summary(&judge(|v| v["checks"][0]["max_abs"] = json!(-1.0))).0, "c...");
    assert_eq!(summary(&judge(|v| v["checks"][0]["rel_l2"] = json!(null))).0, "cccc");
    for (key, value) in [
        ("samples", json!([])),
        ("samples", json!([1.0, 0.0])),
        ("samples", json!([-1.0])),
        ("launches", json!(0)),
        ("unit", json!("ms")),
    ] {
        let (checks, latency) = summary(&judge(|v| v["latency"][0][key] = value.clone()));
        assert!(checks == "...." && latency.is_some(), "{key} {value}");
    }
    let nan = good().to_string().replace("5.5", "NaN");
    let (checks, latency) = summary(&ExpectedRecords::new(&phase(), &id()).records(&nan));
    assert!(checks == "cccc" && latency.unwrap().contains("NaN and Infinity are not JSON"));
}

#[test]
fn absent_is_skipped_and_other_versions_are_refused() {
    let absent = judge(|v| *v = json!({"version": 1, "status": "absent", "reason": "no module named torch"}));
    assert_eq!(summary(&absent), ("ssss".to_owned(), Some("absent: no module named torch".to_owned())));
    assert_eq!(summary(&judge(|v| v["version"] = json!(2))).0, "cccc");
    assert_eq!(summary(&judge(|v| v["status"] = json!("fine"))).0, "cccc");
    assert_eq!(summary(&judge(|v| v["extra"] = json!(1))).0, "cccc");
}

fn program(script: &str) -> (ExternalRecords, Vec<WorkerEvent>) {
    let folder = tempfile::tempdir().unwrap();
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let mut events = Vec::new();
    let plan = CommandPlan { argv, kernel_filter: None };
    let measured = measure(&phase(), &id(), &plan, folder.path(), None, &mut |event| {
        events.push(event);
        Ok(())
    });
    (measured.unwrap(), events)
}

/// A prestarted program that then gets its request: its records, and the contents of its folder before the request.
fn prestarted(script: &str) -> (ExternalRecords, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let argv = ["sh", "-c", &format!("cd {}; {script}", here.display())].map(str::to_owned).to_vec();
    let plan = CommandPlan { argv, kernel_filter: None };
    let mut waiting = PrestartedCommand::start(&plan, here).unwrap();
    let waiting = waiting.settle(Instant::now() + LOAD_TIMEOUT).then_some(waiting);
    std::thread::sleep(Duration::from_millis(30));
    let mut before: Vec<String> =
        std::fs::read_dir(here).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    before.sort();
    let measured = measure(&phase(), &id(), &plan, here, waiting, &mut |_| Ok(())).unwrap();
    (measured, before)
}

#[test]
fn a_program_started_early_loads_and_waits_for_its_turn() {
    let script = format!(
        "touch loaded; grep -q f16 $NCUGATE_REQUEST && touch asked && cp asked asked-again; echo '{}' > result.json",
        good()
    );
    let (measured, before) = prestarted(&script);
    assert_eq!(summary(&measured), ("....".to_owned(), None));
    assert_eq!(before, ["loaded", "request.json"], "it has loaded, and knows nothing yet");
}

#[test]
fn a_request_can_be_read_again() {
    let script = format!(
        "cat $NCUGATE_REQUEST > one; cat $NCUGATE_REQUEST > two; cmp -s one two && echo '{}' > result.json",
        good()
    );
    assert_eq!(summary(&prestarted(&script).0), ("....".to_owned(), None));
}

#[test]
fn a_program_that_a_pipe_does_not_suit_is_started_at_its_turn() {
    let script = format!(
        "test -f $NCUGATE_REQUEST || exit 7; cat $NCUGATE_REQUEST > /dev/null; echo '{}' > result.json",
        good()
    );
    let (measured, before) = prestarted(&script);
    assert_eq!(summary(&measured), ("....".to_owned(), None));
    assert!(before.is_empty(), "the pipe is taken away: {before:?}");
    let (failed, _) = prestarted("echo broken >&2; exit 3");
    assert_eq!(summary(&failed).1.unwrap(), "the program exited with status 3; its output: broken");
}

#[test]
fn a_program_whose_turn_does_not_come_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let argv = ["sh", "-c", "echo $$ > $0/pid; cat $NCUGATE_REQUEST", folder.path().to_str().unwrap()];
    let plan = CommandPlan { argv: argv.map(str::to_owned).to_vec(), kernel_filter: None };
    let mut waiting = PrestartedCommand::start(&plan, folder.path()).unwrap();
    assert!(waiting.settle(Instant::now() + LOAD_TIMEOUT) && waiting.is_of(folder.path()));
    let pid: i32 = std::fs::read_to_string(folder.path().join("pid")).unwrap().trim().parse().unwrap();
    drop(waiting);
    assert!(!folder.path().join("request.json").exists());
    assert_eq!(nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None), Err(nix::errno::Errno::ESRCH));
}

#[test]
fn a_pipe_that_was_left_behind_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("request.json");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let request = Request::new(&phase(), &id(), RequestMode::Bench, folder.path().join("result.json")).unwrap();
    request.write(&path).unwrap();
    assert!(std::fs::symlink_metadata(&path).unwrap().is_file());
}

#[test]
fn a_program_reads_its_request_and_leaves_a_result() {
    let script = format!(
        "out=$(sed -n 's/.*\"result\": \"\\(.*\\)\".*/\\1/p' $NCUGATE_REQUEST)
        grep -q '\"dtype\": \"f16\"' $NCUGATE_REQUEST || exit 5
        echo '{}' > $out",
        good()
    );
    let (measured, events) = program(&script);
    assert_eq!(summary(&measured), ("....".to_owned(), None));
    assert_eq!(events.len(), 5);
}

#[test]
fn a_program_that_fails_is_a_result() {
    let (measured, _) = program("echo 'CUDA error' >&2; exit 3");
    assert_eq!(summary(&measured).0, "cccc");
    assert_eq!(summary(&measured).1.unwrap(), "the program exited with status 3; its output: CUDA error");
    assert!(summary(&program("exit 0").0).1.unwrap().contains("wrote no valid result"));
    let plan = CommandPlan { argv: vec!["/nonexistent/program".to_owned()], kernel_filter: None };
    let folder = tempfile::tempdir().unwrap();
    let measured = measure(&phase(), &id(), &plan, folder.path(), None, &mut |_| Ok(())).unwrap();
    assert!(summary(&measured).1.unwrap().contains("cannot start `/nonexistent/program`"));
}

#[test]
fn a_request_says_all_there_is_to_do() {
    let request = Request::new(&phase(), &id(), RequestMode::Profile, PathBuf::from("/r.json")).unwrap();
    let value = serde_json::to_value(&request).unwrap();
    assert_eq!(value["version"], 1);
    assert_eq!(value["mode"], "profile");
    assert_eq!(value["dtype"], "f16");
    assert_eq!(value["shapes"].as_array().map(Vec::len), Some(2), "who profiles keeps those that are to be launched");
    let bench = Request::new(&phase(), &id(), RequestMode::Bench, PathBuf::from("/r.json")).unwrap();
    assert_eq!(bench.shapes.len(), 2);
    assert_eq!(value["seeds"], json!([0, 1]));
    assert_eq!((&value["rounds"], &value["launches"], &value["warmup"]), (&json!(3), &json!(20), &json!(1)));
}

#[test]
fn an_unmeasured_variant_has_every_record() {
    let measured = unmeasured(&phase(), &id(), "it does not compile");
    assert_eq!(summary(&measured), ("ssss".to_owned(), Some("it does not compile".to_owned())));
}
