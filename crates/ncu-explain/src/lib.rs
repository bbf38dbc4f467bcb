//! Says why a kernel is slow, from a report of Nsight Compute: findings of rules with their evidence and an estimate of what a
//! fix saves, the machine code, listings, rooflines, and whether noise explains the change of a metric.
//!
//! ```
//! use ncu_explain::{RuleBook, diagnose_launch};
//! use ncu_rep::Report;
//!
//! # fn main() -> Result<(), ncu_rep::ReportError> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/full1.ncu-rep.zst");
//! let report = Report::open(path)?;
//! for launch in report.launches() {
//!     let diagnosed = diagnose_launch("report", &report, &launch, RuleBook::shipped())?;
//!     if let Some(finding) = diagnosed.findings.first() {
//!         println!("{}: {}: {}", diagnosed.kernel, finding.cause, finding.sentence);
//!     }
//! #   assert_eq!(diagnosed.findings[0].rule, "few_warps");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A [`Diagnosis`] turns launches into findings, whether they are those of a report ([`diagnose_launch`]) or of a run with
//! many variants. A finding advises; it never judges, and one with a missing number is omitted.
//!
//! Deliberately absent: phases, runs, the GPU.

mod bound_rule;
mod case_table;
mod clock_control;
mod clocks;
mod code_diff;
mod diagnosis;
mod diagnosis_row;
mod evaluation_facts;
mod facts;
mod finding;
mod finding_row;
mod growth;
mod instructions;
mod kernel_names;
mod launch_group;
mod launch_roofline;
mod launch_shape;
mod launches;
mod line_pairs;
pub mod listing;
mod machine_code;
mod matched_pairs;
mod measured_causes;
mod memory_facts;
mod metric_change;
mod metric_column;
mod metric_entry;
mod ncu_advice;
mod pair;
mod pareto;
mod planned_variant;
mod profiler;
mod roofline;
mod rule_book;
mod sweep;
mod timeline;
mod unasked_rules;
mod word_entry;

pub use clock_control::clock_control;
pub use clocks::Clocks;
pub use code_diff::{CodeDiff, DiffHunk, DiffLine, LineChange, aligned};
pub use diagnosis::{Diagnosis, RuleAnswers, Utilisation};
pub use diagnosis_row::{Collection, DiagnosisOutcome, DiagnosisRow, RuleCoverage};
pub use facts::{ChipKnowledge, Compilation};
pub use finding::{
    AwaitedResult, EstimateSource, EvidenceValue, Finding, FindingLaunches, FindingLine, MeasuredGain, MeasuredPair,
    SEVERE, SavingEstimate, Severity, WORTH_TRYING,
};
pub use finding_row::{FindingRow, SavingRow};
pub use growth::{DeclaredWork, ShapeFacts};
pub use instructions::{
    CountedLine, CountedLines, DisassembledInstruction, Disassembly, InstructionCounters, disassemble,
};
pub use kernel_names::{kernel_of, short_names};
pub use launch_group::{DIAGNOSED, KernelFilter, KernelKey, KernelsError, LaunchGroup, ProfiledReport, named};
pub use launch_roofline::{LaunchRoofline, PrecisionWork};
pub use launch_shape::{LaunchShape, extent};
pub use launches::{DiagnosedLaunch, answers_of_report, diagnose_launch, diagnose_together};
pub use line_pairs::{LineTime, PairedInstruction, PairedLine, PairedLines, SampledInstruction, SampledVariant, pair};
pub use machine_code::{CodeEdit, EditRisk, MachineCode};
pub use matched_pairs::{ChangeUnit, MatchedChange, Separation};
pub use memory_facts::{MemoryFact, memory_facts};
pub use metric_change::{
    ChangeDirection, ChangeNoise, LatencyChange, MetricChange, RatioInterval, are_too_few, explained, launches, ranges,
};
pub use metric_column::MetricColumn;
pub use metric_entry::{MetricEntry, metric_entry};
pub use ncu_advice::{HotLineRow, HotRow, NcuAdvice, RuleRow, advice, estimates, quoted};
pub use ncugate_model::{LaunchMetric, LaunchMetrics};
pub use pareto::{FrontVariant, ObjectiveFront, ParetoAxis, objective_front};
pub use planned_variant::{PlannedEvaluation, PlannedVariant, VariantCode};
pub use profiler::{
    Dependency, HotLine, HotSpot, InstructionSamples, LineInstruction, NcuObservations, NcuRuleMessage, SampledLaunch,
    observe, source_of, texts,
};
pub use roofline::{Ceiling, Roofline, RooflinePoint, roofline};
pub use rule_book::RuleBook;
pub use sweep::{FEWEST, Interaction, MainEffect, MetricEffect, RangeEdge, SweepAnalysis, SweptMetric, sweep};
pub use timeline::{Timeline, TimelineSeries};
pub use unasked_rules::{UnaskedRules, is_mostly_asked};
pub use word_entry::WordEntry;
