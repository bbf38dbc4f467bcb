//! Entries of a phase's leaderboard in words.

use super::provenance::{NO_REPOSITORY, commit};
use ncugate_judge::reference_runs::{Change, LeaderboardEntry, StoredValue};
use ncugate_model::metric::Catalogue;
use ncugate_model::number;

/// A metric of the replaced entry compared with the new one.
pub fn change(change: &Change) -> String {
    let unit = unit(&change.metric);
    let said = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| number::in_sentence(v, &unit));
    let place = format!("{} at {}", change.metric, change.shape);
    match (change.before, change.after) {
        (Some(before), Some(after)) if before == after => format!("{place}: {}", said(Some(after))),
        (Some(before), Some(after)) if before != 0.0 => {
            let percent = (after - before) / before.abs() * 100.0;
            let sign = if percent > 0.0 { "+" } else { "" };
            format!("{place}: {} -> {} ({sign}{percent:.2} %)", said(Some(before)), said(Some(after)))
        }
        (None, after) => format!("{place}: {}", said(after)),
        (before, after) => format!("{place}: {} -> {}", said(before), said(after)),
    }
}

/// An entry in one line: objective, origin, GPU.
pub fn summary(entry: &LeaderboardEntry) -> String {
    let gpu = entry.conditions.fingerprint.gpu.as_ref().map_or("unknown GPU", |gpu| gpu.name.as_str());
    let score = &entry.objective;
    let worse = if entry.accepted_worse { ", accepted although worse" } else { "" };
    let value = number::short(score.value);
    let commit = entry.git.as_ref().map_or_else(|| NO_REPOSITORY.to_owned(), |git| format!("commit {}", commit(git)));
    format!("{}: {} {value} at {}, {}, {commit} ({gpu}{worse})", entry.name, score.metric, score.shape, entry.label())
}

/// A value of an entry with its unit.
pub fn value(stored: &StoredValue) -> String {
    format!("{} at {}: {}", stored.metric, stored.shape, number::in_sentence(stored.value, &unit(&stored.metric)))
}

fn unit(metric: &str) -> String {
    Catalogue::embedded().get(metric).map_or_else(String::new, |m| m.unit.clone())
}
