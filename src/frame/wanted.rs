//! Which metrics a phase needs: those its gates and its objective name, and those every report shows.

use crate::config::Gate;
use crate::config::Phase;
use crate::expr::{Owner, Requirement};
use crate::metric::{Catalogue, Source};
use crate::model::ComputeCapability;
use std::collections::BTreeSet;

/// What every report shows beside what gates name. On the chips that were tried, the counters among them need two
/// sessions of a single replay pass each; anything more is a gate's or `[profile] metrics`' choice.
const SHOWN: [&str; 30] = [
    "latency_p50",
    "latency_p90",
    "latency_mean",
    "latency_min",
    "tflops",
    "correct",
    "max_abs",
    "rel_l2",
    "registers",
    "spills",
    "static_shared",
    "shared_mem",
    "stack",
    "local_bytes",
    "block_threads",
    "grid_blocks",
    "theoretical_occupancy",
    "blocks_per_sm",
    "waves",
    "occupancy_limit_registers",
    "occupancy_limit_shared_mem",
    "occupancy_limit_warps",
    "occupancy_limit_blocks",
    "achieved_occupancy",
    "eligible_warps",
    "active_warps",
    "issue_slot_utilisation",
    "bank_conflict_pct",
    "duration",
    "dram_bytes",
];

/// What a deep profile counts beside the states of warps: throughputs, caches, waste, and what a roofline is drawn from.
const CLOSE: [&str; 28] = [
    "sm_pct",
    "memory_pct",
    "dram_pct",
    "tensor_pct",
    "ipc",
    "issue_slot_utilisation",
    "eligible_warps",
    "achieved_occupancy",
    "l1_hit_pct",
    "l2_hit_pct",
    "dram_bandwidth",
    "dram_bytes",
    "duration",
    "sm_clock",
    "global_excessive_pct",
    "shared_excessive_pct",
    "bank_conflict_pct",
    "local_instructions",
    "threads_per_inst",
    "branch_uniformity_pct",
    "warp_latency",
    "fp32_flop",
    "tensor_ops_fp16",
    "tensor_ops_bf16",
    "tensor_ops_fp8",
    "fp32_peak",
    "tensor_peak_fp16",
    "dram_peak",
];
/// Beginning of the names of warp states.
pub const STALLS: &str = "stall_";

/// ncu's own names of what a deep profile asks for beside its sections; what a section derives, it derives unasked.
pub fn close_counters(capability: Option<ComputeCapability>) -> Vec<String> {
    let mut names = counters(&close_metrics(), capability);
    names.retain(|name| !name.starts_with("derived__"));
    names
}

/// Logical metrics of a deep profile, in the order they are shown; the states of warps last.
pub fn close_metrics() -> Vec<String> {
    let stalls = Catalogue::embedded().names().filter(|name| name.starts_with(STALLS));
    CLOSE.into_iter().chain(stalls).map(str::to_owned).collect()
}

/// Logical and verbatim metrics of a phase, sorted as reports list them: what is always shown first.
pub fn metrics(phase: &Phase) -> Vec<String> {
    let mut names: Vec<String> = SHOWN.iter().map(|&name| name.to_owned()).collect();
    let mut more = BTreeSet::new();
    more.insert(phase.objective.metric.clone());
    more.extend(phase.profile.metrics.iter().cloned());
    for requirement in requirements(phase) {
        more.extend(requirement.reads().quantities.into_iter().map(|read| read.name));
    }
    let known = |name: &String| Catalogue::embedded().source(name).is_some();
    names.extend(more.into_iter().filter(|name| known(name) && !SHOWN.contains(&name.as_str())));
    names
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
    Catalogue::embedded().source(name) == Some(Source::Ncu)
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
