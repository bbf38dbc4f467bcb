//! Batches against `tests/doubles/ncu`, which checks its command line and replays texts of the real ncu.

use super::command::ProfileDetail;
use super::pass_book::tests::h200;
use super::*;
use ncugate_model::{ProfileOutcome, ProfileRecord, ProfiledOutputs, ShapeName, VariantId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn case(name: &str) -> ProfiledCase {
    (VariantId(name.into()), ShapeName("mission".into()))
}

fn cases(count: usize) -> Vec<ProfiledCase> {
    (0..count).map(|n| case(&format!("T={n}"))).collect()
}

/// The effect of a bad case.
#[derive(Default, PartialEq)]
enum Harm {
    /// It ends the worker with status 7.
    #[default]
    Crash,
    /// It ends ncu after the earlier cases were profiled, and the worker survives.
    EndsNcu,
}

/// A worker that fails when a bad case is among its cases, and that remembers its requests.
#[derive(Default)]
struct Worker {
    bad: Vec<ProfiledCase>,
    harm: Harm,
    environment: Vec<(&'static str, String)>,
    asked: RefCell<Vec<Vec<ProfiledCase>>>,
}

impl Target for Worker {
    fn command(&self, cases: &[ProfiledCase]) -> std::io::Result<Command> {
        self.asked.borrow_mut().push(cases.to_vec());
        let script = match (cases.iter().position(|case| self.bad.contains(case)), &self.harm) {
            (None, _) => "exit 0".to_owned(),
            (Some(_), Harm::Crash) => "echo CUDA_ERROR_ILLEGAL_ADDRESS; exit 7".to_owned(),
            (Some(at), Harm::EndsNcu) => {
                let line = r#"==PROF== Profiling "k" - 0: 0%....50%....100% - 1 pass"#;
                let finished = format!("echo '{line}' >> $NCUGATE_DOUBLE_LOG; ").repeat(at);
                format!("{finished}echo pid $$; kill -KILL $PPID; exec sleep 60")
            }
        };
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        command.envs(self.environment.iter().cloned());
        Ok(command)
    }
}

/// Pretends that a report holds every requested case except the silent ones.
#[derive(Default)]
struct Reader {
    silent: Vec<ProfiledCase>,
    launches: BTreeMap<ProfiledCase, u32>,
    damaged: bool,
    /// Cases without verification of their outputs; the outputs of one further case are wrong.
    unverified: Vec<ProfiledCase>,
    wrong: Option<ProfiledCase>,
}

impl ReportReader for Reader {
    fn read(&self, report: &Path, _: &str, cases: &[ProfiledCase]) -> Result<Contents, String> {
        assert!(report.is_file());
        if self.damaged {
            return Err("truncated at block 3".to_owned());
        }
        let told = cases.iter().filter(|case| !self.silent.contains(case));
        let launches = told.map(|case| (case.clone(), self.launches.get(case).copied().unwrap_or(1))).collect();
        let outputs = |case: &ProfiledCase| match self.wrong.as_ref() == Some(case) {
            true => ProfiledOutputs::Wrong { seed: 1, reason: "off".to_owned() },
            false => ProfiledOutputs::Right { seed: 1, evaluations: 1 },
        };
        let verified = cases.iter().filter(|case| !self.unverified.contains(case));
        Ok(Contents { launches, passes: None, outputs: verified.map(|case| (case.clone(), outputs(case))).collect() })
    }
}

struct Bench {
    folder: tempfile::TempDir,
    ncu: Ncu,
    worker: Worker,
    reader: Reader,
    covered: ProfiledMetrics,
    probes: u32,
    records: Vec<ProfileRecord>,
    book: PassBook,
}

impl Bench {
    fn new() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/doubles/ncu");
        Self {
            folder: tempfile::tempdir().unwrap(),
            ncu: Ncu::find(Some(&path)).unwrap(),
            worker: Worker::default(),
            reader: Reader::default(),
            covered: ProfiledMetrics::default(),
            probes: 0,
            records: Vec::new(),
            book: PassBook::unkept(h200()),
        }
    }

    fn scenario(name: &str) -> Self {
        let mut bench = Self::new();
        bench.worker.environment.push(("NCUGATE_DOUBLE_SCENARIO", name.to_owned()));
        bench
    }

    fn run(&mut self, cases: Vec<ProfiledCase>, metrics: &[&str]) -> Result<ProfilingSummary, ProfileError> {
        let metrics: Vec<NcuMetric> = metrics.iter().map(|&m| m.to_owned()).collect();
        let runner = Runner {
            ncu: &self.ncu,
            reports: self.folder.path(),
            logs: self.folder.path(),
            scratch: self.folder.path(),
            timeout: Duration::from_secs(20),
            prefix: "",
            knobs: Knobs::default(),
            prestarted: None,
        };
        let profiler = Profiler { probes: self.probes, ..Profiler::new(runner, &self.reader, &self.covered) };
        let subject = Subject {
            cases,
            target: &self.worker,
            selection: LaunchSelection::Everything,
            processes: Processes::Application,
            expect: LaunchExpectation::exactly(1),
        };
        let records = &mut self.records;
        profiler.profile(&[subject], &metrics, &mut self.book, &mut |record| {
            records.push(record);
            Ok(())
        })
    }

    fn profiled(&self) -> usize {
        self.records.iter().filter(|r| matches!(r.outcome, ProfileOutcome::Profiled { .. })).count()
    }

    fn reason(&self, of: &ProfiledCase) -> String {
        let failed = self.records.iter().find_map(|record| match &record.outcome {
            ProfileOutcome::Failed { reason } if record.variant == of.0 => Some(reason.clone()),
            ProfileOutcome::Failed { .. } | ProfileOutcome::Profiled { .. } | ProfileOutcome::Traced { .. } => None,
        });
        failed.unwrap()
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

const METRICS: [&str; 3] = ["sm__cycles_active.avg", "dram__bytes.sum", "launch__registers_per_thread"];

#[test]
fn all_cases_share_a_process_a_group() {
    let mut bench = Bench::new();
    let collected = bench.run(cases(90), &METRICS).unwrap();
    assert_eq!((collected.starts, collected.profiled, collected.failed), (2, 180, 0));
    assert_eq!(
        bench.files(),
        ["core-1.log", "core-1.ncu-rep", "core-1.out", "dram-1.log", "dram-1.ncu-rep", "dram-1.out"]
    );
    let first = &bench.records[0];
    assert_eq!(first.metrics, ["launch__registers_per_thread", "sm__cycles_active.avg"]);
    assert_eq!(first.outcome, ProfileOutcome::Profiled { report: "core-1.ncu-rep".to_owned() });
    assert!(collected.groups.iter().all(|group| group.passes == Some(1)));
    assert_eq!(bench.book.passes(&["dram__bytes.sum".to_owned()]), PassCount::Measured(1));
}

#[test]
fn the_extension_of_newer_versions_is_found() {
    let mut bench = Bench::new();
    bench.worker.environment.push(("NCUGATE_DOUBLE_REPZ", "1".to_owned()));
    bench.run(cases(1), &METRICS).unwrap();
    assert_eq!(bench.records[0].outcome, ProfileOutcome::Profiled { report: "other-1.ncu-repz".to_owned() });
}

#[test]
fn a_case_that_fails_alone_is_its_own_result_and_the_rest_go_on() {
    let mut bench = Bench::new();
    let all = cases(40);
    bench.worker.bad = vec![all[17].clone()];
    let collected = bench.run(all.clone(), &["sm__cycles_active.avg"]).unwrap();
    assert_eq!((collected.profiled, collected.failed), (39, 1));
    assert!(collected.starts <= 14, "{} starts", collected.starts);
    let reason = bench.reason(&all[17]);
    assert!(reason.contains("exited with status 7") && reason.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{reason}");
    let alone = bench.worker.asked.borrow().iter().filter(|asked| **asked == [all[17].clone()]).count();
    assert_eq!(alone, 1);
}

#[test]
fn the_log_names_the_case_that_ended_ncu_and_no_file_is_left() {
    let mut bench = Bench::new();
    let all = cases(40);
    bench.worker = Worker { bad: vec![all[17].clone()], harm: Harm::EndsNcu, ..Worker::default() };
    let collected = bench.run(all.clone(), &["sm__cycles_active.avg"]).unwrap();
    assert_eq!((collected.profiled, collected.failed, collected.starts), (39, 1, 5));
    let reason = bench.reason(&all[17]);
    assert!(reason.contains("SIGKILL"), "{reason}");
    let (_, pid) = reason.rsplit_once("pid ").unwrap();
    let gone = || {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z ")
    };
    let patience = std::time::Instant::now() + Duration::from_secs(5);
    while !gone() {
        assert!(std::time::Instant::now() < patience, "the target lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_launch_missing_from_a_report_is_tried_alone_and_then_fails() {
    let mut bench = Bench::new();
    let all = cases(6);
    bench.reader.silent = vec![all[2].clone()];
    let collected = bench.run(all.clone(), &["sm__cycles_active.avg"]).unwrap();
    assert_eq!((collected.profiled, collected.failed, collected.starts), (5, 1, 2));
    assert!(bench.reason(&all[2]).contains("does not have the launch"));
}

#[test]
fn more_launches_than_asked_for_are_not_believed() {
    let mut bench = Bench::new();
    let all = cases(3);
    bench.reader.launches.insert(all[1].clone(), 2);
    let collected = bench.run(all.clone(), &["sm__cycles_active.avg"]).unwrap();
    assert_eq!((collected.profiled, collected.failed), (2, 1));
    assert!(bench.reason(&all[1]).contains("has 2 launches"));
}

#[test]
fn a_failure_of_every_variant_ends_the_batch_with_its_type() {
    let told = [
        ("permission", NcuFailure::Permission),
        ("resource-unavailable", NcuFailure::DriverResourceUnavailable),
        ("lock", NcuFailure::Lock { file: Some("/tmp/nsight-compute-lock".to_owned()) }),
        ("driver", NcuFailure::DriverIncompatible),
    ];
    for (scenario, failure) in told {
        for probes in [0, 8] {
            let mut bench = Bench::scenario(scenario);
            bench.probes = probes;
            let metrics = ["sm__cycles_active.avg", "sm__warps_active.avg.per_cycle_active"];
            match bench.run(cases(90), &metrics).unwrap_err() {
                ProfileError::Environment(found) => assert_eq!(found, failure),
                other => panic!("{scenario}: {other}"),
            }
            assert_eq!(bench.worker.asked.borrow().len(), 1, "{scenario}");
            assert!(bench.records.is_empty());
        }
    }
    let mut bench = Bench::scenario("unwritable");
    let error = bench.run(cases(2), &METRICS).unwrap_err();
    assert!(matches!(error, ProfileError::Environment(NcuFailure::UnableToWrite { .. })), "{error}");
}

#[test]
fn an_ncu_that_is_gone_ends_at_once() {
    let mut bench = Bench::new();
    bench.ncu.path = PathBuf::from("/nowhere/ncu");
    let error = bench.run(cases(9), &METRICS).unwrap_err();
    assert!(matches!(error, ProfileError::Environment(NcuFailure::NotStarted { .. })), "{error}");
}

#[test]
fn no_kernels_profiled_with_status_0_is_never_a_success() {
    for (scenario, says) in
        [("no-kernels", "no kernels were profiled"), ("killed", "SIGKILL"), ("no-memory", "ran out of memory")]
    {
        let mut bench = Bench::scenario(scenario);
        let error = bench.run(cases(30), &METRICS).unwrap_err();
        assert!(matches!(error, ProfileError::Unprofilable(TrialFailure { tried: 4, .. })), "{scenario}: {error}");
        assert!(error.to_string().contains(says), "{scenario}: {error}");
        assert_eq!(bench.profiled(), 0);
    }
    let mut single = Bench::scenario("no-kernels");
    let collected = single.run(cases(1), &METRICS).unwrap();
    assert_eq!((collected.profiled, collected.failed), (0, 1));
}

#[test]
fn a_case_whose_ncu_was_killed_is_tried_once_more() {
    let mut once = Bench::scenario("killed-once");
    let collected = once.run(cases(1), &["sm__cycles_active.avg"]).unwrap();
    assert_eq!((collected.profiled, collected.failed, collected.starts), (1, 0, 2));
    let mut always = Bench::scenario("killed");
    let collected = always.run(cases(1), &["sm__cycles_active.avg"]).unwrap();
    assert_eq!((collected.profiled, collected.failed, collected.starts), (0, 1, 2));
}

#[test]
fn a_group_in_which_nothing_works_is_left_and_the_others_stay() {
    let mut bench = Bench::new();
    bench.worker.environment.push(("NCUGATE_DOUBLE_SCENARIO", "failing-group".to_owned()));
    let collected = bench.run(cases(90), &METRICS).unwrap();
    assert_eq!((collected.profiled, collected.failed), (90, 90));
    assert!(collected.starts < 20, "{} starts", collected.starts);
    assert!(collected.warnings[0].contains("group `dram` were not collected"), "{:?}", collected.warnings);
}

#[test]
fn the_double_insists_on_how_it_is_called() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/doubles/ncu");
    let output = Command::new(path).args(["--metrics", "x", "--clock-control", "base", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(99));
}

#[test]
fn a_damaged_report_is_a_failure_with_its_reason() {
    let mut bench = Bench::new();
    bench.reader.damaged = true;
    let only = cases(1);
    bench.run(only.clone(), &METRICS).unwrap();
    assert!(bench.reason(&only[0]).contains("truncated at block 3"));
}

#[test]
fn an_unknown_metric_is_left_out_and_named() {
    for probes in [0, 8] {
        let mut bench = Bench::scenario("unknown-metric");
        bench.probes = probes;
        let metrics = ["sm__cycles_active.avg", "sm__nonsense.avg", "dram__bytes.sum"];
        let collected = bench.run(cases(90), &metrics).unwrap();
        assert_eq!(collected.unknown, ["sm__nonsense.avg"]);
        assert_eq!((collected.profiled, collected.failed), (90 * collected.groups.len(), 0));
        assert!(bench.records.iter().all(|record| !record.metrics.contains(&"sm__nonsense.avg".to_owned())));
    }
}

#[test]
fn a_hang_is_ended_by_the_deadline() {
    let mut bench = Bench::scenario("hang");
    let runner = Runner {
        ncu: &bench.ncu,
        reports: bench.folder.path(),
        logs: bench.folder.path(),
        scratch: bench.folder.path(),
        timeout: Duration::from_millis(300),
        prefix: "",
        knobs: Knobs::default(),
        prestarted: None,
    };
    let target = bench.worker.command(&cases(1)).unwrap();
    let metrics = ["sm__cycles_active.avg".to_owned()];
    let (selection, processes) = (&LaunchSelection::Everything, Processes::Application);
    let ran = runner
        .run(&Job {
            stem: "core",
            metrics: &metrics,
            detail: ProfileDetail::Counters,
            target: &target,
            selection,
            processes,
        })
        .unwrap();
    assert_eq!(ran.failure, Some(NcuFailure::Timeout));
    assert_eq!(ran.report, None);
    bench.worker.environment.clear();
    assert_eq!(bench.run(cases(1), &METRICS).unwrap().profiled, 1);
}

#[test]
fn probes_measure_once_and_leave_no_report() {
    let mut bench = Bench::new();
    bench.probes = 8;
    bench.worker.environment.push(("NCUGATE_DOUBLE_PASSES", "3".to_owned()));
    let metrics = ["sm__cycles_active.avg", "sm__warps_active.avg.per_cycle_active", "launch__grid_size"];
    let first = bench.run(cases(90), &metrics).unwrap();
    assert_eq!((first.groups.len(), first.starts), (2, 3));
    assert!(first.groups.iter().all(Group::replays));
    assert_eq!(bench.files().iter().filter(|name| name.starts_with("probe") && name.contains("ncu-rep")).count(), 0);
    assert_eq!(bench.run(cases(90), &metrics).unwrap().starts, 2);
}

#[test]
fn covered_cases_are_not_profiled_again() {
    let mut bench = Bench::new();
    let all = cases(10);
    bench.run(all[..7].to_vec(), &METRICS).unwrap();
    bench.covered = ProfiledMetrics::by(&bench.records);
    bench.worker.asked.borrow_mut().clear();
    bench.run(all.clone(), &METRICS).unwrap();
    assert_eq!(bench.worker.asked.borrow().concat(), all[7..].to_vec());
    bench.covered = ProfiledMetrics::by(&bench.records);
    assert_eq!(bench.run(all, &METRICS).unwrap(), ProfilingSummary::default());
    assert_eq!(bench.records.len(), 10);
}

#[test]
fn a_sink_that_cannot_keep_a_record_stops_everything() {
    let bench = Bench::new();
    let runner = Runner {
        ncu: &bench.ncu,
        reports: bench.folder.path(),
        logs: bench.folder.path(),
        scratch: bench.folder.path(),
        timeout: Duration::from_secs(20),
        prefix: "",
        knobs: Knobs::default(),
        prestarted: None,
    };
    let subject = Subject {
        cases: cases(3),
        target: &bench.worker,
        selection: LaunchSelection::Everything,
        processes: Processes::Application,
        expect: LaunchExpectation::Some,
    };
    let mut book = PassBook::unkept(h200());
    let full = &mut |_| Err(std::io::Error::from(std::io::ErrorKind::StorageFull));
    let profiler = Profiler::new(runner, &bench.reader, &bench.covered);
    let error = profiler.profile(&[subject], &["sm__cycles_active.avg".to_owned()], &mut book, full).unwrap_err();
    assert!(matches!(error, ProfileError::Io(_)));
}

#[test]
fn launches_whose_outputs_nobody_compared_are_tried_again_and_have_no_counters() {
    let mut bench = Bench::new();
    bench.reader.unverified.push(case("T=1"));
    bench.reader.wrong = Some(case("T=2"));
    let collected = bench.run(cases(4), &["sm__cycles_active.avg"]).unwrap();
    assert_eq!((collected.profiled, collected.failed), (3, 1));
    assert!(bench.reason(&case("T=1")).contains("were not verified"), "{}", bench.reason(&case("T=1")));
    assert!(collected.starts > 1, "alone, in case another variant ended the process");
    let of = |name: &str| bench.records.iter().find(|record| record.variant == case(name).0).unwrap().outputs.clone();
    assert_eq!(of("T=1"), None);
    assert_eq!(of("T=2").unwrap().wrong(), Some("off"), "it has its counters, and its fault");
    assert_eq!(of("T=3"), Some(ProfiledOutputs::Right { seed: 1, evaluations: 1 }));
}
