//! The comparison runs that a user requests.

/// Whether to compare with stored runs measured under other conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MismatchPolicy {
    #[default]
    Refuse,
    Allow,
}

/// The comparison that the user requests.
#[derive(Debug, Clone, Default)]
pub struct ReferenceRequest {
    /// The run for `baseline.`: a run's folder, its id, or the name of a leaderboard entry.
    pub name: Option<String>,
    /// The policy for differing conditions.
    pub mismatch: MismatchPolicy,
}
