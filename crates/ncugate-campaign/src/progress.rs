//! Progress reports of a campaign.

use ncugate_cuda::host::{WorkerEvent, WorkerTask};

/// Where a campaign reports its progress.
pub trait Progress {
    /// A stage with `steps` steps starts.
    fn stage(&self, name: &str, steps: usize);
    /// A step for this variant is done.
    fn step(&self, variant: &str);
    /// A task without steps is in progress.
    fn note(&self, text: &str);
    /// What is in progress within a step.
    fn task(&self, text: &str);
    /// A finding that the user should see now.
    fn say(&self, line: &str);
}

#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn stage(&self, _: &str, _: usize) {}
    fn step(&self, _: &str) {}
    fn note(&self, _: &str) {}
    fn task(&self, _: &str) {}
    fn say(&self, _: &str) {}
}

/// What a worker begins, as `round 12 of 60: K_TILE=64 at 'large'`; none for events that begin nothing.
pub fn begun(event: &WorkerEvent, rounds: u32) -> Option<String> {
    let (variant, shape, task) = match event {
        WorkerEvent::Started { variant, shape, task } => (variant, shape, task),
        WorkerEvent::Preparing { shape, seed } => return Some(format!("reference at '{shape}', seed {seed}")),
        _ => return None,
    };
    let case = format!("{variant} at '{shape}'");
    Some(match task {
        WorkerTask::Check { seed } => format!("{case}, seed {seed}"),
        WorkerTask::Warm => format!("warm-up: {case}"),
        WorkerTask::Sample { round } => format!("round {} of {rounds}: {case}", round + 1),
        WorkerTask::Profile { repeat } => format!("launch {}: {case}", repeat + 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::{ShapeName, VariantId};

    #[test]
    fn a_round_counts_from_one_and_names_variant_and_shape() {
        let task = WorkerTask::Sample { round: 11 };
        let (variant, shape) = (VariantId("K_TILE=64".into()), ShapeName("large".into()));
        let event = WorkerEvent::Started { variant, shape, task };
        assert_eq!(begun(&event, 60).unwrap(), "round 12 of 60: K_TILE=64 at 'large'");
        assert_eq!(begun(&WorkerEvent::Proven, 60), None);
    }
}
