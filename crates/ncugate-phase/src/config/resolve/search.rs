//! Reads `[search]`.

use super::scope::NameScope;
use crate::config::reader::{Item, Table};
use crate::config::{ConditionalAxis, SearchBudget, SearchSettings, SearchStrategy, Sweep, keys, usual_batch};
use ncugate_model::metric::Catalogue;
use std::time::Duration;

/// Most variants of a batch, and most finalists: all of them are in memory and in one plan.
const MOST: i64 = 4096;

/// Reads `[search]`, which needs axes to search.
pub fn search(item: &Item<'_>, sweep: &Sweep) -> Option<SearchSettings> {
    let table = item.table(&keys::SEARCH)?;
    if sweep.axes.is_empty() {
        table.report("`search` has no axes to search", Some("declare [sweep]".to_owned()));
    }
    let axes = || sweep.axes.iter().map(|(name, _)| name.clone());
    let facts =
        Catalogue::embedded().metrics().iter().filter(|metric| metric.is_static()).map(|metric| metric.name.clone());
    let facts = NameScope::new("what follows from a build, and the sweep's parameters", facts.chain(axes()));
    let words = [
        ("model", SearchStrategy::Model),
        ("random", SearchStrategy::Random),
        ("exhaustive", SearchStrategy::Exhaustive),
    ];
    let whole = |key: &'static str, low: i64, high: i64, default: i64| {
        table.get(key).map_or(Some(default), |item| item.integer(low..=high))
    };
    let count = |key, default| whole(key, 1, MOST, default).and_then(|n| u32::try_from(n).ok());
    let require = table.get("require").map(|item| item.list()).unwrap_or_default();
    let strategy = table.get("strategy").map_or(Some(SearchStrategy::default()), |item| item.one_of(&words));
    let budget = table.need("budget").and_then(|item| budget(&item));
    let tried = budget.and_then(|budget| budget.builds.or(budget.measured));
    let (seed, batch) = (whole("seed", 0, i64::MAX, 0), count("batch", tried.map_or(8, usual_batch).into()));
    let (rounds, finalists) = (count("rounds", 8), count("finalists", 8));
    Some(SearchSettings {
        require: require.iter().filter_map(|item| Some(facts.expr(item)?.value)).collect(),
        categorical: categorical(&table, sweep),
        conditional: conditional(&table, sweep),
        budget: budget?,
        strategy: strategy?,
        seed: seed?.unsigned_abs(),
        batch: batch?,
        rounds: rounds?,
        finalists: finalists?,
    })
}

fn budget(item: &Item<'_>) -> Option<SearchBudget> {
    let table = item.table(&keys::SEARCH_BUDGET)?;
    let count = |key| table.get(key).and_then(|item| item.count(1));
    let budget = SearchBudget {
        builds: count("builds"),
        measured: count("measured"),
        time: count("seconds").map(|seconds| Duration::from_secs(u64::from(seconds))),
    };
    if !["builds", "measured", "seconds"].into_iter().any(|key| table.has(key)) {
        item.expected("at least one of builds, measured, seconds", Some("budget = { measured = 100 }".to_owned()));
    }
    Some(budget)
}

fn categorical(table: &Table<'_>, sweep: &Sweep) -> Vec<String> {
    let items = table.get("categorical").map(|item| item.list()).unwrap_or_default();
    items.iter().filter_map(|item| known(item, item.name()?, sweep)).collect()
}

fn conditional(table: &Table<'_>, sweep: &Sweep) -> Vec<ConditionalAxis> {
    let Some(when) = table.get("when").and_then(|item| item.table(&keys::SEARCH_WHEN)) else { return Vec::new() };
    let scope = NameScope::new("the sweep's parameters", sweep.axes.iter().map(|(name, _)| name.clone()));
    let read = |(name, item): (crate::config::reader::PlacedValue<String>, Item<'_>)| {
        let axis = known(&item, name.value, sweep);
        let when = scope.expr(&item).map(|expr| expr.value);
        Some(ConditionalAxis { axis: axis?, when: when? })
    };
    when.free().into_iter().filter_map(read).collect()
}

/// The name of an axis, if there is one of that name.
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
