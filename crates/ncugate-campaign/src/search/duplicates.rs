//! Axes that do not decide on machine code: a flag that launch bounds overrule would fill batches with the same kernel.

use super::trial::SearchTrial;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Trials required to show that an axis does not change machine code, if none shows that it does.
const PAIRS: usize = 3;

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
    use ncugate_phase::plan::Point;

    fn trial(a: u32, b: u32, code: &str) -> SearchTrial {
        SearchTrial { point: Point(vec![a, b]), cost: Some(1.0), code: Some(code.to_owned()) }
    }

    #[test]
    fn an_axis_that_changed_no_machine_code_is_idle_until_it_does() {
        let mut trials: Vec<SearchTrial> = (0..4).map(|a| trial(a, 4, "x")).chain([trial(5, 7, "y")]).collect();
        assert_eq!(idle_axes(&trials), HashSet::from([0]));
        assert_eq!(idle_axes(&trials[..3]), HashSet::new(), "two pairs show too little");
        trials.extend([trial(5, 9, "v"), trial(6, 9, "w")]);
        assert_eq!(idle_axes(&trials), HashSet::new(), "an axis that decides anywhere is tried everywhere");
    }
}
