//! Which metrics a phase needs: those its gates and its objective name, and those every report shows.

use crate::config::Gate;
use crate::config::Phase;
use crate::expr::{Owner, Requirement};
use crate::metric::{Catalogue, MetricSource, ShownIn};
use crate::model::ComputeCapability;
use std::collections::BTreeSet;

/// ncu's own names of what a deep profile asks for beside its sections; what a section derives, it derives unasked.
pub fn close_counters(capability: Option<ComputeCapability>) -> Vec<String> {
    let mut names = counters(&close_metrics(), capability);
    names.retain(|name| !name.starts_with("derived__"));
    names
}

pub fn close_metrics() -> Vec<String> {
    Catalogue::embedded().shown(ShownIn::Deep).map(str::to_owned).collect()
}

/// Logical and verbatim metrics of a phase, sorted as reports list them: what is always shown first.
pub fn metrics(phase: &Phase) -> Vec<String> {
    let shown: Vec<String> = Catalogue::embedded().shown(ShownIn::Table).map(str::to_owned).collect();
    let mut more = BTreeSet::new();
    more.insert(phase.objective.metric.clone());
    more.extend(phase.profile.metrics.iter().cloned());
    for requirement in requirements(phase) {
        more.extend(requirement.reads().quantities.into_iter().map(|read| read.name));
    }
    more.retain(|name| Catalogue::embedded().source(name).is_some() && !shown.contains(name));
    shown.into_iter().chain(more).collect()
}

/// Whether a requirement reads a counter of the baseline, so that the baseline has to be profiled too.
pub fn profiles_baselines(phase: &Phase) -> bool {
    let reads = requirements(phase).flat_map(|requirement| requirement.reads().quantities);
    reads.into_iter().any(|read| read.owner == Owner::Baseline && is_counter(&read.name))
}

/// Whether a requirement outside stages reads a quantity or a speedup of this owner.
pub fn reads(phase: &Phase, owner: &Owner) -> bool {
    unstaged(phase)
        .map(Requirement::reads)
        .any(|reads| reads.speedups.contains(owner) || reads.quantities.iter().any(|quantity| quantity.owner == *owner))
}

fn is_counter(name: &str) -> bool {
    Catalogue::embedded().source(name) == Some(MetricSource::Ncu)
}

/// ncu's own names of everything that has to be counted on a chip; a metric that the chip lacks is left out, and its
/// cells say so.
pub fn counters(metrics: &[String], capability: Option<ComputeCapability>) -> Vec<String> {
    names(metrics.iter().filter(|name| is_counter(name)), capability)
}

/// Every ncu name that a table reads: what has to be counted, and the facts of launches that every report holds anyway.
pub fn read(metrics: &[String], capability: Option<ComputeCapability>) -> Vec<String> {
    names(metrics.iter(), capability)
}

fn names<'a>(metrics: impl Iterator<Item = &'a String>, capability: Option<ComputeCapability>) -> Vec<String> {
    let definitions = metrics.filter_map(|metric| Catalogue::embedded().definition(metric, capability).ok());
    let names: BTreeSet<String> =
        definitions.flat_map(|d| d.metrics().into_iter().map(str::to_owned).collect::<Vec<_>>()).collect();
    names.into_iter().collect()
}

fn requirements(phase: &Phase) -> impl Iterator<Item = &Requirement> {
    let stages = phase.gate_plan.stages.iter().flat_map(|stage| &stage.gates);
    unstaged(phase).chain(stages.map(|gate| &gate.require))
}

fn unstaged(phase: &Phase) -> impl Iterator<Item = &Requirement> {
    let plan = &phase.gate_plan;
    let tiers = plan.tiers.iter().flat_map(|tier| &tier.gates);
    let fallback = plan.fallback.iter().flat_map(|fallback| &fallback.gates);
    phase.gates.iter().chain(tiers).chain(fallback).map(|gate: &Gate| &gate.require)
}
