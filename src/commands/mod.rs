//! One file a subcommand: wiring, no logic.

pub mod show;
