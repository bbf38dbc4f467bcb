//! Arbitrary text as CSV: launches or an error, never a panic.
#![no_main]

use ncu_rep::csv::CsvReport;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(report) = CsvReport::parse(text) {
        for metric in report.launches.iter().flat_map(|launch| &launch.metrics) {
            assert!(!report.name(metric).is_empty() || report.names.iter().any(String::is_empty));
        }
    }
});
