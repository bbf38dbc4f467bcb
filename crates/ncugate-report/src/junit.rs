//! `junit.xml`: each gate is a test case.
//!
//! A failed gate is a failure and an inconclusive one an error. A failure that does not count (advisory, waived, or
//! covered by a fallback) is skipped with its reason, so that it shows without turning a pipeline red. Tiers, stages
//! and the fallback are separate suites.
//!
//! A cheating variant is a separate failure. So is a used fallback: JUnit has no warnings, and a file without a failure
//! would read as if the selected variant had passed.
//!
//! A phase that does not pass is also a test case. Its obstacle need not be a gate (a precondition, an incomplete run,
//! an unrequested recording), and a file without a failure would read as a pass.

use super::error::RenderError;
use super::number;
use super::run_report::RunReport;
use ncugate_judge::GateResult;
use ncugate_model::{Level, Verdict};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

/// The JUnit file.
pub fn junit(report: &RunReport) -> Result<String, RenderError> {
    let mut junit = quick_junit::Report::new(report.phase.as_str());
    junit.add_test_suite(suite(report, "gates", &report.gates));
    for tier in &report.tiers {
        junit.add_test_suite(suite(report, &format!("tier {}", tier.name), &tier.gates));
    }
    for stage in &report.stages {
        junit.add_test_suite(suite(report, &format!("stage {}", stage.name), &stage.gates));
    }
    if let Some(fallback) = &report.fallback {
        junit.add_test_suite(suite(report, "fallback", &fallback.gates));
    }
    junit.add_test_suites(cheats(report));
    junit.add_test_suites(phase(report));
    Ok(junit.to_string()?)
}

/// A failure for every cheating variant, whatever the verdict of the phase.
fn cheats(report: &RunReport) -> Option<TestSuite> {
    let mut suite = TestSuite::new(format!("{}: cheats", report.phase));
    for cheat in &report.trust.cheats {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(format!("{} cheats: {}", cheat.variant, cheat.reason)).set_type("cheats");
        let mut case = TestCase::new(cheat.variant.as_str(), status);
        case.set_classname(report.phase.as_str());
        case.extra.insert("file".into(), report.file.as_str().into());
        suite.add_test_case(case);
    }
    (!report.trust.cheats.is_empty()).then_some(suite)
}

/// The verdict of a phase that does not pass, or passes by its fallback.
fn phase(report: &RunReport) -> Option<TestSuite> {
    let (kind, what) = match report.headline.verdict {
        Verdict::Pass if report.falls_back() => (NonSuccessKind::Failure, "fallback"),
        Verdict::Pass => return None,
        Verdict::Fail => (NonSuccessKind::Failure, "phase"),
        Verdict::Inconclusive => (NonSuccessKind::Error, "inconclusive"),
    };
    let mut status = TestCaseStatus::non_success(kind);
    let taken = report.headline.cautions.first().filter(|_| what == "fallback").unwrap_or(&report.headline.reason);
    status.set_message(taken.as_str()).set_type(what);
    let mut case = TestCase::new("phase", status);
    case.set_classname(report.phase.as_str());
    case.extra.insert("file".into(), report.file.as_str().into());
    let mut suite = TestSuite::new(format!("{}: phase", report.phase));
    suite.add_test_case(case);
    Some(suite)
}

fn suite(report: &RunReport, name: &str, gates: &[GateResult]) -> TestSuite {
    let mut suite = TestSuite::new(format!("{}: {name}", report.phase));
    suite.add_test_cases(gates.iter().map(|gate| case(report, gate)));
    suite
}

fn case(report: &RunReport, gate: &GateResult) -> TestCase {
    let mut case = TestCase::new(gate.name.as_str(), status(report, gate));
    case.set_classname(format!("{}.{}", report.phase, gate.on));
    case.extra.insert("file".into(), report.file.as_str().into());
    case.extra.insert("line".into(), gate.line.to_string().as_str().into());
    case.set_system_out(details(report, gate));
    case
}

fn status(report: &RunReport, gate: &GateResult) -> TestCaseStatus {
    let own = report.fallback.as_ref().is_some_and(|f| f.gates.contains(gate));
    if report.falls_back() && gate.verdict != Verdict::Pass && !own {
        let mut status = TestCaseStatus::skipped();
        status.set_message(format!("the fallback is taken: {}", gate.reason));
        return status;
    }
    let mut status = match (gate.verdict, gate.level, &gate.waived) {
        (Verdict::Pass, _, None) => return TestCaseStatus::success(),
        (_, _, Some(waiver)) => {
            let mut status = TestCaseStatus::skipped();
            let said = format!("waived by {} until {}: {}", waiver.owner, waiver.expires, waiver.reason);
            status.set_message(said);
            return status;
        }
        (_, Level::Advisory, None) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("advisory: {}", gate.reason));
            return status;
        }
        (Verdict::Fail, Level::Required, None) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        (Verdict::Inconclusive, Level::Required, None) => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    status.set_message(gate.reason.as_str());
    status.set_type(if gate.verdict == Verdict::Fail { "gate" } else { "inconclusive" });
    status
}

fn details(report: &RunReport, gate: &GateResult) -> String {
    let value = |n: &Option<number::Number>| {
        n.as_ref().map_or_else(|| "n/a".to_owned(), |n| number::with_unit(n.value, &gate.unit))
    };
    let mut lines = vec![
        format!("requires: {}", gate.require),
        format!("measured: {}", value(&gate.summary.measured)),
        format!("limit: {}", value(&gate.summary.limit)),
        format!(
            "margin: {}",
            gate.summary.margin.as_ref().map_or_else(|| "n/a".to_owned(), |n| number::distance(n.value, &gate.unit))
        ),
        format!(
            "cases: {} pass, {} fail, {} inconclusive",
            gate.summary.counts.pass, gate.summary.counts.fail, gate.summary.counts.inconclusive
        ),
    ];
    if let Some(((low, high), limit)) = gate.summary.interval.as_ref().zip(gate.summary.limit.as_ref()) {
        let of = |end: &number::Number| number::signed(end.value - limit.value, &gate.unit);
        let samples = number::counted(gate.summary.samples, "sample");
        lines.push(format!("difference from the limit: {} to {} over {samples}", of(low), of(high)));
    }
    if let (Some(variant), Some(shape)) = (&gate.summary.variant, &gate.summary.shape) {
        lines.push(format!("decided by: {variant} at {shape}"));
        let row = report.variants.iter().find(|row| row.id == variant.0);
        lines.extend(row.and_then(|row| row.captured.as_ref()).map(|launches| format!("which is: {launches}")));
    }
    lines.push(format!("reason: {}", gate.reason));
    lines.join("\n")
}
