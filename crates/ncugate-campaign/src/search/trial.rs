//! Results of tried points.

use ncugate_phase::plan::Point;
use std::collections::HashSet;

/// The result of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchTrial {
    pub point: Point,
    /// The positive objective to minimise; `None` if the point did not build, was refused, was wrong, or crashed.
    pub cost: Option<f64>,
    /// A hash of its machine code and launches; `None` if unknown. Trials with equal hashes are one measurement.
    pub code: Option<String>,
}

/// The trials with a cost, best first; of equal machine code only the first.
pub fn ranked(trials: &[SearchTrial]) -> Vec<&SearchTrial> {
    let mut timed: Vec<(f64, &SearchTrial)> = trials.iter().filter_map(|trial| Some((trial.cost?, trial))).collect();
    timed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut seen = HashSet::new();
    timed
        .into_iter()
        .map(|(_, trial)| trial)
        .filter(|trial| trial.code.as_ref().is_none_or(|code| seen.insert(code)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_machine_code_the_first_alone_is_ranked() {
        let trial =
            |at, cost, code: Option<&str>| SearchTrial { point: Point(vec![at]), cost, code: code.map(str::to_owned) };
        let trials = [
            trial(0, Some(2.0), Some("x")),
            trial(1, Some(1.0), Some("y")),
            trial(2, Some(2.0), Some("x")),
            trial(3, Some(3.0), None),
            trial(4, Some(3.0), None),
            trial(5, None, Some("z")),
        ];
        let points: Vec<u32> = ranked(&trials).iter().map(|trial| trial.point.0[0]).collect();
        assert_eq!(points, [1, 0, 3, 4]);
    }
}
