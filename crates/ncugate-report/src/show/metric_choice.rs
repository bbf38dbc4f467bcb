//! Metrics that a command line names: names or globs of Nsight Compute, and names of the catalogue.

use super::input::Input;
use super::{MissingMetric, ShowError};
use indexmap::IndexSet;
use ncu_rep::{MetricSelection, unit_of};
use ncugate_judge::frame::launches::Capture;
use ncugate_judge::frame::rows::MetricColumns;
use ncugate_model::metric::{Catalogue, LogicalMetric, MetricError, is_listed};
use ncugate_model::{LaunchMetric, glob, nearest};

/// The chosen metrics. Without any, every metric of the report.
#[derive(Debug, Default)]
pub(super) struct MetricChoice {
    /// In the order of the command line.
    pub names: IndexSet<String>,
    /// Those of the report.
    pub counters: Vec<String>,
    /// Those of the catalogue.
    pub logical: Vec<&'static LogicalMetric>,
}

impl MetricChoice {
    /// Finds the metrics that the patterns name.
    ///
    /// # Errors
    /// A pattern names no metric, or one that no launch has.
    pub fn new(inputs: &[Input], patterns: &[String]) -> Result<Self, ShowError> {
        let captures: Vec<Capture<'_>> = inputs.iter().map(Input::capture).collect();
        let known: IndexSet<&str> = captures.iter().flat_map(|capture| capture.report.metric_names()).collect();
        let mut choice = Self::default();
        for pattern in patterns {
            if known.contains(pattern.as_str()) {
                choice.add_counter(pattern);
            } else if let Some(metric) = Catalogue::embedded().get(pattern) {
                prove_collected(&captures, metric)?;
                choice.add_logical(metric);
            } else {
                choice.add_glob(pattern, &captures, &known)?;
            }
        }
        Ok(choice)
    }

    /// The columns to read.
    pub fn columns(&self) -> MetricColumns<'_> {
        match self.names.is_empty() {
            true => MetricColumns::ALL,
            false => MetricColumns { counters: MetricSelection::Named(&self.counters), logical: &self.logical },
        }
    }

    /// The unit of a chosen metric.
    pub fn unit(&self, name: &str) -> &str {
        let logical = self.logical.iter().find(|metric| metric.name == name);
        logical.map_or_else(|| unit_of(name), |metric| &metric.unit)
    }

    fn add_counter(&mut self, name: &str) {
        if self.names.insert(name.to_owned()) {
            self.counters.push(name.to_owned());
        }
    }

    fn add_logical(&mut self, metric: &'static LogicalMetric) {
        if self.names.insert(metric.name.clone()) {
            self.logical.push(metric);
        }
    }

    /// Adds the metrics of the report that match, else those of the catalogue that a launch has.
    fn add_glob(&mut self, pattern: &str, captures: &[Capture<'_>], known: &IndexSet<&str>) -> Result<(), ShowError> {
        let matcher = glob(pattern)?;
        let counters: Vec<&str> = known.iter().copied().filter(|name| matcher.is_match(name)).collect();
        counters.iter().for_each(|name| self.add_counter(name));
        if !counters.is_empty() {
            return Ok(());
        }
        if is_listed(pattern) {
            let counters = vec![pattern.to_owned()];
            return Err(ShowError::MissingMetric(MissingMetric::NotCollected { name: pattern.to_owned(), counters }));
        }
        let (mut found, mut missing) = (false, None);
        for metric in Catalogue::embedded().metrics().iter().filter(|metric| matcher.is_match(&metric.name)) {
            match prove_collected(captures, metric) {
                Ok(()) => {
                    self.add_logical(metric);
                    found = true;
                }
                Err(ShowError::MissingMetric(reason)) => missing = Some(reason),
                Err(damaged) => return Err(damaged),
            }
        }
        match missing {
            _ if found => return Ok(()),
            Some(missing) => return Err(ShowError::MissingMetric(missing)),
            None => {}
        }
        let names = known.iter().copied().chain(Catalogue::embedded().names());
        Err(ShowError::NoMetric { pattern: pattern.to_owned(), nearest: nearest(pattern, names).map(str::to_owned) })
    }
}

/// Whether any launch has the counters of a metric.
fn prove_collected(captures: &[Capture<'_>], metric: &LogicalMetric) -> Result<(), ShowError> {
    let name = || metric.name.clone();
    let mut missing = MissingMetric::NoLaunch { name: name() };
    for capture in captures {
        for launch in capture.report.launches() {
            missing = match capture.metrics_of(&launch)?.metric(&metric.name) {
                LaunchMetric::Counted(_) => return Ok(()),
                LaunchMetric::NotCollected(counters) => MissingMetric::NotCollected { name: name(), counters },
                LaunchMetric::Undefined(MetricError::NotCounted { .. }) => MissingMetric::OfRuns { name: name() },
                LaunchMetric::Undefined(error) => MissingMetric::Undefined(error),
            };
        }
    }
    Err(ShowError::MissingMetric(missing))
}
