//! One report model, many renderers: HTML, Markdown, JSON, JUnit, GitHub and the terminal are functions of it.
//!
//! [`Report::new`] decides nothing that a gate decides; it orders, words and rounds. No clock, disk or environment
//! before [`write`].

mod assemble;
mod charted;
mod closely;
pub mod compare;
mod deltas;
mod error;
mod gates;
pub mod github;
mod headline;
pub mod history;
pub mod html;
mod inputs;
pub mod json;
pub mod junit;
pub mod leaderboard;
pub mod markdown;
mod model;
mod provenance;
pub mod show;
pub mod static_check;
pub mod terminal;
mod variants;
pub mod write;

pub use crate::number::{self, text};
pub use assemble::{Age, assemble, stored};
pub use deltas::{Delta, DeltaRow, Earlier};
pub use error::{RenderError, WriteError};
pub use gates::{Counts, Decider, FallbackRow, GateRow, PreconditionRow, StageRow, TierRow, WaiverRow};
pub use inputs::{Closely, Inputs, Source};
pub use model::{
    BuildRow, CheckRow, CloseLookRow, CloseMetric, CorrectnessRow, Fact, Finding, GateCell, Headline, HotLineRow,
    HotRow, LineRow, LookedRow, Measure, MetricColumn, Report, RuleRow, SaidRow, ShapeValues, VariantRow,
};
pub use provenance::{Origin, Provenance};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod fixture;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
