//! Rules that cannot be evaluated for a launch, and their missing inputs. A rule that was not evaluated is not a rule
//! without a finding.

use super::diagnosis::Diagnosis;
use super::facts::CaseFacts;
use indexmap::IndexSet;
use ncugate_model::metric::{Catalogue, Derivation, MetricError, SIGNALS, id, signal_counter};
use ncugate_model::rule::{FactSource, SHARE, fact_named};
use ncugate_model::{Cell, ComputeCapability, ShapeName, VariantId};
use std::collections::BTreeSet;

/// Rules that could not be evaluated for one variant at one shape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnaskedRules {
    pub of: usize,
    /// Rules that more counters would make possible.
    pub lacking_counters: Vec<String>,
    /// Their missing metrics, in the order of the rules.
    pub metrics: IndexSet<String>,
    /// ncu's names of the counters to collect for them.
    pub counters: BTreeSet<String>,
    /// Rules with an input that no counter provides.
    pub lacking_facts: Vec<String>,
    pub facts: IndexSet<&'static str>,
    /// Metrics that the chip cannot count, among these inputs.
    pub absent: IndexSet<String>,
    /// The chip, if it is outside of the metric catalogue, and the rules that were not evaluated for that reason.
    pub outside: Option<(ComputeCapability, usize)>,
}

/// Percent of the rules that may lack counters in a diagnosis without a finding.
const MAY_LACK: usize = 40;

/// Whether so few of the rules lack counters that a diagnosis without a finding is worth reporting.
pub fn is_mostly_asked(lacking: usize, of: usize) -> bool {
    100 * lacking <= MAY_LACK * of
}

impl UnaskedRules {
    /// Whether at most 40 % of the rules lack counters.
    pub fn is_mostly_asked(&self) -> bool {
        is_mostly_asked(self.lacking_counters.len(), self.of)
    }
}

/// An unknown input of a rule.
enum MissingInput {
    /// A metric, with its counters.
    Counted(String, Vec<String>),
    /// An input that no counter provides.
    Fact(&'static str),
    /// A metric that the chip cannot count.
    Absent(String),
    /// A metric whose counters are not known on this chip.
    Outside(ComputeCapability),
}

impl Diagnosis<'_> {
    /// The rules that cannot be evaluated for a variant at a shape.
    pub fn unasked(&self, variant: &VariantId, shape: &ShapeName) -> UnaskedRules {
        self.with_facts(variant, shape, |facts| {
            let mut unasked = UnaskedRules { of: self.rules.rules().len(), ..UnaskedRules::default() };
            for (rule, bound) in self.rules.bound() {
                let undecided = facts.map(|facts| facts.undecided(bound));
                if undecided.as_ref().is_some_and(Option::is_none) {
                    continue;
                }
                let facts = undecided.flatten();
                let cases: Vec<Vec<MissingInput>> = bound.reads().map(|places| self.missing(&places, facts)).collect();
                unasked.add(&rule.id, cases);
            }
            unasked
        })
    }

    /// Unknown names among these positions of the rule book.
    fn missing(&self, places: &[usize], facts: Option<&CaseFacts<'_>>) -> Vec<MissingInput> {
        let names = places.iter().filter_map(|place| self.rules.names().get(*place));
        let parts: IndexSet<String> = names.flat_map(|name| parts(name, self.chip.capability)).collect();
        let unknown = parts.into_iter().filter(|part| facts.is_none_or(|facts| facts.number(part).is_none()));
        unknown.filter_map(|part| self.lack(part, facts)).collect()
    }

    /// Why a part is unknown; none if it was counted and has no value, such as a share of zero.
    fn lack(&self, part: String, facts: Option<&CaseFacts<'_>>) -> Option<MissingInput> {
        // A deep profile has them, unless its machine code is unknown.
        let has_code = || facts.is_some_and(|facts| facts.number("code_bytes").is_some());
        match fact_named(&part).map(|fact| fact.source) {
            Some(FactSource::MachineCode) if has_code() => {
                return Some(MissingInput::Fact("the kernel's machine code and its samples"));
            }
            Some(FactSource::MachineCode) => {
                return Some(MissingInput::Counted("samples of instructions".to_owned(), Vec::new()));
            }
            Some(FactSource::Given(input)) => return Some(MissingInput::Fact(input)),
            Some(FactSource::Counter | FactSource::Derived(_)) | None => {}
        }
        if part.starts_with("baseline.") {
            return Some(MissingInput::Fact("the baseline's numbers"));
        }
        let catalogue = Catalogue::embedded();
        if let Some(Derivation::Latency(_)) = catalogue.get(&part).map(|metric| metric.derivation) {
            return Some(MissingInput::Fact("a latency measured without the profiler"));
        }
        match catalogue.shown_definition(&part, self.chip.capability) {
            Ok(definition) => {
                let said = facts.and_then(|facts| facts.table.cell(facts.row, &part));
                let is_undefined = matches!(said, Some(Cell::Undefined(_)));
                let counters = definition.metrics().into_iter().map(str::to_owned).collect();
                (!is_undefined).then_some(MissingInput::Counted(part, counters))
            }
            Err(MetricError::Absent { .. }) => Some(MissingInput::Absent(part)),
            Err(MetricError::Chip { cc }) => Some(MissingInput::Outside(cc)),
            Err(MetricError::NotCounted { .. }) => Some(MissingInput::Fact("facts of the build")),
            Err(_) => Some(MissingInput::Counted(part, Vec::new())),
        }
    }
}

impl UnaskedRules {
    /// Records a rule by the missing inputs of each of its cases. Any case would suffice, so the one with the fewest
    /// missing counters is recorded.
    fn add(&mut self, rule: &str, cases: Vec<Vec<MissingInput>>) {
        let is_counted = |case: &&Vec<MissingInput>| {
            !case.is_empty() && case.iter().all(|missing| matches!(missing, MissingInput::Counted(..)))
        };
        if let Some(case) = cases.iter().filter(is_counted).min_by_key(|case| case.len()) {
            self.lacking_counters.push(rule.to_owned());
            for missing in case {
                if let MissingInput::Counted(metric, counters) = missing {
                    self.metrics.insert(metric.clone());
                    self.counters.extend(counters.iter().cloned());
                }
            }
            return;
        }
        let mut lacks = false;
        let outside = cases.iter().flatten().find_map(|missing| match missing {
            MissingInput::Outside(cc) => Some(*cc),
            _ => None,
        });
        if let Some(cc) = outside {
            self.outside.get_or_insert((cc, 0)).1 += 1;
        }
        for missing in cases.into_iter().flatten() {
            match missing {
                MissingInput::Fact(fact) => self.facts.insert(fact),
                MissingInput::Absent(metric) => self.absent.insert(metric),
                MissingInput::Counted(..) | MissingInput::Outside(_) => continue,
            };
            lacks = true;
        }
        if lacks {
            self.lacking_facts.push(rule.to_owned());
        }
    }
}

/// The metrics and facts behind a name on a chip, by the first of several alternatives.
fn parts(name: &str, capability: Option<ComputeCapability>) -> Vec<String> {
    if let Some(state) = name.strip_prefix(SHARE) {
        return vec![format!("stall_{state}"), id::WARP_LATENCY.to_string()];
    }
    if let Some((_, counters)) = SIGNALS.iter().find(|(signal, _)| *signal == name) {
        return signal_counter(counters, capability).map(str::to_owned).into_iter().collect();
    }
    match fact_named(name).map(|fact| fact.source) {
        Some(FactSource::Derived(of)) => of.iter().flat_map(|part| parts(part, capability)).collect(),
        _ => vec![name.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::super::bound_rule::BoundRule;
    use super::super::rule_book::RuleBook;
    use super::*;
    use ncugate_model::metric::known_chips;
    use ncugate_model::rule::{FACTS, RuleFact};
    use std::collections::BTreeMap;

    /// A part that is itself a fact must not be requested as a counter.
    #[test]
    fn every_fact_is_made_of_metrics_or_of_what_no_counter_gives() {
        let is_source = |fact: &RuleFact| matches!(fact.source, FactSource::MachineCode | FactSource::Given(_));
        let known = |part: &String| {
            fact_named(part).is_some_and(is_source)
                || Catalogue::embedded().source(part).is_some()
                || part.contains("__")
        };
        for name in FACTS.iter().map(|fact| fact.name).chain(["share_barrier"]) {
            let unknown: Vec<String> = parts(name, None).into_iter().filter(|part| !known(part)).collect();
            assert!(unknown.is_empty(), "{name}: {unknown:?}");
        }
    }

    /// The metrics that a chip lacks for each case of a rule; empty if the chip can answer a case.
    fn absent(rule: &BoundRule, chip: ComputeCapability) -> BTreeSet<String> {
        let lacking = |places: Vec<usize>| -> BTreeSet<String> {
            let parts = places.into_iter().flat_map(|place| parts(&RuleBook::shipped().names()[place], Some(chip)));
            let is_absent = |part: &String| {
                matches!(Catalogue::embedded().definition(part, Some(chip)), Err(MetricError::Absent { .. }))
            };
            parts.filter(is_absent).collect()
        };
        let cases: Vec<BTreeSet<String>> = rule.reads().map(lacking).collect();
        if cases.iter().any(BTreeSet::is_empty) { BTreeSet::new() } else { cases.into_iter().flatten().collect() }
    }

    /// The table of docs/diagnosis.md: which rules a chip cannot answer. `tests/oracle/counters.py` proves the names.
    #[test]
    fn the_page_lists_the_rules_that_a_chip_cannot_answer() {
        let mut rows: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for (rule, bound) in RuleBook::shipped().bound() {
            let mut on: BTreeMap<BTreeSet<String>, Vec<String>> = BTreeMap::new();
            for chip in known_chips() {
                on.entry(absent(bound, chip)).or_default().push(chip.to_string());
            }
            on.remove(&BTreeSet::new());
            for (metrics, on) in on {
                let metrics: Vec<String> = metrics.iter().map(|metric| format!("`{metric}`")).collect();
                rows.entry((metrics.join(", "), on.join(", "))).or_default().push(format!("`{}`", rule.id));
            }
        }
        let row = |((metrics, on), rules): (&(String, String), &Vec<String>)| {
            format!("| {metrics} | {on} | {} |\n", rules.join(", "))
        };
        let table: String = rows.iter().map(row).collect();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diagnosis.md");
        let page = std::fs::read_to_string(path).unwrap();
        let head = "| metric | absent on | rules |\n| --- | --- | --- |\n";
        let (before, written) = page.split_once(head).unwrap();
        let length = written.lines().take_while(|line| line.starts_with('|')).map(|line| line.len() + 1).sum::<usize>();
        let (written, after) = written.split_at(length);
        if std::env::var_os("NCUGATE_WRITE_DOCS").is_some() {
            std::fs::write(path, [before, head, &table, after].concat()).unwrap();
        } else {
            assert_eq!(written, table, "run this test with NCUGATE_WRITE_DOCS=1");
        }
    }

    #[test]
    fn a_rule_lacks_the_fewest_counters_that_would_answer_it() {
        let counted = |name: &str| MissingInput::Counted(name.to_owned(), vec![format!("{name}.sum")]);
        let mut unasked = UnaskedRules::default();
        unasked.add("a", vec![vec![counted("x"), counted("y")], vec![counted("z")], vec![MissingInput::Fact("flags")]]);
        unasked.add("b", vec![vec![MissingInput::Fact("flags"), counted("w")]]);
        unasked.add("c", vec![Vec::new()]);
        assert_eq!(unasked.lacking_counters, ["a"]);
        assert_eq!(unasked.metrics.iter().collect::<Vec<_>>(), ["z"]);
        assert_eq!(unasked.counters.iter().collect::<Vec<_>>(), ["z.sum"]);
        assert_eq!((unasked.lacking_facts.as_slice(), unasked.facts.len()), (&["b".to_owned()][..], 1));
        unasked.add("d", vec![vec![MissingInput::Absent("dram_pct".to_owned()), counted("w")]]);
        assert!(unasked.lacking_facts.len() == 2 && unasked.absent.contains("dram_pct"), "{unasked:?}");
    }
}
