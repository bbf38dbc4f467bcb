//! Vocabulary that all crates share: names, the chip, values, verdicts, records of a run, statistics, the language of
//! requirements, the catalogue of metrics, the metrics of a launch and of all variants, rules of a diagnosis, occupancy, and readers of cubins, files and child processes.
//!
//! Deliberately absent: phase files, the GPU.

#[macro_use]
mod words;

pub mod cubin;
pub mod digest;
pub mod disk;
pub mod expr;
pub mod metric;
pub mod number;
pub mod occupancy;
pub mod process;
pub mod quantities;
pub mod rule;

mod ablation;
mod activity;
mod audit;
mod better;
mod bitwise;
mod build_record;
mod capability;
mod case;
mod cell;
mod check_record;
mod chip_facts;
mod compiler_warnings;
mod compute_mode;
mod dtype;
mod glob;
mod gpu;
mod gpu_state;
mod id;
mod kernel_name;
mod l2_property;
mod launch_limits;
mod launch_metrics;
mod launch_mode;
mod law;
mod listing;
mod metric_id;
mod mutant;
mod ncu_metric;
mod nearest;
mod null_test;
mod nvtx;
mod profile_record;
mod request;
mod role;
mod samples;
mod sanitizer;
mod scope;
mod search_record;
mod texture;
mod tolerance;
mod verdict;

pub use ablation::{Ablation, AblationOutcome, AblationRecord, Gain};
pub use activity::{ActivityTrace, TracedChip, TracedLaunch};
pub use audit::{Audit, IsolatedSamples, UnrepeatedSamples};
pub use better::Better;
pub use bitwise::{BitwiseComparison, BitwiseOutcome, BitwiseRecord, batch_dimension, differ_alone_in};
pub use build_record::{
    BuildOutcome, BuildRecord, BuiltKernel, CodeGrowth, CompiledArg, CompiledLaunch, EntryResources, EntrySymbols,
    LaunchExtents, LeftOutShape, Resources, ShapeLaunch,
};
pub use capability::ComputeCapability;
pub use case::{CaseId, CaseKey};
pub use cell::Cell;
pub use check_record::{
    CheckOutcome, CheckRecord, ConfirmationRecord, Defect, LatencyOutcome, LatencyRecord, WrongElement,
};
pub use chip_facts::{ChipFacts, PeakFormat, dense_operations};
pub use compiler_warnings::compiler_warnings;
pub use compute_mode::ComputeMode;
pub use dtype::Dtype;
pub use glob::{GlobError, glob};
pub use gpu::Gpu;
pub use gpu_state::{GpuState, GpuStates, Throttle};
pub use id::{ShapeName, VariantId};
pub use kernel_name::{KernelName, demangled};
pub use l2_property::L2Property;
pub use launch_limits::{MAX_BLOCK, MAX_BLOCK_THREADS, MAX_CLUSTER, MAX_CLUSTER_BLOCKS, MAX_GRID};
pub use launch_metrics::{LaunchMetric, LaunchMetrics};
pub use launch_mode::LaunchMode;
pub use law::Law;
pub use listing::{Instruction, Line, Listing};
pub use metric_id::MetricId;
pub use mutant::{MutantKind, MutantOutcome, MutantTable};
pub use ncu_metric::is_ncu_metric;
pub use ncugate_stats as stats;
pub use nearest::{is_near, nearest};
pub use null_test::NullTest;
pub use number::CleanText;
pub use nvtx::nvtx_text;
pub use profile_record::{DeepProfile, EMPTY_RANGE, MAX_REPORT, ProfileOutcome, ProfileRecord, ProfiledOutputs};
pub use quantities::Quantities;
pub use request::REQUEST_VARIABLE;
pub use role::Role;
pub use samples::{MOST_SAMPLES, unsound_samples};
pub use sanitizer::{SanitizerFinding, SanitizerOutcome, SanitizerRecord, SanitizerTool};
pub use scope::{Level, OnInconclusive, Scope};
pub use search_record::{ProposedPoint, SearchEnd, SearchRecord, SearchStart, TriedOutcome, TriedPoint};
pub use texture::{TextureAddress, TextureFilter, TextureRead, TextureSampling};
pub use tolerance::{
    AllClose, BoundUnit, ConditioningRule, Difference, Differences, NanRule, ReferenceShift, Tolerance, Violation,
    WorstElement,
};
pub use verdict::Verdict;
