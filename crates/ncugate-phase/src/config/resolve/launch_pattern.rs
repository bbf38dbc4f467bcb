//! `match`: which launches of ncu reports are a variant.

use crate::config::reader::Item;
use crate::config::{LaunchPattern, keys};
use ncugate_model::glob;

/// Reads `match`.
pub fn launch_pattern(item: &Item<'_>) -> Option<LaunchPattern> {
    let table = item.table(&keys::LAUNCH_PATTERN)?;
    let keys = ["kernel", "nvtx", "launch", "report"];
    if !keys.into_iter().any(|key| table.has(key)) {
        let help = "match = { kernel = \"softmax*\" }".to_owned();
        item.expected(&format!("at least one of {}", keys.join(", ")), Some(help));
        return None;
    }
    let glob = |key| table.get(key).map_or(Some(None), |item: Item<'_>| launch_glob(&item).map(Some));
    let number = |item: &Item<'_>| u32::try_from(item.integer(0..=i64::from(u32::MAX))?).ok();
    let launches = table.get("launch").map_or(Some(Vec::new()), |item| match item.is_list() {
        true => item.some_list().iter().map(number).collect(),
        false => number(&item).map(|launch| vec![launch]),
    });
    let (kernel, nvtx, report) = (glob("kernel"), glob("nvtx"), glob("report"));
    Some(LaunchPattern { kernel: kernel?, nvtx: nvtx?, launches: launches?, report: report? })
}

fn launch_glob(item: &Item<'_>) -> Option<String> {
    let text = item.text()?;
    let checked = glob(&text);
    checked.map_err(|e| item.expected("a glob such as \"softmax*\"", Some(e.reason))).ok()?;
    Some(text)
}
