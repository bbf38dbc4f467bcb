//! Runs written as a campaign would write them, with numbers that a test chooses.

use crate::command::Place;
use jiff::Timestamp;
use ncugate::config::parse;
use ncugate::model::Gpu;
use ncugate::model::ShapeName;
use ncugate::model::VariantId;
use ncugate::model::Verdict;
use ncugate::model::{BuildOutcome, BuildRecord, Resources};
use ncugate::model::{CheckOutcome, CheckRecord, Differences, LatencyOutcome, LatencyRecord};
use ncugate::plan::{Method, Standing, unroll};
use ncugate::store::{Fingerprint, RunState, RunVerdict, RunWriter, manifest};
use std::path::{Path, PathBuf};

/// Microseconds of a variant in a round.
type Latency = Box<dyn Fn(&VariantId, usize) -> f64>;

/// A run to be written.
pub struct Stored {
    text: String,
    id: String,
    fingerprint: Fingerprint,
    state: RunState,
    verdict: Verdict,
    registers: u32,
    wrong: Wrong,
    latency: Latency,
}

/// An H200 as it measured.
pub fn h200() -> Fingerprint {
    let gpu = Gpu {
        name: "NVIDIA H200".to_owned(),
        compute_capability: (9, 0).into(),
        sms: 132,
        memory: 150_109_880_320,
        shared_memory_optin: 232_448,
    };
    Fingerprint {
        gpu: Some(gpu),
        driver: Some("580.159.04".to_owned()),
        ncu: Some("2025.3.1.0".to_owned()),
        nvcc: Some("13.0.88".to_owned()),
        clock_control: "none".to_owned(),
        cache_control: "all".to_owned(),
        replay_mode: "kernel".to_owned(),
    }
}

/// Who computes the wrong thing.
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

    /// How the run was judged when it was measured.
    pub fn judged(mut self, verdict: Verdict) -> Self {
        self.verdict = verdict;
        self
    }

    pub fn registers(mut self, registers: u32) -> Self {
        self.registers = registers;
        self
    }

    /// Every kernel computes the wrong thing.
    pub fn wrong(mut self) -> Self {
        self.wrong = Wrong::Kernels;
        self
    }

    /// Every candidate computes the wrong thing, and baselines the right one.
    pub fn wrong_candidates(mut self) -> Self {
        self.wrong = Wrong::Candidates;
        self
    }

    /// Samples by variant and round.
    pub fn latency(mut self, of: impl Fn(&VariantId, usize) -> f64 + 'static) -> Self {
        self.latency = Box::new(of);
        self
    }

    /// Writes it into `profiles/<phase>/<id>` of a place; gives the folder.
    pub fn write(&self, place: &Place) -> PathBuf {
        let phase = parse(Path::new("phase.toml"), &self.text).unwrap();
        let plan = unroll(&phase).unwrap();
        let folder = place.path().join("profiles").join(&phase.name).join(&self.id);
        let mut manifest = manifest(&phase, &plan, self.fingerprint.clone());
        manifest.run = self.id.clone();
        manifest.started = format!("2026-11-21T00:00:{:02}Z", self.id.len()).parse::<Timestamp>().unwrap();
        let mut writer = RunWriter::open(&folder, manifest, &self.text, &plan, &phase.workload).unwrap();
        for variant in &plan.variants {
            let outcome = match variant.method {
                Method::Kernel(_) => self.built(),
                Method::Command(_) => BuildOutcome::NotNeeded,
            };
            let kernel = outcome != BuildOutcome::NotNeeded;
            writer.build(&BuildRecord { variant: variant.id.clone(), shares: None, outcome }).unwrap();
            for shape in &phase.workload.shapes {
                for &seed in &phase.workload.seeds {
                    let outcome = self.checked(match self.wrong {
                        Wrong::Nobody => false,
                        Wrong::Kernels => kernel,
                        Wrong::Candidates => variant.standing == Standing::Candidate,
                    });
                    let record = CheckRecord { variant: variant.id.clone(), shape: shape.name.clone(), seed, outcome };
                    writer.check(&record).unwrap();
                }
            }
            for shape in &phase.bench.shapes {
                writer.latency(&self.timed(&variant.id, shape, phase.bench.rounds)).unwrap();
            }
        }
        writer.finish(self.state).unwrap();
        writer.judged(RunVerdict { verdict: self.verdict, fallback: None, is_first: false }).unwrap();
        folder
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
            code_sha256: String::new(),
            resources,
            arch: "sm_90".to_owned(),
            cached: false,
            log: String::new(),
        }
    }

    fn checked(&self, wrong: bool) -> CheckOutcome {
        let differences = Differences { max_abs: 1e-4, rel_l2: 1e-4, nonfinite: 0, compared: 1024 };
        match wrong {
            true => CheckOutcome::Wrong { differences, reason: "max_abs is 1".to_owned(), defects: None },
            false => CheckOutcome::Correct { differences },
        }
    }

    fn timed(&self, variant: &VariantId, shape: &ShapeName, rounds: u32) -> LatencyRecord {
        let samples = (0..rounds as usize).map(|round| (self.latency)(variant, round)).collect();
        let outcome = LatencyOutcome::Timed { samples, launches: 20 };
        LatencyRecord { variant: variant.clone(), shape: shape.clone(), outcome }
    }
}

/// A wiggle between -1 and 1, another for each seed.
pub fn wiggle(round: usize, seed: usize) -> f64 {
    ((round * 23 + seed * 7) % 60) as f64 / 29.5 - 1.0
}
