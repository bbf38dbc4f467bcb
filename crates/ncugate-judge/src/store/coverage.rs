//! Checks whether a stored run covers a phase's current requirements.

use super::{Run, inputs, settings};
use ncugate_model::ProfileOutcome;
use ncugate_model::number::text;
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Plan, Variant};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of names shown.
const SHOWN: usize = 4;
/// Maximum number of files shown.
const MOST: usize = 12;

/// The data that `run` lacks for the current phase, one line each; empty if it covers the phase.
///
/// `counters` are the ncu metrics that judging needs. Files are compared with those of the phase's project. Gates,
/// tiers and titles may differ, because they are judged again.
pub fn lacks(run: &Run, phase: &Phase, plan: &Plan, counters: &[String]) -> Vec<String> {
    let mut lacks = Vec::new();
    let recorded: BTreeMap<_, &Variant> = run.plan.variants.iter().map(|v| (&v.id, v)).collect();
    let absent = plan.variants.iter().filter(|v| !recorded.contains_key(&v.id)).map(|v| v.id.0.as_str());
    lacks.extend(listed("no variant", absent.collect()));
    let changed = plan.variants.iter().filter(|v| recorded.get(&v.id).is_some_and(|old| old.method != v.method));
    lacks.extend(listed("another launch, source or flags for variant", changed.map(|v| v.id.0.as_str()).collect()));
    if serde_json::to_value(&phase.workload).ok().as_ref() != Some(&run.workload) {
        lacks.push("another workload (shapes, seeds, buffers, reference or tolerance)".to_owned());
    }
    lacks.extend(settings::differences(&run.manifest.settings, &settings::settings(phase)));
    lacks.extend(shortened(inputs::differences(&run.manifest, phase, plan)));
    let counted: BTreeSet<&String> = run
        .profiles
        .iter()
        .filter(|record| !matches!(record.outcome, ProfileOutcome::Failed { .. }))
        .flat_map(|record| &record.metrics)
        .collect();
    let uncounted = counters.iter().filter(|name| !counted.contains(name)).map(String::as_str);
    lacks.extend(listed("no counter", uncounted.collect()));
    lacks
}

/// The first phrases, and the number of the remaining ones.
fn shortened(mut phrases: Vec<String>) -> Vec<String> {
    let more = phrases.len().saturating_sub(MOST);
    phrases.truncate(MOST);
    phrases.extend((more > 0).then(|| format!("and {more} more changed files")));
    phrases
}

fn listed(what: &str, names: Vec<&str>) -> Option<String> {
    let shown = text::listed(names.iter().map(|name| format!("'{name}'")), SHOWN, ", ");
    (!names.is_empty()).then(|| format!("{what} {shown}"))
}
