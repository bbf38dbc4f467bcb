//! Variants to cubins: nvcc in parallel, cached by content, with the resources each entry really uses.

mod outcome;

pub use outcome::{BuildOutcome, BuildRecord, Resources};
