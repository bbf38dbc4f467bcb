//! How numbers and words are written for people. The only place that rounds, and the one that makes text safe to show.

pub mod finite;
mod format;
pub mod text;

pub use format::{
    Number, against, age, beside, change, changed, counted, distance, multiple, plain, related, said, said_beside,
    seconds, share, short, signed, unit, with_unit,
};
