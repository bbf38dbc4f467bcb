//! `[imported]`, whose names have to be those of the phase.

use super::names::suggest;
use crate::config::keys::{IMPORTED, IMPORTED_SOLUTIONS, IMPORTED_WORKLOADS, Spec};
use crate::config::reader::{Item, Table};
use crate::config::{ImportFormat, ProblemOrigin, Ranking, Shape};

/// Reads the table; `shapes` are those of the workload.
pub fn imported(item: &Item<'_>, shapes: &[Shape]) -> Option<ProblemOrigin> {
    let table = item.table(&IMPORTED)?;
    let formats = [ImportFormat::FlashInfer, ImportFormat::KernelBench, ImportFormat::GpuMode];
    let format = table.need("format").and_then(|item| item.one_of(&formats.map(|format| (format.word(), format))));
    let problem = table.need("problem").and_then(|item| item.text());
    let workloads = texts(&table, "workloads", &IMPORTED_WORKLOADS);
    for (name, item) in workloads.iter().map(|(name, _, item)| (name, item)) {
        if !shapes.iter().any(|shape| shape.name.0 == *name) {
            let known = suggest(name, shapes.iter().map(|shape| shape.name.0.as_str()));
            item.report(format!("`{}` is not of a shape of the workload", item.place.key), Some(known));
        }
    }
    let solutions = texts(&table, "solutions", &IMPORTED_SOLUTIONS);
    let ranking = table.get("ranking").and_then(|item| item.one_of(&Ranking::ALL.map(|by| (by.word(), by))));
    let plain =
        |entries: Vec<(String, String, Item<'_>)>| entries.into_iter().map(|(key, text, _)| (key, text)).collect();
    Some(ProblemOrigin {
        format: format?,
        problem: problem?,
        workloads: plain(workloads),
        solutions: plain(solutions),
        ranking,
    })
}

fn texts<'a>(table: &Table<'a>, key: &'static str, spec: &'static Spec) -> Vec<(String, String, Item<'a>)> {
    let entries = table.get(key).and_then(|item| item.table(spec)).map(|table| table.free()).unwrap_or_default();
    entries.into_iter().filter_map(|(name, item)| Some((name.value, item.text()?, item))).collect()
}
