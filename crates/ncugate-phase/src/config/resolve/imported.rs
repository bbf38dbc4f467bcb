//! `[imported]`, whose names must match those of the phase.

use super::names::suggest;
use crate::config::keys::{IMPORTED, Key};
use crate::config::reader::{Item, Table};
use crate::config::{ImportFormat, ProblemOrigin, Ranking, Shape};

/// Reads the table; `shapes` are those of the workload.
pub fn imported(item: &Item<'_>, shapes: &[Shape]) -> Option<ProblemOrigin> {
    let table = item.table()?;
    let workloads = texts(&table, &IMPORTED.workloads);
    for (name, item) in workloads.iter().map(|(name, _, item)| (name, item)) {
        if !shapes.iter().any(|shape| shape.name.0 == *name) {
            let known = suggest(name, shapes.iter().map(|shape| shape.name.0.as_str()));
            item.report(format!("`{}` names no shape of the workload", item.place.key), Some(known));
        }
    }
    let plain =
        |entries: Vec<(String, String, Item<'_>)>| entries.into_iter().map(|(key, text, _)| (key, text)).collect();
    all_of!(ProblemOrigin {
        format: table.read(&IMPORTED.format, |item| item.one_of(&ImportFormat::WORDS)),
        problem: table.read(&IMPORTED.problem, Item::text),
        workloads: Some(plain(workloads)),
        solutions: Some(plain(texts(&table, &IMPORTED.solutions))),
        ranking: table.read(&IMPORTED.ranking, |item| item.one_of(&Ranking::WORDS)),
    })
}

fn texts<'a>(table: &Table<'a>, key: &'static Key) -> Vec<(String, String, Item<'a>)> {
    let entries = table.read(key, Item::table).map(|table| table.free()).unwrap_or_default();
    entries.into_iter().filter_map(|(name, item)| Some((name.value, item.text()?, item))).collect()
}
