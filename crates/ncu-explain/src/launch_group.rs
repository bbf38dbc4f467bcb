//! Launches of a report by kernel and NVTX range.

use crate::memory_facts::{MemoryFact, memory_facts};
use crate::{
    DiagnosedLaunch, FindingRow, LaunchRoofline, LaunchShape, NcuObservations, RuleBook, clock_control,
    diagnose_launch, diagnose_together, short_names,
};
use indexmap::{IndexMap, IndexSet};
use ncu_rep::{Launch, Report, ReportError};
use ncugate_model::metric::{ChipFamily, id};
use ncugate_model::stats::median;
use ncugate_model::{CleanText, ComputeCapability, LaunchMetrics, nvtx_text};
use regex::Regex;
use std::sync::Arc;

/// Why launches of a report cannot be grouped.
#[derive(Debug, thiserror::Error)]
pub enum KernelsError {
    /// A report is damaged.
    #[error("cannot read the launches of `{name}`")]
    Damaged {
        name: CleanText,
        #[source]
        source: ReportError,
    },
    /// No launch matches.
    #[error("no launch of `{name}` matches; it has {launches}")]
    NoLaunch { name: CleanText, launches: usize },
}

/// Groups with a diagnosis of their median launch; those with the longest total time are chosen.
pub const DIAGNOSED: usize = 40;

/// A kernel within an NVTX range, with one launch configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KernelKey {
    /// Demangled name, or the function's name if that is missing; never truncated.
    pub kernel: CleanText,
    /// NVTX ranges, outermost first; may be empty.
    pub nvtx: CleanText,
    pub shape: LaunchShape,
}

/// Launches of one kernel in one configuration within one NVTX range.
#[derive(Debug)]
pub struct LaunchGroup {
    pub key: KernelKey,
    /// Its short name, and its difference from other groups of the same kernel: `attn<64>, grid 16×8`.
    pub label: CleanText,
    pub launches: usize,
    /// Catalogue metrics: one value for each launch that has it.
    pub values: IndexMap<&'static str, Vec<f64>>,
    /// The launch of the median duration among those with the most metrics, by its id in ncu.
    pub median_launch: u32,
    /// Work and traffic of that launch.
    pub roofline: LaunchRoofline,
    /// Memory traffic of that launch; none if it was not collected.
    pub memory: Option<Vec<MemoryFact>>,
    /// Findings of the rules and of ncu for that launch; only for the groups with the longest total time.
    pub diagnosed: Option<DiagnosedLaunch>,
    /// Id, metrics and duration of every launch.
    seen: Vec<(u32, usize, f64)>,
}

impl LaunchGroup {
    /// Observations of ncu on the median launch.
    pub fn said(&self) -> Option<&NcuObservations> {
        self.diagnosed.as_ref()?.observations.as_ref()
    }

    /// Median over launches; none if no launch has the metric.
    pub fn median(&self, metric: &str) -> Option<f64> {
        median(self.values.get(metric)?).ok().filter(|value| value.is_finite())
    }

    /// Sum over launches, if every launch has the metric.
    pub fn total(&self, metric: &str) -> Option<f64> {
        let values = self.values.get(metric).filter(|values| values.len() == self.launches)?;
        Some(values.iter().sum()).filter(|total: &f64| total.is_finite())
    }
}

/// The launches of a report in groups.
#[derive(Debug)]
pub struct ProfiledReport {
    /// The name given by the reader.
    pub name: CleanText,
    /// Devices without duplicates.
    pub devices: IndexSet<CleanText>,
    /// A chip outside of the metric catalogue.
    pub outside: Option<ComputeCapability>,
    pub ncu: Option<CleanText>,
    /// The clocks of the times, if the report has ncu's command line.
    pub clocks: Option<CleanText>,
    pub launches: usize,
    /// Groups: longest total time first, those without a time last.
    pub groups: Vec<LaunchGroup>,
}

/// Filter for the launches of a report.
#[derive(Debug, Clone, Default)]
pub struct KernelFilter {
    /// Found in the demangled or the function's name.
    pub kernel: Option<Regex>,
    /// Found in the NVTX ranges.
    pub nvtx: Option<Regex>,
    /// The id of the launch in ncu.
    pub launch: Option<u32>,
}

impl KernelFilter {
    /// Whether any launch is left out.
    pub fn is_given(&self) -> bool {
        self.kernel.is_some() || self.nvtx.is_some() || self.launch.is_some()
    }

    /// Whether a launch within those NVTX ranges is kept.
    pub fn accepts(&self, launch: &Launch<'_>, nvtx: &str) -> bool {
        let found = |regex: &Regex| regex.is_match(&launch.kernel_name()) || regex.is_match(&launch.demangled_name());
        self.launch.is_none_or(|id| id == launch.id())
            && self.kernel.as_ref().is_none_or(found)
            && self.nvtx.as_ref().is_none_or(|regex| regex.is_match(nvtx))
    }
}

impl ProfiledReport {
    /// Reads and groups the launches of a report.
    ///
    /// # Errors
    /// A damaged report, or one without a matching launch.
    pub fn read(name: &str, report: &Report, filter: &KernelFilter) -> Result<Self, KernelsError> {
        let damaged = |source| KernelsError::Damaged { name: name.into(), source };
        let mut groups: IndexMap<KernelKey, LaunchGroup> = IndexMap::new();
        let mut devices = IndexSet::new();
        for launch in report.launches() {
            let nvtx = nvtx_text(&launch.nvtx().map_err(damaged)?);
            if !filter.accepts(&launch, &nvtx) {
                continue;
            }
            devices.extend(launch.device_name().map_err(damaged)?.map(|name| CleanText::from(&*name)));
            let shape = LaunchShape::of(&launch).map_err(damaged)?;
            let key = KernelKey { kernel: named(&launch), nvtx: nvtx.trim_end_matches('\0').into(), shape };
            let group = groups.entry(key.clone()).or_insert_with(|| LaunchGroup::new(key));
            group.add(&launch).map_err(damaged)?;
        }
        if groups.is_empty() {
            return Err(KernelsError::NoLaunch { name: name.into(), launches: report.launches().len() });
        }
        let mut groups: Vec<LaunchGroup> = groups.into_values().collect();
        groups.sort_by(|a, b| {
            let time = |group: &LaunchGroup| group.total(&id::DURATION).unwrap_or(-1.0);
            time(b).total_cmp(&time(a)).then_with(|| a.key.kernel.cmp(&b.key.kernel))
        });
        let labels = labels(&groups);
        for (group, label) in groups.iter_mut().zip(labels) {
            group.label = label;
        }
        let mut outside = None;
        for (at, group) in groups.iter_mut().enumerate() {
            group.median_launch = group.median_launch();
            let Some(launch) = report.launch(group.median_launch) else { continue };
            let metrics = LaunchMetrics::of(&launch).map_err(damaged)?;
            outside = outside.or(metrics.capability().filter(|chip| ChipFamily::of(*chip).is_none()));
            group.roofline = LaunchRoofline::of(&metrics, metrics.capability());
            group.memory = memory_facts(&metrics);
            if at < DIAGNOSED {
                let diagnosed = diagnose_launch(name, report, &launch, RuleBook::shipped());
                group.diagnosed = Some(diagnosed.map_err(damaged)?);
            }
        }
        devices.retain(|device: &CleanText| !device.is_empty());
        let session = report.session().map_err(damaged)?;
        Ok(Self {
            name: name.into(),
            devices,
            outside,
            clocks: clock_control(&session).map(CleanText::from),
            // `2025.3.1.0 (build 36398880) (public-release)`
            ncu: session.ncu_version().map(|version| version.split_whitespace().next().unwrap_or_default().into()),
            launches: groups.iter().map(|group| group.launches).sum(),
            groups,
        })
    }

    /// The main cause about all launches together, if every launch has a duration.
    pub fn together(&self) -> Option<FindingRow> {
        self.total()?;
        let seen = self.groups.iter().flat_map(|group| {
            let kernel: Arc<str> = group.key.kernel.as_str().into();
            let durations = group.values.get(&*id::DURATION).into_iter().flatten();
            durations.map(move |duration| (Arc::clone(&kernel), *duration))
        });
        let found = diagnose_together(&self.name, seen.collect(), RuleBook::shipped())?;
        Some(FindingRow::of(&found, &found.shape))
    }

    /// Launches with a duration, and the sum of their durations in microseconds.
    pub fn timed(&self) -> (usize, f64) {
        let durations = self.groups.iter().filter_map(|group| group.values.get(&*id::DURATION));
        durations.fold((0, 0.0), |(many, sum), of| (many + of.len(), sum + of.iter().sum::<f64>() / 1e3))
    }

    /// Sum of all durations in nanoseconds, if every launch has one.
    pub fn total(&self) -> Option<f64> {
        self.groups.iter().map(|group| group.total(&id::DURATION)).sum()
    }
}

/// Short names of groups; groups of one kernel have their differences in launch.
fn labels(groups: &[LaunchGroup]) -> Vec<CleanText> {
    let names: Vec<&str> = groups.iter().map(|group| group.key.kernel.as_str()).collect();
    let label = |(group, short): (&LaunchGroup, String)| {
        let KernelKey { kernel, nvtx, shape } = &group.key;
        let siblings = groups.iter().map(|group| &group.key).filter(|key| key.kernel == *kernel && key.nvtx == *nvtx);
        match shape.distinction(siblings.map(|key| &key.shape)).as_str() {
            "" => CleanText::whole(&short),
            apart => CleanText::whole(&format!("{short}, {apart}")),
        }
    };
    groups.iter().zip(short_names(&names)).map(label).collect()
}

impl LaunchGroup {
    fn new(key: KernelKey) -> Self {
        Self {
            key,
            label: CleanText::default(),
            launches: 0,
            values: IndexMap::new(),
            median_launch: 0,
            roofline: LaunchRoofline::default(),
            memory: None,
            diagnosed: None,
            seen: Vec::new(),
        }
    }

    fn add(&mut self, launch: &Launch<'_>) -> Result<(), ReportError> {
        let metrics = LaunchMetrics::of(launch)?;
        let duration = metrics.metric(&id::DURATION).number().unwrap_or(f64::NAN);
        self.seen.push((launch.id(), metrics.count(), duration));
        self.launches += 1;
        for (metric, value) in metrics.values() {
            self.values.entry(metric).or_default().push(value);
        }
        Ok(())
    }

    /// The launch that represents all. It is a real launch, unlike a row of medians.
    fn median_launch(&self) -> u32 {
        let most = self.seen.iter().map(|(_, collected, _)| *collected).max().unwrap_or(0);
        let mut fullest: Vec<&(u32, usize, f64)> = self.seen.iter().filter(|(_, n, _)| *n == most).collect();
        fullest.sort_by(|a, b| a.2.total_cmp(&b.2));
        fullest.get(fullest.len().saturating_sub(1) / 2).map_or(0, |(id, _, _)| *id)
    }
}

/// The demangled name; for a range or graph, a text that says so.
pub fn named(launch: &Launch<'_>) -> CleanText {
    let name = launch.demangled_name();
    match name.is_empty() {
        true => format!("<{:?}>", launch.kind()).to_lowercase().into(),
        false => CleanText::whole(&name),
    }
}
