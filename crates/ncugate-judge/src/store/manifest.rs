//! The manifest of a run: when, where and with which tools it was measured.

use super::SCHEMA;
use super::settings::settings;
use jiff::Timestamp;
use ncugate_model::digest::sha256;
use ncugate_model::{Gpu, NullTest, VariantId, Verdict};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{PhaseSubset, Shard};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How far a run got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Measuring, or terminated without a final state (killed, disk full).
    Running,
    /// Stopped by a signal.
    Interrupted,
    /// Everything that the plan asks for was attempted.
    Complete,
}

/// The GPU and host of a measurement, anonymized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Machine {
    /// Hash of the GPU's UUID.
    pub gpu: Option<String>,
    /// Hash of the host's name.
    pub host: Option<String>,
    /// Power limit of the GPU in watts.
    pub power_limit_w: Option<u32>,
}

/// Everything that two comparable runs must share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Fingerprint {
    pub gpu: Option<Gpu>,
    /// Driver version (`580.159.04`).
    pub driver: Option<String>,
    /// ncu version (`2025.3.1.0`).
    pub ncu: Option<String>,
    /// nvcc version (`13.0.88`).
    pub nvcc: Option<String>,
    /// Its GPU and host.
    pub machine: Machine,
    /// ncu's clock control (`none`).
    pub clock_control: String,
    /// ncu's cache control (`all`).
    pub cache_control: String,
    /// ncu's replay mode (`kernel`).
    pub replay_mode: String,
}

impl Fingerprint {
    /// A copy without the data that identify a GPU and host of the same kind.
    pub fn anywhere(&self) -> Self {
        let machine = Machine { gpu: None, host: None, ..self.machine.clone() };
        Self { machine, ..self.clone() }
    }
}

/// The measured source tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Git {
    pub commit: String,
    /// Whether tracked files differed from the commit.
    pub dirty: bool,
}

/// The result of a run, judged by its own phase after everything was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunVerdict {
    pub verdict: Verdict,
    /// The fallback, if it replaced the selected variant, which did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<VariantId>,
    /// Whether only gates that compare with the previous run were inconclusive, because there was no previous run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_first: bool,
}

impl RunVerdict {
    /// Whether later runs may be compared with it: its selected variant passed.
    pub fn is_reference(&self) -> bool {
        let passed = self.verdict == Verdict::Pass && self.fallback.is_none();
        passed || (self.verdict == Verdict::Inconclusive && self.is_first)
    }
}

/// The list of a finished run's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// SHA-256 of `manifest.json` with 64 zeros in place of this value.
    pub manifest_sha256: String,
    /// Every other file, by its path in the run's folder.
    pub files: BTreeMap<String, SealedFile>,
}

/// A file of a finished run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedFile {
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Number of records in it, if it holds records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
}

/// The part of a phase that a run measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardOf {
    pub shard: Shard,
    /// [`Manifest::plan_sha256`] of the whole phase.
    pub whole_sha256: String,
}

/// One of the runs that form a merged run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedShard {
    pub run: String,
    /// The measured part.
    pub shard: Shard,
    /// Its GPU and host.
    pub machine: Machine,
}

/// The continuation of a run in another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumption {
    pub at: Timestamp,
    /// Time of the last write before it.
    pub written: Timestamp,
    /// Number of checks, latencies and profiles at that time.
    pub records: u64,
}

/// A run's `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this layout.
    pub schema: u32,
    /// Version of ncugate that measured.
    pub ncugate: String,
    pub phase: String,
    /// The run's id and the name of its folder.
    pub run: String,
    /// How far it got.
    pub state: RunState,
    pub started: Timestamp,
    pub finished: Option<Timestamp>,
    /// The continuations after an early end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub continued: Vec<Resumption>,
    pub argv: Vec<String>,
    pub fingerprint: Fingerprint,
    /// SHA-256 of the phase's text.
    pub config_sha256: String,
    /// SHA-256 of the measured part of the plan: variants, workload, settings, and the lookup of compilers and
    /// programs (not gates).
    pub plan_sha256: String,
    /// The measured part of the phase, if it is not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardOf>,
    /// The part of the phase selected on the command line, if it is not the whole; such a run decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrowed: Option<PhaseSubset>,
    /// Result of testing the tolerance on wrong answers before anything was built; check records say at which cases
    /// the worker tested it.
    #[serde(default)]
    pub null_test: NullTest,
    /// The shards that the run was merged from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<MergedShard>,
    /// SHA-256 of every kernel source and of the headers next to it, by path.
    pub sources: Vec<(String, String)>,
    /// SHA-256 of every input file of the run, by path: sources, files that the compiler read for them, files in
    /// flags, programs and scripts with the code next to them, and references. The toolkit's own headers are
    /// excluded, because nvcc's version identifies them. `absent` instead of a hash: a path without a file that the
    /// compiler would have read instead of another.
    pub inputs: BTreeMap<String, String>,
    /// Build, timing and profiling settings by key of the phase file (`bench.rounds`).
    pub settings: BTreeMap<String, String>,
    /// The text of the project's `ncugate.toml`, which provides the settings that the phase leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub git: Option<Git>,
    /// Wall seconds by stage (`build`, `bench`, `profile`).
    pub stage_seconds: Vec<(String, f64)>,
    /// Software of external commands, as they reported it, by variant: names and versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub software: BTreeMap<String, BTreeMap<String, String>>,
    /// Whether host names, addresses and paths were removed.
    pub redacted: bool,
    /// The verdict; `None` if the run was not judged to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RunVerdict>,
    /// Why measuring ended early, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Problems that do not belong to single variants.
    pub warnings: Vec<String>,
    /// Every file of a complete run; `None` while it is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
}

impl Manifest {
    /// The manifest of a run that starts, based on its phase and the machine.
    pub fn new(phase: &Phase, fingerprint: Fingerprint, started: Timestamp) -> Self {
        Self {
            schema: SCHEMA,
            ncugate: env!("CARGO_PKG_VERSION").to_owned(),
            phase: phase.name.clone(),
            run: started.strftime("%Y%m%dT%H%M%SZ").to_string(),
            state: RunState::Running,
            started,
            finished: None,
            continued: Vec::new(),
            argv: Vec::new(),
            fingerprint,
            config_sha256: sha256(phase.text.as_bytes()),
            plan_sha256: String::new(),
            sources: Vec::new(),
            null_test: NullTest::default(),
            inputs: BTreeMap::new(),
            settings: settings(phase),
            project: phase.project.clone(),
            git: None,
            stage_seconds: Vec::new(),
            software: BTreeMap::new(),
            redacted: false,
            verdict: None,
            stopped: None,
            shard: None,
            narrowed: None,
            merged: Vec::new(),
            warnings: Vec::new(),
            seal: None,
        }
    }
}
