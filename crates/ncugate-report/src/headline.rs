//! The banner: the facts that a reader needs in ten seconds, generated from the data by rules.

use super::inputs::{ReportInputs, RunSource};
use super::model::{Conclusion, Fact, Headline, ObjectiveRow};
use super::number::Number;
use super::trust::{cheat_count, cheats};
use super::{in_use, number, selected_times, text};
use ncu_explain::MetricColumn;
use ncugate_judge::{
    Correctness, FallbackResult, GateResult, Judgement, OccupancyLimit, StageResult, TargetGpu, UnreachableLimit,
    VariantResult, unreachable_limits,
};
use ncugate_model::expr::{Comparison, Reference};
use ncugate_model::metric::{Catalogue, ShownIn};
use ncugate_model::{CleanText, Level, ShapeName, VariantId, Verdict};
use std::collections::HashSet;

pub fn headline(inputs: &ReportInputs<'_>, metrics: &[MetricColumn]) -> Headline {
    let judgement = inputs.judgement;
    let fallback = judgement.fallback.as_ref().is_some_and(|f| f.verdict == Verdict::Pass);
    Headline {
        verdict: judgement.verdict,
        conclusion: Conclusion::new(judgement.verdict, fallback),
        reason: CleanText::whole(&text::sentence(&reason(inputs))),
        changed_limits: judgement.changed_limits.iter().map(|said| CleanText::whole(&text::sentence(said))).collect(),
        cautions: judgement.cautions.iter().map(|caution| text::sentence(caution).into()).collect(),
        stages: stages(judgement).map(CleanText::from),
        obstacle: obstacle(inputs).map(CleanText::from),
        scope: scope(inputs).into(),
        tier: tier(inputs).map(CleanText::from),
        selected: judgement.selected.as_ref().map(|s| s.variant.0.clone()),
        facts: facts(inputs, metrics),
    }
}

/// Why the phase ends as it does, in one sentence: if required gates fail, the worst of them or the limit that no
/// variant can reach; else the judge's reason.
fn reason(inputs: &ReportInputs<'_>) -> String {
    let judgement = inputs.judgement;
    let required: Vec<&GateResult> = judgement.gates.iter().filter(|g| g.level == Level::Required).collect();
    let mut failed: Vec<&GateResult> =
        required.iter().copied().filter(|g| g.verdict == Verdict::Fail && g.waived.is_none()).collect();
    failed.sort_by(|a, b| shortfall(b).total_cmp(&shortfall(a)));
    let fallback = judgement.fallback.as_ref();
    let goes = judgement.preconditions.iter().all(|c| c.verdict == Verdict::Pass);
    match (judgement.verdict, failed.first()) {
        (Verdict::Pass, Some(_)) if fallback.is_some() => {
            let replacement = fallback.map_or_else(String::new, |taken| replacement(inputs, taken));
            let (count, verb) = (failed.len(), if failed.len() == 1 { "fails" } else { "fail" });
            let gates = number::counted(count, "required gate");
            format!("{gates} {verb} for the selected variant; {replacement}")
        }
        (Verdict::Pass, _) if fallback.is_none() => {
            let words = judgement.reason.trim_end_matches('.');
            let closest = closest(inputs, &required).map(|gate| format!("; the closest is {gate}")).unwrap_or_default();
            let failing = failing_advice(judgement).map(|failing| format!("; {failing}")).unwrap_or_default();
            format!("{words}{closest}{failing}")
        }
        (Verdict::Fail, Some(worst)) if goes => {
            let first = unreachable(inputs, &failed).unwrap_or_else(|| failure(worst));
            let rest = match failed.len() - 1 {
                0 => String::new(),
                1 => "; 1 other required gate fails".to_owned(),
                more => format!("; {more} other required gates fail"),
            };
            let fallback = if fallback.is_some() { "; the fallback does not pass either" } else { "" };
            format!("{first}{rest}{fallback}")
        }
        _ => judgement.reason.clone(),
    }
}

/// `no variant can reach 20 % achieved occupancy at mission: 128 blocks of 8 warps on 132 SMs give at most 12.5 %`, for
/// the first failed gate with such a limit.
fn unreachable(inputs: &ReportInputs<'_>, failed: &[&GateResult]) -> Option<String> {
    let gpu = inputs.run.manifest.fingerprint.gpu.as_ref()?;
    let target = TargetGpu { capability: gpu.compute_capability, sms: Some(gpu.sms) };
    let limits = unreachable_limits(inputs.phase, inputs.plan, Some(inputs.quantities), target);
    let is_failed = |limit: &&UnreachableLimit<'_>| {
        failed.iter().any(|gate| (gate.line, &gate.name) == (limit.gate.line, &limit.gate.name))
    };
    let UnreachableLimit { shape, metric, limit, most, cause, blocks, warps, sms, .. } =
        limits.iter().find(is_failed)?;
    let known = Catalogue::embedded().get(metric);
    let (title, unit) = known.map_or((*metric, ""), |known| (&known.title, &known.unit));
    let (limit, most) = (number::limit(*limit, unit), number::limit(*most, unit));
    let title = text::inside(title);
    let why = match cause {
        OccupancyLimit::Grid => format!("{blocks} blocks of {warps} warps on {sms} SMs give at most {most}"),
        OccupancyLimit::Resources(_) => format!("registers, shared memory and block size allow at most {most}"),
    };
    Some(format!("no variant can reach {limit} {title} at {shape}: {why}"))
}

/// `required gate 'registers' fails: 96 registers/thread, needs at most 64 registers/thread (A=1 at mission)`
fn failure(gate: &GateResult) -> String {
    let numbers = gate.deciding_case().zip(way(gate)).and_then(|(case, way)| {
        let (measured, limit) = case.outcome.measured.zip(case.outcome.limit)?;
        let numbers = number::related(measured, &format!(", needs {way} "), limit, &gate.unit);
        Some(format!("{numbers} ({} at {})", case.variant, case.shape))
    });
    let why = numbers.unwrap_or_else(|| gate.summary.why.to_string());
    format!("required gate '{}' fails: {why}", gate.name)
}

/// `the fallback A=1 passes its 1 gate and is 13.9× slower than sdpa_default at mission`
fn replacement(inputs: &ReportInputs<'_>, fallback: &FallbackResult) -> String {
    let id = fallback.variant.as_ref();
    let gates = fallback.gates.iter().filter(|gate| gate.level == Level::Required).count();
    let compared = id.and_then(|id| in_use::beside_baseline(inputs, id));
    let compared =
        compared.map_or_else(String::new, |note| format!(" and is {note} at {}", inputs.phase.objective.shape));
    let name = id.map_or_else(String::new, |id| format!(" {id}"));
    format!("the fallback{name} passes its {}{compared}", number::counted(gates, "gate"))
}

/// `advisory gate 'a' fails`, `3 advisory gates fail, first 'a'`; none if all hold.
fn failing_advice(judgement: &Judgement) -> Option<String> {
    let is_failing =
        |gate: &&GateResult| gate.level == Level::Advisory && gate.verdict == Verdict::Fail && gate.waived.is_none();
    let failing: Vec<&GateResult> = judgement.gates.iter().filter(is_failing).collect();
    match failing.as_slice() {
        [] => None,
        [only] => Some(format!("advisory gate '{}' fails", only.name)),
        [first, ..] => {
            Some(format!("{} fail, first '{}'", number::counted(failing.len(), "advisory gate"), first.name))
        }
    }
}

/// ` at 12 of 16 shapes`, if a gate judges fewer shapes than were timed.
fn covered(inputs: &ReportInputs<'_>, gate: &GateResult) -> String {
    let metric = &inputs.phase.objective.metric;
    let is_timed = |shape: &&ShapeName| {
        inputs.plan.candidates().any(|v| inputs.quantities.read(&v.id, shape, metric).value().is_some())
    };
    let judged: HashSet<&ShapeName> = gate.cases.iter().map(|case| &case.shape).filter(is_timed).collect();
    let timed = inputs.phase.workload.shapes.iter().map(|shape| &shape.name).filter(is_timed).count();
    if judged.is_empty() || judged.len() >= timed {
        String::new()
    } else {
        format!(" at {} of {timed} shapes", judged.len())
    }
}

/// The passing gate with the smallest margin.
fn closest(inputs: &ReportInputs<'_>, required: &[&GateResult]) -> Option<String> {
    let room = |gate: &&&GateResult| {
        // a yes/no condition and an exact number have no distance
        let ordered = gate.require.comparison().is_some_and(Comparison::is_order);
        let yes_or_no = gate.require.reads().quantities.iter().any(|read| read.name == "correct");
        if !ordered || yes_or_no {
            return None;
        }
        let case = gate.deciding_case()?;
        let (margin, limit) = case.outcome.margin.zip(case.outcome.limit).filter(|(_, limit)| *limit != 0.0)?;
        Some(margin / limit.abs())
    };
    let held = required.iter().filter(|gate| gate.verdict == Verdict::Pass);
    let (_, gate) = held.filter_map(|gate| Some((room(&gate)?, gate))).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (measured, limit) = gate.deciding_case().and_then(|c| c.outcome.measured.zip(c.outcome.limit))?;
    let needs = format!(", needs {} ", gate.require.comparison()?.symbol());
    let numbers = number::related(measured, &needs, limit, &gate.unit);
    Some(format!("'{}'{} ({numbers})", gate.name, covered(inputs, gate)))
}

/// `2 of 6 stages kept; 'double_buffering' is the first that was not (1.014× against 1.1× to 1.15× expected).`
fn stages(judgement: &Judgement) -> Option<String> {
    if judgement.stages.is_empty() {
        return None;
    }
    let accepted: Vec<&StageResult> = judgement.stages.iter().filter(|stage| stage.accepted).collect();
    let kept = accepted.len();
    // cumulative speedups are over the first kept stage
    let gain = accepted.first().zip(accepted.iter().filter_map(|stage| stage.cumulative).next_back());
    let gain = gain.filter(|(_, gain)| *gain != 1.0).map_or_else(String::new, |(first, gain)| {
        format!(", {} over '{}'", number::in_sentence(gain, "x"), first.name)
    });
    let lost = judgement.stages.iter().find(|stage| !stage.accepted).map_or_else(String::new, |stage| {
        let measured = stage.measured.map(|gain| format!("{} measured", number::in_sentence(gain, "x")));
        let expected = stage.expected.map(|(low, high)| {
            format!("{} to {} expected", number::in_sentence(low, "x"), number::in_sentence(high, "x"))
        });
        let numbers: Vec<String> = measured.into_iter().chain(expected).collect();
        let numbers = if numbers.is_empty() { String::new() } else { format!(" ({})", numbers.join(", ")) };
        format!("; '{}' is the first that was not{numbers}", stage.name)
    });
    let all = number::counted(judgement.stages.len(), "stage");
    let gains = gains(judgement).map_or_else(String::new, |gains| format!("; by step: {gains}"));
    Some(text::sentence(&format!("{kept} of {all} kept{gain}{lost}{gains}")))
}

/// `'a' 1.19× (1.05× to 1.15×), 'b' 1.015× (1.1× to 1.15×, not kept)`: the gain of each step over the last kept one,
/// with the expected range.
fn gains(judgement: &Judgement) -> Option<String> {
    let of = |stage: &StageResult| {
        let range = stage
            .expected
            .map(|(low, high)| format!("{} to {}", number::in_sentence(low, "x"), number::in_sentence(high, "x")));
        let notes: Vec<String> = range.into_iter().chain((!stage.accepted).then(|| "not kept".to_owned())).collect();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
        Some(format!("'{}' {}{notes}", stage.name, number::in_sentence(stage.measured?, "x")))
    };
    let gains: Vec<String> = judgement.stages.iter().filter_map(of).collect();
    (gains.len() > 1).then(|| gains.join(", "))
}

/// Distance of the deciding case from its limit, relative to the limit; lowest if it has none.
fn shortfall(gate: &GateResult) -> f64 {
    let numbers =
        gate.deciding_case().and_then(|c| c.outcome.margin.zip(c.outcome.limit)).filter(|(_, limit)| *limit != 0.0);
    numbers.map_or(f64::NEG_INFINITY, |(margin, limit)| -margin / limit.abs())
}

/// `the best variant that passes every gate is B (+3.2 % in latency_p50)`, if the phase fails for the selected one.
fn obstacle(inputs: &ReportInputs<'_>) -> Option<String> {
    let mut ranked: Vec<&VariantResult> = inputs.judgement.variants.iter().filter(|v| v.rank.is_some()).collect();
    ranked.sort_by_key(|v| v.rank);
    let first = ranked.first().filter(|first| first.verdict == Verdict::Fail)?;
    let free = ranked.iter().find(|v| v.verdict == Verdict::Pass)?;
    let cost = free.objective.zip(first.objective).map_or_else(String::new, |(ours, best)| {
        format!(" ({} in {})", number::change(ours / best), inputs.phase.objective.metric)
    });
    Some(format!("The best variant that passes every required gate is {}{cost}.", free.variant))
}

fn scope(inputs: &ReportInputs<'_>) -> String {
    let right = |v: &&VariantResult| matches!(v.correctness, Correctness::Proven { .. });
    let candidates: HashSet<&VariantId> = inputs.plan.candidates().map(|v| &v.id).collect();
    let proven = inputs.judgement.variants.iter().filter(right).filter(|r| candidates.contains(&r.variant)).count();
    if let RunSource::Foreign { .. } = inputs.source {
        return format!(
            "{} on {} of ncu reports, whose results nothing here checked; {}",
            number::counted(gates(inputs.judgement), "gate"),
            number::counted(candidates.len(), "variant"),
            number::counted(inputs.plan.baselines().count(), "baseline"),
        );
    }
    let cheats = cheat_count(&cheats(inputs)).map_or_else(String::new, |count| format!("; {count}"));
    format!(
        "{} on {}, {} proven correct over {}{cheats}; {}{}",
        number::counted(gates(inputs.judgement), "gate"),
        number::counted(candidates.len(), "variant"),
        number::plain(proven as f64),
        number::counted(inputs.run.checks.len(), "check"),
        number::counted(inputs.plan.baselines().count(), "baseline"),
        kinds_of_gates(inputs.judgement),
    )
}

/// Numbers of gates of the phase, its tiers, its stages and its fallback.
fn gates_by_owner(judgement: &Judgement) -> [(&'static str, usize); 4] {
    [
        ("of the phase", judgement.gates.len()),
        ("of tiers", judgement.tiers.iter().map(|tier| tier.gates.len()).sum()),
        ("of stages", judgement.stages.iter().map(|stage| stage.gates.len()).sum()),
        ("of the fallback", judgement.fallback.iter().map(|fallback| fallback.gates.len()).sum()),
    ]
}

/// Number of judged gates.
fn gates(judgement: &Judgement) -> usize {
    gates_by_owner(judgement).iter().map(|(_, count)| count).sum()
}

/// `; gates: 12 of the phase (8 required), 6 of tiers`; empty if all gates are required ones of the phase.
fn kinds_of_gates(judgement: &Judgement) -> String {
    let required = judgement.gates.iter().filter(|gate| gate.level == Level::Required).count();
    if required == gates(judgement) {
        return String::new();
    }
    let owners = gates_by_owner(judgement).into_iter().enumerate().filter(|(_, (_, count))| *count > 0);
    let parts: Vec<String> = owners
        .map(|(at, (owner, count))| match at {
            0 => format!("{count} {owner} ({required} required)"),
            _ => format!("{count} {owner}"),
        })
        .collect();
    format!("; gates: {}", parts.join(", "))
}

fn tier(inputs: &ReportInputs<'_>) -> Option<String> {
    let tiers = &inputs.judgement.tiers;
    if tiers.is_empty() {
        return None;
    }
    let reached = inputs.judgement.tier_reached.as_deref();
    let at = reached.and_then(|name| tiers.iter().position(|t| t.name == name)).map_or(0, |at| at + 1);
    let next = tiers.get(at).map(|tier| {
        let missing = tier
            .gates
            .iter()
            .find(|g| g.verdict != Verdict::Pass)
            .map_or_else(|| "its gates".to_owned(), |g| g.name.to_string());
        format!("; tier {} still needs {missing}", tier.name)
    });
    let reached = reached.map_or_else(|| "No tier reached".to_owned(), |name| format!("Tier {name} reached"));
    Some(format!("{reached}{}", next.unwrap_or_default()))
}

/// The objective of the selection.
pub fn objective(inputs: &ReportInputs<'_>, metrics: &[MetricColumn]) -> Option<ObjectiveRow> {
    let objective = &inputs.phase.objective;
    let metric = metrics.iter().find(|m| m.name == objective.metric)?;
    let selected = in_use::banner_variant(inputs.judgement);
    let value = selected.and_then(|id| selected_times::value(inputs.quantities, id, &objective.shape, &metric.name));
    Some(ObjectiveRow {
        metric: (&metric.name).into(),
        title: (&metric.title).into(),
        unit: (&metric.unit).into(),
        value: value.map(Number::new),
        note: selected.zip(value).map_or_else(String::new, |(id, _)| note(inputs, metric, id)).into(),
    })
}

/// The most important numbers of the variant in the banner.
fn facts(inputs: &ReportInputs<'_>, metrics: &[MetricColumn]) -> Vec<Fact> {
    let Some(selected) = in_use::banner_variant(inputs.judgement) else { return Vec::new() };
    let objective = inputs.phase.objective.metric.as_str();
    let facts = Catalogue::embedded().shown(ShownIn::Headline);
    let names = std::iter::once(objective).chain(facts.filter(|name| *name != objective));
    names
        .filter_map(|name| {
            let metric = metrics.iter().find(|m| m.name == name)?;
            let value = selected_times::value(inputs.quantities, selected, &inputs.phase.objective.shape, name)?;
            Some(Fact {
                label: (&metric.title).into(),
                text: number::with_unit(value, &metric.unit).into(),
                note: note(inputs, metric, selected).into(),
            })
        })
        .collect()
}

/// For the objective, the speed relative to the default baseline; else the gate's limit.
fn note(inputs: &ReportInputs<'_>, metric: &MetricColumn, selected: &VariantId) -> String {
    if metric.name == inputs.phase.objective.metric {
        let shape = &inputs.phase.objective.shape;
        return in_use::beside_baseline(inputs, selected).unwrap_or_else(|| format!("at shape {shape}"));
    }
    let gates = inputs.judgement.gates.iter().filter(|g| g.metric.as_deref() == Some(metric.name.as_str()));
    let judged = gates.filter_map(|g| Some((g, g.cases.iter().find(|c| c.variant == *selected)?)));
    judged.take(1).map(|(gate, case)| demand(gate, case.outcome.limit, metric)).collect()
}

/// `needs at least 20 %` for `achieved_occupancy >= 20`; other forms of requirements verbatim.
fn demand(gate: &GateResult, limit: Option<f64>, metric: &MetricColumn) -> String {
    let reads_it = gate.require.subject().and_then(Reference::own) == Some(metric.name.as_str());
    match (way(gate).filter(|_| reads_it), limit) {
        (Some(way), Some(limit)) => format!("needs {way} {}", number::limit(limit, &metric.unit)),
        _ => gate.require.to_string(),
    }
}

/// The comparison of a gate in words.
fn way(gate: &GateResult) -> Option<&'static str> {
    match gate.require.comparison()? {
        Comparison::Less => Some("less than"),
        Comparison::LessOrEqual => Some("at most"),
        Comparison::Greater => Some("more than"),
        Comparison::GreaterOrEqual => Some("at least"),
        Comparison::Equal => Some("exactly"),
        Comparison::NotEqual => None,
    }
}
