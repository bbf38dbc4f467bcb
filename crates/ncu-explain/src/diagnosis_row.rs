//! Outcome of the rules for a variant at a shape: a cause, no finding, or too few inputs for either.

use crate::finding::Finding;
use crate::launches::DiagnosedLaunch;
use crate::ncu_advice::quoted;
use crate::unasked_rules::UnaskedRules;
use ncugate_model::CleanText;
use ncugate_model::metric::{MetricError, outside_full_set};
use ncugate_model::number::{self, text};
use schemars::JsonSchema;
use serde::Serialize;

/// Most metrics named in a sentence.
const NAMED: usize = 6;

/// Outcome of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosisOutcome {
    /// A cause that is worth fixing.
    Found,
    /// Every rule that counters can answer was evaluated, and none found such a cause.
    Clean,
    /// No cause was found, and rules that could have found one lack counters.
    NotJudged,
}

/// Rules that lack counters, and how to collect them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleCoverage {
    /// Number of rules that lack counters.
    pub rules: usize,
    /// Number of all rules.
    pub of: usize,
    /// The missing metrics.
    pub metrics: Vec<CleanText>,
    /// Their names in ncu.
    pub counters: Vec<CleanText>,
    /// The command that collects them; null if no command of this program can.
    pub command: Option<CleanText>,
    /// In words.
    pub sentence: CleanText,
}

/// Outcome of the rules for a variant at a shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiagnosisRow {
    /// The variant, or the kernel.
    pub variant: CleanText,
    /// The shape, or the launch.
    pub shape: CleanText,
    /// Outcome of the rules.
    pub outcome: DiagnosisOutcome,
    /// In words; empty if a cause was found and every rule was evaluated.
    pub sentence: CleanText,
    /// Rules that lack counters; null if none does.
    pub not_asked: Option<RuleCoverage>,
}

/// How to collect missing counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Collection {
    /// With ncu on the program of the report.
    Report,
    /// With a deep profile: the command.
    Deep(String),
    /// With `[profile] metrics` of the phase: its file, and the shape if that is not profiled yet.
    Phase(CleanText, Option<CleanText>),
    /// Impossible: the variant is not proven correct.
    Unproven,
}

impl DiagnosisRow {
    /// Outcome of the rules for a launch of a report.
    pub fn of_launch(launch: &DiagnosedLaunch) -> Self {
        let has_cause = launch.findings.iter().any(Finding::is_cause);
        let untimed = launch.duration.is_none().then_some("the report has no duration of this launch");
        let place = ((&launch.kernel).into(), format!("launch {}", launch.id).into());
        let row = Self::new(place, has_cause, &launch.unasked, untimed, &Collection::Report);
        if quoted(launch).is_empty() { row } else { row.with_estimates_of_ncu() }
    }

    /// Says of a clean outcome why the estimates of ncu's rules are not followed.
    #[must_use]
    pub fn with_estimates_of_ncu(mut self) -> Self {
        if self.outcome == DiagnosisOutcome::Clean {
            let why = "Nsight Compute's estimates are not followed: no counter that these rules read confirms them.";
            self.sentence = CleanText::whole(&format!("{} {why}", self.sentence));
        }
        self
    }

    /// Outcome of the rules for a variant at a shape. `untimed` says why neither a latency nor a duration is known.
    pub fn new(
        (variant, shape): (CleanText, CleanText),
        has_cause: bool,
        unasked: &UnaskedRules,
        untimed: Option<&str>,
        collection: &Collection,
    ) -> Self {
        let not_asked = (!unasked.lacking_counters.is_empty()).then(|| RuleCoverage::new(unasked, collection));
        let outside = unasked.outside.map(|(cc, rules)| {
            let problem = MetricError::Chip { cc };
            format!("{rules} of {} rules were not evaluated: {problem}.", unasked.of)
        });
        let outcome = match (has_cause, not_asked.is_some() || untimed.is_some() || outside.is_some()) {
            (true, _) => DiagnosisOutcome::Found,
            (false, true) => DiagnosisOutcome::NotJudged,
            (false, false) => DiagnosisOutcome::Clean,
        };
        let untimed = untimed.map(|why| format!("The time is not known: {why}."));
        let rest = not_asked.as_ref().map(|not_asked| not_asked.sentence.to_string());
        let first = match outcome {
            DiagnosisOutcome::Found => None,
            DiagnosisOutcome::NotJudged if untimed.is_none() && outside.is_none() && unasked.is_mostly_asked() => {
                Some("No cause found, but some rules were not evaluated.".to_owned())
            }
            DiagnosisOutcome::NotJudged => Some("Not judged.".to_owned()),
            DiagnosisOutcome::Clean => Some(clean(unasked)),
        };
        let untimed = untimed.filter(|_| outcome != DiagnosisOutcome::Found);
        let sentence = [first, untimed, outside, rest].into_iter().flatten().collect::<Vec<_>>().join(" ");
        Self { variant, shape, outcome, sentence: CleanText::whole(&sentence), not_asked }
    }
}

/// `No rule found a significant cause. 41 of 45 rules were evaluated; the others need the compiler's flags.`
fn clean(unasked: &UnaskedRules) -> String {
    let nothing = "No rule found a significant cause.";
    if unasked.lacking_facts.is_empty() {
        return nothing.to_owned();
    }
    let mut facts: Vec<String> = unasked.facts.iter().map(|fact| (*fact).to_owned()).collect();
    if !unasked.absent.is_empty() {
        let absent: Vec<String> = unasked.absent.iter().map(|metric| format!("`{metric}`")).collect();
        facts.push(format!("{}, which this chip cannot count", absent.join(", ")));
    }
    let asked = unasked.of - unasked.lacking_facts.len();
    format!("{nothing} {asked} of {} rules were evaluated; the others need {}.", unasked.of, facts.join(", "))
}

impl RuleCoverage {
    /// The outcome of a launch without a cause in one sentence.
    pub fn outcome(&self, is_mostly_asked: bool) -> String {
        let first = if is_mostly_asked { "No cause found, but some rules were not evaluated" } else { "Not judged" };
        format!("{first}: {} of {} rules lack counters.", self.rules, self.of)
    }

    fn new(unasked: &UnaskedRules, collection: &Collection) -> Self {
        let counters: Vec<CleanText> = unasked.counters.iter().map(CleanText::from).collect();
        let metrics: Vec<CleanText> = unasked.metrics.iter().map(CleanText::from).collect();
        let command: Option<CleanText> = match collection {
            Collection::Report => Some(CleanText::whole(&full_set(&counters))),
            Collection::Deep(command) => Some(CleanText::whole(command)),
            Collection::Phase(..) | Collection::Unproven => None,
        };
        let how = match collection {
            Collection::Report | Collection::Deep(_) => {
                command.as_ref().map_or_else(String::new, |command| format!(" Collect them: `{command}`."))
            }
            Collection::Phase(file, shape) => {
                let shape = shape.as_ref().map_or_else(String::new, |shape| format!(", and `{shape}` to its shapes"));
                format!(" Add them to `[profile] metrics` in `{file}`{shape}, and run it again.")
            }
            Collection::Unproven => " The variant is not proven correct, so it is not profiled.".to_owned(),
        };
        let (rules, of) = (unasked.lacking_counters.len(), unasked.of);
        let verb = if rules == 1 { "lacks" } else { "lack" };
        let sentence = format!("{rules} of {of} rules {verb} counters: {}.{how}", grouped(&metrics));
        Self { rules, of, metrics, counters, command, sentence: CleanText::whole(&sentence) }
    }
}

/// ncu's full set, and the counters that it does not contain.
fn full_set(counters: &[CleanText]) -> String {
    let more: Vec<&str> = counters.iter().map(CleanText::as_str).filter(|name| outside_full_set(name)).collect();
    match more.is_empty() {
        true => "ncu --set full".to_owned(),
        false => format!("ncu --set full --metrics {}", more.join(",")),
    }
}

/// `17 warp states, eligible_warps and 12 more`.
fn grouped(metrics: &[CleanText]) -> String {
    let (states, others): (Vec<&CleanText>, Vec<&CleanText>) =
        metrics.iter().partition(|name| name.starts_with("stall_"));
    let states = match states.as_slice() {
        [] => None,
        [one] => Some(one.to_string()),
        many => Some(format!("{} (`stall_*`)", number::counted(many.len(), "warp state"))),
    };
    let others = (!others.is_empty()).then(|| text::listed(others, NAMED, ", "));
    states.into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unasked(lacking: usize) -> UnaskedRules {
        UnaskedRules {
            of: 45,
            lacking_counters: (0..lacking).map(|n| format!("rule_{n}")).collect(),
            metrics: ["stall_wait", "stall_barrier", "local_instructions"].map(str::to_owned).into_iter().collect(),
            counters: ["smsp__inst_executed_op_local_ld.sum".to_owned(), "x.avg".to_owned()].into_iter().collect(),
            lacking_facts: vec!["host_bound".to_owned()],
            facts: ["a latency measured without the profiler"].into_iter().collect(),
            ..UnaskedRules::default()
        }
    }

    fn row(has_cause: bool, lacking: usize, untimed: Option<&str>) -> DiagnosisRow {
        let place = ("v".into(), "s".into());
        DiagnosisRow::new(place, has_cause, &unasked(lacking), untimed, &Collection::Report)
    }

    #[test]
    fn nothing_is_clean_while_a_rule_lacks_a_counter_or_the_time_is_not_known() {
        let clean = row(false, 0, None);
        assert_eq!((clean.outcome, clean.not_asked.is_none()), (DiagnosisOutcome::Clean, true));
        assert!(
            clean
                .sentence
                .ends_with("44 of 45 rules were evaluated; the others need a latency measured without the profiler.")
        );
        let chip = UnaskedRules { absent: ["dram_pct".to_owned()].into_iter().collect(), ..unasked(0) };
        assert!(super::clean(&chip).ends_with("without the profiler, `dram_pct`, which this chip cannot count."));
        assert_eq!(row(false, 1, None).outcome, DiagnosisOutcome::NotJudged);
        let untimed = row(false, 0, Some("it was not profiled"));
        assert_eq!(untimed.outcome, DiagnosisOutcome::NotJudged);
        assert_eq!(untimed.sentence, "Not judged. The time is not known: it was not profiled.");
        assert_eq!(
            (row(true, 0, None).sentence, row(true, 3, None).outcome),
            (CleanText::default(), DiagnosisOutcome::Found)
        );
    }

    #[test]
    fn the_command_adds_what_the_full_set_does_not_hold() {
        let row = row(true, 2, None);
        assert_eq!(
            row.sentence,
            "2 of 45 rules lack counters: 2 warp states (`stall_*`), local_instructions. Collect them: `ncu --set full --metrics smsp__inst_executed_op_local_ld.sum`."
        );
    }
}
