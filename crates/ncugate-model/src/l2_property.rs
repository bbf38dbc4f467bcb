//! How L2 lines of an access-policy window are kept.

use serde::{Deserialize, Serialize};

words! {
    name;
    /// The property of an access, as in `cudaAccessProperty`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum L2Property {
        /// As without a window.
        Normal = "normal",
        /// Evicted first.
        Streaming = "streaming",
        /// Evicted last, within the part of the cache that is set aside.
        Persisting = "persisting",
    }
}

impl L2Property {
    /// The properties of accesses that the hit ratio leaves out.
    pub const OF_MISSES: [(&'static str, Self); 2] = [("normal", Self::Normal), ("streaming", Self::Streaming)];
}
