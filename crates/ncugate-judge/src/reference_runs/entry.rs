//! A stored run reduced to the data that comparisons need: the variant that represents it.

use super::Conditions;
use crate::operand::Timing;
use crate::store::{Git, Manifest};
use jiff::Timestamp;
use ncugate_model::metric::{Catalogue, Derivation};
use ncugate_model::quantities::{Program, Sampling};
use ncugate_model::{Better, Cell, Quantities, ShapeName, VariantId, unsound_samples};
use ncugate_phase::config::Objective;
use serde::{Deserialize, Serialize};

/// A line of the leaderboard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaderboardEntry {
    /// Its name in `--against NAME`; in requirements, `best.` refers to the entry `best`.
    pub name: String,
    pub run: String,
    /// The variant that represents it: the one that its objective selected.
    pub variant: VariantId,
    pub measured: Timestamp,
    /// Time of the promotion; before promotion, time of the measurement.
    pub promoted: Timestamp,
    /// Whether it was accepted despite being worse than the previous entry.
    pub accepted_worse: bool,
    pub git: Option<Git>,
    pub conditions: Conditions,
    /// The objective that selected it.
    pub objective: ObjectiveValue,
    /// All values of the variant.
    pub readings: Vec<StoredValue>,
    pub latencies: Vec<LatencySamples>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveValue {
    pub metric: String,
    pub better: Better,
    /// The shape of the value.
    pub shape: ShapeName,
    /// Its value in the metric's unit; finite.
    pub value: f64,
}

/// Value of a metric at a shape, in the metric's unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredValue {
    pub shape: ShapeName,
    pub metric: String,
    /// Its value; finite.
    pub value: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencySamples {
    pub shape: ShapeName,
    /// Microseconds, in the order they were taken: confirmation samples, if there are any.
    pub samples: Vec<f64>,
    /// Number of launches averaged in each sample.
    pub launches: u32,
    /// Digest of machine code and launch; `None` for a command.
    pub code: Option<String>,
}

/// The data from which an entry is built.
#[derive(Debug, Clone, Copy)]
pub struct EntrySource<'a> {
    pub manifest: &'a Manifest,
    pub conditions: &'a Conditions,
    /// The objective of the measurement.
    pub objective: &'a Objective,
    /// The variant that represents the run.
    pub variant: &'a VariantId,
    pub value: f64,
    pub quantities: &'a Quantities,
}

/// A value. If it is computed from latency samples, confirmation samples are preferred.
pub fn confirmed(quantities: &Quantities, variant: &VariantId, shape: &ShapeName, metric: &str) -> Option<f64> {
    let value = quantities.read(variant, shape, metric).value()?;
    let row = quantities.row(variant, shape)?;
    let fresh = quantities.sampling_at(row).and_then(|sampling| sampling.fresh.as_ref());
    match (Timing::of(metric), fresh) {
        (Some(timing), Some(fresh)) => {
            timing.value(fresh.samples.as_ref().ok()?, (value, quantities.samples_at(row)?)).ok()
        }
        _ => Some(value),
    }
}

impl LeaderboardEntry {
    /// An entry with this name, from the variant's part of all measurements.
    pub fn new(name: &str, subject: EntrySource<'_>) -> Self {
        let EntrySource { manifest, conditions, objective, variant, value, quantities } = subject;
        let shapes: Vec<&ShapeName> =
            quantities.rows().filter(|(id, _)| id == variant).map(|(_, shape)| shape).collect();
        let mut readings = Vec::new();
        for &shape in &shapes {
            for metric in quantities.metrics() {
                let value = confirmed(quantities, variant, shape, metric).filter(|v| v.is_finite());
                readings.extend(value.map(|value| StoredValue {
                    shape: shape.clone(),
                    metric: metric.to_owned(),
                    value,
                }));
            }
        }
        let samples = |shape: &&ShapeName| {
            let row = quantities.row(variant, shape)?;
            let sampling = quantities.sampling_at(row);
            let fresh = sampling.and_then(|sampling| sampling.fresh.as_ref());
            let anew = fresh.and_then(|fresh| Some((fresh.samples.as_ref().ok()?.clone(), fresh.launches)));
            let swept =
                || Some((quantities.samples_at(row)?.clone(), sampling.map_or(1, |sampling| sampling.launches)));
            let (samples, launches) = anew.or_else(swept)?;
            let code = sampling.and_then(|sampling| sampling.code.as_ref()).map(ToString::to_string);
            Some(LatencySamples { shape: (*shape).clone(), samples: samples.to_vec(), launches, code })
        };
        Self {
            name: name.to_owned(),
            run: manifest.run.clone(),
            variant: variant.clone(),
            measured: manifest.started,
            promoted: manifest.started,
            accepted_worse: false,
            git: manifest.git.clone(),
            conditions: conditions.clone(),
            objective: ObjectiveValue {
                metric: objective.metric.clone(),
                better: objective.better,
                shape: objective.shape.clone(),
                value: confirmed(quantities, variant, &objective.shape, &objective.metric).unwrap_or(value),
            },
            latencies: shapes.iter().filter_map(samples).collect(),
            readings,
        }
    }

    /// Why its latencies are invalid: samples that are not times, or a value without samples.
    pub fn unsound(&self) -> Option<String> {
        let sampled = |shape: &ShapeName| self.latencies.iter().any(|latency| &latency.shape == shape);
        let is_latency =
            |metric: &str| matches!(Catalogue::embedded().derivation(metric), Some(Derivation::Latency(_)));
        let unsampled = self.readings.iter().find(|r| is_latency(&r.metric) && !sampled(&r.shape));
        self.latencies
            .iter()
            .find_map(|latency| unsound_samples(&latency.samples))
            .or_else(|| unsampled.map(|r| format!("its {} at '{}' has no samples", r.metric, r.shape)))
    }

    /// Value of a metric at a shape.
    pub fn reading(&self, shape: &ShapeName, metric: &str) -> Option<f64> {
        self.readings.iter().find(|r| &r.shape == shape && r.metric == metric).map(|r| r.value)
    }

    /// Whether both are known to have the same machine code and launches at every shape.
    pub fn is_same_code(&self, other: &Self) -> bool {
        let codes = |entry: &Self| -> Option<Vec<(String, String)>> {
            let code = |latency: &LatencySamples| Some((latency.shape.0.to_string(), latency.code.clone()?));
            let mut codes: Vec<_> = entry.latencies.iter().map(code).collect::<Option<_>>()?;
            codes.sort();
            (!codes.is_empty()).then_some(codes)
        };
        codes(self).is_some_and(|ours| codes(other).is_some_and(|theirs| ours == theirs))
    }

    /// Its values as a table of one variant.
    pub fn quantities(&self) -> Quantities {
        let shapes = self.readings.iter().map(|r| &r.shape).chain(self.latencies.iter().map(|l| &l.shape));
        let mut table = Quantities::new(shapes.map(|shape| (self.variant.clone(), shape.clone())));
        let rows: Vec<ShapeName> = table.rows().map(|(_, shape)| shape.clone()).collect();
        let mut metrics: Vec<&str> = self.readings.iter().map(|r| r.metric.as_str()).collect();
        metrics.sort_unstable();
        metrics.dedup();
        for metric in metrics {
            let absent = || Cell::Missing(format!("run {} has no {metric} at this shape", self.run).into());
            let cell = |shape| self.reading(shape, metric).map_or_else(absent, Cell::finite);
            table.set_column(metric, rows.iter().map(cell).collect());
        }
        for latency in &self.latencies {
            if let Some(row) = table.row(&self.variant, &latency.shape) {
                table.set_samples(row, latency.samples.as_slice().into());
                table.set_sampling(
                    row,
                    Sampling {
                        program: Program::Kernel,
                        launches: latency.launches,
                        throttle: None,
                        fresh: None,
                        code: latency.code.as_deref().map(Into::into),
                    },
                );
            }
        }
        table
    }

    /// Its origin, for people.
    pub fn label(&self) -> String {
        format!("run {} of {}, variant {}", self.run, self.measured.strftime("%Y-%m-%d"), self.variant)
    }
}
