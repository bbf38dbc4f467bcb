//! Every polars frame: typed in, typed out. Nothing outside this room handles columns by name.

mod quantities;

pub use quantities::{Cell, Quantities};
