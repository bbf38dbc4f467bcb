//! A run and the phase that judges it.

use super::JudgeError;
use crate::frame::required_metrics;
use crate::reference_runs::Conditions;
use crate::store::{self, PhaseFile, Run};
use jiff::civil::Date;
use ncugate_phase::config::{Phase, Project};
use ncugate_phase::plan::{Plan, unroll};
use std::path::Path;
use std::sync::Arc;

/// The program that made a run's ncu reports, and the evidence for the results of its launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// ncugate: NVTX ranges assign each launch to a case, and checks compare the results.
    Measured,
    /// Another program, which did not compare the results: gates are inconclusive.
    Unproven(DurationPolicy),
    /// Another program; only its counters are judged.
    Counters(DurationPolicy),
    /// Another program; the user asserts that the results are correct.
    AssumedCorrect(DurationPolicy),
}

/// Whether durations in reports of another program need a second clock, because nothing else shows that they were
/// edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurationPolicy {
    /// Cycles and their frequency have to confirm them.
    Confirmed,
    /// The user asserts that the reports are unedited.
    AssumedUnedited,
}

impl Evidence {
    /// Whether durations need a second clock; `None` for a run of ncugate, whose files are sealed.
    pub fn durations(self) -> Option<DurationPolicy> {
        match self {
            Self::Measured => None,
            Self::Unproven(durations) | Self::Counters(durations) | Self::AssumedCorrect(durations) => Some(durations),
        }
    }
}

#[derive(Debug)]
pub struct PhaseRun {
    /// The phase, with its current gates.
    pub phase: Phase,
    pub plan: Plan,
    pub run: Arc<Run>,
    /// The evidence for its results.
    pub evidence: Evidence,
}

impl PhaseRun {
    /// Machine, tools, problem and timing settings of the run.
    pub fn conditions(&self) -> Conditions {
        Conditions::of_run(&self.run, &self.phase.bench)
    }

    /// Loads a stored run or a recording, with the phase it was run with.
    ///
    /// # Errors
    /// The folder is not a run, or its phase cannot be read.
    pub fn load(folder: &Path) -> Result<Self, JudgeError> {
        Self::of_run(Run::load(folder)?)
    }

    /// A loaded run, with the phase it was run with.
    ///
    /// # Errors
    /// Its phase cannot be read.
    pub fn of_run(run: Run) -> Result<Self, JudgeError> {
        let phase = run.measured_phase()?;
        // Paths in the phase are relative to the project that contains the run.
        let folder = run.folder.canonicalize().unwrap_or_default();
        let root = Project::of(&folder.join("phase.toml")).map(|project| project.root).unwrap_or_default();
        let phase = Phase { root, ..phase }.on_gpu(run.sms());
        let plan = unroll(&phase)?;
        let (phase, plan) = match &run.manifest.narrowed {
            Some(part) => part.of(&phase, &plan)?,
            None => (phase, plan),
        };
        Ok(Self { phase, plan, run: Arc::new(run), evidence: Evidence::Measured })
    }

    /// Loads a stored run or a recording with the limits of today: a recording that a phase file of its project names
    /// has those of that file, as with `run --source recorded`; any other run has those that it was measured with.
    /// Returns a note if the file does not fit the recording.
    ///
    /// # Errors
    /// The folder is not a run, or its phase cannot be read.
    pub fn of_today(folder: &Path, today: Date) -> Result<(Self, Option<String>), JudgeError> {
        let run = Run::load(folder)?;
        let file = PhaseFile::of(folder, &run.manifest, today).filter(|file| file.text != run.phase);
        let Some(file) = file else { return Ok((Self::of_run(run)?, None)) };
        let PhaseFile { file, phase, .. } = file;
        let current = phase.map_err(JudgeError::from).and_then(|phase| {
            let metrics = required_metrics::metrics(&phase);
            Self::of_phase(phase, folder, |run| {
                let gpu = run.manifest.fingerprint.gpu.as_ref();
                required_metrics::counters(&metrics, gpu.map(|gpu| gpu.compute_capability))
            })
        });
        match current {
            Ok(current) => Ok((current, None)),
            Err(error) => {
                let (run, name) = (Self::of_run(run)?, file.display());
                let note =
                    format!("judged by the limits that it was measured with, because {name} does not fit it: {error}");
                Ok((run, Some(note)))
            }
        }
    }

    /// Loads a stored run or a recording, judged by the current phase; `counters` are the ncu names that it must
    /// contain.
    ///
    /// # Errors
    /// The folder is not a run, or [`JudgeError::Recording`] if its measurements do not match the phase.
    pub fn of_phase(
        phase: Phase,
        folder: &Path,
        counters: impl FnOnce(&Run) -> Vec<String>,
    ) -> Result<Self, JudgeError> {
        let run = Run::load(folder)?;
        let phase = based(searched(phase.on_gpu(run.sms()), &run)?, &run)?;
        let plan = unroll(&phase)?;
        let mut lacks = store::lacks(&run, &phase, &plan, &counters(&run));
        lacks.extend(run.manifest.narrowed.as_ref().map(|part| format!("only a part of the phase ({})", part.words())));
        if !lacks.is_empty() {
            return Err(JudgeError::Recording { folder: folder.to_owned(), lacks });
        }
        Ok(Self { phase, plan, run: Arc::new(run), evidence: Evidence::Measured })
    }
}

/// Restores the candidates that the run's search chose; the phase's own space must contain them.
fn searched(phase: Phase, run: &Run) -> Result<Phase, JudgeError> {
    if phase.search.is_none() || phase.sweep.points.is_some() {
        return Ok(phase);
    }
    let Some(points) = run.measured_phase()?.sweep.points else {
        let lacks = vec!["no candidates chosen by a search".to_owned()];
        return Err(JudgeError::Recording { folder: run.folder.clone(), lacks });
    };
    Ok(phase.with_points(points))
}

/// Restores the base of the run: phase files do not contain one.
fn based(phase: Phase, run: &Run) -> Result<Phase, JudgeError> {
    // Most runs have no base, so their text is not parsed a second time.
    if phase.base.is_some() || !run.phase.contains("\n[base]") {
        return Ok(phase);
    }
    let measured = run.measured_phase()?;
    Ok(Phase { base: measured.base, ..phase })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures::at_root;

    /// The same phase has other launches on a GPU with fewer SMs.
    #[test]
    fn launches_of_a_run_are_those_of_its_gpu() {
        at_root();
        let recorded = Run::load(Path::new("profiles/attention_f16_causal/h200")).unwrap();
        let phase = recorded.phase.replace("min(132,", "min(sms,");
        assert!(phase.contains("min(sms,"));
        let planned = |sms: u32| {
            let mut run = Run { phase: phase.clone(), ..recorded.clone() };
            run.manifest.fingerprint.gpu.iter_mut().for_each(|gpu| gpu.sms = sms);
            PhaseRun::of_run(run).unwrap()
        };
        assert_eq!(planned(132).plan, recorded.plan);
        let smaller = planned(114);
        assert_ne!(smaller.plan, recorded.plan);
        let lacks = store::lacks(&recorded, &smaller.phase, &smaller.plan, &[]);
        assert!(lacks[0].starts_with("another launch, source or flags for variant 'd64'"), "{lacks:?}");
    }
}
