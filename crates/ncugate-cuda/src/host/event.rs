//! The events that a worker reports: one JSON object per line.

use crate::gpu::DeviceAttributes;
use ncugate_model::{
    ActivityTrace, BitwiseComparison, BitwiseOutcome, CheckRecord, LatencyRecord, ProfiledOutputs, ShapeName, VariantId,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A line of a worker's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum WorkerEvent {
    Device(DeviceAttributes),
    /// No device is available (answer to a probe).
    NoDevice {
        reason: String,
    },
    /// Names and versions of the software that a function variant uses.
    Uses {
        variant: VariantId,
        software: BTreeMap<String, String>,
    },
    /// The worker computes inputs and reference of a shape and seed. No variant is to blame for a failure now.
    Preparing {
        shape: ShapeName,
        seed: u64,
    },
    /// The worker starts a task; only this variant can be to blame for a failure now.
    Started {
        variant: VariantId,
        shape: ShapeName,
        task: WorkerTask,
    },
    /// A correctness case ended.
    Checked(CheckRecord),
    /// The worker's wall time in references and checks of outputs so far.
    References {
        seconds: f64,
    },
    /// A limit of the checks, which the first screen lists.
    Weakened {
        reason: String,
    },
    /// Every correctness case has ended. Timing starts after the parent has closed the worker's standard input.
    Proven,
    /// Timing of a variant at a shape ended.
    Timed(LatencyRecord),
    /// A profiled launch came back, and its outputs were compared.
    Launched {
        variant: VariantId,
        shape: ShapeName,
        /// Number of the launch, from 0.
        repeat: u32,
        outputs: ProfiledOutputs,
    },
    /// A profiled launch failed, and why.
    LaunchFailed {
        variant: VariantId,
        shape: ShapeName,
        /// The driver's message.
        reason: String,
    },
    /// A launch for compute-sanitizer came back.
    Sanitized {
        variant: VariantId,
        shape: ShapeName,
    },
    /// The copies of a variant were timed against it: in each round the time of a copy in units of the variant's.
    Ablated {
        variant: VariantId,
        shape: ShapeName,
        ratios: Vec<f64>,
    },
    /// Outputs of a variant were compared bit by bit at a shape.
    Compared {
        variant: VariantId,
        shape: ShapeName,
        outcomes: Vec<(BitwiseComparison, BitwiseOutcome)>,
    },
    /// A variant was traced at a shape.
    Traced {
        variant: VariantId,
        shape: ShapeName,
        trace: ActivityTrace,
        outputs: ProfiledOutputs,
    },
    /// The CUPTI that can trace launches (answer to a probe).
    Activity {
        library: PathBuf,
        /// The CUDA release that it came with.
        release: String,
    },
    /// The device stopped working after the last event of this variant; the worker ends.
    DeviceLost {
        variant: VariantId,
        /// The driver's message.
        reason: String,
    },
    /// The worker cannot go on, and no variant is to blame.
    Failed {
        reason: String,
    },
    /// The tolerance of the phase proves nothing: the phase is wrong, not a variant or a tool.
    Refused {
        reason: String,
    },
    /// The worker has finished the job.
    Done,
}

/// A worker's task with one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum WorkerTask {
    Check {
        seed: u64,
    },
    /// Building its graph and warming up.
    Warm,
    /// A sample of a round; rounds count from 0.
    Sample {
        round: u32,
    },
    Profile {
        /// Number of the launch, from 0.
        repeat: u32,
    },
}

impl WorkerEvent {
    /// The event on a line; none for any other text, because ncu and kernels print too.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::{CheckOutcome, Differences};

    #[test]
    fn events_survive_their_line() {
        let differences =
            Differences { max_abs: 1e-3, rel_l2: f64::MAX, nonfinite: 2, compared: 3, ..Differences::default() };
        let (variant, shape) = (VariantId("a=1".into()), ShapeName("s".into()));
        let outcome = CheckOutcome::Wrong { differences, reason: "x".into(), defects: Vec::new(), element: None };
        let events = [
            WorkerEvent::Checked(CheckRecord {
                variant: variant.clone(),
                shape: shape.clone(),
                seed: 3,
                outcome,
                nulls: 0,
            }),
            WorkerEvent::Started { variant, shape: shape.clone(), task: WorkerTask::Sample { round: 4 } },
            WorkerEvent::Preparing { shape, seed: 0 },
            WorkerEvent::Done,
        ];
        for event in events {
            let line = serde_json::to_string(&event).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(WorkerEvent::parse(&line), Some(event));
        }
        assert_eq!(WorkerEvent::parse("==PROF== Connected"), None);
        assert_eq!(WorkerEvent::parse("{\"event\":\"other\"}"), None);
    }
}
