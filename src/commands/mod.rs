//! The `commands` stage.

pub mod doctor;
