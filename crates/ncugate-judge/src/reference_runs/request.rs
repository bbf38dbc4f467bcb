//! What a user wants a run compared with.

/// Whether a stored run that was measured under other conditions is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MismatchPolicy {
    #[default]
    Refuse,
    Allow,
}

/// What the user wants a run compared with.
#[derive(Debug, Clone, Default)]
pub struct ReferenceRequest {
    /// What answers for `baseline.`: a run's folder, its id, or the name of an entry of the leaderboard.
    pub name: Option<String>,
    /// What to do where conditions differ.
    pub mismatch: MismatchPolicy,
}
