//! Arbitrary text as CSV: launches or an error, never a panic.
#![no_main]

use ncu_rep::Report;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(report) = Report::from_bytes(text.as_bytes().to_vec()) {
        for metric in report.launches().flat_map(|launch| launch.metrics()) {
            assert!(metric.is_ok());
        }
    }
});
