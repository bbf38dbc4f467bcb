//! Build, timing and profiling settings of a phase as flat text, for the manifest and for comparing two phases.

use ncugate_phase::config::Phase;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Settings without influence on measured values: timeouts, and metrics in addition to those of gates (compared by
/// counter).
const NOT_MEASURED: [&str; 4] = ["bench.timeout", "profile.timeout", "profile.metrics", "profile.deep_profile"];

/// Settings of a phase by key (`bench.rounds`), as JSON.
pub fn settings(phase: &Phase) -> BTreeMap<String, String> {
    let tables = [
        ("build", serde_json::to_value(&phase.build)),
        ("bench", serde_json::to_value(&phase.bench)),
        ("profile", serde_json::to_value(&phase.profile)),
    ];
    let mut all = BTreeMap::new();
    for (table, value) in tables {
        if let Ok(Value::Object(keys)) = value {
            all.extend(keys.into_iter().map(|(key, value)| (format!("{table}.{key}"), value.to_string())));
        }
    }
    all.retain(|key, _| !NOT_MEASURED.contains(&key.as_str()));
    all
}

/// The differing settings, a phrase each: `bench.rounds = 60, not 1000`. A setting missing on one side differs.
pub fn differences(then: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let shown = |value: Option<&String>| value.map_or("unknown", String::as_str).to_owned();
    let keys: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    keys.into_iter()
        .filter(|key| then.get(*key) != now.get(*key))
        .map(|key| format!("{key} = {}, not {}", shown(then.get(key)), shown(now.get(key))))
        .collect()
}
