//! Drops points that are expected to build to machine code that was already tried.

use super::trial::SearchTrial;
use ncugate_phase::plan::Point;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Trials required to show that an axis does not change machine code, if none shows that it does.
const PAIRS: usize = 3;

/// The points that differ from every trial, and from every earlier point, on an axis that is not idle. Otherwise a
/// flag that launch bounds overrule would fill batches with the same kernel. Returns all points if none is left.
pub fn without_duplicates(points: Vec<Point>, trials: &[SearchTrial], idle: &HashSet<usize>) -> Vec<Point> {
    let rest = |point: &Point| -> Vec<u32> {
        point.0.iter().enumerate().filter(|(axis, _)| !idle.contains(axis)).map(|(_, at)| *at).collect()
    };
    let mut seen: HashSet<Vec<u32>> = trials.iter().map(|trial| rest(&trial.point)).collect();
    let different: Vec<Point> = points.iter().filter(|point| seen.insert(rest(point))).cloned().collect();
    if different.is_empty() { points } else { different }
}

/// The axes that have not changed machine code so far: for each, [`PAIRS`] trials differ from an earlier one on that
/// axis alone, and all have the same machine code as that trial.
pub fn idle_axes(trials: &[SearchTrial]) -> HashSet<usize> {
    let axes = trials.first().map_or(0, |trial| trial.point.0.len());
    let is_idle = |axis: &usize| {
        let (mut first, mut equal) = (HashMap::new(), 0);
        for trial in trials {
            let Some(code) = &trial.code else { continue };
            let mut rest = trial.point.0.clone();
            rest.remove(*axis);
            match first.entry(rest) {
                Entry::Vacant(entry) => drop(entry.insert(code)),
                Entry::Occupied(entry) if *entry.get() == code => equal += 1,
                Entry::Occupied(_) => return false,
            }
        }
        equal >= PAIRS
    };
    (0..axes).filter(is_idle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(a: u32, b: u32, code: &str) -> SearchTrial {
        SearchTrial { point: Point(vec![a, b]), cost: Some(1.0), facts: Vec::new(), code: Some(code.to_owned()) }
    }

    /// The untried points of 16 values on each of two axes.
    fn pool(trials: &[SearchTrial]) -> Vec<Point> {
        let all = (0..16).flat_map(|a| (0..16).map(move |b| Point(vec![a, b])));
        all.filter(|point| trials.iter().all(|trial| trial.point != *point)).collect()
    }

    #[test]
    fn an_axis_that_changed_no_machine_code_is_not_tried_at_each_value() {
        let mut trials: Vec<SearchTrial> = (0..4).map(|a| trial(a, 4, "x")).chain([trial(5, 7, "y")]).collect();
        assert_eq!(idle_axes(&trials), HashSet::from([0]));
        let left = without_duplicates(pool(&trials), &trials, &idle_axes(&trials));
        assert_eq!((left.len(), left.iter().any(|point| [4, 7].contains(&point.0[1]))), (14, false));
        trials.extend([trial(5, 9, "v"), trial(6, 9, "w")]);
        assert_eq!(idle_axes(&trials), HashSet::new(), "an axis that decides anywhere is tried everywhere");
        assert_eq!(without_duplicates(pool(&trials), &trials, &idle_axes(&trials)), pool(&trials));
        assert_eq!(idle_axes(&trials[..3]), HashSet::new(), "two pairs show too little");
    }

    #[test]
    fn a_space_of_which_only_duplicates_are_left_is_searched_on() {
        let trials: Vec<SearchTrial> = (0..8).map(|a| trial(a, 0, "x")).collect();
        let left: Vec<Point> = (8..16).map(|a| Point(vec![a, 0])).collect();
        assert_eq!(without_duplicates(left.clone(), &trials, &idle_axes(&trials)), left);
    }
}
