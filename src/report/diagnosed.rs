//! The rules asked of a judged run.

use crate::config::{Phase, Shape};
use crate::explain::{
    ChipKnowledge, Compilation, DeclaredWork, Diagnosis, Finding, NcuObservations, RuleAnswers, RuleBook, ShapeFacts,
    SignatureBook,
};
use crate::expr::{Expr, Names, Value};
use crate::frame::Quantities;
use crate::judge::witness::ChipFacts;
use crate::judge::{JudgeError, Session};
use crate::model::{ProfileOutcome, ShapeName, VariantId};
use crate::store::Run;
use std::collections::HashMap;

/// The shapes of a phase that are timed or profiled, with the work that it declares: what is only checked has no bottleneck.
pub fn shape_facts(phase: &Phase) -> Vec<ShapeFacts> {
    let of = |shape: &Shape| {
        let scope: Names = shape.dims.iter().map(|(name, n)| (name.clone(), Value::Int(*n))).collect();
        let number = |expr: &Option<Expr>| expr.as_ref().and_then(|expr| expr.eval_number(&scope).ok());
        let work = DeclaredWork { flops: number(&phase.workload.flops), bytes: number(&phase.workload.bytes) };
        ShapeFacts { name: shape.name.clone(), dims: shape.dims.clone(), work }
    };
    let measured =
        |shape: &&Shape| phase.bench.shapes.contains(&shape.name) || phase.profile.shapes.contains(&shape.name);
    phase.workload.shapes.iter().filter(measured).map(of).collect()
}

/// What the rules say of some variants of a run; `seen` is what was measured, with the deep profiles beside it.
///
/// # Errors
/// A report of ncu is damaged.
pub fn diagnose(
    session: &Session<'_>,
    seen: &Quantities,
    observations: &[NcuObservations],
    signatures: &SignatureBook,
    variants: &[VariantId],
) -> Result<Vec<Finding>, JudgeError> {
    with_diagnosis(session, seen, observations, signatures, |diagnosis| diagnosis.findings(variants))
}

/// How often each rule holds among all variants of a run.
///
/// # Errors
/// A report of ncu is damaged.
pub fn answers(session: &Session<'_>, seen: &Quantities) -> Result<Vec<RuleAnswers>, JudgeError> {
    let all: Vec<VariantId> = session.measurements().plan().variants.iter().map(|variant| variant.id.clone()).collect();
    with_diagnosis(session, seen, &[], SignatureBook::shipped(), |diagnosis| diagnosis.answers(&all))
}

/// Asks something of the rules and everything that they read of a run.
///
/// # Errors
/// A report of ncu is damaged.
pub fn with_diagnosis<T>(
    session: &Session<'_>,
    seen: &Quantities,
    observations: &[NcuObservations],
    signatures: &SignatureBook,
    ask: impl FnOnce(&Diagnosis<'_>) -> T,
) -> Result<T, JudgeError> {
    let measured = session.measurements();
    let attributes =
        ChipFacts::read(measured.reports(), measured.capability()).map_err(|e| measured.run().damaged(&e))?;
    let chip = ChipKnowledge {
        name: measured.run().manifest.fingerprint.gpu.as_ref().map(|gpu| gpu.name.clone()),
        capability: measured.capability(),
        sms: measured.sms(),
        dram_peak: attributes.dram_bytes_per_second(),
    };
    let rules = RuleBook::shipped().with(&measured.phase().rules);
    let diagnosis = Diagnosis {
        rules: &rules,
        signatures,
        quantities: seen,
        plan: Some(measured.plan()),
        compilation: Compilation::default(),
        shapes: &shape_facts(measured.phase()),
        chip: &chip,
        observations,
        reports: &reports(measured.run()),
    };
    Ok(ask(&diagnosis))
}

/// The report with the launch of each case.
fn reports(run: &Run) -> HashMap<(VariantId, ShapeName), String> {
    let named = run.profiles.iter().filter_map(|record| match &record.outcome {
        ProfileOutcome::Profiled { report } => Some(((record.variant.clone(), record.shape.clone()), report.clone())),
        ProfileOutcome::Traced { .. } | ProfileOutcome::Failed { .. } => None,
    });
    named.collect()
}
