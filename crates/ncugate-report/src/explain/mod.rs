//! Analysis of the numbers: Pareto front, effects of parameters, limits of a kernel, its position on the roofline.
//!
//! Pure functions of the measurements. An insight advises; it never judges. An insight with a missing number is omitted.

mod bound_rule;
mod case_table;
mod clocks;
mod deep_profile;
mod diagnosis;
mod evaluation_facts;
mod facts;
mod finding;
mod growth;
mod instructions;
mod launches;
pub mod listing;
mod machine_code;
mod matched_pairs;
mod measured_causes;
mod pair;
mod pareto;
mod profiler;
mod roofline;
mod rule_book;
mod sweep;
mod timeline;
mod unasked_rules;

pub use clocks::Clocks;
pub use deep_profile::DeepProfiles;
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
pub use launches::{DiagnosedLaunch, answers_of_report, diagnose_launch, diagnose_together};
pub use machine_code::{CodeEdit, EditRisk, MachineCode};
pub use matched_pairs::{ChangeUnit, MatchedChange, Separation};
pub use pareto::{FrontVariant, ObjectiveFront, ParetoAxis, objective_front};
pub use profiler::{
    Dependency, HotLine, HotSpot, InstructionSamples, LineInstruction, Listings, NcuObservations, NcuRuleMessage,
    observations, observe, source_of, texts,
};
pub use roofline::{Ceiling, Roofline, RooflinePoint, roofline};
pub use rule_book::RuleBook;
pub use sweep::{FEWEST, Interaction, MainEffect, MetricEffect, RangeEdge, SweepAnalysis, SweptMetric, sweep};
pub use timeline::{Timeline, TimelineSeries};
pub use unasked_rules::{UnaskedRules, is_mostly_asked};
