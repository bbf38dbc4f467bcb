//! The meaning of a word that the program prints: a rule or fact of the diagnosis, a word of the glossary, an exit
//! status.

use crate::rule_book::RuleBook;
use ncugate_model::expr::Template;
use ncugate_model::metric::Catalogue;
use ncugate_model::rule::{FACTS, FactSource, Rule, RuleKind};
use serde::Serialize;

/// A word and its meaning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WordEntry {
    pub word: String,
    /// `rule`, `fact`, `word` or `exit status`.
    pub kind: &'static str,
    /// What it means.
    pub meaning: Vec<String>,
    /// How it is measured.
    pub measured: Vec<String>,
    /// What to do, the best first.
    pub remedies: Vec<String>,
    /// Rules whose findings are symptoms of a rule's, or that read a fact.
    pub rules: Vec<String>,
}

impl WordEntry {
    /// The entry of a word in the rules, in the facts that they read, or in a page of the documentation: rows of the
    /// glossary's table, and exit statuses in a list.
    pub fn find(word: &str, glossary: &str, statuses: &str) -> Option<Self> {
        let rules = RuleBook::shipped().rules();
        let of_rule = || rules.iter().find(|rule| rule.id == word).map(Self::of_rule);
        let of_fact = || Self::of_fact(word, rules);
        let of_page = || {
            let row = |line: &str| {
                let (name, meaning) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
                (name == word && word != "word").then(|| Self::plain(word, "word", meaning))
            };
            glossary.lines().find_map(row)
        };
        let of_status = || {
            let row = |line: &str| {
                let (number, meaning) = line.strip_prefix("- **")?.split_once("**: ")?;
                (number == word).then(|| Self::plain(word, "exit status", meaning))
            };
            statuses.lines().find_map(row)
        };
        of_rule().or_else(of_fact).or_else(of_page).or_else(of_status)
    }

    fn plain(word: &str, kind: &'static str, meaning: &str) -> Self {
        let meaning = vec![meaning.to_owned()];
        Self { word: word.to_owned(), kind, meaning, measured: Vec::new(), remedies: Vec::new(), rules: Vec::new() }
    }

    fn of_rule(rule: &Rule) -> Self {
        let kind = match rule.kind {
            RuleKind::Defect => "it costs time, and can be fixed in the kernel as it is",
            RuleKind::Redesign => "only another algorithm or another unit of the GPU can exceed this limit",
            RuleKind::Doubt => "numbers contradict each other",
            RuleKind::Remark => "it looks like a problem, and is harmless",
        };
        let says = rule.cases.iter().map(|case| outline(&case.says));
        let read = |name: &String| match title(name) {
            Some(title) => format!("`{name}`: {title}"),
            None => format!("`{name}`"),
        };
        let cases = rule
            .cases
            .iter()
            .map(|case| format!("holds if `{}` ({} confidence)", case.when.text(), case.confidence.word()));
        let advice = rule.cases.iter().flat_map(|case| &case.advice).chain(&rule.advice);
        let mut remedies: Vec<String> = advice.map(outline).collect();
        remedies.dedup();
        Self {
            meaning: [format!("{}: {kind}", rule.cause)].into_iter().chain(says).collect(),
            measured: cases.chain(rule.evidence.iter().map(read)).collect(),
            remedies,
            rules: rule.explains.clone(),
            ..Self::plain(&rule.id, "rule", "")
        }
    }

    fn of_fact(word: &str, rules: &[Rule]) -> Option<Self> {
        let fact = FACTS.iter().find(|fact| fact.name == word)?;
        let measured = match fact.source {
            FactSource::Counter => "a counter of ncu".to_owned(),
            FactSource::Derived(of) => format!("computed from {}", of.join(", ")),
            FactSource::MachineCode => {
                "from machine code and its samples: a deep profile, or `ncu --set full`".to_owned()
            }
            FactSource::Given(what) => format!("from {what}"),
        };
        let reads = |rule: &&Rule| rule.evidence.iter().any(|name| name == word);
        Some(Self {
            measured: vec![measured],
            rules: rules.iter().filter(reads).map(|rule| rule.id.clone()).collect(),
            ..Self::plain(word, "fact", fact.doc)
        })
    }
}

/// A text with the names of its numbers: `<grid_blocks> blocks`.
fn outline(template: &Template) -> String {
    template.text().replace("{{ ", "<").replace(" }}", ">")
}

/// The meaning of a number that rules read.
fn title(name: &str) -> Option<String> {
    let metric = Catalogue::embedded().get(name).map(|metric| metric.title.clone());
    metric.or_else(|| FACTS.iter().find(|fact| fact.name == name).map(|fact| fact.doc.to_owned()))
}
