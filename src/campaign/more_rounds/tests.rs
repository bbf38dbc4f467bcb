//! More rounds through a worker that is a shell script, judged by the real gates.

use super::*;
use crate::campaign::Silent;
use crate::frame::{Counted, Measured, quantities};
use crate::host::JobMode;
use crate::judge::{Context, Judgement, correctness, judge, unresolved};
use crate::model::ComputeCapability;
use crate::model::Verdict;
use crate::model::{BuildOutcome, BuildRecord, Resources};
use crate::model::{CheckOutcome, CheckRecord, Differences};
use crate::plan::unroll;
use crate::store::{Fingerprint, manifest};

const PHASE: &str = concat!(
    include_str!("../../../tests/data/copy.toml"),
    r#"
[bench]
rounds = 30
max_rounds = 100
[[variant]]
name = "a"
params = { THREADS = 32 }
[[variant]]
name = "b"
params = { THREADS = 64 }
[[variant]]
name = "c"
params = { THREADS = 128 }
[[gate]]
name = "faster"
require = "latency_p50 <= 0.995 * b.latency_p50"
on = "a"
"#
);

/// A complete run in a folder of its own, and a worker that says what a test wrote for each of its starts.
struct NoisyRun {
    folder: tempfile::TempDir,
    phase: Phase,
    plan: Plan,
}

fn id(name: &str) -> VariantId {
    VariantId(name.to_owned())
}

/// Latencies around `us`, off by up to `spread` of it, in another order for each variant.
fn latency(name: &str, us: f64, spread: f64, rounds: usize) -> LatencyRecord {
    let seed = usize::from(name.as_bytes()[0]);
    let samples = (0..rounds).map(|i| us * (1.0 + spread * (((i * 23 + seed * 7) % 30) as f64 / 14.5 - 1.0))).collect();
    let outcome = LatencyOutcome::Timed { samples, launches: 7, audit: None };
    LatencyRecord { variant: id(name), shape: ShapeName("only".to_owned()), outcome }
}

impl NoisyRun {
    fn new() -> Self {
        Self::with(PHASE)
    }

    fn with(text: &str) -> Self {
        let phase = crate::config::parse(Path::new("noisy.toml"), text).unwrap();
        let plan = unroll(&phase).unwrap();
        Self { folder: tempfile::tempdir().unwrap(), phase, plan }
    }

    fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn writer(&self, a: f64, spread: f64) -> RunWriter {
        let manifest = manifest(&self.phase, &self.plan, Fingerprint::default());
        let mut writer = RunWriter::open(&self.run(), manifest, PHASE, &self.plan, &self.phase.workload).unwrap();
        let resources =
            Resources { registers: 1, static_shared: 0, stack: 0, local: 0, spills: 0, constant: 0, barriers: 0 };
        for (name, us) in [("a", a), ("b", 10.0), ("c", 10.0)] {
            let outcome = BuildOutcome::Built {
                cubin: PathBuf::from("x.cubin"),
                cubin_sha256: String::new(),
                code_sha256: String::new(),
                resources,
                arch: "sm_90".to_owned(),
                cached: true,
                log: String::new(),
            };
            writer.build(&BuildRecord { variant: id(name), shares: None, outcome }).unwrap();
            let differences =
                Differences { max_abs: 0.0, rel_l2: 0.0, nonfinite: 0, compared: 1, ..Differences::default() };
            let (shape, outcome) = (ShapeName("only".to_owned()), CheckOutcome::Correct { differences });
            for seed in [0, 1] {
                let (shape, outcome) = (shape.clone(), outcome.clone());
                writer.check(&CheckRecord { variant: id(name), shape, seed, outcome }).unwrap();
            }
            writer.latency(&latency(name, us, spread, 30)).unwrap();
        }
        writer
    }

    /// Settles with a worker whose starts say these records, one list a start; gives the jobs it was started with.
    fn settle(&self, writer: &mut RunWriter, starts: &[&[LatencyRecord]]) -> Vec<WorkerJob> {
        let place = self.folder.path().display();
        for (number, records) in starts.iter().enumerate() {
            let mut lines: Vec<String> =
                records.iter().map(|r| serde_json::to_string(&WorkerEvent::Timed(r.clone())).unwrap()).collect();
            lines.push(serde_json::to_string(&WorkerEvent::Done).unwrap());
            std::fs::write(self.folder.path().join(format!("say-{number}")), lines.join("\n") + "\n").unwrap();
        }
        let script = self.folder.path().join("worker.sh");
        let text = format!(
            "n=0; while [ -e {place}/job-$n ]; do n=$((n+1)); done\ncp $1 {place}/job-$n; cat {place}/say-$n\n"
        );
        std::fs::write(&script, text).unwrap();
        let worker = WorkerCommand { program: "sh".into(), args: vec![script.display().to_string()] };
        let mut rounds =
            MoreRounds { phase: &self.phase, plan: &self.plan, worker: &worker, writer, progress: &Silent };
        rounds.settle::<CampaignError>(|run| Ok(unresolved(&self.phase, &self.judged(run), &[]))).unwrap();
        let job = |n: usize| std::fs::read(self.folder.path().join(format!("job-{n}"))).ok();
        (0..).map_while(job).map(|text| serde_json::from_slice(&text).unwrap()).collect()
    }

    fn judged(&self, run: &Run) -> Judgement {
        let (phase, plan) = (&self.phase, &self.plan);
        let measured = Measured {
            phase,
            plan,
            run,
            counted: &Counted::default(),
            capability: Some(ComputeCapability::new(9, 0)),
            sms: None,
        };
        let table = quantities(&measured, &["latency_p50".to_owned()]);
        let proofs = correctness(phase, plan, &run.checks, &run.builds);
        judge(phase, plan, &table, &proofs, &Context::new(None, jiff::civil::date(2026, 6, 15)))
    }

    fn samples(&self, name: &str) -> usize {
        let run = Run::load(&self.run()).unwrap();
        samples(&run, &(id(name), ShapeName("only".to_owned()))).map_or(0, <[f64]>::len)
    }

    fn selected(&self) -> String {
        self.judged(&Run::load(&self.run()).unwrap()).selected.unwrap().variant.0
    }

    fn verdict(&self) -> Verdict {
        self.judged(&Run::load(&self.run()).unwrap()).verdict
    }
}

fn asked(job: &WorkerJob) -> (u32, Vec<&str>) {
    let JobMode::Bench(timing) = &job.mode else { panic!("not a bench") };
    assert!(job.kernels.iter().all(|kernel| kernel.cases.is_empty()), "nothing is checked again");
    let timed = job.kernels.iter().filter(|kernel| !kernel.shapes.is_empty());
    (timing.rounds, timed.map(|kernel| kernel.variant.0.as_str()).collect())
}

#[test]
fn gates_open_by_noise_get_rounds_until_they_are_decided() {
    let bench = NoisyRun::new();
    let mut writer = bench.writer(9.9, 0.03);
    assert_eq!(bench.verdict(), Verdict::Inconclusive);
    let more = [latency("a", 9.9, 0.001, 30), latency("b", 10.0, 0.001, 30)];
    let jobs = bench.settle(&mut writer, &[&more]);
    assert_eq!(jobs.iter().map(asked).collect::<Vec<_>>(), [(30, vec!["a", "b"])]);
    assert_eq!((bench.samples("a"), bench.samples("b"), bench.samples("c")), (60, 60, 30));
    assert_eq!(bench.verdict(), Verdict::Pass);
}

#[test]
fn more_rounds_end_at_the_budget() {
    let bench = NoisyRun::new();
    let mut writer = bench.writer(9.95, 0.03);
    let more = |n| [latency("a", 9.95, 0.03, n), latency("b", 10.0, 0.03, n)];
    let jobs = bench.settle(&mut writer, &[&more(30), &more(40)]);
    assert_eq!(jobs.iter().map(|job| asked(job).0).collect::<Vec<_>>(), [30, 40]);
    assert_eq!(bench.samples("a"), 100);
    assert_eq!(bench.verdict(), Verdict::Inconclusive);
}

#[test]
fn a_newly_selected_variant_is_timed_with_those_selected_before() {
    let bench = NoisyRun::with(&PHASE.replace("on = \"a\"", "on = \"selected\""));
    let mut writer = bench.writer(9.9, 0.03);
    writer.latency(&latency("c", 9.92, 0.03, 30)).unwrap();
    assert_eq!((bench.selected().as_str(), bench.verdict()), ("a", Verdict::Inconclusive));
    // the budget of 100 rounds is spent on a and b; then c is the best, and as open as a was
    let first = [latency("a", 9.9, 0.03, 30), latency("b", 10.0, 0.03, 30)];
    let last = [latency("a", 10.1, 0.03, 40), latency("b", 10.0, 0.03, 40)];
    let anew = |us: f64| [latency("a", 10.0, 0.001, 100), latency("b", 10.0, 0.001, 100), latency("c", us, 0.001, 100)];
    let jobs = bench.settle(&mut writer, &[&first, &last, &anew(9.92)]);
    let all = vec!["a", "b", "c"];
    assert_eq!(jobs.iter().map(asked).collect::<Vec<_>>(), [(30, vec!["a", "b"]), (40, vec!["a", "b"]), (100, all)]);
    assert_eq!(["a", "b", "c"].map(|name| bench.samples(name)), [100; 3], "all in the same rounds");
    assert_eq!((bench.selected().as_str(), bench.verdict()), ("c", Verdict::Pass));
}

#[test]
fn variants_added_late_get_no_more_rounds_than_the_first() {
    let bench = NoisyRun::with(&PHASE.replace("on = \"a\"", "on = \"selected\""));
    let mut writer = bench.writer(9.9, 0.03);
    writer.latency(&latency("c", 9.92, 0.03, 30)).unwrap();
    let slow = |us: f64, n| [latency("a", us, 0.03, n), latency("b", 10.0, 0.03, n)];
    let open = [latency("a", 10.0, 0.03, 100), latency("b", 10.0, 0.03, 100), latency("c", 9.95, 0.03, 100)];
    let jobs = bench.settle(&mut writer, &[&slow(9.9, 30), &slow(10.1, 40), &open]);
    assert_eq!(jobs.len(), 3, "what is open then stays open");
    assert_eq!((bench.selected().as_str(), bench.verdict()), ("c", Verdict::Inconclusive));
}

#[test]
fn decided_gates_get_no_more_rounds() {
    let bench = NoisyRun::new();
    let mut writer = bench.writer(8.0, 0.03);
    assert!(bench.settle(&mut writer, &[]).is_empty());
}

#[test]
fn a_variant_that_fails_in_later_rounds_has_failed() {
    let bench = NoisyRun::new();
    let mut writer = bench.writer(9.9, 0.03);
    let outcome = LatencyOutcome::Failed { reason: "crashed".to_owned() };
    let crashed = LatencyRecord { outcome, ..latency("a", 1.0, 0.0, 1) };
    bench.settle(&mut writer, &[&[crashed, latency("b", 10.0, 0.001, 30)]]);
    assert_eq!(bench.samples("a"), 0);
    assert_eq!(bench.verdict(), Verdict::Inconclusive);
}
