//! The meaning of a metric: from the catalogue, or from the parts of its name in Nsight Compute.

use super::document::{Column, Document, DocumentBlock, DocumentTable, TableCell};
use super::number;
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

impl MetricEntry {
    /// The entry for people.
    pub fn document(&self) -> Document {
        let title = self.title.as_ref().map_or_else(|| self.name.clone(), |title| format!("{}: {title}", self.name));
        let better = self.better.map(|better| match better {
            Better::Higher => "higher".to_owned(),
            Better::Lower => "lower".to_owned(),
            Better::Context => "depends on the gate".to_owned(),
        });
        let spread = |spread: f64| format!("{} % between launches of one kernel", number::short(spread * 100.0));
        let facts = [
            ("unit", self.unit.clone()),
            ("better", better),
            ("judged", Some(self.judged.clone())),
            ("spread", self.spread.map(spread)),
            ("launches", self.launches.clone()),
        ];
        let counted = |(chips, formula): &(String, String)| format!("{formula} (compute capability {chips})");
        let counted = self.computed.iter().map(|computed| ("counted", Some(counted(computed))));
        let rest = [("absent", self.absent.clone()), ("used by", Some(self.used_by.join(", ")))];
        let mut table = DocumentTable::new("Facts", ["", ""].map(Column::text).to_vec());
        for (name, value) in facts.into_iter().chain(counted).chain(rest) {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                table.row([name, &value].map(TableCell::new).to_vec());
            }
        }
        let texts = [title, self.description.clone()].into_iter().map(DocumentBlock::Text);
        let blocks = texts.chain(table.block()).collect();
        Document { title: self.name.clone(), sentence: String::new(), blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::terminal;
    use ncu_rep::Report;
    use ncugate_model::metric::MetricSource;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn every_metric_of_the_catalogue_has_an_entry_with_words() {
        for metric in Catalogue::embedded().metrics() {
            let entry = metric_entry(&metric.name).unwrap();
            assert!(!entry.description.is_empty(), "{}", metric.name);
            assert!(terminal(&entry.document(), None).contains("judged"), "{}", metric.name);
        }
        let entry = metric_entry("achieved_occupancy").unwrap();
        assert_eq!(
            entry.computed,
            [("7.5 to 12.1".to_owned(), "sm__warps_active.avg.pct_of_peak_sustained_active".to_owned())]
        );
        assert_eq!(entry.absent, None);
        let read = metric_entry("dram_read_bytes").unwrap();
        assert!(read.absent.is_some_and(|absent| absent.starts_with("on 8.7, 10.1, 11.0, 12.1: the GPU uses system")));
        let read = metric_entry("dram_read_bytes").unwrap();
        let chips: Vec<&str> = read.computed.iter().map(|(chips, _)| chips.as_str()).collect();
        assert_eq!(chips, ["7.5 to 8.6, 8.9 to 10.0, 10.3", "10.7, 12.0"]);
        assert_eq!(metric_entry("dram_bytes").unwrap().computed[0].0, "all but 8.7, 10.1, 11.0, 12.1");
    }

    /// Sections of the page: sources of a metric, and their titles.
    const SECTIONS: [(MetricSource, &str); 6] = [
        (MetricSource::Latency, "Timing without a profiler"),
        (MetricSource::Check, "Correctness cases"),
        (MetricSource::Build, "Cubin"),
        (MetricSource::Launch, "Launch"),
        (MetricSource::Occupancy, "Launch and chip"),
        (MetricSource::Ncu, "Nsight Compute"),
    ];

    fn page() -> String {
        let mut page = "# Metrics\n\n\
            Each metric has its unit, the better direction (a gate decides if none is given), its meaning, and its \
            counter.\n\
            `ncugate explain METRIC` adds formulas, and counters of warp states and of single chips.\n\
            Latencies are judged by the interval of their samples, *exact* metrics are equal for equal code and \
            launch, and others vary between launches.\n"
            .to_owned();
        for (source, title) in SECTIONS {
            write!(page, "\n## {title}\n\n").unwrap();
            for metric in Catalogue::embedded().metrics().iter().filter(|metric| metric.source == source) {
                writeln!(page, "{}", item(&metric_entry(&metric.name).unwrap(), metric.kind)).unwrap();
            }
        }
        page + &chips()
    }

    fn item(entry: &MetricEntry, kind: MetricKind) -> String {
        let better = match entry.better {
            Some(Better::Higher) => "higher",
            Some(Better::Lower) => "lower",
            Some(Better::Context) | None => "",
        };
        let exact = if kind == MetricKind::Deterministic { "exact" } else { "" };
        let facts = [entry.unit.as_deref().unwrap_or_default(), better, exact];
        let facts: Vec<&str> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
        let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
        let mut item = format!("- **`{}`**{facts}: {}", entry.name, entry.description);
        // `explain` prints the others.
        let is_stall = entry.name.starts_with("stall_");
        if let [(_, formula)] = entry.computed.as_slice()
            && !formula.contains(' ')
            && !is_stall
        {
            write!(item, " `{formula}`.").unwrap();
        }
        item
    }

    /// What is known of a metric on a chip.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Knowledge {
        /// A report in `tests/data` of such a chip has a value.
        Measured,
        /// NVIDIA's library lists its counters (`tests/oracle/counters.py`).
        Named,
        Absent,
    }

    /// The chips with reports in `tests/data`, and the metrics of Nsight Compute that have a value in one.
    fn measured() -> BTreeMap<ComputeCapability, BTreeSet<&'static str>> {
        let catalogue = Catalogue::embedded();
        let mut measured: BTreeMap<ComputeCapability, BTreeSet<&str>> = BTreeMap::new();
        for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data")).unwrap() {
            let path = entry.unwrap().path();
            if !path.to_string_lossy().ends_with(".ncu-rep.zst") {
                continue;
            }
            let report = Report::open(&path).unwrap();
            for launch in report.launches() {
                let Some(chip) = launch.compute_capability().unwrap().map(ComputeCapability::from) else { continue };
                let read = |name: &str| launch.metric(name).unwrap()?.as_f64();
                let has = |metric: &&LogicalMetric| {
                    let definition = catalogue.definition(&metric.name, Some(chip));
                    definition.is_ok_and(|definition| definition.metrics().into_iter().all(|name| read(name).is_some()))
                };
                let found = catalogue.metrics().iter().filter(has).map(|metric| metric.name.as_str());
                measured.entry(chip).or_default().extend(found);
            }
        }
        measured
    }

    /// The table of chips: a column for chips that agree on every metric, a row for metrics that agree on every chip.
    fn chips() -> String {
        let (catalogue, measured, known) = (Catalogue::embedded(), measured(), known_chips().collect::<Vec<_>>());
        let knowledge = |metric: &str, chip: ComputeCapability| match catalogue.definition(metric, Some(chip)) {
            Err(_) => Knowledge::Absent,
            Ok(_) if measured.get(&chip).is_some_and(|metrics| metrics.contains(metric)) => Knowledge::Measured,
            Ok(_) => Knowledge::Named,
        };
        let counted = catalogue.metrics().iter().filter(|metric| metric.source == MetricSource::Ncu);
        let metrics: Vec<&str> = counted.map(|metric| metric.name.as_str()).collect();
        let mut columns: Vec<(Vec<Knowledge>, Vec<String>)> = Vec::new();
        for chip in known {
            let column: Vec<Knowledge> = metrics.iter().map(|metric| knowledge(metric, chip)).collect();
            match columns.iter_mut().find(|(same, _)| *same == column) {
                Some((_, chips)) => chips.push(chip.to_string()),
                None => columns.push((column, vec![chip.to_string()])),
            }
        }
        let mut rows: Vec<(Vec<Knowledge>, Vec<&str>)> = Vec::new();
        for (at, metric) in metrics.iter().enumerate() {
            let row: Vec<Knowledge> = columns.iter().map(|(column, _)| column[at]).collect();
            match rows.iter_mut().find(|(same, _)| *same == row) {
                Some((_, metrics)) => metrics.push(metric),
                None => rows.push((row, vec![metric])),
            }
        }
        rows.sort_by_key(|(_, metrics)| std::cmp::Reverse(metrics.len()));
        let mark = |known: &Knowledge| match known {
            Knowledge::Measured => "**+**",
            Knowledge::Named => "+",
            Knowledge::Absent => "-",
        };
        let heads: Vec<String> = columns.iter().map(|(_, chips)| chips.join(",")).collect();
        let mut table = format!("|metrics|{}|\n|---|{}\n", heads.join("|"), "---|".repeat(heads.len()));
        for (at, (row, metrics)) in rows.iter().enumerate() {
            let marks: Vec<&str> = row.iter().map(mark).collect();
            let names = match at {
                0 => "all others".to_owned(),
                _ => metrics.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" "),
            };
            writeln!(table, "|{names}|{}|", marks.join("|")).unwrap();
        }
        format!(
            "\n## Chips\n\n\
             Metrics of Nsight Compute by compute capability: **+** measured on hardware, + named by NVIDIA's library \
             (`tests/oracle/counters.py`), - absent.\n\n{table}"
        )
    }

    #[test]
    fn the_page_of_metrics_is_current() {
        if std::env::var_os("NCUGATE_WRITE_DOCS").is_some() {
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md"), page()).unwrap();
        }
        let written = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md")).unwrap();
        assert_eq!(written, page(), "run this test with NCUGATE_WRITE_DOCS=1");
    }

    #[test]
    fn names_of_nsight_compute_are_read_by_their_parts() {
        let entry = metric_entry("sm__warps_active.avg.pct_of_peak_sustained_active").unwrap();
        assert!(
            entry.description.contains("of the streaming multiprocessor (sm); the average"),
            "{}",
            entry.description
        );
        assert!(entry.description.contains("idle instances are left out"), "{}", entry.description);
        assert_eq!(entry.used_by, ["achieved_occupancy"]);
        assert_eq!(metric_entry("achieved_ocupancy"), None);
    }
}
