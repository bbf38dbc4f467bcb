//! Keys of the rules of a diagnosis.

use super::{EXPRS, KeyKind, NAMES, TEMPLATES, TEXTS, key, words};
use ncugate_model::rule::{Confidence, RuleKind};

keys! {
    RULE: RuleKeys = "[[rule]]", "A rule of the diagnosis. It is added to the built-in rules (`ncugate explain --rules`), or replaces the one with the same id.";
    id = key(KeyKind::Name, "Short name; findings are cited by it.").required();
    cause = key(KeyKind::Text, "The problem, in a few words.").required();
    kind = key(
        KeyKind::OneOf(&words(&RuleKind::WORDS)),
        "`defect`: costs time and can be fixed. `redesign`: needs another algorithm. `doubt`: numbers \
         contradict each other. `remark`: worth knowing.",
    ).default("\"defect\"");
    case = key(
        KeyKind::List(&KeyKind::Table(&RULE_CASE.spec)),
        "Conditions under which it holds. The first case with complete data decides, so put the most exact one first.",
    ).required();
    evidence = key(TEXTS, "Metrics and facts to show with it.").default("[]");
    stalls = key(NAMES, "Warp states (`long_scoreboard`) whose source lines are shown with it.").default("[]");
    explains = key(
        NAMES,
        "Ids of rules whose findings are symptoms of this one and are folded below it.",
    ).default("[]");
    r#try = key(TEMPLATES, "Advice, best first; `{{ NAME }}` is a metric or a fact.").required();
}

keys! {
    RULE_CASE: RuleCaseKeys = "[[rule.case]]", "One way to detect the problem. Names are metrics, ncu's metrics, and facts of the diagnosis.";
    when = key(KeyKind::Expr, "The condition.").required();
    saves = key(
        EXPRS,
        "Estimates of the largest saving, in percent of the time. The smallest known one counts, and the first must be known.",
    ).otherwise("no saving");
    confidence = key(KeyKind::OneOf(&words(&Confidence::WORDS)), "Confidence.").default("\"medium\"");
    says = key(KeyKind::Template, "One sentence; `{{ NAME }}` is a metric or a fact.").required();
    r#try = key(TEMPLATES, "Advice in place of the rule's own.").default("[]");
}
