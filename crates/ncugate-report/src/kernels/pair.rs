//! Pairs groups of launches of one report or of two: groups in both, and groups in only one.

use super::group::{KernelKey, LaunchGroup, ProfiledReport};
use crate::number;
use ncugate_model::metric::id;

/// A group of each report; the last is the subject of the page.
#[derive(Debug)]
pub struct GroupPair<'a> {
    /// The key of the last report that has it.
    pub key: &'a KernelKey,
    /// The group of each report, if it has one.
    pub groups: Vec<Option<&'a LaunchGroup>>,
    /// The difference between the launch shapes; empty if they are alike.
    pub unlike: String,
}

fn single(group: &LaunchGroup) -> GroupPair<'_> {
    GroupPair { key: &group.key, groups: vec![Some(group)], unlike: String::new() }
}

/// Groups of the last report, the longest total time first, then groups that only an earlier report has. Equal groups
/// are paired. Two groups of one kernel that differ in launch shape are paired with a note if each side has only one of
/// them.
pub fn paired(reports: &[ProfiledReport]) -> Vec<GroupPair<'_>> {
    let [before, after] = reports else {
        return reports.iter().flat_map(|report| &report.groups).map(single).collect();
    };
    let alike = |report: &'_ ProfiledReport, key: &KernelKey| report.groups.iter().position(|group| group.key == *key);
    let alone = |report: &ProfiledReport, other: &ProfiledReport, key: &KernelKey| -> Vec<usize> {
        let groups = report.groups.iter().enumerate();
        let alone = groups.filter(|(_, group)| group.key.is_sibling(key) && alike(other, &group.key).is_none());
        alone.map(|(at, _)| at).collect()
    };
    let partner = |key: &KernelKey| match (alone(before, after, key).as_slice(), alone(after, before, key).as_slice()) {
        ([one], [_]) => Some(*one),
        _ => None,
    };
    let mut taken: Vec<usize> = Vec::new();
    let mut pairs: Vec<GroupPair<'_>> = Vec::new();
    for group in &after.groups {
        let at = alike(before, &group.key).or_else(|| partner(&group.key));
        taken.extend(at);
        let other = at.and_then(|at| before.groups.get(at));
        let unlike = other.map_or_else(String::new, |other| other.key.shape.change(&group.key.shape));
        pairs.push(GroupPair { key: &group.key, groups: vec![other, Some(group)], unlike });
    }
    let rest = before.groups.iter().enumerate().filter(|(at, _)| !taken.contains(at));
    pairs.extend(rest.map(|(_, group)| GroupPair {
        key: &group.key,
        groups: vec![Some(group), None],
        unlike: String::new(),
    }));
    pairs
}

/// Launches and their time.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    launches: usize,
    nanos: f64,
}

impl Sum {
    fn add(&mut self, launches: usize, nanos: f64) {
        if launches > 0 {
            *self = Self { launches: self.launches + launches, nanos: self.nanos + nanos };
        }
    }
}

/// `6 launches are in both reports: 74.02 µs, and 74.24 µs in A (-0.3 %). Only in A: 7 launches, 46.5 µs.` If a group
/// was launched more often on one side, its mean counts as often as the other side launched it.
pub fn both_sides(pairs: &[GroupPair<'_>], a: &ProfiledReport, b: &ProfiledReport) -> String {
    if a.total().is_none() || b.total().is_none() {
        return "The durations of some launches were not collected: times are not compared.".to_owned();
    }
    let (mut common, mut alone) = ([Sum::default(); 2], [Sum::default(); 2]);
    let mut unlike = 0;
    for pair in pairs {
        let launches = |group: &Option<&LaunchGroup>| group.map_or(0, |group| group.launches);
        let shared = pair.groups.iter().map(launches).min().unwrap_or(0);
        unlike += usize::from(!pair.unlike.is_empty());
        for (side, group) in pair.groups.iter().enumerate().take(2) {
            let Some(group) = group else { continue };
            let mean = group.total(&id::DURATION).unwrap_or(0.0) / group.launches as f64;
            let rest = group.launches - shared;
            common[side].add(shared, mean * shared as f64);
            alone[side].add(rest, mean * rest as f64);
        }
    }
    let written = |nanos: f64| number::with_unit(nanos, "ns");
    let [before, after] = common;
    let mut sentences = vec![match before.launches {
        0 => "No launch is in both reports.".to_owned(),
        many => {
            let verb = if many == 1 { "is" } else { "are" };
            let change = match before.nanos > 0.0 {
                true => format!(" ({})", number::change(after.nanos / before.nanos)),
                false => String::new(),
            };
            let launches = number::counted(many, "launch");
            let (now, then) = (written(after.nanos), written(before.nanos));
            format!("{launches} {verb} in both reports: {now} in B, {then} in A{change}.")
        }
    }];
    if unlike > 0 {
        let kernels = number::counted(unlike, "kernel");
        sentences.push(format!("{kernels} had another launch shape."));
    }
    for (side, sum) in ["A", "B"].into_iter().zip(alone).filter(|(_, sum)| sum.launches > 0) {
        let launches = number::counted(sum.launches, "launch");
        sentences.push(format!("Only in {side}: {launches}, {}.", written(sum.nanos)));
    }
    sentences.join(" ")
}
