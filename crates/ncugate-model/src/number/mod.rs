//! Numbers and words as text for readers. The only place that rounds, and the one that makes text safe to show.

mod clean_text;
pub mod finite;
mod format;
pub mod text;

pub use clean_text::CleanText;
pub use format::{
    Number, against, age, change, changed, counted, distance, in_sentence, limit, measured_and_limit, multiple, plain,
    related, rounded_down, said_beside, seconds, share, short, signed, unit, with_unit,
};
