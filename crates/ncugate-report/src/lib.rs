//! Reports of judged runs: findings, charts, and one report model with many renderers (HTML, Markdown, JSON, JUnit,
//! SARIF, the terminal).
//!
//! [`RunReport::new`] decides no gate; it orders, words and rounds.
//!
//! Deliberately absent: measuring and judging. Nothing uses a clock, the disk or the environment before [`mod@write`].

pub mod analysis;
pub mod chart;

mod ablation_row;
mod assemble;

pub mod comment;
pub mod compare;
mod contents;
mod deep_profile;
mod deltas;

pub mod dispatch;
pub mod document;
mod effects;
mod error;
pub mod explanation;
mod finding_row;
mod first_screen;
pub mod github;
mod headline;
pub mod history;
pub mod html;
mod in_use;
mod inputs;
pub mod json;
pub mod junit;
pub mod kernels;
pub mod leaderboard;
pub mod library_check;
pub mod line_pairs;
pub mod markdown;
mod matrix;
pub mod metric_entry;
mod model;
pub mod mutants;
pub mod mutation_space;
mod ncu_advice;
pub mod occupancy_table;
mod page;
pub mod phase_check;
mod provenance;
mod rule_answers;
mod run_charts;
#[allow(clippy::module_inception)]
mod run_report;
mod run_sections;
mod sarif;
mod search;
mod selected_times;
pub mod show;
pub mod static_check;
mod steps;
pub mod sweep;
pub mod terminal;
mod text_table;
mod timed_clocks;
mod toolchains;
mod trust;
mod variant_row;
mod variants;
mod waiver_row;
pub mod word_entry;
mod wrap;
pub mod write;

pub use assemble::{assemble, observations, stored};
pub use deltas::{Delta, ShapeDelta};
pub use error::{RenderError, WriteError};
pub use inputs::{DeepProfileInputs, ReportInputs, RunSource};
pub use model::{Conclusion, Fact, Headline, Measure, ObjectiveRow};
pub use ncugate_model::number::{self, text};
pub use provenance::{Provenance, RunOrigin};
pub use rule_answers::diagnose;
pub use run_report::RunReport;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
