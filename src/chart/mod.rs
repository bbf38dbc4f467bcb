//! The `chart` stage.
