//! A run under judgement: decoded once, compared with stored runs, and judged again after more measurements.

use super::measurements::{Growth, Measurements};
use super::reference_runs::ReferenceRuns;
use super::requirement_changes::since_the_measurement;
use super::{
    Context, Evidence, JudgeError, Judgement, LatencyWitness, PhaseRun, judge, missing_counters, to_confirm,
    traced_values, unresolved, untested_tolerance,
};
use crate::store::{Run, RunState, RunVerdict};
use jiff::civil::Date;
use ncugate_model::expr::Owner;
use ncugate_model::{ShapeName, VariantId, Verdict};
use ncugate_phase::config::{Phase, UntestedTolerance};
use ncugate_phase::plan::Plan;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why a run without a list of its files cannot pass.
const UNSEALED: &str =
    "the run is not sealed: its manifest does not list its files, so later changes cannot be detected (measure again)";

#[derive(Debug)]
pub struct JudgedRun<'a> {
    measurements: Measurements<'a>,
    references: ReferenceRuns,
    today: Date,
    judgement: Judgement,
}

impl<'a> JudgedRun<'a> {
    /// Judges a run by the phase's gates, as of the given day.
    ///
    /// # Errors
    /// A report of the run cannot be read or is damaged.
    pub fn new(
        phase: &'a Phase,
        plan: &'a Plan,
        run: Arc<Run>,
        evidence: Evidence,
        references: ReferenceRuns,
        today: Date,
    ) -> Result<Self, JudgeError> {
        let measurements = Measurements::read(phase, plan, run, evidence, &[])?;
        let judgement = judgement(&measurements, &references, today);
        Ok(Self { measurements, references, today, judgement })
    }

    /// Judges a run in memory, with the given comparison runs.
    ///
    /// # Errors
    /// A report of the run cannot be read or is damaged.
    pub fn of(run: &'a PhaseRun, references: ReferenceRuns, today: Date) -> Result<Self, JudgeError> {
        Self::new(&run.phase, &run.plan, Arc::clone(&run.run), run.evidence, references, today)
    }

    /// Judges a stored run against the runs that its requirements name, in the same profiles folder.
    ///
    /// # Errors
    /// A report of the run cannot be read or is damaged.
    pub fn of_stored(run: &'a PhaseRun, today: Date) -> Result<Self, JudgeError> {
        Self::of(run, ReferenceRuns::of_stored_run(run, today), today)
    }

    /// Replaces the run with its current state, and judges it again if there are new measurements.
    ///
    /// # Errors
    /// A new report cannot be read or is damaged.
    pub fn update(&mut self, run: Arc<Run>) -> Result<Growth, JudgeError> {
        let growth = self.measurements.update(run)?;
        match growth {
            Growth::Grown => self.judgement = judgement(&self.measurements, &self.references, self.today),
            Growth::Same => {}
        }
        Ok(growth)
    }

    /// Downgrades a pass, for a reason outside the gates.
    pub fn withhold_pass(&mut self, reason: &str) {
        self.judgement.withhold_pass(reason);
    }

    pub fn measurements(&self) -> &Measurements<'a> {
        &self.measurements
    }

    pub fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    /// The stored runs that it is compared with.
    pub fn references(&self) -> &ReferenceRuns {
        &self.references
    }

    /// The day of the judgement.
    pub fn today(&self) -> Date {
        self.today
    }

    /// The variant that the objective selects.
    pub fn selected(&self) -> Option<&VariantId> {
        self.judgement.selected.as_ref().map(|selected| &selected.variant)
    }

    /// The verdict for the run's manifest.
    pub fn run_verdict(&self) -> RunVerdict {
        let judgement = &self.judgement;
        let fallback = judgement.fallback.as_ref().filter(|f| f.verdict == Verdict::Pass);
        RunVerdict {
            verdict: judgement.verdict,
            fallback: fallback.and_then(|fallback| fallback.variant.clone()),
            is_first: self.measurements.run().manifest.narrowed.is_none()
                && self.references.is_absent(Owner::Previous.word())
                && judgement.lacks_previous_alone(),
        }
    }

    /// Cases to re-time, after the sweep has selected variants.
    pub fn to_confirm(&self) -> BTreeSet<(VariantId, ShapeName)> {
        to_confirm(self.measurements.phase(), &self.judgement, &self.references.names())
    }

    /// Timed cases that noise leaves open and that more rounds may settle.
    pub fn unresolved(&self) -> BTreeSet<(VariantId, ShapeName)> {
        unresolved(self.measurements.phase(), &self.judgement, &self.references.names())
    }
}

fn judgement(measurements: &Measurements<'_>, references: &ReferenceRuns, today: Date) -> Judgement {
    let mut context = Context::new(measurements.capability(), today);
    context.witness = LatencyWitness::Counters(measurements.witness());
    context.unclocked = measurements.unclocked();
    references.add_to(&mut context);
    let traced = traced_values::is_traced(measurements.run());
    let mut others = Vec::new();
    for stored in context.stored.values().filter(|_| traced) {
        others.push(traced_values::without_durations(stored.quantities));
    }
    for (stored, own) in context.stored.values_mut().zip(&others) {
        stored.quantities = own;
    }
    let (phase, plan) = (measurements.phase(), measurements.plan());
    let mut judgement = judge(phase, plan, measurements.quantities(), measurements.correctness(), &context);
    judgement.warnings.extend(references.warnings.iter().cloned());
    hold_to_evidence(&mut judgement, measurements);
    judgement.changed_limits.splice(0..0, changed_limits(measurements, today));
    judgement
}

/// Withholds a pass from a run that lacks evidence, and adds cautions about its evidence.
pub fn hold_to_evidence(judgement: &mut Judgement, measurements: &Measurements<'_>) {
    if let Some(part) = &measurements.run().manifest.shard {
        judgement.withhold_pass(&format!(
            "the run is shard {} of the phase, and `ncugate cluster merge` merges the shards",
            part.shard
        ));
    }
    if let Some(part) = &measurements.run().manifest.narrowed {
        let part = format!("the run measured a part of the phase ({})", part.words());
        judgement
            .cautions
            .insert(0, format!("{part}: gates that need the rest are inconclusive, so the run does not pass"));
        judgement.withhold_pass(&part);
    }
    judgement.cautions.extend(measurements.assumed_durations());
    let accepted = measurements.phase().workload.untested_tolerance;
    if measurements.evidence() == Evidence::Measured {
        judgement.cautions.extend(traced_values::caution(measurements.run()));
        judgement.cautions.extend(missing_counters::cautions(measurements));
        if let Some(untried) = untested_tolerance::tolerance(measurements.phase(), measurements.run()) {
            judgement.cautions.insert(0, untried.caution());
            if accepted == UntestedTolerance::Refused {
                judgement.withhold_pass(&untried.to_string());
            }
        } else if accepted == UntestedTolerance::Accepted {
            judgement.cautions.push(untested_tolerance::ACCEPTED.to_owned());
        }
    }
    match measurements.run().manifest.state {
        RunState::Complete if measurements.evidence() == Evidence::Measured && !measurements.run().is_sealed() => {
            judgement.withhold_pass(UNSEALED);
        }
        RunState::Complete => {}
        RunState::Running | RunState::Interrupted => judgement.withhold_pass("the run is incomplete"),
    }
}

/// The requirements that differ from those of the phase in the run's folder.
fn changed_limits(measurements: &Measurements<'_>, today: Date) -> Option<String> {
    let (phase, run) = (measurements.phase(), measurements.run());
    if measurements.evidence() != Evidence::Measured || phase.text == run.phase {
        return None;
    }
    match run.measured_phase() {
        Ok(measured) => since_the_measurement(&measured, phase, today),
        Err(_) => Some("the limits of the recorded phase are unknown: its phase.toml cannot be read".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures::at_root;
    use ncugate_model::LatencyOutcome;
    use std::path::Path;

    const TODAY: Date = jiff::civil::date(2026, 6, 15);

    /// A copy of the shipped recording of phase D whose reports a test can remove.
    fn recording() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        copy(Path::new("profiles/phase_d/h200"), folder.path());
        folder
    }

    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let target = to.join(path.file_name().unwrap());
            if path.is_dir() { copy(&path, &target) } else { std::fs::copy(&path, &target).map(|_| ()).unwrap() }
        }
    }

    #[test]
    fn a_run_of_a_part_of_its_phase_does_not_pass_nor_stands_for_the_next() {
        at_root();
        let stored = PhaseRun::load(Path::new("profiles/sdpa_fast/h200")).unwrap();
        let whole = JudgedRun::of(&stored, ReferenceRuns::default(), TODAY).unwrap();
        assert_eq!(whole.judgement().verdict, Verdict::Pass);
        let mut run = (*stored.run).clone();
        run.manifest.narrowed =
            Some(ncugate_phase::plan::PhaseSubset { rounds: Some(60), ..ncugate_phase::plan::PhaseSubset::default() });
        let stored = PhaseRun { run: Arc::new(run), ..stored };
        let part = JudgedRun::of(&stored, ReferenceRuns::default(), TODAY).unwrap();
        assert_eq!(part.judgement().verdict, Verdict::Inconclusive);
        assert!(part.judgement().reason.starts_with("the run measured a part of the phase (--rounds 60)"));
        assert!(part.judgement().cautions[0].contains("does not pass"));
        assert!(!part.run_verdict().is_reference());
    }

    #[test]
    fn a_run_that_grows_is_judged_again_without_decoding_its_reports_anew() {
        at_root();
        let folder = recording();
        let stored = PhaseRun::load(folder.path()).unwrap();
        let mut session = JudgedRun::of(&stored, ReferenceRuns::default(), TODAY).unwrap();
        let (reason, selected) = (session.judgement().reason.clone(), session.selected().cloned().unwrap());
        std::fs::remove_dir_all(folder.path().join("reports")).unwrap();
        let counters = |session: &JudgedRun<'_>| {
            let shape = &stored.phase.objective.shape;
            session.measurements().quantities().read(&selected, shape, "eligible_warps").value()
        };
        let before = counters(&session);
        assert!(before.is_some(), "a counter out of the reports");

        let mut warned = (*stored.run).clone();
        warned.manifest.warnings.push("said after everything was measured".to_owned());
        assert_eq!(session.update(Arc::new(warned)).unwrap(), Growth::Same);
        assert_eq!(session.judgement().reason, reason);
        assert_eq!(session.measurements().run().manifest.warnings.last().map(String::len), Some(34));

        let mut slower = (*stored.run).clone();
        for record in slower.latencies.iter_mut().filter(|record| record.variant == selected) {
            if let LatencyOutcome::Timed { samples, .. } = &mut record.outcome {
                samples.iter_mut().for_each(|us| *us *= 100.0);
            }
        }
        assert_eq!(session.update(Arc::new(slower)).unwrap(), Growth::Grown);
        assert_ne!(session.selected(), Some(&selected), "another variant is the fastest now");
        assert_eq!(counters(&session), before, "the reports are gone, and need not be read again");
    }
}
