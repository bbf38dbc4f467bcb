//! Why a campaign ended early.

use ncugate_cuda::build::BuildError;
use ncugate_cuda::host::external::ExternalError;
use ncugate_cuda::host::{JobError, MeasureError};
use ncugate_judge::store::StoreError;
use ncugate_ncu::{ProfileError, ToolError};
use std::io;
use std::path::PathBuf;

/// Why a campaign ended early. What was measured is kept.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    #[error("no GPU to measure on: {reason}")]
    NoGpu { reason: String },
    /// A GPU that was chosen cannot take part.
    #[error("GPU {wanted} cannot take part: {why}")]
    NoSuchGpu {
        /// The GPU, as it was named.
        wanted: String,
        why: String,
    },
    /// The GPUs that were chosen are not of one kind.
    #[error(
        "the GPUs are not of one kind: {unlike}; name those of one kind with --gpus, or each kind in the phase ([machine] groups), for a \
         verdict each"
    )]
    UnlikeGpus {
        /// Two of them, and what they are.
        unlike: String,
    },
    /// What works on one of several GPUs ended without saying how.
    #[error("the work on one of the GPUs ended without a result; run again to continue")]
    LaneLost,
    /// nvcc, its cache, or the architecture.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// ncu is not usable.
    #[error(transparent)]
    Ncu(#[from] ToolError),
    /// The workload cannot be made into a job.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The worker cannot work.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// An external command cannot be asked.
    #[error(transparent)]
    External(#[from] ExternalError),
    /// Profiling cannot go on.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A record cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The reference entry's own source does not build.
    #[error("the reference entry does not build: {message}")]
    Reference {
        /// What the compiler said.
        message: String,
    },
    /// The reference would be another one in each shard.
    #[error("the phase cannot be measured in shards: its reference is built with flags that are swept")]
    Unsharded,
    /// The system refused something.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Another run measures on the GPU.
    #[error("{gpu} is taken: {holder} measures on it; wait for it, or give a longer --wait")]
    GpuBusy { gpu: String, holder: String },
    /// Nobody can tell whether another run measures on the GPU.
    #[error("cannot lock the GPU with {}: {source}; remove the file, or set NCUGATE_LOCKS to a folder that all users can write", path.display())]
    GpuLock {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The user asked to stop.
    #[error("interrupted; run again to continue where it stopped")]
    Interrupted,
}

impl CampaignError {
    /// What measuring lacks, in a few words.
    pub fn lacking(&self) -> String {
        match self {
            Self::NoGpu { .. } => "no GPU was found".to_owned(),
            other => other.to_string().lines().next().unwrap_or("nothing can be measured here").to_owned(),
        }
    }
}
