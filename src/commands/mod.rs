//! The `commands` stage.
