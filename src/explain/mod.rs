//! What the numbers say: Pareto front, which parameter matters, what limits a kernel, where it stands on the roofline.
//!
//! Pure functions of what was measured. An insight advises; it never judges, and it says nothing where a number is
//! missing.

mod bottleneck;
mod clocks;
mod diagnosis;
pub mod listing;
mod pareto;
mod profiler;
mod roofline;
mod sensitivity;

pub use bottleneck::{Finding, Severity, findings};
pub use clocks::Clocks;
pub use diagnosis::{Chip, Reading};
pub use pareto::{Axis, Front, Point, pareto};
pub use profiler::{HotLine, HotSpot, Listings, RuleNote, Said, Samples, said, source_of, texts};
pub use roofline::{Ceiling, Roofline, Standing, roofline};
pub use sensitivity::{Effect, Level, sensitivity};
