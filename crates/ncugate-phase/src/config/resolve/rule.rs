//! Rules of a diagnosis, with every name checked.

use crate::config::keys::{RULE, RULE_CASE};
use crate::config::reader::Item;
use ncugate_model::expr::{Expr, Span, Template};
use ncugate_model::metric::Catalogue;
use ncugate_model::nearest;
use ncugate_model::rule::{Confidence, FACT_TEXTS, FACTS, Rule, RuleCase, RuleKind, is_fact};
use std::collections::BTreeSet;

/// Reads rules; `values` are names of the phase that are not metrics: dimensions, parameters, scalars.
pub fn rules(items: &[Item<'_>], values: &[String]) -> Vec<Rule> {
    let mut ids: BTreeSet<String> = BTreeSet::new();
    let mut read = |item: &Item<'_>| {
        let rule = rule(item, values)?;
        if !ids.insert(rule.id.clone()) {
            item.report(format!("two rules have the id `{}`", rule.id), Some("rename one".to_owned()));
        }
        Some(rule)
    };
    items.iter().filter_map(&mut read).collect()
}

fn rule(item: &Item<'_>, values: &[String]) -> Option<Rule> {
    let table = item.table()?;
    let some = |key| table.get(key).map(|item| item.some_list());
    let cases = some(&RULE.case).map(|items| items.iter().filter_map(|item| case(item, values)).collect());
    let names = |key| table.list(key).iter().filter_map(Item::name).collect();
    let evidence: Vec<String> = table
        .list(&RULE.evidence)
        .iter()
        .filter_map(|item| {
            let name = item.text()?;
            check(item, &name, None, &name, values);
            Some(name)
        })
        .collect();
    let advice = some(&RULE.r#try).map(|items| items.iter().filter_map(|item| template(item, values)).collect());
    all_of!(Rule {
        id: table.read(&RULE.id, Item::name),
        cause: table.read(&RULE.cause, Item::text),
        kind: table.read(&RULE.kind, |item| item.one_of(&RuleKind::WORDS)),
        cases: cases,
        evidence: Some(evidence),
        stalls: Some(names(&RULE.stalls)),
        explains: Some(names(&RULE.explains)),
        advice: advice,
    })
}

fn case(item: &Item<'_>, values: &[String]) -> Option<RuleCase> {
    let table = item.table()?;
    let saves = table.get(&RULE_CASE.saves).map(|item| item.some_list()).unwrap_or_default();
    all_of!(RuleCase {
        when: table.read(&RULE_CASE.when, |item| expr(item, values)),
        saves: Some(saves.iter().filter_map(|item| expr(item, values)).collect()),
        confidence: table.read(&RULE_CASE.confidence, |item| item.one_of(&Confidence::WORDS)),
        says: table.read(&RULE_CASE.says, |item| template(item, values)),
        advice: Some(table.list(&RULE_CASE.r#try).iter().filter_map(|item| template(item, values)).collect()),
    })
}

fn expr(item: &Item<'_>, values: &[String]) -> Option<Expr> {
    let expr = item.expr()?.value;
    for (name, span) in expr.names() {
        check(item, &name, Some(span), expr.text(), values);
    }
    Some(expr)
}

fn template(item: &Item<'_>, values: &[String]) -> Option<Template> {
    let template = item.template()?.value;
    for (name, span) in template.names() {
        if !FACT_TEXTS.contains(&name.as_str()) {
            check(item, &name, Some(span), template.text(), values);
        }
    }
    Some(template)
}

/// Refuses a name that is neither a metric, nor a fact, nor a value of the phase.
fn check(item: &Item<'_>, name: &str, span: Option<Span>, text: &str, values: &[String]) {
    let metric = name.strip_prefix("baseline.").unwrap_or(name);
    let catalogue = Catalogue::embedded();
    if catalogue.source(metric).is_some() || is_fact(metric) || values.iter().any(|value| value == metric) {
        return;
    }
    let facts = FACTS.iter().map(|fact| fact.name);
    let known = catalogue.names().chain(facts).chain(values.iter().map(String::as_str));
    let help = nearest(metric, known).map(|near| format!("did you mean `{near}`?"));
    item.report_within(text, span, format!("`{}`: `{name}` is neither a metric nor a fact", item.place.key), help);
}
