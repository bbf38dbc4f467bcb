//! The Pareto front of two metrics.

use ncugate_judge::frame::Quantities;
use ncugate_model::{Better, ShapeName, VariantId};

/// A metric and its direction of improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParetoAxis<'m> {
    pub metric: &'m str,
    /// Direction of improvement; [`Better::Context`] counts as higher.
    pub better: Better,
}

/// A variant in the plane of two metrics.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ParetoPoint {
    pub variant: VariantId,
    pub x: f64,
    /// Second metric.
    pub y: f64,
    /// Whether no other point is at least as good in both and better in one.
    pub front: bool,
}

/// All points in the order given, and the variants without a number.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct ParetoFront {
    /// Points with both numbers.
    pub points: Vec<ParetoPoint>,
    /// Variants without one of the two.
    pub missing: Vec<VariantId>,
}

/// Places variants and marks the front. Equal points are either all on it or all off it.
pub fn pareto(
    quantities: &Quantities,
    shape: &ShapeName,
    variants: &[VariantId],
    x: ParetoAxis<'_>,
    y: ParetoAxis<'_>,
) -> ParetoFront {
    let mut front = ParetoFront::default();
    for variant in variants {
        let read =
            |axis: ParetoAxis<'_>| quantities.read(variant, shape, axis.metric).value().filter(|v| v.is_finite());
        match (read(x), read(y)) {
            (Some(x), Some(y)) => front.points.push(ParetoPoint { variant: variant.clone(), x, y, front: false }),
            _ => front.missing.push(variant.clone()),
        }
    }
    mark(&mut front.points, x.better, y.better);
    front
}

/// Sweeps from the best first metric on: a point is on the front if its second metric beats all earlier ones.
fn mark(points: &mut [ParetoPoint], x: Better, y: Better) {
    let gain = |value: f64, better: Better| if better == Better::Lower { -value } else { value };
    let mut order: Vec<usize> = (0..points.len()).collect();
    let key = |p: &ParetoPoint| (gain(p.x, x), gain(p.y, y));
    order.sort_by(|&a, &b| {
        let (a, b) = (key(&points[a]), key(&points[b]));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let mut best: Option<(f64, f64)> = None;
    for at in order {
        let point = key(&points[at]);
        let on = best.is_none_or(|best| point.1 > best.1 || point == best);
        points[at].front = on;
        if on {
            best = Some(point);
        }
    }
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
/// better in one.
pub fn objective_front(
    quantities: &Quantities,
    shape: &ShapeName,
    variants: &[VariantId],
    axes: &[ParetoAxis<'_>],
) -> ObjectiveFront {
    let names = axes.iter().map(|axis| axis.metric.to_owned()).collect();
    let mut found = ObjectiveFront { objectives: names, ..ObjectiveFront::default() };
    let mut all: Vec<FrontVariant> = Vec::new();
    for variant in variants {
        let read =
            |axis: &ParetoAxis<'_>| quantities.read(variant, shape, axis.metric).value().filter(|v| v.is_finite());
        match axes.iter().map(read).collect::<Option<Vec<f64>>>() {
            Some(values) => all.push(FrontVariant { variant: variant.clone(), values }),
            None => found.missing.push(variant.clone()),
        }
    }
    let gain = |axis: &ParetoAxis<'_>, value: f64| if axis.better == Better::Lower { -value } else { value };
    let beats = |a: &FrontVariant, b: &FrontVariant| {
        let pairs =
            || axes.iter().zip(a.values.iter().zip(&b.values)).map(|(axis, (a, b))| (gain(axis, *a), gain(axis, *b)));
        pairs().all(|(a, b)| a >= b) && pairs().any(|(a, b)| a > b)
    };
    let is_beaten = |variant: &FrontVariant| all.iter().any(|other| beats(other, variant));
    (found.others, found.front) = all.iter().cloned().partition(is_beaten);
    found.beaten = found.others.len();
    if let Some(first) = axes.first() {
        let key =
            |variant: &FrontVariant| variant.values.first().map_or(f64::NEG_INFINITY, |value| gain(first, *value));
        found.front.sort_by(|a, b| key(b).total_cmp(&key(a)));
    }
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
        pareto(&quantities, &shape, &ids, x, y).points.iter().map(|p| p.front).collect()
    }

    #[test]
    fn the_front_has_the_variants_that_no_other_beats_on_both() {
        assert_eq!(front(&[(10.0, 20.0), (12.0, 40.0), (11.0, 20.0), (13.0, 30.0)]), [true, true, false, false]);
        assert_eq!(front(&[(10.0, 20.0), (10.0, 20.0), (10.0, 10.0)]), [true, true, false]);
        assert!(front(&[(10.0, f64::NAN)]).is_empty());
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
