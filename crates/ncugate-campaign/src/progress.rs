//! Progress reports of a campaign.

/// Where a campaign reports its progress.
pub trait Progress {
    /// A stage with `steps` steps starts.
    fn stage(&self, name: &str, steps: usize);
    /// A step for this variant is done.
    fn step(&self, variant: &str);
    /// A task without steps is in progress.
    fn note(&self, text: &str);
    /// A finding that the user should see now.
    fn say(&self, line: &str);
}

#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn stage(&self, _: &str, _: usize) {}
    fn step(&self, _: &str) {}
    fn note(&self, _: &str) {}
    fn say(&self, _: &str) {}
}
