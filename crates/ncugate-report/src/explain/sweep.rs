//! Effects of the parameters of a sweep, from pairs of variants that differ in only one or two of them: main effects,
//! interactions, and parameters whose best value lies at the edge of their range.
//!
//! Effects are means of logarithms of ratios over matched variants, with bootstrap intervals. Their p-values come
//! from flipping the signs of the pairs (R. A. Fisher, "The Design of Experiments", 1935) and are adjusted for the
//! number of tests (S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
//! Statistics 6, 1979).

use ncugate_model::expr::Value;
use ncugate_model::stats::{Resampler, Statistic};
use ncugate_model::{Better, CleanText};
use ncugate_phase::plan::Variant;
use serde::Serialize;
use std::collections::BTreeMap;

/// Fewer matched pairs do not generalise to other variants.
const FEWEST: usize = 5;
/// Most pairs that are resampled. More are thinned out evenly.
const MOST: usize = 400;
/// Most parameters that are tested pairwise for interactions.
const MOST_PARAMETERS: usize = 8;
/// Smallest change, in percent, that justifies a longer range.
const WORTH: f64 = 2.0;
/// From this adjusted p-value on, an effect is indistinguishable from noise.
const ALPHA: f64 = 0.05;

/// Whether an effect can be separated from those of other parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Separation {
    /// Its adjusted p-value is below 5 %.
    Clear,
    Noise,
}

/// A change of the objective in percent with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MatchedChange {
    /// Geometric mean over the pairs, in percent; negative if the objective falls.
    pub percent: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Pairs of variants, or groups of four for an interaction.
    pub pairs: usize,
    /// P-value, adjusted for all tested effects of the same kind.
    pub p: f64,
    pub separation: Separation,
}

/// The effect of a parameter between its two values that lie farthest apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MainEffect {
    pub parameter: CleanText,
    pub from: CleanText,
    pub to: CleanText,
    /// The change of the objective, all other parameters equal.
    pub change: MatchedChange,
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

/// Variants as points on the axes, with the logarithm of the objective.
struct Grid<'v> {
    axes: Vec<Axis<'v>>,
    points: BTreeMap<Vec<usize>, f64>,
}

/// A comparison before it is resampled: logarithms of ratios.
struct Contrast<T> {
    of: T,
    ratios: Vec<f64>,
}

/// Analyses the accepted variants: `measured` holds the objective of each, which must be positive.
pub fn sweep(measured: &[(&Variant, f64)], better: Better, resampler: &Resampler) -> SweepAnalysis {
    let Some(grid) = Grid::new(measured) else { return SweepAnalysis::default() };
    let mut analysis = SweepAnalysis { variants: grid.points.len(), ..SweepAnalysis::default() };
    let steps = grid.steps();
    let changes = assessed(&steps, resampler);
    for (at, axis) in grid.axes.iter().enumerate() {
        let of_axis = steps.iter().zip(&changes).filter(|(contrast, _)| contrast.of.0 == at);
        let strongest = of_axis.max_by(|a, b| strength(a.1).total_cmp(&strength(b.1)));
        match strongest {
            Some((Contrast { of: (_, from, to), .. }, change)) => analysis.effects.push(MainEffect {
                parameter: axis.name.into(),
                from: axis.values[*from].to_string().into(),
                to: axis.values[*to].to_string().into(),
                change: *change,
            }),
            None => analysis.inseparable.push(grid.unmatched(at).into()),
        }
        analysis.edges.extend(grid.edge(at, better, &steps, &changes));
    }
    analysis.effects.sort_by(|a, b| strength(&b.change).total_cmp(&strength(&a.change)));
    analysis.interactions = grid.interactions(resampler);
    analysis.interactions.sort_by(|a, b| strength(&b.change).total_cmp(&strength(&a.change)));
    let noise = analysis.effects.iter().filter(|effect| effect.change.separation == Separation::Noise);
    let noise: Vec<&str> = noise.map(|effect| effect.parameter.as_str()).collect();
    if !noise.is_empty() {
        let noise = format!("{}: cannot be separated from the other parameters", noise.join(", "));
        analysis.inseparable.push(noise.into());
    }
    analysis
}

fn strength(change: &MatchedChange) -> f64 {
    (1.0 + change.percent / 100.0).ln().abs()
}

impl<'v> Grid<'v> {
    /// None for fewer than two variants, or if no parameter has several values.
    fn new(measured: &[(&'v Variant, f64)]) -> Option<Self> {
        let counted: Vec<(&Variant, f64)> =
            measured.iter().copied().filter(|(_, value)| value.is_finite() && *value > 0.0).collect();
        let mut axes: Vec<Axis<'v>> = Vec::new();
        for (name, value) in counted.iter().flat_map(|(variant, _)| &variant.params) {
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
        let place = |variant: &Variant| -> Option<Vec<usize>> {
            let of = |axis: &Axis<'_>| {
                let own = variant.params.iter().find(|(name, _)| name == axis.name).map(|(_, value)| value)?;
                axis.values.iter().position(|value| *value == own)
            };
            axes.iter().map(of).collect()
        };
        let points = counted.iter().filter_map(|(variant, value)| Some((place(variant)?, value.ln()))).collect();
        let grid = Self { axes, points };
        (!grid.axes.is_empty() && grid.points.len() > 1).then_some(grid)
    }

    /// Every two values of every parameter: axis, from, to.
    fn steps(&self) -> Vec<Contrast<(usize, usize, usize)>> {
        let mut found = Vec::new();
        for (at, axis) in self.axes.iter().enumerate() {
            for from in 0..axis.values.len() {
                for to in from + 1..axis.values.len() {
                    let ratios = self.ratios(at, from, to);
                    if ratios.len() >= FEWEST {
                        found.push(Contrast { of: (at, from, to), ratios });
                    }
                }
            }
        }
        found
    }

    fn at(&self, place: &[usize], changed: &[(usize, usize)]) -> Option<f64> {
        let mut place = place.to_vec();
        for (axis, value) in changed {
            *place.get_mut(*axis)? = *value;
        }
        self.points.get(&place).copied()
    }

    /// Logarithms of the objective at `to` over that at `from`, all other parameters equal.
    fn ratios(&self, axis: usize, from: usize, to: usize) -> Vec<f64> {
        let starts = self.points.iter().filter(|(place, _)| place.get(axis) == Some(&from));
        thinned(starts.filter_map(|(place, start)| Some(self.at(place, &[(axis, to)])? - start)).collect())
    }

    fn interactions(&self, resampler: &Resampler) -> Vec<Interaction> {
        let mut contrasts = Vec::new();
        for a in 0..self.axes.len().min(MOST_PARAMETERS) {
            for b in a + 1..self.axes.len().min(MOST_PARAMETERS) {
                let (to_a, to_b) = (self.axes[a].values.len() - 1, self.axes[b].values.len() - 1);
                let starts = self.points.iter().filter(|(place, _)| place[a] == 0 && place[b] == 0);
                let four = |(place, start): (&Vec<usize>, &f64)| {
                    let (one, other) = (self.at(place, &[(a, to_a)])?, self.at(place, &[(b, to_b)])?);
                    Some(self.at(place, &[(a, to_a), (b, to_b)])? - one - other + start)
                };
                let ratios = thinned(starts.filter_map(four).collect());
                if ratios.len() >= FEWEST {
                    contrasts.push(Contrast { of: (a, b), ratios });
                }
            }
        }
        let changes = assessed(&contrasts, resampler);
        contrasts.iter().zip(changes).map(|(contrast, change)| self.interaction(contrast.of, change)).collect()
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
                |at: usize| (0..columns).map(|to| self.at(place, &[(a, at), (b, to)])).collect::<Option<Vec<f64>>>();
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
    fn edge(
        &self,
        at: usize,
        better: Better,
        steps: &[Contrast<(usize, usize, usize)>],
        changes: &[MatchedChange],
    ) -> Option<RangeEdge> {
        let axis = self.axes.get(at)?;
        let gain = |log: f64| if better == Better::Higher { log } else { -log };
        let (best, _) = self.points.iter().max_by(|a, b| gain(*a.1).total_cmp(&gain(*b.1)))?;
        let (end, last) = (*best.get(at)?, axis.values.len() - 1);
        let (beside, way) = match end {
            0 => (1, "below"),
            end if end == last => (last - 1, "beyond"),
            _ => return None,
        };
        let is_number = axis.values.iter().all(|value| matches!(value, Value::Int(_) | Value::Float(_)));
        let asked = (at, end.min(beside), end.max(beside));
        let change = steps.iter().zip(changes).find(|(contrast, _)| contrast.of == asked).map(|(_, change)| *change)?;
        let change = if end < beside { change.reversed() } else { change };
        let improves = gain(change.percent) >= WORTH && change.separation == Separation::Clear;
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

impl MatchedChange {
    /// The change in the opposite direction.
    fn reversed(self) -> Self {
        let back = |percent: f64| 100.0 * (1.0 / (1.0 + percent / 100.0) - 1.0);
        Self { percent: back(self.percent), low: back(self.high), high: back(self.low), ..self }
    }
}

fn thinned(values: Vec<f64>) -> Vec<f64> {
    let every = values.len().div_ceil(MOST).max(1);
    values.into_iter().step_by(every).collect()
}

/// Each contrast with its interval, and its p-value adjusted over all contrasts.
fn assessed<T>(contrasts: &[Contrast<T>], resampler: &Resampler) -> Vec<MatchedChange> {
    let longest = contrasts.iter().map(|contrast| contrast.ratios.len()).max().unwrap_or(0);
    let signs: Vec<Vec<bool>> =
        (0..longest).map(|at| resampler.normal(at as u64).map(|normal| normal < 0.0).collect()).collect();
    let plain: Vec<f64> = contrasts.iter().map(|contrast| flipped(&contrast.ratios, &signs)).collect();
    let change = |(contrast, p): (&Contrast<T>, f64)| {
        let percent = |log: f64| 100.0 * (log.exp() - 1.0);
        let mean = contrast.ratios.iter().sum::<f64>() / contrast.ratios.len() as f64;
        let interval = resampler.of(&contrast.ratios, Statistic::Mean).ok();
        MatchedChange {
            percent: percent(mean),
            low: interval.map_or(f64::NEG_INFINITY, |interval| percent(interval.low)),
            high: interval.map_or(f64::INFINITY, |interval| percent(interval.high)),
            pairs: contrast.ratios.len(),
            p,
            separation: if p < ALPHA && interval.is_some() { Separation::Clear } else { Separation::Noise },
        }
    };
    contrasts.iter().zip(holm(&plain)).map(change).collect()
}

/// Two-sided p-value of a mean under random signs: the share of sign vectors that give one as large.
fn flipped(ratios: &[f64], signs: &[Vec<bool>]) -> f64 {
    let sum: f64 = ratios.iter().sum();
    let draws = signs.first().map_or(0, Vec::len);
    let mut sums = vec![0.0; draws];
    for (ratio, signs) in ratios.iter().zip(signs) {
        for (sum, negative) in sums.iter_mut().zip(signs) {
            *sum += if *negative { -ratio } else { *ratio };
        }
    }
    // counts sums that are equal up to rounding
    let large = sums.iter().filter(|other: &&f64| other.abs() >= sum.abs() * (1.0 - 1e-12)).count();
    (1 + large) as f64 / (1 + draws) as f64
}

/// Holm's adjusted p-values, in the order given.
fn holm(plain: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..plain.len()).collect();
    order.sort_by(|a, b| plain[*a].total_cmp(&plain[*b]));
    let mut adjusted = vec![1.0; plain.len()];
    let mut least = 0.0f64;
    for (rank, at) in order.iter().enumerate() {
        least = least.max((plain.len() - rank) as f64 * plain[*at]).min(1.0);
        adjusted[*at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::VariantId;
    use ncugate_phase::plan::{CommandPlan, Method, VariantRole};

    fn variant(params: &[(&str, i64)]) -> Variant {
        Variant {
            id: VariantId(format!("{params:?}").into()),
            standing: VariantRole::Candidate,
            params: params.iter().map(|(name, value)| ((*name).to_owned(), Value::Int(*value))).collect(),
            method: Method::Command(CommandPlan { argv: vec![], kernel_filter: None }),
        }
    }

    /// 3 x 4 x 2 x 2 variants of a synthetic objective.
    fn analysed(objective: impl Fn(i64, i64, i64, i64) -> f64) -> SweepAnalysis {
        let mut variants = Vec::new();
        for (tile, threads) in [16, 32, 64].into_iter().flat_map(|k| [64, 128, 256, 512].map(|t| (k, t))) {
            for (vector, pad) in [1, 4].into_iter().flat_map(|v| [0, 8].map(|p| (v, p))) {
                let named = [("K_TILE", tile), ("THREADS", threads), ("VECTOR", vector), ("PAD", pad)];
                variants.push((variant(&named), objective(tile, threads, vector, pad)));
            }
        }
        let measured: Vec<(&Variant, f64)> = variants.iter().map(|(variant, value)| (variant, *value)).collect();
        sweep(&measured, Better::Lower, &Resampler::default())
    }

    #[test]
    fn a_parameter_that_halves_the_time_is_found_with_its_edge() {
        let found =
            analysed(|tile, threads, _, pad| 100.0 * 16.0 / tile as f64 * (1.0 + 0.001 * ((threads + pad) % 7) as f64));
        let first = &found.effects[0];
        assert_eq!((first.parameter.as_str(), first.from.as_str(), first.to.as_str()), ("K_TILE", "16", "64"));
        assert!((first.change.percent + 75.0).abs() < 0.5 && first.change.high < -74.0, "{first:?}");
        assert_eq!(first.change.separation, Separation::Clear);
        let advice: Vec<&str> = found.edges.iter().map(|edge| edge.advice.as_str()).collect();
        assert_eq!(advice, ["extend K_TILE beyond 64"]);
        let vector = found.effects.iter().find(|effect| effect.parameter == "VECTOR").unwrap();
        assert_eq!((vector.change.percent, vector.change.separation), (0.0, Separation::Noise));
        assert!(found.inseparable.last().unwrap().contains("VECTOR"), "{:?}", found.inseparable);
    }

    #[test]
    fn the_best_value_in_the_middle_is_no_edge() {
        let found = analysed(|tile, threads, _, _| if tile == 32 { 10.0 } else { 20.0 } + (threads % 3) as f64 * 0.01);
        assert!(found.edges.iter().all(|edge| edge.parameter != "K_TILE"), "{:?}", found.edges);
    }

    #[test]
    fn an_interaction_is_what_two_parameters_do_together() {
        let plain = analysed(|tile, _, vector, _| 100.0 * (16.0 / tile as f64) / (1.0 + vector as f64));
        assert!(plain.interactions.iter().all(|i| i.change.percent.abs() < 1e-9), "{:?}", plain.interactions);
        let found = analysed(|tile, threads, vector, _| {
            let together = if tile == 64 && vector == 4 { 0.5 } else { 1.0 };
            100.0 * together * (1.0 + 0.001 * (threads % 5) as f64)
        });
        let first = &found.interactions[0];
        assert_eq!((first.first.as_str(), first.second.as_str()), ("K_TILE", "VECTOR"));
        assert!((first.change.percent + 50.0).abs() < 0.1 && first.change.separation == Separation::Clear, "{first:?}");
        assert_eq!(first.cells[2][1], Some(1.0));
        assert!((first.cells[0][0].unwrap() - 2.0).abs() < 0.01, "{:?}", first.cells);
    }

    #[test]
    fn what_changes_together_is_said() {
        let variants: Vec<Variant> = (1..=12).map(|n| variant(&[("A", n), ("B", 2 * n)])).collect();
        let measured: Vec<(&Variant, f64)> = variants.iter().map(|variant| (variant, 10.0)).collect();
        let found = sweep(&measured, Better::Lower, &Resampler::default());
        assert_eq!(found.effects, []);
        assert_eq!(found.inseparable, ["A: it changes only together with B", "B: it changes only together with A"]);
        assert_eq!(sweep(&[], Better::Lower, &Resampler::default()), SweepAnalysis::default());
    }

    #[test]
    fn holm_multiplies_the_least_by_all() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }
}
