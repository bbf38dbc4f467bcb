//! Every polars frame of the program: typed in, typed out. Column names and types are in [`schema`].

mod decode;
pub mod export;
pub mod launches;
pub mod rows;
pub mod schema;
