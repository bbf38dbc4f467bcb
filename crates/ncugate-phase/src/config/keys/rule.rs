//! Keys of the rules of a diagnosis.

use super::{EXPRS, KeyKind, NAMES, TEMPLATES, TEXTS, key, words};
use crate::config::{Confidence, RuleKind};

keys! {
    RULES: RulesKeys = "a file of rules", "Rules of a diagnosis.";
    rule = key(KeyKind::List(&KeyKind::Table(&RULE.spec)), "A rule.").required();
}

keys! {
    RULE: RuleKeys = "[[rule]]", "A rule of the diagnosis: what says that a kernel has a certain trouble, what it costs, what to try. It joins the rules that the \
     program has (`ncugate explain --rules` lists them), or takes the place of the one with the same id. No verdict depends on a rule.";
    id = key(KeyKind::Name, "Short name; findings are cited by it.").required();
    cause = key(KeyKind::Text, "What is wrong, in a few words.").required();
    kind = key(
        KeyKind::OneOf(&words(&RuleKind::WORDS)),
        "`defect` costs time and can be mended; `redesign` asks for another algorithm, and stands behind defects; `doubt`: numbers do \
             not fit each other; `remark`: worth knowing.",
    ).default("\"defect\"");
    case = key(
        KeyKind::List(&KeyKind::Table(&RULE_CASE.spec)),
        "When it holds. The first case of which everything is known decides: the most exact one comes first.",
    ).required();
    evidence = key(TEXTS, "Metrics and facts to show with it.").default("[]");
    stalls = key(NAMES, "Warp states (`long_scoreboard`) whose source lines are shown with it.").default("[]");
    explains = key(
        NAMES,
        "Ids of rules whose findings are symptoms of this one, and are folded below it.",
    ).default("[]");
    r#try = key(TEMPLATES, "What to try, the first thing first; `{{ NAME }}` is a metric or a fact.").required();
}

keys! {
    EXPLAIN: ExplainKeys = "[explain]", "What the diagnosis compares with. No verdict depends on it.";
    signatures = key(
        KeyKind::Either(&[KeyKind::Text, TEXTS]),
        "Inversions of your own, whose defects findings are compared with, beside those that the program has: each the folder of a run, or a file \
         that `ncugate explain RUN --signatures` wrote.",
    ).otherwise("those of the program");
}

keys! {
    RULE_CASE: RuleCaseKeys = "[[rule.case]]", "One way to see the trouble. Names are metrics, ncu's own metrics, and facts of the diagnosis.";
    when = key(KeyKind::Expr, "The condition.").required();
    saves = key(
        EXPRS,
        "Upper bounds of what mending it saves, in percent of the time: the least of those that are known counts. The first has to \
             be known.",
    ).otherwise("nothing is said");
    confidence = key(KeyKind::OneOf(&words(&Confidence::WORDS)), "How sure it is.").default("\"medium\"");
    says = key(KeyKind::Template, "One sentence; `{{ NAME }}` is a metric or a fact.").required();
}
