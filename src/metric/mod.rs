//! The catalogue of logical metrics: what a gate may name, and where its value comes from on a chip.

mod better;

pub use better::Better;
