//! Files: opened without trust, and written whole or not at all, whatever room they are for.

pub mod open;
mod replace;

pub use replace::{Durability, replace, replace_with};
