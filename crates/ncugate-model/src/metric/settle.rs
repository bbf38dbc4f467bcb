//! Inherent order relations between metrics: a part is at most its whole, a quantile at most a higher one. A
//! requirement that compares two of them in that order holds for every measurement.

use super::catalogue::Catalogue;
use super::derivation::{Derivation, LatencyForm, LatencyMetric};
use crate::stats::Statistic;
use std::collections::BTreeMap;

/// The largest trial value.
const MOST: f64 = 1e21;

impl Catalogue {
    /// The range of a metric: a share is between 0 and 100 %, a time is above 0. For ncu's own names only the sign is
    /// known, because they have no unit here.
    pub fn range(&self, name: &str) -> (f64, f64) {
        match self.get(name).map(|metric| (metric.name.as_str(), metric.unit.as_str())) {
            Some(("correct" | "deterministic" | "batch_invariant", _)) => (0.0, 1.0),
            Some((_, "%")) => (0.0, 100.0),
            Some((_, "us" | "ns")) => (1e-3, MOST),
            Some((_, "hz" | "register/thread")) => (1.0, MOST),
            Some(_) | None => (0.0, MOST),
        }
    }

    /// Adjusts values of metrics so that they are jointly possible for one variant: a value above its upper bound
    /// becomes equal to it.
    pub fn settle(&self, values: &mut BTreeMap<&str, f64>) {
        // The next pass settles a part of a part; no chain is longer.
        for _ in 0..3 {
            self.orders().iter().for_each(|order| order.settle(values));
        }
        self.settle_latencies(values);
        settle_rollups(values);
    }

    fn settle_latencies(&self, values: &mut BTreeMap<&str, f64>) {
        let statistic = |name: &str| match self.derivation(name) {
            Some(Derivation::Latency(LatencyMetric { statistic, form: LatencyForm::Time })) => Some(statistic),
            _ => None,
        };
        let mut quantiles: Vec<(f64, &mut f64)> = Vec::new();
        let mut means = Vec::new();
        for (name, value) in values.iter_mut() {
            match statistic(name) {
                Some(Statistic::Quantile(part)) => quantiles.push((part, value)),
                Some(Statistic::Mean) => means.push(value),
                None => {}
            }
        }
        quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut least = 0.0;
        for (_, value) in &mut quantiles {
            **value = value.max(least);
            least = **value;
        }
        let end = |part: f64| quantiles.iter().find(|(own, _)| *own == part).map(|(_, value)| **value);
        let (shortest, longest) = (end(0.0), end(1.0));
        for mean in means {
            *mean = mean.max(shortest.unwrap_or(*mean)).min(longest.unwrap_or(MOST));
        }
    }
}

/// Settles the rollups of one ncu counter: `.min`, `.avg`, `.max`, `.sum`.
fn settle_rollups(values: &mut BTreeMap<&str, f64>) {
    const ROLLUPS: [&str; 4] = [".min", ".avg", ".max", ".sum"];
    let stems: Vec<String> = values
        .keys()
        .filter_map(|name| {
            Some(
                name.strip_suffix(ROLLUPS[0])
                    .or(name.strip_suffix(ROLLUPS[1]))
                    .or(name.strip_suffix(ROLLUPS[2]))?
                    .to_owned(),
            )
        })
        .collect();
    for stem in stems {
        let mut least = 0.0;
        for rollup in ROLLUPS {
            if let Some(value) = values.get_mut(format!("{stem}{rollup}").as_str()) {
                *value = value.max(least);
                least = *value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled<const N: usize>(values: [(&'static str, f64); N]) -> Vec<f64> {
        let mut all = BTreeMap::from(values);
        Catalogue::embedded().settle(&mut all);
        values.iter().map(|(name, _)| all[name]).collect()
    }

    #[test]
    fn every_order_names_metrics_of_the_catalogue() {
        let catalogue = Catalogue::embedded();
        for order in catalogue.orders() {
            assert!(catalogue.get(&order.whole).is_some(), "{order:?}");
            for part in &order.parts {
                let known = match part.strip_suffix('*') {
                    Some(stem) => catalogue.names().any(|name| name.starts_with(stem)),
                    None => catalogue.get(part).is_some(),
                };
                assert!(known, "{part}");
            }
        }
    }

    #[test]
    fn values_are_made_ones_that_can_be_measured_together() {
        assert_eq!(settled([("latency_p50", 5.0), ("latency_p90", 3.0), ("latency_min", 1.0)]), [5.0, 5.0, 1.0]);
        assert_eq!(settled([("latency_mean", 1.0), ("latency_min", 2.0), ("latency_p50", 3.0)]), [2.0, 2.0, 3.0]);
        assert_eq!(settled([("dram_bytes", 8.0), ("dram_read_bytes", 9.0)]), [8.0, 8.0]);
        assert_eq!(
            settled([("dram_bytes", 8.0), ("dram_read_bytes", 8.0), ("dram_write_bytes", 8.0)]),
            [8.0, 4.0, 4.0]
        );
        assert_eq!(settled([("a__b.sum", 1.0), ("a__b.max", 2.0), ("a__b.avg", 3.0)]), [3.0, 3.0, 3.0]);
        assert_eq!(settled([("registers", 9.0), ("dram_bytes", 8.0)]), [9.0, 8.0]);
    }
}
