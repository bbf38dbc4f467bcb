//! Profiles many variants with few ncu processes: one per group of metrics, with all variants. Cases that are missing from a
//! batch are retried in smaller batches, until a variant that runs alone fails; that failure is its result.

use super::command::{Knobs, ProfileDetail};
use super::failure::{FailureScope, NcuFailure, launches_in, passes_in};
use super::group::{Effort, Group, NcuMetric, PROBES, plan_groups};
use super::job::Job;
use super::pass_book::PassBook;
use super::session::{Runner, SessionOutcome};
use super::subject::{
    Contents, LaunchExpectation, ProfileError, ProfiledCase, ProfiledMetrics, ProfilingSummary, ReportReader, Subject,
    TrialFailure,
};
use ncugate_model::process::{self, ProcessExit};
use ncugate_model::{ProfileOutcome, ProfileRecord, ProfiledOutputs};

use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Number of cases that may fail alone, without any success, before the rest is skipped.
const MAX_FAILURES: usize = 4;
/// Number of cases that planning tries before it gives up measuring.
const PROBED_CASES: usize = 3;

/// Receives each record immediately.
pub type Sink<'a> = &'a mut dyn FnMut(ProfileRecord) -> io::Result<()>;

pub struct Profiler<'a> {
    pub runner: Runner<'a>,
    pub verify: &'a dyn ReportReader,
    pub covered: &'a ProfiledMetrics,
    /// Maximum number of ncu starts for planning; [`PROBES`] is the default.
    pub probes: u32,
}

/// Why a probe measured no passes.
enum ProbeFailure {
    Unknown(NcuFailure),
    Unmeasurable,
    Error(ProfileError),
}

impl<'a> Profiler<'a> {
    /// A profiler that plans with the default budget.
    pub fn new(runner: Runner<'a>, verify: &'a dyn ReportReader, covered: &'a ProfiledMetrics) -> Self {
        Self { runner, verify, covered, probes: PROBES }
    }

    /// The knobs of every session.
    pub fn knobs(&self) -> Knobs {
        self.runner.knobs
    }

    /// Collects `metrics` for every case of every subject, one group at a time.
    pub fn profile(
        &self,
        subjects: &[Subject],
        metrics: &[NcuMetric],
        book: &mut PassBook,
        sink: Sink,
    ) -> Result<ProfilingSummary, ProfileError> {
        let mut collected = ProfilingSummary::default();
        let outcome =
            subjects.iter().try_for_each(|subject| self.profile_program(subject, metrics, book, sink, &mut collected));
        keep(book, &mut collected);
        outcome.map(|()| collected)
    }

    /// Profiles one program. Its groups follow from its own launches: for few launches, another process, which may import
    /// libraries, takes longer than replays.
    fn profile_program(
        &self,
        subject: &Subject,
        metrics: &[NcuMetric],
        book: &mut PassBook,
        sink: Sink,
        collected: &mut ProfilingSummary,
    ) -> Result<(), ProfileError> {
        let known: Vec<NcuMetric> = metrics.iter().filter(|name| !collected.unknown.contains(name)).cloned().collect();
        let pending = self.pending(subject, &known);
        let launches = pending.iter().map(|case| subject.expect.least(case) as usize).sum();
        if launches == 0 {
            return Ok(());
        }
        let mut groups = self.plan(subject, &known, launches, book, collected)?;
        keep(book, collected);
        let outcome = groups.iter_mut().try_for_each(|group| self.collect(subject, group, book, sink, collected));
        collected.groups.extend(groups);
        outcome
    }

    /// Measures the passes that the plan for `launches` launches of `metrics` needs, and stores them in the book.
    ///
    /// # Errors
    /// No counter can be collected, with the error of [`Profiler::profile`].
    pub fn find_passes(
        &self,
        subject: &Subject,
        metrics: &[NcuMetric],
        launches: usize,
        book: &mut PassBook,
    ) -> Result<ProfilingSummary, ProfileError> {
        let mut collected = ProfilingSummary::default();
        let planned = self.plan(subject, metrics, launches, book, &mut collected);
        keep(book, &mut collected);
        collected.groups = planned?;
        Ok(collected)
    }

    fn pending(&self, subject: &Subject, metrics: &[NcuMetric]) -> Vec<ProfiledCase> {
        subject.cases.iter().filter(|case| !self.covered.holds(case, metrics)).cloned().collect()
    }

    /// Groups from the book and, if it knows too little, from probes. Leaves out metrics that ncu does not know.
    fn plan(
        &self,
        subject: &Subject,
        metrics: &[NcuMetric],
        launches: usize,
        book: &mut PassBook,
        collected: &mut ProfilingSummary,
    ) -> Result<Vec<Group>, ProfileError> {
        let mut metrics = metrics.to_vec();
        let mut left = self.probes;
        loop {
            let effort = Effort { launches, probes: left };
            let planned = plan_groups(
                &metrics,
                effort,
                &mut |set| {
                    left = left.saturating_sub(1);
                    self.probe(subject, set, collected)
                },
                book,
            );
            match planned {
                Ok(groups) => return Ok(groups),
                Err(ProbeFailure::Unknown(failure)) => {
                    collected.unknown.extend(without_unknown(&mut metrics, &failure)?);
                }
                Err(ProbeFailure::Unmeasurable) => {
                    collected
                        .warnings
                        .push("no launch could be probed for replay passes; metric groups are estimates".into());
                    left = 0;
                }
                Err(ProbeFailure::Error(error)) => return Err(error),
            }
        }
    }

    /// Replay passes of `set`, measured on one launch of the first case that can be profiled.
    fn probe(
        &self,
        subject: &Subject,
        set: &[NcuMetric],
        collected: &mut ProfilingSummary,
    ) -> Result<u32, ProbeFailure> {
        let runner = Runner { reports: self.runner.logs, ..self.runner };
        for case in subject.cases.iter().take(PROBED_CASES) {
            let io = |error| ProbeFailure::Error(ProfileError::Io(error));
            let cases = std::slice::from_ref(case);
            let ran = start(&runner, subject, "probe", set, cases).map_err(io)?;
            collected.starts += 1;
            let found = self.contents(&ran, cases);
            if let Some(report) = &ran.report {
                fs::remove_file(report).map_err(io)?;
            }
            if let Ok(Contents { launches, passes: Some(passes), .. }) = found
                && launches.contains_key(case)
            {
                return Ok(passes);
            }
            let Some(failure) = ran.failure else { continue };
            match failure.reach() {
                FailureScope::Environment => return Err(ProbeFailure::Error(ProfileError::Environment(failure))),
                FailureScope::Stop => return Err(ProbeFailure::Error(ProfileError::Interrupted)),
                FailureScope::Group => return Err(ProbeFailure::Unknown(failure)),
                FailureScope::Batch => {}
            }
        }
        Err(ProbeFailure::Unmeasurable)
    }

    /// The contents of a session's report; empty without a report.
    fn contents(&self, ran: &SessionOutcome, cases: &[ProfiledCase]) -> Result<Contents, NcuFailure> {
        let Some(report) = &ran.report else { return Ok(Contents::default()) };
        let mut contents =
            self.verify.read(report, &ran.told, cases).map_err(|reason| NcuFailure::UnreadableReport { reason })?;
        contents.passes = contents.passes.or_else(|| passes_in(&ran.log));
        Ok(contents)
    }

    /// Collects one group for one subject, with as few processes as possible.
    fn collect(
        &self,
        subject: &Subject,
        group: &mut Group,
        book: &mut PassBook,
        sink: Sink,
        collected: &mut ProfilingSummary,
    ) -> Result<(), ProfileError> {
        let before = (collected.profiled, collected.failed);
        let (mut waiting, mut again) = (vec![self.pending(subject, &group.metrics)], BTreeSet::new());
        while let Some(cases) = waiting.pop() {
            if cases.is_empty() || group.metrics.is_empty() {
                continue;
            }
            if process::interrupted() {
                return Err(ProfileError::Interrupted);
            }
            let mut attempt = self.attempt(subject, group, cases)?;
            collected.starts += 1;
            attempt.record(subject, group, sink, collected)?;
            if let Some(passes) = attempt.contents.passes.filter(|_| attempt.missing.len() < attempt.cases.len()) {
                book.note(&group.counted(), passes);
                group.passes = Some(passes);
            }
            let Some(failure) = attempt.failure() else { continue };
            match failure.reach() {
                FailureScope::Environment => return Err(ProfileError::Environment(failure)),
                FailureScope::Stop => return Err(ProfileError::Interrupted),
                FailureScope::Group => {
                    collected.unknown.extend(without_unknown(&mut group.metrics, &failure)?);
                    waiting.push(attempt.missing);
                }
                // A kill from outside says nothing about a case. If it happens twice, the case is the likelier cause.
                FailureScope::Batch
                    if attempt.is_alone() && attempt.was_killed(&failure) && again.insert(attempt.cases.clone()) =>
                {
                    waiting.push(attempt.missing);
                }
                FailureScope::Batch if attempt.is_alone() => {
                    let reason = attempt.ran.explain(&failure);
                    fail(&attempt.missing, &reason, group, sink, collected)?;
                    let tried = collected.failed - before.1;
                    if collected.profiled == before.0 && tried >= MAX_FAILURES {
                        return abandon(&waiting.concat(), TrialFailure { tried, reason }, group, sink, collected);
                    }
                }
                FailureScope::Batch => waiting.extend(attempt.smaller(&subject.expect)),
            }
        }
        Ok(())
    }

    /// Runs one process and reads its report.
    fn attempt(&self, subject: &Subject, group: &Group, cases: Vec<ProfiledCase>) -> io::Result<BatchAttempt> {
        let ran = start(&self.runner, subject, &group.name, &group.metrics, &cases)?;
        let (contents, unreadable) = match self.contents(&ran, &cases) {
            Ok(contents) => (contents, None),
            Err(failure) => (Contents::default(), Some(failure)),
        };
        let launches = |case: &ProfiledCase| contents.launches.get(case).copied().unwrap_or(0);
        let lacks = |case: &&ProfiledCase| launches(case) < subject.expect.least(case);
        let unverified = |case: &&ProfiledCase| subject.outputs(&contents, case).is_none();
        let missing: Vec<ProfiledCase> = cases.iter().filter(|case| lacks(case) || unverified(case)).cloned().collect();
        let unverified = missing.iter().any(|case| !lacks(&case));
        let excess = cases.iter().filter(|case| subject.expect.too_many(case, launches(case)));
        let excess = excess.map(|case| (case.clone(), launches(case))).collect();
        Ok(BatchAttempt { cases, ran, contents, unreadable, missing, unverified, excess })
    }
}

/// One process and its cases.
struct BatchAttempt {
    cases: Vec<ProfiledCase>,
    ran: SessionOutcome,
    contents: Contents,
    unreadable: Option<NcuFailure>,
    /// Cases with missing launches or unverified outputs.
    missing: Vec<ProfiledCase>,
    /// Whether one of them has all its launches.
    unverified: bool,
    excess: Vec<(ProfiledCase, u32)>,
}

impl BatchAttempt {
    /// Passes on a record for every case that the report settles.
    fn record(
        &mut self,
        subject: &Subject,
        group: &Group,
        sink: Sink,
        collected: &mut ProfilingSummary,
    ) -> Result<(), ProfileError> {
        let file = self.ran.report.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        for case in self.cases.iter().filter(|case| !self.missing.contains(case)) {
            let outcome = match (self.excess.iter().find(|(other, _)| other == case), &file) {
                (None, Some(report)) => ProfileOutcome::Profiled { report: report.clone() },
                (Some((_, launches)), _) => ProfileOutcome::Failed {
                    reason: format!("its NVTX range has {launches} launches, more than expected"),
                },
                (None, None) => ProfileOutcome::Failed { reason: "ncu wrote no report".to_owned() },
            };
            let outputs = match &outcome {
                ProfileOutcome::Profiled { .. } => subject.outputs(&self.contents, case),
                ProfileOutcome::Traced { .. } | ProfileOutcome::Failed { .. } => None,
            };
            hand_over(case, &group.metrics, (outcome, outputs), sink, collected)?;
        }
        Ok(())
    }

    /// Why cases are missing; `None` if none is missing.
    fn failure(&self) -> Option<NcuFailure> {
        if self.missing.is_empty() {
            return None;
        }
        let told = self.ran.failure.clone().or_else(|| self.unreadable.clone());
        Some(told.unwrap_or_else(|| match self.ran.report {
            Some(_) if self.unverified => NcuFailure::Unverified { ending: self.ran.ending.to_string() },
            Some(_) => NcuFailure::Missing { ending: self.ran.ending.to_string() },
            None => NcuFailure::no_kernels(&self.ran.log),
        }))
    }

    /// Whether it had only one case.
    fn is_alone(&self) -> bool {
        self.cases.len() == 1
    }

    /// Whether SIGKILL ended ncu or the program. No kernel sends that signal: it comes from a person or from the out-of-memory
    /// killer.
    fn was_killed(&self, failure: &NcuFailure) -> bool {
        let kill = Signal::SIGKILL as i32;
        self.ran.ending == ProcessExit::Signaled(kill)
            || matches!(failure, NcuFailure::TargetExit { status } if *status == kill || *status == 128 + kill)
    }

    /// The missing cases in smaller batches, last batch first. Launches run in order, so the suspect is the first missing case,
    /// or the case after the last one that finished by the log. The suspect runs alone.
    fn smaller(self, expect: &LaunchExpectation) -> Vec<Vec<ProfiledCase>> {
        let finished = expect.cases_in(launches_in(&self.ran.log), &self.cases);
        let suspect = if self.missing.len() < self.cases.len() { Some(0) } else { Some(finished).filter(|&n| n > 0) };
        let mut missing = self.missing;
        match suspect.filter(|&at| at < missing.len()) {
            Some(at) => {
                let after = missing.split_off(at + 1);
                let alone = missing.split_off(at);
                vec![after, missing, alone]
            }
            None => {
                let second = missing.split_off(missing.len().div_ceil(2));
                vec![second, missing]
            }
        }
    }
}

fn start(
    runner: &Runner,
    subject: &Subject,
    stem: &str,
    metrics: &[NcuMetric],
    cases: &[ProfiledCase],
) -> io::Result<SessionOutcome> {
    let target = subject.target.command(cases)?;
    let (selection, processes) = (&subject.selection, subject.processes);
    runner.run(&Job { stem, metrics, detail: ProfileDetail::Counters, target: &target, selection, processes })
}

/// Records cases as failed.
fn fail(
    cases: &[ProfiledCase],
    reason: &str,
    group: &Group,
    sink: Sink,
    collected: &mut ProfilingSummary,
) -> Result<(), ProfileError> {
    cases.iter().try_for_each(|case| {
        let outcome = ProfileOutcome::Failed { reason: reason.to_owned() };
        hand_over(case, &group.metrics, (outcome, None), sink, collected)
    })
}

/// Abandons a group in which nothing works: its other cases fail untried. If nothing ever worked, profiling ends.
fn abandon(
    rest: &[ProfiledCase],
    unprofilable: TrialFailure,
    group: &Group,
    sink: Sink,
    collected: &mut ProfilingSummary,
) -> Result<(), ProfileError> {
    if collected.profiled == 0 {
        return Err(ProfileError::Unprofilable(unprofilable));
    }
    collected.warnings.push(format!("the metrics of group `{}` were not collected: {unprofilable}", group.name));
    fail(rest, &format!("not tried: {unprofilable}"), group, sink, collected)
}

fn hand_over(
    case: &ProfiledCase,
    metrics: &[NcuMetric],
    (outcome, outputs): (ProfileOutcome, Option<ProfiledOutputs>),
    sink: Sink,
    collected: &mut ProfilingSummary,
) -> Result<(), ProfileError> {
    match outcome {
        ProfileOutcome::Profiled { .. } | ProfileOutcome::Traced { .. } => collected.profiled += 1,
        ProfileOutcome::Failed { .. } => collected.failed += 1,
    }
    let (variant, shape) = case.clone();
    Ok(sink(ProfileRecord { variant, shape, metrics: metrics.to_vec(), outcome, outputs })?)
}

/// Removes the metrics that `failure` names; if it names none of them, the failure applies to all.
fn without_unknown(metrics: &mut Vec<NcuMetric>, failure: &NcuFailure) -> Result<Vec<NcuMetric>, ProfileError> {
    let named = |metric: &NcuMetric| match failure {
        NcuFailure::UnknownMetric { name } => {
            metric.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        }
        NcuFailure::NotStarted { .. }
        | NcuFailure::Permission
        | NcuFailure::NoKernelsProfiled { .. }
        | NcuFailure::DriverResourceUnavailable
        | NcuFailure::Lock { .. }
        | NcuFailure::DriverIncompatible
        | NcuFailure::UnknownGpu
        | NcuFailure::UnableToWrite { .. }
        | NcuFailure::OutOfMemory
        | NcuFailure::TargetExit { .. }
        | NcuFailure::Timeout
        | NcuFailure::Interrupted
        | NcuFailure::UnreadableReport { .. }
        | NcuFailure::Missing { .. }
        | NcuFailure::Unverified { .. }
        | NcuFailure::Other { .. } => false,
    };
    let unknown: Vec<NcuMetric> = metrics.iter().filter(|metric| named(metric)).cloned().collect();
    if unknown.is_empty() {
        return Err(ProfileError::Environment(failure.clone()));
    }
    metrics.retain(|metric| !unknown.contains(metric));
    Ok(unknown)
}

/// The book is a cache: failing to save it costs time, not results.
fn keep(book: &PassBook, collected: &mut ProfilingSummary) {
    if let Err(error) = book.save() {
        let warning = format!("cannot save the replay passes of this chip: {error}");
        if !collected.warnings.contains(&warning) {
            collected.warnings.push(warning);
        }
    }
}
