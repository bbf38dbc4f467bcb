//! What Nsight Compute itself says about a profiled launch: its rules' advice, and where its sampler found the warps.
//!
//! Reports that hold gate metrics alone have neither.

use crate::config::ShapeName;
use crate::frame::case_of;
use crate::frame::launches::nvtx_text;
use crate::ncu_rep::{Launch, MetricValue, Report, ReportError, SpeedupScope};
use crate::plan::{Method, Plan, VariantId};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Hottest instructions kept of a launch.
const HOTTEST: usize = 12;
/// Samples of warps by why they did not issue (or did: `selected`), an instance an instruction.
const SAMPLES: &str = "smsp__pcsamp_warps_issue_stalled_";
/// Executions of every instruction of the kernel, so that its first address is known.
const EXECUTED: &str = "inst_executed";

/// What ncu says about a variant at a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// The variant.
    pub variant: VariantId,
    /// The shape.
    pub shape: ShapeName,
    /// What its rules say, the largest estimated speedup first.
    pub rules: Vec<RuleNote>,
    /// The instructions with the most samples, the hottest first.
    pub hot: Vec<HotSpot>,
}

/// A rule's message.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleNote {
    /// Title of the message, or the rule's name.
    pub title: String,
    /// The message without markup.
    pub text: String,
    /// Estimated speedup in percent, a cap and no promise, and what it is relative to.
    pub speedup: Option<(SpeedupScope, f64)>,
}

/// An instruction that the sampler found warps at.
#[derive(Debug, Clone, PartialEq)]
pub struct HotSpot {
    /// Bytes from the kernel's first instruction.
    pub offset: u64,
    /// Samples taken there.
    pub samples: u64,
    /// Percent of the launch's samples.
    pub share: f64,
    /// Why most of these warps waited (`long_scoreboard`; `selected` issued).
    pub stall: String,
}

/// Everything the reports say about variants of the plan; of several launches of a case the first that says something.
///
/// # Errors
/// A damaged report.
pub fn said(reports: &[(String, Report)], plan: &Plan) -> Result<Vec<Said>, ReportError> {
    let entries: HashMap<&VariantId, Option<&str>> = plan
        .variants
        .iter()
        .map(|v| match &v.method {
            Method::Kernel(kernel) => (&v.id, Some(kernel.entry.as_str())),
            Method::Command(_) => (&v.id, None),
        })
        .collect();
    let mut known: HashSet<(VariantId, ShapeName)> = HashSet::new();
    let mut all = Vec::new();
    for launch in reports.iter().flat_map(|(_, report)| report.launches()) {
        let Some((variant, shape)) = case_of(&nvtx_text(&launch.nvtx()?)) else { continue };
        let Some(entry) = entries.get(&variant) else { continue };
        let other = entry.is_some_and(|entry| launch.kernel_name() != entry);
        if other || known.contains(&(variant.clone(), shape.clone())) {
            continue;
        }
        let (rules, hot) = (rules(&launch)?, hot_spots(&launch)?);
        if !rules.is_empty() || !hot.is_empty() {
            known.insert((variant.clone(), shape.clone()));
            all.push(Said { variant, shape, rules, hot });
        }
    }
    Ok(all)
}

fn rules(launch: &Launch<'_>) -> Result<Vec<RuleNote>, ReportError> {
    let mut notes = Vec::new();
    for rule in launch.rule_results()? {
        for item in &rule.items {
            let Some(message) = &item.message else { continue };
            let title = if message.title.is_empty() { &rule.name } else { &message.title };
            notes.push(RuleNote { title: title.to_string(), text: message.plain_text(), speedup: item.speedup });
        }
    }
    let gain = |note: &RuleNote| note.speedup.map_or(-1.0, |(_, percent)| percent);
    notes.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    Ok(notes)
}

fn hot_spots(launch: &Launch<'_>) -> Result<Vec<HotSpot>, ReportError> {
    let mut places: BTreeMap<u64, BTreeMap<&str, u64>> = BTreeMap::new();
    let mut first = u64::MAX;
    for metric in launch.metrics() {
        let metric = metric?;
        let reason = metric.name.strip_prefix(SAMPLES).filter(|reason| !reason.ends_with("_not_issued"));
        if reason.is_none() && metric.name != EXECUTED {
            continue;
        }
        for instance in metric.instances() {
            let instance = instance?;
            let (Some(address), Some(count)) = (address(&instance.correlation), instance.value.as_u64()) else {
                continue;
            };
            first = first.min(address);
            if let Some(reason) = reason.filter(|_| count > 0) {
                *places.entry(address).or_default().entry(reason).or_default() += count;
            }
        }
    }
    let total: u64 = places.values().flat_map(BTreeMap::values).sum();
    let mut spots: Vec<HotSpot> = places
        .iter()
        .filter_map(|(address, reasons)| {
            let samples: u64 = reasons.values().sum();
            let (stall, _) = reasons.iter().max_by_key(|(_, count)| **count)?;
            let share = 100.0 * samples as f64 / total as f64;
            Some(HotSpot { offset: address - first, samples, share, stall: (*stall).to_owned() })
        })
        .collect();
    spots.sort_by_key(|spot| (std::cmp::Reverse(spot.samples), spot.offset));
    spots.truncate(HOTTEST);
    Ok(spots)
}

fn address(correlation: &MetricValue<'_>) -> Option<u64> {
    correlation.as_u64().filter(|address| *address > 0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn full() -> Report {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/full1.ncu-rep.zst");
        Report::open(path.as_ref()).unwrap()
    }

    #[test]
    fn rules_come_with_their_estimates_largest_first() {
        let report = full();
        let notes = rules(&report.launch(0).unwrap()).unwrap();
        assert!(notes.len() >= 10, "{}", notes.len());
        let (scope, percent) = notes[0].speedup.unwrap();
        assert_eq!((notes[0].title.as_str(), scope), ("Low Utilization", SpeedupScope::Local));
        assert!((percent - 90.7).abs() < 0.05, "{percent}");
        assert!(notes.iter().all(|n| !n.text.contains("@url")));
    }

    #[test]
    fn samples_add_up_and_the_hottest_instruction_is_first() {
        let report = full();
        let spots = hot_spots(&report.launch(0).unwrap()).unwrap();
        assert_eq!(spots.len(), HOTTEST);
        assert!(spots.windows(2).all(|pair| pair[0].samples >= pair[1].samples));
        // 66,305 samples in the launch, as smsp__pcsamp_sample_count says
        let total = spots[0].samples as f64 * 100.0 / spots[0].share;
        assert!((total - 66_305.0).abs() < 1.0, "{total}");
        assert!(spots.iter().all(|spot| spot.offset % 16 == 0), "{spots:?}");
    }
}
