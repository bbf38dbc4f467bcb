//! Launches of any ncu report as separate cases, so that rules can be evaluated without a phase.

use super::diagnosis::{Diagnosis, RuleAnswers};
use super::facts::{ChipKnowledge, Compilation};
use super::finding::Finding;
use super::growth::{DeclaredWork, ShapeFacts};
use super::kernel_names::kernel_of;
use super::profiler::{NcuObservations, observe, source_of};
use super::rule_book::RuleBook;
use super::unasked_rules::UnaskedRules;
use ncu_rep::{Launch, Report, ReportError};
use ncugate_model::metric::{Catalogue, id, signal_counters};
use ncugate_model::{
    Cell, ChipFacts, ComputeCapability, LaunchMetric, LaunchMetrics, Quantities, ShapeName, VariantId,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A launch of a report with its findings.
#[derive(Debug)]
pub struct DiagnosedLaunch {
    /// The name of its kernel in ncu.
    pub kernel: String,
    /// The id of the launch in ncu.
    pub id: u32,
    /// Duration under the profiler in nanoseconds.
    pub duration: Option<f64>,
    /// Findings of the rules, most important first.
    pub findings: Vec<Finding>,
    /// Rules that could not be evaluated.
    pub unasked: UnaskedRules,
    /// The busiest unit, in words.
    pub busiest: Option<String>,
    pub observations: Option<NcuObservations>,
}

/// How often each rule holds among the launches of a report.
///
/// # Errors
/// A damaged report.
pub fn answers_of_report(report: &Report, rules: &RuleBook) -> Result<Vec<RuleAnswers>, ReportError> {
    let mut sums: Vec<RuleAnswers> = Vec::new();
    for launch in report.launches() {
        let read = |diagnosis: &Diagnosis<'_>, (variant, _): &_| diagnosis.answers(std::slice::from_ref(variant));
        let answers = with_diagnosis("", report, &launch, rules, read)?;
        if sums.is_empty() {
            sums = answers;
        } else {
            for (sum, answer) in sums.iter_mut().zip(answers) {
                sum.holds += answer.holds;
                sum.does_not_hold += answer.does_not_hold;
                sum.not_known += answer.not_known;
            }
        }
    }
    Ok(sums)
}

/// Evaluates the rules for one launch of a report.
///
/// # Errors
/// A damaged report.
pub fn diagnose_launch(
    name: &str,
    report: &Report,
    launch: &Launch<'_>,
    rules: &RuleBook,
) -> Result<DiagnosedLaunch, ReportError> {
    with_diagnosis(name, report, launch, rules, |diagnosis, (variant, shape)| DiagnosedLaunch {
        findings: diagnosis.findings(std::slice::from_ref(variant)),
        unasked: diagnosis.unasked(variant, shape),
        busiest: diagnosis.busiest(variant, shape),
        duration: diagnosis.quantities.read(variant, shape, &id::DURATION).value(),
        observations: diagnosis.observations.first().cloned(),
        id: launch.id(),
        kernel: kernel_of(launch),
    })
}

/// The main cause about all launches of a report together: their kernels, and their durations in nanoseconds. A report has
/// no latency, so gaps between launches are unknown. None if every kernel is launched once: nothing says that they are
/// neighbours.
pub fn diagnose_together(name: &str, seen: Vec<(Arc<str>, f64)>, rules: &RuleBook) -> Option<Finding> {
    let launches = seen.len();
    let distinct: HashSet<&str> = seen.iter().map(|(kernel, _)| &**kernel).collect();
    if launches == distinct.len() {
        return None;
    }
    let (kernels, durations): (Vec<Arc<str>>, Vec<f64>) = seen.into_iter().unzip();
    let (variant, shape) = (VariantId(name.into()), ShapeName(format!("{launches} launches").into()));
    let mut quantities = Quantities::new([(variant.clone(), shape.clone())]);
    quantities.set_launches(0, kernels.into());
    quantities.set_column(&id::DURATION, vec![Cell::finite(durations.iter().sum())]);
    quantities.set_steps(&id::DURATION, 0, durations.into_iter().map(Cell::finite).collect());
    let shapes = [ShapeFacts { name: shape, dims: Vec::new(), work: DeclaredWork::default() }];
    let chip = ChipKnowledge::default();
    let diagnosis = Diagnosis::of(rules, &quantities, &shapes, &chip);
    let is_of_all = |finding: &Finding| launches > 1 && finding.launches.is_none() && finding.is_cause();
    diagnosis.findings(&[variant]).into_iter().find(is_of_all)
}

/// Calls `ask` with the diagnosis of a launch, which counts as a separate variant.
fn with_diagnosis<T>(
    name: &str,
    report: &Report,
    launch: &Launch<'_>,
    rules: &RuleBook,
    ask: impl FnOnce(&Diagnosis<'_>, &(VariantId, ShapeName)) -> T,
) -> Result<T, ReportError> {
    let variant = VariantId(kernel_of(launch).into());
    let shape = ShapeName(format!("launch {}", launch.id()).into());
    let capability = launch.compute_capability()?.map(ComputeCapability::from);
    let mut quantities = quantities(launch, &variant, &shape)?;
    let seen = observe(report, launch, variant.clone(), shape.clone())?;
    for (name, value) in &seen.facts {
        quantities.set_column(name, vec![Cell::finite(*value)]);
    }
    let says_nothing = seen.rules.is_empty() && seen.lines.is_empty() && seen.hot.is_empty() && seen.timeline.is_none();
    let observations = (!says_nothing).then_some(seen);
    let facts = ChipFacts::of(launch)?;
    let chip = ChipKnowledge { capability, sms: launch.sm_count()?, dram_peak: facts.dram_bytes_per_second() };
    let case = (variant, shape.clone());
    let reports = HashMap::from([(case.clone(), name.to_owned())]);
    let shapes = [ShapeFacts { name: shape, dims: Vec::new(), work: DeclaredWork::default() }];
    let diagnosis = Diagnosis {
        compilation: Compilation { debug: is_debug(report, launch)?, optimisation: None },
        observations: observations.as_slice(),
        reports: Some(&reports),
        ..Diagnosis::of(rules, &quantities, &shapes, &chip)
    };
    Ok(ask(&diagnosis, &case))
}

/// Every catalogue metric that the launch's counters provide, and the counters that rules read by name.
fn quantities(launch: &Launch<'_>, variant: &VariantId, shape: &ShapeName) -> Result<Quantities, ReportError> {
    let metrics = LaunchMetrics::of(launch)?;
    let mut table = Quantities::new([(variant.clone(), shape.clone())]);
    table.set_launches(0, [(&*variant.0).into()].into());
    for name in Catalogue::embedded().names().chain(signal_counters()) {
        if let LaunchMetric::Counted(cell) = metrics.metric(name) {
            table.set_column(name, vec![cell]);
        }
    }
    Ok(table)
}

/// Whether the machine code is a debug build: only then does the cubin describe variables (`.debug_info`). None if the
/// report holds no machine code.
fn is_debug(report: &Report, launch: &Launch<'_>) -> Result<Option<bool>, ReportError> {
    const SECTION: &[u8] = b"\0.debug_info\0";
    let source = source_of(report, launch)?;
    Ok(source.map(|source| source.binary.windows(SECTION.len()).any(|bytes| bytes == SECTION)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_anybody_is_diagnosed() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/full1.ncu-rep.zst");
        let report = Report::open(path).unwrap();
        let launch = report.launch(0).unwrap();
        let diagnosed = diagnose_launch("full1", &report, &launch, RuleBook::shipped()).unwrap();
        let first = &diagnosed.findings[0];
        assert!(!first.evidence.is_empty() && first.report.as_deref() == Some("full1"), "{first:?}");
    }

    /// In bands of rows, blocks near the real axis work three times as long as the mean, and all blocks are resident.
    #[test]
    fn imbalance_names_the_part_of_the_launch_in_which_sms_run_out_of_work() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/planted/escape/reports/deep-1.ncu-repz");
        let report = Report::open(path).unwrap();
        let launch = report.launches().find(|launch| launch.kernel_name() == "escape_bands").unwrap();
        let diagnosed = diagnose_launch("escape", &report, &launch, RuleBook::shipped()).unwrap();
        let found = &diagnosed.findings[0];
        assert_eq!(found.rule, "imbalance");
        let said =
            "In the last 68.4 % of the launch fewer than 90 % of the SMs have work: the average SM is idle for 47 % ";
        assert!(found.sentence.starts_with(said), "{}", found.sentence);
        assert!(found.evidence.iter().any(|evidence| evidence.name == "measured_tail_pct"), "{:?}", found.evidence);
    }
}
