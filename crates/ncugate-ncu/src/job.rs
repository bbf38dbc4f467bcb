//! What one ncu process is to collect.

use super::command::{LaunchSelection, Processes, ProfileDetail};
use std::process::Command;

/// Which launches of which program, with which metrics.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// Beginning of the files' names; a number makes them unique in their folders.
    pub stem: &'a str,
    /// ncu metric names.
    pub metrics: &'a [String],
    /// What is collected beside them.
    pub detail: ProfileDetail,
    pub target: &'a Command,
    pub selection: &'a LaunchSelection,
    pub processes: Processes,
}
