//! The meaning of a metric as a document.

use super::document::{Column, Document, DocumentBlock, DocumentTable, TableCell};
use super::number;
use ncu_explain::MetricEntry;
use ncugate_model::Better;

/// The entry for people.
pub fn document(entry: &MetricEntry) -> Document {
    let title = entry.title.as_ref().map_or_else(|| entry.name.clone(), |title| format!("{}: {title}", entry.name));
    let better = entry.better.map(|better| match better {
        Better::Higher => "higher".to_owned(),
        Better::Lower => "lower".to_owned(),
        Better::Context => "depends on the gate".to_owned(),
    });
    let spread = |spread: f64| format!("{} % between launches of one kernel", number::short(spread * 100.0));
    let facts = [
        ("unit", entry.unit.clone()),
        ("better", better),
        ("judged", Some(entry.judged.clone())),
        ("spread", entry.spread.map(spread)),
        ("launches", entry.launches.clone()),
    ];
    let counted = |(chips, formula): &(String, String)| format!("{formula} (compute capability {chips})");
    let counted = entry.computed.iter().map(|computed| ("counted", Some(counted(computed))));
    let rest = [("absent", entry.absent.clone()), ("used by", Some(entry.used_by.join(", ")))];
    let mut table = DocumentTable::new("Facts", ["", ""].map(Column::text).to_vec());
    for (name, value) in facts.into_iter().chain(counted).chain(rest) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            table.row([name, &value].map(TableCell::new).to_vec());
        }
    }
    let texts = [title, entry.description.clone()].into_iter().map(DocumentBlock::Text);
    let blocks = texts.chain(table.block()).collect();
    Document { title: entry.name.clone(), sentence: String::new(), blocks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::terminal;
    use ncu_explain::metric_entry;
    use ncu_rep::Report;
    use ncugate_model::ComputeCapability;
    use ncugate_model::metric::{Catalogue, LogicalMetric, MetricKind, MetricSource, known_chips};
    use std::collections::{BTreeMap, BTreeSet};
    use std::fmt::Write;

    #[test]
    fn every_metric_of_the_catalogue_has_an_entry_with_words() {
        for metric in Catalogue::embedded().metrics() {
            let entry = metric_entry(&metric.name).unwrap();
            assert!(!entry.description.is_empty(), "{}", metric.name);
            assert!(terminal(&document(&entry), None).contains("judged"), "{}", metric.name);
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
