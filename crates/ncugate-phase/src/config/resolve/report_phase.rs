//! A phase of ncu reports from another program: every variant is a set of their launches, and nothing is built or run.

use crate::config::Workload;
use crate::config::keys::{ROOT, VARIANT};
use crate::config::reader::{Item, Table};

/// Whether a variant or a baseline consists of launches of reports.
pub fn is_of_reports(root: &Table<'_>) -> bool {
    named(root).any(|item| item.peek(&VARIANT.r#match).is_some())
}

/// The workload of such a phase; reports keys that do not apply.
pub fn workload(root: &Table<'_>) -> Workload {
    for key in [&ROOT.workload, &ROOT.kernel, &ROOT.sweep, &ROOT.build, &ROOT.bench, &ROOT.check] {
        if let Some(item) = root.get(key) {
            let message =
                format!("`{}` does not apply to a phase whose variants are launches of ncu reports", key.name);
            item.report(message, Some("remove it, or give every variant a kernel or a command".to_owned()));
        }
    }
    for key in [&ROOT.stage, &ROOT.fallback] {
        if let Some(item) = root.get(key) {
            let help = "use [[gate]]: launches of ncu reports have no selected variant".to_owned();
            item.report(format!("`{}` needs a selected variant", key.name), Some(help));
        }
    }
    for item in named(root).filter(|item| item.peek(&VARIANT.r#match).is_none()) {
        let help = "give it `match = { kernel = \"...\" }`, or remove `match` from all variants".to_owned();
        item.report(format!("`{}` has no `match`, but other variants have", item.place.key), Some(help));
    }
    Workload::of_reports()
}

fn named<'a>(root: &Table<'a>) -> impl Iterator<Item = Item<'a>> {
    [&ROOT.variant, &ROOT.baseline].into_iter().flat_map(|key| root.list(key))
}
