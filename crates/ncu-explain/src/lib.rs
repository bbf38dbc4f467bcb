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
mod clocks;
mod code_diff;
mod diagnosis;
mod evaluation_facts;
mod facts;
mod finding;
mod growth;
mod instructions;
mod kernel_names;
mod launch_roofline;
mod launch_shape;
mod launches;
pub mod listing;
mod machine_code;
mod matched_pairs;
mod measured_causes;
mod metric_change;
mod metric_column;
mod pair;
mod pareto;
mod planned_variant;
mod profiler;
mod roofline;
mod rule_book;
mod sweep;
mod timeline;
mod unasked_rules;

pub use clocks::Clocks;
pub use code_diff::{CodeDiff, DiffHunk, DiffLine, LineChange, aligned};
pub use diagnosis::{Diagnosis, RuleAnswers, Utilisation};
pub use facts::{ChipKnowledge, Compilation};
pub use finding::{
    AwaitedResult, EstimateSource, EvidenceValue, Finding, FindingLaunches, FindingLine, MeasuredGain, MeasuredPair,
    SEVERE, SavingEstimate, Severity, WORTH_TRYING,
};
pub use growth::{DeclaredWork, ShapeFacts};
pub use instructions::{
    CountedLine, CountedLines, DisassembledInstruction, Disassembly, InstructionCounters, disassemble,
};
pub use kernel_names::{kernel_of, short_names};
pub use launch_roofline::{LaunchRoofline, PrecisionWork};
pub use launch_shape::{LaunchShape, extent};
pub use launches::{DiagnosedLaunch, answers_of_report, diagnose_launch, diagnose_together};
pub use machine_code::{CodeEdit, EditRisk, MachineCode};
pub use matched_pairs::{ChangeUnit, MatchedChange, Separation};
pub use metric_change::{
    ChangeDirection, ChangeNoise, LatencyChange, MetricChange, RatioInterval, are_too_few, explained, launches, ranges,
};
pub use metric_column::MetricColumn;
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
