//! Finds the commit from which on the kernels of a phase no longer hold a requirement against a good commit. git
//! chooses the commits; each is checked out in a separate folder, built, and measured next to the kernels of the good
//! commit in the same rounds. A commit without a proven measurement is skipped and never counts as good.

use super::base::{self, BaseCheckout, BaseError};
use super::git::git;
use super::live_run::{LiveError, LiveRun, MeasuredRun, ResumePolicy};
use super::static_check::build_for;
use super::{CampaignError, DeepChoice, GpuWait, Progress, Tools};
use jiff::civil::Date;
use ncugate_cuda::build::{Deduplication, IncludeScope, code_hash};
use ncugate_cuda::host::dismiss_references;
use ncugate_judge::reference_runs::{MismatchPolicy, ReferenceRequest, ReferenceRuns};
use ncugate_judge::store::{Run, inputs, runs_of_phase};
use ncugate_judge::{Evidence, JudgedRun, Judgement, PhaseRun, base_of};
use ncugate_model::{BuildOutcome, BuildRecord, NullTest, ShapeName, VariantId, Verdict, process};
use ncugate_phase::config::{self, Base, Phase};
use ncugate_phase::plan::{Plan, is_of_base, unroll};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::{Table, Value};

/// Slowdown of the bad end that is bisected if no requirement is given.
const SLOWER: f64 = 1.02;
/// Factor by which a step may take more rounds than a run of the phase.
const PATIENCE: u32 = 4;

/// Why commits cannot be bisected.
#[derive(Debug, thiserror::Error)]
pub enum BisectError {
    #[error("unknown commit {reference}; hint: run `git fetch`")]
    NoCommit {
        /// The reference as given.
        reference: String,
    },
    #[error("{good} is not an ancestor of {bad}; hint: bisect from their merge base {merge_base}, if it is good")]
    NotAncestor { good: String, bad: String, merge_base: String },
    #[error("git cannot list the commits: {why}")]
    Git { why: String },
    #[error("{0}")]
    Phase(String),
    #[error(transparent)]
    Base(#[from] BaseError),
    #[error(transparent)]
    Live(#[from] LiveError),
    #[error("cannot change to {}: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
}

/// The verdict on a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepVerdict {
    Good,
    Bad,
    /// Not built, not proven correct, or not decided.
    Skipped,
}

impl StepVerdict {
    /// The word, as `git bisect` has it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Skipped => "skip",
        }
    }
}

/// Which parents of a merge are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentChoice {
    All,
    First,
}

/// The next commit of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Midpoint {
    /// The commit to test, and the number of commits that may be the first bad one.
    Commit { commit: String, left: usize },
    /// Nothing is left to test: these may be the first bad commit, and all but the last are skipped.
    Found { candidates: Vec<String> },
}

/// Commits between good ones and a bad one.
#[derive(Debug, Clone)]
pub struct CommitRange {
    good: Vec<String>,
    bad: String,
    skipped: BTreeSet<String>,
    parents: ParentChoice,
}

impl CommitRange {
    /// The range between two references.
    ///
    /// # Errors
    /// A commit is unknown, or the good one is not an ancestor of the bad one.
    pub fn between(good: &str, bad: &str, parents: ParentChoice) -> Result<Self, BisectError> {
        git(&["rev-parse", "--git-dir"]).map_err(|why| BaseError::NoRepository { why })?;
        let (good_commit, bad_commit) = (commit_of(good)?, commit_of(bad)?);
        if git(&["merge-base", "--is-ancestor", &good_commit, &bad_commit]).is_err() || good_commit == bad_commit {
            let merge_base = git(&["merge-base", &good_commit, &bad_commit]).map_or("(none)".to_owned(), short);
            return Err(BisectError::NotAncestor { good: good.to_owned(), bad: bad.to_owned(), merge_base });
        }
        Ok(Self { good: vec![good_commit], bad: bad_commit, skipped: BTreeSet::new(), parents })
    }

    /// The good end.
    pub fn good(&self) -> &str {
        self.good.first().map_or("", String::as_str)
    }

    /// The earliest commit known to be bad.
    pub fn bad(&self) -> &str {
        &self.bad
    }

    pub fn mark(&mut self, commit: &str, verdict: StepVerdict) {
        match verdict {
            StepVerdict::Good => self.good.push(commit.to_owned()),
            StepVerdict::Bad => commit.clone_into(&mut self.bad),
            StepVerdict::Skipped => drop(self.skipped.insert(commit.to_owned())),
        }
    }

    /// The commit that halves the range best and is not skipped, by `git rev-list --bisect-all`.
    ///
    /// # Errors
    /// git fails.
    pub fn midpoint(&self) -> Result<Midpoint, BisectError> {
        let mut args = vec!["rev-list", "--bisect-all"];
        args.extend((self.parents == ParentChoice::First).then_some("--first-parent"));
        args.extend([&self.bad, "--not"]);
        args.extend(self.good.iter().map(String::as_str));
        let listed = git(&args).map_err(|why| BisectError::Git { why })?;
        let all: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
        let next = all.iter().find(|commit| **commit != self.bad && !self.skipped.contains(**commit));
        Ok(match next {
            Some(commit) => Midpoint::Commit { commit: (*commit).to_owned(), left: all.len() },
            None => {
                let others = all.iter().filter(|commit| **commit != self.bad);
                Midpoint::Found { candidates: others.copied().chain([self.bad()]).map(str::to_owned).collect() }
            }
        })
    }
}

/// The hash of a commit.
fn commit_of(reference: &str) -> Result<String, BisectError> {
    git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{reference}^{{commit}}")])
        .map_err(|_| BisectError::NoCommit { reference: reference.to_owned() })
}

/// The first parent of a commit.
///
/// # Errors
/// It is a root.
pub fn parent_of(commit: &str) -> Result<String, BisectError> {
    commit_of(&format!("{commit}^1"))
}

/// The author, the date and the subject of a commit.
pub fn commit_title(commit: &str) -> String {
    // `show` and `log` verify signatures, by a program that a setting names.
    let listed = git(&["rev-list", "--max-count=1", "--format=%s (%an, %as)", commit]);
    listed.ok().and_then(|listed| Some(listed.lines().nth(1)?.to_owned())).unwrap_or_default()
}

fn short(commit: String) -> String {
    commit.get(..12).map_or(commit.clone(), str::to_owned)
}

/// What a good commit holds against the good end.
#[derive(Debug, Clone, PartialEq)]
struct StepGate {
    require: String,
    shapes: Vec<ShapeName>,
}

impl StepGate {
    fn table(&self) -> Value {
        let shapes = self.shapes.iter().map(|shape| shape.0.to_string().into()).collect();
        let keys = [
            ("name", Value::from("as the good end")),
            ("require", self.require.clone().into()),
            ("shapes", Value::Array(shapes)),
        ];
        Value::Table(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}

/// A tested commit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BisectStep {
    pub commit: String,
    pub title: String,
    pub verdict: StepVerdict,
    pub reason: String,
    /// The folder of its run; `None` if nothing was measured.
    pub run: Option<PathBuf>,
}

/// Machine code with a known verdict.
struct KnownCode {
    hashes: Vec<String>,
    /// Hashes of the other files that the phase names: data and references of the commit.
    files: BTreeMap<String, String>,
    verdict: StepVerdict,
    commit: String,
}

/// Tests commits of a phase, one after the other.
pub struct Bisection<'a> {
    of: BisectSettings<'a>,
    /// The phase's file relative to its project.
    file: PathBuf,
    gates: Vec<StepGate>,
    /// Whether the first measured slowdown sets the requirement.
    is_halved: bool,
    /// Whether a step was tested.
    is_begun: bool,
    known: Vec<KnownCode>,
    /// The variant of the good end that commits were last compared with.
    rival: Option<VariantId>,
}

/// The parts of a bisection that do not change.
pub struct BisectSettings<'a> {
    pub phase: &'a Phase,
    /// The phase's file.
    pub config: &'a Path,
    pub tools: &'a Tools,
    /// The folder of runs; absolute, because each commit is measured in its own folder.
    pub profiles: &'a Path,
    pub null_test: &'a NullTest,
    pub today: Date,
    pub patience: GpuWait,
    pub progress: &'a (dyn Progress + Sync),
    /// Changes the working directory.
    pub enter: fn(&Path) -> io::Result<()>,
    /// Requirements of a good commit; empty for the latency halfway between both ends.
    pub require: &'a [String],
    /// Whether runs of an earlier bisection count.
    pub start: ResumePolicy,
}

impl<'a> Bisection<'a> {
    /// # Errors
    /// The phase's file is outside its project, or a requirement does not parse.
    pub fn new(of: BisectSettings<'a>) -> Result<Self, BisectError> {
        let file = base::in_project(of.phase, of.config).map_err(BisectError::Phase)?;
        let usual = format!("latency_p50 <= {SLOWER} * base.latency_p50");
        let is_halved = of.require.is_empty();
        let requirements = if is_halved { vec![usual] } else { of.require.to_vec() };
        let shapes = &of.phase.bench.shapes;
        let gates: Vec<_> =
            requirements.into_iter().map(|require| StepGate { require, shapes: shapes.clone() }).collect();
        step_phase(of.phase, None, &gates).map_err(BisectError::Phase)?;
        Ok(Self { of, file, gates, is_halved, is_begun: false, known: Vec::new(), rival: None })
    }

    /// Checks out a commit for this bisection.
    ///
    /// # Errors
    /// Its files cannot be written.
    pub fn checkout(&self, reference: &str, commit: &str) -> Result<BaseCheckout, BisectError> {
        Ok(BaseCheckout::at(reference, commit.to_owned(), &step_name(self.of.phase), self.of.profiles)?)
    }

    /// What a good commit holds.
    pub fn requirement(&self) -> String {
        let text = |gate: &StepGate| {
            let shapes: Vec<&str> = gate.shapes.iter().map(|shape| shape.0.as_str()).collect();
            format!("{} at {}", gate.require, shapes.join(", "))
        };
        self.gates.iter().map(text).collect::<Vec<_>>().join(" and ")
    }

    /// Whether the good end holds the requirement: without a given one, it is compared with itself.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn good_end(&mut self, good: &BaseCheckout) -> Result<Option<BisectStep>, BisectError> {
        (!self.of.require.is_empty()).then(|| self.judged(good, good)).transpose()
    }

    /// Builds a commit and, unless a verdict on its machine code is known, measures it next to the good end. The first
    /// step is the bad end: its errors end the bisection, and those of later steps skip the commit.
    ///
    /// # Errors
    /// The user interrupted it, or git or the bad end fails.
    pub fn step(&mut self, commit: &str, good: &BaseCheckout) -> Result<BisectStep, BisectError> {
        let checkout = self.checkout(&short(commit.to_owned()), commit)?;
        self.judged(&checkout, good)
    }

    fn judged(&mut self, checkout: &BaseCheckout, good: &BaseCheckout) -> Result<BisectStep, BisectError> {
        let step = |verdict, reason: String, run| {
            let (commit, title) = (checkout.commit.clone(), commit_title(&checkout.commit));
            BisectStep { commit, title, verdict, reason, run }
        };
        let is_end = !std::mem::replace(&mut self.is_begun, true);
        let (enter, home) = (self.of.enter, &self.of.phase.root);
        let tested = within(enter, home, checkout, || self.tested(checkout, good));
        if process::interrupted() {
            return Err(LiveError::from(CampaignError::Interrupted).into());
        }
        match tested {
            Ok((verdict, reason, run)) => Ok(step(verdict, reason, run)),
            Err(error) if is_end => Err(error),
            Err(error) => Ok(step(StepVerdict::Skipped, error.to_string(), None)),
        }
    }

    fn tested(
        &mut self,
        checkout: &BaseCheckout,
        good: &BaseCheckout,
    ) -> Result<(StepVerdict, String, Option<PathBuf>), BisectError> {
        let (phase, plan) = self.planned(checkout, good)?;
        let arch = self.of.tools.arch(&phase).map_err(LiveError::from)?;
        let builds = build_for(&plan, &phase, &arch, IncludeScope::Anywhere, self.of.progress)
            .map_err(|e| LiveError::from(CampaignError::from(e)))?;
        let of_base = |record: &&BuildRecord| is_of_base(&phase, &record.variant);
        let (theirs, own): (Vec<_>, Vec<_>) = builds.iter().partition(of_base);
        if let Some(reason) = unbuilt(&own) {
            return Ok((StepVerdict::Skipped, reason, None));
        }
        let hashes = |records: &[&BuildRecord]| {
            let mut hashes =
                records.iter().map(|record| code_hash(record, &plan, &phase.workload)).collect::<Option<Vec<_>>>()?;
            hashes.sort();
            Some(hashes)
        };
        let code = hashes(&own);
        let files_of = |root: &Path| {
            let phase = Phase { root: root.to_owned(), ..phase.clone() };
            inputs::hashes(root, base::compared_files(&phase, &plan))
        };
        let files = files_of(&checkout.root);
        if self.known.is_empty()
            && let Some(hashes) = hashes(&theirs)
        {
            let (files, commit) = (files_of(&good.root), good.commit.clone());
            self.known.push(KnownCode { hashes, files, verdict: StepVerdict::Good, commit });
        }
        let is_known = |known: &&KnownCode| Some(&known.hashes) == code.as_ref() && known.files == files;
        // The good end is tested because nothing is known of it.
        let known = self.known.iter().find(is_known).filter(|_| checkout.commit != good.commit);
        if let Some(known) = known {
            let reason = format!("the machine code of {}; not measured", short(known.commit.clone()));
            return Ok((known.verdict, reason, None));
        }
        let read = |session: &JudgedRun<'_>| {
            let judgement = session.judgement();
            let folder = session.measurements().run().folder.clone();
            (verdict(judgement), judgement.reason.clone(), folder, halfway(judgement), base_of(&phase, judgement))
        };
        let (verdict, reason, folder, halfway, rival) = match self.earlier(&phase, &plan, &checkout.commit) {
            Some(run) => read(&JudgedRun::of(&run, ReferenceRuns::default(), self.of.today).map_err(LiveError::from)?),
            None => self.measured(&phase, &plan, &[], read)?,
        };
        if let (true, Some(gate)) = (self.is_halved, halfway) {
            (self.gates, self.is_halved) = (vec![gate], false);
        }
        self.rival = rival.or(self.rival.take());
        if let (Some(hashes), StepVerdict::Good | StepVerdict::Bad) = (code, verdict) {
            self.known.push(KnownCode { hashes, files, verdict, commit: checkout.commit.clone() });
        }
        Ok((verdict, reason, Some(folder)))
    }

    /// Measures a commit next to another one, with deep profiles of both, for a report.
    ///
    /// # Errors
    /// It cannot be measured.
    pub fn compare<T>(
        &self,
        commit: &str,
        other: &BaseCheckout,
        read: impl FnOnce(&JudgedRun<'_>, Option<&VariantId>) -> T,
    ) -> Result<T, BisectError> {
        let checkout = self.checkout(&short(commit.to_owned()), commit)?;
        within(self.of.enter, &self.of.phase.root, &checkout, || {
            let (phase, plan) = self.planned(&checkout, other)?;
            let only = || Some(plan.base(&phase).next()?.id.clone()).filter(|_| plan.base(&phase).count() == 1);
            let known = self.rival.clone().filter(|id| plan.variant(id).is_some());
            let rival = only().or(known);
            let deep: Vec<_> = [DeepChoice::Top(1)].into_iter().chain(rival.clone().map(DeepChoice::Variant)).collect();
            self.measured(&phase, &plan, &deep, |session| read(session, rival.as_ref()))
        })
    }

    /// The phase of a commit: the workload and settings of the current file, the candidates of the commit's file (of the
    /// current one if the commit lacks it), and those of the good end as its base.
    fn planned(&self, checkout: &BaseCheckout, good: &BaseCheckout) -> Result<(Phase, Plan), BisectError> {
        let there = base::text_in(checkout, &self.file).map_err(BisectError::Phase)?;
        let phase = step_phase(self.of.phase, there.as_deref(), &self.gates).map_err(BisectError::Phase)?;
        let phase = Phase { root: checkout.root.clone(), ..phase };
        let text = base::text_in(good, &self.file).map_err(BisectError::Phase)?;
        let text = text.unwrap_or_else(|| self.of.phase.text.clone());
        let phase = base::with_kernels(&phase, &self.file, good, Ok(text))?;
        if let Some(absent) = phase.base.as_ref().and_then(Base::absent) {
            return Err(BisectError::Phase(absent));
        }
        let phase = self.of.tools.on_gpu(&phase);
        let plan = unroll(&phase).map_err(|errors| BisectError::Phase(first(&errors.0)))?;
        Ok((phase, plan))
    }

    /// The complete run of this step by an earlier bisection on this machine, with unchanged files.
    fn earlier(&self, phase: &Phase, plan: &Plan, commit: &str) -> Option<PhaseRun> {
        let folders = runs_of_phase(&self.of.profiles.join(&phase.name))
            .ok()
            .filter(|_| self.of.start == ResumePolicy::Continue)?;
        let is_same = |run: &Run| {
            let manifest = &run.manifest;
            run.phase == phase.text
                && run.is_sealed()
                && manifest.fingerprint == self.of.tools.fingerprint()
                && manifest.git.as_ref().is_some_and(|git| git.commit == commit)
        };
        let run = folders.iter().filter_map(|folder| Run::load(folder).ok()).find(is_same)?;
        let (phase, plan) = (phase.clone(), plan.clone());
        Some(PhaseRun { phase, plan, run: Arc::new(run), evidence: Evidence::Measured })
    }

    fn measured<T>(
        &self,
        phase: &Phase,
        plan: &Plan,
        deep: &[DeepChoice],
        read: impl FnOnce(&JudgedRun<'_>) -> T,
    ) -> Result<T, BisectError> {
        let request = ReferenceRequest { name: None, mismatch: MismatchPolicy::Refuse };
        let run = LiveRun {
            phase,
            plan,
            tools: self.of.tools,
            profiles: self.of.profiles,
            request: &request,
            today: self.of.today,
            start: self.of.start,
            sharing: Deduplication::Share,
            patience: self.of.patience,
            progress: self.of.progress,
            narrowed: None,
            searched: None,
            deep,
            null_test: self.of.null_test,
        };
        let MeasuredRun { session, ended } = run.measure()?;
        ended?;
        Ok(read(&session))
    }
}

/// Acts in the folder of a checkout, then changes back to the folder `home`.
fn within<T>(
    enter: fn(&Path) -> io::Result<()>,
    home: &Path,
    checkout: &BaseCheckout,
    act: impl FnOnce() -> Result<T, BisectError>,
) -> Result<T, BisectError> {
    let change = |path: &Path| {
        // Their interpreters have imported files of the folder that is left.
        dismiss_references();
        enter(path).map_err(|source| BisectError::Folder { path: path.to_owned(), source })
    };
    change(&checkout.root)?;
    let result = act();
    change(home)?;
    result
}

/// The name of the runs of a bisection, which history and `previous.` of the phase leave out.
fn step_name(phase: &Phase) -> String {
    format!("{}.bisect", phase.name)
}

/// Why none of the candidates can be launched, if so. Such a commit is neither good nor bad.
pub fn unbuilt(records: &[&BuildRecord]) -> Option<String> {
    let reason = |record: &&BuildRecord| match &record.outcome {
        BuildOutcome::Failed { message } => {
            Some(format!("does not build: {}", message.lines().next().unwrap_or_default()))
        }
        BuildOutcome::Refused { reasons, .. } => Some(format!("cannot be launched: {}", reasons.join("; "))),
        BuildOutcome::Built { .. } | BuildOutcome::NotNeeded => None,
    };
    records.iter().map(reason).collect::<Option<Vec<_>>>()?.into_iter().next()
}

/// A pass is good, and a failed requirement of a proven candidate is bad; anything else decides nothing.
fn verdict(judgement: &Judgement) -> StepVerdict {
    match judgement.verdict {
        Verdict::Pass => StepVerdict::Good,
        Verdict::Fail if judgement.selected.is_some() => StepVerdict::Bad,
        Verdict::Fail | Verdict::Inconclusive => StepVerdict::Skipped,
    }
}

/// The requirement halfway between both ends, at the shape that became slower by most, after the usual one failed.
fn halfway(judgement: &Judgement) -> Option<StepGate> {
    let selected = &judgement.selected.as_ref()?.variant;
    let cases = judgement.gates.first()?.cases.iter();
    let slower = cases.filter(|case| case.variant == *selected && case.outcome.verdict == Verdict::Fail);
    let ratios = slower.filter_map(|case| {
        let ratio = SLOWER * case.outcome.measured? / case.outcome.limit?;
        Some((ratio, &case.shape)).filter(|(ratio, _)| ratio.is_finite())
    });
    let (ratio, shape) = ratios.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let limit = 1.0 + (ratio - 1.0) / 2.0;
    Some(StepGate { require: format!("latency_p50 <= {limit:.4} * base.latency_p50"), shapes: vec![shape.clone()] })
}

fn first(errors: &config::ConfigErrors) -> String {
    errors.problems().first().map_or_else(String::new, |problem| problem.message.clone())
}

/// The phase of a step without its base: the file `phase` with the candidates of another text of it, the given gates
/// alone, and more rounds for open ones.
fn step_phase(phase: &Phase, there: Option<&str>, gates: &[StepGate]) -> Result<Phase, String> {
    let parsed = |text: &str| text.parse::<Table>().map_err(|error| format!("cannot read the phase: {error}"));
    let mut file = parsed(&phase.text)?;
    for key in ["gate", "tier", "stage", "fallback", "precondition", "waiver", "baseline"] {
        file.remove(key);
    }
    if let Some(there) = there {
        let mut there = parsed(there)?;
        for key in ["kernel", "sweep", "search", "variant"] {
            file.remove(key);
            if let Some(value) = there.remove(key) {
                file.insert(key.to_owned(), value);
            }
        }
    }
    if file.contains_key("search") && file.get("sweep").is_none_or(|sweep| sweep.get("points").is_none()) {
        return Err("its candidates come from a search, which has no fixed list".to_owned());
    }
    let mut set = |table: &str, key: &str, value: Value| {
        let table = file.entry(table).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(table) = table {
            table.insert(key.to_owned(), value);
        }
    };
    let rounds = phase.bench.max_rounds.max(phase.bench.rounds).saturating_mul(PATIENCE);
    let most = u32::try_from(ncugate_model::MOST_SAMPLES).unwrap_or(u32::MAX);
    set("bench", "max_rounds", i64::from(rounds.min(most)).into());
    set("profile", "deep_profile", "none".into());
    set("phase", "name", step_name(phase).into());
    if let Some(Value::Table(head)) = file.get_mut("phase") {
        head.remove("recording");
    }
    file.insert("gate".to_owned(), Value::Array(gates.iter().map(StepGate::table).collect()));
    let text = toml::to_string(&file).map_err(|error| format!("cannot write the phase: {error}"))?;
    config::parse_again(phase, &text).map_err(|errors| first(&errors))
}
