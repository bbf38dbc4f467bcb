//! The facts of an evaluation and of each of its launches, and the answers of rules about them.

use super::bound_rule::{BoundRule, HeldCase};
use super::facts::CaseFacts;
use super::finding::FindingLaunches;
use indexmap::IndexMap;
use ncugate_model::CleanText;
use ncugate_model::rule::RuleScope;
use std::sync::Arc;

/// Kernels that take less than this percentage of the time are not diagnosed.
const LEAST_SHARE: f64 = 2.0;

/// One of several launches.
#[derive(Debug)]
pub struct LaunchFacts<'a> {
    pub facts: CaseFacts<'a>,
    pub name: LaunchName,
    /// Percent of the time of all launches.
    pub share: f64,
}

/// A launch of an evaluation as reports name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchName {
    /// Its number among the steps of the evaluation, from 1.
    pub number: usize,
    pub kernel: String,
    /// The demangled name of the kernel under ncu, if the launch was profiled.
    pub demangled: Option<Arc<str>>,
}

/// A variant at a shape.
#[derive(Debug)]
pub struct EvaluationFacts<'a> {
    /// All launches together.
    pub whole: CaseFacts<'a>,
    /// Each of several launches, without kernels that take little of the time. Empty for a single launch, and if the
    /// durations of the launches are unknown.
    pub launches: Vec<LaunchFacts<'a>>,
}

/// The facts about which a rule is asked.
#[derive(Debug)]
enum RuleSubjects<'e, 'a> {
    Evaluation(&'e CaseFacts<'a>),
    Launches(&'e [LaunchFacts<'a>]),
}

/// A rule that holds.
#[derive(Debug)]
pub struct HeldRule<'e, 'a> {
    /// The case, and the saving in percent of the time of the evaluation.
    pub held: HeldCase,
    /// The facts for its sentence.
    pub facts: &'e CaseFacts<'a>,
    /// The launch with these facts; none if they are of the evaluation.
    pub launch: Option<&'e LaunchName>,
    /// The launches for which it holds; none if it holds for the evaluation.
    pub launches: Option<FindingLaunches>,
}

/// Launches of one kernel for which a rule holds, in their order.
type HeldLaunches<'e, 'a> = Vec<(&'e LaunchFacts<'a>, HeldCase)>;

impl<'a> EvaluationFacts<'a> {
    /// Adds the launches, each with its duration in any unit, and leaves out the kernels that take little of the time.
    #[must_use]
    pub fn with_launches(mut self, launches: Vec<(CaseFacts<'a>, LaunchName, f64)>) -> Self {
        let total: f64 = launches.iter().map(|(.., time)| time).sum();
        let mut kernels: IndexMap<String, f64> = IndexMap::new();
        for (_, name, time) in &launches {
            *kernels.entry(name.kernel.clone()).or_default() += 100.0 * time / total;
        }
        let counts = |name: &LaunchName| kernels.get(&name.kernel).is_some_and(|share| *share >= LEAST_SHARE);
        let counted = launches.into_iter().filter(|(_, name, _)| counts(name));
        let launch = |(facts, name, time): (_, _, f64)| LaunchFacts { facts, name, share: 100.0 * time / total };
        self.launches = counted.map(launch).collect();
        self
    }

    /// Each launch, if the rule is about launches and can be evaluated for one; else the evaluation.
    fn subjects(&self, rule: &BoundRule) -> RuleSubjects<'_, 'a> {
        let is_known = |launch: &LaunchFacts<'_>| rule.answer(&launch.facts).is_some();
        match rule.scope == RuleScope::Launch && self.launches.iter().any(is_known) {
            true => RuleSubjects::Launches(&self.launches),
            false => RuleSubjects::Evaluation(&self.whole),
        }
    }

    /// Whether the rule holds for the evaluation or for a launch. None if it holds for none of those with known inputs,
    /// and an input of another is unknown.
    pub fn answer(&self, rule: &BoundRule) -> Option<bool> {
        let launches = match self.subjects(rule) {
            RuleSubjects::Evaluation(facts) => return rule.answer(facts),
            RuleSubjects::Launches(launches) => launches,
        };
        let answers: Vec<Option<bool>> = launches.iter().map(|launch| rule.answer(&launch.facts)).collect();
        match answers.contains(&Some(true)) {
            true => Some(true),
            false => answers.into_iter().collect::<Option<Vec<bool>>>().map(|_| false),
        }
    }

    /// The first facts for which the rule cannot be evaluated.
    pub fn undecided(&self, rule: &BoundRule) -> Option<&CaseFacts<'a>> {
        match self.subjects(rule) {
            RuleSubjects::Evaluation(facts) => rule.answer(facts).is_none().then_some(facts),
            RuleSubjects::Launches(launches) => {
                launches.iter().map(|launch| &launch.facts).find(|facts| rule.answer(facts).is_none())
            }
        }
    }

    /// The rule where it holds: for the evaluation, or once for each kernel.
    pub fn held(&self, rule: &BoundRule) -> Vec<HeldRule<'_, 'a>> {
        let launches = match self.subjects(rule) {
            RuleSubjects::Evaluation(facts) => {
                let held = rule.held(facts).map(|held| HeldRule { held, facts, launch: None, launches: None });
                return held.into_iter().collect();
            }
            RuleSubjects::Launches(launches) => launches,
        };
        let mut kernels: IndexMap<&str, HeldLaunches<'_, 'a>> = IndexMap::new();
        for launch in launches {
            if let Some(held) = rule.held(&launch.facts) {
                kernels.entry(&launch.name.kernel).or_default().push((launch, held));
            }
        }
        kernels.into_iter().filter_map(|(kernel, launches)| of_kernel(kernel, &launches)).collect()
    }
}

/// One finding for the launches of a kernel, with the numbers of the one that costs most.
fn of_kernel<'e, 'a>(kernel: &str, launches: &[(&'e LaunchFacts<'a>, HeldCase)]) -> Option<HeldRule<'e, 'a>> {
    let saved = |(launch, held): &(&LaunchFacts<'_>, HeldCase)| Some(launch.share / 100.0 * held.percent?);
    let cost = |one: &(&LaunchFacts<'_>, HeldCase)| (saved(one).unwrap_or_default(), one.0.share);
    let costliest = launches.iter().reduce(|most, next| if cost(next) > cost(most) { next } else { most })?;
    let percent = launches.iter().filter_map(saved).reduce(|sum, next| sum + next);
    let most = launches.iter().map(|(launch, held)| launch.share / 100.0 * held.most).sum();
    Some(HeldRule {
        held: HeldCase { percent, most, ..costliest.1 },
        facts: &costliest.0.facts,
        launch: Some(&costliest.0.name),
        launches: Some(FindingLaunches {
            kernel: CleanText::from(kernel),
            count: launches.len(),
            number: costliest.0.name.number,
            percent: launches.iter().map(|(launch, _)| launch.share).sum(),
        }),
    })
}
