//! What a worker reports while it works: one JSON object a line.

use crate::gpu::DeviceAttributes;
use ncugate_model::{ActivityTrace, CheckRecord, LatencyRecord, ProfiledOutputs, ShapeName, VariantId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A line of a worker's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum WorkerEvent {
    Device(DeviceAttributes),
    /// There is no device to work on (asked by a probe).
    NoDevice {
        reason: String,
    },
    /// What a variant that is a function uses, by name and version.
    Uses {
        variant: VariantId,
        software: BTreeMap<String, String>,
    },
    /// It makes inputs and reference of a shape and seed; no variant is the cause of what happens now.
    Preparing {
        shape: ShapeName,
        seed: u64,
    },
    /// It starts something that only this variant can be the cause of.
    Started {
        variant: VariantId,
        shape: ShapeName,
        task: WorkerTask,
    },
    /// A correctness case ended.
    Checked(CheckRecord),
    /// Every correctness case has ended. Nothing is timed before the parent has closed the worker's standard input.
    Proven,
    /// Timing of a variant at a shape ended.
    Timed(LatencyRecord),
    /// A profiled launch came back, and its outputs were compared.
    Launched {
        variant: VariantId,
        shape: ShapeName,
        /// Which of its launches, from 0.
        repeat: u32,
        outputs: ProfiledOutputs,
    },
    /// A profiled launch failed, and why.
    LaunchFailed {
        variant: VariantId,
        shape: ShapeName,
        /// What the driver said.
        reason: String,
    },
    /// A variant was traced at a shape.
    Traced {
        variant: VariantId,
        shape: ShapeName,
        trace: ActivityTrace,
        outputs: ProfiledOutputs,
    },
    /// The CUPTI that launches can be traced with (asked by a probe).
    Activity {
        library: PathBuf,
        /// The CUDA release that it came with.
        release: String,
    },
    /// The device no longer works after what was just reported of this variant; the worker ends.
    DeviceLost {
        variant: VariantId,
        /// What the driver said.
        reason: String,
    },
    /// It cannot go on, and no variant is the cause.
    Failed {
        reason: String,
    },
    /// The tolerance of the phase proves nothing: the phase is wrong, and no variant or tool.
    Refused {
        reason: String,
    },
    /// It did everything it was asked.
    Done,
}

/// What a worker does with one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum WorkerTask {
    Check {
        seed: u64,
    },
    /// Building its graph and warming up.
    Warm,
    /// A sample of this round, from 0.
    Sample {
        round: u32,
    },
    Profile {
        /// Which, from 0.
        repeat: u32,
    },
}

impl WorkerEvent {
    /// The event on a line, or none where the line is something else (ncu and kernels print too).
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
        let outcome = CheckOutcome::Wrong { differences, reason: "x".into(), defects: Vec::new() };
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
