//! A run with the phase it is judged by.

use super::JudgeError;
use crate::store::{self, Run};
use ncugate_phase::config::{self, Phase, Project};
use ncugate_phase::plan::{Plan, unroll};
use std::path::Path;
use std::sync::Arc;

/// Who made the ncu reports of a run, and what is known of the results of its launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// This program: NVTX ranges say whose each launch is, and checks say whether its results are right.
    Measured,
    /// Another program, which did not compare the results: gates are inconclusive.
    Unproven,
    /// Another program, and nothing is asked but what its counters say.
    Counters,
    /// Another program, and the user says that the results are right.
    AssumedCorrect,
}

/// A run with the phase it is judged by.
#[derive(Debug)]
pub struct PhaseRun {
    /// The phase: its gates as they are now.
    pub phase: Phase,
    pub plan: Plan,
    pub run: Arc<Run>,
    /// What is known of its results.
    pub evidence: Evidence,
}

impl PhaseRun {
    /// A stored run or a recording, judged by the phase it was run with.
    ///
    /// # Errors
    /// The folder is not a run, or its phase cannot be read.
    pub fn load(folder: &Path) -> Result<Self, JudgeError> {
        Self::of_run(Run::load(folder)?)
    }

    /// A run that is read already, judged by the phase it was run with.
    ///
    /// # Errors
    /// Its phase cannot be read.
    pub fn of_run(run: Run) -> Result<Self, JudgeError> {
        let phase = config::parse_in(&run.folder.join("phase.toml"), &run.phase, run.manifest.project.as_deref())?;
        // Its paths begin at the project that it lies in.
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

    /// A stored run or a recording, judged by a phase as it is now; `counters` are ncu's names of what it has to hold.
    ///
    /// # Errors
    /// The folder is not a run, or [`JudgeError::Recording`] where it measured something else than the phase asks for.
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
        lacks
            .extend(run.manifest.narrowed.as_ref().map(|part| format!("a part of the phase alone ({})", part.words())));
        if !lacks.is_empty() {
            return Err(JudgeError::Recording { folder: folder.to_owned(), lacks });
        }
        Ok(Self { phase, plan, run: Arc::new(run), evidence: Evidence::Measured })
    }
}

/// The candidates of a phase that is searched are those that the run's search chose; the phase's own space has to hold them.
fn searched(phase: Phase, plan: Plan, run: &Run) -> Result<(Phase, Plan), JudgeError> {
    if phase.search.is_none() || phase.sweep.points.is_some() {
        return Ok((phase, plan));
    }
    let Some(points) =
        config::parse_in(&run.folder.join("phase.toml"), &run.phase, run.manifest.project.as_deref())?.sweep.points
    else {
        let lacks = vec!["no candidates that a search chose".to_owned()];
        return Err(JudgeError::Recording { folder: run.folder.clone(), lacks });
    };
    let phase = phase.with_points(points);
    let plan = unroll(&phase)?;
    Ok((phase, plan))
}

/// The base of a phase is that of the run: no file of a project has one.
fn based(phase: Phase, plan: Plan, run: &Run) -> Result<(Phase, Plan), JudgeError> {
    // Most runs have none, and their text is not read once more.
    if phase.base.is_some() || !run.phase.contains("\n[base]") {
        return Ok((phase, plan));
    }
    let measured = config::parse_in(&run.folder.join("phase.toml"), &run.phase, run.manifest.project.as_deref())?;
    let phase = Phase { base: measured.base, ..phase };
    let plan = unroll(&phase)?;
    Ok((phase, plan))
}
