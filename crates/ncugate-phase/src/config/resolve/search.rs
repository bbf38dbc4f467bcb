//! Reads `[search]`.

use super::scope::NameScope;
use crate::config::keys::{SEARCH, SEARCH_BUDGET};
use crate::config::reader::{Item, Table};
use crate::config::{ConditionalAxis, SearchBudget, SearchSettings, SearchStrategy, Sweep, usual_batch};
use ncugate_model::metric::Catalogue;
use std::time::Duration;

/// Reads `[search]`, which needs the axes of a sweep.
pub fn search(item: &Item<'_>, sweep: &Sweep) -> Option<SearchSettings> {
    let table = item.table()?;
    if sweep.axes.is_empty() {
        table.report("`search` needs axes", Some("declare [sweep]".to_owned()));
    }
    let axes = || sweep.axes.iter().map(|(name, _)| name.clone());
    let facts =
        Catalogue::embedded().metrics().iter().filter(|metric| metric.is_static()).map(|metric| metric.name.clone());
    let facts = NameScope::new("the metrics of a build and the sweep's parameters", facts.chain(axes()));
    let budget = table.read(&SEARCH.budget, budget);
    let tried = budget.and_then(|budget| budget.builds.or(budget.measured));
    all_of!(SearchSettings {
        budget: budget,
        strategy: table.read(&SEARCH.strategy, |item| item.one_of(&SearchStrategy::WORDS)),
        seed: table.read(&SEARCH.seed, Item::integer).map(i64::unsigned_abs),
        batch: table.read(&SEARCH.batch, Item::count).or_else(|| Some(usual_batch(tried.unwrap_or(u32::MAX)))),
        rounds: table.read(&SEARCH.rounds, Item::count),
        finalists: table.read(&SEARCH.finalists, Item::count),
        require: Some(table.list(&SEARCH.require).iter().filter_map(|item| Some(facts.expr(item)?.value)).collect()),
        conditional: Some(conditional(&table, sweep)),
    })
}

fn budget(item: &Item<'_>) -> Option<SearchBudget> {
    let table = item.table()?;
    let count = |key| table.read(key, Item::count);
    let budget = SearchBudget {
        builds: count(&SEARCH_BUDGET.builds),
        measured: count(&SEARCH_BUDGET.measured),
        time: count(&SEARCH_BUDGET.seconds).map(|seconds| Duration::from_secs(u64::from(seconds))),
    };
    table.at_least_one("of ", SEARCH_BUDGET.spec.keys, "budget = { measured = 100 }");
    Some(budget)
}

fn conditional(table: &Table<'_>, sweep: &Sweep) -> Vec<ConditionalAxis> {
    let Some(when) = table.read(&SEARCH.when, Item::table) else { return Vec::new() };
    let scope = NameScope::new("the sweep's parameters", sweep.axes.iter().map(|(name, _)| name.clone()));
    let read = |(name, item): (crate::config::reader::PlacedValue<String>, Item<'_>)| {
        let axis = known(&item, name.value, sweep);
        all_of!(ConditionalAxis { axis: axis, when: scope.expr(&item).map(|expr| expr.value) })
    };
    when.free().into_iter().filter_map(read).collect()
}

/// The name of an axis, if that axis exists.
fn known(item: &Item<'_>, name: String, sweep: &Sweep) -> Option<String> {
    if sweep.axes.iter().any(|(axis, _)| *axis == name) {
        return Some(name);
    }
    let axes: Vec<&str> = sweep.axes.iter().map(|(axis, _)| axis.as_str()).collect();
    item.report(
        format!("`{}` names `{name}`, which is not an axis of the sweep", item.place.key),
        Some(format!("the axes are {}", axes.join(", "))),
    );
    None
}
