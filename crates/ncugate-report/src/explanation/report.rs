//! Explanations of the kernels of an ncu report, the longest first.

use super::{Explanation, of_launch};
use ncu_explain::{FindingRow, KernelFilter, KernelsError, LaunchGroup, ProfiledReport, RuleBook, diagnose_launch};
use ncu_rep::Report;
use ncugate_model::CleanText;
use ncugate_model::metric::id;
use serde::Serialize;
use std::collections::HashSet;

/// Launches of one kernel with one configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelTime {
    /// Name of the function with its difference from the other kernels of the report: `attn, grid 8×8`.
    pub label: CleanText,
    /// Name of the function.
    pub function: CleanText,
    pub launches: usize,
    /// Their total time under ncu in microseconds; null if a launch has no duration.
    pub total_microseconds: Option<f64>,
    /// Percent of the time of all explained launches; null if a launch has no duration.
    pub percent: Option<f64>,
}

/// An ncu report with the explanations of its kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportExplanation {
    /// The name given by the reader.
    pub name: String,
    pub devices: Vec<String>,
    /// The clocks of the times: `clocks locked to base (ncu's default)`.
    pub clocks: Option<CleanText>,
    pub launches: usize,
    /// Kernels with different demangled names; `kernels` lists one more than once if its configurations or NVTX ranges differ.
    pub distinct_kernels: usize,
    /// Total time under ncu in microseconds, if every launch has a duration.
    pub total_microseconds: Option<f64>,
    /// Launches with a duration, and their time under ncu in microseconds.
    pub timed: (usize, f64),
    /// The main cause about all launches together. It is also the first of the other findings of the first kernel.
    pub together: Option<FindingRow>,
    /// One explanation for each kernel, configuration and NVTX range, by the launch with the median duration: the longest total
    /// time first.
    pub kernels: Vec<Explanation>,
}

impl ReportExplanation {
    /// Groups the matching launches, and explains the median launch of each group.
    ///
    /// # Errors
    /// The report is damaged, or no launch matches.
    pub fn read(name: &str, report: &Report, filter: &KernelFilter) -> Result<Self, KernelsError> {
        let damaged = |source| KernelsError::Damaged { name: name.into(), source };
        let profiled = ProfiledReport::read(name, report, filter)?;
        let total = profiled.total();
        let mut kernels: Vec<Explanation> = Vec::with_capacity(profiled.groups.len());
        for group in &profiled.groups {
            let launch = report.launch(group.median_launch);
            let own = match (&group.diagnosed, launch) {
                (None, Some(launch)) => {
                    Some(diagnose_launch(name, report, &launch, RuleBook::shipped()).map_err(damaged)?)
                }
                _ => None,
            };
            let Some(diagnosed) = group.diagnosed.as_ref().or(own.as_ref()) else { continue };
            let time = group.total(&id::DURATION);
            kernels.push(Explanation {
                kernel: Some(KernelTime {
                    label: label(&profiled, group),
                    function: launch.map_or_else(String::new, |launch| launch.kernel_name().into_owned()).into(),
                    launches: group.launches,
                    total_microseconds: time.map(|ns| ns / 1e3),
                    percent: time
                        .zip(total)
                        .filter(|(_, total)| *total > 0.0)
                        .map(|(time, total)| 100.0 * time / total),
                }),
                ..of_launch(name, diagnosed)
            });
        }
        let distinct: HashSet<&CleanText> = profiled.groups.iter().map(|group| &group.key.kernel).collect();
        let together = profiled.together();
        if let Some(first) = kernels.first_mut() {
            first.insights.splice(0..0, together.clone());
        }
        Ok(Self {
            together,
            name: name.to_owned(),
            devices: profiled.devices.iter().map(CleanText::to_string).collect(),
            clocks: profiled.clocks.clone(),
            launches: profiled.launches,
            distinct_kernels: distinct.len(),
            total_microseconds: total.map(|ns| ns / 1e3),
            timed: profiled.timed(),
            kernels,
        })
    }
}

/// The label of the group, and the NVTX range if the kernel has several.
fn label(report: &ProfiledReport, group: &LaunchGroup) -> CleanText {
    let is_elsewhere = |other: &LaunchGroup| other.key.kernel == group.key.kernel && other.key.nvtx != group.key.nvtx;
    match !group.key.nvtx.is_empty() && report.groups.iter().any(is_elsewhere) {
        true => CleanText::whole(&format!("{}, in {}", group.label, group.key.nvtx)),
        false => group.label.clone(),
    }
}
