//! The `stats` stage.
