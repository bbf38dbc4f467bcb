//! What the numbers say: Pareto front, which parameter matters, what limits a kernel, where it stands on the roofline.
//!
//! Pure functions of what was measured. An insight advises; it never judges, and it says nothing where a number is
//! missing.

mod bottleneck;
mod case_metrics;
mod clocks;
mod deep_profile;
pub mod listing;
mod pareto;
mod profiler;
mod roofline;
mod sensitivity;

pub use bottleneck::{Finding, Severity, findings};
pub use case_metrics::CaseMetrics;
pub use clocks::Clocks;
pub use deep_profile::DeepProfiles;
pub use pareto::{ParetoAxis, ParetoFront, ParetoPoint, pareto};
pub use profiler::{
    HotLine, HotSpot, InstructionSamples, Listings, NcuObservations, NcuRuleMessage, observations, observe, source_of,
    texts,
};
pub use roofline::{Ceiling, Roofline, RooflinePoint, roofline};
pub use sensitivity::{Effect, ParameterLevel, sensitivity};
