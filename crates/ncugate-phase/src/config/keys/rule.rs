//! Keys of the rules of a diagnosis.

use super::{EXPRS, KeyKind, NAMES, TEMPLATES, TEXTS, key, words};
use ncugate_model::rule::{Confidence, RuleKind};

keys! {
    /// A rule of the diagnosis. It is added to the built-in rules (`ncugate explain --rules`), or replaces the one
    /// with the same id.
    RULE: RuleKeys = "[[rule]]";
    /// Short name; findings are cited by it.
    id = key(KeyKind::Name).required();
    /// The problem, in a few words.
    cause = key(KeyKind::Text).required();
    /// `defect`: costs time and can be fixed. `redesign`: needs another algorithm. `doubt`: numbers contradict each
    /// other. `remark`: worth knowing.
    kind = key(KeyKind::OneOf(&words(&RuleKind::WORDS))).default("\"defect\"");
    /// Conditions under which it holds. The first case with complete data decides, so put the most exact one first.
    case = key(KeyKind::List(&KeyKind::Table(&RULE_CASE.spec))).required();
    /// Metrics and facts to show with it.
    evidence = key(TEXTS).default("[]");
    /// Warp states (`long_scoreboard`) whose source lines are shown with it.
    stalls = key(NAMES).default("[]");
    /// Ids of rules whose findings are symptoms of this one and are folded below it.
    explains = key(NAMES).default("[]");
    /// Advice, best first; `{{ NAME }}` is a metric or a fact.
    r#try = key(TEMPLATES).required();
}

keys! {
    /// One way to detect the problem. Names are metrics, ncu's metrics, and facts of the diagnosis.
    RULE_CASE: RuleCaseKeys = "[[rule.case]]";
    /// The condition.
    when = key(KeyKind::Expr).required();
    /// Estimates of the largest saving, in percent of the time. The smallest known one counts, and the first must be
    /// known.
    saves = key(EXPRS).otherwise("no saving");
    /// Confidence.
    confidence = key(KeyKind::OneOf(&words(&Confidence::WORDS))).default("\"medium\"");
    /// One sentence; `{{ NAME }}` is a metric or a fact.
    says = key(KeyKind::Template).required();
    /// Advice in place of the rule's own.
    r#try = key(TEMPLATES).default("[]");
}
