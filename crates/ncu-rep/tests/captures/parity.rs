//! Compares every value of every capture with NVIDIA's reader.

use ncu_rep::{
    EstimatedSpeedup, Launch, Metric, MetricValue, Redaction, Report, ResultKind, SourcePolicy, SpeedupScope, redact,
    redact_with,
};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

use crate::{captures, crafted};

/// Metrics whose unit in `ncu_report` varies from report to report (`sector` or `byte`, `inst` or `byte`).
const UNSTEADY: [&str; 3] = [
    "derived__memory_l2_theoretical_sectors_global_excessive",
    "sass__inst_executed_register_spilling_mem_local",
    "sass__inst_executed_register_spilling_mem_shared",
];
/// Number of launches per report whose instances are compared too.
const INSTANCED_LAUNCHES: usize = 24;

/// A value as `dump.py` writes it.
fn encoded(value: &MetricValue<'_>) -> Value {
    match value {
        MetricValue::Double(value) => json!(["double", format!("{:016x}", value.to_bits())]),
        MetricValue::Float(value) => json!(["float", format!("{:08x}", value.to_bits())]),
        MetricValue::U32(value) => json!(["u32", value.to_string()]),
        MetricValue::U64(value) => json!(["u64", value.to_string()]),
        MetricValue::String(text) => json!(["string", text]),
        MetricValue::Missing => json!(["missing", ""]),
    }
}

/// Units that differ from those of version 2025.3.1, which we use: metric, version, its unit.
const OTHER_UNITS: [(&str, &str, &str); 1] = [("idc__requests.sum", "2026.3.1", "request")];

/// The unit of a metric in a version of `ncu_report`.
fn unit_in(version: &str, metric: &Metric<'_>) -> &'static str {
    let other = OTHER_UNITS.iter().find(|(name, other, _)| *name == metric.name && *other == version);
    other.map_or(metric.unit(), |(_, _, unit)| unit)
}

#[derive(Debug, Default, PartialEq)]
struct Compared {
    launches: usize,
    values: usize,
    instances: usize,
}

/// Names of the captured reports.
fn reports() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(captures::data("")).unwrap();
    let mut paths: Vec<PathBuf> = folder
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".ncu-rep.zst"))
        .collect();
    paths.sort();
    paths
}

/// The version of a Python's `ncu_report`.
fn oracle_version(python: &str) -> String {
    let ask = "import importlib.metadata as m; print(m.version('ncu_report'))";
    let out = Command::new(python).args(["-c", ask]).output().unwrap();
    assert!(out.status.success(), "`{python}` has ncu_report, but not as an installed package");
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

fn compare_head(launch: &Launch<'_>, row: &Value) {
    assert_eq!(row["launch"], launch.index());
    if launch.kind() == ResultKind::Kernel {
        assert_eq!(row["function"], json!(launch.kernel_name()));
        assert_eq!(row["mangled"], json!(launch.mangled_name()));
        assert_eq!(row["demangled"], json!(launch.demangled_name()));
    }
    let nvtx: Vec<Value> = launch.nvtx().unwrap().iter().map(|range| json!([range.domain, range.name])).collect();
    assert_eq!(row["nvtx"], json!(nvtx), "launch {}", launch.id());
    assert_eq!(row["rules"], json!(rules(launch)), "launch {}", launch.id());
}

/// The messages of a launch's rules, as `dump.py` writes them.
fn rules(launch: &Launch<'_>) -> Vec<Value> {
    let mut out = Vec::new();
    for rule in launch.rule_results().unwrap() {
        for item in rule.items.iter() {
            let Some(message) = &item.message else { continue };
            let speedup = item.speedup.map(|EstimatedSpeedup { scope, percent }| {
                let scope = match scope {
                    SpeedupScope::Local => 1,
                    SpeedupScope::Global => 2,
                    SpeedupScope::Other(other) => other,
                };
                json!([scope, format!("{:016x}", percent.to_bits())])
            });
            let focus = item.focus.iter().map(|f| json!([f.name, format!("{:016x}", f.value.to_bits()), f.hint]));
            out.push(json!({
                "rule": rule.id,
                "section": rule.section,
                "text": message.text,
                "title": message.title,
                "speedup": speedup,
                "focus": focus.collect::<Vec<_>>(),
            }));
        }
    }
    out
}

/// Compares a report with the output of NVIDIA's reader.
fn compare(report: &Report, oracle: &[Value], version: &str) -> Compared {
    let mut compared = Compared::default();
    let mut rows = oracle.iter().peekable();
    let mut launches: Vec<Launch<'_>> = report.launches().collect();
    launches.sort_by_key(Launch::index);
    for launch in launches {
        compare_head(&launch, rows.next().expect("a launch that ncu_report does not have"));
        compared.launches += 1;
        let mut expected: std::collections::HashMap<&str, &Value> = std::collections::HashMap::new();
        while let Some(row) = rows.next_if(|row| row.get("name").is_some()) {
            expected.insert(row["name"].as_str().unwrap(), row);
        }
        for metric in launch.metrics() {
            let metric = metric.unwrap();
            let at = format!("launch {}, `{}`", launch.id(), metric.name);
            let row = expected.remove(metric.name).unwrap_or_else(|| panic!("{at}: ncu_report does not have it"));
            assert_eq!(row["value"], encoded(&metric.value), "{at}");
            if !UNSTEADY.contains(&metric.name) {
                assert_eq!(row["unit"], unit_in(version, &metric), "{at}");
            }
            compared.values += 1;
            if let Some(instances) = row.get("instances") {
                let found: Vec<Value> = metric
                    .instances()
                    .map(|instance| instance.unwrap())
                    .map(|instance| json!([encoded(&instance.correlation), encoded(&instance.value)]))
                    .collect();
                compared.instances += found.len();
                assert_eq!(instances, &Value::Array(found), "{at}");
            }
        }
        assert!(expected.is_empty(), "launch {}: not read: {:?}", launch.id(), expected.keys());
    }
    assert!(rows.next().is_none(), "ncu_report has more launches");
    compared
}

#[test]
fn every_value_of_every_capture_is_the_one_of_ncu_report() {
    let Some(python) = captures::oracle() else { return };
    let version = oracle_version(&python);
    let mut total = Compared::default();
    for path in reports() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let report = Report::open(&path).unwrap();
        let compared =
            compare(&report, &captures::dump(&python, &captures::plain(&name), INSTANCED_LAUNCHES), &version);
        println!("{name}: {compared:?}");
        total.launches += compared.launches;
        total.values += compared.values;
        total.instances += compared.instances;
    }
    println!("compared with ncu_report {version}: {total:?}");
    assert!(total.launches > 0 && total.values > 0 && total.instances > 0, "nothing was compared");
}

#[test]
fn crafted_results_of_every_kind_are_read_alike() {
    let Some(python) = captures::oracle() else { return };
    let bytes = crafted::file(7, &crafted::blocks());
    let version = oracle_version(&python);
    let report = Report::from_bytes(bytes.clone()).unwrap();
    let compared = compare(&report, &captures::dump(&python, &bytes, usize::MAX), &version);
    println!("crafted, ncu_report {version}: {compared:?}");
    assert_eq!(compared, Compared { launches: 3, values: 11, instances: 1 });
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn a_redacted_report_has_the_same_values_and_no_host_names() {
    let python = captures::oracle();
    for name in ["full1.ncu-rep.zst", "g12.ncu-rep.zst"] {
        let original = captures::plain(name);
        let dropped = redact_with(&original, Redaction { sources: SourcePolicy::Drop }).unwrap();
        // The path of the source is in the cubin's line table; only dropping the cubin removes it.
        assert!(!contains(&dropped, "/srv/captures"));
        for redacted in [redact(&original).unwrap(), dropped] {
            for secret in ["/srv/captures/attention/host", "192.0.2.2", "fd00::2", "127.0.0.1", "vm0", "/opt/", "/tmp/"]
            {
                assert!(contains(&original, secret), "{name} never had `{secret}`");
                assert!(!contains(&redacted, secret), "{name} still has `{secret}`");
            }
            let (before, after) =
                (Report::from_bytes(original.clone()).unwrap(), Report::from_bytes(redacted.clone()).unwrap());
            assert_eq!(before.launches().len(), after.launches().len());
            for (a, b) in before.launches().zip(after.launches()) {
                let pairs: Vec<_> = a.metrics().zip(b.metrics()).map(|(a, b)| (a.unwrap(), b.unwrap())).collect();
                assert!(pairs.len() >= 290);
                for (a, b) in pairs {
                    assert_eq!((a.name, encoded(&a.value)), (b.name, encoded(&b.value)));
                }
            }
            if let Some(python) = &python {
                let compared = compare(&after, &captures::dump(python, &redacted, usize::MAX), &oracle_version(python));
                assert!(compared.values >= 2000, "{name}: {compared:?}");
            }
        }
    }
}

/// The fuzzer starts from this report; `NCUGATE_WRITE_SEEDS=1` rewrites it.
#[test]
fn the_seed_of_the_fuzzer_is_the_crafted_report() {
    let path = captures::root().join("fuzz/corpus/container/crafted.ncu-rep");
    let crafted = crafted::file(7, &crafted::blocks());
    if std::env::var_os("NCUGATE_WRITE_SEEDS").is_some() {
        std::fs::write(&path, &crafted).unwrap();
        std::fs::write(path.with_extension("ncu-repz"), ncu_rep::compress(&crafted).unwrap()).unwrap();
    }
    assert_eq!(std::fs::read(&path).unwrap(), crafted);
}
