//! The Pareto front over several metrics. A variant is not better by a difference that noise explains.

use super::metric_change::explained;
use ncugate_model::metric::Catalogue;
use ncugate_model::stats::{Statistic, order_limits, quantile};
use ncugate_model::{Better, Quantities, ShapeName, VariantId};
use std::cmp::Ordering;

/// A metric and its direction of improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParetoAxis<'m> {
    pub metric: &'m str,
    /// Direction of improvement; [`Better::Context`] counts as higher.
    pub better: Better,
}

/// A variant in the space of several metrics: the gain of each, and the half-width of its 95 % interval.
struct Place(Vec<(f64, f64)>);

impl Place {
    fn new(
        quantities: &Quantities,
        shape: &ShapeName,
        axes: &[ParetoAxis<'_>],
        variant: &VariantId,
        values: &[f64],
    ) -> Self {
        let of = |(axis, value): (&ParetoAxis<'_>, &f64)| {
            (gain(*value, axis.better), half_width(quantities, shape, axis.metric, variant, *value))
        };
        Self(axes.iter().zip(values).map(of).collect())
    }

    /// Whether it is better than another in one metric and worse in none, by more than noise.
    fn is_clearly_better(&self, other: &Self) -> bool {
        let pairs = || self.0.iter().zip(&other.0).map(|((a, half), (b, other))| (a - b, half.hypot(*other)));
        pairs().all(|(ahead, noise)| ahead >= -noise) && pairs().any(|(ahead, noise)| ahead > noise)
    }
}

fn gain(value: f64, better: Better) -> f64 {
    if better == Better::Lower { -value } else { value }
}

/// Half of the interval of a value: of a latency by the order of its samples, of a counter by its repeats or its spread
/// in the catalogue; 0 if it is exact or its noise is unknown.
fn half_width(quantities: &Quantities, shape: &ShapeName, metric: &str, variant: &VariantId, value: f64) -> f64 {
    let row = quantities.row(variant, shape);
    if let Some(latency) = Catalogue::embedded().latency(metric) {
        let share = quantities.samples(variant, shape).and_then(|samples| relative_half(samples, latency.statistic));
        return share.map_or(0.0, |share| share * value.abs());
    }
    let repeats = row.and_then(|row| quantities.column(metric)?.repeats(row)).filter(|values| values.len() > 1);
    match repeats {
        Some(values) => {
            let ends = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
            (ends.1 - ends.0) / 2.0
        }
        None => explained(metric).unwrap_or(0.0) * value.abs(),
    }
}

/// Half of the 95 % interval of a quantile between two samples, relative to the quantile; none for other statistics.
fn relative_half(samples: &[f64], statistic: Statistic) -> Option<f64> {
    let Statistic::Quantile(q) = statistic else { return None };
    let (low, high) = order_limits(samples, q, 0.95).ok()?;
    let middle = quantile(samples, q).ok()?;
    Some((high - low) / 2.0 / middle).filter(|share| share.is_finite() && *share >= 0.0)
}

/// A variant in the space of several objectives.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct FrontVariant {
    pub variant: VariantId,
    /// Its objectives, in the order of the request.
    pub values: Vec<f64>,
}

/// The Pareto front over several objectives.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct ObjectiveFront {
    pub objectives: Vec<String>,
    /// Variants on the front, by the first objective, the best first.
    pub front: Vec<FrontVariant>,
    /// Number of dominated variants.
    pub beaten: usize,
    /// The dominated variants, for pictures.
    #[serde(skip)]
    pub others: Vec<FrontVariant>,
    /// Variants with a missing number.
    pub missing: Vec<VariantId>,
}

/// The front over any number of objectives at a shape: a variant is on it if no other is at least as good in all and
/// better in one, apart from noise.
pub fn objective_front(
    quantities: &Quantities,
    shape: &ShapeName,
    variants: &[VariantId],
    axes: &[ParetoAxis<'_>],
) -> ObjectiveFront {
    let names = axes.iter().map(|axis| axis.metric.to_owned()).collect();
    let mut found = ObjectiveFront { objectives: names, ..ObjectiveFront::default() };
    let mut all: Vec<(Vec<f64>, FrontVariant)> = Vec::new();
    for variant in variants {
        let read =
            |axis: &ParetoAxis<'_>| quantities.read(variant, shape, axis.metric).value().filter(|v| v.is_finite());
        match axes.iter().map(read).collect::<Option<Vec<f64>>>() {
            Some(values) => {
                let gains = values.iter().zip(axes).map(|(value, axis)| gain(*value, axis.better)).collect();
                all.push((gains, FrontVariant { variant: variant.clone(), values }));
            }
            None => found.missing.push(variant.clone()),
        }
    }
    // What beats a variant comes before it, and is on the front or beaten by one that is.
    all.sort_by(|(a, _), (b, _)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
    let beats = |a: &[f64], b: &[f64]| a != b && a.iter().zip(b).all(|(a, b)| a >= b);
    let mut gains: Vec<Vec<f64>> = Vec::new();
    for (own, variant) in all {
        if gains.iter().any(|other| beats(other, &own)) {
            found.others.push(variant);
        } else {
            gains.push(own);
            found.front.push(variant);
        }
    }
    let places: Vec<Place> =
        found.front.iter().map(|v| Place::new(quantities, shape, axes, &v.variant, &v.values)).collect();
    let is_noise = |place: &Place| places.iter().any(|other| other.is_clearly_better(place));
    let noise: Vec<bool> = places.iter().map(is_noise).collect();
    // three or more objectives can beat each other in a circle
    if noise.iter().any(|is_noise| !is_noise) {
        let (mut kept, front) = (Vec::new(), std::mem::take(&mut found.front));
        for (variant, is_noise) in front.into_iter().zip(noise) {
            if is_noise { found.others.push(variant) } else { kept.push(variant) }
        }
        found.front = kept;
    }
    found.beaten = found.others.len();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::Cell;

    fn front(places: &[(f64, f64)]) -> Vec<bool> {
        let shape = ShapeName("s".into());
        let ids: Vec<VariantId> = (0..places.len()).map(|i| VariantId(format!("v{i}").into())).collect();
        let mut quantities = Quantities::new(ids.iter().map(|id| (id.clone(), shape.clone())));
        quantities.set_column("latency_p50", places.iter().map(|p| Cell::finite(p.0)).collect());
        quantities.set_column("achieved_occupancy", places.iter().map(|p| Cell::finite(p.1)).collect());
        let x = ParetoAxis { metric: "latency_p50", better: Better::Lower };
        let y = ParetoAxis { metric: "achieved_occupancy", better: Better::Higher };
        let found = objective_front(&quantities, &shape, &ids, &[x, y]);
        let known = ids.iter().filter(|id| !found.missing.contains(id));
        known.map(|id| found.front.iter().any(|variant| variant.variant == *id)).collect()
    }

    #[test]
    fn the_front_has_the_variants_that_no_other_beats_on_both() {
        assert_eq!(front(&[(10.0, 20.0), (12.0, 40.0), (11.0, 20.0), (13.0, 30.0)]), [true, true, false, false]);
        assert_eq!(front(&[(10.0, 20.0), (10.0, 20.0), (10.0, 10.0)]), [true, true, false]);
        assert!(front(&[(10.0, f64::NAN)]).is_empty());
    }

    /// The spread of achieved occupancy is 0.02 % between launches.
    #[test]
    fn a_difference_within_the_spread_of_a_counter_is_no_advantage() {
        assert_eq!(front(&[(29.7, 12.473), (45.9, 12.478), (60.0, 25.0)]), [true, false, true]);
        assert_eq!(front(&[(29.7, 12.473), (45.9, 12.6)]), [true, true]);
    }

    #[test]
    fn latencies_whose_intervals_overlap_are_not_better_by_their_medians() {
        let shape = ShapeName("s".into());
        let ids = ["a", "b", "c"].map(|id| VariantId(id.into()));
        let fronts = |spread: f64| {
            let mut table = Quantities::new(ids.iter().map(|id| (id.clone(), shape.clone())));
            for row in 0..3 {
                let samples = (0..60).map(|i| [10.0, 10.1, 20.0][row] + spread * f64::from(i % 20 - 10));
                table.set_samples(row, samples.collect::<Vec<f64>>().into());
            }
            table.set_column("latency_p50", [10.0, 10.1, 20.0].map(Cell::Value).to_vec());
            table.set_column("registers", [64.0, 32.0, 64.0].map(Cell::Value).to_vec());
            let axis = |metric| ParetoAxis { metric, better: Better::Lower };
            let (x, y) = (axis("latency_p50"), axis("registers"));
            let found = objective_front(&table, &shape, &ids, &[x, y]);
            let names: Vec<String> = found.front.iter().map(|v| v.variant.to_string()).collect();
            (names.join(","), found.beaten)
        };
        assert_eq!(fronts(0.1), ("b".to_owned(), 2));
        assert_eq!(fronts(0.0001), ("a,b".to_owned(), 1));
    }

    #[test]
    fn the_front_agrees_with_pairwise_comparison() {
        let places: Vec<(f64, f64)> = (0..40_u32).map(|i| (f64::from(i * 7 % 13), f64::from(i * 5 % 11))).collect();
        let beaten = |a: &(f64, f64)| places.iter().any(|b| b.0 <= a.0 && b.1 >= a.1 && b != a);
        assert_eq!(front(&places), places.iter().map(|p| !beaten(p)).collect::<Vec<_>>());
    }

    #[test]
    fn a_front_over_three_objectives_keeps_what_is_best_in_one() {
        let ids = ["a", "b", "c", "d"].map(|id| VariantId(id.into()));
        let shape = ShapeName("s".into());
        let mut table = Quantities::new(ids.iter().map(|id| (id.clone(), shape.clone())));
        for (metric, values) in [
            ("latency_p50", [10.0, 12.0, 12.0, 11.0]),
            ("registers", [64.0, 32.0, 40.0, 64.0]),
            ("ipc", [1.0, 1.0, 1.0, 2.0]),
        ] {
            table.set_column(metric, values.map(ncugate_model::Cell::Value).to_vec());
        }
        let axis = |metric, better| ParetoAxis { metric, better };
        let axes = [axis("latency_p50", Better::Lower), axis("registers", Better::Lower), axis("ipc", Better::Higher)];
        let found = objective_front(&table, &shape, &ids, &axes);
        let front: Vec<&str> = found.front.iter().map(|variant| variant.variant.0.as_str()).collect();
        assert_eq!((front, found.beaten), (vec!["a", "d", "b"], 1));
        let absent = objective_front(&table, &shape, &ids, &[axis("waves", Better::Higher)]);
        assert_eq!((absent.front.len(), absent.missing.len()), (0, 4));
    }
}
