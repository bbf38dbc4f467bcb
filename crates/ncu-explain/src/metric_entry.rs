//! The meaning of a metric: from the catalogue, or from the parts of its name in Nsight Compute.

use ncugate_model::metric::{Catalogue, Combination, Formula, LogicalMetric, MetricError, MetricKind, known_chips};
use ncugate_model::{Better, ComputeCapability, is_ncu_metric};
use serde::Serialize;
use std::fmt::Write;

/// The meaning of a metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricEntry {
    /// Its name in requirements.
    pub name: String,
    pub title: Option<String>,
    /// Its unit; empty for a count or a ratio. None for a name of Nsight Compute, whose unit is in the report.
    pub unit: Option<String>,
    /// Direction of improvement: `higher`, `lower` or `context`.
    pub better: Option<Better>,
    pub judged: String,
    /// Its formulas by chip: compute capabilities and a formula over names of Nsight Compute.
    pub computed: Vec<(String, String)>,
    /// The chips without it, and what they have in its place.
    pub absent: Option<String>,
    /// Coefficient of variation between launches of one kernel on one H200.
    pub spread: Option<f64>,
    /// How the launches of one evaluation combine to one value.
    pub launches: Option<String>,
    /// What it shows, and how it misleads.
    pub description: String,
    /// For a name of Nsight Compute, the catalogue metrics that are computed from it.
    pub used_by: Vec<String>,
}

/// The entry of a metric; none if it is neither in the catalogue nor a name of Nsight Compute.
pub fn metric_entry(name: &str) -> Option<MetricEntry> {
    let catalogue = Catalogue::embedded();
    match catalogue.get(name) {
        Some(metric) => Some(of_catalogue(catalogue, metric)),
        None => is_ncu_metric(name).then(|| of_ncu(catalogue, name)),
    }
}

fn of_catalogue(catalogue: &Catalogue, metric: &LogicalMetric) -> MetricEntry {
    let mut formulas: Vec<(String, Vec<ComputeCapability>)> = Vec::new();
    let (mut lacking, mut substitute) = (Vec::new(), None);
    for chip in known_chips() {
        let formula = match (catalogue.definition(&metric.name, Some(chip)), metric.formula(chip)) {
            (Ok(_), Some(written)) => formula(written),
            (Err(MetricError::Absent { instead, .. }), _) => {
                lacking.push(chip);
                substitute = instead;
                continue;
            }
            _ => continue,
        };
        match formulas.iter_mut().find(|(known, _)| *known == formula) {
            Some((_, chips)) => chips.push(chip),
            None => formulas.push((formula, vec![chip])),
        }
    }
    let computed = formulas.into_iter().map(|(formula, chips)| (listed(&chips), formula)).collect();
    let absent = (!lacking.is_empty()).then(|| match substitute {
        Some(substitute) => format!("on {}: {substitute}", listed(&lacking)),
        None => format!("on {}", listed(&lacking)),
    });
    let judged = match metric.kind {
        MetricKind::Deterministic => "exactly: it is equal for equal code and launch",
        MetricKind::Counter => "as counted, within its spread",
        MetricKind::Timing => "by the interval of its samples",
    };
    MetricEntry {
        name: metric.name.clone(),
        title: Some(metric.title.clone()),
        unit: Some(metric.unit.clone()),
        better: Some(metric.better),
        judged: judged.to_owned(),
        computed,
        absent,
        spread: metric.spread,
        launches: None,
        description: metric.description.split_whitespace().collect::<Vec<_>>().join(" "),
        used_by: Vec::new(),
    }
}

/// `7.5 to 8.6, 12.0`, or `all but 10.7` if few known chips are missing.
fn listed(chips: &[ComputeCapability]) -> String {
    let known: Vec<ComputeCapability> = known_chips().collect();
    let missing: Vec<ComputeCapability> = known.iter().copied().filter(|chip| !chips.contains(chip)).collect();
    match missing.len() {
        1..=4 => format!("all but {}", spans(&missing, &known)),
        _ => spans(chips, &known),
    }
}

/// Three and more successive known chips are a span.
fn spans(chips: &[ComputeCapability], known: &[ComputeCapability]) -> String {
    let runs = known.split(|chip| !chips.contains(chip)).filter(|run| !run.is_empty());
    let text = |run: &[ComputeCapability]| match run {
        [first, _, .., last] => format!("{first} to {last}"),
        few => few.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    runs.map(text).collect::<Vec<_>>().join(", ")
}

fn formula(formula: &Formula) -> String {
    match formula {
        Formula::Sum(names) => sum(names),
        Formula::Product { factor, names } if *factor == 1.0 => names.join(" * "),
        Formula::Product { factor, names } => format!("{factor} * {}", names.join(" * ")),
        Formula::Share { factor, part, whole, .. } => {
            format!("{factor} * ({}) / ({})", sum(part), sum(whole))
        }
    }
}

fn sum(terms: &[String]) -> String {
    terms.join(" + ").replace(" + -", " - ")
}

/// Units of the chip, which are prefixes of names of Nsight Compute. Source: Nsight Compute, Profiling Guide, "Metrics
/// Structure".
const UNITS: [(&str, &str); 21] = [
    ("sm", "streaming multiprocessor"),
    ("smsp", "sub-partition of a multiprocessor"),
    ("l1tex", "L1 and texture cache"),
    ("lts", "slice of the L2 cache"),
    ("ltc", "L2 cache controller"),
    ("dram", "device memory"),
    ("dramc", "controller of device memory"),
    ("fbpa", "partition of the frame buffer"),
    ("mcc", "controller of system memory"),
    ("gpu", "whole GPU"),
    ("gpc", "cluster of multiprocessors"),
    ("tpc", "pair of multiprocessors"),
    ("gr", "graphics engine"),
    ("idc", "constant cache of a multiprocessor"),
    ("gcc", "constant cache of a cluster"),
    ("pcie", "PCI Express"),
    ("nvlrx", "NVLink, received"),
    ("nvltx", "NVLink, sent"),
    ("sys", "logic of the whole GPU"),
    ("launch", "launch, without counting"),
    ("device", "device, without counting"),
];

/// Suffixes of a name, which say how the counts of all instances of its unit are combined. Source: as above.
const PARTS: [(&str, &str); 14] = [
    ("sum", "the sum over all instances of the unit"),
    ("avg", "the average of the instances of the unit: an idle one counts as 0"),
    ("min", "the minimum over the instances of the unit"),
    ("max", "the maximum over the instances of the unit"),
    (
        "pct_of_peak_sustained_active",
        "percent of the unit's sustained peak in its active cycles: idle instances are left out",
    ),
    (
        "pct_of_peak_sustained_elapsed",
        "percent of the unit's sustained peak in all cycles of the kernel: idle time counts",
    ),
    ("pct_of_peak_burst_active", "percent of the unit's burst peak in its active cycles"),
    ("per_second", "per second"),
    ("per_cycle_active", "per active cycle of the unit"),
    ("per_cycle_elapsed", "per cycle of the kernel"),
    ("peak_sustained", "the unit's sustained peak"),
    ("ratio", "a ratio, from 0 to 1 or more"),
    ("pct", "a share in percent"),
    ("max_rate", "the maximum of the unit"),
];

fn of_ncu(catalogue: &Catalogue, name: &str) -> MetricEntry {
    let (unit, rest) = name.split_once("__").unwrap_or((name, ""));
    let mut parts = rest.split('.');
    let counter = parts.next().unwrap_or_default().replace('_', " ");
    let place = UNITS.iter().find(|(known, _)| *known == unit).map_or("unit", |(_, words)| words);
    let mut description = format!("Nsight Compute's counter '{counter}' of the {place} ({unit})");
    for part in parts {
        if let Some((_, words)) = PARTS.iter().find(|(known, _)| *known == part) {
            let _ = write!(description, "; {words}");
        }
    }
    let _ = write!(
        description,
        ". `ncu --query-metrics` lists the metrics of a chip. A gate can use this name, in ncu's base unit."
    );
    let uses = |metric: &&LogicalMetric| {
        let mut chips = known_chips().filter_map(|chip| catalogue.definition(&metric.name, Some(chip)).ok());
        chips.any(|definition| definition.metrics().contains(&name))
    };
    let launches = match catalogue.combination(name) {
        Combination::Sum => "the sum",
        Combination::Greatest => "the maximum",
        Combination::Least => "the minimum",
        Combination::Mean => "the mean, weighted by duration",
        Combination::Longest => "that of the longest",
        Combination::GreatestTogether => "that of the launch with the most shared memory",
    };
    MetricEntry {
        name: name.to_owned(),
        title: None,
        unit: None,
        better: None,
        judged: "as counted".to_owned(),
        computed: Vec::new(),
        absent: None,
        spread: None,
        launches: Some(launches.to_owned()),
        description,
        used_by: catalogue.metrics().iter().filter(uses).map(|metric| metric.name.clone()).collect(),
    }
}
