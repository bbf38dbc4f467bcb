//! Reports of any bytes: values or an error, never a panic; what is redacted can be read again.
#![no_main]
#![allow(dead_code, unused_imports, missing_docs)]

#[path = "../../src/ncu_rep/mod.rs"]
mod ncu_rep;

use ncu_rep::bulk::Turn;
use ncu_rep::{Report, ReportError, redact};

/// Asks a report for everything there is.
fn exhaust(report: &Report) -> Result<usize, ReportError> {
    let mut values = 0;
    for launch in report.launches() {
        launch.cluster()?;
        launch.nvtx()?;
        launch.rule_results()?;
        launch.source_references()?;
        let mut scan = ncu_rep::bulk::Scan::new(report);
        let mut first = 0;
        scan.launch(launch.id() as usize, |_, body, turn| {
            let value = body.value()?;
            // The short way to a number gives what the long one does.
            if let Some(number) = body.number() {
                assert_eq!(value.as_f64().map(f64::to_bits), Some(number.to_bits()));
            }
            first += usize::from(turn == Turn::First);
            Ok(())
        })?;
        assert_eq!(first, launch.metrics().count());
        for metric in launch.metrics() {
            let metric = metric?;
            metric.category()?;
            for instance in metric.instances() {
                instance?;
            }
            values += 1;
        }
    }
    report.session()?;
    report.sources()?;
    Ok(values)
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(report) = Report::from_bytes(bytes.to_vec()) else { return };
    let values = exhaust(&report);
    if let Ok(redacted) = redact(bytes) {
        let again = Report::from_bytes(redacted).expect("a redacted report is a report");
        match (values, exhaust(&again)) {
            (Ok(before), Ok(after)) => assert_eq!(before, after),
            (Ok(_), Err(error)) => panic!("redaction broke the report: {error}"),
            (Err(_), _) => {}
        }
    }
});
