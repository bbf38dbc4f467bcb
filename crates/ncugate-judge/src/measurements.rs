//! What a run measured, decoded: every report is decoded once, however often the run grows and is judged again.

use super::contradiction::contradictions;
use super::witness::{ChipFacts, Witness, WitnessInput};
use super::{Correctness, Evidence, JudgeError, correctness, name_cheats, name_profiled_cheats};
use crate::frame::launches::{Capture, FrameError, LaunchFrames, Origin};
use crate::frame::{
    Ownership, ProfileCounters, ProfiledCases, Quantities, TableInputs, quantities, required_metrics, traced_cases,
};
use crate::store::{Run, open_reports};
use ncu_rep::{MetricSelection, Report};
use ncugate_model::{ComputeCapability, VariantId};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::Plan;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Whether a run holds more than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// Something was measured, so that verdicts may be others.
    Grown,
    /// Nothing that a gate reads.
    Same,
}

/// A run's measurements as gates read them.
#[derive(Debug)]
pub struct Measurements<'a> {
    phase: &'a Phase,
    plan: &'a Plan,
    evidence: Evidence,
    run: Arc<Run>,
    metrics: Vec<String>,
    paths: Vec<PathBuf>,
    reports: Vec<(String, Report)>,
    frames: Option<LaunchFrames>,
    quantities: Quantities,
    witness: Witness,
    correctness: BTreeMap<VariantId, Correctness>,
}

impl<'a> Measurements<'a> {
    /// Decodes a run: the metrics that the phase needs, and `more`.
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
            frames: None,
            quantities: Quantities::default(),
            witness: Witness::default(),
            correctness: BTreeMap::new(),
        };
        all.decode()?;
        all.tabulate()?;
        Ok(all)
    }

    /// Takes the run as it is now. Only reports that are new are decoded, and nothing where nothing was measured.
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

    /// What is known of its results.
    pub fn evidence(&self) -> Evidence {
        self.evidence
    }

    /// Its reports by file name, without those of deep profiles.
    pub fn reports(&self) -> &[(String, Report)] {
        &self.reports
    }

    /// Every metric of every variant at every shape.
    pub fn quantities(&self) -> &Quantities {
        &self.quantities
    }

    /// Whether each variant computes the right thing.
    pub fn correctness(&self) -> &BTreeMap<VariantId, Correctness> {
        &self.correctness
    }

    /// What the counters say of latencies.
    pub fn witness(&self) -> &Witness {
        &self.witness
    }

    /// Compute capability of the GPU, where it is known.
    pub fn capability(&self) -> Option<ComputeCapability> {
        self.run.manifest.fingerprint.gpu.as_ref().map(|gpu| gpu.compute_capability)
    }

    /// Multiprocessors of the GPU, where it is known.
    pub fn sms(&self) -> Option<u32> {
        self.run.manifest.fingerprint.gpu.as_ref().map(|gpu| gpu.sms)
    }

    /// Decodes the reports that are not decoded yet.
    fn decode(&mut self) -> Result<(), JudgeError> {
        let named = self.run.reports();
        if self.paths.iter().any(|path| !named.contains(path)) {
            // a report that no record names any more has nothing to say
            (self.paths, self.reports, self.frames) = (Vec::new(), Vec::new(), None);
        }
        let paths: Vec<PathBuf> = named.into_iter().filter(|path| !self.paths.contains(path)).collect();
        if self.frames.is_some() && paths.is_empty() {
            return Ok(());
        }
        let reports = open_reports(&paths)?;
        let captures: Vec<Capture<'_>> =
            reports.iter().map(|(name, report)| Capture { name, origin: Origin::Report(report) }).collect();
        let mut named = self.metrics.clone();
        named.extend(required_metrics::witness_metrics(self.phase));
        let names = required_metrics::read(&named, self.capability());
        let frames = LaunchFrames::read(&captures, MetricSelection::Named(&names))?;
        match &mut self.frames {
            Some(known) => known.append(&frames)?,
            None => self.frames = Some(frames),
        }
        self.reports.extend(reports);
        self.paths.extend(paths);
        Ok(())
    }

    /// Makes the table and the proofs out of the records and the decoded reports.
    fn tabulate(&mut self) -> Result<(), JudgeError> {
        let (phase, plan, run) = (self.phase, self.plan, self.run.as_ref());
        let profiled =
            ProfiledCases::of(run.profiles.iter().map(|record| (&record.variant, &record.shape, &record.outcome)));
        let ownership = match self.evidence {
            Evidence::Measured => Ownership::Recorded(&profiled),
            Evidence::Unproven | Evidence::Counters | Evidence::AssumedCorrect => {
                Ownership::Captured(&phase.objective.shape)
            }
        };
        let counted = match &self.frames {
            Some(frames) => counted(frames, run, plan, ownership)?,
            None => ProfileCounters::default(),
        };
        let (capability, sms) = (self.capability(), self.sms());
        let measured = TableInputs { phase, plan, run, counted: &counted, capability, sms };
        self.quantities = quantities(&measured, &self.metrics);
        if self.evidence != Evidence::Measured {
            // What this program did not measure has no seal: it is held against itself.
            for (variant, reason) in contradictions(plan, &self.reports)? {
                self.quantities.withhold(&variant, &reason);
            }
        }
        self.witness = self.held_against_counters(&measured)?;
        self.correctness = match self.evidence {
            Evidence::Measured => {
                let proofs = correctness(phase, plan, &run.checks, &run.builds);
                let timed = run.latencies.iter().chain(run.confirmations.iter().map(|record| &record.timed));
                let mut proofs = name_profiled_cheats(name_cheats(proofs, timed, &run.builds), run);
                self.witness.name_cheats(&mut proofs);
                proofs
            }
            Evidence::Unproven => unchecked(
                plan,
                &Correctness::Unproven {
                    reason:
                        "an ncu report does not say whether the result was correct; --assume-correct judges it all the same"
                            .to_owned(),
                },
            ),
            Evidence::Counters => {
                let reason = "not checked: counters of another program's launches are judged, not their results";
                unchecked(plan, &Correctness::Unchecked { reason: reason.to_owned() })
            }
            Evidence::AssumedCorrect => {
                let reason = "not checked: assumed to be correct (--assume-correct)";
                unchecked(plan, &Correctness::Unchecked { reason: reason.to_owned() })
            }
        };
        Ok(())
    }
}

impl Measurements<'_> {
    /// Holds every latency against the counters.
    fn held_against_counters(&self, measured: &TableInputs<'_>) -> Result<Witness, JudgeError> {
        let traced = traced_cases(&self.run.profiles);
        let chip = match traced.first().filter(|_| self.reports.is_empty()) {
            Some(case) => ChipFacts::of_traced(&case.trace.chip, measured.capability),
            None => ChipFacts::read(&self.reports, measured.capability)?,
        };
        let counters = quantities(measured, &required_metrics::witness_metrics(self.phase));
        Ok(Witness::compare(&WitnessInput {
            phase: self.phase,
            plan: self.plan,
            run: &self.run,
            latencies: &self.quantities,
            counters: &counters,
            chip: &chip,
            traced: &traced.iter().map(|case| (case.variant.clone(), case.shape.clone())).collect(),
        }))
    }
}

/// Counters out of the frames of reports, and what CUPTI traced where there are none.
fn counted(
    frames: &LaunchFrames,
    run: &Run,
    plan: &Plan,
    ownership: Ownership<'_>,
) -> Result<ProfileCounters, FrameError> {
    if !super::traced_values::is_traced(run) {
        return Ok(ProfileCounters::of_frames(frames, plan, ownership)?);
    }
    let mut all = frames.clone();
    all.append(&LaunchFrames::of_traces(&run.profiles)?)?;
    Ok(ProfileCounters::of_frames(&all, plan, ownership)?)
}

/// One answer for launches whose results were not checked.
fn unchecked(plan: &Plan, answer: &Correctness) -> BTreeMap<VariantId, Correctness> {
    plan.variants.iter().map(|variant| (variant.id.clone(), answer.clone())).collect()
}

/// Whether two states of a run hold the same of everything that verdicts rest on. Counters of deep profiles, warnings and times of stages
/// are not among it.
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
