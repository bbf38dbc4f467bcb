//! The checks of a phase without a GPU, as text.

use super::document::{Column, DocumentBlock, DocumentTable, TableCell};
use indexmap::IndexMap;
use ncugate_judge::{GateResult, GroupKind, StaticCheck, StaticGroup, VariantFacts};
use ncugate_model::compiler_warnings;
use ncugate_model::number::{self, text};
use ncugate_model::{BuildOutcome, BuildRecord, ShapeName, Verdict};
use ncugate_phase::plan::{Plan, Variant, VariantRole};
use std::cmp::Ordering;
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
    let mut text = String::new();
    for other in &ahead.groups {
        text.push_str(&group(other));
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

/// Lines of gates, each after `tier 'stretch' (not required): `.
fn group(group: &StaticGroup) -> String {
    let lead = match (group.kind, group.required) {
        (GroupKind::Phase, _) => String::new(),
        (GroupKind::Stage, false) => format!("{} (may be skipped): ", group.name),
        (GroupKind::Tier, false) => format!("{} (not required): ", group.name),
        (_, true) | (GroupKind::Fallback, false) => format!("{}: ", group.name),
    };
    let line = |gate: &GateResult| verdict(&format!("{lead}{}", gate.name), gate.verdict, &gate.reason);
    let mut text: String = group.judged.iter().map(line).collect();
    let mut by_reason: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for gate in &group.unjudged {
        by_reason.entry(&gate.reason).or_default().push(&gate.name);
    }
    for (reason, gates) in by_reason {
        let _ = writeln!(text, "  {:12} {lead}{}: {reason}", "not judged", gates.join("; "));
    }
    text
}

/// Most variants in a table that does not list all of them.
const LISTED: usize = 10;

/// The variants of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactRows {
    /// In the order of the plan.
    All,
    /// The ten with the highest theoretical occupancy; of equal ones those with fewer spills, then with fewer registers.
    Best,
}

/// The facts of variants from build, launch and chip, a line each; empty if no variant has any.
pub fn facts(plan: &Plan, ahead: &StaticCheck, shape: &ShapeName, rows: FactRows) -> Vec<DocumentBlock> {
    let all = plan.variants.iter().zip(&ahead.facts).filter(|(_, facts)| **facts != VariantFacts::default());
    let mut listed: Vec<(&Variant, &VariantFacts)> = all.collect();
    let left = listed.len().saturating_sub(LISTED);
    if rows == FactRows::Best && left > 0 {
        let most = |value: Option<f64>| value.unwrap_or(f64::INFINITY);
        let key = |facts: &VariantFacts| {
            [-facts.theoretical_occupancy.unwrap_or(-1.0), most(facts.spills), most(facts.registers)]
        };
        listed.sort_by(|(_, a), (_, b)| {
            key(a).iter().zip(key(b)).map(|(a, b)| a.total_cmp(&b)).fold(Ordering::Equal, Ordering::then)
        });
        listed.truncate(LISTED);
    }
    let numbers = ["registers", "spills", "shared_mem", "occupancy %", "blocks/SM"].map(Column::number);
    let columns = [Column::text(format!("  at shape {shape}"))].into_iter().chain(numbers);
    let columns = columns.chain([Column::text("limited by")]).collect();
    let mut table = DocumentTable { is_whole: true, ..DocumentTable::new("Facts of variants", columns) };
    for (variant, facts) in listed {
        let name = match &facts.shape {
            Some(other) if other != shape => format!("  {} (at {other})", variant.id),
            _ => format!("  {}", variant.id),
        };
        let VariantFacts { registers, spills, shared_mem, theoretical_occupancy, blocks_per_sm, .. } = facts;
        let numbers = [registers, spills, shared_mem, theoretical_occupancy, blocks_per_sm];
        let cells = numbers
            .map(|value| value.map_or_else(|| TableCell::missing(""), |n| TableCell::value(n, number::short(n))));
        let limiters = TableCell::new(facts.limiters.join(", "));
        table.row([TableCell::new(name)].into_iter().chain(cells).chain([limiters]).collect());
    }
    let more = (rows == FactRows::Best && left > 0)
        .then(|| DocumentBlock::Aside(format!("the {LISTED} with the highest occupancy; -v lists {left} more")));
    table.block().into_iter().chain(more).collect()
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
                let mut by_reason: IndexMap<(bool, String), Vec<String>> = IndexMap::new();
                for out in left_out {
                    let is_excluded = variant.left_out_at(&out.shape).is_some();
                    by_reason.entry((is_excluded, out.reasons.join("\n"))).or_default().push(out.shape.to_string());
                }
                for ((is_excluded, why), shapes) in by_reason {
                    let shapes = if shapes.len() == 1 {
                        format!("shape {}", shapes[0])
                    } else {
                        text::listed(&shapes, NAMED, ", ")
                    };
                    let what = match is_excluded {
                        true => format!(
                            "is not launched at {shapes}; gates on `each` or a glob judge it at its other shapes"
                        ),
                        false => format!("cannot be launched at {shapes} on {arch}; gates there are inconclusive"),
                    };
                    failures.add(&variant.id.0, what, why);
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

/// Most variants or shapes named for one cause.
const NAMED: usize = 3;

impl Failures {
    fn add(&mut self, variant: &str, what: String, why: String) {
        self.0.entry((what, why)).or_default().push(variant.to_owned());
    }

    fn text(&self) -> String {
        let block = |((what, why), variants): (&(String, String), &Vec<String>)| {
            format!("  {}: {what}\n{}\n", text::listed(variants.iter(), NAMED, "; "), indented(why))
        };
        self.0.iter().map(block).collect()
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
