//! Single launches and metrics with their types, for tables and exports that must keep every digit.

use std::borrow::Cow;

use regex::Regex;

use super::launches::{Capture, FrameError};
use ncu_rep::{Launch, MetricSelection, MetricValue};
use ncugate_model::metric::LogicalMetric;
use ncugate_model::nvtx_text;

/// Selects launches. All given conditions must hold.
#[derive(Debug, Clone, Default)]
pub struct LaunchFilter {
    /// Matched against the function name and the demangled name.
    pub kernel: Option<Regex>,
    /// Matched against the NVTX ranges, as `name` or `domain@name`.
    pub nvtx: Option<Regex>,
    /// The id that ncu prints.
    pub launch: Option<u32>,
}

/// Metrics to read: those of the report, and those of the catalogue that are computed from them.
#[derive(Debug, Clone, Copy)]
pub struct MetricColumns<'a> {
    pub counters: MetricSelection<'a>,
    pub logical: &'a [&'static LogicalMetric],
}

impl MetricColumns<'_> {
    /// Every metric of the report.
    pub const ALL: Self = Self { counters: MetricSelection::All, logical: &[] };
}

#[derive(Debug, Clone)]
pub struct Row<'a> {
    pub report: &'a str,
    /// The id that ncu prints.
    pub launch: u32,
    /// Function name of the kernel.
    pub kernel: Cow<'a, str>,
    /// Full metric name.
    pub metric: &'a str,
    /// Base unit.
    pub unit: &'a str,
    pub value: MetricValue<'a>,
    /// Nanoseconds from the start of the launch, of a sample of a series.
    pub time: Option<i64>,
}

/// NVTX ranges of a launch in one line.
///
/// # Errors
/// The report is damaged.
pub fn ranges(report: &str, launch: &Launch<'_>) -> Result<String, FrameError> {
    launch.nvtx().map(|ranges| nvtx_text(&ranges)).map_err(named(report))
}

impl LaunchFilter {
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.kernel.is_none() && self.nvtx.is_none() && self.launch.is_none()
    }

    /// Whether a launch is selected.
    ///
    /// # Errors
    /// The report is damaged.
    pub fn accepts(&self, report: &str, launch: &Launch<'_>) -> Result<bool, FrameError> {
        if self.launch.is_some_and(|id| id != launch.id()) {
            return Ok(false);
        }
        if let Some(kernel) = &self.kernel
            && !kernel.is_match(&launch.kernel_name())
            && !kernel.is_match(&launch.demangled_name())
        {
            return Ok(false);
        }
        match &self.nvtx {
            Some(nvtx) => Ok(nvtx.is_match(&ranges(report, launch)?)),
            None => Ok(true),
        }
    }
}

pub(super) fn named(report: &str) -> impl Fn(ncu_rep::ReportError) -> FrameError {
    move |source| FrameError::Report { report: report.to_owned(), source }
}

/// Calls `row` with every selected metric of one launch: those of the report in its order, then those of the catalogue.
///
/// # Errors
/// The report is damaged, or `row` returns an error.
pub fn metrics<'a, E: From<FrameError>>(
    capture: &Capture<'a>,
    launch: &Launch<'a>,
    columns: MetricColumns<'_>,
    mut row: impl FnMut(&Row<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let (report, selection) = (capture.name, columns.counters);
    let kernel = launch.kernel_name();
    for metric in launch.metrics() {
        let metric = metric.map_err(named(report))?;
        if selection.contains(metric.name) {
            let (metric, unit, value) = (metric.name, metric.unit(), metric.value);
            row(&Row { report, launch: launch.id(), kernel: kernel.clone(), metric, unit, value, time: None })?;
        }
    }
    if columns.logical.is_empty() {
        return Ok(());
    }
    let of_launch = capture.metrics_of(launch)?;
    for metric in columns.logical {
        let number = of_launch.metric(&metric.name).number();
        let value = number.map_or(MetricValue::Missing, MetricValue::Double);
        let (launch, kernel) = (launch.id(), launch.kernel_name());
        row(&Row { report, launch, kernel, metric: &metric.name, unit: &metric.unit, value, time: None })?;
    }
    Ok(())
}

/// Calls `row` with every sample of the series that are selected by name.
fn samples<'a, E: From<FrameError>>(
    capture: &Capture<'a>,
    launch: &Launch<'a>,
    selection: MetricSelection<'_>,
    mut row: impl FnMut(&Row<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let named = named(capture.name);
    let by_name = |name| matches!(selection, MetricSelection::Named(_)) && selection.contains(name);
    for metric in launch.metrics() {
        let metric = metric.map_err(&named)?;
        let series = if by_name(metric.name) { launch.series(&metric).map_err(&named)? } else { None };
        let Some(series) = series else { continue };
        let start = series.launch.map(|launch| launch.start).or(series.samples.keys().next().copied());
        for (at, value) in series.samples {
            let time = start.map(|start| at.wrapping_sub(start).cast_signed());
            let (report, id, kernel, unit) = (capture.name, launch.id(), launch.kernel_name(), metric.unit());
            let value = MetricValue::Double(value);
            row(&Row { report, launch: id, kernel, metric: metric.name, unit, value, time })?;
        }
    }
    Ok(())
}

/// Calls `row` with every selected metric of every selected launch, and then with the samples of its series that are
/// selected by name.
///
/// # Errors
/// The report is damaged, or `row` returns an error.
pub fn visit<'a, E: From<FrameError>>(
    captures: &[Capture<'a>],
    filter: &LaunchFilter,
    columns: MetricColumns<'_>,
    mut row: impl FnMut(&Row<'a>) -> Result<(), E>,
) -> Result<(), E> {
    for capture in captures {
        for launch in capture.report.launches() {
            if filter.accepts(capture.name, &launch)? {
                metrics(capture, &launch, columns, &mut row)?;
                samples(capture, &launch, columns.counters, &mut row)?;
            }
        }
    }
    Ok(())
}
