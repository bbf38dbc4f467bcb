//! A run and the phase that judges it.

use super::JudgeError;
use crate::store::{self, Run};
use ncugate_phase::config::{self, Phase, Project};
use ncugate_phase::plan::{Plan, unroll};
use std::path::Path;
use std::sync::Arc;

/// The program that made a run's ncu reports, and the evidence for the results of its launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// ncugate: NVTX ranges assign each launch to a case, and checks compare the results.
    Measured,
    /// Another program, which did not compare the results: gates are inconclusive.
    Unproven,
    /// Another program; only its counters are judged.
    Counters,
    /// Another program; the user asserts that the results are correct.
    AssumedCorrect,
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
        let phase = config::parse_in(&run.folder.join("phase.toml"), &run.phase, run.manifest.project.as_deref())?;
        // Paths in the phase are relative to the project that contains the run.
        let folder = run.folder.canonicalize().unwrap_or_default();
        let root = Project::of(&folder.join("phase.toml")).map(|project| project.root).unwrap_or_default();
        let phase = Phase { root, ..phase };
        let plan = unroll(&phase)?;
        let (phase, plan) = match &run.manifest.narrowed {
            Some(part) => part.of(&phase, &plan)?,
            None => (phase, plan),
        };
        Ok(Self { phase, plan, run: Arc::new(run), evidence: Evidence::Measured })
    }

    /// Loads a stored run or a recording, judged by the current phase; `counters` are the ncu names that it must
    /// contain.
    ///
    /// # Errors
    /// The folder is not a run, or [`JudgeError::Recording`] if its measurements do not match the phase.
    pub fn of_phase(
        phase: Phase,
        plan: Plan,
        folder: &Path,
        counters: impl FnOnce(&Run) -> Vec<String>,
    ) -> Result<Self, JudgeError> {
        let run = Run::load(folder)?;
        let (phase, plan) = searched(phase, plan, &run)?;
        let (phase, plan) = based(phase, plan, &run)?;
        let mut lacks = store::lacks(&run, &phase, &plan, &counters(&run));
        lacks.extend(run.manifest.narrowed.as_ref().map(|part| format!("only a part of the phase ({})", part.words())));
        if !lacks.is_empty() {
            return Err(JudgeError::Recording { folder: folder.to_owned(), lacks });
        }
        Ok(Self { phase, plan, run: Arc::new(run), evidence: Evidence::Measured })
    }
}

/// Restores the candidates that the run's search chose; the phase's own space must contain them.
fn searched(phase: Phase, plan: Plan, run: &Run) -> Result<(Phase, Plan), JudgeError> {
    if phase.search.is_none() || phase.sweep.points.is_some() {
        return Ok((phase, plan));
    }
    let Some(points) =
        config::parse_in(&run.folder.join("phase.toml"), &run.phase, run.manifest.project.as_deref())?.sweep.points
    else {
        let lacks = vec!["no candidates chosen by a search".to_owned()];
        return Err(JudgeError::Recording { folder: run.folder.clone(), lacks });
    };
    let phase = phase.with_points(points);
    let plan = unroll(&phase)?;
    Ok((phase, plan))
}

/// Restores the base of the run: phase files do not contain one.
fn based(phase: Phase, plan: Plan, run: &Run) -> Result<(Phase, Plan), JudgeError> {
    // Most runs have no base, so their text is not parsed a second time.
    if phase.base.is_some() || !run.phase.contains("\n[base]") {
        return Ok((phase, plan));
    }
    let measured = config::parse_in(&run.folder.join("phase.toml"), &run.phase, run.manifest.project.as_deref())?;
    let phase = Phase { base: measured.base, ..phase };
    let plan = unroll(&phase)?;
    Ok((phase, plan))
}
