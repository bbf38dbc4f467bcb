//! One report model, many renderers: HTML, Markdown, JSON, JUnit, GitHub and the terminal are functions of it.
//!
//! [`Report::new`] decides nothing that a gate decides; it orders, words and rounds. No clock, disk or environment
//! before [`write`].

mod closely;
mod error;
mod gates;
pub mod github;
mod headline;
pub mod html;
mod inputs;
pub mod json;
pub mod junit;
pub mod markdown;
mod model;
pub mod number;
mod provenance;
pub mod terminal;
pub mod text;
mod variants;
pub mod write;

pub use error::{RenderError, WriteError};
pub use inputs::{Closely, Inputs, Source};
pub use model::{
    BuildRow, CheckRow, CloseLookRow, CloseMetric, CorrectnessRow, Counts, Decider, Delta, DeltaRow, Fact, FallbackRow,
    Finding, GateCell, GateRow, Headline, HotLineRow, HotRow, LineRow, LookedRow, Measure, MetricColumn, Origin,
    PreconditionRow, Provenance, Report, RuleRow, SaidRow, ShapeValues, StageRow, TierRow, VariantRow, WaiverRow,
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fixture;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
