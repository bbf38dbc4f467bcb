//! The result of an external program, checked against its request.
//!
//! Nothing is taken on trust: every case and every timed shape gets a record, whatever the result contains.

use super::request::PROTOCOL;
use crate::host::job::CheckCase;
use crate::host::phase_job::cases;
use ncugate_model::number::text;
use ncugate_model::{
    BoundUnit, CheckOutcome, CheckRecord, Differences, LatencyOutcome, LatencyRecord, ShapeName, Tolerance, VariantId,
    WorstElement, unsound_samples,
};
use ncugate_phase::config::Phase;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Values that Python's `json` writes although JSON does not have them.
const NOT_JSON: &str =
    " (NaN and Infinity are not JSON; report differences over finite elements, and count the others as `nonfinite`)";

/// The records and software of a program.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExternalRecords {
    /// One record per case.
    pub checks: Vec<CheckRecord>,
    /// One record per timed shape.
    pub latencies: Vec<LatencyRecord>,
    /// Names and versions of the software that it used.
    pub software: BTreeMap<String, String>,
}

/// Records of a variant that was not measured at all (because its build failed, for example), with the reason.
pub fn unmeasured(phase: &Phase, variant: &VariantId, reason: &str) -> ExternalRecords {
    ExpectedRecords::new(phase, variant).skipped(reason)
}

/// A program's result as it was written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawResult {
    version: u32,
    status: RawStatus,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    software: BTreeMap<String, String>,
    #[serde(default)]
    checks: Vec<RawCheck>,
    #[serde(default)]
    latency: Vec<RawLatency>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawStatus {
    Ok,
    Absent,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCheck {
    shape: ShapeName,
    seed: u64,
    max_abs: f64,
    rel_l2: f64,
    nonfinite: u64,
    compared: u64,
    /// Maximum of `|difference| / (atol + rtol * |expected|)`, with the tolerance of the request.
    #[serde(default)]
    allclose: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLatency {
    shape: ShapeName,
    unit: String,
    launches: u32,
    samples: Vec<f64>,
}

/// The required records of a variant: every case and every timed shape.
pub(super) struct ExpectedRecords<'a> {
    variant: &'a VariantId,
    cases: Vec<CheckCase>,
    timed: &'a [ShapeName],
    tolerance: Tolerance,
}

impl<'a> ExpectedRecords<'a> {
    pub(super) fn new(phase: &'a Phase, variant: &'a VariantId) -> Self {
        let tolerance = phase.workload.tolerance;
        Self { variant, cases: cases(phase), timed: &phase.bench.shapes, tolerance }
    }

    /// The records in the text of a result. Anything missing, duplicated or invalid becomes a failed record.
    pub(super) fn records(&self, text: &str) -> ExternalRecords {
        let raw: RawResult = match serde_json::from_str(text) {
            Ok(raw) => raw,
            Err(error) => {
                let hint = if text.contains("NaN") || text.contains("Infinity") { NOT_JSON } else { "" };
                return self.crashed(&format!("the program's result is invalid: {error}{hint}"));
            }
        };
        if raw.version != PROTOCOL {
            return self.crashed(&format!("the program's result has version {}, expected {PROTOCOL}", raw.version));
        }
        if raw.status == RawStatus::Absent {
            return self.skipped(&format!("absent: {}", raw.reason.as_deref().unwrap_or("the program gave no reason")));
        }
        if let Some(reason) = self.unknown(&raw) {
            return self.crashed(&format!("the program's result is invalid: {reason}"));
        }
        let checks: Vec<CheckRecord> =
            self.cases.iter().map(|case| self.check(case, self.check_outcome(case, &raw.checks))).collect();
        let unverified = checks.iter().find(|c| !matches!(c.outcome, CheckOutcome::Correct { .. }));
        let unverified = unverified.map(|c| format!("not timed: not correct at {}, seed {}", c.shape, c.seed));
        let latencies = self.timed.iter().map(|shape| {
            let outcome = match &unverified {
                Some(reason) => LatencyOutcome::Failed { reason: reason.clone() },
                None => latency_outcome(shape, &raw.latency),
            };
            self.latency(shape, outcome)
        });
        ExternalRecords { latencies: latencies.collect(), checks, software: raw.software }
    }

    /// A shape, seed or repetition in the result that was not requested.
    fn unknown(&self, raw: &RawResult) -> Option<String> {
        let asked = |c: &RawCheck| self.cases.iter().any(|case| case.shape == c.shape && case.seed == c.seed);
        let check = raw.checks.iter().find(|c| !asked(c));
        let latency = raw.latency.iter().find(|l| !self.cases.iter().any(|case| case.shape == l.shape));
        check
            .map(|c| format!("it has an unrequested check of shape `{}`, seed {}", c.shape, c.seed))
            .or_else(|| latency.map(|l| format!("it has an unrequested latency of shape `{}`", l.shape)))
    }

    fn check_outcome(&self, case: &CheckCase, raw: &[RawCheck]) -> CheckOutcome {
        let mut found = raw.iter().filter(|c| c.shape == case.shape && c.seed == case.seed);
        let crashed = |reason: &str| CheckOutcome::Crashed { reason: format!("the program's result {reason}") };
        let (Some(check), None) = (found.next(), found.next()) else {
            return crashed("does not have this case exactly once");
        };
        let sane = |v: f64| v.is_finite() && v >= 0.0;
        if !sane(check.max_abs) || !sane(check.rel_l2) || !check.allclose.is_none_or(sane) {
            return crashed("has a difference that is negative or not finite");
        }
        let differences = Differences {
            max_abs: check.max_abs,
            rel_l2: check.rel_l2,
            nonfinite: check.nonfinite,
            compared: check.compared,
            // A program does not know the derived bound.
            allclose: self
                .tolerance
                .allclose
                .filter(|bound| bound.unit == BoundUnit::One)
                .zip(check.allclose)
                .map(|(bound, ratio)| WorstElement { bound, ratio, mismatches: None }),
            ..Differences::default()
        };
        CheckOutcome::of(differences, Vec::new(), &self.tolerance)
    }

    /// Records every case as crashed.
    pub(super) fn crashed(&self, reason: &str) -> ExternalRecords {
        self.all(|reason| CheckOutcome::Crashed { reason }, reason)
    }

    /// Records every case as skipped.
    pub(super) fn skipped(&self, reason: &str) -> ExternalRecords {
        self.all(|reason| CheckOutcome::Skipped { reason }, reason)
    }

    fn all(&self, outcome: impl Fn(String) -> CheckOutcome, reason: &str) -> ExternalRecords {
        let reason = text::clean(reason);
        let failed = |shape| self.latency(shape, LatencyOutcome::Failed { reason: reason.clone() });
        ExternalRecords {
            checks: self.cases.iter().map(|case| self.check(case, outcome(reason.clone()))).collect(),
            latencies: self.timed.iter().map(failed).collect(),
            software: BTreeMap::new(),
        }
    }

    fn check(&self, case: &CheckCase, outcome: CheckOutcome) -> CheckRecord {
        CheckRecord { variant: self.variant.clone(), shape: case.shape.clone(), seed: case.seed, outcome, nulls: 0 }
    }

    fn latency(&self, shape: &ShapeName, outcome: LatencyOutcome) -> LatencyRecord {
        LatencyRecord { variant: self.variant.clone(), shape: shape.clone(), outcome }
    }
}

fn latency_outcome(shape: &ShapeName, raw: &[RawLatency]) -> LatencyOutcome {
    let failed = |reason: &str| LatencyOutcome::Failed { reason: format!("the program's result {reason}") };
    let mut found = raw.iter().filter(|l| &l.shape == shape);
    let (Some(latency), None) = (found.next(), found.next()) else {
        return failed("does not have this latency exactly once");
    };
    if latency.unit != "us" {
        return failed(&format!("has a latency in `{}`, expected `us`", latency.unit));
    }
    if latency.launches == 0 || latency.samples.is_empty() {
        return failed("has no samples");
    }
    if let Some(reason) = unsound_samples(&latency.samples) {
        return failed(&format!("has an invalid latency: {reason}"));
    }
    LatencyOutcome::Timed { samples: latency.samples.clone(), launches: latency.launches, audit: None, gpu: None }
}
