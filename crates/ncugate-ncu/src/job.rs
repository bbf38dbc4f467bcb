//! The collection of one ncu process.

use super::command::{LaunchSelection, Processes, ProfileDetail};
use std::process::Command;

/// The launches of a program, and their metrics.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// Start of the file names; a number makes them unique in their folders.
    pub stem: &'a str,
    /// ncu metric names.
    pub metrics: &'a [String],
    /// Data collected in addition to metrics.
    pub detail: ProfileDetail,
    pub target: &'a Command,
    pub selection: &'a LaunchSelection,
    pub processes: Processes,
}
