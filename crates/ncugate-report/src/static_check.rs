//! The checks of a phase without a GPU, as text.

use indexmap::IndexMap;
use ncugate_judge::{GateResult, GroupKind, PendingGate, StaticCheck, StaticGroup, VariantFacts};
use ncugate_model::compiler_warnings;
use ncugate_model::number::{self, text};
use ncugate_model::{BuildOutcome, BuildRecord, ShapeName, Verdict};
use ncugate_phase::plan::{Plan, VariantRole};
use std::fmt::Write;

/// A gate or a precondition in a line.
pub fn verdict(name: &str, verdict: Verdict, reason: &str) -> String {
    let word = match verdict {
        Verdict::Pass | Verdict::Inconclusive => verdict.word(),
        Verdict::Fail => verdict.mark(),
    };
    format!("  {word:12} {name}: {reason}\n")
}

/// Verdicts of gates, and the gates that were not judged: those of the phase, then those of tiers, stages and the
/// fallback.
pub fn gates(ahead: &StaticCheck) -> String {
    let mut text = group("", &ahead.judged, &ahead.unjudged);
    for other in ahead.groups.iter().chain(&ahead.fallback) {
        text.push_str(&group(&format!("{}: ", titled(other)), &other.judged, &other.unjudged));
        // a gate that fails on its own is shown with its reason
        let by_itself = other.judged.iter().any(|gate| gate.verdict == Verdict::Fail);
        if let Some(impossible) = other.impossible.as_ref().filter(|_| !by_itself) {
            let _ = writeln!(text, "  {:12} {impossible}", Verdict::Fail.mark());
        }
    }
    for narrow in &ahead.narrow {
        let _ = writeln!(text, "  {:12} {narrow}", "note");
    }
    for stop in ahead.impossible.iter().chain(&ahead.stopped) {
        let _ = writeln!(text, "  {:12} {stop}", Verdict::Fail.mark());
    }
    if let Some(left) = ahead.left() {
        let _ = writeln!(text, "  {:12} {left}", "note");
    }
    text
}

/// `tier 'stretch' (not required)`.
pub fn titled(group: &StaticGroup) -> String {
    match (group.kind, group.required) {
        (_, true) | (GroupKind::Fallback, false) => group.name.clone(),
        (GroupKind::Stage, false) => format!("{} (may be skipped)", group.name),
        (GroupKind::Tier, false) => format!("{} (not required)", group.name),
    }
}

fn group(lead: &str, judged: &[GateResult], unjudged: &[PendingGate]) -> String {
    let line = |gate: &GateResult| verdict(&format!("{lead}{}", gate.name), gate.verdict, &gate.reason);
    let mut text: String = judged.iter().map(line).collect();
    let mut by_reason: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for gate in unjudged {
        by_reason.entry(&gate.reason).or_default().push(&gate.name);
    }
    for (reason, gates) in by_reason {
        let _ = writeln!(text, "  {:12} {lead}{}: {reason}", "not judged", gates.join("; "));
    }
    text
}

/// One line for each variant with the facts from build, launch and chip.
pub fn facts(plan: &Plan, ahead: &StaticCheck, shape: &ShapeName) -> String {
    let cell = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), number::short);
    let head = ["registers", "spills", "shared_mem", "occupancy %", "blocks/SM", "limited by"].map(str::to_owned);
    let row = |facts: &VariantFacts| {
        [
            cell(facts.registers),
            cell(facts.spills),
            cell(facts.shared_mem),
            cell(facts.theoretical_occupancy),
            cell(facts.blocks_per_sm),
            facts.limiters.join(", "),
        ]
    };
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(ahead.facts.iter().map(row)).collect();
    let names = std::iter::once(format!("at shape {shape}")).chain(plan.variants.iter().map(|v| v.id.0.to_string()));
    let names: Vec<String> = names.collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for (name, [registers, spills, shared, occupancy, blocks, limiters]) in names.iter().zip(&rows) {
        let _ = writeln!(
            text,
            "  {}  {registers:>9}  {spills:>6}  {shared:>10}  {occupancy:>11}  {blocks:>9}  {limiters}",
            text::left(name, widest)
        );
    }
    text
}

/// The builds for an architecture, as text and as a verdict.
///
/// Fails if no kernel candidate is left. A phase with only external commands as candidates has nothing to build, and
/// passes.
pub fn builds(plan: &Plan, builds: &[BuildRecord], arch: &str) -> (String, Verdict) {
    let (mut standing, mut kernels, mut built) = (0, 0, 0);
    let mut failures = Failures::default();
    for (variant, build) in plan.variants.iter().zip(builds) {
        let candidate = usize::from(variant.standing == VariantRole::Candidate);
        if build.outcome != BuildOutcome::NotNeeded {
            kernels += candidate;
        }
        match &build.outcome {
            BuildOutcome::NotNeeded => standing += candidate,
            BuildOutcome::Built { left_out, .. } => {
                standing += candidate;
                built += candidate;
                for out in left_out {
                    let what = format!("is not launched at shape {} on {arch}, and is judged where it is", out.shape);
                    failures.add(&variant.id.0, what, out.reasons.join("\n"));
                }
            }
            BuildOutcome::Failed { message } => {
                failures.add(&variant.id.0, format!("does not build for {arch}"), message.clone());
            }
            BuildOutcome::Refused { reasons, .. } => {
                failures.add(&variant.id.0, format!("cannot be launched on {arch}"), reasons.join("\n"));
            }
        }
    }
    let mut text = failures.text();
    for warning in compiler_warnings(builds) {
        let _ = writeln!(text, "  {warning}");
    }
    let candidates = plan.candidates().count();
    if kernels == 0 {
        let _ = writeln!(
            text,
            "  nothing is built: {candidates} of {candidates} candidates are Python functions or external commands"
        );
        return (text, if candidates > 0 { Verdict::Pass } else { Verdict::Inconclusive });
    }
    let shared = builds.iter().filter(|b| b.shares.is_some()).count();
    let _ = writeln!(
        text,
        "  {standing} of {candidates} candidates build for {arch}; {shared} share another's machine code"
    );
    (text, if built == 0 { Verdict::Fail } else { Verdict::Pass })
}

/// Unusable variants, grouped by cause.
#[derive(Default)]
struct Failures(IndexMap<(String, String), Vec<String>>);

/// Most variants named for one cause.
const NAMED: usize = 3;

impl Failures {
    fn add(&mut self, variant: &str, what: String, why: String) {
        self.0.entry((what, why)).or_default().push(variant.to_owned());
    }

    fn text(&self) -> String {
        let block = |((what, why), variants): (&(String, String), &Vec<String>)| {
            let more = variants.len().saturating_sub(NAMED);
            let named = variants.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("  {named}{more}: {what}\n{}\n", indented(why))
        };
        self.0.iter().map(block).collect()
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
