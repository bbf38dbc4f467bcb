//! Every polars frame of the program: typed in, typed out. Column names and types are in [`schema`].

mod assemble;
mod captured;
mod cells;
mod close;
mod counted;
mod decode;
mod evaluations;
pub mod export;
mod formula;
mod groups;
mod launch_facts;
mod launch_table;
pub mod launches;
mod metric_table;
mod nvtx;
mod pivot;
mod quantities;
pub mod rows;
mod run_table;
pub mod schema;
mod steps;
mod texts;
mod traced;
mod transfers;
pub mod wanted;

pub use assemble::{Measured, quantities};
pub use captured::{CapturedLaunch, CapturedVariants};
pub use cells::MetricCells;
pub use close::{CloseRow, close_quantities};
pub use counted::{Counted, Ownership, ProfiledCases};
pub use nvtx::{case_of, nvtx_text};
pub use quantities::{Bounds, CellBounds, FreshSamples, Program, Quantities, Sampling, Spreads};
pub use run_table::{TableFormat, run_table, write_table};
pub use steps::Misfit;
pub use traced::{TracedCase, traced_cases};
