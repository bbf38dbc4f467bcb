//! A comparison of chosen metrics.

use super::comparison::RunComparison;
use crate::number;
use crate::text_table::{Alignment, TextTable};
use ncugate_model::metric::{Catalogue, is_listed};
use ncugate_model::{CleanText, GlobError, glob, nearest};
use std::collections::BTreeSet;
use std::fmt::Write as _;

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

/// A row for each pair and metric, for a terminal of that many columns or without a limit.
pub fn metric_table(comparison: &RunComparison, columns: Option<usize>) -> String {
    let mut out = format!("A  {}\nB  {}\n\n", comparison.a.name, comparison.b.name);
    let mut table =
        TextTable::new(vec![Alignment::Left, Alignment::Left, Alignment::Right, Alignment::Right, Alignment::Right]);
    table.push(["", "metric", "A", "B", "change"].map(str::to_owned).to_vec());
    for pair in &comparison.pairs {
        for row in &pair.rows {
            let metric = match number::unit(&row.unit) {
                "" => row.metric.to_string(),
                unit => format!("{} [{unit}]", row.metric),
            };
            let change = format!("{} {}", row.change, row.judged.word()).trim_end().to_owned();
            let [before, after] = [&row.before, &row.after].map(|number| number.text.to_string());
            table.push(vec![pair.name.to_string(), metric, before, after, change]);
        }
    }
    table.write(&mut out, columns);
    for (side, names) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        if !names.is_empty() {
            let names: Vec<&str> = names.iter().map(CleanText::as_str).collect();
            let _ = writeln!(out, "only in {side}: {}", names.join("; "));
        }
    }
    out
}
