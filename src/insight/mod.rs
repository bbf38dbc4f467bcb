//! The `insight` stage.
