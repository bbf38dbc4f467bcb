//! The close look at the selected variant as rows, and what it adds to the findings.

use super::inputs::Inputs;
use super::model::{CloseLookRow, CloseMetric, Finding, LookedRow, Measure, VariantRow};
use super::number::Number;
use super::{number, text};
use crate::explain::{NcuRuleMessage, Severity};
use crate::metric::Catalogue;
use crate::model::{Cell, DeepProfile, ProfileOutcome, VariantId};
use ncu_rep::SpeedupScope;

/// Rules of ncu among the findings.
const RULES: usize = 2;
/// Smallest estimate, in percent, that is worth a finding.
const WORTH: f64 = 5.0;
/// Longest id that heads a column, in characters.
const HEAD: usize = 24;
/// Longest text of a rule among the findings, in characters.
const LONGEST: usize = 260;

/// Looks that gave something, the selected variant's first, each with the id it is shown under.
fn looks<'a>(inputs: &'a Inputs<'_>) -> Vec<(&'a VariantId, &'a DeepProfile)> {
    let selected = inputs.judgement.selected.as_ref().map(|selected| &selected.variant);
    let shares = |id: &VariantId| inputs.builds.iter().find(|b| &b.variant == id).and_then(|b| b.shares.clone());
    let stands_for = selected.map(|id| shares(id).unwrap_or_else(|| id.clone()));
    let profiled = |look: &&DeepProfile| match look.outcome {
        ProfileOutcome::Profiled { .. } => true,
        ProfileOutcome::Failed { .. } => false,
    };
    let shown = |look: &'a DeepProfile| match selected.filter(|_| stands_for.as_ref() == Some(&look.variant)) {
        Some(selected) => (selected, look),
        None => (&look.variant, look),
    };
    let mut looks: Vec<_> = inputs.closely.looks.iter().filter(profiled).map(shown).collect();
    looks.sort_by_key(|(id, _)| Some(*id) != selected);
    looks
}

/// The rows, where a look gave something that can be read.
pub fn row(inputs: &Inputs<'_>, variants: &[VariantRow]) -> Option<CloseLookRow> {
    let looks = looks(inputs);
    let (_, first) = looks.first().filter(|_| inputs.closely.problem.is_none())?;
    let of = |id: &VariantId| variants.iter().find(|row| row.id == text::line(&id.0));
    let looked = |(id, look): &(&VariantId, &DeepProfile)| LookedRow {
        id: text::line(&id.0),
        label: of(id).map_or_else(|| text::clip(&id.0, text::LABEL), |row| row.label.clone()),
        short: of(id).map_or_else(|| text::clip(&id.0, text::LABEL), |row| row.short.clone()),
        passes: look.passes,
        seconds: look.seconds,
    };
    let measure = |id: &VariantId, metric: &str| match inputs.closely.quantities.read(id, &first.shape, metric) {
        Cell::Value(value) => Measure::Number(Number::new(value)),
        Cell::Missing(reason) => Measure::Missing(text::line(&reason)),
    };
    let metric = |name: &str| {
        let known = Catalogue::embedded().get(name);
        CloseMetric {
            name: text::line(name),
            title: known.map_or_else(|| text::line(name), |m| m.title.clone()),
            unit: known.map_or_else(String::new, |m| m.unit.clone()),
            values: looks.iter().map(|(id, _)| measure(id, name)).collect(),
        }
    };
    let said = inputs.said.iter().find(|said| said.variant == first.variant && said.shape == first.shape);
    let mut looked: Vec<LookedRow> = looks.iter().map(looked).collect();
    name_apart(&mut looked);
    Some(CloseLookRow {
        looked,
        shape: text::line(&first.shape.0),
        note: note(first),
        metrics: inputs.closely.quantities.metrics().map(metric).collect(),
        said: said.map(super::variants::said_row),
    })
}

/// Ids for column heads, where they are short or where parameters do not tell the variants apart.
fn name_apart(looked: &mut [LookedRow]) {
    let alike = looked.iter().skip(1).any(|row| row.short == looked[0].short);
    for row in looked.iter_mut().filter(|row| alike || row.label.chars().count() <= HEAD) {
        row.short = row.label.clone();
    }
}

fn note(look: &DeepProfile) -> String {
    let passes = look.passes.map_or_else(String::new, |n| format!(", {n} replay passes"));
    format!(
        "One more ncu process after the sweep: {}{passes}. Its counters are shown here and in the charts; no gate is judged by \
         them.",
        number::seconds(look.seconds)
    )
}

/// Why there is no close look at the selected variant, where the phase wants one and something was measured.
pub fn missing(inputs: &Inputs<'_>) -> Option<String> {
    use crate::config::CloseLookAt;
    let selected = inputs.judgement.selected.as_ref()?;
    if inputs.phase.profile.close_look == CloseLookAt::None || inputs.manifest.stage_seconds.is_empty() {
        return None;
    }
    let say = |why: &str| Some(text::line(&format!("no close look at the selected variant: {why}")));
    if let Some(problem) = inputs.closely.problem {
        return say(problem);
    }
    match looks(inputs).first() {
        Some((id, _)) if **id == selected.variant => None,
        Some((id, _)) => say(&format!("the run looked at {id}, which was selected then")),
        None => {
            let failed = inputs.closely.looks.iter().find_map(|look| match &look.outcome {
                ProfileOutcome::Failed { reason } => Some(reason.as_str()),
                ProfileOutcome::Profiled { .. } => None,
            });
            say(failed.unwrap_or("the run has none; measure again"))
        }
    }
}

/// The largest estimates of ncu's rules about the selected variant: those of the whole time before those of a unit.
pub fn findings(inputs: &Inputs<'_>) -> Vec<Finding> {
    let Some((id, look)) = looks(inputs).into_iter().next() else { return Vec::new() };
    let Some(said) = inputs.said.iter().find(|said| said.variant == look.variant && said.shape == look.shape) else {
        return Vec::new();
    };
    let mut rules: Vec<(&NcuRuleMessage, bool, f64)> = said
        .rules
        .iter()
        .filter_map(|rule| rule.speedup.map(|(scope, percent)| (rule, scope == SpeedupScope::Global, percent)))
        .filter(|(_, _, percent)| percent.is_finite() && *percent >= WORTH)
        .collect();
    rules.sort_by(|a, b| b.1.cmp(&a.1).then(b.2.total_cmp(&a.2)));
    let finding = |(rule, whole, percent): (&NcuRuleMessage, bool, f64)| {
        let of = if whole { "of the time" } else { "of what the unit could do" };
        Finding {
            title: text::line(&format!("Nsight Compute: {}", rule.title)),
            sentence: format!("{} It estimates at most {percent:.1} % {of}.", text::line(&beginning(&rule.text))),
            severity: Severity::Advice,
            advice: String::new(),
            variant: text::line(&id.0),
        }
    };
    rules.into_iter().take(RULES).map(finding).collect()
}

/// The first sentences of a text, as many as are short enough, and one at least.
fn beginning(text: &str) -> String {
    let mut end = 0;
    for (at, _) in text.match_indices(". ").chain([(text.len(), "")]) {
        let next = (at + 1).min(text.len());
        if end > 0 && text[..next].chars().count() > LONGEST {
            break;
        }
        end = next;
    }
    let kept = text::clip(text[..end].trim(), 2 * LONGEST);
    if kept.ends_with(['.', '!', '…']) { kept } else { format!("{kept}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rules_text_is_cut_between_sentences() {
        let long = format!("One is 0.5 of it. {} end. Three.", "two ".repeat(80));
        assert_eq!(beginning(&long), "One is 0.5 of it.");
        assert_eq!(beginning("One. Two"), "One. Two.");
    }
}
