//! The conditions that two comparable measurements must share.

use crate::store::{Fingerprint, Run};
use ncugate_model::Gpu;
use ncugate_model::digest::sha256;
use ncugate_phase::config::{BenchSettings, L2State, Phase};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The machine, its tools, the problem, and the sampling settings.
///
/// The variant and its source are excluded, because comparisons are about their differences.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    pub fingerprint: Fingerprint,
    /// SHA-256 of shapes, buffers and scalars.
    pub problem_sha256: String,
    /// Minimum duration of a sample in microseconds.
    pub min_sample_us: u64,
    /// Maximum number of launches in a sample.
    pub max_launches: u32,
    /// Number of buffer sets that launches rotate over.
    pub buffer_sets: u32,
    /// The state of the L2 cache at the start of a launch.
    pub l2: L2State,
    /// Software of external commands, as they reported it, by variant. Only entries known to both measurements are
    /// compared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub software: BTreeMap<String, BTreeMap<String, String>>,
}

impl Conditions {
    /// Conditions of a run: its fingerprint, its workload as JSON, and its timing settings.
    pub fn new(fingerprint: &Fingerprint, workload: &Value, bench: &BenchSettings) -> Self {
        let part = |name: &str| workload.get(name).cloned().unwrap_or_default();
        let problem = Value::Array(vec![part("shapes"), part("buffers"), part("scalars")]);
        Self {
            fingerprint: fingerprint.clone(),
            problem_sha256: sha256(problem.to_string().as_bytes()),
            min_sample_us: u64::try_from(bench.min_sample.as_micros()).unwrap_or(u64::MAX),
            max_launches: bench.max_launches,
            buffer_sets: bench.buffer_sets,
            l2: bench.l2,
            software: BTreeMap::new(),
        }
    }

    /// Conditions of a stored run that was timed with these settings.
    pub fn of_run(run: &Run, bench: &BenchSettings) -> Self {
        let conditions = Self::new(&run.manifest.fingerprint, &run.workload, bench);
        Self { software: run.manifest.software.clone(), ..conditions }
    }

    /// Conditions that a run of this phase will have if it is measured with these tools.
    pub fn ahead(phase: &Phase, fingerprint: &Fingerprint) -> Self {
        // converted through its text, as for a stored run; a workload that cannot be serialized equals no other
        let workload = serde_json::to_string(&phase.workload).and_then(|text| serde_json::from_str(&text));
        Self::new(fingerprint, &workload.unwrap_or_default(), &phase.bench)
    }

    /// The differences between two measurements, a phrase each; empty if they can be compared. An unknown value
    /// differs from any other.
    pub fn differences(&self, then: &Self) -> Vec<String> {
        let (a, b) = (&self.fingerprint, &then.fingerprint);
        let gpu = |f: &Fingerprint| f.gpu.as_ref().map(described);
        let told = [
            ("GPU", gpu(a), gpu(b)),
            ("GPU (hash of its UUID)", a.machine.gpu.clone(), b.machine.gpu.clone()),
            ("host (hash of its name)", a.machine.host.clone(), b.machine.host.clone()),
            ("power limit (W)", a.machine.power_limit_w.and_then(number), b.machine.power_limit_w.and_then(number)),
            ("driver", a.driver.clone(), b.driver.clone()),
            ("ncu", a.ncu.clone(), b.ncu.clone()),
            ("nvcc", a.nvcc.clone(), b.nvcc.clone()),
            ("clock control", Some(a.clock_control.clone()), Some(b.clock_control.clone())),
            ("cache control", Some(a.cache_control.clone()), Some(b.cache_control.clone())),
            ("replay mode", Some(a.replay_mode.clone()), Some(b.replay_mode.clone())),
        ];
        let told = told.into_iter().filter_map(difference);
        told.chain(self.differences_of_software(then)).chain(self.differences_of_phase(then)).collect()
    }

    /// Whether the times of both belong to one series: nothing that comparable measurements share differs. A tool that
    /// neither of them used is no difference; a GPU that is not known is.
    pub fn is_same_series(&self, then: &Self) -> bool {
        self.fingerprint.gpu.is_some()
            && self.fingerprint == then.fingerprint
            && self.differences_of_software(then).next().is_none()
            && self.differences_of_phase(then).is_empty()
    }

    /// Whether both were measured on the same GPU, as far as that is known.
    pub fn is_same_gpu(&self, then: &Self) -> bool {
        let (now, then) = (&self.fingerprint.machine.gpu, &then.fingerprint.machine.gpu);
        now.is_some() && now == then
    }

    fn differences_of_software<'a>(&'a self, then: &'a Self) -> impl Iterator<Item = String> + 'a {
        let both = self.software.iter().filter_map(|(variant, now)| Some((variant, now, then.software.get(variant)?)));
        both.flat_map(|(variant, now, then)| {
            let names: BTreeSet<&String> = now.keys().chain(then.keys()).collect();
            names.into_iter().filter_map(move |name| {
                let what = format!("{name} of '{variant}'");
                difference((&what, now.get(name).cloned(), then.get(name).cloned()))
            })
        })
    }

    /// The differences between the phases of two measurements, regardless of machine and tools.
    pub fn differences_of_phase(&self, then: &Self) -> Vec<String> {
        let told = [
            ("minimum time of a sample (us)", number(self.min_sample_us), number(then.min_sample_us)),
            ("maximum launches of a sample", number(self.max_launches), number(then.max_launches)),
            ("sets of buffers", number(self.buffer_sets), number(then.buffer_sets)),
            ("state of the L2 cache", Some(word(self.l2)), Some(word(then.l2))),
        ];
        let mut differences: Vec<String> = told.into_iter().filter_map(difference).collect();
        if self.problem_sha256 != then.problem_sha256 {
            differences.push("the workload (shapes, buffers or scalars)".to_owned());
        }
        differences
    }
}

fn number(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

fn word(state: L2State) -> String {
    L2State::WORDS.iter().find(|(_, known)| *known == state).map_or_else(String::new, |(word, _)| (*word).to_owned())
}

fn described(gpu: &Gpu) -> String {
    let memory = gpu.memory.map_or_else(|| "memory unknown".to_owned(), |bytes| format!("{bytes} bytes"));
    format!("{} (compute capability {}, {} SMs, {memory})", gpu.name, gpu.compute_capability, gpu.sms)
}

fn difference((what, now, then): (&str, Option<String>, Option<String>)) -> Option<String> {
    match (now, then) {
        (Some(now), Some(then)) if now == then => None,
        (Some(now), Some(then)) => Some(format!("{what}: {now} now, {then} then")),
        (None, Some(then)) => Some(format!("{what}: unknown now, {then} then")),
        (Some(now), None) => Some(format!("{what}: {now} now, unknown then")),
        (None, None) => Some(format!("{what}: unknown")),
    }
}
