//! The decoded measurements of a run. Every report is decoded once, however often the run grows and is judged again.

use super::contradiction::ReportFaults;
use super::witness::{Witness, WitnessInput};
use super::{
    Correctness, DurationPolicy, Evidence, JudgeError, correctness, name_cheats, name_profiled_cheats, name_sanitized,
};
use crate::frame::launches::{FrameError, chip_facts, counted_launches};
use crate::frame::{
    Ownership, ProfileCounters, ProfiledCases, TableInputs, quantities, required_metrics, traced_cases, traced_launches,
};
use crate::store::{Run, open_reports};
use ncu_rep::Report;
use ncugate_model::number::counted;
use ncugate_model::{ChipFacts, ComputeCapability, Quantities, VariantId};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::Plan;
use polars::prelude::DataFrame;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// Whether a run has new measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// There are new measurements, so verdicts may change.
    Grown,
    /// There are no new values that a gate reads.
    Same,
}

/// A run's measurements in the form that gates read.
#[derive(Debug)]
pub struct Measurements<'a> {
    phase: &'a Phase,
    plan: &'a Plan,
    evidence: Evidence,
    run: Arc<Run>,
    metrics: Vec<String>,
    paths: Vec<PathBuf>,
    reports: Vec<(String, Report)>,
    launches: Option<DataFrame>,
    quantities: Quantities,
    witness: Witness,
    faults: ReportFaults,
    correctness: BTreeMap<VariantId, Correctness>,
}

impl<'a> Measurements<'a> {
    /// Decodes a run: the metrics that the phase needs, and those in `more`.
    ///
    /// # Errors
    /// A report cannot be read or is damaged.
    pub fn read(
        phase: &'a Phase,
        plan: &'a Plan,
        run: Arc<Run>,
        evidence: Evidence,
        more: &[String],
    ) -> Result<Self, JudgeError> {
        let mut metrics = required_metrics::metrics(phase);
        let unread: Vec<String> = more.iter().filter(|metric| !metrics.contains(metric)).cloned().collect();
        metrics.extend(unread);
        let mut all = Self {
            phase,
            plan,
            evidence,
            run,
            metrics,
            paths: Vec::new(),
            reports: Vec::new(),
            launches: None,
            quantities: Quantities::default(),
            witness: Witness::default(),
            faults: ReportFaults::default(),
            correctness: BTreeMap::new(),
        };
        all.decode()?;
        all.tabulate()?;
        Ok(all)
    }

    /// Replaces the run with its current state. Only new reports are decoded; without new measurements nothing is
    /// decoded.
    ///
    /// # Errors
    /// A new report cannot be read or is damaged.
    pub fn update(&mut self, run: Arc<Run>) -> Result<Growth, JudgeError> {
        let same = measures_the_same(&self.run, &run);
        self.run = run;
        if same {
            return Ok(Growth::Same);
        }
        self.decode()?;
        self.tabulate()?;
        Ok(Growth::Grown)
    }

    pub fn phase(&self) -> &'a Phase {
        self.phase
    }

    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The evidence for its results.
    pub fn evidence(&self) -> Evidence {
        self.evidence
    }

    /// Its reports by file name, except those of deep profiles.
    pub fn reports(&self) -> &[(String, Report)] {
        &self.reports
    }

    pub fn quantities(&self) -> &Quantities {
        &self.quantities
    }

    pub fn correctness(&self) -> &BTreeMap<VariantId, Correctness> {
        &self.correctness
    }

    /// Whether the counters confirm the latencies.
    pub fn witness(&self) -> &Witness {
        &self.witness
    }

    /// The variants of reports whose duration no second clock confirms, with the reason; none if the user asserts that
    /// the reports are unedited.
    pub(crate) fn unclocked(&self) -> HashMap<VariantId, String> {
        match self.evidence.durations() {
            Some(DurationPolicy::Confirmed) => self.faults.unclocked.clone(),
            Some(DurationPolicy::AssumedUnedited) | None => HashMap::new(),
        }
    }

    /// What the user asserts of the durations of reports, with the number of variants that need it.
    pub(crate) fn assumed_durations(&self) -> Option<String> {
        if self.evidence.durations() != Some(DurationPolicy::AssumedUnedited) {
            return None;
        }
        let ReportFaults { times, unclocked, .. } = &self.faults;
        let without = counted(unclocked.keys().filter(|variant| !times.contains_key(*variant)).count(), "variant");
        let contradictory = times.iter().min().map_or_else(String::new, |(variant, reason)| {
            format!("; {} contradictory: {variant}: {reason}", counted(times.len(), "variant"))
        });
        Some(format!(
            "durations are assumed to be unedited (--assume unedited): {without} without a second clock{contradictory}"
        ))
    }

    /// Compute capability of the GPU, if known.
    pub fn capability(&self) -> Option<ComputeCapability> {
        self.run.manifest.fingerprint.gpu.as_ref().map(|gpu| gpu.compute_capability)
    }

    /// Number of multiprocessors of the GPU, if known.
    pub fn sms(&self) -> Option<u32> {
        self.run.sms()
    }

    /// Decodes the reports that have not been decoded yet.
    fn decode(&mut self) -> Result<(), JudgeError> {
        let named = self.run.reports();
        if self.paths.iter().any(|path| !named.contains(path)) {
            // reports that no record names any more are ignored
            (self.paths, self.reports, self.launches) = (Vec::new(), Vec::new(), None);
        }
        let paths: Vec<PathBuf> = named.into_iter().filter(|path| !self.paths.contains(path)).collect();
        if self.launches.is_some() && paths.is_empty() {
            return Ok(());
        }
        let reports = open_reports(&paths)?;
        let launches = counted_launches(&reports, &self.counters())?;
        match &mut self.launches {
            Some(known) => drop(known.vstack_mut_owned(launches).map_err(FrameError::from)?.rechunk_mut()),
            None => self.launches = Some(launches),
        }
        self.reports.extend(reports);
        self.paths.extend(paths);
        Ok(())
    }

    /// ncu's names of the counters that gates and the witness read.
    fn counters(&self) -> Vec<String> {
        let witness = required_metrics::witness_metrics(self.phase);
        required_metrics::read(&self.metrics.iter().cloned().chain(witness).collect::<Vec<_>>(), self.capability())
    }

    /// Builds the table and the proofs from the records and the decoded reports.
    fn tabulate(&mut self) -> Result<(), JudgeError> {
        let (phase, plan, run) = (self.phase, self.plan, self.run.as_ref());
        let cases = run.profiles.iter().map(|record| (&record.variant, &record.shape, &record.outcome));
        let profiled = ProfiledCases::of(cases, &run.builds);
        let ownership = match self.evidence {
            Evidence::Measured => Ownership::Recorded(&profiled),
            Evidence::Unproven(_) | Evidence::Counters(_) | Evidence::AssumedCorrect(_) => {
                Ownership::Captured(&phase.objective.shape)
            }
        };
        let counted = match &self.launches {
            Some(launches) => self.decoded_counters(launches, ownership)?,
            None => ProfileCounters::default(),
        };
        let (capability, sms) = (self.capability(), self.sms());
        let measured = TableInputs { phase, plan, run, counted: &counted, capability, sms };
        self.quantities = quantities(&measured, &self.metrics);
        if let Some(durations) = self.evidence.durations() {
            // Reports of other programs have no seal, so their counters are checked against each other.
            self.faults = ReportFaults::of(plan, &self.reports)?;
            let contradictory = match durations {
                DurationPolicy::Confirmed => Some(&self.faults.times),
                DurationPolicy::AssumedUnedited => None,
            };
            for (variant, reason) in self.faults.rollups.iter().chain(contradictory.into_iter().flatten()) {
                self.quantities.withhold(variant, reason);
            }
        }
        self.witness = self.held_against_counters(&measured)?;
        self.correctness = match self.evidence {
            Evidence::Measured => {
                let proofs = correctness(phase, plan, &run.checks, &run.builds);
                let proofs = name_sanitized(proofs, (phase, plan), &run.sanitizer, &run.builds);
                let timed = run.latencies.iter().chain(run.confirmations.iter().map(|record| &record.timed));
                let mut proofs = name_profiled_cheats(name_cheats(proofs, timed, &run.builds), run);
                self.witness.name_cheats(&mut proofs);
                proofs
            }
            Evidence::Unproven(_) => unchecked(
                plan,
                &Correctness::Unproven {
                    reason:
                        "an ncu report does not prove that the result was correct; --assume correct judges it anyway"
                            .to_owned(),
                },
            ),
            Evidence::Counters(_) => {
                let reason = "not checked: counters of another program's launches are judged, not their results";
                unchecked(plan, &Correctness::Unchecked { reason: reason.to_owned() })
            }
            Evidence::AssumedCorrect(_) => {
                let reason = "not checked: assumed to be correct (--assume correct)";
                unchecked(plan, &Correctness::Unchecked { reason: reason.to_owned() })
            }
        };
        Ok(())
    }
}

impl Measurements<'_> {
    /// Counters from the reports, and from CUPTI traces for cases without a report.
    fn decoded_counters(&self, launches: &DataFrame, by: Ownership<'_>) -> Result<ProfileCounters, FrameError> {
        if !super::traced_values::is_traced(&self.run) {
            return Ok(ProfileCounters::of_launches(launches, self.plan, by)?);
        }
        let traced = traced_launches(&self.run.profiles, &self.counters())?;
        Ok(ProfileCounters::of_launches(launches.vstack(&traced)?.rechunk_mut(), self.plan, by)?)
    }

    /// Checks every latency against the counters.
    fn held_against_counters(&self, measured: &TableInputs<'_>) -> Result<Witness, JudgeError> {
        let traced = traced_cases(&self.run.profiles);
        let chip = match traced.first().filter(|_| self.reports.is_empty()) {
            Some(case) => ChipFacts::of_traced(&case.trace.chip, measured.capability),
            None => chip_facts(&self.reports, measured.capability)?,
        };
        let counters = quantities(measured, &required_metrics::witness_metrics(self.phase));
        Ok(Witness::compare(&WitnessInput {
            phase: self.phase,
            plan: self.plan,
            run: &self.run,
            latencies: &self.quantities,
            counters: &counters,
            chip: &chip,
            empty_ns: measured.counted.empty_ns(),
            traced: &traced.iter().map(|c| ((c.variant.clone(), c.shape.clone()), c.trace.empty_ns)).collect(),
        }))
    }
}

/// The same answer for all variants, for launches whose results were not checked.
fn unchecked(plan: &Plan, answer: &Correctness) -> BTreeMap<VariantId, Correctness> {
    plan.variants.iter().map(|variant| (variant.id.clone(), answer.clone())).collect()
}

/// Whether two states of a run agree in everything that verdicts depend on. Counters of deep profiles, warnings and
/// stage times are excluded.
fn measures_the_same(a: &Run, b: &Run) -> bool {
    let outputs = |run: &Run| run.deep_profiles.iter().map(|deep| deep.outputs.clone()).collect::<Vec<_>>();
    a.manifest.fingerprint == b.manifest.fingerprint
        && a.is_sealed() == b.is_sealed()
        && a.manifest.state == b.manifest.state
        && a.builds == b.builds
        && a.checks == b.checks
        && a.latencies == b.latencies
        && a.confirmations == b.confirmations
        && a.profiles == b.profiles
        && outputs(a) == outputs(b)
}
