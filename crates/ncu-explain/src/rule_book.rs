//! The rules of a diagnosis: those that ship with the program, and those of a phase.

use super::bound_rule::BoundRule;
use indexmap::IndexSet;
use ncugate_model::rule::Rule;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

const SHIPPED: &str = include_str!("rules.toml");

/// Rules by id, with the rules that they are symptoms of.
#[derive(Debug, Clone)]
pub struct RuleBook {
    rules: Vec<Rule>,
    bound: Vec<BoundRule>,
    names: Vec<String>,
    symptoms: BTreeMap<String, BTreeSet<String>>,
}

/// A file of rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    rule: Vec<Rule>,
}

impl RuleBook {
    /// The rules that ship with the program.
    #[expect(clippy::panic, reason = "the file is embedded at build time and a test parses it")]
    pub fn shipped() -> &'static Self {
        static BOOK: OnceLock<RuleBook> = OnceLock::new();
        BOOK.get_or_init(|| Self::parse(SHIPPED).unwrap_or_else(|e| panic!("embedded rules: {e}")))
    }

    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        Ok(Self::of(toml::from_str::<RuleFile>(text)?.rule))
    }

    fn of(rules: Vec<Rule>) -> Self {
        let symptoms = rules.iter().map(|rule| (rule.id.clone(), rule.explains.iter().cloned().collect())).collect();
        let mut names = IndexSet::new();
        let bound = rules.iter().map(|rule| BoundRule::new(rule, &mut names)).collect();
        Self { rules, bound, names: names.into_iter().collect(), symptoms }
    }

    /// Adds the rules of a phase. A rule with the id of a shipped rule replaces it.
    #[must_use]
    pub fn with(&self, own: &[Rule]) -> Self {
        if own.is_empty() {
            return self.clone();
        }
        let kept = self.rules.iter().filter(|rule| own.iter().all(|other| other.id != rule.id));
        Self::of(kept.chain(own).cloned().collect())
    }

    /// The rules, in the order of their files.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rules with their conditions bound to [`RuleBook::names`].
    pub fn bound(&self) -> impl Iterator<Item = (&Rule, &BoundRule)> {
        self.rules.iter().zip(&self.bound)
    }

    /// Every name that a condition or an estimate reads, by position.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether findings of the other rule are symptoms of the first.
    pub fn explains(&self, rule: &str, other: &str) -> bool {
        self.symptoms.get(rule).is_some_and(|symptoms| symptoms.contains(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;

    #[test]
    fn the_shipped_rules_are_understood_and_name_rules_that_exist() {
        let book = RuleBook::parse(SHIPPED).unwrap();
        let ids: BTreeSet<&str> = book.rules.iter().map(|rule| rule.id.as_str()).collect();
        assert!(ids.len() >= 40, "{}", ids.len());
        for rule in &book.rules {
            let unknown: Vec<&String> = rule.explains.iter().filter(|id| !ids.contains(id.as_str())).collect();
            assert!(unknown.is_empty(), "{}: {unknown:?}", rule.id);
            let mutual: Vec<&String> = rule.explains.iter().filter(|id| book.explains(id, &rule.id)).collect();
            assert!(mutual.is_empty(), "{} and {mutual:?} explain each other", rule.id);
            assert!(!rule.advice.is_empty() && !rule.evidence.is_empty(), "{}", rule.id);
        }
        assert!(Severity::Note < Severity::Warning);
    }

    #[test]
    fn a_rule_of_the_phase_takes_the_place_of_a_shipped_one() {
        let own = "[[rule]]\nid = \"barriers\"\ncause = \"Too many barriers\"\ntry = [\"fewer\"]\n[[rule.case]]\nwhen = \"share_barrier > 1\"\nsays = \"x\"\n";
        let book = RuleBook::shipped().with(&RuleBook::parse(own).unwrap().rules);
        assert_eq!(book.rules().len(), RuleBook::shipped().rules().len());
        assert_eq!(book.rules().iter().filter(|rule| rule.id == "barriers").count(), 1);
        assert_eq!(book.rules().last().unwrap().cause, "Too many barriers");
    }
}
