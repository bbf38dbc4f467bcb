//! Effects of the parameters of a sweep on the gated metrics, from pairs of variants that differ in only one or two of
//! them: main effects, interactions, and parameters whose best value lies at the edge of their range.

use super::matched_pairs::{MatchedChange, MatchedPairs, Separation, SignFlips, false_discovery_rate, holm, spread};
use super::metric_column::MetricColumn;
use ncugate_model::expr::Value;
use ncugate_model::metric::{Catalogue, MetricKind};
use ncugate_model::stats::Resampler;
use ncugate_model::{Better, CleanText};
use serde::Serialize;
use std::collections::BTreeMap;

/// Fewer matched pairs do not generalise to other variants.
pub const FEWEST: usize = 5;
/// Most pairs that are resampled for the objective. More are thinned out evenly.
const MOST: usize = 400;
/// The same for every other metric.
const MOST_OF_OTHERS: usize = 100;
/// Most parameters that are tested pairwise for interactions.
const MOST_PARAMETERS: usize = 8;
/// Smallest change, in percent, that justifies a longer range.
const WORTH: f64 = 2.0;

/// A metric of the analysed variants.
#[derive(Debug, Clone, PartialEq)]
pub struct SweptMetric {
    pub column: MetricColumn,
    /// Its value for each variant; none if it was not measured.
    pub values: Vec<Option<f64>>,
}

/// The effect of a parameter on one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricEffect {
    #[serde(flatten)]
    pub column: MetricColumn,
    /// Matched pairs in which both variants have a value.
    pub pairs: usize,
    /// Means of the metric at both values of the parameter; none for fewer than five pairs.
    pub means: Option<[f64; 2]>,
    /// The change, all other parameters equal; none for fewer than five pairs.
    pub change: Option<MatchedChange>,
}

/// The effects of a parameter between the two of its values that change the objective most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MainEffect {
    pub parameter: CleanText,
    /// The better of the two values.
    pub from: CleanText,
    pub to: CleanText,
    /// Matched pairs of variants.
    pub pairs: usize,
    /// The objective, then the other gated metrics in the order of the phase.
    pub metrics: Vec<MetricEffect>,
}

impl MainEffect {
    /// The change of the objective.
    pub fn objective(&self) -> Option<&MatchedChange> {
        self.metrics.first()?.change.as_ref()
    }
}

/// How much the effect of one parameter depends on another, between the ends of both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interaction {
    pub first: CleanText,
    pub second: CleanText,
    /// Their first and last values.
    pub ends: [[CleanText; 2]; 2],
    /// By how much the second parameter's step changes the effect of the first's.
    pub change: MatchedChange,
    /// Mean of the objective for each value of the first (rows) and second (columns), relative to the best cell, which is
    /// 1. None if the variants with these values are not matched.
    pub cells: Vec<Vec<Option<f64>>>,
    /// Values of the first parameter.
    pub rows: Vec<String>,
    /// Values of the second parameter.
    pub columns: Vec<String>,
}

/// A parameter whose best value is at the end of its range.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RangeEdge {
    pub parameter: CleanText,
    /// The value at the end, which the best variant has.
    pub value: CleanText,
    /// The neighbouring value.
    pub beside: CleanText,
    /// The change from the neighbouring value to the one at the end.
    pub change: MatchedChange,
    /// `extend K_TILE beyond 64`.
    pub advice: CleanText,
}

/// Results of a sweep by parameter.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct SweepAnalysis {
    pub variants: usize,
    /// Largest effect first.
    pub effects: Vec<MainEffect>,
    /// Largest first.
    pub interactions: Vec<Interaction>,
    /// Ranges worth extending.
    pub edges: Vec<RangeEdge>,
    /// Effects that cannot be separated, and why.
    pub inseparable: Vec<CleanText>,
}

/// Values of a parameter; numbers are sorted.
struct Axis<'v> {
    name: &'v str,
    values: Vec<&'v Value>,
}

/// Variants as points on the axes, by their index.
struct Grid<'v> {
    axes: Vec<Axis<'v>>,
    points: BTreeMap<Vec<usize>, usize>,
    objective: &'v SweptMetric,
}

/// Two values of a parameter with the matched pairs of variants that have them.
struct Step {
    axis: usize,
    from: usize,
    to: usize,
    pairs: MatchedPairs,
}

impl Step {
    /// From the better to the worse value of the objective.
    fn worsening(&self, better: Better) -> (usize, usize) {
        let [before, after] = self.pairs.means();
        if gain(before, better) >= gain(after, better) { (self.from, self.to) } else { (self.to, self.from) }
    }

    /// Size of the change of the objective.
    fn strength(&self) -> f64 {
        let [before, after] = self.pairs.means();
        (after / before).ln().abs()
    }
}

/// The parameters of a variant with their values.
type Params = [(String, Value)];

/// Analyses accepted variants by their parameters. The first metric is the objective; variants count if it is positive.
pub fn sweep(variants: &[&Params], metrics: &[SweptMetric], resampler: &Resampler) -> SweepAnalysis {
    let Some(grid) = metrics.first().and_then(|objective| Grid::new(variants, objective)) else {
        return SweepAnalysis::default();
    };
    let mut analysis = SweepAnalysis { variants: grid.points.len(), ..SweepAnalysis::default() };
    let mut flips = SignFlips::new(resampler);
    let steps = grid.steps();
    let p_values = holm(&steps.iter().map(|step| flips.p(&step.pairs)).collect::<Vec<f64>>());
    let tested: Vec<(&Step, f64)> = steps.iter().zip(p_values).collect();
    let mut strongest: Vec<(&Step, f64)> = Vec::new();
    for at in 0..grid.axes.len() {
        let of_axis = tested.iter().filter(|(step, _)| step.axis == at);
        match of_axis.max_by(|a, b| a.0.strength().total_cmp(&b.0.strength())) {
            Some(found) => strongest.push(*found),
            None => analysis.inseparable.push(grid.unmatched(at).into()),
        }
        analysis.edges.extend(grid.edge(at, &tested, resampler));
    }
    strongest.sort_by(|a, b| b.0.strength().total_cmp(&a.0.strength()));
    analysis.effects = grid.effects(&strongest, &steps, metrics, &mut flips, resampler);
    analysis.interactions = grid.interactions(&mut flips, resampler);
    analysis.interactions.sort_by(|a, b| strength(&b.change).total_cmp(&strength(&a.change)));
    let is_noise = |effect: &&MainEffect| effect.objective().is_none_or(|c| c.separation == Separation::Noise);
    let noise: Vec<&str> = analysis.effects.iter().filter(is_noise).map(|effect| effect.parameter.as_str()).collect();
    if !noise.is_empty() {
        let noise = format!("{}: cannot be separated from the other parameters", noise.join(", "));
        analysis.inseparable.push(noise.into());
    }
    analysis
}

/// Whether a metric has no noise: equal code and launch reproduce it.
fn is_exact(metric: &str) -> bool {
    Catalogue::embedded().get(metric).is_some_and(|known| known.kind == MetricKind::Deterministic)
}

/// How a change is tested.
enum PairTest {
    /// With this adjusted p-value.
    Adjusted(f64),
    /// By its interval alone.
    Exact,
    /// With a p-value that is adjusted later.
    Open,
}

fn strength(change: &MatchedChange) -> f64 {
    (1.0 + change.by / 100.0).ln().abs()
}

/// A value of the objective, higher if it is better.
fn gain(value: f64, better: Better) -> f64 {
    if better == Better::Higher { value } else { -value }
}

impl SweptMetric {
    fn value(&self, variant: usize) -> Option<f64> {
        self.values.get(variant).copied().flatten().filter(|value| value.is_finite())
    }

    /// Its values of the pairs in which both variants have one.
    fn of(&self, pairs: &[(usize, usize)]) -> MatchedPairs {
        let values = pairs.iter().filter_map(|(before, after)| Some((self.value(*before)?, self.value(*after)?)));
        let (before, after) = values.unzip();
        MatchedPairs { before, after }
    }
}

impl<'v> Grid<'v> {
    /// None for fewer than two variants, or if no parameter has several values.
    fn new(variants: &[&'v Params], objective: &'v SweptMetric) -> Option<Self> {
        let is_counted = |(at, _): &(usize, &&Params)| objective.value(*at).is_some_and(|value| value > 0.0);
        let counted: Vec<(usize, &Params)> =
            variants.iter().enumerate().filter(is_counted).map(|(at, params)| (at, *params)).collect();
        let mut axes: Vec<Axis<'v>> = Vec::new();
        for (name, value) in counted.iter().flat_map(|(_, params)| *params) {
            match axes.iter_mut().find(|axis| axis.name == name) {
                Some(axis) if axis.values.contains(&value) => {}
                Some(axis) => axis.values.push(value),
                None => axes.push(Axis { name, values: vec![value] }),
            }
        }
        axes.retain(|axis| axis.values.len() > 1);
        for axis in &mut axes {
            if axis.values.iter().all(|value| value.number().is_some()) {
                axis.values.sort_by(|a, b| a.number().unwrap_or(0.0).total_cmp(&b.number().unwrap_or(0.0)));
            }
        }
        let place = |params: &Params| -> Option<Vec<usize>> {
            let of = |axis: &Axis<'_>| {
                let own = params.iter().find(|(name, _)| name == axis.name).map(|(_, value)| value)?;
                axis.values.iter().position(|value| *value == own)
            };
            axes.iter().map(of).collect()
        };
        let points = counted.iter().filter_map(|(at, params)| Some((place(params)?, *at))).collect();
        let grid = Self { axes, points, objective };
        (!grid.axes.is_empty() && grid.points.len() > 1).then_some(grid)
    }

    /// Every two values of every parameter.
    fn steps(&self) -> Vec<Step> {
        let mut found = Vec::new();
        for (axis, values) in self.axes.iter().map(|axis| axis.values.len()).enumerate() {
            let mut starts: Vec<Vec<&Vec<usize>>> = vec![Vec::new(); values];
            for place in self.points.keys() {
                starts[place[axis]].push(place);
            }
            for (from, starts) in starts.iter().enumerate() {
                for to in from + 1..values {
                    let pairs = self.objective.of(&self.pairs(starts, axis, to, MOST));
                    if pairs.len() >= FEWEST {
                        found.push(Step { axis, from, to, pairs });
                    }
                }
            }
        }
        found
    }

    /// The variants at `starts` with those that differ from them only in having `to`: the first `enough` from evenly
    /// spread starts.
    fn pairs(&self, starts: &[&Vec<usize>], axis: usize, to: usize, enough: usize) -> Vec<(usize, usize)> {
        let places = spread(starts.len(), enough).map(|at| starts[at]);
        let pair = |place: &Vec<usize>| Some((self.at(place, &[])?, self.at(place, &[(axis, to)])?));
        places.filter_map(pair).take(enough).collect()
    }

    fn at(&self, place: &[usize], changed: &[(usize, usize)]) -> Option<usize> {
        let mut place = place.to_vec();
        for (axis, value) in changed {
            *place.get_mut(*axis)? = *value;
        }
        self.points.get(&place).copied()
    }

    /// Logarithm of the objective.
    fn log(&self, place: &[usize], changed: &[(usize, usize)]) -> Option<f64> {
        Some(self.objective.value(self.at(place, changed)?)?.ln())
    }

    /// The effects of the strongest steps on all metrics. `strongest` has the p-value of the objective. The p-values of
    /// the other metrics with noise are multiplied by the number of steps that each was chosen from, then adjusted for
    /// all.
    fn effects(
        &self,
        strongest: &[(&Step, f64)],
        steps: &[Step],
        metrics: &[SweptMetric],
        flips: &mut SignFlips<'_>,
        resampler: &Resampler,
    ) -> Vec<MainEffect> {
        let better = self.objective.column.better;
        let name = |axis: usize, value: usize| CleanText::from(self.axes[axis].values[value].to_string());
        let mut found: Vec<MainEffect> = Vec::new();
        let mut p_values = Vec::new();
        let mut tested = Vec::new();
        for (effect, (step, p)) in strongest.iter().enumerate() {
            let (from, to) = step.worsening(better);
            let starts: Vec<&Vec<usize>> = self.points.keys().filter(|place| place[step.axis] == from).collect();
            let pairs = self.pairs(&starts, step.axis, to, usize::MAX);
            let chosen_from = steps.iter().filter(|other| other.axis == step.axis).count() as f64;
            let mut rows = Vec::new();
            for (at, metric) in metrics.iter().enumerate() {
                let matched = metric.of(&pairs);
                let counted = matched.len();
                let matched = matched.thinned(if at == 0 { MOST } else { MOST_OF_OTHERS });
                rows.push(MetricEffect { column: metric.column.clone(), pairs: counted, means: None, change: None });
                if counted < FEWEST {
                    continue;
                }
                let test = match (at, is_exact(&metric.column.name)) {
                    (0, _) => PairTest::Adjusted(*p),
                    (_, true) => PairTest::Exact,
                    (_, false) => {
                        p_values.push((chosen_from * flips.p(&matched)).min(1.0));
                        PairTest::Open
                    }
                };
                tested.push((effect, at, matched, test));
            }
            let parameter = self.axes[step.axis].name.into();
            let [from, to] = [from, to].map(|value| name(step.axis, value));
            found.push(MainEffect { parameter, from, to, pairs: pairs.len(), metrics: rows });
        }
        let mut others = false_discovery_rate(&p_values).into_iter();
        for (effect, at, matched, test) in tested {
            let p = match test {
                PairTest::Adjusted(p) => Some(p),
                PairTest::Exact => None,
                PairTest::Open => others.next(),
            };
            let row = &mut found[effect].metrics[at];
            row.means = Some(matched.means());
            row.change = Some(matched.change(&row.column.unit, p, resampler));
        }
        found
    }

    fn interactions(&self, flips: &mut SignFlips<'_>, resampler: &Resampler) -> Vec<Interaction> {
        let mut contrasts = Vec::new();
        for a in 0..self.axes.len().min(MOST_PARAMETERS) {
            for b in a + 1..self.axes.len().min(MOST_PARAMETERS) {
                let (to_a, to_b) = (self.axes[a].values.len() - 1, self.axes[b].values.len() - 1);
                let starts = self.points.keys().filter(|place| place[a] == 0 && place[b] == 0);
                let effects = |place: &Vec<usize>| {
                    let before = self.log(place, &[(a, to_a)])? - self.log(place, &[])?;
                    Some((before, self.log(place, &[(a, to_a), (b, to_b)])? - self.log(place, &[(b, to_b)])?))
                };
                let (before, after) = starts.filter_map(effects).unzip();
                let effects = MatchedPairs { before, after }.thinned(MOST);
                if effects.len() >= FEWEST {
                    contrasts.push(((a, b), effects));
                }
            }
        }
        let p_values = holm(&contrasts.iter().map(|(_, effects)| flips.p(effects)).collect::<Vec<f64>>());
        let of = |((axes, effects), p): (&((usize, usize), MatchedPairs), f64)| {
            self.interaction(*axes, effects.logarithmic_change(p, resampler))
        };
        contrasts.iter().zip(p_values).map(of).collect()
    }

    fn interaction(&self, (a, b): (usize, usize), change: MatchedChange) -> Interaction {
        let names = |axis: usize| -> Vec<String> { self.axes[axis].values.iter().map(ToString::to_string).collect() };
        let ends = |axis: usize| {
            let names = names(axis);
            [names.first(), names.last()].map(|name| name.map(CleanText::from).unwrap_or_default())
        };
        Interaction {
            first: self.axes[a].name.into(),
            second: self.axes[b].name.into(),
            ends: [ends(a), ends(b)],
            change,
            cells: self.cells(a, b),
            rows: names(a),
            columns: names(b),
        }
    }

    /// Means over the settings of the other parameters for which every cell was measured.
    fn cells(&self, a: usize, b: usize) -> Vec<Vec<Option<f64>>> {
        let (rows, columns) = (self.axes[a].values.len(), self.axes[b].values.len());
        let mut sums = vec![vec![0.0; columns]; rows];
        let mut settings = 0;
        for place in self.points.keys().filter(|place| place[a] == 0 && place[b] == 0) {
            let row =
                |at: usize| (0..columns).map(|to| self.log(place, &[(a, at), (b, to)])).collect::<Option<Vec<f64>>>();
            let Some(all) = (0..rows).map(row).collect::<Option<Vec<Vec<f64>>>>() else { continue };
            settings += 1;
            for (sums, row) in sums.iter_mut().zip(&all) {
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
        }
        if settings == 0 {
            return vec![vec![None; columns]; rows];
        }
        let least = sums.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let over = |sum: &f64| Some(((sum - least) / f64::from(settings)).exp());
        sums.iter().map(|row| row.iter().map(over).collect()).collect()
    }

    /// The end of a numeric range, if the best variant has it and it is clearly better than the neighbouring value.
    fn edge(&self, at: usize, tested: &[(&Step, f64)], resampler: &Resampler) -> Option<RangeEdge> {
        let axis = self.axes.get(at)?;
        let better = self.objective.column.better;
        let value = |variant: usize| gain(self.objective.value(variant).unwrap_or(f64::NAN), better);
        let (best, _) = self.points.iter().max_by(|a, b| value(*a.1).total_cmp(&value(*b.1)))?;
        let (end, last) = (*best.get(at)?, axis.values.len() - 1);
        let (beside, way) = match end {
            0 => (1, "below"),
            end if end == last => (last - 1, "beyond"),
            _ => return None,
        };
        let is_number = axis.values.iter().all(|value| matches!(value, Value::Int(_) | Value::Float(_)));
        let asked = (at, end.min(beside), end.max(beside));
        let (step, p) = tested.iter().find(|(step, _)| (step.axis, step.from, step.to) == asked)?;
        let pairs = if end < beside { step.pairs.clone().reversed() } else { step.pairs.clone() };
        let change = pairs.change(&self.objective.column.unit, Some(*p), resampler);
        let [before, after] = pairs.means();
        let improves = gain(100.0 * (after / before - 1.0), better) >= WORTH && change.separation == Separation::Clear;
        let (value, name) = (axis.values[end].to_string(), axis.name);
        (is_number && improves).then(|| RangeEdge {
            parameter: name.into(),
            beside: axis.values[beside].to_string().into(),
            change,
            advice: format!("extend {name} {way} {value}").into(),
            value: value.into(),
        })
    }

    /// Why a parameter has no separate effect.
    fn unmatched(&self, at: usize) -> String {
        let name = self.axes[at].name;
        let follows = |other: usize| {
            let mut of: BTreeMap<usize, usize> = BTreeMap::new();
            other != at && self.points.keys().all(|place| *of.entry(place[at]).or_insert(place[other]) == place[other])
        };
        let with: Vec<&str> =
            (0..self.axes.len()).filter(|other| follows(*other)).map(|other| self.axes[other].name).collect();
        if with.is_empty() {
            return format!("{name}: fewer than {FEWEST} pairs of variants differ in it alone");
        }
        format!("{name}: it changes only together with {}", with.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::matched_pairs::ChangeUnit;
    use super::*;

    fn variant(params: &[(&str, i64)]) -> Vec<(String, Value)> {
        params.iter().map(|(name, value)| ((*name).to_owned(), Value::Int(*value))).collect()
    }

    fn metric(name: &str, values: Vec<Option<f64>>) -> SweptMetric {
        SweptMetric { column: MetricColumn::known(name), values }
    }

    /// 3 x 4 x 2 x 2 variants: K_TILE, THREADS, VECTOR, PAD.
    fn factorial() -> Vec<[i64; 4]> {
        let mut points = Vec::new();
        for (tile, threads) in [16, 32, 64].into_iter().flat_map(|k| [64, 128, 256, 512].map(|t| (k, t))) {
            points.extend([1, 4].into_iter().flat_map(|v| [0, 8].map(|p| [tile, threads, v, p])));
        }
        points
    }

    fn swept(points: &[[i64; 4]], metrics: &[SweptMetric]) -> SweepAnalysis {
        let named = |point: &[i64; 4]| {
            let names = ["K_TILE", "THREADS", "VECTOR", "PAD"];
            variant(&names.into_iter().zip(*point).collect::<Vec<_>>())
        };
        let variants: Vec<_> = points.iter().map(named).collect();
        sweep(&variants.iter().map(Vec::as_slice).collect::<Vec<_>>(), metrics, &Resampler::default())
    }

    /// The sweep of a synthetic objective.
    fn analysed(objective: impl Fn(i64, i64, i64, i64) -> f64) -> SweepAnalysis {
        let points = factorial();
        let values = points.iter().map(|[k, t, v, p]| Some(objective(*k, *t, *v, *p))).collect();
        swept(&points, &[metric("latency_p50", values)])
    }

    #[test]
    fn a_parameter_that_halves_the_time_is_found_with_its_edge() {
        let found =
            analysed(|tile, threads, _, pad| 100.0 * 16.0 / tile as f64 * (1.0 + 0.001 * ((threads + pad) % 7) as f64));
        let first = &found.effects[0];
        assert_eq!((first.parameter.as_str(), first.from.as_str(), first.to.as_str()), ("K_TILE", "64", "16"));
        let change = first.objective().unwrap();
        assert!((change.by - 300.0).abs() < 1e-9 && change.low > 299.9, "{first:?}");
        assert_eq!((change.separation, first.pairs), (Separation::Clear, 16));
        let advice: Vec<&str> = found.edges.iter().map(|edge| edge.advice.as_str()).collect();
        assert_eq!(advice, ["extend K_TILE beyond 64"]);
        assert!((found.edges[0].change.by + 50.0).abs() < 1e-9, "{:?}", found.edges);
        let vector = found.effects.iter().find(|effect| effect.parameter == "VECTOR").unwrap();
        let change = vector.objective().unwrap();
        assert_eq!((change.by, change.separation), (0.0, Separation::Noise));
        assert!(found.inseparable.last().unwrap().contains("VECTOR"), "{:?}", found.inseparable);
    }

    #[test]
    fn each_metric_has_its_own_effect() {
        let points = factorial();
        let of = |value: &dyn Fn(i64, i64, i64) -> Option<f64>| -> Vec<Option<f64>> {
            points.iter().map(|[k, t, v, _]| value(*k, *t, *v)).collect()
        };
        let noise = |tile: i64, threads: i64, vector: i64| (tile * 37 + threads * 11 + vector * 5) % 13;
        let found = swept(
            &points,
            &[
                metric("latency_p50", of(&|k, t, _| Some(100.0 / k as f64 + 0.001 * t as f64))),
                metric("theoretical_occupancy", of(&|k, t, _| Some(60.0 - k as f64 / 2.0 + t as f64 / 64.0))),
                metric("eligible_warps", of(&|k, _, v| Some(0.01 * k as f64 * v as f64))),
                metric("achieved_occupancy", of(&|k, t, v| Some(9.4 + 0.001 * noise(k, t, v) as f64))),
                metric("shared_mem", of(&|_, t, _| Some(t as f64))),
                metric("spills", of(&|k, _, _| Some(if k == 64 { 0.0 } else { 8.0 }))),
                metric("ipc", vec![None; points.len()]),
                metric("waves", of(&|k, t, v| Some(k as f64).filter(|_| t == 64 && v == 1))),
                metric("registers", of(&|k, t, _| Some(k as f64).filter(|_| t < 512))),
            ],
        );
        let tile = &found.effects[0];
        assert_eq!((tile.parameter.as_str(), tile.from.as_str(), tile.to.as_str()), ("K_TILE", "64", "16"));
        let effect = |name: &str| tile.metrics.iter().find(|effect| effect.column.name == name).unwrap();
        let clear = |name: &str| {
            let change = effect(name).change.unwrap();
            assert_eq!(change.p.is_none(), ["theoretical_occupancy", "spills", "registers"].contains(&name), "{name}");
            assert_eq!(change.separation, Separation::Clear, "{name}: {change:?}");
            (effect(name).means.unwrap(), (change.by * 1e6).round() / 1e6, change.unit)
        };
        assert_eq!(clear("theoretical_occupancy"), ([31.75, 55.75], 24.0, ChangeUnit::Metric));
        let ([from, to], by, unit) = clear("eligible_warps");
        assert!((from - 1.6).abs() < 1e-9 && (to - 0.4).abs() < 1e-9, "{from} {to}");
        assert_eq!((by, unit), (-75.0, ChangeUnit::Percent));
        assert_eq!(clear("spills"), ([0.0, 8.0], 8.0, ChangeUnit::Metric));
        let untouched = effect("achieved_occupancy").change.unwrap();
        assert!(untouched.separation == Separation::Noise && untouched.low <= 0.0 && untouched.high >= 0.0);
        let equal = effect("shared_mem").change.unwrap();
        assert_eq!((equal.by, equal.low, equal.high, equal.separation), (0.0, 0.0, 0.0, Separation::Noise));
        let absent = |name: &str| (effect(name).pairs, effect(name).means, effect(name).change);
        assert_eq!((absent("ipc"), absent("waves")), ((0, None, None), (2, None, None)));
        assert_eq!((effect("registers").pairs, clear("registers").1), (12, -75.0));
    }

    #[test]
    fn more_metrics_leave_the_objective_as_it_is() {
        let points = factorial();
        let latency = |[k, t, v, p]: &[i64; 4]| Some(10.0 + ((k * 31 + t * 7 + v * 3 + p) % 11) as f64);
        let objective = metric("latency_p50", points.iter().map(latency).collect());
        let noise = |seed: i64| {
            let value = |[k, t, v, p]: &[i64; 4]| Some(1.0 + ((k * 29 + t * 13 + v * seed + p) % 17) as f64);
            metric("ipc", points.iter().map(value).collect())
        };
        let alone = swept(&points, std::slice::from_ref(&objective));
        let metrics: Vec<SweptMetric> = std::iter::once(objective).chain((1..30).map(noise)).collect();
        let all = swept(&points, &metrics);
        let changes = |found: &SweepAnalysis| found.effects.iter().map(|e| *e.objective().unwrap()).collect::<Vec<_>>();
        assert_eq!(changes(&alone), changes(&all));
    }

    #[test]
    fn pairs_of_a_large_sweep_are_found_in_evenly_spread_starts() {
        let points: Vec<[i64; 4]> = (0..8_000).map(|at| [at % 2, at / 2 % 10, at / 20 % 20, at / 400]).collect();
        let values = points.iter().map(|[k, t, ..]| Some(10.0 * (1 + k) as f64 + *t as f64)).collect();
        let found = swept(&points, &[metric("latency_p50", values)]);
        let tile = found.effects.iter().find(|effect| effect.parameter == "K_TILE").unwrap();
        assert_eq!((tile.pairs, tile.objective().unwrap().pairs), (4_000, MOST));
        assert!((tile.objective().unwrap().by - 100.0 * 10.0 / 14.5).abs() < 0.5, "{tile:?}");
    }

    #[test]
    fn the_best_value_in_the_middle_is_no_edge() {
        let found = analysed(|tile, threads, _, _| if tile == 32 { 10.0 } else { 20.0 } + (threads % 3) as f64 * 0.01);
        assert!(found.edges.iter().all(|edge| edge.parameter != "K_TILE"), "{:?}", found.edges);
    }

    #[test]
    fn an_interaction_is_what_two_parameters_do_together() {
        let plain = analysed(|tile, _, vector, _| 100.0 * (16.0 / tile as f64) / (1.0 + vector as f64));
        assert!(plain.interactions.iter().all(|i| i.change.by.abs() < 1e-9), "{:?}", plain.interactions);
        let found = analysed(|tile, threads, vector, _| {
            let together = if tile == 64 && vector == 4 { 0.5 } else { 1.0 };
            100.0 * together * (1.0 + 0.001 * (threads % 5) as f64)
        });
        let first = &found.interactions[0];
        assert_eq!((first.first.as_str(), first.second.as_str()), ("K_TILE", "VECTOR"));
        assert!((first.change.by + 50.0).abs() < 0.1 && first.change.separation == Separation::Clear, "{first:?}");
        assert_eq!(first.cells[2][1], Some(1.0));
        assert!((first.cells[0][0].unwrap() - 2.0).abs() < 0.01, "{:?}", first.cells);
    }

    #[test]
    fn what_changes_together_is_said() {
        let variants: Vec<_> = (1..=12).map(|n| variant(&[("A", n), ("B", 2 * n)])).collect();
        let all: Vec<&Params> = variants.iter().map(Vec::as_slice).collect();
        let found = sweep(&all, &[metric("latency_p50", vec![Some(10.0); 12])], &Resampler::default());
        assert_eq!(found.effects, []);
        assert_eq!(found.inseparable, ["A: it changes only together with B", "B: it changes only together with A"]);
        assert_eq!(sweep(&all, &[], &Resampler::default()), SweepAnalysis::default());
    }
}
