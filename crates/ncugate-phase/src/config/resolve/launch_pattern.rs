//! `match`: the launches of ncu reports that form a variant.

use crate::config::LaunchPattern;
use crate::config::keys::LAUNCH_PATTERN;
use crate::config::reader::Item;

/// Reads `match`.
pub fn launch_pattern(item: &Item<'_>) -> Option<LaunchPattern> {
    let table = item.table()?;
    if !table.at_least_one("of ", LAUNCH_PATTERN.spec.keys, "match = { kernel = \"softmax*\" }") {
        return None;
    }
    let launches = table.get(&LAUNCH_PATTERN.launch).map_or(Vec::new(), |item| match item.is_list() {
        true => item.some_list().iter().filter_map(Item::count).collect(),
        false => item.count().into_iter().collect(),
    });
    let glob = |key| table.read(key, |item| item.glob("a glob such as \"softmax*\""));
    Some(LaunchPattern {
        kernel: glob(&LAUNCH_PATTERN.kernel),
        nvtx: glob(&LAUNCH_PATTERN.nvtx),
        launches,
        report: glob(&LAUNCH_PATTERN.report),
    })
}
