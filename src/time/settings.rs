//! How latency is measured.

use serde::{Deserialize, Serialize};

/// How latency is measured; see [`crate::config::BenchSettings`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimingSettings {
    /// Untimed graph launches before the first sample.
    pub warmup: u32,
    /// Samples a variant and shape.
    pub rounds: u32,
    /// A sample lasts at least this long, in microseconds, unless `max_launches` stops it.
    pub min_sample_us: f64,
    /// Most launches in one graph.
    pub max_launches: u32,
    /// Sets of buffers a graph rotates over.
    pub buffer_sets: u32,
}
