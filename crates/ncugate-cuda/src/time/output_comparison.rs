//! Outputs of a verified launch: their place and the result of the comparison.

/// Place of the outputs to verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputPlace {
    /// In the set with this index.
    Set(usize),
    /// In the buffers of the lead-in.
    LeadIn,
    /// In the snapshot with this index.
    Snapshot(usize),
}

/// The result of comparing the outputs of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputComparison {
    /// The same bytes as an output that was compared in full before.
    Known,
    /// Right, with bytes that are new.
    New,
    /// Wrong or missing, with the reason.
    Wrong(String),
}

impl OutputComparison {
    /// Why the outputs are rejected; `None` if they are not.
    pub fn reason(self) -> Option<String> {
        match self {
            Self::Known | Self::New => None,
            Self::Wrong(reason) => Some(reason),
        }
    }
}
