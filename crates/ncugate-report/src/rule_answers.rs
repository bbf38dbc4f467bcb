//! Applies the rules to a judged run.

use super::provenance::quoted;
use ncu_explain::{
    ChipKnowledge, Collection, DeclaredWork, Diagnosis, DiagnosisRow, Finding, NcuObservations, PlannedEvaluation,
    PlannedVariant, RuleAnswers, RuleBook, ShapeFacts, UnaskedRules, VariantCode,
};
use ncugate_judge::frame::launches::chip_facts;
use ncugate_judge::store::{self, Run};
use ncugate_judge::{Correctness, JudgeError, JudgedRun};
use ncugate_model::expr::Expr;
use ncugate_model::{AblationRecord, CleanText, Dtype, ProfileOutcome, Quantities, ShapeName, VariantId};
use ncugate_phase::config::{Phase, Shape};
use ncugate_phase::plan::{Method, Plan, ShapeProgram, Step, Variant};
use std::collections::HashMap;

/// The shapes of a phase that are timed or profiled, with their declared work. Shapes that are only checked have no
/// bottleneck.
pub fn shape_facts(phase: &Phase) -> Vec<ShapeFacts> {
    let of = |shape: &Shape| {
        let scope = shape.scope();
        let number = |expr: &Option<Expr>| expr.as_ref().and_then(|expr| expr.eval_number(&scope).ok());
        let buffers = &phase.workload.buffers;
        let work = DeclaredWork {
            flops: number(&phase.workload.flops),
            bytes: number(&phase.workload.bytes),
            buffer_bytes: buffers.iter().map(|buffer| phase.workload.bytes_of(shape, &buffer.name)).sum(),
            has_f64_buffers: Some(buffers.iter().any(|buffer| buffer.dtype.at(shape) == Ok(Dtype::F64))),
            copied_bytes: None,
        };
        ShapeFacts { name: shape.name.clone(), dims: shape.dims.clone(), work }
    };
    measured_shapes(phase).map(of).collect()
}

fn measured_shapes(phase: &Phase) -> impl Iterator<Item = &Shape> {
    let measured =
        |shape: &&Shape| phase.bench.shapes.contains(&shape.name) || phase.profile.shapes.contains(&shape.name);
    phase.workload.shapes.iter().filter(measured)
}

/// What the plan says of each variant: its code, its launches, and the bytes of its fills and copies.
pub fn planned_variants<'p>(phase: &'p Phase, plan: &'p Plan) -> Vec<PlannedVariant<'p>> {
    let launched = |program: &'p ShapeProgram| {
        let shape = phase.workload.shapes.iter().find(|shape| shape.name == program.shape);
        let size = |name: &str| phase.workload.bytes_of(shape?, name);
        let entry = |(step, number): (&'p Step, usize)| match step {
            Step::Launch(launch) => Some((number, launch.entry.as_str())),
            Step::Memset(_) | Step::Memcpy(_) => None,
        };
        let entries: Vec<_> = program.steps.iter().zip(1..).filter_map(entry).collect();
        let copied_bytes = program.step_traffic(size).map_or(Some(0.0), |traffic| traffic.moved());
        PlannedEvaluation { shape: &program.shape, launches: entries.len(), entries, copied_bytes }
    };
    let captured = |shape: &'p Shape| PlannedEvaluation {
        shape: &shape.name,
        launches: 1,
        entries: Vec::new(),
        copied_bytes: None,
    };
    let of = |variant: &'p Variant| {
        let (code, evaluations) = match &variant.method {
            Method::Kernel(kernel) => {
                let (source, entries) = (kernel.source.as_path(), kernel.code_entries());
                let code = VariantCode { source, entries, flags: &kernel.flags, params: &variant.params };
                (Some(code), kernel.programs.iter().map(launched).collect())
            }
            Method::Captured(_) => (None, measured_shapes(phase).map(captured).collect()),
            Method::Function(_) | Method::Command(_) => (None, Vec::new()),
        };
        PlannedVariant { id: &variant.id, code, evaluations }
    };
    plan.variants.iter().map(of).collect()
}

/// Findings of the rules for some variants of a run; `seen` holds the measurements, including the deep profiles.
///
/// # Errors
/// A report of ncu is damaged.
pub fn diagnose(
    session: &JudgedRun<'_>,
    seen: &Quantities,
    observations: &[NcuObservations],
    variants: &[VariantId],
) -> Result<Vec<Finding>, JudgeError> {
    with_diagnosis(session, seen, observations, |diagnosis| diagnosis.findings(variants))
}

/// How often each rule holds among all variants of a run.
///
/// # Errors
/// A report of ncu is damaged.
pub fn answers(session: &JudgedRun<'_>, seen: &Quantities) -> Result<Vec<RuleAnswers>, JudgeError> {
    let all: Vec<VariantId> = session.measurements().plan().variants.iter().map(|variant| variant.id.clone()).collect();
    with_diagnosis(session, seen, &[], |diagnosis| diagnosis.answers(&all))
}

/// Calls a function with the diagnosis of a run: the rules and all their inputs.
///
/// # Errors
/// A report of ncu is damaged.
pub fn with_diagnosis<T>(
    session: &JudgedRun<'_>,
    seen: &Quantities,
    observations: &[NcuObservations],
    ask: impl FnOnce(&Diagnosis<'_>) -> T,
) -> Result<T, JudgeError> {
    let measured = session.measurements();
    let attributes = chip_facts(measured.reports(), measured.capability()).map_err(|e| measured.run().damaged(&e))?;
    let chip = ChipKnowledge {
        capability: measured.capability(),
        sms: measured.sms(),
        dram_peak: attributes.dram_bytes_per_second(),
    };
    let rules = RuleBook::shipped().with(&measured.phase().rules);
    let (phase, plan) = (measured.phase(), measured.plan());
    let shapes = shape_facts(phase);
    let diagnosis = Diagnosis {
        variants: &planned_variants(phase, plan),
        baseline: plan.baselines().next().map(|baseline| &baseline.id),
        observations,
        reports: Some(&reports(measured.run())),
        ablations: &ablations(measured.run(), plan),
        ..Diagnosis::of(&rules, seen, &shapes, &chip)
    };
    Ok(ask(&diagnosis))
}

/// The ablations of a run, for each variant that was measured as the same.
pub fn ablations(run: &Run, plan: &Plan) -> Vec<AblationRecord> {
    let records = store::ablations(&run.folder);
    let of = |record: &AblationRecord| {
        let same = plan.variants.iter().filter(|variant| run.measured_as(&variant.id) == &record.variant);
        same.map(|variant| AblationRecord { variant: variant.id.clone(), ..record.clone() }).collect::<Vec<_>>()
    };
    records.iter().flat_map(of).collect()
}

/// Summarises the diagnosis of a variant at a shape from its findings and the rules that could not be evaluated.
pub fn diagnosis_row(
    session: &JudgedRun<'_>,
    seen: &Quantities,
    (variant, shape): (&VariantId, &ShapeName),
    has_cause: bool,
    unasked: &UnaskedRules,
) -> DiagnosisRow {
    let timed = |metric: &str| seen.read(variant, shape, metric);
    let untimed = match (timed("latency_p50").known(), timed("duration").known()) {
        (Err(_), Err(why)) => Some(why.to_string()),
        (Ok(_), _) | (_, Ok(_)) => None,
    };
    let place = (variant.0.clone(), shape.0.clone());
    DiagnosisRow::new(place, has_cause, unasked, untimed.as_deref(), &collection(session, variant, shape))
}

/// How to collect the missing counters of a variant at a shape.
fn collection(session: &JudgedRun<'_>, variant: &VariantId, shape: &ShapeName) -> Collection {
    let measured = session.measurements();
    let (phase, run) = (measured.phase(), measured.run());
    let method = measured.plan().variant(variant).map(|variant| &variant.method);
    if matches!(method, Some(Method::Captured(_))) {
        return Collection::Report;
    }
    if !measured.correctness().get(variant).is_some_and(|proof| matches!(proof, Correctness::Proven { .. })) {
        return Collection::Unproven;
    }
    let file = CleanText::from(phase.file.display().to_string());
    let is_profiled = run.deep_profiles.iter().any(|deep| {
        &deep.variant == run.measured_as(variant)
            && &deep.shape == shape
            && matches!(deep.outcome, ProfileOutcome::Profiled { .. })
    });
    let has_deep = matches!(method, Some(Method::Kernel(_) | Method::Command(_)));
    if has_deep && !is_profiled && shape == &phase.objective.shape {
        let variant = quoted(&variant.0);
        return Collection::Deep(format!("ncugate run {} --deep {variant}", quoted(&file)));
    }
    let is_shape = phase.profile.shapes.contains(shape);
    Collection::Phase(file, (!is_shape).then(|| shape.0.clone()))
}

/// The report with the launch of each case.
fn reports(run: &Run) -> HashMap<(VariantId, ShapeName), String> {
    let named = run.profiles.iter().filter_map(|record| match &record.outcome {
        ProfileOutcome::Profiled { report } => Some(((record.variant.clone(), record.shape.clone()), report.clone())),
        ProfileOutcome::Traced { .. } | ProfileOutcome::Failed { .. } => None,
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_phase::config::parse;
    use std::path::Path;

    /// A phase checks every name that a rule reads.
    #[test]
    fn a_phase_reads_the_shipped_rules_as_they_are() {
        let (phase, rules) =
            (include_str!("../../../configs/phase_d.toml"), include_str!("../../ncu-explain/src/rules.toml"));
        let phase = parse(Path::new("phase.toml"), &format!("{phase}\n{rules}"));
        let phase = phase.unwrap_or_else(|error| panic!("{}", error.render(false)));
        assert_eq!(phase.rules, RuleBook::shipped().rules());
    }
}
