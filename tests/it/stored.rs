//! Runs written as a campaign would write them, with numbers that a test chooses.

use crate::command::Place;
use jiff::Timestamp;
use ncugate::config::parse;
use ncugate::judge::reference_runs::{Calibration, Conditions, NoiseBook, RunSpread, ShapeNoise};
use ncugate::model::Gpu;
use ncugate::model::ShapeName;
use ncugate::model::VariantId;
use ncugate::model::{BuildOutcome, BuildRecord, Resources};
use ncugate::model::{CheckOutcome, CheckRecord, ConfirmationRecord, Differences, LatencyOutcome, LatencyRecord};
use ncugate::plan::{Method, unroll};
use ncugate::store::{Fingerprint, Machine, RunState, RunWriter, manifest};
use std::path::{Path, PathBuf};

/// Microseconds of a variant in a round.
type Latency = Box<dyn Fn(&VariantId, usize) -> f64>;

/// What was timed anew.
enum Confirmed {
    Never,
    /// Everything, in five processes that gave the samples of the sweep.
    Alike,
    /// Everything, in so many processes.
    Anew(u32, Latency),
}

/// A run to be written.
pub struct Stored {
    text: String,
    id: String,
    fingerprint: Fingerprint,
    state: RunState,
    registers: u32,
    wrong: bool,
    code: String,
    confirmed: Confirmed,
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
        machine: Machine { gpu: Some("a".to_owned()), host: Some("h".to_owned()), power_limit_w: Some(700) },
        clock_control: "none".to_owned(),
        cache_control: "all".to_owned(),
        replay_mode: "kernel".to_owned(),
    }
}

impl Stored {
    /// A complete and correct run on an H200 of a phase with this text; every variant takes 10 us.
    pub fn new(text: &str, id: &str) -> Self {
        Self {
            text: text.to_owned(),
            id: id.to_owned(),
            fingerprint: h200(),
            state: RunState::Complete,
            registers: 64,
            wrong: false,
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

    pub fn registers(mut self, registers: u32) -> Self {
        self.registers = registers;
        self
    }

    /// Every candidate computes the wrong thing.
    pub fn wrong(mut self) -> Self {
        self.wrong = true;
        self
    }

    /// All kernels have this machine code.
    pub fn code(mut self, code: &str) -> Self {
        self.code = code.to_owned();
        self
    }

    /// Everything was timed anew, in so many processes: samples by variant and round.
    pub fn confirmed(mut self, processes: u32, of: impl Fn(&VariantId, usize) -> f64 + 'static) -> Self {
        self.confirmed = Confirmed::Anew(processes, Box::new(of));
        self
    }

    /// Nothing was timed anew, as in a run of an earlier version.
    pub fn unconfirmed(mut self) -> Self {
        self.confirmed = Confirmed::Never;
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
                    let outcome = self.checked(kernel);
                    let record = CheckRecord { variant: variant.id.clone(), shape: shape.name.clone(), seed, outcome };
                    writer.check(&record).unwrap();
                }
            }
            for shape in &phase.bench.shapes {
                let rounds = phase.bench.rounds;
                writer.latency(&timed(&self.latency, &variant.id, shape, rounds)).unwrap();
                let anew = match &self.confirmed {
                    Confirmed::Never => None,
                    Confirmed::Alike => Some((5.min(rounds), &self.latency)),
                    Confirmed::Anew(processes, latency) => Some((*processes, latency)),
                };
                if let Some((count, latency)) = anew {
                    let timed = timed(latency, &variant.id, shape, rounds);
                    let mut processes = vec![rounds / count; count as usize];
                    processes[0] += rounds % count;
                    writer.confirmation(&ConfirmationRecord { timed, looks: 1, processes }).unwrap();
                }
            }
        }
        writer.finish(self.state).unwrap();
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
            code_sha256: self.code.clone(),
            resources,
            arch: "sm_90".to_owned(),
            cached: false,
            log: String::new(),
        }
    }

    fn checked(&self, kernel: bool) -> CheckOutcome {
        let differences = Differences { max_abs: 1e-4, rel_l2: 1e-4, nonfinite: 0, compared: 1024 };
        match self.wrong && kernel {
            true => CheckOutcome::Wrong { differences, reason: "max_abs is 1".to_owned(), defects: None },
            false => CheckOutcome::Correct { differences },
        }
    }
}

fn timed(latency: &Latency, variant: &VariantId, shape: &ShapeName, rounds: u32) -> LatencyRecord {
    let samples = (0..rounds as usize).map(|round| latency(variant, round)).collect();
    let outcome = LatencyOutcome::Timed { samples, launches: 20, audit: None };
    LatencyRecord { variant: variant.clone(), shape: shape.clone(), outcome }
}

/// A wiggle between -1 and 1, another for each seed.
pub fn wiggle(round: usize, seed: usize) -> f64 {
    ((round * 23 + seed * 7) % 60) as f64 / 29.5 - 1.0
}

/// Keeps that five processes of an H200 differed by this standard deviation, in percent, at every shape of the phase.
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
        variant: VariantId("v".to_owned()),
        measured: Timestamp::UNIX_EPOCH,
        shapes: phase.bench.shapes.iter().map(noise).collect(),
    };
    let mut book = NoiseBook::open(&place.path().join("profiles"), &phase.name).unwrap();
    book.keep(calibration).unwrap();
}
