//! A search on this machine: proposes, builds, verifies and times batches with few samples at the objective's shape
//! until the budget ends. It only decides which variants are measured in full: no verdict uses its timings.

use super::candidates::{PointSource, candidates};
use super::facts::StaticFacts;
use super::proposer::Proposer;
use super::trial::{SearchTrial, ranked};
use crate::{CampaignError, GpuTurn, GpuWait, Progress, Tools, cubins, manifest, reference_cubin};
use ncugate_cuda::build::{Builder, Cache, Deduplication};
use ncugate_cuda::host::{JobPurpose, WorkerEvent, WorkerJob, measure};
use ncugate_judge::store::{SearchJournal, StoreError};
use ncugate_model::digest::sha256;
use ncugate_model::metric::{Catalogue, LatencyForm};
use ncugate_model::process;
use ncugate_model::{
    Better, BuildRecord, LatencyOutcome, ProposedPoint, SearchEnd, SearchRecord, SearchStart, TriedOutcome, TriedPoint,
    VariantId,
};
use ncugate_phase::config::{GatePlan, Phase, SearchSettings, VariantSpec, VariantSpecKind};
use ncugate_phase::plan::{Plan, PlanErrors, Point, Space, sweep_id, unroll};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Why a search ended early. All trials until then are stored.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// Building or timing failed as a whole.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// A proposed variant cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanErrors),
    /// The journal cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The space has no point.
    #[error("`sweep.where` excludes every combination")]
    Empty,
    /// The objective is not a latency.
    #[error(
        "a search minimises a latency, but the objective is `{0}`; set `phase.objective` to a latency, such as \"latency_p50\""
    )]
    Objective(String),
}

/// A search to start or resume.
pub struct Exploration<'a> {
    pub phase: &'a Phase,
    /// Its `[search]`.
    pub settings: &'a SearchSettings,
    pub tools: &'a Tools,
    pub profiles: &'a Path,
    /// How long to wait for a GPU on which another run measures.
    pub patience: GpuWait,
    /// Whether earlier trials are discarded.
    pub anew: bool,
    pub progress: &'a (dyn Progress + Sync),
}

/// The result of a search.
#[derive(Debug, Clone)]
pub struct SearchOutcome {
    /// Parameters of the variants to measure in full, best first.
    pub chosen: Vec<Vec<(String, ncugate_model::expr::Value)>>,
    pub journal: PathBuf,
}

impl Exploration<'_> {
    /// Searches until the budget ends.
    ///
    /// # Errors
    /// No variant can be built or timed, or the user asked to stop; the next run resumes the search.
    pub fn run(&self) -> Result<SearchOutcome, SearchError> {
        let objective = &self.phase.objective;
        let metric = Catalogue::embedded().latency(&objective.metric);
        let is_time = metric.is_some_and(|metric| metric.form == LatencyForm::Time);
        if !is_time || objective.better != Better::Lower {
            return Err(SearchError::Objective(objective.metric.clone()));
        }
        let space = Space::new(&self.phase.sweep, &self.settings.conditional);
        let candidates = candidates(&space);
        let first = candidates.in_order(&std::collections::HashSet::new(), 1);
        let first = first.first().ok_or(SearchError::Empty)?;
        let key = self.key(&space.params(first))?;
        let mut journal = SearchJournal::open(self.profiles, &self.phase.name, &key)?;
        if self.anew {
            journal.clear()?;
        } else if let Some(why) = journal.refused() {
            self.progress
                .say(&format!("starting a new search; cannot continue from {}: {why}", journal.path().display()));
        }
        let mut search = ActiveSearch {
            of: self,
            space: &space,
            candidates: &*candidates,
            first: self.first(&space),
            spent: seconds(journal.records()),
            turn: GpuTurn::new(&self.tools.device, self.patience, self.progress),
            journal,
            started: Instant::now(),
        };
        search.began(key)?;
        search.batches()?;
        let chosen = search.finalists().iter().map(|point| space.params(point)).collect();
        Ok(SearchOutcome { chosen, journal: search.journal.path() })
    }

    /// Variants and baselines of the phase that are in the space: points known to be promising are tried first.
    fn first(&self, space: &Space) -> Vec<Point> {
        let own = |spec: &&VariantSpec| match &spec.kind {
            VariantSpecKind::Kernel(kernel) => self.phase.kernel.as_ref() == Some(&**kernel),
            VariantSpecKind::Function(_) | VariantSpecKind::Command(_) | VariantSpecKind::Captured(_) => false,
        };
        let named = self.phase.variants.iter().chain(&self.phase.baselines).filter(own);
        named.filter_map(|spec| space.point(&spec.params)).filter(|point| space.contains(point)).collect()
    }

    /// Key of the search's inputs: resuming after a change would mix times of different things.
    fn key(&self, params: &[(String, ncugate_model::expr::Value)]) -> Result<String, SearchError> {
        let phase = self.trying(vec![params.to_vec()]);
        let plan = unroll(&phase)?;
        let made = manifest(&phase, &plan, self.tools.fingerprint());
        let parts = serde_json::json!({
            "ncugate": made.ncugate,
            "text": self.phase.text,
            "fingerprint": made.fingerprint,
            "inputs": made.inputs,
        });
        Ok(sha256(parts.to_string().as_bytes()))
    }

    /// The phase for trying a batch: these points, the objective's shape, few samples, no gates.
    fn trying(&self, points: Vec<Vec<(String, ncugate_model::expr::Value)>>) -> Phase {
        let mut phase = self.phase.clone().with_points(points);
        let shape = phase.objective.shape.clone();
        phase.workload.shapes.retain(|other| other.name == shape);
        phase.bench.shapes = vec![shape];
        phase.bench.rounds = self.settings.rounds;
        phase.gates.clear();
        phase.gate_plan = GatePlan::default();
        phase.variants.clear();
        phase.baselines.clear();
        phase
    }
}

/// Wall-clock seconds recorded in a journal.
fn seconds(records: &[SearchRecord]) -> f64 {
    let of = |record: &SearchRecord| match record {
        SearchRecord::Began(_) => 0.0,
        SearchRecord::Proposed { seconds, .. } => *seconds,
        SearchRecord::Tried(tried) => tried.seconds,
        SearchRecord::Ended(ended) => ended.seconds,
    };
    records.iter().map(of).fold(0.0, f64::max)
}

/// A search in progress.
struct ActiveSearch<'a> {
    of: &'a Exploration<'a>,
    space: &'a Space,
    candidates: &'a dyn PointSource,
    first: Vec<Point>,
    journal: SearchJournal,
    turn: GpuTurn<'a>,
    /// Wall-clock seconds before this process.
    spent: f64,
    started: Instant,
}

impl ActiveSearch<'_> {
    fn seconds(&self) -> f64 {
        self.spent + self.started.elapsed().as_secs_f64()
    }

    fn began(&mut self, key: String) -> Result<(), SearchError> {
        let settings = self.of.settings;
        if !self.journal.records().is_empty() {
            let tried = self.tried().len();
            self.of.progress.say(&format!("continuing a search after {tried} variants"));
            return Ok(());
        }
        let strategy = serde_json::to_value(settings.strategy).ok();
        Ok(self.journal.append(SearchRecord::Began(SearchStart {
            key,
            axes: self.space.axes().iter().map(|(name, _)| name.clone()).collect(),
            combinations: self.space.combinations().and_then(|n| u64::try_from(n).ok()),
            strategy: strategy.and_then(|name| Some(name.as_str()?.to_owned())).unwrap_or_default(),
            seed: settings.seed,
            rounds: settings.rounds,
        }))?)
    }

    /// Runs batch after batch. An interrupted batch is finished first, so that the next proposals come from the same
    /// trials.
    fn batches(&mut self) -> Result<(), SearchError> {
        while !self.journal.records().iter().any(|record| matches!(record, SearchRecord::Ended(_))) {
            if process::interrupted() {
                return Err(CampaignError::Interrupted.into());
            }
            let open = self.open();
            if !open.is_empty() {
                self.try_batch(&open)?;
                continue;
            }
            match self.over() {
                Some(why) => self.end(why)?,
                None => self.propose()?,
            }
        }
        Ok(())
    }

    /// The proposed points without an outcome.
    fn open(&self) -> Vec<(u32, ProposedPoint)> {
        let tried = self.tried();
        let proposed = self.journal.records().iter().filter_map(|record| match record {
            SearchRecord::Proposed { batch, points, .. } => {
                Some(points.iter().map(move |point| (*batch, point.clone())))
            }
            SearchRecord::Began(_) | SearchRecord::Tried(_) | SearchRecord::Ended(_) => None,
        });
        proposed.flatten().filter(|(_, point)| !tried.contains_key(&point.variant)).collect()
    }

    fn tried(&self) -> BTreeMap<&VariantId, &TriedPoint> {
        let tried = self.journal.records().iter().filter_map(|record| match record {
            SearchRecord::Tried(tried) => Some((&tried.variant, tried)),
            SearchRecord::Began(_) | SearchRecord::Proposed { .. } | SearchRecord::Ended(_) => None,
        });
        tried.collect()
    }

    /// Trials in proposal order: completion order must not affect the next proposals.
    fn trials(&self) -> Vec<(VariantId, SearchTrial)> {
        let tried = self.tried();
        let proposed = self.journal.records().iter().filter_map(|record| match record {
            SearchRecord::Proposed { points, .. } => Some(points),
            SearchRecord::Began(_) | SearchRecord::Tried(_) | SearchRecord::Ended(_) => None,
        });
        let trial = |point: &ProposedPoint| {
            let tried = tried.get(&point.variant)?;
            let cost = match tried.outcome {
                TriedOutcome::Timed { us } => Some(us),
                TriedOutcome::Failed { .. } => None,
            };
            let code = tried.code.clone();
            Some((point.variant.clone(), SearchTrial { point: Point(point.point.clone()), cost, code }))
        };
        proposed.flatten().filter_map(trial).collect()
    }

    /// Why the budget is spent, if it is.
    fn over(&self) -> Option<String> {
        let (budget, tried) = (&self.of.settings.budget, self.tried());
        let timed = tried.values().filter(|tried| matches!(tried.outcome, TriedOutcome::Timed { .. })).count();
        let reached = |limit: Option<u32>, count: usize| limit.filter(|limit| count >= *limit as usize);
        let time = budget.time.filter(|time| self.seconds() >= time.as_secs_f64());
        reached(budget.builds, tried.len())
            .map(|limit| format!("{limit} variants were built"))
            .or_else(|| reached(budget.measured, timed).map(|limit| format!("{limit} variants were timed")))
            .or_else(|| time.map(|time| format!("{} s were spent", time.as_secs())))
            .or_else(|| common_failure(tried.values().copied(), 2 * self.of.settings.batch as usize))
    }

    fn propose(&mut self) -> Result<(), SearchError> {
        let trials: Vec<SearchTrial> = self.trials().into_iter().map(|(_, trial)| trial).collect();
        let settings = self.of.settings;
        let left = settings.budget.builds.map_or(usize::MAX, |builds| (builds as usize).saturating_sub(trials.len()));
        let SearchSettings { strategy, seed, .. } = *settings;
        let proposer = Proposer { candidates: self.candidates, first: &self.first, strategy, seed };
        let points = proposer.propose(&trials, (settings.batch as usize).min(left));
        if points.is_empty() {
            return self.end("the whole space was tried".to_owned());
        }
        let points = points
            .into_iter()
            .map(|point| ProposedPoint { variant: sweep_id(&self.space.params(&point)), point: point.0 });
        let points = points.collect();
        let batches = self.journal.records().iter().filter(|record| matches!(record, SearchRecord::Proposed { .. }));
        let batch = u32::try_from(batches.count()).unwrap_or(u32::MAX);
        Ok(self.journal.append(SearchRecord::Proposed { batch, points, seconds: self.seconds() })?)
    }

    fn try_batch(&mut self, open: &[(u32, ProposedPoint)]) -> Result<(), SearchError> {
        let points = open.iter().map(|(_, point)| self.space.params(&Point(point.point.clone()))).collect();
        let phase = self.of.trying(points);
        let plan = unroll(&phase)?;
        let candidates = Plan { variants: plan.candidates().cloned().collect() };
        let builds = self.build(&phase, &candidates)?;
        let facts = StaticFacts::new(&phase, &candidates, &builds, self.of.tools);
        let batches: BTreeMap<&VariantId, u32> = open.iter().map(|(batch, point)| (&point.variant, *batch)).collect();
        let mut kept = Vec::new();
        for build in &builds {
            let refused = facts.refused(build, &self.of.settings.require, &candidates);
            let known = refused.map_or_else(
                || self.timed_before(facts.code(&build.variant)),
                |reason| Some(TriedOutcome::Failed { reason }),
            );
            match known {
                Some(outcome) => self.keep(&batches, &facts, &build.variant, outcome)?,
                None => kept.push(build.clone()),
            }
        }
        self.time(&phase, &plan, &kept, &batches, &facts)?;
        // Without an outcome a point would be retried forever.
        for (_, point) in open {
            if !self.tried().contains_key(&point.variant) {
                let reason = "was not measured".to_owned();
                self.keep(&batches, &facts, &point.variant, TriedOutcome::Failed { reason })?;
            }
        }
        self.say();
        Ok(())
    }

    /// The outcome of an earlier variant with the same machine code. Timing it again would be a second draw of the
    /// same thing, and the luckiest of many draws would lead.
    fn timed_before(&self, code: Option<&String>) -> Option<TriedOutcome> {
        let code = code?;
        let tried = self.tried();
        let mut same = tried.values().filter(|tried| tried.code.as_ref() == Some(code));
        same.find(|tried| matches!(tried.outcome, TriedOutcome::Timed { .. })).map(|tried| tried.outcome.clone())
    }

    fn build(&self, phase: &Phase, plan: &Plan) -> Result<Vec<BuildRecord>, SearchError> {
        self.of.progress.stage("search: build", plan.variants.len());
        let tools = self.of.tools;
        let (arch, cache) =
            (tools.arch(phase)?, Cache::of_user(phase.build.cache.as_deref()).map_err(CampaignError::from)?);
        let builder = Builder::new(&tools.nvcc, &arch, &cache, Deduplication::Share);
        let builder = builder.with_python_of(phase).map_err(CampaignError::from)?;
        let mut sink = |record: &BuildRecord| {
            self.of.progress.step(&record.variant.0);
            Ok(())
        };
        Ok(builder.build(plan, &|_| {}, &mut sink).map_err(CampaignError::from)?)
    }

    /// Verifies and times the built variants, and stores each outcome as it arrives.
    fn time(
        &mut self,
        phase: &Phase,
        plan: &Plan,
        builds: &[BuildRecord],
        batches: &BTreeMap<&VariantId, u32>,
        facts: &StaticFacts,
    ) -> Result<(), SearchError> {
        // Of variants with equal machine code, the first that may be launched is timed for all.
        let kept: Vec<&VariantId> = builds.iter().map(|build| &build.variant).collect();
        let of = |build: &BuildRecord| build.shares.clone().filter(|first| kept.contains(&first));
        let mut files = cubins(plan, builds, |build| of(build).is_none());
        if files.is_empty() {
            return Ok(());
        }
        self.of.progress.stage("search: prove and time", files.len() * (phase.workload.seeds.len() + 1));
        files.extend(reference_cubin(phase, plan, self.of.tools)?.cubin);
        self.turn.take()?;
        let job = WorkerJob::new(phase, plan, &files, JobPurpose::Bench).map_err(CampaignError::from)?;
        let logs = self.journal.path().with_file_name("logs");
        let failed = |source| CampaignError::Io { what: "create a folder for the logs of a search", source };
        std::fs::create_dir_all(&logs).map_err(failed)?;
        let (worker, timeout) = (&self.of.tools.worker, phase.bench.timeout);
        let mut outcomes: Vec<(VariantId, TriedOutcome)> = Vec::new();
        let finish = measure(job, worker, None, timeout, &logs, &mut |event| {
            match event {
                WorkerEvent::Checked(record) => self.of.progress.step(&record.variant.0),
                WorkerEvent::Timed(record) => {
                    self.of.progress.step(&record.variant.0);
                    let outcome = outcome(phase, &record.outcome);
                    self.keep(batches, facts, &record.variant, outcome.clone())?;
                    outcomes.push((record.variant, outcome));
                }
                _ => {}
            }
            Ok(())
        })
        .map_err(CampaignError::from)?;
        CampaignError::unless_complete(finish)?;
        for build in builds {
            let Some(first) = of(build) else { continue };
            let shared = outcomes.iter().find(|(variant, _)| *variant == first).map(|(_, outcome)| outcome.clone());
            if let Some(outcome) = shared {
                self.keep(batches, facts, &build.variant, outcome)?;
            }
        }
        Ok(())
    }

    fn keep(
        &mut self,
        batches: &BTreeMap<&VariantId, u32>,
        facts: &StaticFacts,
        variant: &VariantId,
        outcome: TriedOutcome,
    ) -> Result<(), StoreError> {
        let Some(batch) = batches.get(variant).copied() else { return Ok(()) };
        let (code, facts, seconds) = (facts.code(variant).cloned(), facts.of(variant), self.seconds());
        let variant = variant.clone();
        self.journal.append(SearchRecord::Tried(TriedPoint { batch, variant, outcome, code, facts, seconds }))
    }

    /// Reports the progress of the search.
    fn say(&self) {
        let trials = self.trials();
        let timed: Vec<(f64, &VariantId)> =
            trials.iter().filter_map(|(variant, trial)| Some((trial.cost?, variant))).collect();
        let best = timed.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let best = best
            .map_or_else(|| "no correct variant yet".to_owned(), |(us, id)| format!("the best is {us:.2} us, {id}"));
        let (tried, failed) = (trials.len(), trials.len() - timed.len());
        self.of.progress.say(&format!("search: {tried} tried, {failed} failed, {:.0} s; {best}", self.seconds()));
    }

    fn end(&mut self, why: String) -> Result<(), SearchError> {
        self.of.progress.say(&format!("the search ends: {why}"));
        let trials = self.trials();
        let only: Vec<SearchTrial> = trials.iter().map(|(_, trial)| trial.clone()).collect();
        // Failed points are measured only if there are no others, so that the run reports why.
        let mut best = ranked(&only);
        best.extend(only.first().filter(|_| best.is_empty()));
        best.truncate(self.of.settings.finalists as usize);
        let ended = SearchEnd {
            why,
            finalists: best.iter().map(|trial| sweep_id(&self.space.params(&trial.point))).collect(),
            points: best.iter().map(|trial| trial.point.0.clone()).collect(),
            seconds: self.seconds(),
        };
        Ok(self.journal.append(SearchRecord::Ended(ended))?)
    }

    fn finalists(&self) -> Vec<Point> {
        let ended = self.journal.records().iter().rev().find_map(|record| match record {
            SearchRecord::Ended(ended) => Some(&ended.points),
            SearchRecord::Began(_) | SearchRecord::Proposed { .. } | SearchRecord::Tried(_) => None,
        });
        ended.into_iter().flatten().map(|point| Point(point.clone())).collect()
    }
}

/// The objective over the samples of a variant, or why it has no samples.
fn outcome(phase: &Phase, latency: &LatencyOutcome) -> TriedOutcome {
    let metric = Catalogue::embedded().latency(&phase.objective.metric);
    let us = latency.samples().map(|samples| metric.and_then(|metric| metric.statistic.of(samples).ok()));
    match us {
        Ok(Some(us)) if us.is_finite() && us > 0.0 => TriedOutcome::Timed { us },
        Ok(_) => TriedOutcome::Failed { reason: "its samples are not latencies".to_owned() },
        Err(reason) => TriedOutcome::Failed { reason },
    }
}

/// Why a search is pointless: at least the given number of variants were tried, and none builds, all for the same
/// reason, which is not specific to a variant.
fn common_failure<'a>(tried: impl Iterator<Item = &'a TriedPoint>, least: usize) -> Option<String> {
    let reason = |tried: &'a TriedPoint| match &tried.outcome {
        // A variant with a register count was built; a refusal after that is specific to the variant.
        TriedOutcome::Failed { reason } if !tried.facts.contains_key("registers") => Some(reason),
        TriedOutcome::Failed { .. } | TriedOutcome::Timed { .. } => None,
    };
    let reasons = tried.map(reason).collect::<Option<Vec<_>>>()?;
    let first = reasons.first()?;
    (reasons.len() >= least && reasons.iter().all(|reason| reason == first))
        .then(|| format!("all {} tried variants fail for the same reason: {first}", reasons.len()))
}
