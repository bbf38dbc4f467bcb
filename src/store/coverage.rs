//! Whether a stored run holds what a phase asks for now.

use super::Run;
use crate::config::Phase;
use crate::model::ProfileOutcome;
use crate::plan::{Plan, Variant};
use std::collections::{BTreeMap, BTreeSet};

/// Names shown before the rest is counted.
const SHOWN: usize = 4;

/// What `run` lacks of the phase as it is now, a line each; nothing when it can stand for it.
///
/// `sources` are the hashes of the kernel sources now, by path, and `counters` the ncu metrics that judging needs. Gates,
/// tiers and titles may have changed: they are judged anew.
pub fn lacks(run: &Run, phase: &Phase, plan: &Plan, sources: &[(String, String)], counters: &[String]) -> Vec<String> {
    let mut lacks = Vec::new();
    let recorded: BTreeMap<_, &Variant> = run.plan.variants.iter().map(|v| (&v.id, v)).collect();
    let absent = plan.variants.iter().filter(|v| !recorded.contains_key(&v.id)).map(|v| v.id.0.as_str());
    lacks.extend(listed("no variant", absent.collect()));
    let changed = plan.variants.iter().filter(|v| recorded.get(&v.id).is_some_and(|old| old.method != v.method));
    lacks.extend(listed("another launch, source or flags for variant", changed.map(|v| v.id.0.as_str()).collect()));
    if serde_json::to_value(&phase.workload).ok().as_ref() != Some(&run.workload) {
        lacks.push("another workload (shapes, seeds, buffers, reference or tolerance)".to_owned());
    }
    let before: BTreeMap<_, _> = run.manifest.sources.iter().cloned().collect();
    let edited = sources.iter().filter(|(path, hash)| before.get(path) != Some(hash)).map(|(path, _)| path.as_str());
    lacks.extend(listed("an older text of", edited.collect()));
    let counted: BTreeSet<&String> = run
        .profiles
        .iter()
        .filter(|record| matches!(record.outcome, ProfileOutcome::Profiled { .. }))
        .flat_map(|record| &record.metrics)
        .collect();
    let uncounted = counters.iter().filter(|name| !counted.contains(name)).map(String::as_str);
    lacks.extend(listed("no counter", uncounted.collect()));
    lacks
}

fn listed(what: &str, names: Vec<&str>) -> Option<String> {
    let shown = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => None,
        n if n <= SHOWN => Some(format!("{what} {shown}")),
        n => Some(format!("{what} {shown} and {} more", n - SHOWN)),
    }
}
