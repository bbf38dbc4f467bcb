//! The metrics that a phase needs: those of its gates and its objective, and those in every report.

use ncugate_model::expr::{Owner, Requirement};
use ncugate_model::metric::{Catalogue, MetricSource, ShownIn, asked_signals, id};
use ncugate_model::{ComputeCapability, ShapeName};
use ncugate_phase::config::{Gate, Phase};
use std::collections::BTreeSet;

/// ncu's names of the counters that a deep profile requests in addition to its sections. Metrics derived by a section
/// need no request.
pub fn deep_counters(capability: Option<ComputeCapability>) -> Vec<String> {
    let mut names = counters(&deep_metrics(), capability);
    names.retain(|name| !name.starts_with("derived__"));
    names.extend(asked_signals(capability).into_iter().map(str::to_owned));
    names
}

pub fn deep_metrics() -> Vec<String> {
    Catalogue::embedded().shown(ShownIn::Deep).map(str::to_owned).collect()
}

/// Logical and verbatim metrics of a phase in report order, starting with those that every report shows.
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

/// Whether the phase asks for counters of its baselines: a requirement reads one, or `[profile] metrics` lists one.
pub fn asks_of_baselines(phase: &Phase) -> bool {
    if phase.profile.metrics.iter().any(|name| is_counter(name)) {
        return true;
    }
    let reads = requirements(phase).flat_map(|requirement| requirement.reads().quantities);
    let is_baseline = |owner: &Owner| match owner {
        Owner::Baseline => true,
        Owner::Named(name) => phase.baselines.iter().any(|baseline| baseline.name == *name),
        Owner::Case | Owner::Previous | Owner::Best => false,
    };
    reads.into_iter().any(|read| is_baseline(&read.owner) && is_counter(&read.name))
}

/// Why counters at a shape were not requested from ncu; none are named if nothing of the variant was profiled there.
pub fn not_collected(phase: &Phase, shape: &ShapeName, counters: &[&str]) -> String {
    if !phase.profile.shapes.contains(shape) {
        return format!("not collected at shape '{shape}': `[profile] shapes` does not list it");
    }
    match counters {
        [] => format!("was not profiled at shape '{shape}'"),
        counters => {
            format!("not collected: the run did not request '{}' from ncu; measure again", counters.join("', '"))
        }
    }
}

/// Whether a requirement reads this quantity, for any owner.
pub fn names(phase: &Phase, metric: &str) -> bool {
    requirements(phase).any(|requirement| requirement.reads().quantities.iter().any(|read| read.name == metric))
}

/// Whether a requirement reads a quantity or a speedup of a stored run. In stages `previous` is the last accepted
/// stage, which is not stored.
pub fn reads(phase: &Phase, owner: &Owner) -> bool {
    let staged = phase.gate_plan.stages.iter().flat_map(|stage| &stage.gates);
    unstaged_gates(phase)
        .chain(staged.filter(|_| *owner != Owner::Previous))
        .map(|gate| gate.require.reads())
        .any(|reads| reads.speedups.contains(owner) || reads.quantities.iter().any(|quantity| quantity.owner == *owner))
}

/// Arithmetic instructions outside the catalogue's metrics, by ncu name, with the operations per instruction: half
/// precision outside the tensor pipe, where packed instructions do two operations, and double precision.
pub const OTHER_ARITHMETIC: [(&str, f64); 6] = [
    ("smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", 2.0),
    ("smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", 2.0),
    ("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 4.0),
    ("smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", 1.0),
    ("smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", 1.0),
    ("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 2.0),
];

/// The counters that check every latency: duration and bytes of the same launch.
///
/// Operations are compared with the declared ones only if the phase requests their counters. They are not requested
/// here because ncu counts them by patching the machine code: profiling 90 variants took fourteen times as long.
pub fn witness_counters() -> Vec<String> {
    [id::DURATION, id::DRAM_BYTES, id::SM_CLOCK].map(|name| name.to_string()).to_vec()
}

/// The metrics that check every latency, if they were counted: [`witness_counters`], and operations if the workload
/// declares them.
pub fn witness_metrics(phase: &Phase) -> Vec<String> {
    let mut names = witness_counters();
    if phase.workload.flops.is_some() {
        names.extend([id::FP32_FLOP, id::TENSOR_PCT].iter().chain(&id::TENSOR_TYPES).map(ToString::to_string));
        names.extend(OTHER_ARITHMETIC.iter().map(|(name, _)| (*name).to_owned()));
    }
    names
}

/// Shapes at which a gate or the objective reads a latency, in phase order.
pub fn timed_shapes(phase: &Phase) -> Vec<ShapeName> {
    let timed = |name: &str| Catalogue::embedded().source(name) == Some(MetricSource::Latency);
    let reads_one = |gate: &&Gate| {
        let reads = gate.require.reads();
        !reads.speedups.is_empty() || reads.quantities.iter().any(|read| timed(&read.name))
    };
    let mut shapes: BTreeSet<&ShapeName> = gates(phase).filter(reads_one).flat_map(|gate| &gate.shapes).collect();
    if timed(&phase.objective.metric) {
        shapes.insert(&phase.objective.shape);
    }
    phase.workload.shapes.iter().map(|shape| &shape.name).filter(|name| shapes.contains(name)).cloned().collect()
}

fn is_counter(name: &str) -> bool {
    Catalogue::embedded().source(name) == Some(MetricSource::Ncu)
}

/// ncu's names of all counters to collect on a chip. Metrics that the chip lacks are left out, and their cells give
/// the reason.
pub fn counters(metrics: &[String], capability: Option<ComputeCapability>) -> Vec<String> {
    counter_names(metrics.iter().filter(|name| is_counter(name)), capability)
}

/// All ncu names that a table reads: the counters to collect, and the launch facts that every report contains.
pub fn read(metrics: &[String], capability: Option<ComputeCapability>) -> Vec<String> {
    counter_names(metrics.iter(), capability)
}

fn counter_names<'a>(metrics: impl Iterator<Item = &'a String>, capability: Option<ComputeCapability>) -> Vec<String> {
    let definitions = metrics.filter_map(|metric| Catalogue::embedded().definition(metric, capability).ok());
    let names: BTreeSet<String> =
        definitions.flat_map(|d| d.metrics().into_iter().map(str::to_owned).collect::<Vec<_>>()).collect();
    names.into_iter().collect()
}

fn requirements(phase: &Phase) -> impl Iterator<Item = &Requirement> {
    gates(phase).map(|gate| &gate.require)
}

fn gates(phase: &Phase) -> impl Iterator<Item = &Gate> {
    unstaged_gates(phase).chain(phase.gate_plan.stages.iter().flat_map(|stage| &stage.gates))
}

fn unstaged_gates(phase: &Phase) -> impl Iterator<Item = &Gate> {
    let plan = &phase.gate_plan;
    let tiers = plan.tiers.iter().flat_map(|tier| &tier.gates);
    let fallback = plan.fallback.iter().flat_map(|fallback| &fallback.gates);
    phase.gates.iter().chain(tiers).chain(fallback)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::metric::{known_chips, signal_counters};
    use ncugate_phase::config::parse;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// Every counter that the program reads, with the chips of which it can request it by itself: those of the
    /// catalogue, of the diagnosis, and of the witness.
    fn requests() -> BTreeMap<String, Vec<String>> {
        let metrics: Vec<String> = Catalogue::embedded().names().map(str::to_owned).collect();
        let mut requests: BTreeMap<String, Vec<String>> =
            signal_counters().map(|name| (name.to_owned(), Vec::new())).collect();
        for chip in known_chips() {
            let arithmetic = OTHER_ARITHMETIC.iter().map(|(name, _)| (*name).to_owned());
            let names = read(&metrics, Some(chip)).into_iter().chain(deep_counters(Some(chip))).chain(arithmetic);
            for name in names.collect::<BTreeSet<_>>() {
                requests.entry(name).or_default().push(chip.to_string());
            }
        }
        requests
    }

    /// `tests/oracle/counters.py` asks NVIDIA's library about each line of the file.
    #[test]
    fn the_counters_of_every_chip_are_listed_for_the_oracle() {
        let path = ncugate_fixtures::root().join("tests/oracle/counters.tsv");
        let lines: String = requests().iter().map(|(name, chips)| format!("{name}\t{}\n", chips.join(" "))).collect();
        if std::env::var_os("NCUGATE_BLESS").is_some() {
            std::fs::write(&path, &lines).unwrap();
        }
        let listed = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(listed, lines, "run this test with NCUGATE_BLESS=1, then tests/oracle/counters.py");
    }

    #[test]
    fn the_types_of_tensor_operations_are_all_of_them() {
        for chip in known_chips() {
            let types = id::TENSOR_TYPES.map(|metric| metric.to_string());
            assert_eq!(counters(&types, Some(chip)), counters(&["tensor_ops".to_owned()], Some(chip)), "{chip}");
        }
    }

    #[test]
    fn a_phase_asks_for_counters_of_baselines_by_name_or_in_a_requirement() {
        let text = include_str!("../../../../configs/phase_d.toml");
        let with = |metrics: &str, gate: &str| {
            let text = text.replacen("\nmetrics = []", &format!("\nmetrics = [{metrics}]"), 1);
            asks_of_baselines(&parse(Path::new("phase_d.toml"), &format!("{text}\n{gate}")).unwrap())
        };
        assert_eq!((with("", ""), with("\"registers\"", "")), (false, false));
        assert!(with("\"eligible_warps\"", "") && with("\"sm__cycles_active.avg\"", ""));
        assert!(with("", "[[gate]]\nrequire = \"eligible_warps > sdpa_efficient.eligible_warps\"\n"));
    }
}
