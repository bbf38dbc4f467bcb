//! The parent against workers that are shell scripts.

use super::super::job::{CaseLaws, CheckCase, JobKernel, JobMode};
use super::*;
use crate::host::Preload;
use crate::prove::{ReferenceSpec, fixtures};
use crate::time::{HiddenSeeds, TimingSettings};
use ncugate_model::{Differences, Tolerance};
use ncugate_phase::config::L2State;
use std::path::PathBuf;

/// Two variants `a` and `b`, one shape `s`, two seeds.
fn job() -> WorkerJob {
    let shape = ShapeName("s".into());
    let kernel = |name: &str| JobKernel {
        variant: VariantId(name.into()),
        cubin: PathBuf::new(),
        symbols: Default::default(),
        function: None,
        programs: Vec::new(),
        extents: Vec::new(),
        cases: [0, 1].map(|seed| CheckCase { shape: shape.clone(), seed }).to_vec(),
        shapes: vec![shape.clone()],
        unverified: None,
    };
    let timing = TimingSettings {
        warmup: 0,
        rounds: 1,
        min_sample_us: 1.0,
        max_launches: 1,
        buffer_sets: 1,
        l2: L2State::Rotate,
        effort: crate::time::AuditEffort::Sweep,
        hidden: HiddenSeeds::default(),
    };
    WorkerJob {
        references: Vec::new(),
        shared: Vec::new(),
        python: crate::PythonEnvironment::default(),
        device: 0,
        mode: JobMode::Bench(timing),
        seeds: vec![0, 1],
        laws: CaseLaws::default(),
        reference: ReferenceSpec::None,
        tolerance: Tolerance { max_abs: Some(1.0), ..Tolerance::default() },
        shapes: vec![fixtures::shape(Vec::new())],
        kernels: vec![kernel("a"), kernel("b")],
    }
}

fn line(event: &WorkerEvent) -> String {
    format!("echo '{}'\n", serde_json::to_string(event).unwrap())
}

fn started(variant: &str, task: WorkerTask) -> String {
    line(&WorkerEvent::Started { variant: VariantId(variant.into()), shape: ShapeName("s".into()), task })
}

fn checked(variant: &str, seed: u64) -> String {
    let differences = Differences { max_abs: 0.0, rel_l2: 0.0, nonfinite: 0, compared: 1, ..Differences::default() };
    let outcome = CheckOutcome::Correct { differences };
    let record =
        CheckRecord { variant: VariantId(variant.into()), shape: ShapeName("s".into()), seed, outcome, nulls: 0 };
    started(variant, WorkerTask::Check { seed }) + &line(&WorkerEvent::Checked(record))
}

fn timed(variant: &str) -> String {
    let outcome = LatencyOutcome::Timed { samples: vec![1.0], launches: 1, audit: None, gpu: None };
    line(&WorkerEvent::Timed(LatencyRecord {
        variant: VariantId(variant.into()),
        shape: ShapeName("s".into()),
        outcome,
    }))
}

fn whole(variant: &str) -> String {
    checked(variant, 0) + &checked(variant, 1) + &timed(variant)
}

/// Runs a worker that executes `first` on its first start and `second` on every later start.
fn supervise(first: &str, second: &str, timeout: Duration) -> (Result<JobOutcome, MeasureError>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("worker.sh");
    let mark = folder.path().join("mark");
    let text = format!("if [ -e {0} ]; then\n:\n{second}\nelse\ntouch {0}\n{first}\nfi\n", mark.display());
    std::fs::write(&script, text).unwrap();
    let worker = WorkerCommand::new("sh".into(), vec![script.display().to_string()]);
    let mut seen = Vec::new();
    let mut sink = |event: WorkerEvent| {
        seen.push(match event {
            WorkerEvent::Checked(CheckRecord { variant, seed, outcome, .. }) => match outcome {
                CheckOutcome::Correct { .. } => format!("{variant}{seed} correct"),
                CheckOutcome::Wrong { .. } => format!("{variant}{seed} wrong"),
                CheckOutcome::Crashed { reason } => format!("{variant}{seed} crashed {reason}"),
                CheckOutcome::Skipped { reason } => format!("{variant}{seed} skipped {reason}"),
            },
            WorkerEvent::Timed(LatencyRecord { variant, outcome, .. }) => match outcome {
                LatencyOutcome::Timed { .. } => format!("{variant} timed"),
                LatencyOutcome::Cheats { reason, .. } => format!("{variant} cheats {reason}"),
                LatencyOutcome::Wrong { reason, .. } => format!("{variant} wrong {reason}"),
                LatencyOutcome::Failed { reason } => format!("{variant} failed {reason}"),
            },
            _ => return Ok(()),
        });
        Ok(())
    };
    let result = measure(job(), &worker, None, timeout, folder.path(), &mut sink);
    (result, seen)
}

const LONG: Duration = Duration::from_secs(30);

#[test]
fn a_worker_that_does_everything_is_started_once() {
    let done = whole("a") + &whole("b") + &line(&WorkerEvent::Done);
    let (result, seen) = supervise(&done, "exit 9", LONG);
    assert_eq!(result.unwrap(), JobOutcome::Complete);
    assert_eq!(seen, ["a0 correct", "a1 correct", "a timed", "b0 correct", "b1 correct", "b timed"]);
}

#[test]
fn timing_starts_after_the_receiver_took_the_last_check() {
    let folder = tempfile::tempdir().unwrap();
    let (script, ready) = (folder.path().join("worker.sh"), folder.path().join("ready"));
    let checks = |v: &str| checked(v, 0) + &checked(v, 1);
    let times = timed("a") + &timed("b") + &line(&WorkerEvent::Done);
    let waits = format!("cat > /dev/null; test -e {} || exit 9\n", ready.display());
    std::fs::write(&script, checks("a") + &checks("b") + &line(&WorkerEvent::Proven) + &waits + &times).unwrap();
    let worker = WorkerCommand::new("sh".into(), vec![script.display().to_string()]);
    let result = measure(job(), &worker, None, LONG, folder.path(), &mut |event| {
        if event == WorkerEvent::Proven {
            std::thread::sleep(Duration::from_millis(100));
            std::fs::write(&ready, "")?;
        }
        Ok(())
    });
    assert_eq!(result.unwrap(), JobOutcome::Complete);
}

#[test]
fn a_worker_that_prepares_ahead_times_nothing_before_its_turn() {
    let folder = tempfile::tempdir().unwrap();
    let (script, begun) = (folder.path().join("worker.sh"), folder.path().join("begun"));
    let checks = |v: &str| checked(v, 0) + &checked(v, 1);
    let times = timed("a") + &timed("b") + &line(&WorkerEvent::Done);
    let reads = "cat \"$3\" > /dev/null\n".to_owned() + &checks("a") + &checks("b") + &line(&WorkerEvent::Proven);
    let waits = format!("cat > /dev/null; touch {}\n", begun.display());
    std::fs::write(&script, reads + &waits + &times).unwrap();
    let worker = WorkerCommand::new("sh".into(), vec![script.display().to_string()]);
    let mut first = PrestartedWorker::start(&worker, &Preload::Device, folder.path(), 1).unwrap();
    assert!(first.settle(Instant::now() + LONG) && first.serves(&job()));
    let mut first = first.prepare(&job()).unwrap();
    assert!(!first.serves(&job()), "it has a job");
    assert!(first.settle(Instant::now() + LONG));
    assert!(!begun.exists());
    let mut seen = 0;
    let result = measure(job(), &worker, Some(first), LONG, folder.path(), &mut |_| {
        seen += 1;
        Ok(())
    });
    assert_eq!((result.unwrap(), seen, begun.exists()), (JobOutcome::Complete, 12, true));
}

#[test]
fn garbage_between_events_is_passed_over() {
    let first = "echo hello; printf '\\377\\376 {broken\\n'; echo '{}'\n".to_owned() + &whole("a") + &whole("b");
    let (result, seen) = supervise(&(first + &line(&WorkerEvent::Done)), "exit 9", LONG);
    assert_eq!((result.unwrap(), seen.len()), (JobOutcome::Complete, 6));
}

#[test]
fn a_crash_is_its_variants_result_and_the_rest_goes_on() {
    let first = checked("a", 0) + &started("a", WorkerTask::Check { seed: 1 }) + "echo oh no >&2; kill -SEGV $$";
    let (result, seen) = supervise(&first, &(whole("b") + &line(&WorkerEvent::Done)), LONG);
    assert_eq!(result.unwrap(), JobOutcome::Complete);
    assert_eq!(seen[0], "a0 correct");
    assert_eq!(seen[1], "a1 crashed the worker process was killed by SIGSEGV; its output: oh no");
    assert!(seen[2].starts_with("a failed not run: the variant crashed at s"), "{}", seen[2]);
    assert_eq!(seen[3..], ["b0 correct", "b1 correct", "b timed"]);
}

#[test]
fn a_lost_device_skips_the_variants_other_cases() {
    let variant = VariantId("a".into());
    let outcome = CheckOutcome::Crashed { reason: "ILLEGAL".into() };
    let record = CheckRecord { variant: variant.clone(), shape: ShapeName("s".into()), seed: 0, outcome, nulls: 0 };
    let first = started("a", WorkerTask::Check { seed: 0 })
        + &line(&WorkerEvent::Checked(record))
        + &line(&WorkerEvent::DeviceLost { variant, reason: "ILLEGAL".into() });
    let (result, seen) = supervise(&first, &(whole("b") + &line(&WorkerEvent::Done)), LONG);
    assert_eq!(result.unwrap(), JobOutcome::Complete);
    assert_eq!(seen[0], "a0 crashed ILLEGAL");
    assert!(seen[1].starts_with("a1 skipped not run: the variant made the device unusable"));
    assert!(seen[2].starts_with("a failed"));
    assert_eq!(seen.len(), 6);
}

#[test]
fn a_hang_is_ended_and_is_its_variants_result() {
    let first = started("a", WorkerTask::Check { seed: 0 }) + "sleep 60";
    let (result, seen) = supervise(&first, &(whole("b") + &line(&WorkerEvent::Done)), Duration::from_millis(300));
    assert_eq!(result.unwrap(), JobOutcome::Complete);
    assert_eq!(seen[0], "a0 crashed hung: no result within 300ms");
    assert_eq!(seen.len(), 6);
}

#[test]
fn a_crash_while_timed_fails_the_latency_only_of_its_variant() {
    let checks = |v: &str| checked(v, 0) + &checked(v, 1);
    let first = checks("a") + &checks("b") + &started("b", WorkerTask::Sample { round: 3 }) + "kill -TERM $$";
    let (result, seen) = supervise(&first, &(timed("a") + &line(&WorkerEvent::Done)), LONG);
    assert_eq!(result.unwrap(), JobOutcome::Complete);
    assert_eq!(seen[4], "b failed crashed during timing: the worker process was killed by SIGTERM");
    assert_eq!(seen[5], "a timed");
}

#[test]
fn what_a_worker_was_at_when_it_was_killed_from_outside_is_tried_once_more() {
    let killed = started("b", WorkerTask::Check { seed: 0 }) + "kill -KILL $$";
    let (result, seen) = supervise(&(whole("a") + &killed), &(whole("b") + &line(&WorkerEvent::Done)), LONG);
    assert_eq!(result.unwrap(), JobOutcome::Complete);
    assert_eq!(seen, ["a0 correct", "a1 correct", "a timed", "b0 correct", "b1 correct", "b timed"]);
    let (result, seen) = supervise(&(whole("a") + &killed), &killed, LONG);
    assert_eq!(result.unwrap(), JobOutcome::Complete);
    assert_eq!(seen[3], "b0 crashed the worker process was killed by SIGKILL");
}

#[test]
fn a_worker_that_ends_while_it_runs_no_variant_is_an_error_of_the_environment() {
    let (result, seen) = supervise("echo broken >&2; exit 7", "exit 7", LONG);
    let error = result.unwrap_err().to_string();
    assert_eq!(error, "the worker process exited with status 7 before it was done; its output: broken");
    assert!(seen.is_empty());
    let failed = line(&WorkerEvent::Failed { reason: "no device".into() });
    assert_eq!(supervise(&failed, "exit 9", LONG).0.unwrap_err().to_string(), "no device");
}

#[test]
fn a_worker_that_says_done_too_early_is_not_believed() {
    let (result, _) = supervise(&line(&WorkerEvent::Done), &line(&WorkerEvent::Done), LONG);
    assert!(matches!(result, Err(MeasureError::Died { .. })));
}

#[test]
fn a_sink_that_fails_ends_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("worker.sh");
    std::fs::write(&script, whole("a") + "sleep 60").unwrap();
    let worker = WorkerCommand::new("sh".into(), vec![script.display().to_string()]);
    let result = measure(job(), &worker, None, LONG, folder.path(), &mut |_| Err("disk full".into()));
    assert!(matches!(result, Err(MeasureError::Sink(e)) if e.to_string() == "disk full"));
}

#[test]
fn a_device_that_is_absent_is_not_one_that_is_broken() {
    let probe = |script: &str| {
        let worker = WorkerCommand::new("sh".into(), vec!["-c".into(), script.into(), "sh".into()]);
        find_device(&worker, LONG)
    };
    let absent = probe(&line(&WorkerEvent::NoDevice { reason: "no libcuda".into() })).unwrap();
    assert_eq!(absent, DeviceProbe::Absent { reason: "no libcuda".into() });
    assert!(matches!(probe(&line(&WorkerEvent::Failed { reason: "x".into() })), Err(MeasureError::Worker { .. })));
    assert!(matches!(probe("exit 3"), Err(MeasureError::Died { ending: ProcessExit::NonZero(3), .. })));
}
