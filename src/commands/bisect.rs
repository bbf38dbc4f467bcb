//! `ncugate tools bisect`: the commit that made a phase's kernels worse.

use super::project::open_phase;
use super::run::refuse_reports;
use super::{CommandError, browser, print, signal, verbosity};
use crate::cli::{BisectArgs, OutputFormat};
use crate::console::Output;
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_campaign::{
    BaseCheckout, BisectSettings, BisectStep, Bisection, CommitRange, Midpoint, ParentChoice, ResumePolicy,
    StepVerdict, Tools, commit_title, parent_of,
};
use ncugate_cuda::host::null_test;
use ncugate_judge::JudgedRun;
use ncugate_model::VariantId;
use ncugate_model::number::counted;
use ncugate_report::comment::comment;
use ncugate_report::explanation::Explainer;
use ncugate_report::markdown::escape;
use ncugate_report::write::{prove_writable, replace, write};
use ncugate_report::{RunReport, RunSource, assemble, line_pairs};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The result of a bisection.
#[derive(Serialize)]
struct BisectResult {
    good: String,
    bad: String,
    /// What a good commit holds; `base` is the good end.
    requirement: String,
    /// In the order of the tests: the bad end, the good one if a requirement was given, then commits between them.
    steps: Vec<BisectStep>,
    /// The first bad commit; several if the commits between them were skipped, none if the bad end is not bad.
    candidates: Vec<String>,
    /// The report that compares the first bad commit with its parent.
    report: Option<PathBuf>,
}

/// Tests the ends, then the commits that git chooses. Status 0 if one commit was found, else 4.
pub fn bisect(args: &BisectArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let file = invocation.here.join(&args.config);
    let phase = open_phase(&args.config, invocation)?;
    refuse_reports(&phase)?;
    let parents = if args.first_parent { ParentChoice::First } else { ParentChoice::All };
    let mut range = CommitRange::between(&args.good, &args.bad, parents)?;
    // Each commit has its own working directory.
    let (profiles, reports) =
        (std::path::absolute(&args.folders.profiles)?, std::path::absolute(&args.folders.reports)?);
    prove_writable(&reports)?;
    signal::watch();
    let tools = Tools::find(&phase)?;
    let tried = null_test(&phase, &[])?;
    let progress = verbosity::progress();
    let mut bisection = Bisection::new(BisectSettings {
        phase: &phase,
        config: &file,
        tools: &tools,
        profiles: &profiles,
        null_test: &tried,
        today: invocation.today(),
        patience: args.waiting.into(),
        progress: &progress,
        enter: invocation.enter,
        require: &args.require,
        start: if args.fresh { ResumePolicy::Fresh } else { ResumePolicy::Continue },
    })?;
    let good = bisection.checkout(&args.good, range.good())?;
    let mut result = BisectResult {
        good: range.good().to_owned(),
        bad: range.bad().to_owned(),
        requirement: String::new(),
        steps: Vec::new(),
        candidates: Vec::new(),
        report: None,
    };
    let is_text = args.saying.format == OutputFormat::Text;
    let mut next = range.bad().to_owned();
    loop {
        let step = bisection.step(&next, &good);
        progress.clear();
        let step = step?;
        if is_text {
            writeln!(out, "{}", step_line(&step))?;
        }
        let (verdict, is_end) = (step.verdict, result.steps.is_empty());
        result.steps.push(step);
        if is_end && verdict != StepVerdict::Bad {
            break;
        }
        if is_end && let Some(end) = bisection.good_end(&good)? {
            progress.clear();
            if is_text {
                writeln!(out, "{}", step_line(&end))?;
            }
            let is_good = end.verdict == StepVerdict::Good;
            result.steps.push(end);
            if !is_good {
                break;
            }
        }
        if is_end && is_text {
            writeln!(out, "good: {}", bisection.requirement())?;
        }
        range.mark(&next, verdict);
        next = match range.midpoint()? {
            Midpoint::Commit { commit, left } => {
                if is_text {
                    out.flush()?;
                    let steps = left.ilog2();
                    writeln!(out, "{} left, about {}", counted(left, "commit"), counted(steps as usize, "step"))?;
                }
                commit
            }
            Midpoint::Found { candidates } => {
                result.candidates = candidates;
                break;
            }
        };
    }
    result.requirement = bisection.requirement();
    let found = match result.candidates.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    };
    let compared = found.as_ref().map(|commit| culprit(commit, &bisection, &good, &reports, invocation)).transpose();
    progress.clear();
    let compared = compared?;
    result.report = compared.as_ref().map(|compared| compared.page.clone());
    if let (Some(path), Some(Comparison { report, .. })) = (&args.saying.comment, &compared) {
        replace(path, &format!("{}\n{}", comment(report, None), steps_table(&result)))?;
    }
    match (args.saying.format, &compared) {
        (OutputFormat::Json, _) => print::json(&result, out)?,
        (OutputFormat::Text, Some(Comparison { report, page, code })) => {
            print::result(report, OutputFormat::Text, out)?;
            writeln!(out, "\n{code}")?;
            writeln!(out, "report: {}\n", page.display())?;
        }
        (OutputFormat::Text, None) => {}
    }
    if is_text {
        write!(out, "{}", conclusion(&result))?;
    }
    if let (true, Some(page)) = (args.saying.open, &result.report) {
        browser::open(page);
    }
    Ok(if found.is_some() { Outcome::Passed } else { Outcome::Inconclusive })
}

fn step_line(step: &BisectStep) -> String {
    let BisectStep { commit, title, verdict, reason, .. } = step;
    format!("{:<5} {} {}\n      {}", verdict.word(), short(commit), title, reason)
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// The first bad commit compared with its parent.
struct Comparison {
    report: RunReport,
    page: PathBuf,
    /// Source lines and machine code of both.
    code: String,
}

fn culprit(
    commit: &str,
    bisection: &Bisection<'_>,
    good: &BaseCheckout,
    reports: &Path,
    invocation: &Invocation,
) -> Result<Comparison, CommandError> {
    let parent = parent_of(commit)?;
    let other = (parent != good.commit).then(|| bisection.checkout(&format!("{}^", short(commit)), &parent));
    let other = other.transpose()?;
    let read = |session: &JudgedRun<'_>, rival: Option<&VariantId>| -> Result<Comparison, CommandError> {
        let report = assemble(session, RunSource::Live, Some(invocation.report_time))?;
        let run = session.measurements().run();
        let written = write(&report, &reports.join(&run.manifest.phase).join(&run.manifest.run))?;
        let shape = &session.measurements().phase().objective.shape;
        let explainer = Explainer::new(session)?;
        let pair = session.selected().zip(rival).and_then(|(own, other)| explainer.beside(own, other, shape));
        let none = || "SASS is not compared: the two have no source line in common that ncu sampled\n".to_owned();
        Ok(Comparison { report, page: written.page, code: pair.map_or_else(none, |pair| line_pairs::words(&pair)) })
    };
    bisection.compare(commit, other.as_ref().unwrap_or(good), read)?
}

/// The steps as Markdown, for a comment.
fn steps_table(result: &BisectResult) -> String {
    let mut text =
        format!("#### Bisection\n\nGood: `{}`.\n\n| | commit | reason |\n| --- | --- | --- |\n", result.requirement);
    for step in &result.steps {
        let title = escape(&step.title);
        let reason = escape(&step.reason);
        text += &format!("| {} | {} {title} | {reason} |\n", step.verdict.word(), short(&step.commit));
    }
    text
}

fn conclusion(result: &BisectResult) -> String {
    match result.candidates.as_slice() {
        [] => {
            let end = match result.steps.last() {
                Some(step) if step.commit == result.good => "the good end is not proven to hold the requirement",
                _ => "the bad end is not proven worse than the good one",
            };
            format!("nothing to bisect: {end}; another requirement: --require\n")
        }
        [only] => format!("first bad commit: {only}\n      {}\n", commit_title(only)),
        several => {
            let lines: Vec<String> =
                several.iter().map(|commit| format!("  {} {}\n", short(commit), commit_title(commit))).collect();
            format!(
                "the first bad commit is one of these {}; the others were skipped:\n{}",
                several.len(),
                lines.concat()
            )
        }
    }
}
