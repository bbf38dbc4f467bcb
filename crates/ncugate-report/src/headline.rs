//! The banner: the facts that a reader needs in ten seconds, generated from the data by rules.

use super::inputs::{ReportInputs, RunSource};
use super::model::{Conclusion, Fact, Headline, MetricColumn, ObjectiveRow};
use super::number::Number;
use super::{in_use, number, selected_times, text};
use ncugate_judge::{Correctness, GateResult, Judgement, StageResult, VariantResult};
use ncugate_model::expr::{Comparison, Reference};
use ncugate_model::metric::{Catalogue, ShownIn};
use ncugate_model::{CleanText, Level, VariantId, Verdict};
use std::collections::HashSet;

pub fn headline(inputs: &ReportInputs<'_>, metrics: &[MetricColumn]) -> Headline {
    let judgement = inputs.judgement;
    let fallback = judgement.fallback.as_ref().is_some_and(|f| f.verdict == Verdict::Pass);
    Headline {
        verdict: judgement.verdict,
        conclusion: Conclusion::new(judgement.verdict, fallback),
        reason: text::sentence(&reason(judgement)).into(),
        cautions: judgement.cautions.iter().map(|caution| text::sentence(caution).into()).collect(),
        stages: stages(judgement).map(CleanText::from),
        obstacle: obstacle(inputs).map(CleanText::from),
        scope: scope(inputs).into(),
        tier: tier(inputs).map(CleanText::from),
        selected: judgement.selected.as_ref().map(|s| s.variant.0.clone()),
        facts: facts(inputs, metrics),
    }
}

/// Most failed gates named in the sentence.
const NAMED: usize = 3;

/// `6 of 9 required gates fail: 'eligible warps' (0.6887 against 2 warps), ...` if only gates decide, else the judge's
/// reason.
fn reason(judgement: &Judgement) -> String {
    let required: Vec<&GateResult> = judgement.gates.iter().filter(|g| g.level == Level::Required).collect();
    let mut failed: Vec<&GateResult> =
        required.iter().copied().filter(|g| g.verdict == Verdict::Fail && g.waived.is_none()).collect();
    let gates_alone = judgement.fallback.is_none()
        && judgement.preconditions.iter().all(|c| c.verdict == Verdict::Pass)
        && judgement.tiers.iter().all(|t| !t.required || t.verdict == Verdict::Pass)
        && judgement.stages.is_empty();
    if judgement.verdict == Verdict::Pass && judgement.fallback.is_none() {
        let words = judgement.reason.trim_end_matches('.');
        return closest(&required).map_or_else(|| words.to_owned(), |gate| format!("{words}; the closest is {gate}"));
    }
    if judgement.verdict != Verdict::Fail || failed.is_empty() || !gates_alone {
        return judgement.reason.clone();
    }
    failed.sort_by(|a, b| shortfall(b).total_cmp(&shortfall(a)));
    let mut named: Vec<String> = failed.iter().take(NAMED).map(|gate| named(gate)).collect();
    if failed.len() > NAMED {
        named.push(format!("{} more", failed.len() - NAMED));
    }
    let last = named.pop().unwrap_or_default();
    let list = if named.is_empty() { last } else { format!("{} and {last}", named.join(", ")) };
    let verb = if failed.len() == 1 { "fails" } else { "fail" };
    format!("{} of {} required gates {verb}: {list}.", failed.len(), required.len())
}

/// The passing gate with the smallest margin.
fn closest(required: &[&GateResult]) -> Option<String> {
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
    Some(named(gate))
}

/// `2 of 6 stages kept; 'double_buffering' is the first that was not (1.014× against 1.1× to 1.15× expected).`
fn stages(judgement: &Judgement) -> Option<String> {
    let kept = judgement.stages.iter().filter(|stage| stage.accepted).count();
    let first = judgement.stages.first()?;
    let gain = judgement.stages.iter().filter(|stage| stage.accepted).filter_map(|stage| stage.cumulative).next_back();
    let gain = gain.filter(|gain| *gain != 1.0);
    let gain =
        gain.map_or_else(String::new, |gain| format!(", {} over '{}'", number::in_sentence(gain, "x"), first.name));
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

/// Distance of the deciding case from its limit, relative to the limit.
fn shortfall(gate: &GateResult) -> f64 {
    let numbers =
        gate.deciding_case().and_then(|c| c.outcome.margin.zip(c.outcome.limit)).filter(|(_, limit)| *limit != 0.0);
    numbers.map_or(f64::INFINITY, |(margin, limit)| -margin / limit.abs())
}

fn named(gate: &GateResult) -> String {
    match gate.deciding_case().and_then(|c| c.outcome.measured.zip(c.outcome.limit)) {
        Some((measured, limit)) => format!("'{}' ({})", gate.name, number::against(measured, limit, &gate.unit)),
        None => format!("'{}'", gate.name),
    }
}

/// `the fastest correct variant A fails registers <= 64 by 6; the fastest that nothing stops is B, +3.2 %`.
fn obstacle(inputs: &ReportInputs<'_>) -> Option<String> {
    let mut ranked: Vec<&VariantResult> = inputs.judgement.variants.iter().filter(|v| v.rank.is_some()).collect();
    ranked.sort_by_key(|v| v.rank);
    let first = ranked.first()?;
    let stop = first.stopped_by.first().filter(|_| first.verdict == Verdict::Fail)?;
    let selected = inputs.judgement.selected.as_ref().is_some_and(|s| s.variant == first.variant);
    let who = match selected {
        true => "The selected variant".to_owned(),
        false => format!("The best variant, {},", text::clip(&first.variant.0, text::LABEL)),
    };
    let mut sentence = format!("{who} fails {}", stop.text);
    match ranked.iter().find(|v| v.verdict == Verdict::Pass) {
        Some(free) => {
            let cost = free.objective.zip(first.objective).map_or_else(String::new, |(ours, best)| {
                format!(" ({} in {})", number::change(ours / best), inputs.phase.objective.metric)
            });
            sentence.push_str(&format!(
                "; the best variant that passes every gate is {}{cost}.",
                text::clip(&free.variant.0, text::LABEL)
            ));
        }
        None => sentence.push_str("; no other variant passes every required gate."),
    }
    Some(sentence)
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
    format!(
        "{} on {}, {} proven correct over {}; {}",
        number::counted(gates(inputs.judgement), "gate"),
        number::counted(candidates.len(), "variant"),
        number::plain(proven as f64),
        number::counted(inputs.checks.len(), "check"),
        number::counted(inputs.plan.baselines().count(), "baseline"),
    )
}

/// Number of judged gates: those of the phase, its tiers, its stages and its fallback.
fn gates(judgement: &Judgement) -> usize {
    let tiers = judgement.tiers.iter().map(|tier| tier.gates.len());
    let stages = judgement.stages.iter().map(|stage| stage.gates.len());
    let fallback = judgement.fallback.iter().map(|fallback| fallback.gates.len());
    judgement.gates.len() + tiers.chain(stages).chain(fallback).sum::<usize>()
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
        note: selected.zip(value).map_or_else(String::new, |(id, value)| note(inputs, metric, id, value)).into(),
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
                note: note(inputs, metric, selected, value).into(),
            })
        })
        .collect()
}

/// For the objective, the speed relative to the default baseline; else the gate's limit.
fn note(inputs: &ReportInputs<'_>, metric: &MetricColumn, selected: &VariantId, value: f64) -> String {
    if metric.name == inputs.phase.objective.metric {
        let shape = &inputs.phase.objective.shape;
        let note = in_use::beside_baseline(inputs, metric, selected).unwrap_or_else(|| format!("at shape {shape}"));
        let said = |value| number::with_unit(value, &metric.unit);
        let swept = inputs.quantities.read(selected, shape, &metric.name).value().map(said);
        return match swept.filter(|swept| *swept != said(value)) {
            Some(swept) => format!("{note}; {swept} in the sweep"),
            None => note,
        };
    }
    let gates = inputs.judgement.gates.iter().filter(|g| g.metric.as_deref() == Some(metric.name.as_str()));
    let judged = gates.filter_map(|g| Some((g, g.cases.iter().find(|c| c.variant == *selected)?)));
    judged.take(1).map(|(gate, case)| demand(gate, case.outcome.limit, metric)).collect()
}

/// `needs at least 20 %` for `achieved_occupancy >= 20`; other forms of requirements verbatim.
fn demand(gate: &GateResult, limit: Option<f64>, metric: &MetricColumn) -> String {
    let reads_it = gate.require.subject().and_then(Reference::own) == Some(metric.name.as_str());
    let way = gate.require.comparison().filter(|_| reads_it).and_then(|comparison| match comparison {
        Comparison::Less => Some("less than"),
        Comparison::LessOrEqual => Some("at most"),
        Comparison::Greater => Some("more than"),
        Comparison::GreaterOrEqual => Some("at least"),
        Comparison::Equal => Some("exactly"),
        Comparison::NotEqual => None,
    });
    match (way, limit) {
        (Some(way), Some(limit)) => format!("needs {way} {}", number::in_sentence(limit, &metric.unit)),
        _ => gate.require.to_string(),
    }
}
