//! The `occupancy` stage.
