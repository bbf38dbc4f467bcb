//! What the reports of a run say about its variants, besides the metrics of gates.

mod deep_profile;
mod observations;

pub use deep_profile::DeepProfiles;
pub use observations::{Listings, observations};
