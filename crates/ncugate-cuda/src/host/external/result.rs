//! The result that an external program leaves, held to what it was asked for.
//!
//! Nothing is taken on trust: a record comes out for every case and every timed shape, whatever the result holds.

use super::request::PROTOCOL;
use crate::host::job::CheckCase;
use crate::host::phase_job::cases;
use ncugate_model::number::text;
use ncugate_model::{
    CheckOutcome, CheckRecord, Differences, LatencyOutcome, LatencyRecord, ShapeName, Tolerance, VariantId,
    WorstElement, unsound_samples,
};
use ncugate_phase::config::Phase;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What Python's `json` writes and JSON does not have.
const NOT_JSON: &str =
    " (NaN and Infinity are not JSON: give differences over finite elements, and count the others as nonfinite)";

/// What a program gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExternalRecords {
    /// A record a case, all of them.
    pub checks: Vec<CheckRecord>,
    /// A record a timed shape, all of them.
    pub latencies: Vec<LatencyRecord>,
    /// Names and versions of what it used.
    pub software: BTreeMap<String, String>,
}

/// Records that a variant was not measured at all, and why (its build failed, say).
pub fn unmeasured(phase: &Phase, variant: &VariantId, reason: &str) -> ExternalRecords {
    ExpectedRecords::new(phase, variant).skipped(reason)
}

/// A program's result as it wrote it.
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
    /// Largest of `|difference| / (atol + rtol * |expected|)`, where the request's tolerance has them.
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

/// The records that a variant must have: of every case and every timed shape.
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

    /// The records that the text of a result gives; whatever is missing, doubled or not valid in it is a failed record.
    pub(super) fn records(&self, text: &str) -> ExternalRecords {
        let raw: RawResult = match serde_json::from_str(text) {
            Ok(raw) => raw,
            Err(error) => {
                let hint = if text.contains("NaN") || text.contains("Infinity") { NOT_JSON } else { "" };
                return self.crashed(&format!("the program's result is not valid: {error}{hint}"));
            }
        };
        if raw.version != PROTOCOL {
            return self.crashed(&format!("the program's result has version {}, expected {PROTOCOL}", raw.version));
        }
        if raw.status == RawStatus::Absent {
            return self
                .skipped(&format!("absent: {}", raw.reason.as_deref().unwrap_or("the program does not say why")));
        }
        if let Some(reason) = self.unknown(&raw) {
            return self.crashed(&format!("the program's result is not valid: {reason}"));
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

    /// A shape, seed or repetition in the result that was not asked for.
    fn unknown(&self, raw: &RawResult) -> Option<String> {
        let asked = |c: &RawCheck| self.cases.iter().any(|case| case.shape == c.shape && case.seed == c.seed);
        let check = raw.checks.iter().find(|c| !asked(c));
        let latency = raw.latency.iter().find(|l| !self.cases.iter().any(|case| case.shape == l.shape));
        check
            .map(|c| format!("a check of shape '{}', seed {} was not asked for", c.shape, c.seed))
            .or_else(|| latency.map(|l| format!("a latency of shape '{}' was not asked for", l.shape)))
    }

    fn check_outcome(&self, case: &CheckCase, raw: &[RawCheck]) -> CheckOutcome {
        let mut found = raw.iter().filter(|c| c.shape == case.shape && c.seed == case.seed);
        let crashed = |reason: &str| CheckOutcome::Crashed { reason: format!("the program's result {reason}") };
        let (Some(check), None) = (found.next(), found.next()) else {
            return crashed("does not have this case exactly once");
        };
        let sane = |v: f64| v.is_finite() && v >= 0.0;
        if !sane(check.max_abs) || !sane(check.rel_l2) || !check.allclose.is_none_or(sane) {
            return crashed("has a difference that is not finite or negative");
        }
        let differences = Differences {
            max_abs: check.max_abs,
            rel_l2: check.rel_l2,
            nonfinite: check.nonfinite,
            compared: check.compared,
            allclose: self.tolerance.allclose.zip(check.allclose).map(|(bound, ratio)| WorstElement {
                bound,
                ratio,
                mismatches: None,
            }),
            ..Differences::default()
        };
        CheckOutcome::of(differences, Vec::new(), &self.tolerance)
    }

    /// Every case crashed, and why.
    pub(super) fn crashed(&self, reason: &str) -> ExternalRecords {
        self.all(|reason| CheckOutcome::Crashed { reason }, reason)
    }

    /// Every case was skipped, and why.
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
        return failed(&format!("gives latency in '{}', expected 'us'", latency.unit));
    }
    if latency.launches == 0 || latency.samples.is_empty() {
        return failed("has no samples");
    }
    if let Some(reason) = unsound_samples(&latency.samples) {
        return failed(&format!("has no latency: {reason}"));
    }
    LatencyOutcome::Timed { samples: latency.samples.clone(), launches: latency.launches, audit: None }
}
