//! Confirmations with a shell script as the worker, judged by the real gates.

use super::*;
use crate::fixtures::tools;
use crate::{GpuTurn, GpuWait, NoProgress, manifest};
use ncugate_cuda::host::JobMode;
use ncugate_judge::frame::{ProfileCounters, TableInputs, quantities};
use ncugate_judge::store::Fingerprint;
use ncugate_judge::{Context, Judgement, SampleOrigin, correctness, judge, name_cheats, to_confirm, unresolved};
use ncugate_model::{
    BuildOutcome, BuildRecord, CheckOutcome, CheckRecord, ComputeCapability, Differences, Resources, Verdict,
};
use ncugate_phase::plan::unroll;

const PHASE: &str = concat!(
    include_str!("../../../../tests/data/copy.toml"),
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

/// A complete run in a temporary folder, and a worker with scripted answers for each of its starts.
struct NoisyRun {
    folder: tempfile::TempDir,
    phase: Phase,
    plan: Plan,
}

fn id(name: &str) -> VariantId {
    VariantId(name.into())
}

/// Latencies around `us` with a relative spread of up to `spread`, in a different order for each variant.
fn latency(name: &str, us: f64, spread: f64, rounds: usize) -> LatencyRecord {
    let seed = usize::from(name.as_bytes()[0]);
    let samples = (0..rounds).map(|i| us * (1.0 + spread * (((i * 23 + seed * 7) % 30) as f64 / 14.5 - 1.0))).collect();
    let outcome = LatencyOutcome::Timed { samples, launches: 7, audit: None, gpu: None };
    LatencyRecord { variant: id(name), shape: ShapeName("only".into()), outcome }
}

impl NoisyRun {
    fn new() -> Self {
        Self::with(PHASE)
    }

    fn with(text: &str) -> Self {
        let phase = ncugate_phase::config::parse(Path::new("noisy.toml"), text).unwrap();
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
                symbols: Default::default(),
                entries: Vec::new(),
                arch: "sm_90".to_owned(),
                cached: true,
                log: String::new(),
                launch: None,
                left_out: Vec::new(),
                growth: None,
            };
            writer.record(&BuildRecord { variant: id(name), shares: None, outcome }).unwrap();
            let differences =
                Differences { max_abs: 0.0, rel_l2: 0.0, nonfinite: 0, compared: 1, ..Differences::default() };
            let (shape, outcome) = (ShapeName("only".into()), CheckOutcome::Correct { differences });
            for seed in [0, 1] {
                let (shape, outcome) = (shape.clone(), outcome.clone());
                writer.record(&CheckRecord { variant: id(name), shape, seed, outcome, nulls: 0 }).unwrap();
            }
            writer.record(&latency(name, us, spread, 30)).unwrap();
        }
        writer
    }

    /// Confirms with a worker that reports these records, one list per look, split over its processes; returns the jobs
    /// of the worker's starts.
    fn confirm(&self, writer: &mut RunWriter, looks: &[&[LatencyRecord]]) -> Vec<WorkerJob> {
        let part = |record: &LatencyRecord, at: usize| match &record.outcome {
            LatencyOutcome::Timed { samples, launches, audit, gpu } => {
                let (samples, launches) = (samples.chunks(samples.len() / 5).nth(at).unwrap().to_vec(), *launches);
                let outcome = LatencyOutcome::Timed { samples, launches, audit: audit.clone(), gpu: gpu.clone() };
                LatencyRecord { outcome, ..record.clone() }
            }
            _ => record.clone(),
        };
        let process = |look: &[LatencyRecord], at| look.iter().map(|record| part(record, at)).collect();
        let starts: Vec<Vec<LatencyRecord>> =
            looks.iter().flat_map(|look| (0..5).map(move |at| process(look, at))).collect();
        self.confirm_with(writer, &starts)
    }

    /// Confirms with a worker that reports these records, one list per start; returns the jobs of its starts.
    fn confirm_with(&self, writer: &mut RunWriter, starts: &[Vec<LatencyRecord>]) -> Vec<WorkerJob> {
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
        let worker = WorkerCommand::new("sh".into(), vec![script.display().to_string()]);
        let tools = tools(self.folder.path(), worker);
        let (phase, plan, worker, reference) = (&self.phase, &self.plan, &tools.worker, &BTreeMap::new());
        let turn = GpuTurn::at(self.folder.path().join("gpu.lock"), "H200", GpuWait::Endless, &NoProgress);
        let early = &PrestartedProcesses::new((phase, plan, &tools), &turn, &NoProgress, &self.run());
        let mut confirmation =
            Confirmation { phase, plan, worker, early, reference, writer, progress: &NoProgress, shared: None };
        let cases = |run: &Arc<Run>, wanted| {
            let judgement = self.judged(run);
            Ok(match wanted {
                ConfirmationPass::Chosen => to_confirm(phase, &judgement, &[]),
                ConfirmationPass::Open => unresolved(phase, &judgement, &[]),
            })
        };
        confirmation.run::<CampaignError>(cases).unwrap();
        let job = |n: usize| std::fs::read(self.folder.path().join(format!("job-{n}"))).ok();
        (0..).map_while(job).map(|text| serde_json::from_slice(&text).unwrap()).collect()
    }

    fn judged(&self, run: &Run) -> Judgement {
        let (phase, plan) = (&self.phase, &self.plan);
        let measured = TableInputs {
            phase,
            plan,
            run,
            counted: &ProfileCounters::default(),
            capability: Some(ComputeCapability::new(9, 0)),
            sms: None,
        };
        let table = quantities(&measured, &["latency_p50".to_owned()]);
        let proofs = correctness(phase, plan, &run.checks, &run.builds);
        let proofs = name_cheats(proofs, run.confirmations.iter().map(|record| &record.timed), &run.builds);
        judge(phase, plan, &table, &proofs, &Context::assuming_latencies(None, jiff::civil::date(2026, 6, 15)))
    }

    fn samples(&self, name: &str) -> usize {
        let run = Run::load(&self.run()).unwrap();
        let record = run.confirmations.iter().find(|record| record.timed.variant == id(name));
        match record.map(|record| &record.timed.outcome) {
            Some(LatencyOutcome::Timed { samples, .. }) => samples.len(),
            _ => 0,
        }
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
fn what_was_selected_is_timed_anew_until_noise_leaves_it_decided() {
    let bench = NoisyRun::new();
    let mut writer = bench.writer(9.9, 0.03);
    assert_eq!(bench.verdict(), Verdict::Inconclusive);
    let first = [latency("a", 9.85, 0.03, 30), latency("b", 10.0, 0.03, 30)];
    let more = [latency("a", 9.85, 0.0001, 30), latency("b", 10.0, 0.0001, 30)];
    let jobs = bench.confirm(&mut writer, &[&first, &more]);
    assert_eq!(jobs.iter().map(asked).collect::<Vec<_>>(), vec![(6, vec!["a", "b"]); 10]);
    assert_eq!((bench.samples("a"), bench.samples("b"), bench.samples("c")), (60, 60, 0));
    assert_eq!(bench.verdict(), Verdict::Pass);
}

#[test]
fn processes_that_differ_leave_a_verdict_open_that_each_of_them_would_give() {
    let bench = NoisyRun::new();
    let mut writer = bench.writer(9.9, 0.03);
    // by all rounds together 0.55 % below `b`, of which 0.5 % are asked; processes differ by 0.3 %
    let process = |by: f64| vec![latency("a", 9.945 * (1.0 + by), 1e-4, 6), latency("b", 10.0, 1e-4, 6)];
    let look = [-0.004, -0.002, 0.0, 0.002, 0.004].map(process);
    bench.confirm_with(&mut writer, &[&look[..], &look, &look].concat());
    assert_eq!((bench.samples("a"), bench.verdict()), (90, Verdict::Inconclusive));
}

#[test]
fn looks_end_at_the_budget() {
    let bench = NoisyRun::new();
    let mut writer = bench.writer(9.95, 0.03);
    let more = |n| [latency("a", 9.95, 0.03, n), latency("b", 10.0, 0.03, n)];
    let jobs = bench.confirm(&mut writer, &[&more(30), &more(30), &more(40)]);
    assert_eq!(jobs.iter().map(|job| asked(job).0).collect::<Vec<_>>(), [[6; 5], [6; 5], [8; 5]].concat());
    assert_eq!(bench.samples("a"), 100);
    assert_eq!(bench.verdict(), Verdict::Inconclusive);
}

#[test]
fn the_samples_that_selected_a_variant_do_not_judge_it() {
    let bench = NoisyRun::with(&PHASE.replace("on = \"a\"", "on = \"selected\""));
    let mut writer = bench.writer(9.0, 0.001);
    let before = bench.judged(&Run::load(&bench.run()).unwrap());
    assert_eq!(before.verdict, Verdict::Inconclusive);
    assert!(before.gates[0].reason.contains("not confirmed on fresh samples"), "{}", before.gates[0].reason);
    // it was lucky: re-timed, it is as slow as the others
    let anew = [latency("a", 10.0, 0.001, 30), latency("b", 10.0, 0.001, 30)];
    assert_eq!(bench.confirm(&mut writer, &[&anew]).len(), 5);
    let after = bench.judged(&Run::load(&bench.run()).unwrap());
    assert_eq!((after.verdict, after.selected.unwrap().variant), (Verdict::Fail, id("a")));
    let case = &after.gates[0].cases[0];
    assert_eq!(
        (case.outcome.origin, case.outcome.measured.map(f64::round)),
        (Some(SampleOrigin::Confirmation), Some(10.0))
    );
}

#[test]
fn a_variant_that_was_decided_is_compared_by_the_rounds_it_had() {
    let text = PHASE.replace("on = \"a\"", "on = \"each\"").replace("0.995 * b", "0.995 * c");
    let bench = NoisyRun::with(&text.replace("[[variant]]\nname = \"c\"", "[[baseline]]\nname = \"c\""));
    let mut writer = bench.writer(9.0, 0.001);
    writer.record(&latency("b", 9.93, 0.03, 30)).unwrap();
    let first = [latency("a", 9.0, 0.001, 30), latency("b", 9.9, 0.03, 30), latency("c", 10.0, 0.001, 30)];
    let more = [latency("b", 9.7, 0.0001, 30), latency("c", 10.0, 0.0001, 30)];
    let jobs = bench.confirm(&mut writer, &[&first, &more]);
    let asked: Vec<_> = jobs.iter().map(asked).collect();
    assert_eq!(asked, [vec![(6, vec!["a", "b", "c"]); 5], vec![(6, vec!["b", "c"]); 5]].concat());
    let judged = bench.judged(&Run::load(&bench.run()).unwrap());
    let samples: Vec<usize> = judged.gates[0].cases.iter().map(|case| case.outcome.samples).collect();
    assert_eq!((samples, judged.verdict), (vec![30, 60], Verdict::Pass), "{}", judged.gates[0].reason);
}

#[test]
fn a_variant_that_fails_or_cheats_when_timed_anew_does_not_pass() {
    let failed = LatencyOutcome::Failed { reason: "crashed".to_owned() };
    let cheats = LatencyOutcome::Cheats { reason: "zeros".to_owned(), audit: None };
    for (outcome, verdict) in [(failed, Verdict::Inconclusive), (cheats, Verdict::Fail)] {
        let bench = NoisyRun::new();
        let mut writer = bench.writer(9.0, 0.001);
        let ended = LatencyRecord { outcome, ..latency("a", 1.0, 0.0, 1) };
        bench.confirm(&mut writer, &[&[ended, latency("b", 10.0, 0.001, 30)]]);
        assert_eq!((bench.samples("a"), bench.verdict()), (0, verdict));
    }
}

#[test]
fn rounds_are_split_over_processes_as_equally_as_can_be() {
    assert_eq!(split(60, 5), [12; 5]);
    assert_eq!(split(32, 5), [7, 7, 6, 6, 6]);
    assert_eq!(split(2, 5), [1, 1]);
    assert_eq!(split(60, 1), [60]);
}

#[test]
fn a_case_keeps_which_process_took_each_sample() {
    let timed = |us, n| LatencyOutcome::Timed { samples: vec![us; n], launches: 7, audit: None, gpu: None };
    let case = (id("a"), ShapeName("only".into()));
    let first = grown(None, &case, vec![timed(1.0, 3), timed(2.0, 2)]);
    let record = grown(Some(first), &case, vec![timed(3.0, 4)]);
    assert_eq!((record.looks, record.processes), (2, vec![3, 2, 4]));
    let expected: Vec<f64> = [[1.0; 3].as_slice(), &[2.0; 2], &[3.0; 4]].concat();
    assert_eq!(record.timed.outcome, LatencyOutcome::Timed { samples: expected, launches: 7, audit: None, gpu: None });
}

/// A command that logs to `starts` when it has loaded and when it gets its request.
const COMMAND: &str = r#"
echo "loaded $$" >> "$(dirname "$0")/starts"
read=$(cat "$NCUGATE_REQUEST")
echo "asked $$" >> "$(dirname "$0")/starts"
result=$(printf '%s' "$read" | sed -n 's/.*"result": "\(.*\)".*/\1/p')
check='"shape": "only", "max_abs": 0, "rel_l2": 0, "nonfinite": 0, "compared": 2048'
printf '{"version": 1, "status": "ok", "checks": [{"seed": 0, %s}, {"seed": 1, %s}],
  "latency": [{"shape": "only", "unit": "us", "launches": 20, "samples": [10.0, 10.1, 10.2, 10.1, 10.0, 10.2]}]}' "$check" "$check" > "$result"
"#;

#[test]
fn commands_load_together_and_are_measured_one_after_the_other_in_processes_of_their_own() {
    let text = PHASE.replace("0.995 * b", "0.995 * c");
    let command = "[[baseline]]\nname = \"c\"\ncommand = [\"sh\", \"COMMAND\"]";
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("command.sh");
    std::fs::write(&script, COMMAND).unwrap();
    let command = command.replace("COMMAND", &script.display().to_string());
    let bench = NoisyRun::with(&text.replace("[[variant]]\nname = \"c\"\nparams = { THREADS = 128 }", &command));
    let mut writer = bench.writer(9.0, 0.001);
    let jobs = bench.confirm_with(&mut writer, &vec![vec![latency("a", 9.0, 0.001, 6)]; 5]);
    assert_eq!(jobs.iter().map(asked).collect::<Vec<_>>(), vec![(6, vec!["a"]); 5]);
    let run = Run::load(&bench.run()).unwrap();
    let record = run.confirmations.iter().find(|record| record.timed.variant == id("c")).unwrap();
    assert_eq!(record.processes, [6; 5]);
    let starts = std::fs::read_to_string(place.path().join("starts")).unwrap();
    let of = |word: &str| starts.lines().filter_map(|line| line.strip_prefix(word)).collect::<BTreeSet<_>>();
    assert_eq!((of("loaded ").len(), of("loaded ") == of("asked ")), (5, true), "{starts}");
    assert!(starts.starts_with("loaded"), "{starts}");
    assert!(
        starts.lines().nth(1).unwrap().starts_with("loaded"),
        "the second loads before the first is asked: {starts}"
    );
}
