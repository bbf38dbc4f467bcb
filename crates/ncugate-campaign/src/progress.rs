//! Where a campaign says how far it is.

/// Where a campaign reports its progress.
pub trait Progress {
    /// A stage starts that has so many steps.
    fn stage(&self, name: &str, steps: usize);
    /// A step was done, for this variant.
    fn step(&self, variant: &str);
    /// Something is being done that has no steps.
    fn note(&self, text: &str);
    /// Something was found that the user should know now.
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
