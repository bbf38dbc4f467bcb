//! How L2 lines of an access-policy window are kept.

use serde::{Deserialize, Serialize};

/// The property of an access, as in `cudaAccessProperty`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum L2Property {
    /// As without a window.
    Normal,
    /// Evicted first.
    Streaming,
    /// Evicted last, within the part of the cache that is set aside.
    Persisting,
}

impl L2Property {
    /// Each property as a phase writes it.
    pub const WORDS: [(&'static str, Self); 3] =
        [("normal", Self::Normal), ("streaming", Self::Streaming), ("persisting", Self::Persisting)];
    /// The properties of accesses that the hit ratio leaves out.
    pub const OF_MISSES: [(&'static str, Self); 2] = [("normal", Self::Normal), ("streaming", Self::Streaming)];
}
