//! How the launches of one evaluation combine into one value.

use serde::Deserialize;

/// How the values of launches combine into one value of their evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combination {
    Sum,
    Greatest,
    Least,
    /// The value of the longest launch; for uniform launches, their common value.
    Longest,
    /// The value of the launch with the greatest sum of all counters of this combination: parts of one allocation.
    GreatestTogether,
    /// The mean, weighted by the duration of each launch.
    Mean,
}

impl Combination {
    /// The value of an evaluation. `weights` belong to the same launches: the duration of each, or for
    /// [`Self::GreatestTogether`] the sum of the combined counters. None if any launch has no value, or if a required
    /// weight is unknown.
    pub fn value(self, values: &[Option<f64>], weights: Option<&[f64]>) -> Option<f64> {
        let values: Vec<f64> = values.iter().copied().collect::<Option<_>>()?;
        match self {
            Self::Sum => Some(values.iter().sum()),
            Self::Greatest => values.into_iter().reduce(f64::max),
            Self::Least => values.into_iter().reduce(f64::min),
            Self::Longest | Self::GreatestTogether => {
                let greatest = weights.and_then(|weights| {
                    let weights = weights.iter().copied().enumerate();
                    weights.max_by(|(_, a), (_, b)| a.total_cmp(b)).and_then(|(at, _)| values.get(at).copied())
                });
                greatest.or_else(|| values.first().copied().filter(|first| values.iter().all(|value| value == first)))
            }
            Self::Mean => {
                let times = weights?;
                let total: f64 = times.iter().sum();
                (total > 0.0).then(|| values.iter().zip(times).map(|(v, t)| v * t).sum::<f64>() / total)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Catalogue;
    use super::*;

    #[test]
    fn counts_are_added_up_and_shares_are_weighted_by_time() {
        let (values, times) = ([Some(10.0), Some(40.0)], [3.0, 1.0]);
        let of = |name: &str| Catalogue::embedded().combination(name).value(&values, Some(&times));
        assert_eq!(of("dram__bytes.sum"), Some(50.0));
        assert_eq!(of("gpu__time_duration.sum"), Some(50.0));
        assert_eq!(of("sm__throughput.avg.pct_of_peak_sustained_elapsed"), Some(17.5));
        assert_eq!(of("dram__bytes.sum.per_second"), Some(17.5));
        assert_eq!(of("lts__t_sectors.max"), Some(40.0));
        assert_eq!(of("lts__t_sectors.min"), Some(10.0));
        assert_eq!(of("launch__registers_per_thread"), Some(40.0), "what an evaluation needs");
        assert_eq!(of("launch__grid_size"), Some(10.0));
        assert_eq!(of("sm__maximum_warps_per_active_cycle_pct"), Some(10.0));
    }

    #[test]
    fn a_launch_without_a_value_or_a_time_leaves_none() {
        assert_eq!(Combination::Mean.value(&[Some(1.0), Some(2.0)], None), None);
        assert_eq!(Combination::Sum.value(&[Some(1.0), None], Some(&[1.0, 1.0])), None);
        assert_eq!(Combination::Longest.value(&[Some(2.0), Some(2.0)], None), Some(2.0));
        assert_eq!(Combination::Longest.value(&[Some(2.0), Some(3.0)], None), None);
    }
}
