//! Outputs of a launch that are verified: where they lie, and what comparing them gave.

/// Where outputs lie that are to be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputPlace {
    /// In the set of this number.
    Set(usize),
    /// In the buffers of the lead-in.
    LeadIn,
    /// In the snapshot of this number.
    Snapshot(usize),
}

/// What comparing the outputs of a launch gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputComparison {
    /// The very bytes that were compared in full before.
    Known,
    /// Right, in other bytes than any before.
    New,
    /// Wrong or missing, and in what.
    Wrong(String),
}

impl OutputComparison {
    /// Why the outputs do not count, if they do not.
    pub fn reason(self) -> Option<String> {
        match self {
            Self::Known | Self::New => None,
            Self::Wrong(reason) => Some(reason),
        }
    }
}
