//! Every polars frame of the program: typed in, typed out. Column names and types are in [`schema`].

mod assemble;
mod close;
mod counted;
mod decode;
pub mod export;
mod launch_table;
pub mod launches;
mod metric_table;
mod quantities;
pub mod rows;
pub mod schema;
mod texts;
pub mod wanted;

pub use assemble::{Measured, quantities};
pub use close::{CloseRow, close_quantities};
pub use counted::{Counted, Ownership, case_of, launch_variant};
pub use quantities::{Quantities, Spreads};
