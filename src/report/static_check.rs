//! What is known of a phase without a GPU, in words.

use crate::build::warnings;
use crate::judge::StaticCheck;
use crate::model::{BuildOutcome, BuildRecord, Verdict};
use crate::plan::{Plan, Standing};
use indexmap::IndexMap;
use std::fmt::Write;

/// A gate or a precondition in a line.
pub fn verdict(name: &str, verdict: Verdict, reason: &str) -> String {
    let word = match verdict {
        Verdict::Pass | Verdict::Inconclusive => verdict.word(),
        Verdict::Fail => verdict.mark(),
    };
    format!("  {word:12} {name}: {reason}\n")
}

/// How gates were judged, and which were not.
pub fn gates(ahead: &StaticCheck) -> String {
    let mut text: String = ahead.judged.iter().map(|gate| verdict(&gate.name, gate.verdict, &gate.reason)).collect();
    let mut by_reason: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for gate in &ahead.unjudged {
        by_reason.entry(&gate.reason).or_default().push(&gate.name);
    }
    for (reason, gates) in by_reason {
        let _ = writeln!(text, "  {:12} {}: {reason}", "not judged", gates.join("; "));
    }
    for narrow in &ahead.narrow {
        let _ = writeln!(text, "  {:12} {narrow}", "note");
    }
    if let Some(impossible) = &ahead.impossible {
        let _ = writeln!(text, "  {:12} {impossible}", Verdict::Fail.mark());
    }
    text
}

/// What was built for an architecture, in words and as a verdict.
///
/// Failed when no candidate that is a kernel is left, inconclusive when there is none: an external command proves nothing
/// here, nor does a baseline that builds.
pub fn builds(plan: &Plan, builds: &[BuildRecord], arch: &str) -> (String, Verdict) {
    let (mut text, mut standing, mut kernels, mut built) = (String::new(), 0, 0, 0);
    for (variant, build) in plan.variants.iter().zip(builds) {
        let candidate = usize::from(variant.standing == Standing::Candidate);
        if build.outcome != BuildOutcome::NotNeeded {
            kernels += candidate;
        }
        match &build.outcome {
            BuildOutcome::NotNeeded => standing += candidate,
            BuildOutcome::Built { .. } => {
                standing += candidate;
                built += candidate;
            }
            BuildOutcome::Failed { message } => {
                let _ = writeln!(text, "  {}: does not build for {arch}\n{}", variant.id, indented(message));
            }
            BuildOutcome::Refused { reasons, .. } => {
                let reasons = indented(&reasons.join("\n"));
                let _ = writeln!(text, "  {}: cannot be launched on {arch}\n{reasons}", variant.id);
            }
        }
    }
    for warning in warnings(builds) {
        let _ = writeln!(text, "  {warning}");
    }
    let shared = builds.iter().filter(|b| b.shares.is_some()).count();
    let candidates = plan.candidates().count();
    let _ = writeln!(
        text,
        "  {standing} of {candidates} candidates build for {arch}; {shared} share another's machine code"
    );
    let verdict = match (kernels, built) {
        (0, _) => {
            text.push_str("  nothing is built: all variants are external commands\n");
            Verdict::Inconclusive
        }
        (_, 0) => Verdict::Fail,
        (_, _) => Verdict::Pass,
    };
    (text, verdict)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
