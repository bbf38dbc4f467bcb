//! The `ncu_rep` stage.
