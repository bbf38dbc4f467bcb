//! What a run was: when, where, with what.

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
    /// Measuring, or ended without saying so (killed, disk full).
    Running,
    /// Stopped by a signal.
    Interrupted,
    /// Everything that the plan asks for was tried.
    Complete,
}

/// Which GPU and host measured, without naming them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Machine {
    /// Hash of the GPU's UUID.
    pub gpu: Option<String>,
    /// Hash of the host's name.
    pub host: Option<String>,
    /// Power limit of the GPU in watts.
    pub power_limit_w: Option<u32>,
}

/// Everything that makes two runs comparable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Fingerprint {
    pub gpu: Option<Gpu>,
    /// Driver version (`580.159.04`).
    pub driver: Option<String>,
    /// ncu version (`2025.3.1.0`).
    pub ncu: Option<String>,
    /// nvcc version (`13.0.88`).
    pub nvcc: Option<String>,
    /// Which GPU and host.
    pub machine: Machine,
    /// ncu's clock control (`none`).
    pub clock_control: String,
    /// ncu's cache control (`all`).
    pub cache_control: String,
    /// ncu's replay mode (`kernel`).
    pub replay_mode: String,
}

impl Fingerprint {
    /// Without what tells one GPU and host from another of the same kind.
    pub fn anywhere(&self) -> Self {
        let machine = Machine { gpu: None, host: None, ..self.machine.clone() };
        Self { machine, ..self.clone() }
    }
}

/// The source tree that was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Git {
    pub commit: String,
    /// Whether tracked files differed from it.
    pub dirty: bool,
}

/// How a run ended, judged by its own phase when everything was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunVerdict {
    pub verdict: Verdict,
    /// The fallback that was taken, where one was: the selected variant did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<VariantId>,
    /// Whether only gates that compare with the run before were inconclusive, because there was no run before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_first: bool,
}

impl RunVerdict {
    /// Whether a later run may be compared with it: its selected variant passed.
    pub fn is_reference(&self) -> bool {
        let passed = self.verdict == Verdict::Pass && self.fallback.is_none();
        passed || (self.verdict == Verdict::Inconclusive && self.is_first)
    }
}

/// What a finished run consists of.
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
    /// Records in it, where it holds records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
}

/// Which part of a phase a run measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardOf {
    pub shard: Shard,
    /// What [`Manifest::plan_sha256`] is of the whole phase.
    pub whole_sha256: String,
}

/// A run that a merged run is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedShard {
    pub run: String,
    /// The part that it measured.
    pub shard: Shard,
    /// Which GPU and host.
    pub machine: Machine,
}

/// That a run went on in another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumption {
    pub at: Timestamp,
    /// When it was last written before.
    pub written: Timestamp,
    /// Checks, latencies and profiles that it had by then.
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
    /// The run's id, also its folder's name.
    pub run: String,
    /// How far it got.
    pub state: RunState,
    pub started: Timestamp,
    pub finished: Option<Timestamp>,
    /// When it went on after it had ended early.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub continued: Vec<Resumption>,
    pub argv: Vec<String>,
    pub fingerprint: Fingerprint,
    /// SHA-256 of the phase's text.
    pub config_sha256: String,
    /// SHA-256 of the measured part of the plan: variants, workload, settings, and what compilers and programs are found by
    /// (not gates).
    pub plan_sha256: String,
    /// The part of the phase that was measured, where it is not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardOf>,
    /// The part of the phase that was asked for on the command line, where it is not the whole; such a run decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrowed: Option<PhaseSubset>,
    /// Further GPUs of the same kind and power limit, which checked and counted: the first wrote the reports whose names begin with
    /// `gpu2-`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Machine>,
    /// What came of trying the tolerance on wrong answers before anything was built; records of checks say where the worker tried it.
    /// None in a run of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null_test: Option<NullTest>,
    /// The shards that the run was merged from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<MergedShard>,
    /// SHA-256 of every kernel source and of the headers beside it, by path.
    pub sources: Vec<(String, String)>,
    /// SHA-256 of every file that the run was made of, by path: sources, what the compiler read for them, files that flags
    /// name, programs and scripts with the code beside them, references. The toolkit's own headers are not among them: nvcc's
    /// version stands for those.
    pub inputs: BTreeMap<String, String>,
    /// How it was built, timed and profiled, by key of the phase's file (`bench.rounds`).
    pub settings: BTreeMap<String, String>,
    /// The text of the project's `ncugate.toml`, whose settings are those of the phase where it has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub git: Option<Git>,
    /// Wall seconds by stage (`build`, `bench`, `profile`).
    pub stage_seconds: Vec<(String, f64)>,
    /// What external commands said they are made of, by variant: names and versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub software: BTreeMap<String, BTreeMap<String, String>>,
    /// Whether host names, addresses and paths were taken out.
    pub redacted: bool,
    /// How it ended; none where it was not judged to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RunVerdict>,
    /// Why measuring ended early, where it could be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// What went wrong beside single variants.
    pub warnings: Vec<String>,
    /// Every file of a run that is complete; none while it is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
}

impl Manifest {
    /// That of a run which starts, and of which nothing is known but its phase and the machine.
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
            null_test: None,
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
            others: Vec::new(),
            merged: Vec::new(),
            warnings: Vec::new(),
            seal: None,
        }
    }
}
