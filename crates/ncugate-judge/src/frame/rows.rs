//! Single launches and metrics with their types, for tables and exports that must keep every digit.

use std::borrow::Cow;

use regex::Regex;

use super::launch_metrics::LaunchMetrics;
use super::launches::{Capture, FrameError, Origin};
use super::nvtx::nvtx_text;
use ncu_rep::csv::CsvLaunch;
use ncu_rep::{Launch, MetricSelection, MetricValue};
use ncugate_model::ComputeCapability;
use ncugate_model::metric::LogicalMetric;

/// A launch from any source.
#[derive(Debug, Clone, Copy)]
pub enum AnyLaunch<'a> {
    Report(Launch<'a>),
    Csv(&'a CsvLaunch),
}

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
}

impl<'a> AnyLaunch<'a> {
    /// The id that ncu prints.
    #[must_use]
    pub fn id(&self) -> u32 {
        match self {
            Self::Report(launch) => launch.id(),
            Self::Csv(launch) => launch.id,
        }
    }

    /// Function name of the kernel; CSV has only the demangled name.
    #[must_use]
    pub fn kernel(&self) -> Cow<'a, str> {
        match self {
            Self::Report(launch) => launch.kernel_name(),
            Self::Csv(launch) => Cow::Borrowed(&launch.kernel),
        }
    }

    #[must_use]
    pub fn demangled(&self) -> Cow<'a, str> {
        match self {
            Self::Report(launch) => launch.demangled_name(),
            Self::Csv(launch) => Cow::Borrowed(&launch.kernel),
        }
    }

    /// Blocks of the grid.
    #[must_use]
    pub fn grid(&self) -> Option<[u32; 3]> {
        match self {
            Self::Report(launch) => launch.grid(),
            Self::Csv(launch) => launch.grid,
        }
    }

    /// Threads of a block.
    #[must_use]
    pub fn block(&self) -> Option<[u32; 3]> {
        match self {
            Self::Report(launch) => launch.block(),
            Self::Csv(launch) => launch.block,
        }
    }

    #[must_use]
    pub fn stream(&self) -> Option<u32> {
        match self {
            Self::Report(launch) => launch.stream(),
            Self::Csv(launch) => launch.stream,
        }
    }

    /// NVTX ranges in one line.
    ///
    /// # Errors
    /// The report is damaged.
    pub fn nvtx(&self, report: &str) -> Result<String, FrameError> {
        match self {
            Self::Report(launch) => launch.nvtx().map(|ranges| nvtx_text(&ranges)).map_err(named(report)),
            Self::Csv(launch) => Ok(launch.nvtx.join(" > ")),
        }
    }
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
    pub fn accepts(&self, report: &str, launch: &AnyLaunch<'_>) -> Result<bool, FrameError> {
        if self.launch.is_some_and(|id| id != launch.id()) {
            return Ok(false);
        }
        if let Some(kernel) = &self.kernel
            && !kernel.is_match(&launch.kernel())
            && !kernel.is_match(&launch.demangled())
        {
            return Ok(false);
        }
        match &self.nvtx {
            Some(nvtx) => Ok(nvtx.is_match(&launch.nvtx(report)?)),
            None => Ok(true),
        }
    }
}

pub(super) fn named(report: &str) -> impl Fn(ncu_rep::ReportError) -> FrameError {
    move |source| FrameError::Report { report: report.to_owned(), source }
}

/// The launches of a capture, in order.
pub fn launches<'a>(capture: &Capture<'a>) -> Box<dyn Iterator<Item = AnyLaunch<'a>> + 'a> {
    match capture.origin {
        Origin::Report(report) => Box::new(report.launches().map(AnyLaunch::Report)),
        Origin::Csv(csv) => Box::new(csv.launches.iter().map(AnyLaunch::Csv)),
    }
}

/// The compute capability of a launch's device, if it is known.
///
/// # Errors
/// The report is damaged.
pub(super) fn capability(
    capture: &Capture<'_>,
    launch: &AnyLaunch<'_>,
) -> Result<Option<ComputeCapability>, FrameError> {
    let capability = match launch {
        AnyLaunch::Report(launch) => launch.compute_capability().map_err(named(capture.name))?,
        AnyLaunch::Csv(launch) => {
            launch.capability.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)))
        }
    };
    Ok(capability.map(ComputeCapability::from))
}

/// Calls `row` with every selected metric of one launch: those of the report in its order, then those of the catalogue.
///
/// # Errors
/// The report is damaged, or `row` returns an error.
pub fn metrics<'a, E: From<FrameError>>(
    capture: &Capture<'a>,
    launch: &AnyLaunch<'a>,
    columns: MetricColumns<'_>,
    mut row: impl FnMut(&Row<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let (report, selection) = (capture.name, columns.counters);
    match (launch, capture.origin) {
        (AnyLaunch::Report(launch), _) => {
            let kernel = launch.kernel_name();
            for metric in launch.metrics() {
                let metric = metric.map_err(named(report))?;
                if selection.contains(metric.name) {
                    let (metric, unit, value) = (metric.name, metric.unit(), metric.value);
                    row(&Row { report, launch: launch.id(), kernel: kernel.clone(), metric, unit, value })?;
                }
            }
        }
        (AnyLaunch::Csv(launch), Origin::Csv(csv)) => {
            let kernel = Cow::Borrowed(launch.kernel.as_str());
            for metric in &launch.metrics {
                let name = csv.name(metric);
                if selection.contains(name) {
                    let (unit, value) = (metric.unit.as_ref(), metric.value.clone());
                    row(&Row { report, launch: launch.id, kernel: kernel.clone(), metric: name, unit, value })?;
                }
            }
        }
        (AnyLaunch::Csv(_), Origin::Report(_)) => {}
    }
    if columns.logical.is_empty() {
        return Ok(());
    }
    let of_launch = LaunchMetrics::of_any(capture, launch)?;
    for metric in columns.logical {
        let number = of_launch.metric(&metric.name).number();
        let value = number.map_or(MetricValue::Missing, MetricValue::Double);
        let (launch, kernel) = (launch.id(), launch.kernel());
        row(&Row { report, launch, kernel, metric: &metric.name, unit: &metric.unit, value })?;
    }
    Ok(())
}

/// Calls `row` with every selected metric of every selected launch.
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
        for launch in launches(capture) {
            if filter.accepts(capture.name, &launch)? {
                metrics(capture, &launch, columns, &mut row)?;
            }
        }
    }
    Ok(())
}
