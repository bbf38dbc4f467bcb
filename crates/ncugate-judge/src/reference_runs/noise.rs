//! The noise of a machine: one variant timed against itself.

use super::Conditions;
use crate::store::{StoreError, write_json};
use crate::{BetweenRuns, Noise};
use jiff::Timestamp;
use ncugate_model::disk::open;
use ncugate_model::stats::{Interval, Pairing, Resampler, Statistic, StatsError, compare};
use ncugate_model::{ShapeName, VariantId};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Maximum size of the file in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The noise of a machine under given conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    pub conditions: Conditions,
    /// The variant that was timed against itself.
    pub variant: VariantId,
    pub measured: Timestamp,
    pub shapes: Vec<ShapeNoise>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShapeNoise {
    pub shape: ShapeName,
    /// Number of rounds.
    pub rounds: usize,
    /// Largest distance of the 95 % interval of the ratio of medians from 1, in percent.
    pub median_pct: f64,
    /// The same for 90th percentiles; `None` if there are too few rounds.
    pub p90_pct: Option<f64>,
    /// Variation of the variant between fresh processes; `None` if one process was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<RunSpread>,
}

/// Variation of one variant at a shape between fresh processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpread {
    /// Number of processes, all with the same number of rounds.
    pub runs: u32,
    /// Standard deviation of the processes' medians, in percent of their mean.
    pub median_sd_pct: f64,
    /// The same for 90th percentiles; `None` if there are too few rounds.
    pub p90_sd_pct: Option<f64>,
}

impl RunSpread {
    /// Computed from the samples of each process; `None` for fewer than three processes.
    ///
    /// # Errors
    /// A process has no samples, or samples are not finite.
    pub fn of(runs: &[Vec<f64>]) -> Result<Option<Self>, StatsError> {
        if runs.len() < 3 {
            return Ok(None);
        }
        let spread = |statistic: Statistic| {
            let values = runs.iter().map(|samples| statistic.of(samples)).collect::<Result<Vec<f64>, _>>()?;
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
            Ok(100.0 * variance.sqrt() / mean)
        };
        let enough = runs.iter().all(|samples| samples.len() >= Statistic::P90.fewest(0.95));
        let p90_sd_pct = if enough { Some(spread(Statistic::P90)?) } else { None };
        let runs = u32::try_from(runs.len()).unwrap_or(u32::MAX);
        Ok(Some(Self { runs, median_sd_pct: spread(Statistic::MEDIAN)?, p90_sd_pct }))
    }

    fn as_gates_take_it(&self) -> Option<BetweenRuns> {
        let known = |pct: f64| (pct.is_finite() && pct >= 0.0).then_some(pct / 100.0);
        let p90 = self.p90_sd_pct.and_then(known);
        Some(BetweenRuns { runs: self.runs, median: known(self.median_sd_pct)?, p90 })
    }
}

impl ShapeNoise {
    /// Computed from two sets of samples of one variant, taken in the same rounds.
    pub fn of(shape: &ShapeName, a: &[f64], b: &[f64]) -> Result<Self, StatsError> {
        let comparison = compare(a, b, Pairing::Rounds, &Resampler::default())?;
        Ok(Self {
            shape: shape.clone(),
            rounds: a.len().min(b.len()),
            median_pct: reach(&comparison.median_ratio.interval),
            p90_pct: comparison.p90_ratio.map(|ratio| reach(&ratio.interval)),
            between: None,
        })
    }
}

fn reach(interval: &Interval) -> f64 {
    100.0 * (interval.low - 1.0).abs().max((interval.high - 1.0).abs())
}

impl Calibration {
    /// The noise in the form that gates use.
    pub fn by_shape(&self) -> impl Iterator<Item = (ShapeName, Noise)> {
        self.shapes.iter().map(|noise| {
            let part = Noise {
                median: noise.median_pct / 100.0,
                p90: noise.p90_pct.map(|p| p / 100.0),
                rounds: noise.rounds,
                between: noise.between.as_ref().and_then(RunSpread::as_gates_take_it),
            };
            (noise.shape.clone(), part)
        })
    }
}

/// The calibrations of a phase: `<profiles>/<phase>/noise.json`, with one entry per set of conditions.
#[derive(Debug, Clone)]
pub struct NoiseBook {
    path: PathBuf,
    calibrations: Vec<Calibration>,
}

impl NoiseBook {
    /// Reads the file. A missing file has no calibrations; a damaged file is an error.
    pub fn open(profiles: &Path, phase: &str) -> Result<Self, StoreError> {
        let path = profiles.join(phase).join("noise.json");
        let unread = |source| StoreError::Read { path: path.clone(), source };
        let text = open::text_if_there(&path, MAX_BYTES).map_err(unread)?;
        let damaged =
            |e: serde_json::Error| StoreError::Record { path: path.clone(), line: e.line(), reason: e.to_string() };
        let calibrations = text.map(|text| serde_json::from_str(&text).map_err(damaged)).transpose()?;
        Ok(Self { calibrations: calibrations.unwrap_or_default(), path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The calibration of a machine under these conditions.
    pub fn find(&self, conditions: &Conditions) -> Option<&Calibration> {
        self.calibrations.iter().find(|known| conditions.differences(&known.conditions).is_empty())
    }

    /// Stores a calibration, replacing the one with the same conditions.
    pub fn keep(&mut self, calibration: Calibration) -> Result<(), StoreError> {
        self.calibrations.retain(|known| !calibration.conditions.differences(&known.conditions).is_empty());
        self.calibrations.push(calibration);
        write_json(&self.path, &self.calibrations)
    }
}
