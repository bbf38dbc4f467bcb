//! A report out of a judged run: what ncu, its rules and its sampler say is read here, beside the verdicts.

use super::diagnosis_row::DiagnosisRow;
use super::in_use::subjects;
use super::rule_answers::{diagnosis_row, with_diagnosis};
use super::{DeepProfileInputs, ReportInputs, RunReport, RunSource};
use crate::explain::{self, Clocks, DeepProfiles, Listings, NcuObservations, UnaskedRules};
use indexmap::IndexSet;
use jiff::Timestamp;
use jiff::civil::Date;
use ncugate_judge::{JudgeError, JudgedRun, PhaseRun};
use ncugate_model::{ShapeName, VariantId};
use ncugate_phase::plan::Plan;

/// How many variants findings are made for one by one; of a larger sweep only for those in use.
const FEW: usize = 16;

/// The report of a judged run; nothing is written. It says how long before `now` the run was measured; without that, the same run
/// gives the same bytes on any day.
///
/// # Errors
/// A report of ncu is damaged.
pub fn assemble(session: &JudgedRun<'_>, source: RunSource, now: Option<Timestamp>) -> Result<RunReport, JudgeError> {
    let measured = session.measurements();
    let (phase, plan, run) = (measured.phase(), measured.plan(), measured.run());
    let deep = DeepProfiles::read(run, plan, measured.capability());
    let observations = observations(session, &deep)?;
    let clocks = Clocks::read(measured.reports()).map_err(|e| run.damaged(&e))?.and(&deep.clocks);
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
        manifest: &run.manifest,
        builds: &run.builds,
        checks: &run.checks,
        latencies: &run.latencies,
        profiles: &run.profiles,
        search: &run.search,
        quantities: measured.quantities(),
        judgement: session.judgement(),
        findings: &findings,
        subjects: &subjects,
        diagnosis: &diagnosis,
        speed_of_light: &speed_of_light,
        said: &observations,
        deep: DeepProfileInputs {
            profiles: &run.deep_profiles,
            quantities: &deep.quantities,
            problem: deep.problem.as_deref(),
        },
        source,
        compared: &session.references().labels(),
        earlier: &session.references().comparison_runs(),
        clocks: &clocks,
        now,
    }))
}

/// The report of a stored run, compared with what its requirements ask for in the folder that it lies in.
///
/// # Errors
/// The run cannot be judged.
pub fn stored(run: &PhaseRun, today: Date) -> Result<RunReport, JudgeError> {
    let session = JudgedRun::of_stored(run, today)?;
    let source = RunSource::Recorded { folder: run.run.folder.display().to_string() };
    assemble(&session, source, None)
}

/// What ncu says about each case; of the same case, what its deep profile says.
pub fn observations(session: &JudgedRun<'_>, deep: &DeepProfiles) -> Result<Vec<NcuObservations>, JudgeError> {
    let measured = session.measurements();
    let found = explain::observations(measured.reports(), measured.plan(), &Listings::new());
    let found = found.map_err(|e| measured.run().damaged(&e))?;
    let others = found.into_iter().filter(|other| !deep.observe(other));
    Ok(deep.observations.iter().cloned().chain(others).collect())
}

/// Variants that findings are about.
fn explained(plan: &Plan, subjects: &[(VariantId, ShapeName)]) -> Vec<VariantId> {
    if plan.variants.len() <= FEW {
        return plan.variants.iter().map(|variant| variant.id.clone()).collect();
    }
    subjects.iter().map(|(variant, _)| variant.clone()).collect::<IndexSet<_>>().into_iter().collect()
}
