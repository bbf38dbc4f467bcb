//! Builds a report from a judged run. The observations of ncu, its rules and its sampler are read here and do not
//! affect verdicts.

use super::in_use::subjects;
use super::rule_answers::{ablations, diagnosis_row, with_diagnosis};
use super::{DeepProfileInputs, ReportInputs, RunReport, RunSource};
use crate::analysis::{self, DeepProfiles, Listings};
use indexmap::IndexSet;
use jiff::Timestamp;
use jiff::civil::Date;
use ncu_explain::{Clocks, DiagnosisRow, NcuObservations, UnaskedRules};
use ncugate_judge::frame::launches::chip_facts;
use ncugate_judge::{JudgeError, JudgedRun, PhaseRun};
use ncugate_model::{ShapeName, VariantId};
use ncugate_phase::plan::Plan;

/// Up to this number of variants, each one gets findings; in a larger sweep only those in use.
const FEW: usize = 16;

/// The report of a judged run; nothing is written. Its age is relative to `now`; without `now`, the same run gives the
/// same bytes on any day.
///
/// # Errors
/// A report of ncu is damaged.
pub fn assemble(session: &JudgedRun<'_>, source: RunSource, now: Option<Timestamp>) -> Result<RunReport, JudgeError> {
    let measured = session.measurements();
    let (phase, plan, run) = (measured.phase(), measured.plan(), measured.run());
    let deep = DeepProfiles::read(run, plan, measured.capability());
    let observations = observations(session, &deep)?;
    let clocks = Clocks::read(measured.reports()).map_err(|e| run.damaged(&e))?.and(&deep.clocks);
    let chip = chip_facts(measured.reports(), None).map_err(|e| run.damaged(&e))?;
    let seen = measured.quantities().filled_from(&deep.quantities);
    let subjects = subjects(phase, plan, session.judgement(), measured.quantities());
    let variants = explained(plan, &subjects);
    let (selected, shape) = (session.judgement().selected.as_ref(), &phase.objective.shape);
    let (findings, unasked, speed_of_light) = with_diagnosis(session, &seen, &observations, |diagnosis| {
        let of_selected = selected.map(|selected| diagnosis.speed_of_light(&selected.variant, shape));
        let unasked: Vec<UnaskedRules> = subjects.iter().map(|(id, shape)| diagnosis.unasked(id, shape)).collect();
        (diagnosis.findings(&variants), unasked, of_selected.unwrap_or_default())
    })?;
    let has_cause = |place: &(VariantId, ShapeName)| {
        findings.iter().any(|found| found.is_cause() && (&found.variant, &found.shape) == (&place.0, &place.1))
    };
    let diagnosis: Vec<DiagnosisRow> = subjects
        .iter()
        .zip(&unasked)
        .map(|(place, unasked)| diagnosis_row(session, &seen, (&place.0, &place.1), has_cause(place), unasked))
        .collect();
    Ok(RunReport::new(&ReportInputs {
        phase,
        plan,
        run,
        quantities: measured.quantities(),
        judgement: session.judgement(),
        findings: &findings,
        ablations: &ablations(run, plan),
        subjects: &subjects,
        diagnosis: &diagnosis,
        speed_of_light: &speed_of_light,
        said: &observations,
        dram_peak: chip.dram_bytes_per_second(),
        deep: DeepProfileInputs { quantities: &deep.quantities, problem: deep.problem.as_deref() },
        source,
        compared: &session.references().labels(),
        earlier: &session.references().comparison_runs(),
        clocks: &clocks,
        now,
    }))
}

/// The report of a stored run, including the comparisons that its requirements ask for in the folder of the run.
///
/// # Errors
/// The run cannot be judged.
pub fn stored(run: &PhaseRun, today: Date) -> Result<RunReport, JudgeError> {
    let session = JudgedRun::of_stored(run, today)?;
    let source = RunSource::Recorded { folder: run.run.folder.display().to_string() };
    assemble(&session, source, None)
}

/// Observations of ncu on each case; a deep profile of the same case takes precedence.
pub fn observations(session: &JudgedRun<'_>, deep: &DeepProfiles) -> Result<Vec<NcuObservations>, JudgeError> {
    let measured = session.measurements();
    let found = analysis::observations(measured.reports(), (measured.plan(), &measured.run().builds), &Listings::new());
    let found = found.map_err(|e| measured.run().damaged(&e))?;
    let others = found.into_iter().filter(|other| !deep.observe(other));
    Ok(deep.observations.iter().cloned().chain(others).collect())
}

/// Variants with findings.
fn explained(plan: &Plan, subjects: &[(VariantId, ShapeName)]) -> Vec<VariantId> {
    if plan.variants.len() <= FEW {
        return plan.variants.iter().map(|variant| variant.id.clone()).collect();
    }
    subjects.iter().map(|(variant, _)| variant.clone()).collect::<IndexSet<_>>().into_iter().collect()
}
