//! What a verdict has to be read with: gates that say nothing of the selected variant, what loosens gates, a fallback.

use super::grounds::Grounds;
use super::limits::unlikely_limits;
use super::results::FallbackResult;
use crate::config::{Gate, Phase};
use crate::model::{Level, OnInconclusive, Scope, Verdict};
use crate::number::counted;
use jiff::civil::Date;

/// The cautions of a judged phase, the gravest first.
pub fn of(phase: &Phase, today: Date, grounds: &Grounds<'_>, fallback: Option<&FallbackResult>) -> Vec<String> {
    let taken = fallback.filter(|fallback| fallback.verdict == Verdict::Pass).map(taken);
    (taken.into_iter()).chain(grounds.caution()).chain(unlikely_limits(phase)).chain(loosened(phase, today)).collect()
}

fn taken(fallback: &FallbackResult) -> String {
    let variant = fallback.variant.as_ref().map_or("none", |id| id.0.as_str());
    let cost = fallback.cost.as_deref().map_or_else(String::new, |cost| format!(": {cost}"));
    format!("the fallback {variant} is taken{cost}")
}

/// What makes a phase's gates easier to hold, in a line; none where nothing does.
pub fn loosened(phase: &Phase, today: Date) -> Option<String> {
    let gates = answered_for(phase);
    let is_waived = |gate: &&&Gate| phase.gate_plan.waivers.iter().any(|w| w.gate == gate.name && today <= w.expires);
    let required: Vec<&Gate> = gates.iter().copied().filter(|gate| gate.level == Level::Required).collect();
    let count = |is: &dyn Fn(&Gate) -> bool| required.iter().filter(|gate| is(gate)).count();
    let until = phase.gate_plan.waivers.iter().map(|w| w.expires).filter(|expires| today <= *expires).max();
    let waived = required.iter().filter(is_waived).count();
    let globs: Vec<String> =
        required.iter().filter(|g| g.on.glob().is_some()).map(|g| format!("\"{}\"", g.on)).collect();
    let said = |count: usize, one: &str, many: &str| {
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
    };
    let parts: Vec<String> = [
        said(gates.len() - required.len(), "is advisory", "are advisory"),
        said(waived, "is waived", "are waived").zip(until).map(|(what, until)| format!("{what} until {until}")),
        said(count(&|g| g.inconclusive == OnInconclusive::Warn), "only warns of noise", "only warn of noise"),
        said(globs.len(), "judges", "judge").map(|what| format!("{what} {} alone", distinct(globs).join(" and "))),
        said(count(&|g| g.on == Scope::Any), "asks for any variant", "ask for any variant"),
        said(count(&|g| g.at_least.is_some()), "may miss shapes", "may miss shapes"),
        phase.gate_plan.fallback.as_ref().map(|f| format!("the fallback \"{}\" may stand in", f.variant)),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| format!("loosened: of {} {}", counted(gates.len(), "gate"), parts.join(", ")))
}

/// Gates that a phase answers for: its own, those of tiers up to the last required one, and those of stages.
fn answered_for(phase: &Phase) -> Vec<&Gate> {
    let tiers = &phase.gate_plan.tiers;
    let required = tiers.iter().rposition(|tier| tier.required).map_or(0, |last| last + 1);
    let tiers = tiers.iter().take(required).flat_map(|tier| &tier.gates);
    let stages = phase.gate_plan.stages.iter().flat_map(|stage| &stage.gates);
    phase.gates.iter().chain(tiers).chain(stages).collect()
}

fn distinct(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}
