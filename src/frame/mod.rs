//! Every polars frame of the program: typed in, typed out. Column names and types are in [`schema`].

mod decode;
pub mod launches;
mod quantities;
pub mod schema;

pub use quantities::{Cell, Quantities};
