//! Arbitrary bytes as a report: values or an error, never a panic. A redacted report can be read again.
#![no_main]

use ncu_rep::bulk::Occurrence;
use ncu_rep::{Report, ReportError, redact};

/// Reads every value of a report.
fn exhaust(report: &Report) -> Result<usize, ReportError> {
    let mut values = 0;
    for launch in report.launches() {
        launch.cluster()?;
        launch.nvtx()?;
        launch.rule_results()?;
        launch.source_references()?;
        let mut scan = report.bulk().scan();
        let mut first = 0;
        scan.launch(launch.id() as usize, |_, raw, occurrence| {
            let value = raw.value()?;
            // The short way to a number agrees with the long one.
            if let Some(number) = raw.number() {
                assert_eq!(value.as_f64().map(f64::to_bits), Some(number.to_bits()));
            }
            first += usize::from(occurrence == Occurrence::First);
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
