//! The relation of a launch to the one before it.

use serde::{Deserialize, Serialize};

/// The relation of a launch to the launch before it and among its own blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchMode {
    /// It begins after the launch before it has ended.
    Ordinary,
    /// All of its blocks are resident at once, so that they can wait for each other (`grid.sync()`).
    Cooperative,
    /// Programmatic dependent launch: it can begin before the launch before it has ended, and waits for it in the
    /// kernel (`griddepcontrol.wait`).
    Programmatic,
}
