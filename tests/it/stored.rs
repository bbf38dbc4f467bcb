//! Runs as a campaign writes them, with numbers chosen by a test.

use crate::command::Place;
use crate::crafted::{Message, file, message, metric};
use jiff::Timestamp;
use ncugate_campaign::manifest;
use ncugate_judge::reference_runs::{Calibration, Conditions, NoiseBook, RunSpread, ShapeNoise};
use ncugate_judge::store::{Fingerprint, Machine, RunState, RunVerdict, RunWriter, seal};
use ncugate_model::digest::sha256;
use ncugate_model::{
    Audit, BuildOutcome, BuildRecord, CheckOutcome, CheckRecord, ConfirmationRecord, Differences, EMPTY_RANGE, Gpu,
    IsolatedSamples, LatencyOutcome, LatencyRecord, NullTest, ProfileOutcome, ProfileRecord, ProfiledOutputs,
    Resources, ShapeName, UnrepeatedSamples, VariantId, Verdict,
};
use ncugate_phase::config::{Phase, parse};
use ncugate_phase::plan::{Method, Plan, VariantRole, unroll};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Microseconds of a variant in a round.
type Latency = Box<dyn Fn(&VariantId, usize) -> f64>;

/// Re-timed variants.
enum Confirmed {
    Never,
    /// All variants, in five processes with the samples of the sweep.
    Alike,
    /// All variants, in this number of processes.
    Anew(u32, Latency),
}

/// A run to be written.
pub struct Stored {
    text: String,
    id: String,
    fingerprint: Fingerprint,
    state: RunState,
    verdict: Verdict,
    registers: u32,
    wrong: Wrong,
    rounds: Option<u32>,
    seen: bool,
    stretch: f64,
    duration: Option<f64>,
    dram_bytes: Option<f64>,
    profiled_as: Option<&'static str>,
    code: String,
    confirmed: Confirmed,
    latency: Latency,
}

/// Fingerprint of a real H200.
pub fn h200() -> Fingerprint {
    let gpu = Gpu {
        name: "NVIDIA H200".to_owned(),
        compute_capability: (9, 0).into(),
        sms: 132,
        memory: Some(150_109_880_320),
        shared_memory_optin: Some(232_448),
    };
    Fingerprint {
        gpu: Some(gpu),
        driver: Some("580.159.04".to_owned()),
        ncu: Some("2025.3.1.0".to_owned()),
        nvcc: Some("13.0.88".to_owned()),
        machine: Machine { gpu: Some("a".to_owned()), host: Some("h".to_owned()), power_limit_w: Some(700) },
        clock_control: "none".to_owned(),
        cache_control: "all".to_owned(),
        replay_mode: "kernel".to_owned(),
    }
}

/// Variants with wrong results.
enum Wrong {
    Nobody,
    Kernels,
    Candidates,
}

impl Stored {
    /// A complete and correct run on an H200 of a phase with this text; every variant takes 10 us.
    pub fn new(text: &str, id: &str) -> Self {
        Self {
            text: text.to_owned(),
            id: id.to_owned(),
            fingerprint: h200(),
            state: RunState::Complete,
            verdict: Verdict::Pass,
            registers: 64,
            wrong: Wrong::Nobody,
            rounds: None,
            seen: true,
            stretch: 1.0,
            duration: None,
            dram_bytes: None,
            profiled_as: None,
            code: String::new(),
            confirmed: Confirmed::Alike,
            latency: Box::new(|_, _| 10.0),
        }
    }

    pub fn fingerprint(mut self, change: impl Fn(&mut Fingerprint)) -> Self {
        change(&mut self.fingerprint);
        self
    }

    pub fn state(mut self, state: RunState) -> Self {
        self.state = state;
        self
    }

    /// Sets ncu's name of every kernel.
    pub fn profiled_as(mut self, kernel: &'static str) -> Self {
        self.profiled_as = Some(kernel);
        self
    }

    /// Sets the verdict at the time of measurement.
    pub fn judged(mut self, verdict: Verdict) -> Self {
        self.verdict = verdict;
        self
    }

    pub fn registers(mut self, registers: u32) -> Self {
        self.registers = registers;
        self
    }

    /// Every kernel gives wrong results.
    pub fn wrong(mut self) -> Self {
        self.wrong = Wrong::Kernels;
        self
    }

    /// Every candidate gives wrong results; baselines are right.
    pub fn wrong_candidates(mut self) -> Self {
        self.wrong = Wrong::Candidates;
        self
    }

    /// ncu profiled no launch of the run.
    pub fn unseen(mut self) -> Self {
        self.seen = false;
        self
    }

    /// ncu's durations are this multiple of the latency.
    pub fn stretch(mut self, factor: f64) -> Self {
        self.stretch = factor;
        self
    }

    /// ncu's duration of every evaluation, in microseconds, whatever its latency is.
    pub fn duration(mut self, us: f64) -> Self {
        self.duration = Some(us);
        self
    }

    /// DRAM bytes that ncu counts for every launch.
    pub fn dram_bytes(mut self, bytes: f64) -> Self {
        self.dram_bytes = Some(bytes);
        self
    }

    /// Number of samples of each variant, whatever the phase asks for.
    pub fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = Some(rounds);
        self
    }

    /// All kernels have this machine code.
    pub fn code(mut self, code: &str) -> Self {
        self.code = code.to_owned();
        self
    }

    /// All variants were re-timed in this number of processes; `of` gives the samples by variant and round.
    pub fn confirmed(mut self, processes: u32, of: impl Fn(&VariantId, usize) -> f64 + 'static) -> Self {
        self.confirmed = Confirmed::Anew(processes, Box::new(of));
        self
    }

    /// No variant was re-timed.
    pub fn unconfirmed(mut self) -> Self {
        self.confirmed = Confirmed::Never;
        self
    }

    /// Samples by variant and round.
    pub fn latency(mut self, of: impl Fn(&VariantId, usize) -> f64 + 'static) -> Self {
        self.latency = Box::new(of);
        self
    }

    /// Writes the run to `profiles/<phase>/<id>` of a place, with unchanged kernel sources; returns the folder.
    pub fn write(&self, place: &Place) -> PathBuf {
        let phase = parse(Path::new("phase.toml"), &self.text).unwrap();
        let plan = unroll(&phase).unwrap();
        let folder = place.path().join("profiles").join(&phase.name).join(&self.id);
        let mut manifest = manifest(&phase, &plan, self.fingerprint.clone());
        manifest.run = self.id.clone();
        manifest.inputs = sources(&plan, place);
        manifest.git = None;
        manifest.null_test = NullTest::Held;
        manifest.started = format!("2026-11-21T00:00:{:02}Z", self.id.len()).parse::<Timestamp>().unwrap();
        let mut writer = RunWriter::open(&folder, manifest, &self.text, &plan, &phase.workload).unwrap();
        for variant in &plan.variants {
            let outcome = match variant.method {
                Method::Kernel(_) => self.built(),
                Method::Function(_) | Method::Command(_) | Method::Captured(_) => BuildOutcome::NotNeeded,
            };
            let kernel = outcome != BuildOutcome::NotNeeded;
            writer.record(&BuildRecord { variant: variant.id.clone(), shares: None, outcome }).unwrap();
            for shape in &phase.workload.shapes {
                for &seed in &phase.workload.seeds {
                    let outcome = self.checked(match self.wrong {
                        Wrong::Nobody => false,
                        Wrong::Kernels => kernel,
                        Wrong::Candidates => variant.standing == VariantRole::Candidate,
                    });
                    let record =
                        CheckRecord { variant: variant.id.clone(), shape: shape.name.clone(), seed, outcome, nulls: 0 };
                    writer.record(&record).unwrap();
                }
            }
            for shape in &phase.bench.shapes {
                let rounds = self.rounds.unwrap_or(phase.bench.rounds);
                writer.record(&timed(&self.latency, &variant.id, shape, rounds)).unwrap();
                let anew = match &self.confirmed {
                    Confirmed::Never => None,
                    Confirmed::Alike => Some((5.min(rounds), &self.latency)),
                    Confirmed::Anew(processes, latency) => Some((*processes, latency)),
                };
                if let Some((count, latency)) = anew {
                    let timed = timed(latency, &variant.id, shape, rounds);
                    let mut processes = vec![rounds / count; count as usize];
                    processes[0] += rounds % count;
                    writer.record(&ConfirmationRecord { timed, looks: 1, processes }).unwrap();
                }
            }
        }
        if self.seen {
            self.profile(&mut writer, &phase, &plan);
        }
        writer.finish(self.state, Timestamp::now()).unwrap();
        writer.judged(RunVerdict { verdict: self.verdict, fallback: None, is_first: false }).unwrap();
        folder
    }

    /// A report of ncu with a launch of every timed case. The duration is the median latency.
    fn profile(&self, writer: &mut RunWriter, phase: &Phase, plan: &Plan) {
        const REPORT: &str = "witness-1.ncu-rep";
        let cases = || plan.variants.iter().flat_map(|v| phase.bench.shapes.iter().map(move |shape| (v, shape)));
        let launches = cases().flat_map(|(variant, shape)| {
            let entries = match &variant.method {
                Method::Kernel(kernel) => kernel.launched_entries(shape),
                Method::Function(_) | Method::Command(_) | Method::Captured(_) => vec!["library"],
            };
            let mut samples: Vec<f64> = (0..60).map(|round| (self.latency)(&variant.id, round)).collect();
            samples.sort_by(f64::total_cmp);
            // The launches of an evaluation share it equally.
            let us = self.duration.unwrap_or(samples[30] * self.stretch);
            let each = us * 1e3 / entries.len() as f64;
            let range = format!("{}@{shape}", variant.id);
            let of = |entry: &str| {
                let launch = launch(self.profiled_as.unwrap_or(entry), &range, &[(0, each)]);
                self.dram_bytes
                    .iter()
                    .fold(launch, |launch, bytes| launch.inside(13, metric(1, Some(message().double(3, *bytes)))))
            };
            entries.into_iter().map(of).collect::<Vec<_>>()
        });
        std::fs::write(writer.folder().join("reports").join(REPORT), report(launches.collect(), 1.0)).unwrap();
        for (variant, shape) in cases() {
            let outcome = ProfileOutcome::Profiled { report: REPORT.to_owned() };
            let metrics = vec![DURATION.to_owned()];
            let outputs = Some(ProfiledOutputs::Right { seed: 3, evaluations: 1 });
            let record = ProfileRecord { variant: variant.id.clone(), shape: shape.clone(), metrics, outcome, outputs };
            writer.record(&record).unwrap();
        }
    }

    fn built(&self) -> BuildOutcome {
        let resources = Resources {
            registers: self.registers,
            static_shared: 0,
            stack: 0,
            local: 0,
            spills: 0,
            constant: 600,
            barriers: 1,
        };
        BuildOutcome::Built {
            cubin: PathBuf::new(),
            cubin_sha256: String::new(),
            code_sha256: self.code.clone(),
            resources,
            symbols: Default::default(),
            entries: Vec::new(),
            arch: "sm_90".to_owned(),
            cached: false,
            log: String::new(),
            launch: None,
            left_out: Vec::new(),
            growth: None,
        }
    }

    fn checked(&self, wrong: bool) -> CheckOutcome {
        let differences =
            Differences { max_abs: 1e-4, rel_l2: 1e-4, nonfinite: 0, compared: 1024, ..Differences::default() };
        match wrong {
            true => {
                let differences = Differences { max_abs: 1.0, ..differences };
                CheckOutcome::Wrong {
                    differences,
                    reason: "max_abs is 1".to_owned(),
                    defects: Vec::new(),
                    element: None,
                }
            }
            false => CheckOutcome::Correct { differences },
        }
    }
}

fn timed(latency: &Latency, variant: &VariantId, shape: &ShapeName, rounds: u32) -> LatencyRecord {
    let samples: Vec<f64> = (0..rounds as usize).map(|round| latency(variant, round)).collect();
    let mut sorted = samples.clone();
    sorted.sort_by(f64::total_cmp);
    let audit = Some(audit(sorted[sorted.len() / 2]));
    let outcome = LatencyOutcome::Timed { samples, launches: 20, audit, gpu: None };
    LatencyRecord { variant: variant.clone(), shape: shape.clone(), outcome }
}

/// ncu's name of the duration, the witness of every latency.
const DURATION: &str = "gpu__time_duration.sum";
/// Duration of an empty kernel, as the double of the driver has it.
const EMPTY_NS: f64 = 1000.0;

/// A report with a launch of each kernel inside its range `<kernel>@only`, with its duration in nanoseconds.
pub fn report_of(kernels: &[&str], duration: f64) -> Vec<u8> {
    let launch = |kernel: &&str| launch(kernel, &format!("{kernel}@only"), &[(0, duration)]);
    report(kernels.iter().map(launch).collect(), EMPTY_NS)
}

/// A report with a launch of each kernel in the range of a variant at the shape `only`, with its duration in
/// nanoseconds.
pub fn report_of_variants(launches: &[(&str, &str, f64)]) -> Vec<u8> {
    let launch =
        |(kernel, variant, duration): &(&str, &str, f64)| launch(kernel, &format!("{variant}@only"), &[(0, *duration)]);
    report(launches.iter().map(launch).collect(), EMPTY_NS)
}

/// A report with a launch of each kernel in a range (`variant@shape`), with its duration in nanoseconds.
pub fn report_of_ranges(launches: &[(&str, &str, f64)]) -> Vec<u8> {
    let launch = |(kernel, range, duration): &(&str, &str, f64)| launch(kernel, range, &[(0, *duration)]);
    report(launches.iter().map(launch).collect(), EMPTY_NS)
}

/// Like [`report_of_variants`], with the eligible warps of each launch.
pub fn report_of_eligible_warps(launches: &[(&str, &str, f64, f64)]) -> Vec<u8> {
    let launch = |(kernel, variant, duration, eligible): &(&str, &str, f64, f64)| {
        launch(kernel, &format!("{variant}@only"), &[(0, *duration), (2, *eligible)])
    };
    report(launches.iter().map(launch).collect(), EMPTY_NS)
}

/// A report with these launches, and that of an empty kernel with its duration.
fn report(mut launches: Vec<Message>, empty_ns: f64) -> Vec<u8> {
    launches.push(launch("ncugate_empty", EMPTY_RANGE.to_str().unwrap(), &[(0, empty_ns)]));
    let names = [DURATION, "dram__bytes.sum", "smsp__warps_eligible.avg.per_cycle_active"];
    let names = names.iter().fold(message(), |names, name| names.text(1, name));
    let process = message().int(1, 10).text(2, "127.0.0.1").text(3, "/srv/app");
    let block = message().int(2, launches.len() as u64).inside(4, names).inside(6, process);
    file(7, &[(block, launches)])
}

/// A launch inside a range, with counters by the index of their names.
fn launch(kernel: &str, range: &str, counters: &[(u64, f64)]) -> Message {
    let pushed = message().int(1, 0).inside(3, message().text(1, range));
    let nvtx = message()
        .inside(1, message().int(1, 0).text(2, "<default domain>"))
        .inside(2, message().int(1, 655).inside(2, pushed));
    let launch = message()
        .int(1, 655)
        .int(2, 15)
        .int(3, 1)
        .int(4, 1)
        .text(5, kernel)
        .text(6, kernel)
        .text(7, kernel)
        .inside(10, message().int(1, 4).int(2, 1).int(3, 1))
        .inside(11, message().int(1, 128).int(2, 1).int(3, 1))
        .inside(21, nvtx);
    let with = |launch: Message, (name, value): &(u64, f64)| {
        launch.inside(13, metric(*name, Some(message().double(3, *value))))
    };
    counters.iter().fold(launch, with)
}

/// Kernel sources of a plan in a place, with their hashes; missing ones are created.
fn sources(plan: &Plan, place: &Place) -> BTreeMap<String, String> {
    let kernels = plan.variants.iter().filter_map(|variant| match &variant.method {
        Method::Kernel(kernel) => Some(kernel.source.display().to_string()),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
    });
    let hash = |name: String| {
        let path = place.path().join(&name);
        let bytes = fs::read(&path).or_else(|_| fs::read(place.write(&name, "// a kernel\n"))).unwrap();
        (name, sha256(&bytes))
    };
    kernels.map(hash).collect()
}

/// Reseals a run after changes to its files, as anyone with write access can.
pub fn reseal(folder: &Path) {
    let mut manifest = serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    seal(folder, &mut manifest).unwrap();
}

/// Deterministic noise between -1 and 1 for each seed.
pub fn wiggle(round: usize, seed: usize) -> f64 {
    ((round * 23 + seed * 7) % 60) as f64 / 29.5 - 1.0
}

/// Stores this standard deviation between five processes of an H200, in percent, for every shape of the phase.
pub fn calibrate(place: &Place, text: &str, percent: f64) {
    let phase = parse(Path::new("phase.toml"), text).unwrap();
    let spread = || RunSpread { runs: 5, median_sd_pct: percent, p90_sd_pct: Some(percent) };
    let noise = |shape: &ShapeName| ShapeNoise {
        shape: shape.clone(),
        rounds: 120,
        median_pct: 0.01,
        p90_pct: Some(0.01),
        between: Some(spread()),
    };
    let calibration = Calibration {
        conditions: Conditions::ahead(&phase, &h200()),
        variant: VariantId("v".into()),
        measured: Timestamp::UNIX_EPOCH,
        shapes: phase.bench.shapes.iter().map(noise).collect(),
    };
    let mut book = NoiseBook::open(&place.path().join("profiles"), &phase.name).unwrap();
    book.keep(calibration).unwrap();
}

/// Verification record of a kernel's timed launches.
fn audit(us: f64) -> Audit {
    let launches = 480;
    Audit {
        launches,
        samples: 60,
        graphs: 2,
        seeds: vec![1, 2],
        chance: Audit::chance_after(launches),
        l2_share: None,
        unrepeated: vec![UnrepeatedSamples { launches: 1, fixed_us: 0.0, samples: vec![1.0; 3], unseen: 1 }],
        isolated: vec![IsolatedSamples {
            kernels: 1,
            empty_us: 0.001,
            samples: vec![us; 8],
            evaluations: vec![us; 8],
            clock_mhz: Vec::new(),
        }],
    }
}
