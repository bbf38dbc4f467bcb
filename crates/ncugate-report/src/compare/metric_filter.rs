//! A comparison of chosen metrics.

use super::comparison::RunComparison;
use ncugate_model::metric::{Catalogue, is_listed};
use ncugate_model::{GlobError, glob, nearest};
use std::collections::BTreeSet;

/// Why a metric cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum MetricFilterError {
    #[error("--metric {0}")]
    Pattern(#[from] GlobError),
    /// A known metric that no pair has on both sides.
    #[error("`{name}` was not measured on both sides")]
    NotMeasured { name: String },
    #[error("no metric matches `{pattern}`{}", nearest.as_deref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    Unknown {
        pattern: String,
        /// The most similar name.
        nearest: Option<String>,
    },
}

impl RunComparison {
    /// Drops all other metrics.
    ///
    /// # Errors
    /// A pattern names no metric that both sides of a pair have.
    pub fn keep_metrics(&mut self, patterns: &[String]) -> Result<(), MetricFilterError> {
        let known: BTreeSet<&str> =
            self.pairs.iter().flat_map(|pair| &pair.rows).map(|row| row.metric.as_str()).collect();
        let mut kept: BTreeSet<String> = BTreeSet::new();
        for pattern in patterns {
            let matcher = glob(pattern)?;
            let found: Vec<&str> = known.iter().copied().filter(|name| matcher.is_match(name)).collect();
            if found.is_empty() {
                return Err(missing(pattern, &known));
            }
            kept.extend(found.into_iter().map(str::to_owned));
        }
        for pair in &mut self.pairs {
            pair.rows.retain(|row| kept.contains(row.metric.as_str()));
        }
        Ok(())
    }
}

fn missing(pattern: &str, known: &BTreeSet<&str>) -> MetricFilterError {
    let catalogue = Catalogue::embedded();
    if catalogue.get(pattern).is_some() || is_listed(pattern) {
        return MetricFilterError::NotMeasured { name: pattern.to_owned() };
    }
    let names = known.iter().copied().chain(catalogue.names());
    MetricFilterError::Unknown { pattern: pattern.to_owned(), nearest: nearest(pattern, names).map(str::to_owned) }
}
