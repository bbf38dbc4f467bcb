//! A report out of a judged run: what ncu, its rules and its sampler say is read here, beside the verdicts.

use super::signatures::KnownSignatures;
use super::{DeepProfileInputs, Earlier, Report, ReportInputs, RunSource};
use crate::config::{Phase, Shape};
use crate::explain::{
    self, ChipKnowledge, Clocks, Compilation, DeclaredWork, DeepProfiles, Diagnosis, Finding, Listings,
    NcuObservations, RuleAnswers, RuleBook, ShapeFacts, SignatureBook,
};
use crate::expr::{Expr, Names, Value};
use crate::frame::Quantities;
use crate::judge::reference_runs::ReferenceRuns;
use crate::judge::witness::ChipFacts;
use crate::judge::{JudgeError, Judgement, PhaseRun, Session};
use crate::model::{ProfileOutcome, ShapeName, VariantId};
use crate::plan::Plan;
use crate::store::Run;
use std::collections::HashMap;

/// How many variants findings are made for one by one; of a larger sweep only for the selected one.
const FEW: usize = 16;

/// Whether a report says how long ago it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// Counted to now.
    Said,
    /// Left out: the same run gives the same bytes.
    Unsaid,
}

/// The report of a judged run; nothing is written.
///
/// # Errors
/// A report of ncu is damaged.
pub fn assemble(session: &Session<'_>, source: RunSource, age: Age) -> Result<Report, JudgeError> {
    let measured = session.measurements();
    let (phase, plan, run) = (measured.phase(), measured.plan(), measured.run());
    let deep = DeepProfiles::read(run, plan, measured.capability());
    let observations = observations(session, &deep)?;
    let clocks = Clocks::read(measured.reports()).map_err(|e| run.damaged(&e))?.and(&deep.clocks);
    let seen = measured.quantities().beside(&deep.quantities);
    let variants = explained(plan, session.judgement());
    let (selected, shape) = (session.judgement().selected.as_ref(), &phase.objective.shape);
    let known = KnownSignatures::of(session);
    let (findings, speed_of_light) = with_diagnosis(session, &seen, &observations, &known.book, |diagnosis| {
        let of_selected = selected.map(|selected| diagnosis.speed_of_light(&selected.variant, shape));
        (diagnosis.findings(&variants), of_selected.unwrap_or_default())
    })?;
    let beside = session.references().beside();
    let earlier: Vec<Earlier<'_>> = beside
        .iter()
        .map(|run| Earlier {
            what: run.what,
            label: &run.label,
            variant: &run.entry.variant,
            quantities: run.quantities,
        })
        .collect();
    Ok(Report::new(&ReportInputs {
        phase,
        plan,
        manifest: &run.manifest,
        builds: &run.builds,
        checks: &run.checks,
        latencies: &run.latencies,
        profiles: &run.profiles,
        search: &run.search,
        quantities: measured.quantities(),
        judgement: session.judgement(),
        findings: &findings,
        unread: &known.problems,
        speed_of_light: &speed_of_light,
        said: &observations,
        deep: DeepProfileInputs {
            profiles: &run.close_looks,
            quantities: &deep.quantities,
            problem: deep.problem.as_deref(),
        },
        source,
        compared: &session.references().labels(),
        earlier: &earlier,
        clocks: &clocks,
        now: (age == Age::Said).then(|| session.clock().now()),
    }))
}

/// The report of a stored run, compared with what its requirements ask for in the folder that it lies in.
///
/// # Errors
/// The run cannot be judged.
pub fn stored(run: &PhaseRun) -> Result<Report, JudgeError> {
    let session = Session::of(run, ReferenceRuns::around(run))?;
    let source = RunSource::Recorded { folder: run.run.folder.display().to_string() };
    assemble(&session, source, Age::Unsaid)
}

/// What ncu says about each case; of the same case, what its deep profile says.
pub fn observations(session: &Session<'_>, deep: &DeepProfiles) -> Result<Vec<NcuObservations>, JudgeError> {
    let measured = session.measurements();
    let found = explain::observations(measured.reports(), measured.plan(), &Listings::new());
    let found = found.map_err(|e| measured.run().damaged(&e))?;
    let others = found.into_iter().filter(|other| !deep.observe(other));
    Ok(deep.observations.iter().cloned().chain(others).collect())
}

/// Variants that findings are about.
fn explained(plan: &Plan, judgement: &Judgement) -> Vec<VariantId> {
    if plan.variants.len() <= FEW {
        return plan.variants.iter().map(|variant| variant.id.clone()).collect();
    }
    judgement.selected.iter().map(|selected| selected.variant.clone()).collect()
}

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
        ProfileOutcome::Failed { .. } => None,
    });
    named.collect()
}
