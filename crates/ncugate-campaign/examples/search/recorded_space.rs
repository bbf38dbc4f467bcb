//! A space with every point measured: a kernel_tuner cache file, or a run of this program.

use ncugate_campaign::search::PointList;
use ncugate_model::disk::open;
use ncugate_model::expr::Value;
use ncugate_model::{Better, Quantities};
use ncugate_phase::plan::{Plan, Point, VariantRole};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Size limit of a cache file in bytes. The largest published ones have some tens of MB.
const MAX_BYTES: u64 = 1 << 30;

/// A space with every point measured.
#[derive(Debug, Clone)]
pub struct RecordedSpace {
    pub name: String,
    pub points: PointList,
    /// Cost of each point, in the order of the file; `None` if it failed.
    pub costs: Vec<Option<f64>>,
    by_point: HashMap<Point, usize>,
}

/// Why a space cannot be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    #[error("cannot read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The file has another form.
    #[error("{} is not a recorded space: {reason}", path.display())]
    Form { path: PathBuf, reason: String },
}

/// The fields read from a cache file (kernel_tuner's schema `T1`, version 1).
#[derive(Deserialize)]
struct CacheFile {
    tune_params_keys: Vec<String>,
    tune_params: BTreeMap<String, Vec<serde_json::Value>>,
    cache: serde_json::Map<String, serde_json::Value>,
}

impl RecordedSpace {
    /// Builds a space from its parts; all points must differ.
    ///
    /// # Errors
    /// Two points are equal, or fewer than two have a cost.
    pub fn new(name: String, points: Vec<Point>, costs: Vec<Option<f64>>) -> Result<Self, String> {
        let by_point: HashMap<Point, usize> = points.iter().cloned().zip(0..).collect();
        if by_point.len() != points.len() {
            return Err("two of its configurations are the same".to_owned());
        }
        if costs.iter().flatten().any(|cost| !(cost.is_finite() && *cost > 0.0)) {
            return Err("a time is not a positive number".to_owned());
        }
        if costs.iter().flatten().count() < 2 {
            return Err("fewer than two of its configurations have a time".to_owned());
        }
        Ok(Self { name, points: PointList::new(points), costs, by_point })
    }

    /// Reads a kernel_tuner cache file; `time` is the cost. A configuration with a text as its time failed.
    ///
    /// # Errors
    /// The file is not a cache file.
    pub fn of_cache(path: &Path) -> Result<Self, RecordedError> {
        let text = open::named(path, MAX_BYTES).and_then(open::text_of);
        let bytes = text.map_err(|source| RecordedError::Read { path: path.to_owned(), source })?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        of_cache_text(&bytes, name).map_err(|reason| RecordedError::Form { path: path.to_owned(), reason })
    }

    /// The candidates of a run that have parameters. The cost is the phase's objective.
    ///
    /// # Errors
    /// The objective is not minimised, or fewer than two candidates have it.
    pub fn of_run(
        name: String,
        objective: &ncugate_phase::config::Objective,
        plan: &Plan,
        table: &Quantities,
    ) -> Result<Self, String> {
        if objective.better != Better::Lower {
            return Err("its objective is not one that is minimised".to_owned());
        }
        let candidates: Vec<_> = plan
            .variants
            .iter()
            .filter(|variant| variant.standing == VariantRole::Candidate && !variant.params.is_empty())
            .collect();
        let first = candidates.first().map(|variant| variant.params.iter().map(|(name, _)| name.clone()).collect());
        let names: Vec<String> = first.unwrap_or_default();
        let mut axes: Vec<Vec<Value>> = vec![Vec::new(); names.len()];
        let (mut points, mut costs) = (Vec::new(), Vec::new());
        for variant in candidates.into_iter().filter(|variant| variant.params.len() == names.len()) {
            let mut point = Vec::with_capacity(names.len());
            for (axis, (_, value)) in axes.iter_mut().zip(&variant.params) {
                let at = axis.iter().position(|known| known == value).unwrap_or_else(|| {
                    axis.push(value.clone());
                    axis.len() - 1
                });
                point.push(u32::try_from(at).map_err(|_| "an axis has too many values".to_owned())?);
            }
            points.push(Point(point));
            costs.push(
                table.read(&variant.id, &objective.shape, &objective.metric).value().filter(|cost| cost.is_finite()),
            );
        }
        Self::new(name, points, costs)
    }

    pub fn cost(&self, point: &Point) -> Option<f64> {
        self.by_point.get(point).and_then(|at| self.costs[*at])
    }

    /// The lowest cost.
    pub fn optimum(&self) -> f64 {
        self.costs.iter().flatten().copied().fold(f64::INFINITY, f64::min)
    }
}

fn of_cache_text(text: &str, name: String) -> Result<RecordedSpace, String> {
    // A tuner that was stopped leaves the JSON of its file unterminated.
    let parsed = serde_json::from_str(text).or_else(|e| {
        let closed = format!("{}}}}}", text.trim_end().trim_end_matches(','));
        serde_json::from_str(&closed).map_err(|_| e)
    });
    let file: CacheFile = parsed.map_err(|e| e.to_string())?;
    let axes: Vec<(&String, &Vec<serde_json::Value>)> = file
        .tune_params_keys
        .iter()
        .map(|key| {
            file.tune_params
                .get(key)
                .map(|values| (key, values))
                .ok_or(format!("`tune_params` has no values for `{key}`"))
        })
        .collect::<Result<_, _>>()?;
    let index: Vec<HashMap<String, u32>> =
        axes.iter().map(|(_, values)| values.iter().map(ToString::to_string).zip(0..).collect()).collect();
    let (mut points, mut costs) = (Vec::new(), Vec::new());
    for entry in file.cache.values() {
        let at = |((key, _), index): (&(&String, _), &HashMap<String, u32>)| {
            let value = entry.get(key.as_str()).map(ToString::to_string).unwrap_or_default();
            index.get(&value).copied().ok_or(format!("`{key}` is {value}, which is not one of its values"))
        };
        points.push(Point(axes.iter().zip(&index).map(at).collect::<Result<_, _>>()?));
        costs.push(entry.get("time").and_then(serde_json::Value::as_f64));
    }
    RecordedSpace::new(name, points, costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: &str = r#"{"device_name": "a", "kernel_name": "k", "problem_size": [1],
        "tune_params_keys": ["x", "y"], "tune_params": {"x": [16, 32], "y": ["row", "column"]},
        "cache": {
            "16,row": {"x": 16, "y": "row", "time": 2.5},
            "16,column": {"x": 16, "y": "column", "time": "CompilationFailedConfig"},
            "32,row": {"x": 32, "y": "row", "time": 1.25}"#;

    #[test]
    fn a_cache_is_points_costs_and_failures() {
        let space = of_cache_text(&format!("{CACHE}}}}}"), "a".to_owned()).unwrap();
        assert_eq!(space.costs, [Some(2.5), None, Some(1.25)]);
        assert_eq!(space.cost(&Point(vec![1, 0])), Some(1.25));
        assert_eq!(space.optimum(), 1.25);
        assert_eq!(space.cost(&Point(vec![0, 1])), None);
    }

    #[test]
    fn a_cache_that_was_left_open_is_read_too() {
        assert_eq!(of_cache_text(&format!("{CACHE},\n"), "a".to_owned()).unwrap().costs.len(), 3);
    }

    #[test]
    fn what_is_not_a_cache_says_why() {
        assert!(of_cache_text("{}", "a".to_owned()).unwrap_err().contains("tune_params_keys"));
        let other = format!("{CACHE}}}}}").replace("\"x\": 16, \"y\": \"row\"", "\"x\": 17, \"y\": \"row\"");
        assert_eq!(of_cache_text(&other, "a".to_owned()).unwrap_err(), "`x` is 17, which is not one of its values");
        let twice = format!("{CACHE},\"again\": {{\"x\": 16, \"y\": \"row\", \"time\": 1}}}}}}");
        assert!(of_cache_text(&twice, "a".to_owned()).unwrap_err().contains("the same"));
    }
}
