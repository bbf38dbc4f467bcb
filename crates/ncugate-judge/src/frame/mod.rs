//! The launches of reports as polars frames, and the table of all measurements. Column names and types of frames are in [`schema`].

mod assemble;
mod captured_launches;
mod decode;
mod deep_profile;
mod evaluations;
pub mod export;
mod launch_facts;
mod launch_table;
pub mod launches;
mod metric_table;
mod nvtx;
mod profile_counters;
pub mod required_metrics;
pub mod rows;
mod run_table;
pub mod schema;
mod steps;
mod traced_launches;
mod transfers;

pub use assemble::{TableInputs, quantities};
pub use captured_launches::{CapturedLaunch, CapturedVariants};
pub use deep_profile::{DeepProfileCase, deep_quantities};
pub use export::TableFormat;
pub use nvtx::cases_of;
pub use profile_counters::{Ownership, ProfileCounters, ProfiledCases};
pub use run_table::{RunTable, run_table, write_table};
pub use steps::ExpectedKernel;
pub use traced_launches::{TracedCase, traced_cases, traced_launches};
