//! Evidence behind the numbers: cheating variants, self-reported latencies, launches verified while timed.

use super::inputs::{ReportInputs, RunSource};
use super::text;
use super::{number, timed_clocks};
use ncugate_judge::witness::WorkDurations;
use ncugate_judge::{CapturedVariant, Correctness, VariantResult};
use ncugate_model::{
    Audit, Better, CleanText, LatencyOutcome, ProfileOutcome, ProfileRecord, ProfiledOutputs, SanitizerOutcome,
    SanitizerTool, ShapeName, VariantId,
};
use ncugate_phase::plan::{Method, Variant, VariantRole};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// Most variants named in a sentence.
const NAMED: usize = 3;
/// Most launches of a report listed.
const LISTED: usize = 8;

/// Evidence behind the numbers.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Trust {
    /// Variants that time other work than was checked, in the order of the plan.
    pub cheats: Vec<CheatRow>,
    /// Lines to read first: cheats, self-reported latencies, verified launches.
    pub lines: Vec<CleanText>,
}

/// A variant that cheats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheatRow {
    /// Its id.
    pub variant: CleanText,
    /// The evidence from its timed launches or from the counters.
    pub reason: CleanText,
}

/// The verified launches of a variant among those timed at a shape.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AuditRow {
    /// Launches whose outputs were compared.
    pub launches: u64,
    /// Probability, from 0 to 1, of finding a kernel that is wrong in 1 % of its launches.
    pub chance: f64,
    /// Bytes of the buffers that launches rotated over, as a share of the L2 cache; null if unknown.
    pub l2_share: Option<f64>,
}

impl AuditRow {
    pub fn new(audit: &Audit) -> Self {
        Self { launches: audit.launches, chance: audit.chance, l2_share: audit.l2_share }
    }

    /// `1,024 launches verified while timed; wrong results in 1 % of launches would be found with at least 99.9 % probability`.
    pub fn text(&self) -> String {
        let share = self.l2_share.map_or_else(String::new, |share| {
            format!("; the buffers it rotates over are {} of the L2 cache", number::with_unit(100.0 * share, "%"))
        });
        let launches = number::counted(self.launches as usize, "launch");
        format!(
            "{launches} verified while timed; wrong results in 1 % of launches would be found with {}{share}",
            chance(self)
        )
    }
}

/// `at least 71.8 % probability`; rounded down.
fn chance(audit: &AuditRow) -> String {
    let percent = (100.0 * audit.chance * 10.0).floor() / 10.0;
    format!("at least {percent:.1} % probability")
}

/// Whether the program measures its own latency.
pub fn is_self_reported(variant: &Variant) -> bool {
    matches!(variant.method, Method::Command(_))
}

/// Audits of a run by measured variant and shape.
pub fn audits<'a>(inputs: &ReportInputs<'a>) -> HashMap<(&'a VariantId, &'a ShapeName), &'a Audit> {
    let audits = inputs.run.latencies.iter().filter_map(|record| match &record.outcome {
        LatencyOutcome::Timed { audit, .. }
        | LatencyOutcome::Cheats { audit, .. }
        | LatencyOutcome::Wrong { audit, .. } => Some(((&record.variant, &record.shape), audit.as_ref()?)),
        LatencyOutcome::Failed { .. } => None,
    });
    audits.collect()
}

/// Evidence behind the numbers of a run.
pub fn trust(inputs: &ReportInputs<'_>) -> Trust {
    let cheats = cheats(inputs);
    let found = [said(&cheats), passed_over(inputs), self_reported(inputs)];
    let derived = inputs.phase.workload.has_derived_bound();
    let derived =
        derived.then(|| "Tolerances are derived for each set of inputs (`tolerance = \"derived\"`).".to_owned());
    let lines = found.into_iter().chain([conditional(inputs), derived, verified(inputs), witnessed(inputs)]);
    let lines = lines.flatten().chain(sanitized(inputs)).chain(timed_clocks::cautions(inputs)).chain(captured(inputs));
    let lines = lines.map(CleanText::from).collect();
    Trust { cheats, lines }
}

/// Variants that cheat, in the order of the plan.
pub fn cheats(inputs: &ReportInputs<'_>) -> Vec<CheatRow> {
    let row = |result: &VariantResult| match &result.correctness {
        Correctness::Cheats { reason } => Some(CheatRow { variant: result.variant.0.clone(), reason: reason.into() }),
        Correctness::Proven { .. }
        | Correctness::Wrong { .. }
        | Correctness::Unchecked { .. }
        | Correctness::Unproven { .. } => None,
    };
    inputs.judgement.variants.iter().filter_map(row).collect()
}

/// Most variants of ncu reports described on the first screen.
const DESCRIBED: usize = 20;

/// One line for each variant that consists of launches of ncu reports.
fn captured(inputs: &ReportInputs<'_>) -> Vec<String> {
    let RunSource::Foreign { captured, .. } = &inputs.source else { return Vec::new() };
    let each = |one: &CapturedVariant| format!("{} is {}.", one.variant, launches(one));
    let more = captured.len().saturating_sub(DESCRIBED);
    let more = (more > 0).then(|| format!("{more} more variants are launches of the reports."));
    captured.iter().take(DESCRIBED).map(each).chain(more).collect()
}

/// `launch 9 of torch.ncu-rep, softmax_warp_forward<float, 10>`; for several launches, also how they are combined.
pub fn launches(one: &CapturedVariant) -> String {
    let mut reports: Vec<(&str, Vec<String>)> = Vec::new();
    for (report, launch) in &one.launches {
        match reports.last_mut().filter(|(name, _)| name == report) {
            Some((_, launches)) => launches.push(launch.to_string()),
            None => reports.push((report, vec![launch.to_string()])),
        }
    }
    let of = |(report, launches): &(&str, Vec<String>)| {
        let word = if launches.len() == 1 { "launch" } else { "launches" };
        format!("{word} {} of {}", text::listed(launches, LISTED, ", "), CleanText::from(*report))
    };
    let places = reports.iter().map(of).collect::<Vec<_>>().join(", ");
    let kernels = text::listed(one.kernels.iter().map(CleanText::from), NAMED, ", ");
    let count = one.launches.len();
    let how = if count > 1 { format!("; its metrics are medians over the {count} launches") } else { String::new() };
    format!("{places}, {kernels}{how}")
}

/// `8 variants cheat`.
pub fn cheat_count(cheats: &[CheatRow]) -> Option<String> {
    let verb = if cheats.len() == 1 { "cheats" } else { "cheat" };
    (!cheats.is_empty()).then(|| format!("{} {verb}", number::counted(cheats.len(), "variant")))
}

/// `2 variants cheat: skip (at shape 'wide' ...) and count (...).`
fn said(cheats: &[CheatRow]) -> Option<String> {
    let each = |cheat: &CheatRow| format!("{} ({})", cheat.variant, cheat.reason);
    let named = text::listed(cheats.iter().map(each), NAMED, "; ");
    Some(format!("{} and cannot pass a gate: {named}.", cheat_count(cheats)?))
}

/// `Better by the objective, but not selected because the measurement is rejected: skip (two durations disagree ...).`
fn passed_over(inputs: &ReportInputs<'_>) -> Option<String> {
    let judgement = inputs.judgement;
    let selected = judgement.selected.as_ref()?;
    let better = |value: f64| match inputs.phase.objective.better {
        Better::Higher => value > selected.value,
        Better::Lower | Better::Context => value < selected.value,
    };
    let passed = |result: &&VariantResult| result.rank.is_some() && result.objective.is_some_and(better);
    let each =
        |result: &VariantResult| Some(format!("{} ({})", result.variant, CleanText::from(result.doubt.as_deref()?)));
    let named = text::listed(judgement.variants.iter().filter(passed).filter_map(each), NAMED, "; ");
    (!named.is_empty())
        .then(|| format!("Better by the objective, but not selected because the measurement is rejected: {named}."))
}

/// `Self-reported latency: sdpa_flash (baseline), mine (candidate, cannot pass).`
fn self_reported(inputs: &ReportInputs<'_>) -> Option<String> {
    let each = |variant: &Variant| {
        let what = match variant.standing {
            VariantRole::Baseline => "baseline",
            VariantRole::Candidate => "candidate, cannot pass on its latency",
        };
        format!("{} ({what})", variant.id)
    };
    let programs = inputs.plan.variants.iter().filter(|variant| is_self_reported(variant));
    let named = text::listed(programs.map(each), NAMED, ", ");
    (!named.is_empty()).then(|| format!("Self-reported latency: {named}."))
}

/// `12 variants are launched only at the shapes of their `where`; 6 of them not at large, so they cannot be selected.`
fn conditional(inputs: &ReportInputs<'_>) -> Option<String> {
    let conditional: Vec<&Variant> = inputs.plan.variants.iter().filter(|variant| variant.is_conditional()).collect();
    let objective = &inputs.phase.objective.shape;
    let is_out =
        |variant: &&&Variant| variant.standing == VariantRole::Candidate && variant.left_out_at(objective).is_some();
    let out = match conditional.iter().filter(is_out).count() {
        0 => String::new(),
        1 => format!("; 1 of them not at {objective}, so it cannot be selected"),
        out => format!("; {out} of them not at {objective}, so they cannot be selected"),
    };
    let are = if conditional.len() == 1 {
        "is launched only at the shapes of its"
    } else {
        "are launched only at the shapes of their"
    };
    let variants = number::counted(conditional.len(), "variant");
    (!conditional.is_empty()).then(|| format!("{variants} {are} `where`{out}."))
}

/// Verified timed launches of kernels: the total, and the least verified variant.
fn verified(inputs: &ReportInputs<'_>) -> Option<String> {
    let is_cheat = |result: &&VariantResult| matches!(result.correctness, Correctness::Cheats { .. });
    let cheats: HashSet<&VariantId> = inputs.judgement.variants.iter().filter(is_cheat).map(|r| &r.variant).collect();
    let audits = audits(inputs);
    let rows: Vec<AuditRow> = audits.values().map(|audit| AuditRow::new(audit)).collect();
    // sums the launches over all shapes; a cheat is detected before all its launches are verified
    let mut by_variant: HashMap<&VariantId, u64> = HashMap::new();
    for ((variant, _), audit) in audits.iter().filter(|((variant, _), _)| !cheats.contains(variant)) {
        *by_variant.entry(variant).or_default() += audit.launches;
    }
    let fewest = *by_variant.values().min()?;
    let least = AuditRow { launches: fewest, chance: Audit::chance_after(fewest), l2_share: None };
    let launches: u64 = rows.iter().map(|row| row.launches).sum();
    let share = rows.iter().filter_map(|row| row.l2_share).reduce(f64::max).map_or_else(String::new, |share| {
        format!("; buffers take up to {} of the L2 cache", number::with_unit(100.0 * share, "%"))
    });
    let all = number::counted(launches as usize, "timed launch");
    Some(format!(
        "Verified the outputs of {all}{}. A variant that is wrong in 1 % of its launches would be found with {}{share}.",
        profiled(inputs),
        chance(&least),
    ))
}

/// ` and 12 profiled launches`: launches verified under a profiler.
fn profiled(inputs: &ReportInputs<'_>) -> String {
    let kernels: Vec<_> = inputs.run.profiles.iter().filter(|record| has_launches(record)).collect();
    let compared = kernels.iter().filter_map(|record| match record.outputs {
        Some(ProfiledOutputs::Right { evaluations, .. }) => Some(evaluations as usize),
        Some(ProfiledOutputs::Wrong { .. }) => Some(1),
        Some(ProfiledOutputs::OfCommand) | None => None,
    });
    match compared.sum::<usize>() {
        0 => String::new(),
        count => format!(" and {}", number::counted(count, "profiled launch")),
    }
}

/// The selected variant's durations alone and under the profiler, at the shape where they differ most.
fn witnessed(inputs: &ReportInputs<'_>) -> Option<String> {
    let selected = inputs.judgement.selected.as_ref()?;
    let result = inputs.judgement.variants.iter().find(|result| result.variant == selected.variant)?;
    let share = |work: &WorkDurations| (work.profiled_us - work.isolated_us).abs() / work.accepted_us;
    let (shape, work) = result.durations.iter().max_by(|(_, a), (_, b)| share(a).total_cmp(&share(b)))?;
    let place = match result.durations.len() {
        1 => format!("at shape '{shape}'"),
        shapes => format!("at shape '{shape}', the nearest to its limit of {shapes}"),
    };
    Some(format!("Work of the selected variant {place}: {work}."))
}

/// `compute-sanitizer 2025.3.1.0 (memcheck, racecheck): 5 variants clean, 1 variant with findings.`
fn sanitized(inputs: &ReportInputs<'_>) -> Option<String> {
    let records = &inputs.run.sanitizer;
    let version = records.iter().find_map(|record| record.version.as_deref()).unwrap_or("not found");
    let mut tools: Vec<SanitizerTool> = records.iter().map(|record| record.tool).collect();
    tools.sort_unstable();
    tools.dedup();
    let tools: Vec<&str> = tools.into_iter().map(SanitizerTool::as_str).collect();
    let mut worst: HashMap<&VariantId, u8> = HashMap::new();
    for record in records {
        let gravity = match record.outcome {
            SanitizerOutcome::Clean => 0,
            SanitizerOutcome::Failed { .. } => 1,
            SanitizerOutcome::Found { .. } => 2,
        };
        let known = worst.entry(&record.variant).or_default();
        *known = gravity.max(*known);
    }
    let count = |gravity: u8, words: &str| {
        let variants = worst.values().filter(|known| **known == gravity).count();
        (variants > 0).then(|| format!("{} {words}", number::counted(variants, "variant")))
    };
    let counts = [count(0, "clean"), count(1, "without a result"), count(2, "with findings")];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    (!counts.is_empty()).then(|| format!("compute-sanitizer {version} ({}): {}.", tools.join(", "), counts.join(", ")))
}

fn has_launches(record: &ProfileRecord) -> bool {
    match record.outcome {
        ProfileOutcome::Profiled { .. } | ProfileOutcome::Traced { .. } => true,
        ProfileOutcome::Failed { .. } => false,
    }
}
